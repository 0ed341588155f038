import { expect, test } from 'vitest'
import { findKnee } from '../../src/bench/knee.ts'
import { sampleWith } from './reports.ts'

/** A server that keeps 10 ms up to `limit` requests a second and is hopeless above it. */
const serverWith = (limit: number) => async (rate: number) =>
  sampleWith({ offered: rate, per_s: Math.min(rate, limit * 1.05), p99: rate <= limit ? 10 : 4000 })

test.each([7000, 4200, 2600, 900])(
  'the knee of a server that keeps its objective up to %i/s is found from below, within a sixth',
  async (limit) => {
    const { knee } = await findKnee(10_000, 25, serverWith(limit))
    expect(knee?.offered_per_s).toBeLessThanOrEqual(limit)
    expect(knee?.offered_per_s).toBeGreaterThan(limit * (limit < 2500 ? 0.4 : 0.83))
  },
)

test('a server that keeps its objective at every rate has its knee at the ceiling', async () => {
  const { knee, ladder } = await findKnee(10_000, 25, serverWith(1e9))
  expect(knee?.offered_per_s).toBe(10_000)
  expect(ladder.map(({ offered_per_s }) => offered_per_s)).toEqual([2500, 5000, 6500, 8000, 9000, 10_000])
})

test('no rate of a server that always answers late or wrongly is its knee', async () => {
  const late = await findKnee(10_000, 25, async (rate) => sampleWith({ offered: rate, per_s: rate, p99: 26 }))
  expect(late.knee).toBeNull()
  const wrong = await findKnee(10_000, 25, async (rate) => sampleWith({ offered: rate, per_s: rate, errors: 1 }))
  expect(wrong.knee).toBeNull()
  const behind = await findKnee(10_000, 25, async (rate) => sampleWith({ offered: rate, per_s: rate * 0.9 }))
  expect(behind.knee).toBeNull()
})

test('what was measured is in the order of its rates', async () => {
  const { ladder } = await findKnee(10_000, 25, serverWith(5500))
  const rates = ladder.map(({ offered_per_s }) => offered_per_s ?? 0)
  expect(rates).toEqual([...rates].sort((a, b) => a - b))
  expect(rates.length).toBeGreaterThan(4)
})
