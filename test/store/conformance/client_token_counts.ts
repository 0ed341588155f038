// Rules of the counts of tokens that clients with a daily limit got.
import { expect, test } from 'vitest'
import type { CountsPlace } from '../../../src/store/clients/client_token_counts.ts'
import type { Store } from '../../../src/store/index.ts'
import { NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

const START: CountsPlace = { updated_at: 0, client_id: '' }

export function tokenCountRules(bench: Bench): void {
  const read = async (store: Store, day: number, after = START, limit = 2) => {
    const found: Record<string, number> = {}
    for (let from: CountsPlace | undefined = after; from; ) {
      const { counts, next } = await store.readTokenCounts({ day, after: from, limit })
      for (const { client_id, tokens } of counts) found[client_id] = tokens
      from = next
    }
    return found
  }
  const counts = (tokens: Record<string, number>) =>
    Object.entries(tokens).map(([client_id, tokens]) => ({ client_id, tokens }))

  test('counts of instances are added, separately for each day and client', async () => {
    const { store, again, close } = await bench.open()
    const other = await again()
    await store.addTokenCounts({ day: 7, added: counts({ b: 2, a: 1, c: 4 }), now: NOW })
    await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        (i % 2 ? store : other.store).addTokenCounts({
          day: 7,
          added: counts(i % 2 ? { a: 1, b: 1 } : { b: 1, a: 1 }),
          now: NOW,
        }),
      ),
    )
    await store.addTokenCounts({ day: 8, added: counts({ a: 1 }), now: NOW })
    expect(await read(other.store, 7)).toEqual({ a: 9, b: 10, c: 4 })
    expect(await read(other.store, 8)).toEqual({ a: 1 })
    await other.close()
    await close()
  })

  test('only the counts that changed since a place are read', async () => {
    const { store, close } = await bench.open()
    await store.addTokenCounts({ day: 7, added: counts({ a: 1, b: 1, c: 1 }), now: NOW })
    await store.addTokenCounts({ day: 7, added: counts({ b: 1 }), now: NOW + 10 })
    expect(await read(store, 7, { updated_at: NOW + 10, client_id: '' })).toEqual({ b: 2 })
    expect(await read(store, 7, { updated_at: NOW, client_id: 'a' })).toEqual({ b: 2, c: 1 })
    await close()
  })

  test('counts of earlier days are deleted, a few at a time', async () => {
    const { store, close } = await bench.open()
    await store.addTokenCounts({ day: 6, added: counts({ a: 1, b: 1, c: 1 }), now: NOW })
    await store.addTokenCounts({ day: 7, added: counts({ a: 1 }), now: NOW })
    expect(await store.sweepTokenCounts({ before: 7, limit: 2 })).toBe(2)
    expect(await store.sweepTokenCounts({ before: 7, limit: 2 })).toBe(1)
    expect(await read(store, 6)).toEqual({})
    expect(await read(store, 7)).toEqual({ a: 1 })
    await close()
  })
}
