// Rules of the keys of the admin API.
import { expect, test } from 'vitest'
import { digest, newId } from '../../../src/lib/id.ts'
import type { ApiKey } from '../../../src/records/api_key.ts'
import { NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

const aKey = (more: Partial<ApiKey> = {}): ApiKey => {
  const id = newId()
  return { id, name: `key-${id}`, capability: 'operator', hash: digest(id), created_at: NOW, ...more }
}

export function apiKeyRules(bench: Bench): void {
  test('a key is found by its id until it is revoked', async () => {
    const key = aKey()
    expect(await bench.store.createApiKey(key)).toBe('created')
    expect(await bench.store.findApiKey(key)).toEqual(key)
    expect(await bench.store.deleteApiKey(key)).toEqual(key)
    expect(await bench.store.findApiKey(key)).toBeUndefined()
    expect(await bench.store.deleteApiKey(key)).toBeUndefined()
  })

  test('a name is given once; a refused key leaves the other one as it is', async () => {
    const key = aKey()
    await bench.store.createApiKey(key)
    const twin = aKey({ name: key.name, capability: 'admin' })
    expect(await bench.store.createApiKey(twin)).toBe('exists')
    expect([await bench.store.findApiKey(twin), await bench.store.findApiKey(key)]).toEqual([undefined, key])
    await bench.store.deleteApiKey(key)
    expect(await bench.store.createApiKey(twin)).toBe('created')
  })

  test('the last use of a key is recorded, and of no other', async () => {
    const [key, other] = [aKey(), aKey()]
    for (const each of [key, other]) await bench.store.createApiKey(each)
    await bench.store.touchApiKey({ id: key.id, now: NOW + 5 })
    expect((await bench.store.findApiKey(key))?.last_used_at).toBe(NOW + 5)
    expect((await bench.store.findApiKey(other))?.last_used_at).toBeUndefined()
  })

  test('lists keys in order of creation, page by page', async () => {
    const { store, close } = await bench.open()
    const keys = [aKey(), aKey(), aKey()]
    for (const key of keys) await store.createApiKey(key)
    expect(await store.listApiKeys({ limit: 2, offset: 0 })).toEqual(keys.slice(0, 2))
    expect(await store.listApiKeys({ limit: 2, offset: 2 })).toEqual(keys.slice(2))
    await close()
  })
}
