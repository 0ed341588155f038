// Keys that several processes share: every process has a key before any of them signs with it.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { aesMaster } from '../../src/crypto/at_rest.ts'
import { databaseKeys, keyTable } from '../../src/crypto/database_keys.ts'
import { type Keyring, openKeyring } from '../../src/crypto/keyring.ts'
import { type KeyStore, type StoredKey, storedKeys } from '../../src/crypto/stored_keys.ts'
import type { Alg } from '../../src/records/jwk.ts'
import type { Store } from '../../src/store/index.ts'
import type { SealedKey } from '../../src/store/tokens/signing_keys.ts'
import { testClock } from '../support/clock.ts'
import { silentLog } from '../support/log.ts'

const SEEN_AFTER_MS = 2000

/** A store that several rings share, which records the signer and the key of every moment. */
function sharedStore(): KeyStore & { keys: StoredKey[] } {
  return {
    name: 'shared',
    seenAfterMs: SEEN_AFTER_MS,
    keys: [],
    async load() {
      return this.keys
    },
    async change(decide) {
      this.keys = decide(this.keys)
      return this.keys
    },
  }
}
const clock = testClock()
const ring = (store: KeyStore, alg: Alg = 'ES256') =>
  openKeyring({ source: storedKeys({ store, alg, longestLife: 3600, clock, log: silentLog }), clock })
const kids = (keys: Keyring) => (JSON.parse(keys.jwks().body).keys as { kid: string }[]).map(({ kid }) => kid)
const nextOf = (keys: Keyring) => keys.published().find((key) => key.next)?.kid as string

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())
/** Advances the time until the work is done. Returns the duration. */
const timed = async <T>(work: Promise<T>): Promise<[T, number]> => {
  const startedMs = performance.now()
  let done = false
  const end = () => {
    done = true
  }
  work.then(end, end)
  while (!done) await vi.advanceTimersByTimeAsync(100)
  return [await work, performance.now() - startedMs]
}

test('when no first key may be created, nothing is written, and only calls that need a key fail', async () => {
  const store = sharedStore()
  const refused = new Error('live tokens')
  const open = (mayMakeFirst: () => Promise<boolean>) =>
    openKeyring({
      source: storedKeys({ store, alg: 'ES256', longestLife: 3600, clock, log: silentLog, mayMakeFirst }),
      clock,
      place: '/data/keys',
    })
  await expect(open(() => Promise.reject(refused))).rejects.toBe(refused)
  const keys = await open(async () => false)
  expect(keys.published()).toEqual([])
  expect(() => keys.current()).toThrow('no signing key in /data/keys')
  await expect(keys.rotate()).rejects.toThrow('no signing key in /data/keys')
  expect(await store.load()).toEqual([])
  await open(async () => true)
  expect(await store.load()).toHaveLength(2)
})

describe('the next key', () => {
  test('the next key is published from the start, last, and does not sign', async () => {
    const keys = await ring(sharedStore())
    expect(kids(keys)).toEqual([keys.current().kid, nextOf(keys)])
  })

  test('a rotation makes the next key current, at once when every process has seen it, and creates another next key', async () => {
    const keys = await ring(sharedStore())
    const [before, next] = [keys.current().kid, nextOf(keys)]
    await vi.advanceTimersByTimeAsync(SEEN_AFTER_MS)
    const [rotation, tookMs] = await timed(keys.rotate())
    expect(rotation).toMatchObject({ current_kid: next, previous_kid: before })
    expect(tookMs).toBeLessThan(SEEN_AFTER_MS)
    expect(kids(keys)).toEqual([next, before, nextOf(keys)])
    expect(nextOf(keys)).not.toBe(next)
  })

  test('a second rotation waits until every process has seen the next key', async () => {
    const keys = await ring(sharedStore())
    await timed(keys.rotate())
    const [current, next] = [keys.current().kid, nextOf(keys)]
    const rotation = keys.rotate()
    await vi.advanceTimersByTimeAsync(SEEN_AFTER_MS - 100)
    expect(keys.current().kid).toBe(current)
    expect((await timed(rotation))[0].current_kid).toBe(next)
  })

  test('a next key of another algorithm than the configured one is replaced, and the rotation waits for the new one', async () => {
    const store = sharedStore()
    const old = nextOf(await ring(store, 'RS256'))
    await vi.advanceTimersByTimeAsync(SEEN_AFTER_MS)
    const keys = await ring(store, 'ES256')
    const [, tookMs] = await timed(keys.rotate())
    expect(tookMs).toBeGreaterThanOrEqual(SEEN_AFTER_MS)
    expect(keys.published().map(({ alg }) => alg)).toEqual(['ES256', 'RS256', 'ES256'])
    expect(kids(keys)).not.toContain(old)
  })
})

describe('several processes', () => {
  test('processes that rotate concurrently agree on one current key, and each returns it', async () => {
    const store = sharedStore()
    const rings = await Promise.all([ring(store), ring(store), ring(store)])
    const [rotations] = await timed(Promise.all(rings.map((each) => each.rotate())))
    expect(new Set(rotations.map(({ current_kid }) => current_kid)).size).toBe(1)
    expect(store.keys.map((key) => (key.next ? 'next' : key.retired_at ? 'previous' : 'current'))).toEqual([
      'previous',
      'current',
      'next',
    ])
  })

  test('another process has every key before it is used', async () => {
    const store = sharedStore()
    const [a, b] = [await ring(store), await ring(store)]
    for (let i = 0; i < 4; i++) {
      await timed(a.rotate())
      // B has not reloaded since the previous rotation: it may be late by at most the bound.
      expect(kids(b)).toContain(a.current().kid)
      await b.reload()
    }
  })
})

describe('revoking', () => {
  test('revoking the current key makes the next key sign', async () => {
    const keys = await ring(sharedStore())
    const [current, next] = [keys.current().kid, nextOf(keys)]
    const [revoked] = await timed(keys.revoke(current))
    expect(revoked).toEqual({ current_kid: next })
    expect(kids(keys)).toEqual([next, nextOf(keys)])
  })

  test('revoking the next key creates another one', async () => {
    const keys = await ring(sharedStore())
    const [current, next] = [keys.current().kid, nextOf(keys)]
    expect((await timed(keys.revoke(next)))[0]).toEqual({ current_kid: current })
    expect(kids(keys)).toEqual([current, nextOf(keys)])
    expect(nextOf(keys)).not.toBe(next)
  })

  test('revoking the next key during a rotation to it makes the rotation a conflict, and changes nothing', async () => {
    const store = sharedStore()
    const [a, b] = [await ring(store), await ring(store)]
    const rotation = a.rotate().then(String, String)
    await vi.advanceTimersByTimeAsync(100)
    await timed(b.revoke(nextOf(b)))
    expect((await timed(rotation))[0]).toContain('changed by another process')
    await a.reload()
    expect(a.current().kid).toBe(b.current().kid)
  })
})

describe('in the database', () => {
  function aStore(change: (kept: SealedKey[]) => void = () => {}) {
    let kept: SealedKey[] = []
    const store = {
      listSigningKeys: async () => structuredClone(kept),
      saveSigningKeys: async ({ before, after }: { before: SealedKey[]; after: SealedKey[] }) => {
        change(kept)
        if (JSON.stringify(before) !== JSON.stringify(kept)) return false
        kept = structuredClone(after)
        return true
      },
    }
    return { store: store as unknown as Store, kept: () => kept }
  }
  const master = 'ab'.repeat(32)

  test('in the database, private keys are encrypted, each for its kid', async () => {
    const { store, kept } = aStore()
    await ring(databaseKeys(keyTable(store, false), aesMaster(master)))
    const [current, next] = kept() as [SealedKey, SealedKey]
    expect(JSON.stringify(kept())).not.toContain('PRIVATE')
    current.private_key = next.private_key
    await expect(ring(databaseKeys(keyTable(store, false), aesMaster(master)))).rejects.toThrow(
      `signing-key:${current.kid}`,
    )
  })

  test('with another master key the start is refused, and no keys are created', async () => {
    const { store, kept } = aStore()
    await ring(databaseKeys(keyTable(store, false), aesMaster(master)))
    const before = structuredClone(kept())
    await expect(ring(databaseKeys(keyTable(store, false), aesMaster('cd'.repeat(32))))).rejects.toThrow(
      'sealed with the key',
    )
    expect(kept()).toEqual(before)
  })

  test('a change that loses four races is a conflict', async () => {
    let tries = 0
    const { store } = aStore((kept) => {
      tries++
      kept.push({ kid: `${tries}`, alg: 'ES256', created_at: 0, private_key: 'x' })
    })
    const keys = storedKeys({
      store: databaseKeys(keyTable(store, false), { ...aesMaster(master), open: async () => 'x' }),
      alg: 'ES256',
      longestLife: 3600,
      clock,
      log: silentLog,
    })
    await expect(timed(keys.load())).rejects.toThrow('being changed by another process')
    expect(tries).toBe(4)
  })
})
