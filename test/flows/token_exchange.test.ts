// Token exchange (RFC 8693) at a whole service: what comes out, what it is bound to, and what ends it.
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { metricOf } from '../support/admin.ts'
import { dpop, type ProofKey, proofKey } from '../support/dpop.ts'
import {
  ACCESS_TOKEN,
  actorOf,
  addExchanger,
  aPerson,
  BOTH,
  exchange,
  exchangeScene,
  type Registered,
} from '../support/exchange.ts'
import { type Answer, claimsOf, expectRefused, introspect, post } from '../support/flow.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())
afterEach(() => {
  vi.restoreAllMocks()
})

const issued = ({ client_id }: Registered) => service.app.store.listIssuances({ client_id, since: '', limit: 100 })

describe('impersonation', () => {
  test('an exchange returns an at+jwt of the user for the target, issued to the requesting client, without act', async () => {
    const { user, gateway, target, exchanged } = await exchangeScene(service)
    const answer = await exchanged({ scope: 'mcp:read' })
    expect(answer.body).toEqual({
      access_token: expect.any(String),
      issued_token_type: ACCESS_TOKEN,
      token_type: 'Bearer',
      expires_in: expect.any(Number),
      scope: 'mcp:read',
    })
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const keys = createRemoteJWKSet(new URL(`${service.issuer}/.well-known/jwks.json`))
    const { payload } = await jwtVerify(String(answer.body['access_token']), keys, {
      issuer: service.issuer,
      audience: target.uri,
      typ: 'at+jwt',
    })
    expect(payload).toEqual({
      iss: service.issuer,
      sub: user.id,
      aud: [target.uri],
      client_id: gateway.client_id,
      scope: 'mcp:read',
      jti: expect.any(String),
      iat: expect.any(Number),
      exp: expect.any(Number),
    })
  })

  test('an exchange records the subject token, its family and the consent to the target', async () => {
    const { app, user, gateway, target, subject, exchanged } = await exchangeScene(service)
    const { jti = '' } = claimsOf(await exchanged())
    const parent = await service.app.store.findIssuance({ id: String(decodeJwt(String(subject)).jti) })
    const { client_id } = app
    const consent = await service.app.store.findConsent({ user_id: user.id, client_id, resource_id: target.id })
    expect(await service.app.store.findIssuance({ id: jti })).toMatchObject({
      grant_type: 'token_exchange',
      client_id: gateway.client_id,
      sub: user.id,
      parent_id: parent?.id,
      family_id: parent?.family_id,
      consent_id: consent?.id,
    })
  })

  test('the token type jwt and the parameter audience are accepted as synonyms, and other token types are refused', async () => {
    const { target, exchanged } = await exchangeScene(service)
    const JWT = 'urn:ietf:params:oauth:token-type:jwt'
    for (const fields of [
      { subject_token_type: JWT },
      { requested_token_type: JWT },
      { requested_token_type: ACCESS_TOKEN },
      { resource: undefined, audience: target.uri },
      { audience: target.uri },
    ])
      expect(claimsOf(await exchanged(fields))['aud']).toEqual([target.uri])
  })
})

describe('delegation', () => {
  /** Every client exchanges the token of the one before, as its actor. Returns the answers. */
  async function relay(clients: Registered[]) {
    const scene = await exchangeScene(service)
    const everyone = clients.map(({ client_id }) => client_id)
    const policy = { exchange: { allowed_client_ids: everyone }, runtime: { client_ids: [scene.server.client_id] } }
    const target = await addResource(service, { policy })
    await scene.consent(scene.app, target)
    const answers: Answer[] = []
    let subject_token = scene.subject
    for (const client of clients) {
      const fields = { subject_token, resource: target.uri, ...(await actorOf(service, client)) }
      answers.push(await exchange(service, client, fields))
      await scene.consent(client, target)
      subject_token = answers.at(-1)?.body['access_token']
    }
    return { ...scene, answers }
  }

  test('delegation adds the client to act before the earlier actors, in the token, introspection and the record', async () => {
    const [first, second] = [await addExchanger(service), await addExchanger(service)]
    const { user, answers, introspected } = await relay([first, second])
    const act = {
      sub: second.client_id,
      actor_type: 'service',
      act: { sub: first.client_id, actor_type: 'service' },
    }
    const claims = claimsOf(answers[1] as Answer)
    expect(claims).toMatchObject({ sub: user.id, client_id: second.client_id, act })
    expect(claims).not.toHaveProperty('agent_id')
    expect(await introspected(answers[1]?.body['access_token'])).toMatchObject({ active: true, act })
    expect((await service.app.store.findIssuance({ id: String(claims.jti) }))?.act).toEqual(act)
  })

  test('delegation of agents sets agent_id and agent_chain, oldest actor first', async () => {
    const [first, second] = [await addExchanger(service, { agent: true }), await addExchanger(service, { agent: true })]
    const { answers, introspected } = await relay([first, second])
    expect(claimsOf(answers[0] as Answer)).toMatchObject({ agent_id: first.client_id, agent_chain: [first.client_id] })
    const agent = { agent_id: second.client_id, agent_chain: [first.client_id, second.client_id] }
    expect(claimsOf(answers[1] as Answer)).toMatchObject({ ...agent, act: { actor_type: 'agent' } })
    expect(await introspected(answers[1]?.body['access_token'])).toMatchObject(agent)
  })

  test('the actor chain cannot be removed: an exchange without an actor token keeps it', async () => {
    const [first, second] = [await addExchanger(service), await addExchanger(service)]
    const scene = await relay([first])
    const policy = { exchange: { allowed_client_ids: [second.client_id] } }
    const target = await addResource(service, { policy })
    await scene.consent(first, target)
    const subject_token = scene.answers[0]?.body['access_token']
    const claims = claimsOf(await exchange(service, second, { subject_token, resource: target.uri }))
    expect(claims).toMatchObject({ client_id: second.client_id, act: { sub: first.client_id } })
  })

  test('only a valid token of the requesting client is accepted as the actor token', async () => {
    const { app, gateway, subject, exchanged } = await exchangeScene(service)
    const type = { actor_token_type: ACCESS_TOKEN }
    const own = await actorOf(service, gateway)
    const revoked = await actorOf(service, gateway)
    await post(`${service.issuer}/oauth/revoke`, gateway, { token: String(revoked.actor_token) })
    for (const actor_token of ['not-a-token', subject, (await actorOf(service, app)).actor_token, revoked.actor_token])
      expectRefused(await exchanged({ actor_token, ...type }), 'invalid_grant')
    expect(await issued(gateway)).toHaveLength(2)
    expect(claimsOf(await exchanged(own))['act']).toMatchObject({ sub: gateway.client_id })
  })

  test('an actor token that is bound to a key requires a proof of that key', async () => {
    const { gateway, exchanged } = await exchangeScene(service)
    const [key, other] = [await proofKey(), await proofKey()]
    const actor = await actorOf(service, gateway, await dpop(service, key))
    expectRefused(await exchanged(actor), 'invalid_dpop_proof')
    expectRefused(await exchanged(actor, gateway, await dpop(service, other)), 'invalid_dpop_proof')
    expect(claimsOf(await exchanged(actor, gateway, await dpop(service, key)))['cnf']).toEqual({ jkt: key.jkt })
  })
})

describe('parameters', () => {
  const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token'
  const REFRESH_TOKEN = 'urn:ietf:params:oauth:token-type:refresh_token'
  const cases: [string, Record<string, unknown>, string][] = [
    ['no subject_token', { subject_token: undefined }, 'invalid_request'],
    ['no subject_token_type', { subject_token_type: undefined }, 'invalid_request'],
    ['a token of this service as an ID token', { subject_token_type: ID_TOKEN }, 'invalid_grant'],
    ['a refresh token as the subject', { subject_token_type: REFRESH_TOKEN }, 'invalid_request'],
    ['an actor_token without its type', { actor_token: 'x' }, 'invalid_request'],
    ['an actor_token_type alone', { actor_token_type: ACCESS_TOKEN }, 'invalid_request'],
    ['an ID token as the actor', { actor_token: 'x', actor_token_type: ID_TOKEN }, 'invalid_request'],
    ['a refresh token as the result', { requested_token_type: REFRESH_TOKEN }, 'invalid_request'],
    ['a resource that is not registered', { resource: 'https://unknown.example/mcp' }, 'invalid_target'],
    ['an audience that is not registered', { resource: undefined, audience: 'unknown' }, 'invalid_target'],
    ['an audience beside another resource', { audience: 'https://unknown.example/mcp' }, 'invalid_target'],
    ['a subject_token that is no token', { subject_token: 'x' }, 'invalid_grant'],
    ['a scope beyond the subject token', { scope: 'mcp:read mcp:admin' }, 'invalid_scope'],
  ]
  let scene: Awaited<ReturnType<typeof exchangeScene>>
  beforeAll(async () => {
    scene = await exchangeScene(service)
  })

  test.each(cases)(
    '%s is refused: nothing is issued, and the subject token is unchanged',
    async (_what, fields, error) => {
      const before = (await issued(scene.gateway)).length
      expectRefused(await scene.exchanged(fields), error)
      expect((await issued(scene.gateway)).length).toBe(before)
      claimsOf(await scene.exchanged())
    },
  )

  test('the grant must be enabled for the client and for the service', async () => {
    expectRefused(await scene.exchanged({}, await addClient(service)), 'unauthorized_client')
    const off = await startService({ SERVICE_TOKEN_EXCHANGE_ENABLED: 'false' })
    try {
      const client = await addExchanger(off)
      expectRefused(await exchange(off, client, { subject_token: 'x' }), 'unsupported_grant_type')
    } finally {
      await off.close()
    }
  })

  test('exchanges are counted by kind, refusals by reason', async () => {
    const series = [
      'ext_token_exchange_total{kind="impersonation"}',
      'ext_token_exchange_total{kind="delegation"}',
      'ext_token_exchange_denied_total{reason="cross_client_not_authorized"}',
    ]
    const counted = () => Promise.all(series.map((each) => metricOf(service, each)))
    const before = await counted()
    await scene.exchanged()
    await scene.exchanged(await actorOf(service, scene.gateway))
    await scene.exchanged({}, await addExchanger(service))
    expect(await counted()).toEqual(before.map((each) => each + 1))
  })
})

describe('lifetime', () => {
  test('the lifetime is the configured one, and ends with the subject token at the latest', async () => {
    const short = await startService({ SERVICE_TOKEN_EXCHANGE_TOKEN_EXPIRY: '100s' })
    try {
      const { exchanged, subject } = await exchangeScene(short)
      const { exp } = decodeJwt(String(subject)) as { exp: number }
      expect((await exchanged()).body['expires_in']).toBe(100)
      short.advance(exp - short.app.clock.now() - 50)
      const late = await exchanged()
      expect(late.body['expires_in']).toBeLessThanOrEqual(50)
      expect(claimsOf(late).exp).toBeLessThanOrEqual(exp)
      short.advance(50)
      expectRefused(await exchanged(), 'invalid_grant')
    } finally {
      await short.close()
    }
  })

  test('the lifetime ends with the subject token also if the exchange takes seconds', async () => {
    const { exchanged, subject } = await exchangeScene(service)
    const { exp } = decodeJwt(String(subject)) as { exp: number }
    let now = service.app.clock.now()
    vi.spyOn(service.app.clock, 'now').mockImplementation(() => now++)
    expect(claimsOf(await exchanged()).exp).toBe(exp)
  })
})

describe('binding to a key', () => {
  let key: ProofKey
  let other: ProofKey
  beforeAll(async () => {
    ;[key, other] = [await proofKey(), await proofKey()]
  })
  /** A scene whose subject token is bound to `key`. */
  async function boundScene() {
    const scene = await exchangeScene(service)
    const answer = await scene.signIn(scene.app, scene.source, BOTH, await dpop(service, key))
    return { ...scene, bound: { subject_token: answer.body['access_token'] } }
  }
  function expectKey(answer: Answer, { jkt }: ProofKey) {
    expect([claimsOf(answer)['cnf'], answer.body['token_type']]).toEqual([{ jkt }, 'DPoP'])
  }

  test('another client keeps the binding, or binds the new token to its own key', async () => {
    const { bound, gateway, exchanged } = await boundScene()
    expectKey(await exchanged(bound), key)
    expectKey(await exchanged(bound, gateway, await dpop(service, other)), other)
  })

  test('the client of the subject token must prove its key', async () => {
    const { bound, app, exchanged } = await boundScene()
    expectRefused(await exchanged(bound, app), 'invalid_dpop_proof')
    expectRefused(await exchanged(bound, app, await dpop(service, other)), 'invalid_dpop_proof')
    expectKey(await exchanged(bound, app, await dpop(service, key)), key)
  })

  test('the binding is kept by every further exchange, and is in the record and at introspection', async () => {
    const { bound, exchanged, gateway, introspected, server, consent, target } = await boundScene()
    const first = await exchanged(bound)
    await consent(gateway, target)
    const next = { subject_token: first.body['access_token'] }
    expectRefused(await exchanged(next, gateway), 'invalid_dpop_proof')
    const last = await exchanged(next, server)
    expectKey(last, key)
    expect(await introspected(last.body['access_token'])).toMatchObject({ token_type: 'DPoP', cnf: { jkt: key.jkt } })
    expect((await service.app.store.findIssuance({ id: String(claimsOf(last).jti) }))?.jkt).toBe(key.jkt)
  })

  test('a proof binds the new token of an unbound subject token, and is accepted once', async () => {
    const { exchanged, gateway } = await exchangeScene(service)
    const proof = await dpop(service, key)
    const answers = await Promise.all(Array.from({ length: 20 }, () => exchanged({}, gateway, proof)))
    const [won, ...more] = answers.filter(({ status }) => status === 200)
    expectKey(won as Answer, key)
    expect(more).toEqual([])
    for (const answer of answers) if (answer !== won) expectRefused(answer, 'invalid_dpop_proof')
  })

  test('a client that registered dpop_bound_access_tokens cannot exchange without a proof', async () => {
    const { exchanged, gateway } = await exchangeScene(service)
    await service.app.store.updateClient({ ...gateway, dpop_bound_access_tokens: true })
    expectRefused(await exchanged(), 'invalid_dpop_proof')
    expectKey(await exchanged({}, gateway, await dpop(service, key)), key)
  })
})

describe('without a resource', () => {
  test('a client renews its own token only where self exchange is allowed', async () => {
    const { app, exchanged } = await exchangeScene(service)
    expectRefused(await exchanged({ resource: undefined }, app), 'access_denied', 403)
    const self = await startService({ SERVICE_TOKEN_EXCHANGE_ALLOW_SELF_EXCHANGE: 'true' })
    try {
      const scene = await exchangeScene(self)
      const claims = claimsOf(await scene.exchanged({ resource: undefined, scope: 'mcp:read' }, scene.app))
      expect(claims).toMatchObject({ sub: scene.user.id, aud: [scene.source.uri], scope: 'mcp:read' })
      expectRefused(await scene.exchanged({ resource: undefined }), 'access_denied', 403)
    } finally {
      await self.close()
    }
  })
})

describe('revocations that affect exchanged tokens', () => {
  /** subject token of `app` -> `first` of the gateway -> `last` of another client, all of them live. */
  async function chain() {
    const scene = await exchangeScene(service)
    const second = await addExchanger(service)
    const ids = {
      exchange: { allowed_client_ids: [second.client_id] },
      runtime: { client_ids: [scene.server.client_id] },
    }
    const end = await addResource(service, { policy: ids })
    await scene.consent(scene.gateway, end)
    const first = (await scene.exchanged()).body['access_token']
    const exchangeFirst = () => exchange(service, second, { subject_token: first, resource: end.uri })
    const last = (await exchangeFirst()).body['access_token']
    return { ...scene, second, end, first, last, exchangeFirst }
  }
  type Chain = Awaited<ReturnType<typeof chain>>

  const revoke = (client: Registered, token: unknown) =>
    post(`${service.issuer}/oauth/revoke`, client, { token: String(token) })
  const suspend = (client: Registered) => service.app.store.updateClient({ ...client, status: 'suspended' })
  const consentOf = async ({ user }: Chain, client: Registered, resource: { id: string }) => {
    const { client_id } = client
    return service.app.store.findConsent({ user_id: user.id, client_id, resource_id: resource.id })
  }
  const revokeConsent = async (of: Chain, client: Registered, resource: { id: string }) =>
    service.app.store.revokeConsent({
      id: (await consentOf(of, client, resource))?.id ?? '',
      now: service.app.clock.now(),
    })

  const ends: [string, (of: Chain) => Promise<unknown>][] = [
    ['the subject token is revoked', ({ app, subject }) => revoke(app, subject)],
    ['its family is revoked by its refresh token', ({ app, refresh_token }) => revoke(app, refresh_token)],
    ['the consent to its resource is revoked', (of) => revokeConsent(of, of.app, of.source)],
    ['the consent to the first target is revoked', (of) => revokeConsent(of, of.app, of.target)],
    ['the token in the middle is revoked', ({ gateway, first }) => revoke(gateway, first)],
    [
      'the user is disabled',
      ({ user }) => service.app.store.updateUser({ user: { ...user, status: 'disabled' }, signOut: false, now: 0 }),
    ],
    ["the subject token's client is suspended", ({ app }) => suspend(app)],
    ['the client in the middle is suspended', ({ gateway }) => suspend(gateway)],
  ]
  test.each(ends)('after %s the last token is inactive and cannot be exchanged', async (_what, end) => {
    const of = await chain()
    expect((await of.introspected(of.last))['active']).toBe(true)
    await end(of)
    expect(await of.introspected(of.last)).toEqual({ active: false })
    expect(await introspect(service, of.second, of.last)).toEqual({ active: false })
    expectRefused(await of.exchangeFirst(), 'invalid_grant')
    const again = { subject_token: of.last, resource: of.end.uri }
    expectRefused(await exchange(service, of.second, again), 'invalid_grant')
  })

  test('revoking the consent to the last target makes only the last token inactive, and a new consent is required', async () => {
    const of = await chain()
    await revokeConsent(of, of.gateway, of.end)
    expect(await of.introspected(of.last)).toEqual({ active: false })
    expect((await of.introspected(of.first))['active']).toBe(true)
    expectRefused(await of.exchangeFirst(), 'consent_required')
  })

  test('suspending the client of a token makes the token inactive', async () => {
    const of = await chain()
    await suspend(of.second)
    expect(await of.introspected(of.last)).toEqual({ active: false })
  })

  test('revoking the last token keeps the earlier tokens valid', async () => {
    const of = await chain()
    await revoke(of.second, of.last)
    expect(await of.introspected(of.last)).toEqual({ active: false })
    expect((await of.introspected(of.first))['active']).toBe(true)
    claimsOf(await of.exchangeFirst())
  })

  test('a revocation during fifty exchanges leaves none of their tokens valid', async () => {
    const { app, subject, exchanged, introspected } = await exchangeScene(service)
    const many = () => Array.from({ length: 25 }, () => exchanged())
    const [before, , after] = await Promise.all([Promise.all(many()), revoke(app, subject), Promise.all(many())])
    for (const answer of [...before, ...after])
      if (answer.status === 200) expect(await introspected(answer.body['access_token'])).toEqual({ active: false })
      else expectRefused(answer, 'invalid_grant')
    expectRefused(await exchanged(), 'invalid_grant')
  })

  test('no token is issued for a subject token that is revoked while its exchange is decided', async () => {
    const { app, subject, gateway, exchanged } = await exchangeScene(service)
    const { recordExchange } = service.app.store
    const spy = vi.spyOn(service.app.store, 'recordExchange').mockImplementationOnce(async (next) => {
      await revoke(app, subject)
      return recordExchange(next)
    })
    expectRefused(await exchanged(), 'invalid_grant')
    expect(spy).toHaveBeenCalledTimes(1)
    expect(await issued(gateway)).toEqual([])
  })
})

test('revocations and exchanges do not affect other users and clients', async () => {
  const [one, other] = [await exchangeScene(service), await aPerson(service)]
  await other.consent(one.app, one.target)
  const answer = await other.signIn(one.app, one.source)
  const theirs = await one.exchanged({ subject_token: answer.body['access_token'] })
  await service.app.store.updateUser({ user: { ...one.user, status: 'disabled' }, signOut: false, now: 0 })
  expect(await one.introspected(theirs.body['access_token'])).toMatchObject({ active: true, sub: other.user.id })
})
