// Rules of leases: work that one instance at a time does.
import { expect, test } from 'vitest'
import { newId } from '../../../src/lib/id.ts'
import { NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

export function leaseRules(bench: Bench): void {
  const take = (name: string, holder: string, now: number) =>
    bench.store.takeLease({ name, holder, now, until: now + 60 })

  test('a lease has one holder until it expires, and only the holder renews it', async () => {
    const name = newId()
    expect(await take(name, 'a', NOW)).toBe(true)
    expect(await take(name, 'b', NOW + 59)).toBe(false)
    expect(await take(name, 'a', NOW + 59)).toBe(true)
    expect(await take(name, 'b', NOW + 60)).toBe(false)
    expect(await take(name, 'b', NOW + 119)).toBe(true)
    expect(await take(name, 'a', NOW + 120)).toBe(false)
  })

  test('of instances that take a lease at the same moment one gets it', async () => {
    const name = newId()
    const opened = await bench.open()
    const other = await opened.again()
    const taken = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        (i % 2 === 0 ? opened : other).store.takeLease({ name, holder: `holder ${i}`, now: NOW, until: NOW + 60 }),
      ),
    )
    expect(taken.filter(Boolean)).toHaveLength(1)
    await other.close()
    await opened.close()
  })
}
