// The parsed keys of a crypto thread.
import { expect, test } from 'vitest'
import { newKeyPair } from '../../bench/load/signer.ts'
import { thumbprint } from '../../src/crypto/jws.ts'
import { createKeyCache } from '../../src/crypto/key_cache.ts'
import type { Jwk } from '../../src/records/jwk.ts'

const newKey = (): [Jwk, string] => {
  const { jwk } = newKeyPair()
  return [jwk, thumbprint(jwk) ?? '']
}

test('a key is kept from its second use on', () => {
  const cache = createKeyCache(10)
  const [jwk, name] = newKey()
  const uses = Array.from({ length: 4 }, () => cache.find('ES256', jwk, name))
  expect(uses[0]?.asymmetricKeyType).toBe('ec')
  expect(uses[1]).not.toBe(uses[0])
  expect(uses[2]).toBe(uses[1])
  expect(uses[3]).toBe(uses[1])
})

test('keys that are used once do not evict a key in use', () => {
  const cache = createKeyCache(3)
  const [jwk, name] = newKey()
  cache.find('ES256', jwk, name)
  const kept = cache.find('ES256', jwk, name)
  for (let i = 0; i < 20; i++) cache.find('ES256', ...newKey())
  expect(cache.find('ES256', jwk, name)).toBe(kept)
})

test('as many keys in use as the maximum are all kept', () => {
  const keys = Array.from({ length: 50 }, newKey)
  const cache = createKeyCache(keys.length)
  const findAll = () => keys.map(([jwk, name]) => cache.find('ES256', jwk, name))
  findAll()
  const kept = findAll()
  findAll().forEach((key, i) => {
    expect(key).toBe(kept[i])
  })
})

test('of more keys in use than the maximum, the least recently used key is parsed again', () => {
  const cache = createKeyCache(2)
  const keys = [newKey(), newKey(), newKey()]
  const find = (i: number) => cache.find('ES256', ...(keys[i] as [Jwk, string]))
  const twice = [0, 1, 2].map((i) => find(i) && find(i))
  expect(find(2)).toBe(twice[2])
  expect(find(0)).not.toBe(twice[0])
})

test('a key is found for its own algorithm only, and an invalid key never', () => {
  const cache = createKeyCache(10)
  const [jwk, name] = newKey()
  for (let i = 0; i < 3; i++) {
    expect(cache.find('RS256', jwk, name)).toBeUndefined()
    expect(cache.find('ES256', jwk, name)).toBeDefined()
  }
})
