import { expect, test } from 'vitest'
import { type Climb, findKnee } from '../../src/bench/knee.ts'
import type { Sample } from '../../src/bench/sample.ts'
import { sampleWith } from './reports.ts'

/** Climbs to a ceiling of 10,000 requests a second with an objective of 25 ms. */
async function climbTo(measure: (rate: number) => Promise<Sample>): Promise<Climb> {
  const climb: Climb = { ladder: [], knee: null }
  await findKnee(10_000, 25, measure, climb)
  return climb
}

/** A server that keeps 10 ms up to `limit` requests a second and is hopeless above it. */
const serverWith = (limit: number) => async (rate: number) =>
  sampleWith({ offered: rate, per_s: Math.min(rate, limit * 1.05), p99: rate <= limit ? 10 : 4000 })

test.each([7000, 4200, 2600, 900])(
  'the knee of a server that keeps its objective up to %i/s is found from below, within a sixth',
  async (limit) => {
    const { knee } = await climbTo(serverWith(limit))
    expect(knee?.offered_per_s).toBeLessThanOrEqual(limit)
    expect(knee?.offered_per_s).toBeGreaterThan(limit * (limit < 2500 ? 0.4 : 0.83))
  },
)

test('a server that keeps its objective at every rate has its knee at the ceiling', async () => {
  const { knee, ladder } = await climbTo(serverWith(1e9))
  expect(knee?.offered_per_s).toBe(10_000)
  expect(ladder.map(({ offered_per_s }) => offered_per_s)).toEqual([2500, 5000, 6500, 8000, 9000, 10_000])
})

test('no rate of a server that always answers late or wrongly is its knee', async () => {
  const late = await climbTo(async (rate) => sampleWith({ offered: rate, per_s: rate, p99: 26 }))
  expect(late.knee).toBeNull()
  const wrong = await climbTo(async (rate) => sampleWith({ offered: rate, per_s: rate, errors: 1 }))
  expect(wrong.knee).toBeNull()
  const behind = await climbTo(async (rate) => sampleWith({ offered: rate, per_s: rate * 0.9 }))
  expect(behind.knee).toBeNull()
})

test('what was measured is in the order of its rates', async () => {
  const { ladder } = await climbTo(serverWith(5500))
  const rates = ladder.map(({ offered_per_s }) => offered_per_s ?? 0)
  expect(rates).toEqual([...rates].sort((a, b) => a - b))
  expect(rates.length).toBeGreaterThan(4)
})

test('a climb that is cut short leaves the steps that were done and the knee so far', async () => {
  const climb: Climb = { ladder: [], knee: null }
  const cut = async (rate: number) => {
    if (climb.ladder.length === 3) throw new Error('cut')
    return serverWith(6000)(rate)
  }
  await expect(findKnee(10_000, 25, cut, climb)).rejects.toThrow('cut')
  expect(climb.ladder.map(({ offered_per_s }) => offered_per_s)).toEqual([2500, 5000, 6500])
  expect(climb.knee?.offered_per_s).toBe(5000)
})
