// Access tokens of people for /mcp: who gets them, with which scope and consent, and what they open.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { digest } from '../../src/lib/id.ts'
import type { Client as Registered } from '../../src/records/client.ts'
import type { User } from '../../src/records/user.ts'
import { callAdmin } from '../support/admin.ts'
import { adminSignIn, GROUPS, openAdminFederation } from '../support/admin_page.ts'
import { WITH_MCP } from '../support/agent.ts'
import { APPROVALS, addAgent, askPerson } from '../support/approvals.ts'
import { Browser } from '../support/browser.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import {
  authorize,
  authorizeUrl,
  claimsOf,
  expectRefused,
  machineToken,
  post,
  redeem,
  refresh,
} from '../support/flow.ts'
import { ADMIN_KEY, addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let world: Awaited<ReturnType<typeof openAdminFederation>>
let service: TestService
let url: string
beforeAll(async () => {
  world = await openAdminFederation({
    ...WITH_MCP,
    SERVICE_DEVICE_ENABLED: 'true',
    ...APPROVALS,
    SERVICE_TOKEN_EXCHANGE_ENABLED: 'true',
  })
  service = world.service
  url = `${service.admin}/mcp`
})
afterAll(() => world.close())

const ALL = 'admin:view admin:operate admin:manage'
let count = 0
/** A person with these groups at the provider, who can sign in here with a password too. */
const person = (...groups: string[]) =>
  addUser(service, {
    ...{ provider_issuer: world.op.issuer, provider_sub: `sub-${++count}`, provider_groups: groups },
    email_verified: true,
  })
const clientOf = (record: Partial<Registered> = {}) =>
  addClient(service, { token_endpoint_auth_method: 'none', scope: ALL }, { registration_source: 'admin', ...record })

const deviceClient = () =>
  addClient(service, { token_endpoint_auth_method: 'none', grant_types: [DEVICE], redirect_uris: [] })
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'

async function tokenOf(user: User & { email: string }, scope = ALL, client?: Awaited<ReturnType<typeof clientOf>>) {
  const by = client ?? (await clientOf())
  const given = await authorize(service, by, user, { resource: url, scope })
  const answer = await redeem(service, by, given)
  return { client: by, answer, token: String(answer.body['access_token']) }
}
const call = (name: string, args: object, headers: Record<string, string>) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  })
const status = (token: string) => call('status', {}, { authorization: `Bearer ${token}` })

test.each([
  ['dcr', 'admin:view'],
  ['admin', ALL],
] as const)('a client of source %s gets the scope %s, whatever it asks for', async (registration_source, expected) => {
  const { answer } = await tokenOf(await person(GROUPS.admin), ALL, await clientOf({ registration_source }))
  expect(claimsOf(answer)).toMatchObject({ aud: [url], scope: expected })
})

test('a client that registered itself and asks for changes only is refused', async () => {
  const client = await clientOf({ registration_source: 'dcr' })
  const fields = { client_id: client.client_id, resource: url, scope: 'admin:operate' }
  const page = await new Browser().follow(authorizeUrl(service, fields))
  expect(page.text).toContain('this client may have only admin:view here')
})

test('consent is asked every time, and after ten minutes the sign-in too', async () => {
  const [user, client, browser] = [await person(GROUPS.admin), await clientOf(), new Browser()]
  const fields = { client_id: client.client_id, resource: url, scope: 'admin:view' }
  expect((await authorize(service, client, user, fields, browser)).code).not.toBe('')
  const again = await browser.follow(authorizeUrl(service, fields))
  expect([again.text.includes('value="allow"'), again.text.includes('type="password"')]).toEqual([true, false])
  service.advance(601)
  expect((await browser.follow(authorizeUrl(service, fields))).text).toContain('type="password"')
  expect((await authorize(service, client, user, fields, browser)).code).not.toBe('')
  service.advance(-601)
})

test('a scope that the person has no groups for gives nothing more, and no challenge asks for it', async () => {
  const { client_id } = await addClient(service)
  const { token } = await tokenOf(await person(GROUPS.viewer))
  const answer = await call('suspend_client', { client_id }, { authorization: `Bearer ${token}` })
  expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([200, null])
  expect(await answer.text()).toContain('there is no such tool')
  expect((await service.app.store.findClient({ client_id }))?.status).toBe('active')
})

test('a tool beyond the scope answers insufficient_scope with all scopes that it takes', async () => {
  const { token } = await tokenOf(await person(GROUPS.admin), 'admin:view')
  for (const [name, scope] of [
    ['suspend_client', 'admin:view admin:operate'],
    ['reload_configuration', ALL],
  ]) {
    const answer = await call(name ?? '', {}, { authorization: `Bearer ${token}` })
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
      403,
      `Bearer error="insufficient_scope", scope="${scope}", resource_metadata="${service.admin}/.well-known/oauth-protected-resource/mcp"`,
    ])
  }
})

test('a refreshed token works, and groups that were lost end it at the next call', async () => {
  const user = await person(GROUPS.operator)
  const { client, answer } = await tokenOf(user)
  const next = await refresh(service, client, answer.body['refresh_token'])
  const token = String(next.body['access_token'])
  expect((await status(token)).status).toBe(200)
  const { store } = service.app
  const now = await store.findUser({ id: user.id })
  await store.updateUser({ user: { ...user, ...now, provider_groups: [] }, ends_sign_ins: false } as never)
  const ended = await status(token)
  expect([ended.status, ended.headers.get('www-authenticate'), await ended.json()]).toMatchObject([
    403,
    null,
    { error: 'access_denied' },
  ])
})

test('groups that an operator set do not count, nor a provider of another issuer', async () => {
  const set = await addUser(service)
  await callAdmin(service, 'PATCH', `/admin/users/${set.id}`, { groups: [GROUPS.admin] })
  const other = await addUser(service, {
    ...{ provider_issuer: 'https://other.example.com', provider_sub: 'x', provider_groups: [GROUPS.admin] },
  })
  for (const user of [set, other]) expect((await status((await tokenOf(user)).token)).status).toBe(403)
})

test('a bound token needs a proof for the URL of /mcp', async () => {
  const [user, client, key] = [await person(GROUPS.viewer), await clientOf(), await proofKey()]
  const given = await authorize(service, client, user, { resource: url, scope: 'admin:view' })
  const { body } = await redeem(service, client, given, {}, await dpop(service, key))
  const token = String(body['access_token'])
  const proof = (htu: string, ath = digest(token)) => dpop(service, key, { claims: { htu, ath } })
  const send = async (headers: Record<string, string>, scheme = 'DPoP') =>
    (await call('status', {}, { authorization: `${scheme} ${token}`, ...headers })).status
  expect([
    await send(await proof(url)),
    await send(await proof(`${service.issuer}/mcp`)),
    await send(await proof(url, digest('x'))),
    await send({}),
    await send(await proof(url), 'Bearer'),
  ]).toEqual([200, 401, 401, 401, 401])
})

test('no other grant gets a token for it, and no resource can have its URI', async () => {
  const machine = await addClient(service, { scope: ALL })
  expectRefused(await machineToken(service, machine, { resource: url, scope: 'admin:view' }), 'invalid_target')
  const device = await post(`${service.issuer}/oauth/device_authorization`, await deviceClient(), {
    ...{ resource: url, scope: 'admin:view' },
  })
  expectRefused(device, 'invalid_target')
  const { email } = await person('staff')
  const asked = await askPerson(service, await addAgent(service, { scope: ALL }), {
    ...{ login_hint: email, resource: url, scope: 'admin:view' },
  })
  expectRefused(asked, 'invalid_target')
  const taken = await callAdmin(service, 'POST', '/admin/resources', {
    ...{
      slug: 'taken',
      uri: url,
      backend_kind: 'mint',
      display_name: 'Taken',
      scopes: [{ name: 'x', description: 'x' }],
    },
  })
  expect(taken, JSON.stringify(taken.body)).toMatchObject({ status: 409 })
  const { id } = await addResource(service)
  expect(await callAdmin(service, 'PATCH', `/admin/resources/${id}`, { uri: url })).toMatchObject({ status: 409 })
})

test('without the sign-in of people only keys open it, and there are no tokens for it', async () => {
  const plain = await startService(WITH_MCP)
  try {
    const client = await addClient(plain, { scope: ALL })
    expectRefused(
      await machineToken(plain, client, { resource: `${plain.admin}/mcp`, scope: 'admin:view' }),
      'invalid_target',
    )
    const send = (key: string) =>
      fetch(`${plain.admin}/mcp`, { method: 'GET', headers: { authorization: `Bearer ${key}` } })
    expect([(await send(ADMIN_KEY)).status, (await send('a.b.c')).status]).toEqual([405, 401])
  } finally {
    await plain.close()
  }
})

test('an API key with two dots opens it beside the sign-in of people, and what begins as a token is one', async () => {
  const key = 'a-key.of-three-parts.0123456789abcdef'
  const dotted = await startService(adminSignIn(world.op.issuer, { ...WITH_MCP, SERVICE_ADMIN_API_KEY: key }))
  try {
    const send = async (authorization: string) => {
      const { status, headers } = await fetch(`${dotted.admin}/mcp`, { headers: { authorization } })
      return [status, /error="(\w+)"/.exec(headers.get('www-authenticate') ?? '')?.[1]]
    }
    const head = Buffer.from('{"alg":"ES256"}').toString('base64url')
    expect(await send(`Bearer ${key}`)).toEqual([405, undefined])
    expect(await send(`Bearer ${key}x`)).toEqual([401, undefined])
    for (const rest of ['x.y', 'x', '', 'x.y.z'])
      expect(await send(`Bearer ${head}.${rest}`), rest).toEqual([401, 'invalid_token'])
  } finally {
    await dotted.close()
  }
})
