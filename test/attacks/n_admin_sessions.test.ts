// Section N of the attack list: capabilities, API keys and sessions of the admin page. One test per row, named by its id.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { adminResources } from '../../src/admin/index.ts'
import { newBearer } from '../../src/lib/id.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { AdminBrowser, adminSignIn, GROUPS, idOfPerson } from '../support/admin_page.ts'
import { FederatedBrowser } from '../support/federated_browser.ts'
import { tempFile } from '../support/folder.ts'
import { CLIENT_ID, CLIENT_SECRET } from '../support/openid_fake.ts'
import { RealProvider } from '../support/openid_provider.ts'
import { ADMIN_KEY, addClient, startService, type TestService } from '../support/service.ts'

let service: TestService
let op: RealProvider
let partner: RealProvider
beforeAll(async () => {
  op = await RealProvider.listen()
  partner = await RealProvider.listen()
  const record = { slug: 'partner', issuer: partner.issuer, client_id: CLIENT_ID, client_secret: CLIENT_SECRET }
  const more = { redirect_uri: 'http://localhost:1/oidc/callback/partner', allow_private_addresses: true }
  const file = tempFile('service.yaml', { oidc: { providers: [{ ...record, ...more, display_name: 'Partner' }] } })
  service = await startService(adminSignIn(op.issuer), file)
  op.open(service, 'ES256')
  partner.open({ ...service, slug: 'partner' }, 'ES256')
})
afterAll(async () => {
  op.close()
  partner.close()
  await service.close()
})

let count = 0
const person = (groups: string[]) => {
  const sub = `up-${++count}`
  return { sub, email: `${sub}@corp.example.com`, email_verified: true, name: 'Ada', groups }
}
async function signedIn(groups: string[]): Promise<AdminBrowser> {
  op.person = person(groups)
  const tab = new AdminBrowser(service, op)
  await tab.signInAsPerson()
  return tab
}
const createKey = (capability: string) =>
  okAdmin<{ id: string; key: string }>(service, 'POST', '/admin/api-keys', { name: `n-${++count}`, capability })
/** What must not change. */
const state = async () =>
  JSON.stringify([
    await okAdmin(service, 'GET', '/admin/keys'),
    await okAdmin(service, 'GET', '/admin/api-keys'),
    await okAdmin(service, 'GET', '/admin/clients'),
    await okAdmin(service, 'GET', '/admin/idps'),
  ]).replace(/,"last_used_at":"[^"]*"/g, '')

test('N13 a viewer cannot write, with a key or as a person', async () => {
  const { key } = await createKey('viewer')
  const tab = await signedIn([GROUPS.viewer])
  const { client_id } = await addClient(service)
  const before = await state()
  const writes = adminResources
    .flatMap(({ actions }) => Object.values(actions))
    .filter(({ method, needs }) => method !== 'GET' && needs !== 'viewer')
  expect(writes.length).toBeGreaterThan(40)
  for (const { method, path } of writes) {
    const target = path.replace('{client_id}', client_id).replace(/\{\w+\}/g, 'x')
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const body = method === 'DELETE' ? undefined : {}
    expect((await callAdmin(service, method, target, body, headers)).status, `${method} ${path}`).toBe(403)
    expect((await tab.send(method, target, body)).status, `${method} ${path}`).toBe(403)
  }
  expect(await state()).toBe(before)
})

test('N13 an operator cannot become an admin: no API keys, no signing keys, no identity providers', async () => {
  const { key } = await createKey('operator')
  const before = await state()
  const idp = { issuer: 'https://evil.example.com', jwks_uri: 'https://evil.example.com/jwks.json' }
  for (const [path, body] of [
    ['/admin/api-keys', { name: 'mine', capability: 'admin' }],
    ['/admin/keys/rotate', {}],
    ['/admin/idps', idp],
    ['/admin/system/config/reload', {}],
  ] as const) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    expect((await callAdmin(service, 'POST', path, body, headers)).status, path).toBe(403)
  }
  expect(await state()).toBe(before)
})

test('N14 a revoked key is refused, and so is the session that was made with it', async () => {
  const { id, key } = await createKey('admin')
  const tab = new AdminBrowser(service)
  await tab.signInWithKey(key)
  expect((await tab.send('GET', '/admin/stats')).status).toBe(200)
  await okAdmin(service, 'DELETE', `/admin/api-keys/${id}`)
  expect((await callAdmin(service, 'GET', '/admin/stats', undefined, { authorization: `Bearer ${key}` })).status).toBe(
    401,
  )
  expect([(await tab.send('GET', '/admin/stats')).status, await tab.operator()]).toEqual([401, undefined])
})

test.each<[string, Record<string, string>, object?]>([
  ['a form without a body', { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-site' }],
  ['JSON', { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-site' }, {}],
  ['a request of an old browser', { origin: 'http://localhost:3000' }],
  ['the header of the page, and another site', { 'x-admin-page': 'http:', 'sec-fetch-site': 'cross-site' }, {}],
  ['the header of the page, and another port', { 'x-admin-page': 'http:', 'sec-fetch-site': 'same-site' }, {}],
  ['a made-up header', { 'x-admin-page': 'yes' }, {}],
])('N15 the cookie alone changes nothing: %s', async (_what, headers, body) => {
  const tab = new AdminBrowser(service)
  await tab.signInWithKey()
  const before = await state()
  expect((await tab.send('POST', '/admin/keys/rotate', body, headers)).status).toBe(401)
  expect((await tab.send('DELETE', '/admin/ui/session', undefined, headers)).status).toBe(401)
  expect(await state()).toBe(before)
  const preflight = await fetch(`${service.admin}/admin/keys/rotate`, {
    method: 'OPTIONS',
    headers: {
      origin: 'http://localhost:3000',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-admin-page',
    },
  })
  expect([preflight.ok, preflight.headers.get('access-control-allow-headers')]).toEqual([false, null])
  expect((await tab.send('GET', '/admin/stats')).status).toBe(200)
})

test('N16 the cookies of the two listeners are not accepted at the other one', async () => {
  op.person = person([GROUPS.admin])
  const user = new FederatedBrowser(service, op)
  await user.signInAt('Corporate SSO')
  const [session = ''] = [...user.cookies.values()]
  const tab = new AdminBrowser(service, op)
  await tab.signInAsPerson()
  const admin = tab.cookies.get('service_admin') ?? ''

  const mixed = new AdminBrowser(service)
  for (const name of ['service_admin', ...user.cookies.keys()]) mixed.cookies.set(name, session)
  expect([(await mixed.send('GET', '/admin/stats')).status, await mixed.operator()]).toEqual([401, undefined])

  const account = new FederatedBrowser(service)
  for (const name of ['service_admin', ...user.cookies.keys()]) account.cookies.set(name, admin)
  expect((await account.open(`${service.issuer}/account`)).status).toBe(303)
  expect((await user.open(`${service.issuer}/account`)).status).toBe(200)
})

test('N16 a pending sign-in of a user does not complete a sign-in at the admin page', async () => {
  const user = new FederatedBrowser(service, op)
  const started = await user.open(`${service.issuer}/oidc/start`)
  const state = new URL(started.location ?? '').searchParams.get('state') ?? ''
  const [sealed = ''] = [...user.cookies.values()]
  const tab = new AdminBrowser(service, op)
  tab.cookies.set(`service_admin_oidc_${state.slice(0, 16)}`, sealed)
  const { status } = await tab.open(
    `${service.admin}/admin/ui/sign-in/callback?${new URLSearchParams({ state, code: 'x' })}`,
  )
  expect(status).toBe(400)
})

test('N17 a sign-in always makes a new cookie, and a cookie that was not issued is none', async () => {
  const tab = new AdminBrowser(service)
  const { value } = newBearer('sas')
  tab.cookies.set('service_admin', value)
  expect((await tab.send('GET', '/admin/stats')).status).toBe(401)
  await tab.signInWithKey()
  const first = tab.cookies.get('service_admin') ?? ''
  await tab.signInWithKey()
  expect(new Set([value, first, tab.cookies.get('service_admin')]).size).toBe(3)
  const same = new AdminBrowser(service)
  same.cookies.set(
    'service_admin',
    newBearer('sas', Buffer.from(first.slice(4), 'base64url').toString('base64url', 0, 16)).value,
  )
  expect((await same.send('GET', '/admin/stats')).status).toBe(401)
})

test('N17 a callback is for the browser that started it, and once', async () => {
  op.person = person([GROUPS.admin])
  const tab = new AdminBrowser(service, op)
  let page = await tab.open(`${service.admin}/admin/ui/sign-in/start`)
  while (!page.location?.startsWith(service.admin)) page = await tab.step(page.location ?? '')
  const kept = [...tab.cookies]
  const other = new AdminBrowser(service)
  expect((await other.open(page.location)).status).toBe(400)
  expect(await other.operator()).toBeUndefined()
  expect((await tab.open(page.location)).status).toBe(303)
  const again = new AdminBrowser(service)
  for (const [name, value] of kept) again.cookies.set(name, value)
  expect([(await again.open(page.location)).status, await again.operator()]).toEqual([400, undefined])
})

test.each<[string, (id: string) => Promise<unknown>]>([
  [
    'loses the group',
    async () => {
      op.person = { ...op.person, groups: [] }
      await new FederatedBrowser(service, op).signInAt('Corporate SSO')
    },
  ],
  ['is disabled', (id) => okAdmin(service, 'PATCH', `/admin/users/${id}/disable`)],
  ['is signed out at the provider', () => op.logOut(op.sids.at(-1))],
])('N18 a person who %s has no access at the next request', async (_what, act) => {
  const tab = await signedIn([GROUPS.admin])
  const id = await idOfPerson(service, op)
  expect((await tab.send('GET', '/admin/stats')).status).toBe(200)
  await act(id)
  expect((await tab.send('GET', '/admin/stats')).status).toBe(401)
})

test('N19 a group from an operator, or from another provider, gives no capability', async () => {
  const groups = [GROUPS.admin]
  partner.person = person(groups)
  const tab = new AdminBrowser(service, op, partner)
  const page = await tab.signInAsPerson('/partner')
  expect([page.status, await tab.operator()]).toEqual([404, undefined])
  expect(partner.asked).toEqual([])

  const outsider = await signedIn([])
  const id = await idOfPerson(service, op)
  await okAdmin(service, 'PATCH', `/admin/users/${id}`, { groups })
  expect((await outsider.signInAsPerson()).status).toBe(403)
  expect(await outsider.operator()).toBeUndefined()
})

test('the key is still accepted in the Authorization header, with or without a session', async () => {
  const tab = await signedIn([GROUPS.viewer])
  const headers = { authorization: `Bearer ${ADMIN_KEY}`, 'x-admin-page': 'http:' }
  const { body } = await tab.send('POST', '/admin/auth/verify', undefined, headers)
  expect(body).toMatchObject({ actor_id: 'admin', capability: 'admin' })
})
