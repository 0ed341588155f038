// DPoP proofs check by check, on a clock that stands still: windows and limits to the second and the byte.
import { describe, expect, test } from 'vitest'
import type { App } from '../../src/context.ts'
import type { Verification } from '../../src/crypto/batch.ts'
import { importKey, verifySignature } from '../../src/crypto/jws.ts'
import { createSealer } from '../../src/crypto/seal.ts'
import type { Request } from '../../src/http/message.ts'
import { ReplaySet } from '../../src/lib/replay_set.ts'
import { checkBinding, checkBound, newNonce, verifyProof } from '../../src/oauth/tokens/dpop.ts'
import type { Client } from '../../src/records/client.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { PROOF, PROOF_THUMBPRINT } from '../crypto/vectors.ts'
import { testClock } from '../support/clock.ts'
import { type Changes, forge, PROOF_ALGS, proofKey, proofOf, proofParts, signedBy } from '../support/dpop.ts'
import { refusalOf } from '../support/thrown.ts'

const ISSUER = 'https://server.example.com'
const DPOP = { enabled: true, clock_skew: 10, nonce_ttl: 60, proof_lifetime: 60, require_nonce: false }

/** The parts of a service that proofs are checked with. */
function bench(config: Partial<typeof DPOP> = {}, { issuer = ISSUER, start = 1_800_000_000, secret = 's' } = {}) {
  const clock = testClock(start)
  const verify = async ({ alg, jwk, input, signature }: Verification) => {
    const imported = importKey(alg, jwk)
    return imported !== undefined && verifySignature(alg, imported, input, signature)
  }
  const parts = {
    config: { server: { issuer }, dpop: { ...DPOP, ...config } },
    clock,
    crypto: { verify },
    metrics: new Metrics(),
    replays: new ReplaySet(1000),
    sealer: createSealer([secret]),
  }
  const app = parts as unknown as App
  const service = { app }
  const check = (dpop: string | undefined, more: Partial<Request> = {}) =>
    verifyProof(app, { method: 'POST', path: '/oauth/token', headers: { dpop }, ...more } as Request)
  const reasonOf = async (dpop: string, more?: Partial<Request>) => (await refusalOf(() => check(dpop, more))).reason
  return { app, clock, check, reasonOf, proof: (changes?: Changes) => proofOf(service, key, changes), service }
}

const key = await proofKey()
const other = await proofKey()

describe('a valid proof', () => {
  test.each(PROOF_ALGS)('signed with %s returns the thumbprint of its key', async (alg) => {
    const { check, service } = bench()
    const made = await proofKey(alg)
    expect((await check(await proofOf(service, made)))?.jkt).toBe(made.jkt)
  })

  test('the example of RFC 9449 §4.1 is valid at its time and for its URL', async () => {
    const at = { start: 1_562_262_616 }
    const here = { path: '/token' }
    expect((await bench({}, at).check(PROOF, here))?.jkt).toBe(PROOF_THUMBPRINT)
    expect(await bench({}, at).reasonOf(PROOF, { path: '/tokens' })).toBe('htu')
    expect(await bench({}, at).reasonOf(PROOF, { ...here, method: 'GET' })).toBe('htm')
    expect(await bench({}, { ...at, issuer: 'http://server.example.com' }).reasonOf(PROOF, here)).toBe('htu')
    expect(await bench({}, { start: at.start + 61 }).reasonOf(PROOF, here)).toBe('iat')
  })

  test('names the URL of the issuer, including a path that a proxy strips, whatever the Host header is', async () => {
    const { check, reasonOf, proof } = bench({}, { issuer: 'https://server.example.com/tenant' })
    expect(await check(await proof())).toBeDefined()
    expect(await reasonOf(await proof({ claims: { htu: `${ISSUER}/oauth/token` } }))).toBe('htu')
    const dpop = await proof({ claims: { htu: 'https://evil.example/tenant/oauth/token' } })
    expect(await reasonOf(dpop, { headers: { dpop, host: 'evil.example' } })).toBe('htu')
  })

  test('may have any ath, because the token endpoint receives no access token', async () => {
    const { check, proof } = bench()
    expect(await check(await proof({ claims: { ath: 'anything' } }))).toBeDefined()
  })

  test('a request without the header has no proof, and with DPoP disabled the header is ignored', async () => {
    expect(await bench().check(undefined)).toBeUndefined()
    expect(await bench({ enabled: false }).check('not-a-jwt')).toBeUndefined()
  })
})

describe('time', () => {
  const when = (iat: number, config = {}) => {
    const { check, proof, clock } = bench(config)
    return proof({ claims: { iat: clock.now() + iat } }).then(check)
  }

  test('iat may be at most proof_lifetime old and clock_skew in the future, to the second', async () => {
    for (const iat of [-60, 0, 10]) expect(await when(iat), String(iat)).toBeDefined()
    for (const iat of [-61, 11]) expect((await refusalOf(() => when(iat))).reason, String(iat)).toBe('iat')
    expect(await when(-300, { proof_lifetime: 300 })).toBeDefined()
    for (const clock_skew of [0, 60]) {
      expect(await when(clock_skew, { clock_skew })).toBeDefined()
      expect((await refusalOf(() => when(clock_skew + 1, { clock_skew }))).reason).toBe('iat')
    }
    expect((await refusalOf(() => when(-2, { proof_lifetime: 1.5 }))).reason).toBe('iat')
  })

  test('times may have fractions of a second, and the same proof is refused the second time', async () => {
    const { check, reasonOf, proof, clock } = bench()
    const at = clock.now() + 0.75
    const dated = await proof({ claims: { iat: at, nbf: at, exp: at } })
    expect(await check(dated)).toBeDefined()
    expect(await reasonOf(dated)).toBe('replay')
    for (const iat of [9.999, -59.999]) expect(await when(iat), String(iat)).toBeDefined()
    for (const iat of [10.001, -60.001]) expect((await refusalOf(() => when(iat))).reason, String(iat)).toBe('iat')
  })

  test('exp and nbf are checked when they are present', async () => {
    const at = bench().clock.now()
    const { check, reasonOf, proof } = bench()
    expect(await check(await proof({ claims: { exp: at + 1, nbf: at + 10 } }))).toBeDefined()
    expect(await bench({ clock_skew: 0 }).reasonOf(await proof({ claims: { nbf: at + 1 } }))).toBe('nbf')
    for (const [claims, reason] of [
      [{ exp: at }, 'exp'],
      [{ exp: String(at + 100) }, 'exp'],
      [{ exp: null }, 'exp'],
      [{ nbf: at + 11 }, 'nbf'],
      [{ nbf: '0' }, 'nbf'],
    ] as const)
      expect(await reasonOf(await proof({ claims })), JSON.stringify(claims)).toBe(reason)
  })

  test('a used proof is refused as used in every second in which its age would still be accepted', async () => {
    const { check, reasonOf, proof, clock } = bench()
    const used = await proof({ claims: { iat: clock.now() + 10 } })
    await check(used)
    for (let second = 0; second <= 70; second++, clock.advance(1)) expect(await reasonOf(used)).toBe('replay')
    expect(await reasonOf(used)).toBe('iat')
  })

  test('the record of a used proof has its expiry in whole seconds', async () => {
    const { check, proof, clock } = bench({ proof_lifetime: 1.5 })
    const use = (await check(await proof()))?.use
    expect(use).toMatchObject({ kind: 'dpop', expires_at: clock.now() + 13 })
  })
})

describe('single use', () => {
  test('a jti can be used once for each key', async () => {
    const { check, reasonOf, proof, service } = bench()
    const jti = 'the-same'
    expect(await check(await proof({ claims: { jti } }))).toBeDefined()
    expect(await reasonOf(await proof({ claims: { jti, iat: service.app.clock.now() - 1 } }))).toBe('replay')
    expect(await check(await proofOf(service, other, { claims: { jti } }))).toBeDefined()
  })

  test('a proof that is refused for another reason is not marked as used', async () => {
    const { check, reasonOf, service } = bench()
    const { header, claims } = proofParts(service, key)
    expect(await reasonOf(forge(header, claims, signedBy(other)))).toBe('signature')
    expect(await reasonOf(forge(header, { ...claims, htm: 'GET' }, signedBy(key)))).toBe('htm')
    expect(await check(forge(header, claims, signedBy(key)))).toBeDefined()
  })

  test('jti is a string of 1 to 512 characters', async () => {
    const { check, reasonOf, proof } = bench()
    for (const jti of ['x', 'x'.repeat(512)]) expect(await check(await proof({ claims: { jti } }))).toBeDefined()
    for (const jti of ['', 'x'.repeat(513), 1, null, ['x'], { x: 1 }, undefined])
      expect(await reasonOf(await proof({ claims: { jti } }))).toBe('jti')
  })

  test('no pair of jti and key has the same hash as another pair', async () => {
    const { check, proof, service } = bench()
    const made = await Promise.all([
      check(await proof({ claims: { jti: `a"]` } })),
      check(await proof({ claims: { jti: 'a' } })),
      check(await proofOf(service, other, { claims: { jti: 'a' } })),
    ])
    expect(new Set(made.map((each) => each?.use.hash)).size).toBe(3)
  })
})

describe('nonces', () => {
  const strict = { require_nonce: true }
  const withNonce = (nonce: unknown) => ({ claims: { nonce } })

  test('a nonce is valid for nonce_ttl from the second of its creation, for any number of proofs', async () => {
    const { app, check, reasonOf, proof, clock } = bench(strict)
    const nonce = newNonce(app)
    expect(await check(await proof(withNonce(nonce)))).toBeDefined()
    clock.advance(60)
    expect(await check(await proof(withNonce(nonce)))).toBeDefined()
    clock.advance(1)
    expect(await reasonOf(await proof(withNonce(nonce)))).toBe('nonce')
    expect(await check(await proof(withNonce(newNonce(app))))).toBeDefined()
  })

  test('a nonce of another instance with the same secret is valid, and one of another secret is not', async () => {
    const here = bench(strict, { secret: 'shared' })
    const nonceOf = (secret: string) => newNonce(bench(strict, { secret }).app)
    expect(await here.check(await here.proof(withNonce(nonceOf('shared'))))).toBeDefined()
    expect(await here.reasonOf(await here.proof(withNonce(nonceOf('theirs'))))).toBe('nonce')
  })

  test('nonces of every session secret are valid', async () => {
    const { app, check, proof, reasonOf } = bench(strict)
    Object.assign(app, { sealer: createSealer(['new', 'old']) })
    const nonceOf = (secret: string) => newNonce(bench(strict, { secret }).app)
    for (const secret of ['new', 'old']) expect(await check(await proof(withNonce(nonceOf(secret))))).toBeDefined()
    expect(await reasonOf(await proof(withNonce(nonceOf('removed'))))).toBe('nonce')
  })

  test('a missing nonce, another type, and every change of one character are refused with use_dpop_nonce', async () => {
    const { app, proof, check } = bench(strict)
    const nonce = newNonce(app)
    const changed = [...nonce].map((char, i) => nonce.slice(0, i) + (char === 'a' ? 'b' : 'a') + nonce.slice(i + 1))
    const [time = '', mac = ''] = nonce.split('.')
    const forged = [`${time}.`, `.${mac}`, `${time}.${mac}.`, ` ${nonce}`, `-${nonce}`, `0${nonce}`, time, 'NaN', '']
    for (const bad of [undefined, 1, null, [nonce], { nonce }, ...forged, ...changed, nonce.toUpperCase()])
      expect((await refusalOf(async () => check(await proof(withNonce(bad))))).code, String(bad)).toBe('use_dpop_nonce')
  })

  test('a proof that is refused for its missing nonce can be repeated with the same jti', async () => {
    const { app, proof, check, reasonOf } = bench(strict)
    const jti = 'kept'
    expect(await reasonOf(await proof({ claims: { jti } }))).toBe('nonce_missing')
    expect(await check(await proof({ claims: { jti, nonce: newNonce(app) } }))).toBeDefined()
  })

  test('without require_nonce any nonce is accepted', async () => {
    const { proof, check } = bench()
    expect(await check(await proof(withNonce('whatever')))).toBeDefined()
  })
})

describe('a token or client that is bound to a key', () => {
  const proof = { jkt: 'k', use: { id: '', kind: 'dpop', hash: '', expires_at: 0 } } as const

  test('requires a proof of that key', async () => {
    expect(() => checkBound('k', proof)).not.toThrow()
    expect(() => checkBound(undefined, undefined)).not.toThrow()
    expect(() => checkBound(undefined, proof)).not.toThrow()
    expect((await refusalOf(() => checkBound('k', undefined))).reason).toBe('proof_missing')
    expect((await refusalOf(() => checkBound('l', proof))).reason).toBe('other_key')
  })

  test('a client that registered dpop_bound_access_tokens is refused without a proof', async () => {
    const bound = { dpop_bound_access_tokens: true } as Client
    expect(() => checkBinding(bound, proof)).not.toThrow()
    expect((await refusalOf(() => checkBinding(bound, undefined))).code).toBe('invalid_dpop_proof')
    expect(() => checkBinding({ ...bound, dpop_bound_access_tokens: false }, undefined)).not.toThrow()
  })
})

test('every refused proof is counted by its reason, and every accepted proof is counted', async () => {
  const { app, check, reasonOf, proof } = bench()
  await check(await proof())
  await reasonOf(await proof({ claims: { htm: 'GET' } }))
  await reasonOf('not-a-jwt')
  const { text } = await app.metrics.render()
  expect(text).toMatch(/ext_dpop_proofs_validated_total 1\b/)
  for (const reason of ['htm', 'malformed'])
    expect(text).toMatch(new RegExp(`ext_dpop_proofs_rejected_total\\{reason="${reason}"\\} 1\\b`))
})
