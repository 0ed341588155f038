// Signing keys in a transit engine: creation, publication, the signing version, and refused starts.
import { createLocalJWKSet, jwtVerify } from 'jose'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { type Keyring, openKeyring } from '../../src/crypto/keyring.ts'
import { openCrypto } from '../../src/crypto/pool.ts'
import type { TransitAccess } from '../../src/crypto/transit/client.ts'
import { type TransitKeyOptions, transitKeys } from '../../src/crypto/transit/keys.ts'
import type { OAuthError } from '../../src/lib/error.ts'
import { createFetcher } from '../../src/net/fetch.ts'
import type { Alg } from '../../src/records/jwk.ts'
import { testClock } from '../support/clock.ts'
import { recordingLog, silentLog } from '../support/log.ts'
import { failureOf } from '../support/thrown.ts'
import { ROOT, startTransit, type TransitServer } from '../support/transit_server.ts'

const LIFE = 3600
const SKEW = 60
const SEEN = 15
const KEY = { mount: 'transit', name: 'service-signing', alg: 'ES256' as Alg, longestLife: LIFE }

const open: { close?(): void | Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.close?.()
})

async function setUp(key: Partial<TransitKeyOptions> = {}, prepare: (store: TransitServer) => void = () => {}) {
  const clock = testClock()
  const store = await startTransit({ now: clock.now })
  open.push(store)
  prepare(store)
  const { log, lines } = recordingLog()
  const fetcher = createFetcher({ allowPrivate: true, userAgent: 'service-test' })
  let isAhead = false
  const ahead = {
    isSet: async () => isAhead,
    set: async () => {
      isAhead = true
    },
  }
  const ring = async (access: Partial<TransitAccess> = {}, more: Partial<TransitKeyOptions> = {}) => {
    const source = transitKeys(
      {
        ahead,
        ...{ ...KEY, ...key, ...more },
        access: {
          setting: 'signing.secretstore_transit',
          address: store.address,
          credentials: { token: ROOT },
          timeout: 5,
          ...access,
        },
      },
      { fetcher, clock, log },
    )
    const opened = await openKeyring({ source, clock })
    open.push(opened)
    return opened
  }
  return { clock, store, lines, ring }
}
const kids = (keys: Keyring) => (JSON.parse(keys.jwks().body).keys as { kid: string }[]).map(({ kid }) => kid)

const lanes = openCrypto({ threads: 1 }, silentLog)
afterAll(() => lanes.close())
const token = (keys: Keyring, claims: object = {}) => lanes.sign(keys.current(), claims)
const verified = (keys: Keyring, jwt: string) => jwtVerify(jwt, createLocalJWKSet(JSON.parse(keys.jwks().body)))

test('no first key is created when that is not allowed', async () => {
  const { store, ring } = await setUp()
  await expect(ring({}, { mayMakeFirst: () => Promise.reject(new Error('live tokens')) })).rejects.toThrow(
    'live tokens',
  )
  const keys = await ring({}, { mayMakeFirst: async () => false })
  expect(() => keys.current()).toThrow('no signing key')
  expect(store.engine.keys.size).toBe(0)
})

describe('the first start', () => {
  test.each<[Alg, string, object]>([
    ['ES256', 'ecdsa-p256', { kty: 'EC', crv: 'P-256' }],
    ['RS256', 'rsa-2048', { kty: 'RSA', e: 'AQAB' }],
  ])('makes a key for %s of type %s, and what it signs is verified by jose', async (alg, type, shape) => {
    const { store, ring } = await setUp({ alg })
    const keys = await ring()
    expect(store.engine.keys.get('service-signing')?.type).toBe(type)
    expect(JSON.parse(keys.jwks().body).keys).toEqual([
      expect.objectContaining({ ...shape, alg, use: 'sig', kid: 'service-signing-v1' }),
      expect.objectContaining({ ...shape, alg, use: 'sig', kid: 'service-signing-v2' }),
    ])
    const { protectedHeader, payload } = await verified(keys, await token(keys, { sub: 'x' }))
    expect(protectedHeader).toEqual({ typ: 'at+jwt', alg, kid: 'service-signing-v1' })
    expect(payload).toEqual({ sub: 'x' })
  })

  test('the first start uses an existing key with its versions', async () => {
    const { store, ring } = await setUp()
    const first = await ring()
    await first.rotate()
    const second = await ring()
    expect(second.current().kid).toBe('service-signing-v2')
    expect(kids(second)).toEqual(kids(first))
    expect(store.count('POST transit/keys/service-signing')).toBe(1)
  })

  test('the engine receives digests, never the signed text', async () => {
    const { store, ring } = await setUp()
    const seen: unknown[] = []
    const handle = store.engine.handle.bind(store.engine)
    store.engine.handle = (method, path, body) => {
      if (path.startsWith('sign/')) seen.push(...(body['batch_input'] as { input: string }[]).map(({ input }) => input))
      return handle(method, path, body)
    }
    const keys = await ring()
    await token(keys, { sub: 'somebody@example.com' })
    expect(seen.length).toBeGreaterThan(0)
    for (const input of seen) expect(Buffer.from(String(input), 'base64').length).toBe(32)
  })
})

describe('a start refuses', () => {
  test.each<[string, (store: TransitServer) => void, Partial<TransitAccess>, RegExp]>([
    [
      'an address where nobody listens',
      () => {},
      { address: 'http://127.0.0.1:9' },
      /127\.0\.0\.1:9: fetch from .*connect_failed/,
    ],
    [
      'a sealed store',
      (s) => {
        s.fault = 'sealed'
      },
      {},
      /503 \(Vault is sealed\)/,
    ],
    [
      'a store that is no secret store',
      (s) => {
        s.fault = 'html'
      },
      {},
      /this is not a key of a transit engine/,
    ],
    [
      'a token that the store does not know',
      () => {},
      { credentials: { token: 'wrong' } },
      /transit\/keys\/service-signing: 403 \(permission denied\)/,
    ],
    [
      'a policy that does not allow to sign',
      (s) => {
        s.allowed = [/^transit\/keys/]
      },
      { credentials: { role_id: 'role-1', secret_id: 'secret-of-role-1', mount: 'approle' } },
      /transit\/sign\/service-signing: 403/,
    ],
    [
      'a wrong secret_id',
      () => {},
      { credentials: { role_id: 'role-1', secret_id: 'no', mount: 'approle' } },
      /auth\/approle\/login: 400 \(invalid role or secret ID\)/,
    ],
    [
      'a key of another type',
      (s) => {
        s.engine.handle('POST', 'keys/service-signing', { type: 'rsa-2048' })
      },
      {},
      /of type rsa-2048, but signing\.algorithm ES256 needs ecdsa-p256/,
    ],
    [
      'a key that cannot sign at all',
      (s) => {
        s.engine.handle('POST', 'keys/service-signing', {})
      },
      {},
      /of type aes256-gcm96/,
    ],
  ])('%s, and the error states that', async (_, prepare, access, say) => {
    const { ring } = await setUp({}, prepare)
    const error = await failureOf(ring(access))
    expect(error?.message).toMatch(say)
    expect(error?.message).toMatch(/^signing\.secretstore_transit: /)
    expect(error?.message).not.toContain('secret-of-role-1')
  })

  test('the start is refused when the engine is not mounted, with a message', async () => {
    const { ring } = await setUp({ mount: 'elsewhere' })
    expect((await failureOf(ring()))?.message).toMatch(/is the transit engine mounted at elsewhere/)
  })
})

describe('rotation', () => {
  test('a rotation makes the published next version current at once, and publishes the previous one until its tokens have expired', async () => {
    const { clock, ring } = await setUp()
    const keys = await ring()
    const old = await token(keys)
    clock.advance(100)
    expect(await keys.rotate()).toEqual({
      current_kid: 'service-signing-v2',
      previous_kid: 'service-signing-v1',
      rotated_at: clock.now(),
    })
    expect(keys.current().kid).toBe('service-signing-v2')
    await verified(keys, old)
    await verified(keys, await token(keys))
    clock.advance(LIFE + SKEW - 1)
    expect(kids(keys)).toContain('service-signing-v1')
    clock.advance(1)
    expect(kids(keys)).toEqual(['service-signing-v2', 'service-signing-v3'])
    expect(keys.find('service-signing-v1')).toBeUndefined()
  })

  test('a manual rotation in the store is noticed with the next read', async () => {
    const { store, ring } = await setUp()
    const keys = await ring()
    store.engine.handle('POST', 'keys/service-signing/rotate', {})
    await keys.reload()
    expect(keys.current().kid).toBe('service-signing-v2')
  })

  test('a key whose newest version signed gets a next version at the first start, once', async () => {
    const { store, ring } = await setUp()
    const engine = (action: string, body: object = {}) =>
      store.engine.handle('POST', `keys/service-signing${action}`, body as Record<string, unknown>)
    engine('', { type: 'ecdsa-p256' })
    engine('/rotate')
    for (const start of ['first', 'second']) {
      const keys = await ring()
      expect([keys.current().kid, kids(keys)], start).toEqual([
        'service-signing-v2',
        ['service-signing-v2', 'service-signing-v1', 'service-signing-v3'],
      ])
    }
  })

  test('when only an operator may rotate, the newest version signs, and a warning is logged', async () => {
    const { store, lines, ring } = await setUp({}, (s) => {
      s.allowed = [/^transit\/keys\/service-signing$/, /^transit\/sign/]
    })
    const credentials = { role_id: 'role-1', secret_id: 'secret-of-role-1', mount: 'approle' }
    const keys = await ring({ credentials })
    expect(kids(keys)).toEqual(['service-signing-v1'])
    expect(lines).toContainEqual(expect.objectContaining({ msg: expect.stringContaining('could not be created') }))
    store.engine.handle('POST', 'keys/service-signing/rotate', {})
    await keys.reload()
    expect(kids(keys)).toEqual(['service-signing-v2', 'service-signing-v1'])
  })

  test('with shared keys a rotation makes the published version current', async () => {
    const { clock, ring } = await setUp({ announce: async () => {} })
    const [one, two] = [await ring(), await ring()]
    expect(one.published().map(({ kid, next }) => [kid, next])).toEqual([
      ['service-signing-v1', undefined],
      ['service-signing-v2', true],
    ])
    expect(kids(two)).toEqual(kids(one))
    const old = await token(one)
    clock.advance(SEEN)
    expect(await one.rotate()).toMatchObject({ current_kid: 'service-signing-v2', previous_kid: 'service-signing-v1' })
    // The other instance has not read the key yet, and verifies nevertheless.
    await verified(two, await token(one))
    await two.reload()
    expect(two.current().kid).toBe('service-signing-v2')
    clock.advance(LIFE + SKEW - 1)
    await verified(two, old)
    clock.advance(1)
    expect(kids(two)).toEqual(['service-signing-v2', 'service-signing-v3'])
  })

  test('a rotation and a revocation notify the other instances, and succeed when the database is unavailable', async () => {
    let told = 0
    const announce = async () => {
      if (++told > 1) throw new Error('no database')
    }
    const { clock, lines, ring } = await setUp({ announce })
    const keys = await ring()
    clock.advance(SEEN)
    await keys.rotate()
    expect(told).toBe(1)
    expect(await keys.revoke('service-signing-v2')).toEqual({ current_kid: 'service-signing-v3' })
    expect(told).toBe(2)
    expect(lines.map(({ msg }) => msg)).toEqual(['the other instances could not be notified of a key'])
  })

  test('the document and its ETag do not change while the keys do not', async () => {
    const { ring } = await setUp()
    const keys = await ring()
    const before = keys.jwks()
    await keys.reload()
    expect(keys.jwks()).toEqual(before)
    await keys.rotate()
    expect(keys.jwks().etag).not.toBe(before.etag)
  })
})

describe('revocation', () => {
  test('revoking the current version makes another one current, and the store refuses to sign with the revoked one', async () => {
    const { store, ring } = await setUp()
    const [keys, other] = [await ring(), await ring()]
    expect(await keys.revoke('service-signing-v1')).toEqual({ current_kid: 'service-signing-v2' })
    expect(kids(keys)).toEqual(['service-signing-v2', 'service-signing-v3'])
    expect(store.engine.keys.get('service-signing')?.min_decryption_version).toBe(2)
    // Another instance has not been notified: its signature is refused, and it reads the key again.
    const error = (await failureOf(token(other))) as OAuthError
    expect([error.status, error.reason]).toEqual([503, 'transit_away'])
    await expect.poll(() => other.current().kid).toBe('service-signing-v2')
    await verified(keys, await token(other))
  })

  test('revoking a previous version keeps the current one, and revokes older versions', async () => {
    const { ring } = await setUp()
    const keys = await ring()
    await keys.rotate()
    await keys.rotate()
    expect(await keys.revoke('service-signing-v2')).toEqual({ current_kid: 'service-signing-v3' })
    expect(kids(keys)).toEqual(['service-signing-v3', 'service-signing-v4'])
  })

  test('revoking raises min_encryption_version when it prevents the change', async () => {
    const { store, ring } = await setUp()
    const keys = await ring()
    store.engine.handle('POST', 'keys/service-signing/config', { min_encryption_version: 1 })
    await keys.reload()
    await keys.revoke('service-signing-v1')
    expect(store.engine.keys.get('service-signing')).toMatchObject({
      min_decryption_version: 2,
      min_encryption_version: 2,
    })
    await verified(keys, await token(keys))
  })

  test('with shared keys, revoking the current version makes the next version sign at once, and creates another next version', async () => {
    const { ring } = await setUp({ announce: async () => {} })
    const keys = await ring()
    expect(await keys.revoke('service-signing-v1')).toEqual({ current_kid: 'service-signing-v2' })
    expect(kids(keys)).toEqual(['service-signing-v2', 'service-signing-v3'])
    await verified(keys, await token(keys))
  })

  test('revoking an unknown version returns undefined', async () => {
    const { ring } = await setUp()
    expect(await (await ring()).revoke('service-signing-v9')).toBeUndefined()
  })
})

describe('signatures', () => {
  test('concurrent signatures are sent in one batch, and each token gets its own', async () => {
    const { store, ring } = await setUp()
    const keys = await ring()
    const before = store.engine.batches.length
    const tokens = await Promise.all(Array.from({ length: 100 }, (_, n) => token(keys, { n })))
    const batches = store.engine.batches.slice(before)
    expect(batches.reduce((sum, size) => sum + size, 0)).toBe(100)
    expect(batches.length).toBeLessThanOrEqual(8)
    for (const [n, jwt] of tokens.entries()) expect((await verified(keys, jwt)).payload).toEqual({ n })
  })

  test('failures in a batch affect only their own jobs', async () => {
    const { store, ring } = await setUp()
    const keys = await ring()
    store.engine.itemErrors.push('unable to sign')
    const results = await Promise.allSettled([1, 2, 3].map((n) => token(keys, { n })))
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
    const [{ reason }] = results as [PromiseRejectedResult]
    expect([reason.status, reason.cause.message]).toEqual([503, 'transit/sign/service-signing: 200 (unable to sign)'])
  })

  test('signatures around a rotation are made by the version that the header names', async () => {
    const { ring } = await setUp()
    const keys = await ring()
    const before = keys.current()
    await keys.rotate()
    const both = await Promise.all([before, keys.current()].map((key) => lanes.sign(key, {})))
    for (const jwt of both) await verified(keys, jwt)
  })

  test('a signature by another version than requested is refused', async () => {
    const { store, ring } = await setUp()
    const keys = await ring()
    const handle = store.engine.handle.bind(store.engine)
    store.engine.handle('POST', 'keys/service-signing/rotate', {})
    store.engine.handle = (method, path, body) => handle(method, path, { ...body, key_version: 2 })
    expect((await failureOf(token(keys))) as OAuthError).toMatchObject({
      status: 503,
      cause: { message: expect.stringContaining('not one of version 1') },
    })
  })
})

describe('while the store is unavailable', () => {
  test.each(['sealed', 'internal', 'cut', 'html'] as const)(
    '(%s) nothing is signed: 503 with Retry-After; afterwards signing works again',
    async (fault) => {
      const { clock, store, ring } = await setUp()
      const keys = await ring()
      store.fault = fault
      const error = (await failureOf(token(keys))) as OAuthError
      expect([error.status, error.more.headers]).toEqual([503, { 'retry-after': '1' }])
      await failureOf(keys.reload())
      expect(keys.current().kid).toBe('service-signing-v1')
      expect(await failureOf(keys.rotate())).toMatchObject({ status: 503 })
      expect(await failureOf(keys.revoke('service-signing-v1'))).toMatchObject({ status: 503 })
      store.fault = undefined
      clock.advance(1)
      await verified(keys, await token(keys))
    },
  )

  test('a store that does not answer is abandoned at the timeout', async () => {
    const { store, ring } = await setUp()
    const keys = await ring({ timeout: 0.2 })
    store.fault = 'silent'
    expect((await failureOf(token(keys))) as OAuthError).toMatchObject({ status: 503, cause: { reason: 'timeout' } })
  })

  test('calls stop after five failures, and one call is tried after the pause', async () => {
    const { clock, store, ring } = await setUp()
    const keys = await ring()
    store.fault = 'sealed'
    for (let i = 0; i < 5; i++) await failureOf(token(keys))
    expect(keys.remote?.isUnavailable).toBe(true)
    const { length } = store.calls
    expect((await failureOf(token(keys))) as OAuthError).toMatchObject({ status: 503, reason: 'breaker_open' })
    expect(store.calls.length).toBe(length)
    store.fault = undefined
    clock.advance(1)
    await verified(keys, await token(keys))
    expect(keys.remote?.isUnavailable).toBe(false)
  })
})
