// Any sequence of exchanges among three clients and two resources, against a model of the rules: nothing is ever widened.
import fc from 'fast-check'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Actor } from '../../src/records/issuance.ts'
import { dpop, type ProofKey, proofKey } from '../support/dpop.ts'
import { actorOf, addExchanger, aPerson, exchange, type Registered } from '../support/exchange.ts'
import { addResource, startService, type TestService } from '../support/service.ts'

const RUNS = 40
const DEPTH = 2
const NAMES = ['one', 'two', 'three']
const ALL = NAMES.join(' ')

interface Claims {
  sub: string
  client_id: string
  aud: string[]
  scope: string
  exp: number
  cnf?: { jkt: string }
  act?: Actor
}
interface Token {
  value: unknown
  claims: Claims
}
const claimsOf = (value: unknown) => decodeJwt(String(value)) as unknown as Claims

const aStep = fc.record({
  /** The index of a token, counted from the newest. */
  subject: fc.nat(2),
  caller: fc.nat(2),
  /** The index of a resource; undefined names none. */
  target: fc.option(fc.nat(1), { nil: undefined, freq: 4 }),
  scope: fc.option(fc.subarray(NAMES, { minLength: 1 }), { nil: undefined, freq: 2 }),
  /** The index of the proven key; undefined sends no proof. */
  key: fc.option(fc.nat(1), { nil: undefined, freq: 2 }),
  delegate: fc.boolean(),
  wait: fc.nat(150),
})
type Step = typeof aStep extends fc.Arbitrary<infer T> ? T : never
const aRoot = fc.record({
  client: fc.nat(2),
  scope: fc.subarray(NAMES, { minLength: 1 }),
  key: fc.option(fc.nat(1), { nil: undefined }),
})

const NEW = { iss: expect.any(String), jti: expect.any(String) }
const depthOf = (act: Actor | undefined): number => (act ? 1 + depthOf(act.act) : 0)
const names = (scope: string) => scope.split(' ')

// A clock that advances only between two steps, so that the model knows every second.
let now = Math.floor(Date.now() / 1000)
let service: TestService
let clients: Registered[]
let resources: { uri: string }[]
let keys: ProofKey[]
let person: Awaited<ReturnType<typeof aPerson>>

beforeAll(async () => {
  service = await startService({
    SERVICE_TOKEN_EXCHANGE_ALLOW_SELF_EXCHANGE: 'true',
    SERVICE_TOKEN_EXCHANGE_MAX_CHAIN_DEPTH: String(DEPTH),
    SERVICE_TOKEN_EXCHANGE_TOKEN_EXPIRY: '10m',
  })
  vi.spyOn(service.app.clock, 'now').mockImplementation(() => now)
  const client = () => addExchanger(service, { scope: `${ALL} mcp:read` })
  clients = [await client(), await client(), await client()]
  const allowed_client_ids = clients.map(({ client_id }) => client_id)
  const resource = () => addResource(service, { scopes: NAMES, policy: { exchange: { allowed_client_ids } } })
  resources = [await resource(), await resource()]
  keys = [await proofKey(), await proofKey()]
  person = await aPerson(service)
  for (const each of clients) for (const at of resources) await person.consent(each, at, ALL)
})
afterAll(() => service.close())

const pick = <T>(list: readonly T[], i: number): T => list[i % list.length] as T

/** Whether the rules allow an exchange. */
function isAllowed({ target, scope, key, delegate }: Step, subject: Claims, caller: Registered): boolean {
  const isOwn = subject.client_id === caller.client_id
  const held = names(subject.scope)
  if (subject.exp <= now) return false
  if (target === undefined && !isOwn) return false
  if (scope?.some((name) => !held.includes(name))) return false
  if (delegate && depthOf(subject.act) === DEPTH) return false
  return !isOwn || !subject.cnf || (key !== undefined && pick(keys, key).jkt === subject.cnf.jkt)
}

/** The expected claims of the token of an allowed exchange. */
function expectedOf({ target, scope, key, delegate }: Step, subject: Claims, { client_id }: Registered) {
  const jkt = key === undefined ? subject.cnf?.jkt : pick(keys, key).jkt
  const act = delegate
    ? { sub: client_id, actor_type: 'service', ...(subject.act ? { act: subject.act } : {}) }
    : subject.act
  return {
    sub: subject.sub,
    client_id,
    aud: target === undefined ? subject.aud : [pick(resources, target).uri],
    scope: scope ? scope.join(' ') : subject.scope,
    cnf: jkt === undefined ? undefined : { jkt },
    act,
    iat: now,
    exp: Math.min(subject.exp, now + 600),
  }
}

/** Performs a step, and adds the new token. Returns whether a token was issued. */
async function take(step: Step, tokens: Token[]): Promise<boolean> {
  now += step.wait
  const caller = pick(clients, step.caller)
  const subject = tokens.at(-1 - (step.subject % tokens.length)) as Token
  const proof = async () => (step.key === undefined ? {} : dpop(service, pick(keys, step.key)))
  const fields = {
    subject_token: subject.value,
    resource: step.target === undefined ? undefined : pick(resources, step.target).uri,
    scope: step.scope?.join(' '),
    ...(step.delegate ? await actorOf(service, caller) : {}),
  }
  const { status, body } = await exchange(service, caller, fields, await proof())
  expect(status === 200, JSON.stringify(body)).toBe(isAllowed(step, subject.claims, caller))
  if (status !== 200) {
    expect(body).not.toHaveProperty('access_token')
    return false
  }
  const claims = claimsOf(body['access_token'])
  expect(claims).toEqual({ ...NEW, ...expectedOf(step, subject.claims, caller) })
  expect(body['token_type']).toBe(claims.cnf ? 'DPoP' : 'Bearer')
  tokens.push({ value: body['access_token'], claims })
  return true
}

test('no sequence of exchanges widens the scope, drops a binding, deepens the chain, outlives its root or changes the user', async () => {
  let taken = 0
  await fc.assert(
    fc.asyncProperty(aRoot, fc.array(aStep, { minLength: 3, maxLength: 8 }), async (from, steps) => {
      const headers = from.key === undefined ? {} : await dpop(service, pick(keys, from.key))
      const answer = await person.signIn(pick(clients, from.client), resources[0], from.scope.join(' '), headers)
      const root = { value: answer.body['access_token'], claims: claimsOf(answer.body['access_token']) }
      const tokens = [root]
      for (const step of steps) if (await take(step, tokens)) taken++
      for (const { claims } of tokens) {
        expect(names(root.claims.scope)).toEqual(expect.arrayContaining(names(claims.scope)))
        expect(claims.exp).toBeLessThanOrEqual(root.claims.exp)
        expect(claims.sub).toBe(person.user.id)
        expect(depthOf(claims.act)).toBeLessThanOrEqual(DEPTH)
        if (root.claims.cnf) expect(claims.cnf).toBeDefined()
      }
    }),
    { numRuns: RUNS },
  )
  expect(taken, 'exchanges that were allowed').toBeGreaterThan(RUNS / 2)
}, 60_000)
