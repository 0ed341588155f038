// POST /admin/try/explain: every rule of a grant in order, and the same answer as the grant itself.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { grants } from '../../src/grants/index.ts'
import type { ResourceAccess } from '../../src/records/resource.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { envOf, runHere } from '../support/cli.ts'
import { aPerson, BOTH, EXCHANGE, exchange } from '../support/exchange.ts'
import { claimsOf, machineToken, refresh } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { JWT_BEARER, LOOPBACK, mapSubject, xaaScene } from '../support/xaa.ts'

let service: TestService
let client: Awaited<ReturnType<typeof addClient>>
const ALL = { grant_types: grants.map(({ type }) => type) }
beforeAll(async () => {
  service = await startService(LOOPBACK)
  client = await addClient(service, { scope: BOTH }, ALL)
})
afterAll(() => service.close())

interface Explained {
  ok: boolean
  steps: { rule: string; outcome: string; where: string; change: string }[]
  claims?: Record<string, unknown>
  refusal?: { error: string; reason: string }
}
const explain = (fields: object) =>
  okAdmin<Explained>(service, 'POST', '/admin/try/explain', { client_id: client.client_id, ...fields })
const failedIn = ({ steps }: Explained) => steps.find(({ outcome }) => outcome === 'failed')
const setGroups = ({ id }: { id: string }, ...groups: string[]) =>
  okAdmin(service, 'PATCH', `/admin/users/${id}`, { groups })
const change = ({ id }: { id: string }, to: object) => okAdmin(service, 'PATCH', `/admin/resources/${id}`, to)
const restricted: Partial<ResourceAccess> = { mode: 'restricted', groups: ['staff'] }

test('a failed rule states where it is set and how to change it; later rules are not reached, and no claims are shown', async () => {
  const [user, resource] = [await addUser(service), await addResource(service, { access: restricted })]
  const answer = await explain({ grant: 'authorization_code', user: user.email, resource: resource.uri, scope: BOTH })
  expect(answer).toMatchObject({ ok: false, refusal: { error: 'access_denied', reason: 'access_refused' } })
  expect(answer).not.toHaveProperty('claims')
  const outcomes = answer.steps.map(({ outcome }) => outcome)
  const at = outcomes.indexOf('failed')
  expect(outcomes.slice(0, at).every((each) => each === 'passed')).toBe(true)
  expect(outcomes.slice(at + 1)).toEqual(['not_reached', 'not_reached', 'not_reached'])
  const failed = answer.steps[at]
  expect(failed?.rule).toBe('access')
  expect(failed?.where).toContain(resource.slug)
  for (const text of ['staff', user.id, resource.slug]) expect(failed?.change).toContain(text)
})

test('a rule that is not reached says nothing about what was not looked up', async () => {
  const machine = await addClient(service, { grant_types: ['client_credentials'] })
  const [user, resource] = [await addUser(service), await addResource(service, { access: restricted })]
  const asked = { client_id: machine.client_id, grant: 'authorization_code', user: user.email, resource: resource.uri }
  const { steps } = await explain(asked)
  const places = Object.fromEntries(steps.map(({ rule, outcome, where }) => [rule, [outcome, where]]))
  expect(places).toMatchObject({
    grant_registered: ['failed', `client ${machine.client_id}: grant_types`],
    user_active: ['not_reached', `user ${user.email}`],
    access: ['not_reached', `access of the resource ${resource.uri}`],
    consent: [
      'not_reached',
      `consent of ${user.email} to the client ${machine.client_id} at the resource ${resource.uri}`,
    ],
  })
})

test('omitted scopes are shown with their groups, and the claims do not contain them', async () => {
  const [user, resource] = [
    await addUser(service),
    await addResource(service, { scope_groups: { 'mcp:write': ['editors'] } }),
  ]
  const asked = { grant: 'authorization_code', user: user.id, resource: resource.uri }
  const answer = await explain({ ...asked, scope: BOTH })
  const step = answer.steps.find(({ rule }) => rule === 'scope_groups')
  expect([answer.ok, answer.claims?.['scope'], step?.outcome]).toEqual([true, 'mcp:read', 'passed'])
  expect(step?.where).toContain('mcp:write')
  expect(step?.change).toContain('editors')
  expect(failedIn(await explain({ ...asked, scope: 'mcp:write' }))?.rule).toBe('scope_groups')
})

test('a request without a resource is explained for the default_resource of its client, unless it only signs in', async () => {
  const resource = await addResource(service)
  const own = await addClient(service, { scope: BOTH }, { ...ALL, default_resource: resource.uri })
  const { id: user } = await addUser(service)
  const asked = { client_id: own.client_id, user, scope: 'mcp:read' }
  for (const grant of ['authorization_code', 'client_credentials'])
    expect((await explain({ ...asked, grant })).claims).toMatchObject({ aud: [resource.uri], scope: 'mcp:read' })
  const without = { ...asked, client_id: client.client_id, grant: 'client_credentials' }
  const answer = await callAdmin(service, 'POST', '/admin/try/explain', without)
  expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request'])
})

describe('explain gives the same answer as the grant', () => {
  test('refresh: explain shows the claims of the token, and a refusal when access or the consent is missing', async () => {
    const { user, signIn } = await aPerson(service, { operator_groups: ['staff'] })
    const resource = await addResource(service, { access: restricted, token_claims: ['groups', 'email'] })
    const asked = { grant: 'refresh_token', user: user.id, resource: resource.uri }
    expect(failedIn(await explain(asked))?.rule).toBe('consent')
    const { refresh_token } = (await signIn(client, resource)).body
    const { claims } = await explain(asked)
    const { jti, ...real } = claimsOf(await refresh(service, client, refresh_token))
    expect(claims).toEqual({ ...real, iat: expect.any(Number), exp: expect.any(Number) })
    expect(jti).toBeDefined()
    await setGroups(user)
    expect(failedIn(await explain(asked))?.rule).toBe('access')
  })

  test('exchange: explain checks the list of the resource for another client, the consent and the access', async () => {
    const { user, signIn, consent } = await aPerson(service)
    const [source, target, gateway] = [
      await addResource(service),
      await addResource(service),
      await addClient(service, {}, ALL),
    ]
    const subject_token = (await signIn(client, source)).body['access_token']
    const asked = { grant: EXCHANGE, user: user.email, resource: target.uri, scope: BOTH, actor: gateway.client_id }
    const real = async () =>
      (await exchange(service, gateway, { subject_token, resource: target.uri, scope: BOTH })).status
    const both = async () => [failedIn(await explain(asked))?.rule, await real()]
    expect(await both()).toEqual(['exchange_list', 403])
    await change(target, { policy: { exchange: { allowed_client_ids: [gateway.client_id] } } })
    expect(await both()).toEqual(['consent', 400])
    await consent(client, target)
    expect(await both()).toEqual([undefined, 200])
    expect((await explain(asked)).claims).toMatchObject({
      client_id: gateway.client_id,
      act: { sub: gateway.client_id },
    })
    await change(target, { access: restricted })
    expect(await both()).toEqual(['access', 403])
    await setGroups(user, 'staff')
    expect(await both()).toEqual([undefined, 200])
  })

  test('ID-JAG: explain checks the policies of the identity provider, and then the user', async () => {
    const scene = await xaaScene(service, { policies: [] })
    const user = await addUser(service)
    await mapSubject(service, scene.idp_id, 'ada', user.id)
    const asked = { grant: JWT_BEARER, client_id: scene.client.client_id, user: user.id, resource: scene.resource.uri }
    const real = async () => (await scene.redeem(await scene.assertion({ claims: { sub: 'ada' } }))).status
    const both = async () => [failedIn(await explain(asked))?.rule, await real()]
    expect(await both()).toEqual(['policy', 403])
    await okAdmin(service, 'POST', '/admin/xaa/policies', { idp_id: scene.idp_id, resources: [scene.resource.uri] })
    expect(await both()).toEqual([undefined, 200])
    await change(scene.resource, { access: restricted })
    expect(await both()).toEqual(['access', 403])
    await okAdmin(service, 'PATCH', `/admin/users/${user.id}/disable`)
    expect(await both()).toEqual(['user_active', 400])
  })

  test('client_credentials: explain checks no rule of users, and shows the scopes that the client may have', async () => {
    const resource = await addResource(service, { access: restricted })
    const asked = { grant: 'client_credentials', resource: resource.uri, scope: 'mcp:read' }
    const { claims, steps } = await explain(asked)
    const real = claimsOf(await machineToken(service, client, { resource: resource.uri, scope: 'mcp:read' }))
    expect(claims).toMatchObject({ sub: real.sub, aud: real.aud, scope: real['scope'] })
    expect(steps.map(({ rule }) => rule)).not.toContain('access')
    expect(failedIn(await explain({ ...asked, scope: 'other' }))?.rule).toBe('scope')
  })
})

test.each([
  ['an unknown client', { client_id: 'nobody' }, 'client_active'],
  ['an unknown user', { user: 'nobody' }, 'user_active'],
  ['an unknown resource', { resource: 'https://nowhere.example.com' }, 'resource_known'],
  ['a scope that nothing declares', { scope: 'other' }, 'scope'],
])('%s is shown as a failed step', async (_what, fields, rule) => {
  const [user, resource] = [await addUser(service), await addResource(service)]
  const asked = { grant: 'authorization_code', user: user.id, resource: resource.uri, scope: BOTH, ...fields }
  expect(failedIn(await explain(asked))?.rule).toBe(rule)
})

test('explain fails at the client for a client without the grant, a public client and a suspended one', async () => {
  const [user, resource] = [await addUser(service), await addResource(service)]
  const asked = { user: user.id, resource: resource.uri, grant: EXCHANGE }
  const plain = await addClient(service)
  expect(failedIn(await explain({ ...asked, client_id: plain.client_id }))?.rule).toBe('grant_registered')
  const open = await addClient(service, { token_endpoint_auth_method: 'none' })
  expect(failedIn(await explain({ ...asked, client_id: open.client_id }))?.rule).toBe('client_confidential')
  const stopped = await addClient(service, {}, { ...ALL, status: 'suspended' })
  expect(failedIn(await explain({ ...asked, client_id: stopped.client_id }))?.rule).toBe('client_active')
})

test.each([
  ['no user for a grant that needs one', { grant: 'authorization_code' }],
  ['a grant that does not exist', { grant: 'password', user: 'u_1' }],
  ['a member that does not exist', { grant: 'authorization_code', user: 'u_1', audience: 'x' }],
])('refuses %s', async (_what, fields) => {
  const body = { client_id: client.client_id, resource: 'https://a.example.com', ...fields }
  expect((await callAdmin(service, 'POST', '/admin/try/explain', body)).status).toBe(400)
})

test('explain issues nothing, changes nothing and writes no audit event', async () => {
  const [user, resource] = [await addUser(service), await addResource(service, { access: restricted })]
  const before = (await okAdmin<unknown[]>(service, 'GET', '/admin/audit?limit=1000')).length
  for (const groups of [[], ['staff']]) {
    await service.app.store.updateUser({
      user: { ...user, operator_groups: groups, version: groups.length + 1 },
      signOut: false,
      now: 1,
    })
    await explain({ grant: 'authorization_code', user: user.id, resource: resource.uri, scope: BOTH })
  }
  expect((await okAdmin<unknown[]>(service, 'GET', '/admin/audit?limit=1000')).length).toBe(before)
  expect((await eventsOf(service, 'access_refused')).filter(({ detail }) => detail['user_id'] === user.id)).toEqual([])
  const { consent_grants } = await okAdmin<{ consent_grants: unknown[] }>(
    service,
    'GET',
    `/admin/users/${user.id}/grants`,
  )
  expect(consent_grants).toEqual([])
})

test('admin try explain prints the verdict before the rules, and everything with --json', async () => {
  const [user, resource] = [await addUser(service), await addResource(service, { access: restricted })]
  const command = ['admin', 'try', 'explain', '--grant', 'authorization_code', '--client-id', client.client_id]
  const flags = ['--user', user.email, '--resource', resource.uri, '--scope', 'mcp:read']
  const env = envOf(service)
  const { stdout } = await runHere([...command, ...flags], env)
  expect(stdout).toMatch(
    /^ok=false\nrefusal\.status=403\nrefusal\.error=access_denied\n[\s\S]*\n\nrule=grant_enabled\noutcome=passed\n/,
  )
  expect(stdout).toMatch(/rule=access\noutcome=failed/)
  expect(JSON.parse((await runHere([...command, ...flags, '--json'], env)).stdout)).toMatchObject({ ok: false })
})
