// Attacks on the access of people: a rule that one way holds must hold on every other way to the same scope.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { addBrokerResource, addProvider } from '../support/broker.ts'
import { addExchanger, aPerson, BOTH, exchange } from '../support/exchange.ts'
import { authorize, claimsOf, expectRefused, introspect, redeem, refresh } from '../support/flow.ts'
import { addResource, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const setGroups = ({ id }: { id: string }, ...groups: string[]) =>
  okAdmin(service, 'PATCH', `/admin/users/${id}`, { groups })
const change = ({ id }: { id: string }, to: object) => okAdmin(service, 'PATCH', `/admin/resources/${id}`, to)
const editorsOnly = { 'mcp:write': ['editors'] }

describe('a scope of a group', () => {
  test('T01: is not obtained through a fronting link, by a user who never had it or by a scope of the gateway that was lost', async () => {
    const [app, gateway] = [await addExchanger(service), await addExchanger(service)]
    const runtime = { client_ids: [gateway.client_id] }
    const source = await addResource(service, { policy: { runtime }, scope_groups: editorsOnly })
    const target = await addResource(service, { scope_groups: editorsOnly })
    const scope_map = { 'mcp:read': ['mcp:read', 'mcp:write'], 'mcp:write': ['mcp:write'] }
    await okAdmin(service, 'POST', '/admin/fronting', { source: source.slug, target: target.slug, scope_map })
    const { user, signIn } = await aPerson(service, { operator_groups: ['editors'] })
    const subject_token = (await signIn(app, source)).body['access_token']
    const behind = (scope: string) => exchange(service, gateway, { subject_token, resource: target.uri, scope })
    expect(claimsOf(await behind(BOTH))['scope']).toBe(BOTH)
    await setGroups(user)
    expect(claimsOf(await behind(BOTH))['scope']).toBe('mcp:read')
    expectRefused(await behind('mcp:write'), 'access_denied', 403)
    await change(target, { scopes: [{ name: 'mcp:read' }, { name: 'mcp:write' }] })
    await okAdmin(service, 'PATCH', `/admin/fronting/${source.slug}/${target.slug}`, {
      scope_map: { 'mcp:read': ['mcp:read'], 'mcp:write': ['mcp:write'] },
    })
    expectRefused(await behind('mcp:write'), 'invalid_scope')
  })

  test('T02: is not obtained through a second consent, another client, or a refresh that asks for it', async () => {
    const [one, two, resource] = [
      await addExchanger(service),
      await addExchanger(service),
      await addResource(service, { scope_groups: editorsOnly }),
    ]
    const { user, browser, signIn } = await aPerson(service, { operator_groups: ['editors'] })
    const { body } = await signIn(one, resource)
    await setGroups(user)
    for (const client of [one, two]) {
      const again = await authorize(
        service,
        client,
        user,
        { resource: resource.uri, scope: BOTH, prompt: 'consent' },
        browser,
      )
      expect((await redeem(service, client, again)).body['scope']).toBe('mcp:read')
    }
    expectRefused(await refresh(service, one, body['refresh_token'], { scope: 'mcp:write' }), 'invalid_scope')
    expect((await introspect(service, one, body['access_token']))['scope']).toBe('mcp:read')
  })

  test('T03: is not obtained through an exchange of a token for its own resource', async () => {
    const own = await startService({ SERVICE_TOKEN_EXCHANGE_ALLOW_SELF_EXCHANGE: 'true' })
    const [app, resource] = [await addExchanger(own), await addResource(own, { scope_groups: editorsOnly })]
    const { user, signIn } = await aPerson(own, { operator_groups: ['editors'] })
    const subject_token = (await signIn(app, resource)).body['access_token']
    await okAdmin(own, 'PATCH', `/admin/users/${user.id}`, { groups: [] })
    expect(claimsOf(await exchange(own, app, { subject_token }))['scope']).toBe('mcp:read')
    expectRefused(await exchange(own, app, { subject_token, scope: 'mcp:write' }), 'invalid_scope')
    await own.close()
  })
})

test('T04: the token of a restricted broker resource is refused to other users, by the list of the resource and by a link', async () => {
  const provider = await addProvider(service)
  const [app, gateway] = [await addExchanger(service, { scope: 'gw:use' }), await addExchanger(service)]
  const access = { mode: 'restricted' as const, groups: ['staff'], users: [], email_domains: [] }
  const policy = { exchange: { allowed_client_ids: [gateway.client_id] } }
  const broker = await addBrokerResource(service, provider, { access, policy })
  const source = await addResource(service, {
    scopes: ['gw:use'],
    policy: { runtime: { client_ids: [gateway.client_id] } },
  })
  const scope_map = { 'gw:use': ['files:read'] }
  await okAdmin(service, 'POST', '/admin/fronting', { source: source.slug, target: broker.slug, scope_map })
  const { user, signIn } = await aPerson(service)
  const fronted = (await signIn(app, source, 'gw:use')).body['access_token']
  const attempt = (subject_token: unknown) =>
    exchange(service, gateway, { subject_token, resource: broker.uri, scope: 'files:read' })
  expectRefused(await attempt(fronted), 'access_denied', 403)
  await setGroups(user, 'staff')
  // The next obstacle: the user has not connected to the provider.
  expectRefused(await attempt(fronted), 'consent_required')
})
