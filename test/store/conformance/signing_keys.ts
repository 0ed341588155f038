// Rules of signing keys in the database.
import { expect, test } from 'vitest'
import { newId } from '../../../src/lib/id.ts'
import type { SealedKey } from '../../../src/store/tokens/signing_keys.ts'
import { NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

const aKey = (more: Partial<SealedKey> = {}): SealedKey => ({
  kid: newId(),
  alg: 'ES256',
  created_at: NOW,
  private_key: 'sealed',
  ...more,
})
/** Without the members that say nothing. */
const plain = (keys: SealedKey[]) => keys.map((key) => JSON.parse(JSON.stringify(key)) as SealedKey)

export function signingKeyRules(bench: Bench): void {
  test('keys are read oldest first: previous keys, the current key, the next key', async () => {
    const { store, close } = await bench.open()
    expect(await store.listSigningKeys()).toEqual([])
    const [older, old] = [1, 2].map((n) => aKey({ retired_at: NOW + n, remove_at: NOW + n + 10 })) as [
      SealedKey,
      SealedKey,
    ]
    const [current, next] = [aKey({ alg: 'RS256' }), aKey({ next: true })]
    expect(await store.saveSigningKeys({ before: [], after: [next, old, current, older] })).toBe(true)
    expect(plain(await store.listSigningKeys())).toEqual([older, old, current, next])
    await close()
  })

  test('an update based on keys that another process changed meanwhile is refused', async () => {
    const { store, close } = await bench.open()
    const [mine, theirs] = [aKey(), aKey()]
    await store.saveSigningKeys({ before: [], after: [theirs] })
    expect(await store.saveSigningKeys({ before: [], after: [mine] })).toBe(false)
    const before = await store.listSigningKeys()
    expect(
      await store.saveSigningKeys({ before: before.map((key) => ({ ...key, private_key: 'other' })), after: [mine] }),
    ).toBe(false)
    expect(plain(await store.listSigningKeys())).toEqual([theirs])
    expect(await store.saveSigningKeys({ before, after: [mine] })).toBe(true)
    expect(plain(await store.listSigningKeys())).toEqual([mine])
    await close()
  })

  test('of concurrent updates of the keys exactly one succeeds', async () => {
    const { store, again, close } = await bench.open()
    const other = await again()
    for (const stores of [
      [store, other.store],
      [other.store, store],
    ]) {
      const before = await store.listSigningKeys()
      const saved = await Promise.all(
        Array.from({ length: 8 }, (_, i) =>
          (stores[i % 2] ?? store).saveSigningKeys({ before, after: [aKey(), aKey({ next: true })] }),
        ),
      )
      expect(saved.filter(Boolean).length).toBe(1)
      expect((await store.listSigningKeys()).length).toBe(2)
    }
    await other.close()
    await close()
  })
}
