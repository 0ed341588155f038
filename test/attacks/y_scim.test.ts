// Section Y of the attack list: what the holder of a SCIM key, or of another key, may try at SCIM.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adminResources } from '../../src/admin/index.ts'
import { newId } from '../../src/lib/id.ts'
import { CAPABILITIES } from '../../src/records/api_key.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { federating } from '../support/openid_fake.ts'
import { ACME, type ScimClient, scimClient, scimWithAcme } from '../support/scim.ts'
import { ADMIN_KEY, startService, type TestService } from '../support/service.ts'

const OKTA = 'http://localhost:9'
let service: TestService
let okta: ScimClient
let acme: ScimClient
beforeAll(async () => {
  const { env, file } = scimWithAcme()
  service = await startService(federating(OKTA, env), file)
  ;[okta, acme] = [await scimClient(service), await scimClient(service, 'acme')]
})
afterAll(() => service.close())

const aPerson = () => ({ userName: `${newId()}@example.com`, externalId: newId(), active: true })
const addGroup = async (client: ScimClient, more: object = {}) =>
  String((await client.send('POST', '/Groups', { displayName: newId(), ...more })).body['id'])
const resource = async (client: ScimClient, path: string) => (await client.send('GET', path)).body
const eventsAbout = async (kind: string, user_id: string) =>
  (await eventsOf(service, kind)).filter(({ detail }) => detail['user_id'] === user_id)

describe('Y01 a PATCH that empties a required member is refused, and changes nothing', () => {
  const OPERATIONS: [string, object][] = ['userName', 'active'].flatMap((name) => [
    [`removes ${name}`, { op: 'remove', path: name }],
    ...['', ' ', null, [], {}].flatMap((value): [string, object][] => [
      [`replaces ${name} by ${JSON.stringify(value)}`, { op: 'replace', path: name, value }],
      [`replaces ${name} without a path by ${JSON.stringify(value)}`, { op: 'replace', value: { [name]: value } }],
    ]),
    [`adds ${name} without a value`, { op: 'add', path: name }],
  ])
  test.each(OPERATIONS)('of a person: it %s', async (_, operation) => {
    const id = await okta.add(aPerson())
    const before = await resource(okta, `/Users/${id}`)
    const renamed = { op: 'replace', path: 'displayName', value: 'Changed' }
    expect((await okta.patch(`/Users/${id}`, renamed, operation)).status).toBe(400)
    expect(await resource(okta, `/Users/${id}`)).toEqual(before)
  })

  test.each([
    [{ op: 'remove', path: 'displayName' }],
    [{ op: 'replace', path: 'displayName', value: '' }],
    [{ op: 'replace', path: 'displayName', value: null }],
    [{ op: 'replace', path: 'displayName', value: ' ' }],
    [{ op: 'replace', value: { displayName: '' } }],
    [{ op: 'replace', value: { displayName: [] } }],
    [{ op: 'add', path: 'displayName' }],
  ])('of a group: %j', async (operation) => {
    const at = `/Groups/${await addGroup(okta, { members: [{ value: await okta.add(aPerson()) }] })}`
    const before = await resource(okta, at)
    expect((await okta.patch(at, { op: 'remove', path: 'members' }, operation)).status).toBe(400)
    expect(await resource(okta, at)).toEqual(before)
  })
})

describe('Y02 a request that is repeated', () => {
  test('adds no second person, and activates no person who was deactivated', async () => {
    const person = aPerson()
    const id = await okta.add(person)
    await okta.patch(`/Users/${id}`, { op: 'replace', value: { active: false, displayName: 'Ada' } })
    for (let i = 0; i < 3; i++) expect((await okta.send('POST', '/Users', person)).status).toBe(409)
    expect(await resource(okta, `/Users/${id}`)).toMatchObject({ active: false, displayName: 'Ada' })
    expect(await eventsAbout('user_created', id)).toHaveLength(1)
    expect(await eventsAbout('user_enabled', id)).toEqual([])
  })

  test('adds another account after DELETE, without a group or a right of the first one', async () => {
    const person = aPerson()
    const id = await okta.add(person)
    const group = await addGroup(okta, { members: [{ value: id }] })
    await okAdmin(service, 'PATCH', `/admin/users/${id}`, { groups: ['payroll'] })
    const deleted = [await okta.send('DELETE', `/Users/${id}`), await okta.send('DELETE', `/Users/${id}`)]
    expect(deleted.map(({ status }) => status)).toEqual([204, 404])
    const again = await okta.add(person)
    expect(again).not.toBe(id)
    expect(await okAdmin(service, 'GET', `/admin/users/${again}`)).toMatchObject({ groups: [] })
    expect((await resource(okta, `/Groups/${group}`))['members']).toEqual([])
    expect(await eventsAbout('user_deleted', id)).toHaveLength(1)
  })

  test('changes nothing the second time, and has no second event', async () => {
    const id = await okta.add(aPerson())
    const change = () => okta.patch(`/Users/${id}`, { op: 'replace', value: { active: false } })
    expect([(await change()).status, (await change()).status]).toEqual([200, 200])
    expect(await eventsAbout('user_disabled', id)).toHaveLength(1)
  })
})

describe('Y03 the key of another provider', () => {
  const revoke = (sub_id: object) =>
    fetch(`${service.issuer}/oauth/global-token-revocation`, {
      method: 'POST',
      headers: { authorization: `Bearer ${acme.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ sub_id }),
    })

  test('reads, changes and deletes neither people nor groups', async () => {
    const id = await okta.add(aPerson())
    const group = await addGroup(okta, { members: [{ value: id }] })
    const before = [await resource(okta, `/Users/${id}`), await resource(okta, `/Groups/${group}`)]
    for (const at of [`/Users/${id}`, `/Groups/${group}`]) {
      expect((await acme.send('GET', at)).status, at).toBe(404)
      expect((await acme.send('DELETE', at)).status, at).toBe(404)
      const body = at.startsWith('/Users') ? aPerson() : { displayName: newId() }
      expect((await acme.send('PUT', at, body)).status, at).toBe(404)
      expect((await acme.patch(at, { op: 'replace', path: 'displayName', value: 'x' })).status, at).toBe(404)
    }
    for (const filter of [`id eq "${id}"`, `userName eq "${before[0]?.['userName']}"`, `id eq "${group}"`])
      for (const path of ['/Users', '/Groups']) {
        const { body } = await acme.send('GET', `${path}?filter=${encodeURIComponent(filter)}`)
        expect(body['totalResults'] ?? 0, filter).toBe(0)
      }
    expect([await resource(okta, `/Users/${id}`), await resource(okta, `/Groups/${group}`)]).toEqual(before)
  })

  test('puts no person of the first into a group of its own, and finds no group by one', async () => {
    const id = await okta.add(aPerson())
    const group = await addGroup(acme, { displayName: 'admins', members: [{ value: id }] })
    await acme.patch(`/Groups/${group}`, { op: 'add', path: 'members', value: [{ value: id }] })
    await acme.send('PUT', `/Groups/${group}`, { displayName: 'admins', members: [{ value: id }] })
    expect((await resource(acme, `/Groups/${group}`))['members']).toEqual([])
    expect(await okAdmin(service, 'GET', `/admin/users/${id}`)).toMatchObject({ groups: [] })
    await addGroup(okta, { members: [{ value: id }] })
    const filter = encodeURIComponent(`members.value eq "${id}"`)
    expect((await acme.send('GET', `/Groups?filter=${filter}`)).body['totalResults']).toBe(0)
  })

  test('ends no session of a person of the first, however it is named', async () => {
    const person = aPerson()
    const id = await okta.add(person)
    for (const sub_id of [
      { format: 'opaque', id },
      { format: 'email', email: person.userName },
      { format: 'iss_sub', iss: OKTA, sub: person.externalId },
      { format: 'iss_sub', iss: ACME, sub: person.externalId },
    ])
      expect((await revoke(sub_id)).status, JSON.stringify(sub_id)).toBe(404)
    expect(await eventsAbout('user_signed_out', id)).toEqual([])
  })

  test('takes over no account by an equal name, subject or address', async () => {
    const person = { ...aPerson(), emails: [{ value: `${newId()}@example.com`, primary: true }] }
    const [id, other] = [await okta.add(person), await acme.add(person)]
    expect(other).not.toBe(id)
    await acme.patch(`/Users/${other}`, { op: 'replace', value: { active: false } })
    expect(await okAdmin(service, 'GET', `/admin/users/${id}`)).toMatchObject({
      status: 'active',
      email: person.emails[0]?.value,
    })
  })
})

describe('Y04 a key of another kind', () => {
  const AT_SCIM: [string, string][] = [
    ['GET', '/scim/v2/Users'],
    ['POST', '/scim/v2/Users'],
    ['GET', '/scim/v2/Groups'],
    ['GET', '/scim/v2/ServiceProviderConfig'],
    ['GET', '/scim/v2/nothing'],
    ['POST', '/oauth/global-token-revocation'],
  ]
  const atScim = async (key: string, method: string, path: string) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const body = method === 'POST' ? { body: JSON.stringify(aPerson()) } : {}
    return (await fetch(service.issuer + path, { method, headers, ...body })).status
  }

  test.each(CAPABILITIES)('of the admin API, with the capability %s, opens nothing of SCIM', async (capability) => {
    const made = await okAdmin<{ key: string }>(service, 'POST', '/admin/api-keys', { name: capability, capability })
    for (const [method, path] of AT_SCIM) expect(await atScim(made.key, method, path), path).toBe(403)
  })

  test('of the configuration opens nothing of SCIM', async () => {
    for (const [method, path] of AT_SCIM) expect(await atScim(ADMIN_KEY, method, path), path).toBe(401)
  })

  test('of SCIM opens no operation of the admin API, and no session of the admin page', async () => {
    const headers = { authorization: `Bearer ${okta.key}`, 'content-type': 'application/json' }
    const operations = adminResources.flatMap(({ actions }) => Object.values(actions))
    expect(operations.length).toBeGreaterThan(50)
    for (const { method, path } of [...operations, { method: 'POST', path: '/admin/ui/session' }]) {
      const at = path.replace(/\{\w+\}/g, 'nothing-here')
      const body = method === 'GET' || method === 'DELETE' ? undefined : { key: okta.key }
      const { status } = await callAdmin(service, method, at, body, headers)
      expect([401, 403], `${method} ${at}: ${status}`).toContain(status)
    }
  })
})

describe('Y05 a filter or path that is too large is refused quickly', () => {
  const many = (text: string, times: number) => text.repeat(times)
  /** What fits into the head of a request. */
  const MAX_QUERY = 15_000
  test.each([
    ['parentheses that are closed', `${many('(', 10_000)}userName eq "a"${many(')', 10_000)}`],
    ['parentheses that are not closed', `${many('(', 10_000)}userName eq "a"`],
    ['brackets', `${many('emails[', 3000)}type eq "work"${many(']', 3000)}`],
    ['comparisons', Array(3000).fill('userName eq "a"').join(' and ')],
    ['a text that does not end', `userName eq "${many('\\"', 5000)}`],
    ['white space', `userName${many(' ', 10_000)}eq "a"`],
    ['a URN', `${many('urn:', 5000)}userName eq "a"`],
  ])('%s', async (_, text) => {
    const id = await okta.add(aPerson())
    for (const filter of [text, text.slice(0, 4000), text.slice(0, 1000)]) {
      const started = performance.now()
      const query = encodeURIComponent(filter)
      if (query.length < MAX_QUERY)
        expect(await okta.send('GET', `/Users?filter=${query}`)).toMatchObject({
          status: 400,
          body: { scimType: 'invalidFilter' },
        })
      const path = `emails[${filter}].value`
      expect(await okta.patch(`/Users/${id}`, { op: 'replace', path, value: 'a@example.com' })).toMatchObject({
        status: 400,
        body: { scimType: 'invalidPath' },
      })
      expect(performance.now() - started).toBeLessThan(2000)
    }
  })
})

test('Y06 names of the prototype are not attributes: no object of the process gets a member', async () => {
  const id = await okta.add(aPerson())
  const group = await addGroup(okta)
  const PATHS = [
    '__proto__.polluted',
    '__proto__',
    'constructor.prototype',
    'constructor',
    'toString',
    'hasOwnProperty',
  ]
  for (const at of [`/Users/${id}`, `/Groups/${group}`])
    for (const path of PATHS)
      for (const op of ['add', 'replace', 'remove']) {
        const value = { polluted: 'yes' }
        expect((await okta.patch(at, { op, path, value })).status, path).toBeLessThan(500)
        const bare = `{"Operations": [{"op": "${op}", "value": {"${path}": {"polluted": "yes"}, "__proto__": {"polluted": "yes"}}}]}`
        expect((await okta.send('PATCH', at, bare)).status, path).toBeLessThan(500)
        const filter = encodeURIComponent(`${path} eq "yes"`)
        expect((await okta.send('GET', `${at.slice(0, at.lastIndexOf('/'))}?filter=${filter}`)).status, path).toBe(400)
      }
  expect(Object.keys(await resource(okta, `/Users/${id}`))).not.toContain('polluted')
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

test('Y08 a request with more than 100,000 members is refused', async () => {
  const at = `/Groups/${await addGroup(okta)}`
  const value = Array.from({ length: 100_001 }, () => ({ value: 'u' }))
  expect(await okta.patch(at, { op: 'add', path: 'members', value })).toMatchObject({
    status: 400,
    body: { scimType: 'invalidValue' },
  })
})
