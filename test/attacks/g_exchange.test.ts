// Attacks on token exchange: section G of the attack list, one test per row. G06, tokens of brokered resources, is in m_broker.test.ts.
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Actor } from '../../src/records/issuance.ts'
import { dpop, forge, type ProofKey, proofKey, signedBy } from '../support/dpop.ts'
import {
  ACCESS_TOKEN,
  actorOf,
  addExchanger,
  BOTH,
  exchange,
  exchangeScene,
  type Registered,
} from '../support/exchange.ts'
import { type Answer, claimsOf as claimsIn, expectRefused, introspect } from '../support/flow.ts'
import { addResource, startService, type TestService } from '../support/service.ts'

let service: TestService
/** A resource for which clients may exchange their own tokens without consent. */
let self: TestService
beforeAll(async () => {
  service = await startService()
  self = await startService({
    SERVICE_TOKEN_EXCHANGE_ALLOW_SELF_EXCHANGE: 'true',
    SERVICE_TOKEN_EXCHANGE_MAX_CHAIN_DEPTH: '3',
  })
})
afterAll(() => Promise.all([service.close(), self.close()]))

interface Claims {
  exp: number
  cnf?: { jkt: string }
  act?: Actor
  agent_id?: string
  agent_chain?: string[]
}
const claimsOf = (answer: Answer) => claimsIn<Claims>(answer)
const issued = ({ client_id }: Registered, at = service) =>
  at.app.store.listIssuances({ client_id, since: '', limit: 100 })

test('G02 the result has no scope beyond the subject token or beyond the target; without a common scope nothing is issued', async () => {
  const { signIn, exchanged, gateway, app, source } = await exchangeScene(service)
  const subject_token = (await signIn(app, source, 'mcp:read')).body['access_token']
  for (const scope of [BOTH, 'mcp:write', 'mcp:admin', 'mcp:read mcp:admin', 'MCP:READ', '*'])
    expectRefused(await exchanged({ subject_token, scope }), 'invalid_scope')
  expect(await issued(gateway)).toEqual([])
  expect((await exchanged({ subject_token })).body['scope']).toBe('mcp:read')
  const narrow = await addResource(service, {
    scopes: ['other:scope'],
    policy: { exchange: { allowed_client_ids: [gateway.client_id] } },
  })
  expectRefused(await exchanged({ resource: narrow.uri, scope: 'other:scope' }), 'invalid_scope')
  // Of mcp:read and mcp:write none is left, which must not mean all scopes.
  expectRefused(await exchanged({ resource: narrow.uri }), 'invalid_scope')
})

// A gateway that a policy names receives bound tokens without their key: it keeps the binding, or binds to its own key.
describe('G03 a subject token that is bound to a key', () => {
  let key: ProofKey
  let other: ProofKey
  let made: Awaited<ReturnType<typeof exchangeScene>>
  let bound: { subject_token: unknown }
  beforeAll(async () => {
    ;[key, other, made] = [await proofKey(), await proofKey(), await exchangeScene(service)]
    const answer = await made.signIn(made.app, made.source, BOTH, await dpop(service, key))
    bound = { subject_token: answer.body['access_token'] }
    expect(answer.body['token_type']).toBe('DPoP')
  })

  test('a bound subject token is refused to its own client without a proof of its key', async () => {
    expectRefused(await made.exchanged(bound, made.app), 'invalid_dpop_proof')
    expectRefused(await made.exchanged(bound, made.app, await dpop(service, other)), 'invalid_dpop_proof')
    expectRefused(await made.exchanged(bound, made.app, { dpop: 'not-a-jwt' }), 'invalid_dpop_proof')
    expect(claimsOf(await made.exchanged(bound, made.app, await dpop(service, key))).cnf).toEqual({ jkt: key.jkt })
  })

  test('a bound subject token never becomes a Bearer token', async () => {
    const actor = await actorOf(service, made.gateway)
    const ways = [
      await made.exchanged(bound),
      await made.exchanged({ ...bound, ...actor }),
      await made.exchanged({ ...bound, scope: 'mcp:read' }),
      await made.exchanged(bound, made.server),
      await made.exchanged({ ...bound, requested_token_type: ACCESS_TOKEN }),
    ]
    for (const answer of ways) {
      expect(claimsOf(answer).cnf).toEqual({ jkt: key.jkt })
      expect(answer.body['token_type']).toBe('DPoP')
    }
    const rebound = await made.exchanged(bound, made.gateway, await dpop(service, other))
    expect(claimsOf(rebound).cnf).toEqual({ jkt: other.jkt })
  })

  test('a bound subject token stays bound after DPoP is disabled: it is refused to its own client, and others keep the binding', async () => {
    const off = { ...service.app.config, dpop: { ...service.app.config.dpop, enabled: false } }
    const app = service.app as { config: typeof off }
    const { config } = app
    app.config = off
    try {
      expectRefused(await made.exchanged(bound, made.app, await dpop(service, key)), 'invalid_dpop_proof')
      expect(claimsOf(await made.exchanged(bound)).cnf).toEqual({ jkt: key.jkt })
    } finally {
      app.config = config
    }
  })
})

describe('G04 chains', () => {
  const hop = async (at: Awaited<ReturnType<typeof exchangeScene>>, subject_token: unknown) =>
    exchange(self, at.app, { subject_token, ...(await actorOf(self, at.app)) })

  test('actor chains end at max_chain_depth', async () => {
    const at = await exchangeScene(self)
    let token = at.subject
    for (let depth = 1; depth <= 3; depth++) {
      const answer = await hop(at, token)
      let act = claimsOf(answer).act
      for (let i = 1; i < depth; i++) act = act?.act
      expect([act?.sub, act?.act]).toEqual([at.app.client_id, undefined])
      token = answer.body['access_token']
    }
    expectRefused(await hop(at, token), 'invalid_request')
  })

  test('exchanges without an actor are limited too, because every ancestor is checked with a token', async () => {
    const at = await exchangeScene(self)
    let answer = await exchange(self, at.app, { subject_token: at.subject })
    let count = 0
    for (; answer.status === 200 && count < 100; count++)
      answer = await exchange(self, at.app, { subject_token: answer.body['access_token'] })
    expectRefused(answer, 'invalid_request')
    expect(count).toBe(32)
  })

  test('forged chains are refused at any depth without much work', async () => {
    const { subject, exchanged } = await exchangeScene(service)
    const attacker = await proofKey()
    const real = String(subject)
    const nested = (depth: number) => `${'{"sub":"a","act":'.repeat(depth)}null${'}'.repeat(depth)}`
    for (const depth of [1, 100, 1000]) {
      const payload = JSON.stringify({ ...decodeJwt(real), act: 'ACT' }).replace('"ACT"', nested(depth))
      const forged = forge(decodeProtectedHeader(real), payload, signedBy(attacker))
      const answer = await exchanged({ subject_token: forged })
      expectRefused(answer, 'invalid_grant')
    }
    expect((await fetch(`${service.issuer}/health`)).status).toBe(200)
  })
})

test('G07 however often a token is exchanged, no result lives longer than the first token', async () => {
  const at = await exchangeScene(self)
  const { exp } = decodeJwt(String(at.subject)) as Claims
  let token = at.subject
  for (const left of [600, 60, 5, 2]) {
    self.advance(exp - self.app.clock.now() - left)
    const answer = await exchange(self, at.app, { subject_token: token })
    expect(claimsOf(answer).exp).toBeLessThanOrEqual(exp)
    expect(answer.body['expires_in']).toBeLessThanOrEqual(left)
    token = answer.body['access_token']
  }
  self.advance(2)
  for (const subject_token of [at.subject, token])
    expectRefused(await exchange(self, at.app, { subject_token }), 'invalid_grant')
  expect(await introspect(self, at.app, token)).toEqual({ active: false })
})

test('G08 a server cannot exchange a token that it received, unless the policy of the target names it', async () => {
  const { server, source, subject, consent, app, exchanged } = await exchangeScene(service)
  const deputy = await addExchanger(service)
  // It serves the resource of the token, which gives it no right at the target.
  const policy = { ...source.policy, runtime: { client_ids: [deputy.client_id] } }
  await service.app.store.updateResource({ ...source, policy })
  expectRefused(await exchanged({}, deputy), 'access_denied', 403)
  const own = await addResource(service, { policy: { exchange: { allowed_client_ids: [deputy.client_id] } } })
  expectRefused(await exchanged({ resource: own.uri }, deputy), 'consent_required')
  await consent(app, own)
  claimsOf(await exchange(service, deputy, { subject_token: subject, resource: own.uri }))
  claimsOf(await exchanged({}, server))
})

test('G10 a public client cannot exchange tokens, although its record lists the grant type', async () => {
  const { exchanged, subject } = await exchangeScene(service)
  const open = await addExchanger(service, { token_endpoint_auth_method: 'none' })
  expectRefused(await exchanged({}, open), 'invalid_client', 401)
  expectRefused(await exchange(service, open, { subject_token: subject }), 'invalid_client', 401)
  expect(await issued(open)).toEqual([])
})

test('G11 a client that the lists of the target do not name is refused', async () => {
  const { exchanged, target, gateway, server } = await exchangeScene(service)
  claimsOf(await exchanged())
  const policy = { ...target.policy, exchange: { allowed_client_ids: [server.client_id] } }
  await service.app.store.updateResource({ ...target, policy })
  expectRefused(await exchanged(), 'access_denied', 403)
  const runtime = { client_ids: [gateway.client_id] }
  await service.app.store.updateResource({ ...target, policy: { ...policy, runtime }, version: target.version + 1 })
  claimsOf(await exchanged())
})

test('G13 the lists do not apply to own tokens: a client exchanges its own token within the consent of the user', async () => {
  const { exchanged, app, consent, source, subject } = await exchangeScene(service)
  // The target lists the gateway and its server; the user has consented to the app there.
  claimsOf(await exchanged({}, app))
  const unconsented = await addResource(service, { policy: { exchange: { allowed_client_ids: ['somebody-else'] } } })
  const refused = await exchange(service, app, { subject_token: subject, resource: unconsented.uri })
  expectRefused(refused, 'consent_required', 400, { cause: 'consent_missing' })
  await consent(app, unconsented)
  claimsOf(await exchange(service, app, { subject_token: subject, resource: unconsented.uri }))
  expectRefused(await exchange(service, app, { subject_token: subject }), 'access_denied', 403)
  expect(source.policy.exchange.allowed_client_ids).toEqual([])
})

test('G13 with allow_self_exchange the own token needs neither list nor consent; tokens of others still need them', async () => {
  const { app, gateway, subject } = await exchangeScene(self)
  const closed = await addResource(self, { policy: { exchange: { allowed_client_ids: ['somebody-else'] } } })
  const fields = { subject_token: subject, resource: closed.uri }
  expect(claimsOf(await exchange(self, app, fields))).toMatchObject({ aud: [closed.uri] })
  expectRefused(await exchange(self, gateway, fields), 'access_denied', 403)
})

describe('G12 agents', () => {
  test('agent_chain has at most eight names: the first and the last seven', async () => {
    const deep = await startService({
      SERVICE_TOKEN_EXCHANGE_ALLOW_SELF_EXCHANGE: 'true',
      SERVICE_TOKEN_EXCHANGE_MAX_CHAIN_DEPTH: '10',
    })
    try {
      const made = await exchangeScene(deep)
      const agents: Registered[] = []
      for (let i = 0; i < 10; i++) agents.push(await addExchanger(deep, { agent: true }))
      const ids = agents.map(({ client_id }) => client_id)
      const target = await addResource(deep, { policy: { exchange: { allowed_client_ids: ids } } })
      await made.consent(made.app, target)
      let subject_token = made.subject
      for (const [i, agent] of agents.entries()) {
        const fields = { subject_token, resource: target.uri, ...(await actorOf(deep, agent)) }
        const answer = await exchange(deep, agent, fields)
        const sofar = ids.slice(0, i + 1)
        const expected = sofar.length <= 8 ? sofar : [sofar[0], ...sofar.slice(-7)]
        expect(claimsOf(answer)).toMatchObject({ agent_id: agent.client_id, agent_chain: expected })
        await made.consent(agent, target)
        subject_token = answer.body['access_token']
      }
    } finally {
      await deep.close()
    }
  })

  // The agent flag of a client is fixed at its creation. If it changes in the database, issued tokens keep their value, and the next
  // token has the new one.
  test('a token states whether its client was an agent when it was issued; tokens of other clients do not have the claim', async () => {
    const { exchanged, gateway, introspected } = await exchangeScene(service)
    const before = await exchanged(await actorOf(service, gateway))
    await service.app.store.updateClient({ ...gateway, is_agent: true })
    const after = await exchanged(await actorOf(service, gateway))
    expect(claimsOf(before)).not.toHaveProperty('agent_id')
    expect(await introspected(before.body['access_token'])).not.toHaveProperty('agent_id')
    expect(claimsOf(after)).toMatchObject({ agent_id: gateway.client_id, act: { actor_type: 'agent' } })
  })
})
