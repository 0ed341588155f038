// Keys that several processes share: every one of them has a key before any signs with it.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { aesMaster } from '../../src/crypto/at_rest.ts'
import { databaseKeys } from '../../src/crypto/database_keys.ts'
import { type Keyring, openKeyring } from '../../src/crypto/keyring.ts'
import { type KeyStore, type StoredKey, storedKeys } from '../../src/crypto/stored_keys.ts'
import type { Alg } from '../../src/records/jwk.ts'
import type { Store } from '../../src/store/index.ts'
import type { SealedKey } from '../../src/store/signing_keys.ts'
import { testClock } from '../support/clock.ts'
import { silentLog } from '../support/log.ts'

const SEEN_AFTER_MS = 2000

/** A store that several rings share, which says who signed with what at every moment. */
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
/** Lets the time run until the work is done. Returns how long that took. */
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

test('no first key is made where none may be: nothing is written, and only what needs a key fails', async () => {
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
  test('is published from the start, last, and signs nothing', async () => {
    const keys = await ring(sharedStore())
    expect(kids(keys)).toEqual([keys.current().kid, nextOf(keys)])
  })

  test('becomes current by a rotation, at once when it was seen long ago, and another one is made ready', async () => {
    const keys = await ring(sharedStore())
    const [before, next] = [keys.current().kid, nextOf(keys)]
    await vi.advanceTimersByTimeAsync(SEEN_AFTER_MS)
    const [rotation, tookMs] = await timed(keys.rotate())
    expect(rotation).toMatchObject({ current_kid: next, previous_kid: before })
    expect(tookMs).toBeLessThan(SEEN_AFTER_MS)
    expect(kids(keys)).toEqual([next, before, nextOf(keys)])
    expect(nextOf(keys)).not.toBe(next)
  })

  test('is waited for by a second rotation until every process has seen it', async () => {
    const keys = await ring(sharedStore())
    await timed(keys.rotate())
    const [current, next] = [keys.current().kid, nextOf(keys)]
    const rotation = keys.rotate()
    await vi.advanceTimersByTimeAsync(SEEN_AFTER_MS - 100)
    expect(keys.current().kid).toBe(current)
    expect((await timed(rotation))[0].current_kid).toBe(next)
  })

  test('of another algorithm than the configured one is replaced, and the new one waited for', async () => {
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
  test('that rotate at once agree on one current key, and each answers with it', async () => {
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

  test('another one knows every key before it is signed with', async () => {
    const store = sharedStore()
    const [a, b] = [await ring(store), await ring(store)]
    for (let i = 0; i < 4; i++) {
      await timed(a.rotate())
      // B has not reloaded since the rotation before: it may be late by no more than the bound.
      expect(kids(b)).toContain(a.current().kid)
      await b.reload()
    }
  })
})

describe('revoking', () => {
  test('the current key goes, and the next one signs', async () => {
    const keys = await ring(sharedStore())
    const [current, next] = [keys.current().kid, nextOf(keys)]
    const [revoked] = await timed(keys.revoke(current))
    expect(revoked).toEqual({ current_kid: next })
    expect(kids(keys)).toEqual([next, nextOf(keys)])
  })

  test('the next key goes, and another one is made ready', async () => {
    const keys = await ring(sharedStore())
    const [current, next] = [keys.current().kid, nextOf(keys)]
    expect((await timed(keys.revoke(next)))[0]).toEqual({ current_kid: current })
    expect(kids(keys)).toEqual([current, nextOf(keys)])
    expect(nextOf(keys)).not.toBe(next)
  })

  test('the next key after it was asked to become current: the rotation is a conflict, and changes nothing', async () => {
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

  test('private keys are sealed, each for its kid', async () => {
    const { store, kept } = aStore()
    await ring(databaseKeys(store, aesMaster(master)))
    const [current, next] = kept() as [SealedKey, SealedKey]
    expect(JSON.stringify(kept())).not.toContain('PRIVATE')
    current.private_key = next.private_key
    await expect(ring(databaseKeys(store, aesMaster(master)))).rejects.toThrow(`signing-key:${current.kid}`)
  })

  test('another master key refuses to start, and makes no new keys', async () => {
    const { store, kept } = aStore()
    await ring(databaseKeys(store, aesMaster(master)))
    const before = structuredClone(kept())
    await expect(ring(databaseKeys(store, aesMaster('cd'.repeat(32))))).rejects.toThrow('sealed with the key')
    expect(kept()).toEqual(before)
  })

  test('a change that keeps losing to others is a conflict after four tries', async () => {
    let tries = 0
    const { store } = aStore((kept) => {
      tries++
      kept.push({ kid: `${tries}`, alg: 'ES256', created_at: 0, private_key: 'x' })
    })
    const keys = storedKeys({
      store: databaseKeys(store, { ...aesMaster(master), open: async () => 'x' }),
      alg: 'ES256',
      longestLife: 3600,
      clock,
      log: silentLog,
    })
    await expect(timed(keys.load())).rejects.toThrow('being changed by another process')
    expect(tries).toBe(4)
  })
})
