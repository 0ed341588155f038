// The read-through cache: one load per key, and no stale value after drop().
import { expect, test, vi } from 'vitest'
import { Cache } from '../../src/lib/cache.ts'

/** A load that the test completes. */
function heldLoad() {
  const waiting: ((value: string | undefined) => void)[] = []
  const load = vi.fn(() => new Promise<string | undefined>((resolve) => waiting.push(resolve)))
  return { load, finish: (value: string | undefined) => waiting.shift()?.(value) }
}

test('concurrent gets of one key share one load', async () => {
  const cache = new Cache<string>({ max: 10, bytes: 100_000 })
  const { load, finish } = heldLoad()
  const gets = [cache.get('k', load), cache.get('k', load), cache.get('k', load)]
  finish('v')
  expect(await Promise.all(gets)).toEqual(['v', 'v', 'v'])
  expect(load).toHaveBeenCalledTimes(1)
})

test('a cached value is returned without a load and without a promise', async () => {
  const cache = new Cache<string>({ max: 10, bytes: 100_000 })
  await cache.get('k', async () => 'v')
  const load = vi.fn()
  expect(cache.get('k', load)).toBe('v')
  expect(load).not.toHaveBeenCalled()
  expect([cache.hits, cache.misses]).toEqual([1, 1])
})

test('absence is cached until it is dropped', async () => {
  const cache = new Cache<string>({ max: 80, bytes: 100_000 })
  await cache.get('k', async () => undefined)
  const load = vi.fn(async () => 'v')
  expect(await cache.get('k', load)).toBeUndefined()
  expect(load).not.toHaveBeenCalled()
  cache.drop('k')
  expect(await cache.get('k', load)).toBe('v')
})

test('invented keys do not evict real entries', async () => {
  const cache = new Cache<string>({ max: 80, bytes: 100_000 })
  for (let i = 0; i < 80; i++) await cache.get(`real ${i}`, async () => 'v')
  for (let i = 0; i < 1000; i++) await cache.get(`made up ${i}`, async () => undefined)
  const load = vi.fn(async () => 'again')
  for (let i = 0; i < 80; i++) expect(await cache.get(`real ${i}`, load)).toBe('v')
  expect(load).not.toHaveBeenCalled()
})

test('the cache has at most its maximum number of entries', async () => {
  const cache = new Cache<string>({ max: 2, bytes: 100_000 })
  for (const key of ['a', 'b', 'c']) await cache.get(key, async () => key)
  const load = vi.fn(async () => 'again')
  expect(await cache.get('c', load)).toBe('c')
  expect(await cache.get('a', load)).toBe('again')
})

test.each([
  ['drop()', (cache: Cache<string>) => cache.drop('k')],
  ['clear()', (cache: Cache<string>) => cache.clear()],
])('a load that %s overtakes answers its caller, but is not remembered', async (_name, forget) => {
  const cache = new Cache<string>({ max: 10, bytes: 100_000 })
  const { load, finish } = heldLoad()
  const old = cache.get('k', load)
  forget(cache)
  const fresh = cache.get('k', load)
  finish('old')
  finish('fresh')
  expect(await old).toBe('old')
  expect(await fresh).toBe('fresh')
  expect(cache.get('k', load)).toBe('fresh')
  expect(load).toHaveBeenCalledTimes(2)
})

test('drop() removes its key only, clear() every key', async () => {
  const cache = new Cache<string>({ max: 10, bytes: 100_000 })
  await cache.get('a', async () => 'a')
  await cache.get('b', async () => 'b')
  cache.drop('a')
  expect(await cache.get('a', async () => 'new a')).toBe('new a')
  expect(await cache.get('b', async () => 'new b')).toBe('b')
  cache.clear()
  expect(await cache.get('b', async () => 'new b')).toBe('new b')
})

test('a failed load rejects its callers and is retried by the next one', async () => {
  const cache = new Cache<string>({ max: 10, bytes: 100_000 })
  const load = async () => {
    throw new Error('away')
  }
  await expect(cache.get('k', load)).rejects.toThrow('away')
  expect(await cache.get('k', async () => 'v')).toBe('v')
})

test('long keys of absent values are bounded in bytes, and do not evict real entries', async () => {
  const cache = new Cache<string>({ max: 1000, bytes: 80_000 })
  await cache.get('real', async () => 'v')
  for (let i = 0; i < 100; i++) await cache.get(`made up ${i}`.padEnd(5000), async () => undefined)
  expect(cache.bytes).toBeLessThanOrEqual(10_000 + 200)
  const load = vi.fn()
  expect(await cache.get('real', load)).toBe('v')
  expect(load).not.toHaveBeenCalled()
})

test('values apart do not evict others', async () => {
  const cache = new Cache<string>({ max: 1000, bytes: 40_000, apart: (value) => value.startsWith('apart') })
  await cache.get('real', async () => 'v')
  for (let i = 0; i < 100; i++) await cache.get(`${i}`, async () => 'apart'.padEnd(5000))
  expect(cache.bytes).toBeLessThanOrEqual(10_000 + 200)
  const load = vi.fn()
  expect([cache.get('real', load), cache.get('99', load)]).toEqual(['v', 'apart'.padEnd(5000)])
  cache.drop('99')
  expect(await cache.get('99', async () => 'v')).toBe('v')
})
