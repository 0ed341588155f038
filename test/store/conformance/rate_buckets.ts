// Rules of the buckets that all instances share.
import { expect, test } from 'vitest'
import { newId } from '../../../src/lib/id.ts'
import type { Store } from '../../../src/store/index.ts'
import { NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

const SECOND = 1_000_000
const START = NOW * SECOND
/** Three at once, then two a second. */
const limits = { each: SECOND / 2, most: (3 * SECOND) / 2 }

export function rateBucketRules(bench: Bench): void {
  /** Takes several times, so many seconds after the start. Returns the seconds that each of them had to wait. */
  const takes = async (name: string, times: number, at = 0, store: Store = bench.store) => {
    const waits: number[] = []
    for (let i = 0; i < times; i++)
      waits.push((await store.takeFromBucket({ name, now: START + at * SECOND, ...limits })) / SECOND)
    return waits
  }

  test('a burst is admitted, and then the waiting time is returned; each name has its own bucket', async () => {
    const name = newId()
    expect(await takes(name, 5)).toEqual([0, 0, 0, 0.5, 0.5])
    expect(await takes(newId(), 1)).toEqual([0])
  })

  test('a bucket refills at its rate up to its burst, and a refused request does not extend the waiting time', async () => {
    const name = newId()
    await takes(name, 20)
    expect(await takes(name, 2, 0.25)).toEqual([0.25, 0.25])
    expect(await takes(name, 2, 0.5)).toEqual([0, 0.5])
    expect(await takes(name, 4, 3600)).toEqual([0, 0, 0, 0.5])
  })

  test('of concurrent requests of two processes exactly the burst is admitted', async () => {
    const { store, again, close } = await bench.open()
    const other = await again()
    for (const name of ['new', 'new', 'known'].map((kind) => kind + newId())) {
      if (name.startsWith('known')) await takes(name, 3, -60, store)
      const waits = await Promise.all(
        Array.from({ length: 24 }, (_, i) =>
          (i % 2 ? store : other.store).takeFromBucket({ name, now: START, ...limits }),
        ),
      )
      expect(waits.filter((wait) => wait === 0).length).toBe(3)
    }
    await other.close()
    await close()
  })

  test('with a clock one second behind, a name waits one second longer; a clock that was hours ahead refuses no name', async () => {
    const [name, wrong] = [newId(), newId()]
    await takes(name, 3, 1)
    expect(await takes(name, 1, 0)).toEqual([1.5])
    await takes(wrong, 3, 7200)
    expect(await takes(wrong, 4, 0)).toEqual([0, 0, 0, 0.5])
  })

  test('buckets that were full for a minute are deleted, and no others', async () => {
    const { store, close } = await bench.open()
    const used = { full: 0, 'full for seconds': 55, used: 99.5 }
    for (const [name, at] of Object.entries(used)) await takes(name, 3, at, store)
    expect(await store.sweepBuckets({ now: START + 100 * SECOND })).toBe(1)
    expect(await takes('used', 3, 100, store)).toEqual([0, 0.5, 0.5])
    expect(await store.sweepBuckets({ now: START + 7200 * SECOND })).toBe(2)
    await close()
  })
}
