// Fronted exchanges at a whole service: a link of an operator lets a gateway obtain tokens for the resource behind it.
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { actorOf, addExchanger, aPerson, exchange, type Registered } from '../support/exchange.ts'
import { claimsOf, expectRefused, isActive, post } from '../support/flow.ts'
import { addResource, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const SCOPES = ['gw:use', 'gw:extra', 'gw:both']
const MAP = { 'gw:use': ['tool:run'], 'gw:extra': ['tool:admin'], 'gw:both': ['tool:run', 'tool:admin'] }

/** A user with a token for the resource of a gateway, and a tool behind it without a consent of the user. */
async function scene({ scope = 'gw:use', targetPolicy = {}, map = MAP as Record<string, string[]> } = {}) {
  const client = (scope: string, more = {}) => addExchanger(service, { scope }, more)
  const [app, gateway] = [await client(SCOPES.join(' '), { is_agent: true }), await client('mcp:read')]
  const source = await addResource(service, {
    scopes: SCOPES,
    policy: { runtime: { client_ids: [gateway.client_id] } },
  })
  const target = await addResource(service, { scopes: ['tool:run', 'tool:admin', 'tool:secret'], policy: targetPolicy })
  await okAdmin(service, 'POST', '/admin/fronting', { source: source.slug, target: target.slug, scope_map: map })
  const person = await aPerson(service)
  const subject = (await person.signIn(app, source, scope)).body['access_token']
  return {
    ...{ app, gateway, source, target, person, subject },
    ask: (scope?: string, caller: Registered = gateway, fields: object = {}) =>
      exchange(service, caller, { subject_token: subject, resource: target.uri, scope, ...fields }),
    unlink: () => okAdmin(service, 'DELETE', `/admin/fronting/${source.slug}/${target.slug}`),
  }
}

test('a link gives a token for the target without a consent there: same subject, the gateway as actor for the agent', async () => {
  const { ask, app, gateway, person, target } = await scene()
  const claims = claimsOf(await ask('tool:run'))
  expect(claims).toMatchObject({
    sub: person.user.id,
    client_id: gateway.client_id,
    aud: [target.uri],
    scope: 'tool:run',
    act: {
      sub: gateway.client_id,
      actor_type: 'service',
      act: { sub: app.client_id, actor_type: 'agent' },
    },
  })
})

test('the token is active at the server of the target, and is revoked with its subject token', async () => {
  const { ask, subject, target, app } = await scene()
  const server = await addExchanger(service)
  await okAdmin(service, 'PATCH', `/admin/resources/${target.id}`, {
    policy: { runtime: { client_ids: [server.client_id] } },
  })
  const token = String((await ask('tool:run')).body['access_token'])
  expect(await isActive(service, server, token)).toBe(true)
  await post(`${service.issuer}/oauth/revoke`, app, { token: String(subject) })
  expect(await isActive(service, server, token)).toBe(false)
})

describe('scope', () => {
  test.each([
    ['that no entry of the map leads to', 'gw:use', 'tool:secret'],
    ['whose source scope the subject lacks', 'gw:use', 'tool:admin'],
    ['of the source', 'gw:use', 'gw:use'],
  ])('%s is refused', async (_what, held, asked) => {
    expectRefused(await (await scene({ scope: held })).ask(asked), 'invalid_scope')
  })

  test('one of several source scopes that map to a target scope is enough', async () => {
    const { ask } = await scene({ scope: 'gw:both' })
    expect(claimsOf(await ask('tool:run')).scope).toBe('tool:run')
    expect(claimsOf(await ask('tool:run tool:admin')).scope).toBe('tool:run tool:admin')
  })

  test('without a scope parameter the token has every scope that the subject token maps to', async () => {
    expect(claimsOf(await (await scene({ scope: 'gw:use' })).ask()).scope).toBe('tool:run')
    expect(claimsOf(await (await scene({ scope: 'gw:both' })).ask()).scope).toBe('tool:run tool:admin')
  })

  test('without a scope parameter and without a mapped scope the exchange is refused', async () => {
    expectRefused(await (await scene({ map: { 'gw:extra': ['tool:admin'] } })).ask(), 'invalid_scope')
  })
})

describe('clients that may use a link', () => {
  test('only a client that the source lists as its server may use a link', async () => {
    const { ask, app } = await scene()
    const stranger = await addExchanger(service)
    for (const caller of [stranger, app]) expectRefused(await ask('tool:run', caller), 'access_denied', 403)
  })

  test('a target with a client list accepts only listed clients, also the server of the source', async () => {
    const named = await addExchanger(service)
    const targetPolicy = { exchange: { allowed_client_ids: [named.client_id] } }
    const { ask } = await scene({ targetPolicy })
    expectRefused(await ask('tool:run'), 'access_denied', 403)
    expect(claimsOf(await ask('tool:run', named)).client_id).toBe(named.client_id)
  })
})

test('an actor token adds nothing to the chain beyond the gateway, and must belong to the gateway', async () => {
  const { ask, gateway } = await scene()
  expect(claimsOf(await ask('tool:run', gateway, await actorOf(service, gateway)))['act']).toEqual(
    claimsOf(await ask('tool:run'))['act'],
  )
  expectRefused(await ask('tool:run', gateway, await actorOf(service, await addExchanger(service))), 'invalid_grant')
})

test('a chain that is too long for another actor is refused', async () => {
  const short = await startService({ SERVICE_TOKEN_EXCHANGE_MAX_CHAIN_DEPTH: '1' })
  const before = service
  service = short
  try {
    expectRefused(await (await scene()).ask('tool:run'), 'invalid_request')
  } finally {
    service = before
    await short.close()
  }
})

test('after the link is deleted exchanges are refused, and its tokens live until they expire', async () => {
  const { ask, unlink, gateway } = await scene()
  const { jti = '' } = claimsOf(await ask('tool:run'))
  await unlink()
  expectRefused(await ask('tool:run', gateway), 'invalid_scope')
  expect((await service.app.store.findTokenState({ id: jti }))?.live).toBe(true)
})

test('a link applies only from the source to the target: not transitively, and not in reverse', async () => {
  const { ask, gateway, target, subject, source } = await scene()
  const third = await addResource(service, {
    scopes: ['deep'],
    policy: { exchange: { allowed_client_ids: [gateway.client_id] } },
  })
  await okAdmin(service, 'POST', '/admin/fronting', {
    source: target.slug,
    target: third.slug,
    scope_map: { 'tool:run': ['deep'] },
  })
  expectRefused(
    await exchange(service, gateway, { subject_token: subject, resource: third.uri, scope: 'deep' }),
    'invalid_scope',
  )
  const second = (await ask('tool:run')).body['access_token']
  expect(claimsOf(await exchange(service, gateway, { subject_token: second, resource: third.uri })).scope).toBe('deep')
  expectRefused(await exchange(service, gateway, { subject_token: second, resource: source.uri }), 'invalid_scope')
})

test('a fronted exchange is counted as a delegation and recorded with its parent', async () => {
  const { ask, subject } = await scene()
  const { jti = '' } = claimsOf(await ask('tool:run'))
  const issuance = await service.app.store.findIssuance({ id: jti })
  expect(issuance?.parent_id).toBe(decodeJwt(String(subject)).jti)
  const { text } = await service.app.metrics.render()
  expect(text).toMatch(/ext_token_exchange_total\{kind="delegation"\} \d/)
})
