// The replay set: exact until expiry, bounded, and freed afterwards.
import { hash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ReplaySet } from '../../src/lib/replay_set.ts'
import { refusalOf } from '../support/thrown.ts'

/** A set of any texts: the digest of each is the value. */
function setOf(max: number) {
  const used = new ReplaySet(max)
  const digestOf = (text: string) => `c${hash('sha256', text, 'buffer').subarray(0, 16).toString('base64url')}`
  return {
    add: (text: string, expires_at: number, now: number) => used.add(digestOf(text), expires_at, now),
    remove: (text: string) => used.remove(digestOf(text)),
    get size() {
      return used.size
    },
  }
}

test('a value is added once until it expires, and again from that second on', () => {
  const used = setOf(10)
  expect(used.add('a', 100, 40)).toBe(true)
  for (const now of [40, 41, 99]) expect(used.add('a', 200, now), String(now)).toBe(false)
  expect(used.add('a', 160, 100)).toBe(true)
  expect(used.add('a', 160, 159)).toBe(false)
})

test('a refused value does not extend the expiry of the first one', () => {
  const used = setOf(10)
  used.add('a', 100, 40)
  used.add('a', 500, 50)
  expect(used.add('a', 100, 100)).toBe(true)
})

test('different values do not affect each other', () => {
  const used = setOf(10)
  expect(['a', 'b', 'A', ''].map((value) => used.add(value, 100, 0))).toEqual([true, true, true, true])
})

test('a full set refuses new values with 503, and evicts nothing that has not expired', async () => {
  const used = setOf(3)
  for (const value of ['a', 'b', 'c']) used.add(value, 100, 0)
  const refusal = await refusalOf(() => used.add('d', 100, 99))
  expect([refusal.status, refusal.reason]).toEqual([503, 'used_set_full'])
  expect(refusal.more.headers).toMatchObject({ 'retry-after': '1' })
  expect(['a', 'b', 'c'].map((value) => used.add(value, 100, 99))).toEqual([false, false, false])
  expect(used.size).toBe(3)
})

test('a full set has room as soon as members expire', () => {
  const used = setOf(3)
  for (const value of ['a', 'b', 'c']) used.add(value, 100, 0)
  expect(used.add('d', 200, 100)).toBe(true)
  expect(used.size).toBe(1)
})

test('a member with a long expiry does not retain members that expire earlier', () => {
  const used = setOf(1000)
  used.add('an assertion', 1000, 0)
  for (let now = 0; now < 900; now++) used.add(`proof ${now}`, now + 70, now)
  expect(used.size).toBeLessThanOrEqual(72)
  expect(used.add('an assertion', 1000, 900)).toBe(false)
})

test('a clock that is set back makes no remembered value usable again', () => {
  const used = setOf(10)
  used.add('a', 100, 50)
  used.add('b', 160, 90)
  expect([used.add('a', 100, 20), used.add('b', 160, 20)]).toEqual([false, false])
})

test('any sequence of uses has the same results as a plain list', () => {
  const step = fc.record({
    value: fc.constantFrom('a', 'b', 'c', 'd'),
    life: fc.nat(20),
    wait: fc.nat(10),
    isRemoved: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const used = setOf(1000)
      const ends = new Map<string, number>()
      let now = 1000
      for (const { value, life, wait, isRemoved } of steps) {
        now += wait
        const isFree = (ends.get(value) ?? 0) <= now
        expect(used.add(value, now + life, now)).toBe(isFree)
        if (isFree) ends.set(value, now + life)
        if (isRemoved) {
          used.remove(value)
          ends.delete(value)
        }
        expect(used.size).toBe([...ends.values()].filter((end) => end > now).length)
      }
    }),
  )
})

test('the letter of a value counts: the same digest of another kind is another value', () => {
  const used = new ReplaySet(10)
  const digest = 'AAAAAAAAAAAAAAAAAAAAAA'
  expect(['c', 'd', 'c'].map((kind) => used.add(kind + digest, 100, 0))).toEqual([true, true, false])
})

test('many values with different expiries are all remembered while the table grows, and their memory is used again', () => {
  const used = setOf(100_000)
  const values = Array.from({ length: 20_000 }, (_, i) => `value ${i}`)
  for (const [i, value] of values.entries()) used.add(value, 1000 + (i % 60), 0)
  expect(values.filter((value) => used.add(value, 2000, 999))).toEqual([])
  expect(used.size).toBe(20_000)
  // Half of them have expired.
  expect(values.filter((value) => used.add(value, 2000, 1029))).toHaveLength(10_010)
  expect(values.filter((value) => used.add(value, 2000, 1029))).toEqual([])
  for (const value of values) used.remove(value)
  expect(used.size).toBe(0)
})
