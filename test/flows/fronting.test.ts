// Fronted exchanges at a whole service: a gateway has tokens for what is behind it by an operator's link.
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

/** A user with a token for a gateway's resource, and a tool behind it that the user never consented to. */
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

test('gives a token for the target without the consent of the user there: same subject, the gateway as actor for the agent', async () => {
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

test('the token is active at the server of the target, and dies with the token it was had for', async () => {
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

  test('any of several source scopes that lead to it is enough', async () => {
    const { ask } = await scene({ scope: 'gw:both' })
    expect(claimsOf(await ask('tool:run')).scope).toBe('tool:run')
    expect(claimsOf(await ask('tool:run tool:admin')).scope).toBe('tool:run tool:admin')
  })

  test('that is not named is all that the subject reaches', async () => {
    expect(claimsOf(await (await scene({ scope: 'gw:use' })).ask()).scope).toBe('tool:run')
    expect(claimsOf(await (await scene({ scope: 'gw:both' })).ask()).scope).toBe('tool:run tool:admin')
  })

  test('that is not named, of a subject that reaches nothing, is refused: never a token without scope', async () => {
    expectRefused(await (await scene({ map: { 'gw:extra': ['tool:admin'] } })).ask(), 'invalid_scope')
  })
})

describe('who may ride a link', () => {
  test('only a client that the source names as its server', async () => {
    const { ask, app } = await scene()
    const stranger = await addExchanger(service)
    for (const caller of [stranger, app]) expectRefused(await ask('tool:run', caller), 'access_denied', 403)
  })

  test('of a target that names clients only those, the server of the source included', async () => {
    const named = await addExchanger(service)
    const targetPolicy = { exchange: { allowed_client_ids: [named.client_id] } }
    const { ask } = await scene({ targetPolicy })
    expectRefused(await ask('tool:run'), 'access_denied', 403)
    expect(claimsOf(await ask('tool:run', named)).client_id).toBe(named.client_id)
  })
})

test('an actor token adds nothing to the chain that the gateway does not add itself, and must be its own', async () => {
  const { ask, gateway } = await scene()
  expect(claimsOf(await ask('tool:run', gateway, await actorOf(service, gateway)))['act']).toEqual(
    claimsOf(await ask('tool:run'))['act'],
  )
  expectRefused(await ask('tool:run', gateway, await actorOf(service, await addExchanger(service))), 'invalid_grant')
})

test('a chain that is too long for one more actor is refused', async () => {
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

test('without the link the exchange is refused from the next call on, and its tokens live out their time', async () => {
  const { ask, unlink, gateway } = await scene()
  const { jti = '' } = claimsOf(await ask('tool:run'))
  await unlink()
  expectRefused(await ask('tool:run', gateway), 'invalid_scope')
  expect((await service.app.store.findTokenState({ id: jti }))?.live).toBe(true)
})

test('a link leads from the source to the target only: not on to what is behind that, and not back', async () => {
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

test('is counted as a delegation and recorded with its parent', async () => {
  const { ask, subject } = await scene()
  const { jti = '' } = claimsOf(await ask('tool:run'))
  const issuance = await service.app.store.findIssuance({ id: jti })
  expect(issuance?.parent_id).toBe(decodeJwt(String(subject)).jti)
  const { text } = await service.app.metrics.render()
  expect(text).toMatch(/ext_token_exchange_total\{kind="delegation"\} \d/)
})
