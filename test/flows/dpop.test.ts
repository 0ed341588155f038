// DPoP (RFC 9449) at the token endpoint of a whole service: bound tokens, required proofs, and single use of proofs.
import path from 'node:path'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../src/records/client.ts'
import { dpop, expectProofRefused, PROOF_ALGS, type ProofKey, proofKey, proofOf } from '../support/dpop.ts'
import * as flow from '../support/flow.ts'
import { type Answer, authorize } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

type Registered = Awaited<ReturnType<typeof addClient>>
type Fields = Record<string, string | undefined>

let service: TestService
let key: ProofKey
let other: ProofKey
beforeAll(async () => {
  ;[service, key, other] = [await startService(), await proofKey(), await proofKey()]
})
afterAll(() => service.close())

/** The ways to a token; `headers` may carry a proof. */
const machine = (client: Registered, headers = {}, at = service) => flow.machineToken(at, client, {}, headers)
const redeem = (client: Registered, code: { code: string; verifier: string }, headers = {}, at = service) =>
  flow.redeem(at, client, code, {}, headers)
const refresh = (client: Registered, refresh_token: unknown, headers = {}, at = service) =>
  flow.refresh(at, client, refresh_token, {}, headers)

const PUBLIC = { token_endpoint_auth_method: 'none' }
/** A client with a code. */
async function withCode(clientFields = {}, fields: Fields = {}) {
  const [client, user, resource] = [
    await addClient(service, clientFields),
    await addUser(service),
    await addResource(service),
  ]
  const authorized = await authorize(service, client, user, { resource: resource.uri, ...fields })
  return { client, user, resource, authorized }
}
/** A client whose code was redeemed with a proof of `key`. */
async function bound(clientFields = {}) {
  const parts = await withCode(clientFields)
  const answer = await redeem(parts.client, parts.authorized, await dpop(service, key))
  return { ...parts, answer, refresh_token: answer.body['refresh_token'] }
}

const jktOf = (answer: Answer) => (decodeJwt(String(answer.body['access_token'])) as { cnf?: { jkt: string } }).cnf?.jkt
function expectBound(answer: Answer, to: ProofKey = key) {
  expect([answer.status, answer.body['token_type']], JSON.stringify(answer.body)).toEqual([200, 'DPoP'])
  expect(jktOf(answer)).toBe(to.jkt)
}
function expectBearer(answer: Answer) {
  expect([answer.status, answer.body['token_type']], JSON.stringify(answer.body)).toEqual([200, 'Bearer'])
  expect(jktOf(answer)).toBeUndefined()
}

describe('a proof binds the token', () => {
  test.each(PROOF_ALGS)(
    '%s: a proof binds the token: cnf.jkt is the thumbprint, token_type is DPoP, also in the record',
    async (alg) => {
      const [client, made] = [await addClient(service), await proofKey(alg)]
      const answer = await machine(client, await dpop(service, made))
      expectBound(answer, made)
      const { jti } = decodeJwt(String(answer.body['access_token']))
      expect((await service.app.store.findIssuance({ id: String(jti) }))?.jkt).toBe(made.jkt)
      expect(await flow.introspect(service, client, answer.body['access_token'])).toMatchObject({
        active: true,
        token_type: 'DPoP',
        cnf: { jkt: made.jkt },
      })
    },
  )

  test('a proof binds the tokens of the code and refresh grants; without a proof they are Bearer tokens', async () => {
    const { client, answer, refresh_token } = await bound()
    expectBound(answer)
    const second = await refresh(client, refresh_token, await dpop(service, key))
    expectBound(second)
    expectBearer(await machine(await addClient(service)))
  })

  test('the metadata lists the algorithms', async () => {
    const response = await fetch(`${service.issuer}/.well-known/oauth-authorization-server`)
    expect(await response.json()).toMatchObject({ dpop_signing_alg_values_supported: PROOF_ALGS })
  })
})

describe('refresh tokens', () => {
  test('a refresh token of a public client requires a proof of the key of the code, and a refusal does not consume it', async () => {
    const { client, refresh_token } = await bound(PUBLIC)
    expectProofRefused(await refresh(client, refresh_token))
    expectProofRefused(await refresh(client, refresh_token, await dpop(service, other)))
    expectProofRefused(await refresh(client, refresh_token, { dpop: 'not-a-jwt' }))
    const second = await refresh(client, refresh_token, await dpop(service, key))
    expectBound(second)
    expectProofRefused(await refresh(client, second.body['refresh_token']))
    expectBound(await refresh(client, second.body['refresh_token'], await dpop(service, key)))
  })

  test('a refresh token of a public client that began without a key is not bound, and later proofs bind only their own access token', async () => {
    const { client, authorized } = await withCode(PUBLIC)
    const first = await redeem(client, authorized)
    expectBearer(first)
    const second = await refresh(client, first.body['refresh_token'], await dpop(service, key))
    expectBound(second)
    expectBearer(await refresh(client, second.body['refresh_token']))
  })

  test('a refresh token of a confidential client is bound by its secret: it may change its key or send no proof', async () => {
    const { client, refresh_token } = await bound()
    const second = await refresh(client, refresh_token, await dpop(service, other))
    expectBound(second, other)
    expectBearer(await refresh(client, second.body['refresh_token']))
  })
})

describe('dpop_jkt', () => {
  test('dpop_jkt binds the code to the key, and a refusal leaves the code valid', async () => {
    for (const kind of [PUBLIC, {}]) {
      const { client, authorized } = await withCode(kind, { dpop_jkt: key.jkt })
      expectProofRefused(await redeem(client, authorized))
      expectProofRefused(await redeem(client, authorized, await dpop(service, other)))
      expectBound(await redeem(client, authorized, await dpop(service, key)))
    }
  })

  test('a malformed dpop_jkt is refused at once, by redirect', async () => {
    const [client, user] = [await addClient(service), await addUser(service)]
    const { callback } = await authorize(service, client, user, { dpop_jkt: 'short' })
    expect(Object.fromEntries(callback.searchParams)).toMatchObject({ error: 'invalid_request', iss: service.issuer })
  })
})

test('a client that registered dpop_bound_access_tokens gets no token without a proof, and its code stays valid', async () => {
  const { client, authorized } = await withCode({ dpop_bound_access_tokens: true })
  expectProofRefused(await machine(client))
  expectProofRefused(await redeem(client, authorized))
  const answer = await redeem(client, authorized, await dpop(service, key))
  expectBound(answer)
  expectProofRefused(await refresh(client, answer.body['refresh_token']))
  expectBound(await refresh(client, answer.body['refresh_token'], await dpop(service, key)))
})

describe('single use of proofs', () => {
  const FIFTY = Array.from({ length: 50 })
  const split = (answers: Answer[]) => ({
    won: answers.filter(({ status }) => status === 200),
    lost: answers.filter(({ status }) => status !== 200),
  })

  test('of fifty concurrent machine requests with one proof exactly one is answered, and one token recorded', async () => {
    const client = await addClient(service)
    const proof = await dpop(service, key)
    const { won, lost } = split(await Promise.all(FIFTY.map(() => machine(client, proof))))
    expect([won.length, lost.length]).toEqual([1, 49])
    for (const answer of lost) expectProofRefused(answer)
    const { client_id } = client
    expect(await service.app.store.listIssuances({ client_id, since: '', limit: 100 })).toHaveLength(1)
  })

  test('of fifty concurrent uses of one code with one proof exactly one is answered, and its tokens stay valid', async () => {
    const { client, authorized } = await withCode()
    const proof = await dpop(service, key)
    const { won, lost } = split(await Promise.all(FIFTY.map(() => redeem(client, authorized, proof))))
    expect(won.length).toBe(1)
    for (const answer of lost) expectProofRefused(answer)
    expectBound(await refresh(client, won[0]?.body['refresh_token'], await dpop(service, key)))
  })

  test('of fifty concurrent uses of one refresh token with one proof exactly one is answered, and the family stays valid', async () => {
    const { client, refresh_token } = await bound(PUBLIC)
    const proof = await dpop(service, key)
    const { won, lost } = split(await Promise.all(FIFTY.map(() => refresh(client, refresh_token, proof))))
    expect(won.length).toBe(1)
    for (const answer of lost) expectProofRefused(answer)
    expectBound(await refresh(client, won[0]?.body['refresh_token'], await dpop(service, key)))
  })

  test('a proof is accepted once across grants, clients and users, and refused requests keep their codes and refresh tokens', async () => {
    const codes = [await withCode(), await withCode(PUBLIC)]
    const families = [await bound(), await bound(PUBLIC)]
    const machines = [await addClient(service), await addClient(service)]
    const attempts = [
      ...codes.map(
        ({ client, authorized }) =>
          (proof: object) =>
            redeem(client, authorized, proof),
      ),
      ...families.map(
        ({ client, refresh_token }) =>
          (proof: object) =>
            refresh(client, refresh_token, proof),
      ),
      ...machines.map((client) => (proof: object) => machine(client, proof)),
    ]
    const one = await dpop(service, key)
    const answers = await Promise.all(attempts.map((attempt) => attempt(one)))
    expect(split(answers).won.length).toBe(1)
    for (const [i, attempt] of attempts.entries())
      if (answers[i]?.status !== 200) expectBound(await attempt(await dpop(service, key)))
  })

  test('a refused proof consumes neither a code nor a refresh token', async () => {
    const { client, authorized } = await withCode(PUBLIC)
    const used = await dpop(service, key)
    await machine(await addClient(service), used)
    const bad = [
      used,
      { dpop: 'not-a-jwt' },
      await dpop(service, key, { claims: { htm: 'GET' } }),
      await dpop(service, key, { claims: { iat: 1 } }),
      await dpop(service, key, { header: { jwk: other.jwk } }),
    ]
    for (const proof of bad) expectProofRefused(await redeem(client, authorized, proof))
    const answer = await redeem(client, authorized, await dpop(service, key))
    expectBound(answer)
    for (const proof of bad) expectProofRefused(await refresh(client, answer.body['refresh_token'], proof))
    expectBound(await refresh(client, answer.body['refresh_token'], await dpop(service, key)))
  })

  test('a used proof is still refused after a restart', async () => {
    const folder = tempFolder()
    const env = {
      SERVICE_SERVER_ISSUER: 'http://localhost',
      SERVICE_STORAGE_SQLITE_PATH: path.join(folder, 'service.db'),
      SERVICE_SIGNING_KEY_PATH: path.join(folder, 'keys'),
    }
    const before = await startService(env)
    const client = await addClient(before)
    const [used, unused] = [await dpop(before, key), await dpop(before, key)]
    expectBound(await machine(client, used, before))
    await before.close()
    const after = await startService(env)
    try {
      expectProofRefused(await machine(client, used, after))
      expectBound(await machine(client, unused, after))
    } finally {
      await after.close()
    }
  })
})

describe('nonces', () => {
  const SECRET = 'a secret that two instances of one service share'
  const folder = tempFolder()
  const env = {
    SERVICE_DPOP_REQUIRE_NONCE: 'true',
    SERVICE_SESSION_SECRET: SECRET,
    SERVICE_SERVER_ISSUER: 'http://localhost',
    SERVICE_SIGNING_KEY_PATH: path.join(folder, 'keys'),
  }
  let one: TestService
  let two: TestService
  let stranger: TestService
  let client: Registered
  beforeAll(async () => {
    one = await startService(env)
    two = await startService(env)
    stranger = await startService({ ...env, SERVICE_SESSION_SECRET: `${SECRET}, but not with this one` })
    client = await addClient(one)
    // A database file belongs to one server.
    const record = await one.app.store.findClient(client)
    for (const other of [two, stranger]) await other.app.store.createClient(record as Client)
  })
  afterAll(() => Promise.all([one.close(), two.close(), stranger.close()]))

  const send = async (at: TestService, nonce?: string | null) =>
    machine(client, await dpop(at, key, { claims: { nonce: nonce ?? undefined } }), at)
  const nonceOf = async (at: TestService) => (await send(at)).headers.get('dpop-nonce')

  test('a missing nonce causes use_dpop_nonce with a challenge and a nonce, and the retry succeeds', async () => {
    const first = await send(one)
    expectProofRefused(first, 'use_dpop_nonce')
    expect(first.headers.get('www-authenticate')).toBe('DPoP error="use_dpop_nonce", algs="ES256 RS256 PS256"')
    const second = await send(one, first.headers.get('dpop-nonce'))
    expectBound(second)
    expect(second.headers.get('dpop-nonce')).toMatch(/^[a-z0-9]+\.[A-Za-z0-9_-]{22}$/)
  })

  test('a nonce of one instance is accepted at another one with the same secret, and nowhere else', async () => {
    expectBound(await send(two, await nonceOf(one)))
    expectBound(await send(one, await nonceOf(two)))
    expectProofRefused(await send(one, await nonceOf(stranger)), 'use_dpop_nonce')
  })

  test('a nonce older than nonce_ttl is refused with a new one', async () => {
    const nonce = await nonceOf(one)
    one.advance(61)
    const answer = await send(one, nonce)
    expectProofRefused(answer, 'use_dpop_nonce')
    expectBound(await send(one, answer.headers.get('dpop-nonce')))
  })

  test('without a proof a Bearer token is issued, without DPoP-Nonce', async () => {
    const answer = await machine(client, {}, one)
    expectBearer(answer)
    expect(answer.headers.get('dpop-nonce')).toBeNull()
  })

  test('a refused nonce consumes neither a code nor a refresh token', async () => {
    const user = await addUser(one)
    const open = await addClient(one, PUBLIC)
    // Pages are served at the address of the listener, not at the issuer.
    const authorized = await authorize(one, open, user)
    const nonce = await nonceOf(one)
    const fresh = () => dpop(one, key, { claims: { nonce } })
    expectProofRefused(await redeem(open, authorized, await dpop(one, key), one), 'use_dpop_nonce')
    const answer = await redeem(open, authorized, await fresh(), one)
    expectBound(answer)
    expectProofRefused(await refresh(open, answer.body['refresh_token'], await dpop(one, key), one), 'use_dpop_nonce')
    expectBound(await refresh(open, answer.body['refresh_token'], await fresh(), one))
  })
})

describe('headers', () => {
  test('DPoP-Nonce is in every answer to a proof, and a wrong proof gets a challenge', async () => {
    const client = await addClient(service)
    const proof = await dpop(service, key)
    const [good, replayed] = [await machine(client, proof), await machine(client, proof)]
    const unknown = await refresh(client, 'x', await dpop(service, key))
    for (const answer of [good, replayed, unknown]) expect(answer.headers.get('dpop-nonce')).toBeTruthy()
    expect(replayed.headers.get('www-authenticate')).toBe('DPoP error="invalid_dpop_proof", algs="ES256 RS256 PS256"')
    expect(good.headers.get('www-authenticate')).toBeNull()
    expect((await machine(client)).headers.get('dpop-nonce')).toBeNull()
  })

  test('pages of allowed origins may send proofs and read nonce and challenge; other pages may not', async () => {
    const at = await startService({ SERVICE_SERVER_ALLOWED_ORIGINS: 'https://app.example' })
    try {
      const url = `${at.issuer}/oauth/token`
      const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'dpop' }
      const preflight = (origin: string) => fetch(url, { method: 'OPTIONS', headers: { origin, ...asked } })
      const allowed = await preflight('https://app.example')
      expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example')
      expect(allowed.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('dpop')
      expect((await preflight('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull()

      const [client, proof] = [await addClient(at), await dpop(at, key)]
      const send = (origin: string) => machine(client, { ...proof, origin }, at)
      for (const answer of [await send('https://app.example'), await send('https://app.example')]) {
        expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example')
        const exposed = answer.headers.get('access-control-expose-headers')?.split(', ')
        expect(exposed).toEqual(expect.arrayContaining(['DPoP-Nonce', 'WWW-Authenticate']))
      }
      expect((await send('https://evil.example')).headers.get('access-control-expose-headers')).toBeNull()
    } finally {
      await at.close()
    }
  })
})

describe('with dpop.enabled false', () => {
  let off: TestService
  beforeAll(async () => {
    off = await startService({ SERVICE_DPOP_ENABLED: 'false' })
  })
  afterAll(() => off.close())

  test('with DPoP disabled the header is ignored, and the metadata does not list DPoP', async () => {
    const client = await addClient(off)
    const proof = await proofOf(off, key)
    for (const header of [proof, proof, 'not-a-jwt']) {
      const answer = await machine(client, { dpop: header }, off)
      expectBearer(answer)
      expect(answer.headers.get('dpop-nonce')).toBeNull()
    }
    const metadata = await fetch(`${off.issuer}/.well-known/oauth-authorization-server`)
    expect(await metadata.json()).not.toHaveProperty('dpop_signing_alg_values_supported')
  })

  test('with DPoP disabled dpop_jkt is ignored, because a bound code could not be redeemed', async () => {
    const [client, user] = [await addClient(off), await addUser(off)]
    expectBearer(await redeem(client, await authorize(off, client, user, { dpop_jkt: key.jkt }), {}, off))
  })

  test('with DPoP disabled a client that registered for bound tokens gets none, and never a Bearer token', async () => {
    const client = await addClient(off, { dpop_bound_access_tokens: true })
    expectProofRefused(await machine(client, { dpop: await proofOf(off, key) }, off))
  })
})
