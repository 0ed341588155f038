// The crypto lanes on their real threads.
import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { p256 } from '@noble/curves/nist.js'
import { argon2id } from '@noble/hashes/argon2.js'
import { hashSync } from '@node-rs/argon2'
import { compactVerify } from 'jose'
import { Piscina } from 'piscina'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { decodeJws, headerSegment, thumbprint } from '../../src/crypto/jws.ts'
import { type CryptoLanes, openCrypto, type SigningKey } from '../../src/crypto/pool.ts'
import type { Alg, Jwk } from '../../src/records/jwk.ts'
import { silentLog } from '../support/log.ts'
import { PROOF, PROOF_JWK, PROOF_THUMBPRINT } from './vectors.ts'

const called = vi.spyOn(Piscina.prototype, 'run')
let lanes: CryptoLanes
beforeAll(async () => {
  lanes = openCrypto({ threads: 2 }, silentLog)
  // So many that a thread starts.
  const { key } = newKey('ES256', 'many')
  await Promise.all(Array.from({ length: 64 }, () => lanes.sign(key, {})))
})
afterAll(() => lanes.close())

function newKey(alg: Alg, kid: string) {
  const pair =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = pair.publicKey.export({ format: 'jwk' }) as Jwk
  const key: SigningKey = { kid, alg, key: pair.privateKey, header: headerSegment('at+jwt', alg, kid) }
  return { key, jwk, publicKey: pair.publicKey, thumbprint: thumbprint(jwk) as string }
}

/** Parameters, salt and hash. */
const PHC = /^\$argon2id\$v=19\$(m=\d+,t=\d+,p=\d+)\$([\w+/]{22})\$([\w+/]{43})$/

describe('signatures', () => {
  test.each<Alg>(['ES256', 'RS256', 'PS256'])(
    '%s: a signature made on a thread verifies in jose and on a thread',
    async (alg) => {
      const { key, jwk, publicKey, thumbprint } = newKey(alg, `kid ${alg}`)
      const compact = await lanes.sign(key, { sub: 'ä' })
      const { payload, protectedHeader } = await compactVerify(compact, publicKey)
      expect(Buffer.from(payload).toString()).toBe('{"sub":"ä"}')
      expect(protectedHeader.kid).toBe(`kid ${alg}`)
      const jws = decodeJws(compact, 10_000)
      if (!jws) return expect.fail('not decoded')
      const { input, signature } = jws
      expect(await lanes.verify({ alg, jwk, thumbprint, input, signature })).toBe(true)
      expect(await lanes.verify({ alg, jwk, thumbprint, input: `${input}x`, signature })).toBe(false)
    },
  )

  test('ES256: another implementation of ECDSA verifies signatures of a thread, and a thread verifies its signatures', async () => {
    const { key, jwk, publicKey, thumbprint } = newKey('ES256', 'noble')
    const [header, payload, signature = ''] = (await lanes.sign(key, { sub: 'ä' })).split('.')
    const input = `${header}.${payload}`
    const point = publicKey.export({ format: 'der', type: 'spki' }).subarray(-65)
    expect(p256.verify(Buffer.from(signature, 'base64url'), Buffer.from(input), point, { lowS: false })).toBe(true)
    const { d = '' } = (key.key as KeyObject).export({ format: 'jwk' })
    const theirs = Buffer.from(p256.sign(Buffer.from(input), Buffer.from(d, 'base64url'))).toString('base64url')
    expect(await lanes.verify({ alg: 'ES256', jwk, thumbprint, input, signature: theirs })).toBe(true)
  })

  test('concurrent signatures are sent in one batch, and each caller receives its own', async () => {
    // The pool has not signed yet, so it does not know how many jobs it may send at once.
    const own = openCrypto({ threads: 1 }, silentLog)
    try {
      const { key, publicKey } = newKey('ES256', 'batch')
      const signed = await Promise.all(Array.from({ length: 200 }, (_, i) => own.sign(key, { n: i })))
      for (const [i, compact] of signed.entries())
        expect(Buffer.from((await compactVerify(compact, publicKey)).payload).toString()).toBe(`{"n":${i}}`)
      expect(own.stats.crypto).toMatchObject({ jobs: 200, batches: 1 })
    } finally {
      await own.close()
    }
  })

  test.each<Alg>(['ES256', 'RS256'])(
    '%s: an access token and its ID token are signed in one job, and the ID token has the hash of the access token',
    async (alg) => {
      const own = openCrypto({ threads: 1 }, silentLog)
      try {
        const { key, publicKey } = newKey(alg, 'both')
        const idToken = { key: { ...key, header: headerSegment('JWT', alg, 'both') }, claims: { sub: 'ä\t' } }
        const signed = await Promise.all(
          Array.from({ length: 50 }, (_, n) => own.signBoth(key, { n }, idToken)).concat(
            own.signBoth(key, {}, idToken),
          ),
        )
        for (const [access_token, id_token] of signed) {
          expect((await compactVerify(access_token, publicKey)).protectedHeader.typ).toBe('at+jwt')
          const { payload, protectedHeader } = await compactVerify(id_token, publicKey)
          const at_hash = createHash('sha256').update(access_token).digest().subarray(0, 16).toString('base64url')
          expect(JSON.parse(Buffer.from(payload).toString())).toEqual({ sub: 'ä\t', at_hash })
          expect(protectedHeader).toEqual({ typ: 'JWT', alg, kid: 'both' })
        }
        expect(own.stats.crypto).toMatchObject({ jobs: 51, batches: 1 })
      } finally {
        await own.close()
      }
    },
  )

  test('a few signatures start no thread, and are right; with more of them a thread starts', async () => {
    called.mockClear()
    const own = openCrypto({ threads: 1 }, silentLog)
    try {
      const { key, publicKey } = newKey('ES256', 'few')
      // A thread starts after some milliseconds of work. On a busy machine three signatures can take as long.
      vi.useFakeTimers({ toFake: ['performance'] })
      const few = await Promise.all([own.sign(key, {}), own.sign(key, {}), own.sign(key, {})])
      for (const compact of few) await compactVerify(compact, publicKey)
      expect(called).not.toHaveBeenCalled()
      vi.useRealTimers()
      // More at once than are made here on a fast machine, whether or not there is a thread.
      while (called.mock.calls.length === 0) await Promise.all(Array.from({ length: 8 }, () => own.sign(key, {})))
    } finally {
      vi.useRealTimers()
      await own.close()
    }
  })

  test('jobs with several keys in one batch use the right keys', async () => {
    const keys = [newKey('ES256', 'one'), newKey('ES256', 'two'), newKey('RS256', 'three')]
    const signed = await Promise.all(keys.map(({ key }) => lanes.sign(key, {})))
    for (const [i, compact] of signed.entries()) {
      const { key, publicKey } = keys[i] as (typeof keys)[number]
      expect((await compactVerify(compact, publicKey)).protectedHeader.kid).toBe(key.kid)
    }
  })

  test('a failing job does not affect the other jobs of its batch', async () => {
    const { key } = newKey('ES256', 'good')
    const unusable = { ...newKey('ES256', 'bad').key, alg: 'RS256' as Alg, key: newKey('ES256', 'public').publicKey }
    const [good, bad, again] = await Promise.allSettled([
      lanes.sign(key, {}),
      lanes.sign(unusable, {}),
      lanes.sign(key, {}),
    ])
    expect([good.status, bad.status, again.status]).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  test('a key that does not match its algorithm verifies nothing', async () => {
    const [input, signature] = [PROOF.slice(0, PROOF.lastIndexOf('.')), PROOF.slice(PROOF.lastIndexOf('.') + 1)]
    const proof = { jwk: PROOF_JWK, thumbprint: PROOF_THUMBPRINT, input, signature }
    expect(await lanes.verify({ ...proof, alg: 'ES256' })).toBe(true)
    expect(await lanes.verify({ ...proof, alg: 'RS256' })).toBe(false)
    const broken = { ...PROOF_JWK, x: 'AAAA' }
    expect(await lanes.verify({ ...proof, alg: 'ES256', jwk: broken, thumbprint: thumbprint(broken) as string })).toBe(
      false,
    )
  })

  test('a thread that dies fails its batch with 503, and is replaced', async () => {
    const { key } = newKey('RS256', 'survivor')
    const waiting = Promise.allSettled(Array.from({ length: 300 }, () => lanes.sign(key, {})))
    await new Promise((resolve) => setImmediate(resolve))
    for (const { threads } of new Set(called.mock.contexts as Piscina[]))
      for (const thread of threads) void thread.terminate()
    const refused = (await waiting).filter((each) => each.status === 'rejected')
    expect(refused.length).toBeGreaterThan(0)
    for (const { reason } of refused)
      expect(reason).toMatchObject({ code: 'temporarily_unavailable', reason: 'worker_failed' })
    expect(await lanes.sign(key, {})).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
  })
})

describe('passwords', () => {
  test('a password becomes an argon2id PHC string with the parameters of OWASP', async () => {
    const phc = await lanes.hashPassword('correct horse')
    expect(phc).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
    expect(await lanes.hashPassword('correct horse')).not.toBe(phc)
    expect(await lanes.verifyPassword('correct horse', phc)).toEqual({ right: true })
    expect(await lanes.verifyPassword('Correct horse', phc)).toEqual({ right: false })
    expect(await lanes.verifyPassword('', phc)).toEqual({ right: false })
  })

  test('two Unicode forms of one letter are the same password', async () => {
    const phc = await lanes.hashPassword('caf\u00e9')
    expect(await lanes.verifyPassword('cafe\u0301', phc)).toEqual({ right: true })
  })

  test.each([
    ['memory', { memoryCost: 8192, timeCost: 2, parallelism: 1 }],
    ['time', { memoryCost: 19_456, timeCost: 1, parallelism: 1 }],
  ])('a hash with less %s is replaced when the password is right, and only then', async (_what, parameters) => {
    const old = hashSync('pass', { algorithm: 2, ...parameters })
    const { right, rehashed } = await lanes.verifyPassword('pass', old)
    expect([right, rehashed?.startsWith('$argon2id$v=19$m=19456,t=2,p=1$')]).toEqual([true, true])
    expect(await lanes.verifyPassword('pass', rehashed)).toEqual({ right: true })
    expect(await lanes.verifyPassword('wrong', old)).toEqual({ right: false })
  })

  test('a hash with stronger parameters is not rehashed', async () => {
    const strong = hashSync('pass', { algorithm: 2, memoryCost: 20_000, timeCost: 3, parallelism: 1 })
    expect(await lanes.verifyPassword('pass', strong)).toEqual({ right: true })
  })

  test.each([undefined, '', 'x', '$argon2id$v=19$m=19456,t=2,p=1$', '$2b$10$abcdefghijklmnopqrstuv'])(
    'against %j every password is wrong',
    async (hash) => {
      expect(await lanes.verifyPassword('pass', hash)).toEqual({ right: false })
    },
  )

  test('an unknown user costs the same work as a known one: a hash with the same parameters', async () => {
    const known = await lanes.hashPassword('pass')
    const checked: string[] = []
    for (const hash of [known, undefined]) {
      called.mockClear()
      expect(await lanes.verifyPassword('wrong', hash)).toEqual({ right: false })
      const [[job] = []] = called.mock.calls
      checked.push((job as { hash: string }).hash)
    }
    // An unreadable hash would be refused at once.
    const [of, instead] = checked.map((phc) =>
      PHC.exec(phc)
        ?.slice(1)
        .map((part, i) => (i === 0 ? part : part.length)),
    )
    expect(of?.[0]).toBe('m=19456,t=2,p=1')
    expect(instead).toEqual(of)
  })

  test('a hash equals that of another implementation of argon2id, whose hashes are accepted', async () => {
    const hashed = (salt: Uint8Array) =>
      Buffer.from(argon2id('pass', salt, { m: 19_456, t: 2, p: 1, dkLen: 32 }))
        .toString('base64')
        .replace('=', '')
    const [, , salt = '', hash] = PHC.exec(await lanes.hashPassword('pass')) ?? []
    expect(hash).toBe(hashed(Buffer.from(salt, 'base64')))
    const phc = `$argon2id$v=19$m=19456,t=2,p=1$${Buffer.alloc(16, 7).toString('base64').replaceAll('=', '')}$${hashed(Buffer.alloc(16, 7))}`
    expect(await lanes.verifyPassword('pass', phc)).toEqual({ right: true })
    expect(await lanes.verifyPassword('pas', phc)).toEqual({ right: false })
  })

  test('logins beyond the queue are refused with 503, and the others are served', async () => {
    const begun = Array.from({ length: 70 }, () => lanes.verifyPassword('x', ''))
    const settled = await Promise.allSettled(begun)
    const refused = settled.filter((each) => each.status === 'rejected')
    expect(refused.length).toBeGreaterThan(0)
    expect(refused[0]?.reason).toMatchObject({ code: 'temporarily_unavailable', reason: 'password_lane_full' })
    expect(settled.length - refused.length).toBeGreaterThanOrEqual(64)
  })
})

test('close() waits for the work in progress', async () => {
  const own = openCrypto({ threads: 1 }, silentLog)
  const { key } = newKey('ES256', 'closing')
  const last = own.sign(key, {})
  await own.close()
  expect(await last).toContain('.')
})
