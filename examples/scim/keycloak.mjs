// Sends the people and groups of a Keycloak realm over SCIM: all of them at the start, and then each one that an admin event of Keycloak names.
// docs/guides/scim.md explains it. The variables REALM (its URL), CLIENT_ID, CLIENT_SECRET, ISSUER and SCIM_KEY configure it.
import { setTimeout as sleep } from 'node:timers/promises'

const { REALM, CLIENT_ID, CLIENT_SECRET, ISSUER, SCIM_KEY } = process.env
const ADMIN = REALM.replace(/\/realms\/[^/]+$/, (path) => `/admin${path}`)
/** Milliseconds between two requests for events, and the number of items in one answer. */
const [LOOK_MS, PAGE] = [1000, 100]

const json = async (response) => {
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${await response.text()}`)
  return response.status === 204 ? undefined : response.json()
}

// The client has a service account with the roles view-users and view-events of realm-management. Its tokens live for a minute.
let token = { value: '', untilMs: 0 }
async function keycloak(path) {
  if (token.untilMs < Date.now()) {
    const form = { grant_type: 'client_credentials', client_id: CLIENT_ID, client_secret: CLIENT_SECRET }
    const url = `${REALM}/protocol/openid-connect/token`
    const { access_token, expires_in } = await json(
      await fetch(url, { method: 'POST', body: new URLSearchParams(form) }),
    )
    token = { value: access_token, untilMs: Date.now() + expires_in * 500 }
  }
  const response = await fetch(ADMIN + path, { headers: { authorization: `Bearer ${token.value}` } })
  return response.status === 404 ? undefined : json(response)
}
const scim = async (method, path, body) =>
  json(
    await fetch(`${ISSUER}/scim/v2${path}`, {
      method,
      headers: { authorization: `Bearer ${SCIM_KEY}`, 'content-type': 'application/scim+json' },
      body: body && JSON.stringify(body),
    }),
  )
const find = async (resource, attribute, value) => {
  const filter = encodeURIComponent(`${attribute} eq ${JSON.stringify(value)}`)
  return (await scim('GET', `/${resource}?excludedAttributes=members&filter=${filter}`)).Resources[0]
}

/** Brings one person to the state that Keycloak has. `externalId` is the id of Keycloak, which is the `sub` of its ID tokens. */
async function send(id) {
  const [user, known] = [await keycloak(`/users/${id}`), await find('Users', 'externalId', id)]
  if (!user) {
    if (known) await scim('DELETE', `/Users/${known.id}`)
    return console.log(`${id} is deleted`)
  }
  const { username: userName, firstName: givenName, lastName: familyName, email, enabled: active } = user
  const emails = email ? [{ value: email, type: 'work', primary: true }] : []
  const person = { userName, externalId: id, name: { givenName, familyName }, emails, active }
  const { id: value, groups = [] } = known
    ? await scim('PUT', `/Users/${known.id}`, person)
    : await scim('POST', '/Users', person)
  const names = (await keycloak(`/users/${id}/groups`)).map(({ name }) => name)
  for (const name of names.filter((each) => !groups.some(({ display }) => display === each))) {
    const group = (await find('Groups', 'displayName', name)) ?? (await scim('POST', '/Groups', { displayName: name }))
    await change(group.id, { op: 'add', path: 'members', value: [{ value }] })
  }
  for (const group of groups.filter(({ display }) => !names.includes(display)))
    await change(group.value, { op: 'remove', path: `members[value eq "${value}"]` })
  console.log(`${userName} is ${active ? 'active' : 'inactive'}, in ${names.join(', ') || 'no group'}`)
}
const change = (group, ...Operations) =>
  scim('PATCH', `/Groups/${group}`, { schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'], Operations })

/** The events about people and their groups since a time, with resources such as `users/ID` and `users/ID/groups/ID`. A group that is renamed has none. */
async function changedSince(sinceMs) {
  const events = []
  for (let first = 0; ; first += PAGE) {
    const kinds = 'resourceTypes=USER&resourceTypes=GROUP_MEMBERSHIP'
    const page = await keycloak(`/admin-events?${kinds}&first=${first}&max=${PAGE}`)
    const later = page.filter(({ time }) => time >= sinceMs)
    events.push(...later)
    if (later.length < PAGE) return events
  }
}
const nameOf = ({ time, resourcePath, operationType }) => `${time} ${operationType} ${resourcePath}`

let sinceMs = Date.now() - 60_000
let sent = new Set((await changedSince(sinceMs)).map(nameOf))
for (let first = 0, page = []; first === 0 || page.length === PAGE; first += PAGE) {
  page = await keycloak(`/users?briefRepresentation=true&first=${first}&max=${PAGE}`)
  for (const { id } of page) await send(id)
}
console.log('all people were sent')
for (;;) {
  const events = await changedSince(sinceMs)
  const unsent = events.filter((each) => !sent.has(nameOf(each)))
  for (const id of new Set(unsent.map(({ resourcePath }) => resourcePath.split('/')[1]))) await send(id)
  sent = new Set(events.map(nameOf))
  sinceMs = Math.max(sinceMs, ...events.map(({ time }) => time))
  await sleep(LOOK_MS)
}
