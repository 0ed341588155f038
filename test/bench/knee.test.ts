import { expect, test } from 'vitest'
import { type Climb, findKnee } from '../../bench/load/knee.ts'
import { newTally, openLoop, type Pace } from '../../bench/load/loops.ts'
import { counted, type Sample } from '../../bench/run/sample.ts'
import { CORES } from '../../src/telemetry/proc.ts'
import { sampleWith } from './reports.ts'
import { sender, server, VirtualTime } from './virtual_time.ts'

/** Climbs to at most 10,000 requests a second with an objective of 25 ms. */
async function climbTo(measure: (rate: number, again?: string) => Promise<Sample>): Promise<Climb> {
  const climb: Climb = { ladder: [], knee: null }
  await findKnee(10_000, 25, measure, climb)
  return climb
}

/** A server with 10 ms latency up to `limit` requests a second, and very high latency above. */
const serverWith = (limit: number) => async (rate: number) =>
  sampleWith({ offered: rate, per_s: Math.min(rate, limit * 1.05), p99: rate <= limit ? 10 : 4000 })

test.each([7000, 4200, 2600, 900])(
  'the knee of a server that meets its objective up to %i/s is found from below, within a sixth',
  async (limit) => {
    const { knee } = await climbTo(serverWith(limit))
    expect(knee?.offered_per_s).toBeLessThanOrEqual(limit)
    expect(knee?.offered_per_s).toBeGreaterThan(limit * (limit < 2500 ? 0.4 : 0.83))
  },
)

test('a server that meets its objective at every rate has its knee at the maximum rate or above', async () => {
  const { knee, ladder, knee_at_least } = await climbTo(serverWith(1e9))
  expect(knee_at_least).toBe('no rate was tried')
  expect(knee?.offered_per_s).toBe(10_000)
  expect(ladder.map(({ offered_per_s }) => offered_per_s)).toEqual([2500, 5000, 6500, 8000, 9000, 10_000])
})

test('a server that always answers late or wrongly has no knee', async () => {
  const late = await climbTo(async (rate) => sampleWith({ offered: rate, per_s: rate, p99: 26 }))
  expect(late.knee).toBeNull()
  const wrong = await climbTo(async (rate) => sampleWith({ offered: rate, per_s: rate, errors: 1 }))
  expect(wrong.knee).toBeNull()
  const behind = await climbTo(async (rate) => sampleWith({ offered: rate, per_s: rate * 0.9 }))
  expect(behind.knee).toBeNull()
})

test('the steps are sorted by rate', async () => {
  const { ladder } = await climbTo(serverWith(5500))
  const rates = ladder.map(({ offered_per_s }) => offered_per_s ?? 0)
  expect(rates).toEqual([...rates].sort((a, b) => a - b))
  expect(rates.length).toBeGreaterThan(4)
})

test('an interrupted climb keeps the completed steps and the best knee so far', async () => {
  const climb: Climb = { ladder: [], knee: null }
  const cut = async (rate: number) => {
    if (climb.ladder.length === 3) throw new Error('cut')
    return serverWith(6000)(rate)
  }
  await expect(findKnee(10_000, 25, cut, climb)).rejects.toThrow('cut')
  expect(climb.ladder.map(({ offered_per_s }) => offered_per_s)).toEqual([2500, 5000, 6500])
  expect(climb.knee?.offered_per_s).toBe(5000)
})

/** The open loop on a server that sustains 200/s, with a load generator, or a server, that stalls on the way. */
const generatorWith =
  (stallMs: (rate: number, again?: string) => number, serverStallMs: typeof stallMs = () => 0) =>
  async (rate: number, again?: string) => {
    const [time, tally] = [new VirtualTime(), newTally()]
    let leftMs = stallMs(rate, again)
    const pace: Pace = {
      now: time.now,
      sleep(ms) {
        const more = leftMs
        leftMs = 0
        return time.sleep(ms + more)
      },
    }
    const stall = { from: 1000, until: 1000 + serverStallMs(rate, again) }
    await time.run(openLoop(sender(64, server(time, 5, stall)), { rate, seconds: 4 }, pace, tally))
    const count = counted(tally, rate)
    const { answers, seconds, late_ms = null } = count
    return { ...sampleWith({ per_s: answers / seconds }), ...count, offered_per_s: rate, late_ms }
  }
const climbOn = async (measure: (rate: number, again?: string) => Promise<Sample>) => {
  const climb: Climb = { ladder: [], knee: null }
  await findKnee(250, 25, measure, climb)
  return climb
}

const voidRates = ({ void_steps = [] }: Climb) => void_steps.map(({ offered_per_s }) => offered_per_s)

test.each(['generator', 'server'])(
  'one stall of the %s does not change the knee: the rate is repeated',
  async (which) => {
    const quiet = await climbOn(generatorWith(() => 0))
    expect(quiet.knee_at_least).toBeUndefined()
    expect(quiet.knee?.offered_per_s).toBeGreaterThanOrEqual(200)
    for (const disturbed of [62.5, 125, 200]) {
      const once = (rate: number, again?: string) => (rate === disturbed && !again ? 400 : 0)
      const measure = which === 'generator' ? generatorWith(once) : generatorWith(() => 0, once)
      const climb = await climbOn(measure)
      // A sample of a failing server is not recognised as disturbed: a third one decides.
      expect([...new Set(voidRates(climb))]).toEqual([disturbed, ...voidRates(quiet)])
      expect({ ...climb, void_steps: undefined }).toEqual({ ...quiet, void_steps: undefined })
    }
  },
)

test('a rate that fails twice of three times is failed, but the next one decides whether the knee is above it', async () => {
  const failing = (rates: readonly number[]) => (rate: number) => (rates.includes(rate) ? 400 : 0)
  const above = await climbOn(generatorWith(() => 0, failing([125])))
  expect(above.knee?.offered_per_s).toBeGreaterThanOrEqual(200)
  const below = await climbOn(generatorWith(() => 0, failing([125, 162.5])))
  expect(below.knee?.offered_per_s).toBeLessThan(125)
  expect(below.knee_at_least).toBeUndefined()
})

test('of two samples that disagree, a third one decides', async () => {
  const rates: number[] = []
  const measure = (verdicts: readonly number[]) => async (rate: number) => {
    rates.push(rate)
    const p99 = rate === 5000 ? verdicts[rates.filter((each) => each === 5000).length - 1] : rate < 6000 ? 10 : 4000
    return sampleWith({ offered: rate, per_s: rate, p99 })
  }
  const kept = await climbTo(measure([30, 10, 12]))
  expect(kept.ladder.find(({ offered_per_s }) => offered_per_s === 5000)?.latency_ms.p99).toBe(12)
  rates.length = 0
  const failed = await climbTo(measure([30, 10, 40]))
  expect(failed.ladder.find(({ offered_per_s }) => offered_per_s === 5000)?.latency_ms.p99).toBe(30)
})

test('a rate at which the load generator stays late does not end the climb, and higher rates are tried', async () => {
  const { knee, ladder, void_steps } = await climbOn(generatorWith((rate) => (rate === 125 ? 400 : 0)))
  expect(knee?.offered_per_s).toBeGreaterThanOrEqual(200)
  expect(void_steps?.filter(({ offered_per_s }) => offered_per_s === 125)).toHaveLength(2)
  expect(ladder.filter(({ offered_per_s }) => offered_per_s === 125)).toHaveLength(1)
})

test('a load generator that is late at every higher rate makes the knee a lower bound after a few more steps', async () => {
  const climb = await climbOn(generatorWith((rate) => (rate > 130 ? 400 : 0)))
  expect(climb.knee?.offered_per_s).toBeGreaterThanOrEqual(125)
  expect(climb.knee?.offered_per_s).toBeLessThan(131)
  expect(climb.knee_at_least).toBe('the load generator itself was late')
  expect(climb.void_steps?.length).toBeLessThanOrEqual(15)
})

test('load of other processes invalidates failed steps, and keeps successful ones', async () => {
  const beside = (limit: number, from: number) => async (rate: number) => {
    const sample = await serverWith(limit)(rate)
    return rate < from ? sample : { ...sample, busy: { ...sample.busy, foreign: CORES / 2 } }
  }
  const failing = await climbTo(beside(6000, 6000))
  expect(failing.knee_at_least).toBe('other programs used the machine')
  const kept = await climbTo(beside(1e9, 0))
  expect([kept.knee?.offered_per_s, kept.void_steps]).toEqual([10_000, undefined])
  const none = await climbTo(beside(0, 0))
  expect([none.knee, none.knee_at_least]).toEqual([null, 'other programs used the machine'])
})

test('a small delay of the load generator does not excuse a slow server', async () => {
  const climb = await climbTo(async (rate) => ({ ...(await serverWith(6000)(rate)), late_ms: 100 }))
  expect(climb.knee_at_least).toBeUndefined()
  expect(climb.knee?.offered_per_s).toBeLessThanOrEqual(6000)
})
