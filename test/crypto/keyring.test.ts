// The signing keys: the current key, the published keys, and how long they are published.
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { signJws } from '../../src/crypto/jws.ts'
import { type Keyring, openKeyring } from '../../src/crypto/keyring.ts'
import { type KeyStore, type StoredKey, storedKeys } from '../../src/crypto/stored_keys.ts'
import { isId } from '../../src/lib/id.ts'
import type { Alg } from '../../src/records/jwk.ts'
import { type TestClock, testClock } from '../support/clock.ts'
import { recordingLog, silentLog } from '../support/log.ts'

const LIFE = 3600
const SKEW = 60

/** A key store in memory that several rings can share. */
function memoryStore(keys: StoredKey[] = []): KeyStore & { keys: StoredKey[] } {
  return {
    name: 'memory',
    keys,
    async load() {
      return structuredClone(this.keys)
    },
    async change(decide) {
      this.keys = decide(structuredClone(this.keys))
      return structuredClone(this.keys)
    },
  }
}

async function ring({ store = memoryStore(), clock = testClock(), alg = 'ES256' as Alg } = {}) {
  return {
    store,
    clock,
    ring: await openKeyring({ source: storedKeys({ store, alg, longestLife: LIFE, clock, log: silentLog }), clock }),
  }
}
const published = (keys: Keyring) => (JSON.parse(keys.jwks().body).keys as { kid: string }[]).map(({ kid }) => kid)
/** The keys in the JWKS except the next key, which is always the last one. */
const kids = (keys: Keyring) => {
  const all = published(keys)
  expect(all.pop()).toBe(keys.published().find(({ next }) => next)?.kid)
  return all
}
const tokenOf = (keys: Keyring, clock: TestClock) => {
  const { alg, key, header } = keys.current()
  return signJws(alg, key as KeyObject, header, JSON.stringify({ sub: 'x', exp: clock.now() + LIFE }))
}

describe('an unknown kid', () => {
  test('an unknown kid is looked up in the store once for all callers, and then not again for a while', async () => {
    const { store, ring: mine } = await ring()
    const { ring: other } = await ring({ store })
    let loads = 0
    const load = store.load.bind(store)
    store.load = () => {
      loads++
      return load()
    }
    await other.rotate()
    const { current_kid } = await other.rotate()
    expect(mine.find(current_kid)).toBeUndefined()
    const found = await Promise.all([mine.seek(current_kid), mine.seek(current_kid), mine.seek('nobody')])
    expect(found.map((key) => key?.kid)).toEqual([current_kid, current_kid, undefined])
    await other.rotate()
    expect(await mine.seek('nobody')).toBeUndefined()
    expect(loads).toBe(1)
    expect((await mine.seek(current_kid))?.kid).toBe(current_kid)
  })

  test('an unknown kid in a store that cannot be read changes nothing', async () => {
    const { store, ring: mine } = await ring()
    const before = mine.jwks()
    store.load = () => Promise.reject(new Error('no store'))
    expect(await mine.seek('nobody')).toBeUndefined()
    expect(mine.jwks()).toEqual(before)
  })
})

describe('the first key', () => {
  test.each<[Alg, object]>([
    ['ES256', { kty: 'EC', crv: 'P-256' }],
    ['RS256', { kty: 'RSA', e: 'AQAB' }],
  ])('is made as %s where there is none, and kept', async (alg, shape) => {
    const { store, ring: first } = await ring({ alg })
    expect(JSON.parse(first.jwks().body).keys[0]).toMatchObject({ ...shape, alg, use: 'sig' })
    expect(isId(first.current().kid)).toBe(true)
    const { ring: second } = await ring({ store, alg })
    expect(second.current().kid).toBe(first.current().kid)
    expect(published(second)).toEqual(published(first))
    expect(store.keys.map(({ kid, next }) => [kid, next])).toEqual([
      [first.current().kid, undefined],
      [published(first)[1], true],
    ])
  })

  test('two processes that start together create one first key', async () => {
    const store = memoryStore()
    const rings = await Promise.all([ring({ store }), ring({ store })])
    expect(new Set(rings.map((each) => each.ring.current().kid)).size).toBe(1)
  })
})

describe('the JWK set', () => {
  test('the JWK set verifies a token in jose, by kid', async () => {
    const { ring: keys, clock } = await ring()
    const set = createLocalJWKSet(JSON.parse(keys.jwks().body))
    const { protectedHeader } = await jwtVerify(tokenOf(keys, clock), set, {
      typ: 'at+jwt',
      currentDate: new Date(clock.now() * 1000),
    })
    expect(protectedHeader).toEqual({ typ: 'at+jwt', alg: 'ES256', kid: keys.current().kid })
  })

  test.each<Alg>(['ES256', 'RS256'])('holds nothing of a private key: %s', async (alg) => {
    const { ring: keys } = await ring({ alg })
    for (const key of JSON.parse(keys.jwks().body).keys as object[])
      for (const member of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']) expect(key).not.toHaveProperty(member)
  })

  test('the ETag of the JWK set changes exactly when the set does', async () => {
    const { ring: keys } = await ring()
    const { etag } = keys.jwks()
    expect(etag).toMatch(/^"[A-Za-z0-9_-]{43}"$/)
    expect(keys.jwks().etag).toBe(etag)
    await keys.rotate()
    expect(keys.jwks().etag).not.toBe(etag)
  })
})

describe('rotation', () => {
  test('a rotation makes a new key current at once and returns it', async () => {
    const { ring: keys, clock } = await ring()
    const before = keys.current().kid
    const rotation = await keys.rotate()
    expect(rotation).toEqual({ current_kid: keys.current().kid, previous_kid: before, rotated_at: clock.now() })
    expect(rotation.current_kid).not.toBe(before)
    expect(kids(keys)).toEqual([rotation.current_kid, before])
  })

  test('a rotation keeps the previous key published until its last token has expired, then removes it', async () => {
    const { ring: keys, clock } = await ring()
    const token = tokenOf(keys, clock)
    const { previous_kid } = await keys.rotate()
    clock.advance(LIFE - 1)
    const set = createLocalJWKSet(JSON.parse(keys.jwks().body))
    await jwtVerify(token, set, { currentDate: new Date(clock.now() * 1000) })
    clock.advance(SKEW)
    expect(kids(keys)).toContain(previous_kid)
    expect(keys.find(previous_kid)).toMatchObject({ kid: previous_kid, remove_at: clock.now() + 1 })
    clock.advance(1)
    expect(kids(keys)).toEqual([keys.current().kid])
    expect(keys.find(previous_kid)).toBeUndefined()
  })

  test('the next rotation deletes unpublished keys from the store', async () => {
    const { ring: keys, clock, store } = await ring()
    const { previous_kid } = await keys.rotate()
    clock.advance(LIFE + SKEW)
    await keys.rotate()
    expect(store.keys.map(({ kid }) => kid)).not.toContain(previous_kid)
    expect(store.keys.length).toBe(3)
  })

  test('several rotations keep every key as long as it is needed, newest first', async () => {
    const { ring: keys, clock } = await ring()
    const all = [keys.current().kid]
    for (let i = 0; i < 3; i++) {
      clock.advance(10)
      all.unshift((await keys.rotate()).current_kid)
    }
    expect(kids(keys)).toEqual(all)
    clock.advance(LIFE + SKEW - 20)
    expect(kids(keys)).toEqual(all.slice(0, 3))
  })

  test('a rotation uses the configured algorithm, and does not change the old key', async () => {
    const { store } = await ring({ alg: 'RS256' })
    const { ring: keys } = await ring({ store, alg: 'ES256' })
    expect(keys.current().alg).toBe('RS256')
    await keys.rotate()
    expect(keys.published().map(({ alg }) => alg)).toEqual(['ES256', 'RS256', 'ES256'])
  })
})

describe('reloading', () => {
  test('reloading loads the keys that another process rotated', async () => {
    const { ring: mine, store } = await ring()
    const { ring: theirs } = await ring({ store })
    await theirs.rotate()
    const { current_kid } = await theirs.rotate()
    expect(mine.find(current_kid)).toBeUndefined()
    await mine.reload()
    expect(mine.current().kid).toBe(current_kid)
    expect(kids(mine)).toEqual(kids(theirs))
  })

  test.each<[string, (store: ReturnType<typeof memoryStore>) => void]>([
    ['cannot be read', (store) => (store.load = () => Promise.reject(new Error('away')))],
    [
      'holds a key that is broken',
      (store) => store.keys.push({ ...(store.keys[0] as StoredKey), kid: 'x', pem: 'broken' }),
    ],
  ])('keeps the keys it has when the store %s', async (_what, breakStore) => {
    const { ring: keys, store } = await ring()
    const before = [keys.current(), keys.jwks().body]
    breakStore(store)
    await expect(keys.reload()).rejects.toThrow()
    expect([keys.current(), keys.jwks().body]).toEqual(before)
  })

  test('a rotation that cannot be stored changes nothing', async () => {
    const { ring: keys, store } = await ring()
    const before = keys.current().kid
    store.change = () => Promise.reject(new Error('read-only'))
    await expect(keys.rotate()).rejects.toThrow('read-only')
    expect(keys.current().kid).toBe(before)
  })
})

describe('a store of a version without a next key', () => {
  const withoutNext = async () => {
    const { store, ring: keys } = await ring()
    await keys.rotate()
    store.keys = store.keys.filter(({ next }) => !next)
    return { store, before: structuredClone(store.keys) }
  }

  test('such a store gets a next key at its first load; the current key does not change', async () => {
    const { store, before } = await withoutNext()
    const { ring: keys } = await ring({ store })
    expect(store.keys.slice(0, 2)).toEqual(before)
    expect(keys.current().kid).toBe(before[1]?.kid)
    const next = published(keys).at(-1)
    expect(store.keys.map((key) => key.kid)).toEqual([...before.map(({ kid }) => kid), next])
    expect((await keys.rotate()).current_kid).toBe(next)
  })

  test('such a store that is read-only is used unchanged with a warning; a rotation creates the next key when it is writable', async () => {
    const { store, before } = await withoutNext()
    const { change } = store
    store.change = () => Promise.reject(new Error('EROFS: read-only file system'))
    const { log, lines } = recordingLog()
    const clock = testClock()
    const keys = await openKeyring({
      source: storedKeys({ store, alg: 'ES256', longestLife: LIFE, clock, log }),
      clock,
    })
    expect(published(keys)).toEqual(before.map(({ kid }) => kid).reverse())
    expect(lines).toEqual([
      expect.objectContaining({ msg: expect.stringContaining('the next signing key could not be created') }),
    ])
    await expect(keys.rotate()).rejects.toThrow('EROFS')
    store.change = change
    expect((await keys.rotate()).previous_kid).toBe(before[1]?.kid)
    expect(kids(keys)).toHaveLength(3)
  })
})

test('a key that was created elsewhere is used unchanged', async () => {
  const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }) as string
  const { ring: keys } = await ring({ store: memoryStore([{ kid: 'mine', alg: 'ES256', pem, created_at: 1 }]) })
  expect(keys.current().kid).toBe('mine')
  expect(keys.find('mine')?.thumbprint).toMatch(/^[A-Za-z0-9_-]{43}$/)
})

describe('revoking', () => {
  test('revoking the current key replaces it at once and removes it', async () => {
    const { store, ring: keys } = await ring()
    const [kid, next] = published(keys) as [string, string]
    const { current_kid = '' } = (await keys.revoke(kid)) ?? {}
    expect(current_kid).toBe(next)
    expect([kids(keys), keys.current().kid, keys.find(kid)]).toEqual([[current_kid], current_kid, undefined])
    expect(store.keys.map((key) => key.kid)).toEqual(published(keys))
  })

  test('revoking a previous key removes it, and the current key stays', async () => {
    const { ring: keys } = await ring()
    const { current_kid, previous_kid } = await keys.rotate()
    expect(await keys.revoke(previous_kid)).toEqual({ current_kid })
    expect(kids(keys)).toEqual([current_kid])
  })

  test('revoking an unknown key changes nothing', async () => {
    const { ring: keys } = await ring()
    const before = kids(keys)
    expect(await keys.revoke('stranger')).toBeUndefined()
    expect(kids(keys)).toEqual(before)
  })
})
