import { describe, expect, test } from 'vitest'
import { type PlanInput, plan } from '../../src/bench/plan.ts'
import { checkPlan } from '../../src/bench/plan_check.ts'
import { renderPlan } from '../../src/bench/plan_text.ts'
import { mixOf, parseMix } from '../../src/bench/scenarios.ts'
import { reportWith, resultWith, sampleWith } from './reports.ts'

const mix = parseMix('client_credentials=75,refresh=25')
const input: PlanInput = {
  rate: 5000,
  average: 1000,
  mix,
  sloMs: 25,
  store: 'sqlite',
  alg: 'ES256',
  cores: 2,
  frontThreads: 1,
  headroom: 0.3,
  retentionDays: 10,
}
// The machine is busy for 0.8 of its two processors at the first knee, for 0.7 at the second.
const machineTokens = resultWith(
  'client_credentials',
  [{ per_s: 12_000 }],
  [{ per_s: 10_000, front: 60, crypto: 40, store: 20, bytes: 200 }],
)
const refreshes = resultWith(
  'refresh_token',
  [{ per_s: 9000 }],
  [{ per_s: 5000, front: 100, crypto: 60, store: 60, bytes: 400 }],
)
const report = reportWith([machineTokens, refreshes])

test('a mix costs what its parts cost, by their shares', () => {
  const { costs, cores, gb_per_day, retained_gb, fsyncs_per_s } = plan(report, input)
  expect(costs).toMatchObject({ front_us: 70, crypto_us: 45, store_us: 30, total_us: 145, database_bytes: 250 })
  expect(cores).toBeCloseTo((5000 * 145) / 1e6, 6)
  // What is stored follows the average, what is forced to disk the peak.
  expect(gb_per_day).toBeCloseTo((1000 * 86_400 * 250) / 1e9, 6)
  expect(retained_gb).toBeCloseTo(10 * gb_per_day, 6)
  expect(fsyncs_per_s).toBeCloseTo(250, 6)
})

test('the part that gives way first is the one with the least room, at the use that the knees were found at', () => {
  const { use, limits, capacity_per_s } = plan(report, input)
  // 0.6 of the front thread, and 0.7 of the machine with its load generator.
  expect(use).toBeCloseTo(0.7, 2)
  expect(limits.map(({ what }) => what)).toEqual([
    'the 2 processors',
    'the front thread',
    'the 1 crypto thread',
    'the storage thread',
    'the disk',
  ])
  expect(capacity_per_s).toBeCloseTo((use * 2 * 1e6) / 145, 1)
})

test('instances leave the headroom free; the rate of the measured machine is what its knees say', () => {
  const { instances, capacity_per_s, measured_knee_per_s } = plan(report, { ...input, rate: 30_000 })
  expect(instances).toBe(Math.ceil(30_000 / (capacity_per_s * 0.7)))
  expect(measured_knee_per_s).toBeCloseTo(1 / (0.75 / 10_000 + 0.25 / 5000), 3)
})

test('more processors help until the front thread is full', () => {
  const many = plan(report, { ...input, cores: 16 })
  expect(many.limits[0]?.what).toBe('the front thread')
  expect(many.capacity_per_s).toBe(plan(report, { ...input, cores: 8 }).capacity_per_s)
  expect(many.warnings.join()).toContain('computed, not measured')
})

test('a plan for several instances on SQLite says that it cannot be', () => {
  expect(plan(report, { ...input, rate: 30_000 }).warnings.join()).toContain('SQLite is for one instance')
})

test('what was not measured is not planned', () => {
  expect(() => plan(report, { ...input, alg: 'RS256' })).toThrow('client_credentials with sqlite and RS256')
  expect(() => plan(report, { ...input, sloMs: 2 })).toThrow('no rate of client_credentials')
  expect(() => parseMix('coffee=10')).toThrow('not coffee=10')
})

test('the text shows every formula with its figures', () => {
  const text = renderPlan(plan(report, input), input, report)
  for (const part of [
    '5,000/s x 145.0 us',
    '1,000/s x 86,400 s x 250 bytes',
    'What gives way first: the 2 processors; next, at 10,000/s: the front thread',
    '0.70 x 1 / 70.0 us',
  ])
    expect(text).toContain(part)
})

test('several front threads are full later, and that is computed', () => {
  const one = plan(report, { ...input, cores: 16 })
  const four = plan(report, { ...input, cores: 16, frontThreads: 4 })
  expect(one.limits[0]?.what).toBe('the front thread')
  expect(four.limits.find(({ what }) => what === 'the 4 front threads')?.per_s).toBe(4 * (one.limits[0]?.per_s ?? 0))
  expect(four.warnings.join()).toContain('measured with one front thread')
})

describe('costs follow the rate', () => {
  // A front thread that is busy for 0.2 at 100 us, for 0.6 at 60 us, and the same of everything else.
  const steps = [
    { per_s: 2000, front: 100, crypto: 80, store: 20 },
    { per_s: 10_000, front: 60, crypto: 40, store: 10 },
  ]
  const stepped = reportWith([resultWith('client_credentials', [{ per_s: 12_000 }], steps)])
  const at = (rate: number) =>
    plan(stepped, { ...input, mix: parseMix('client_credentials=1'), rate, cores: 8, headroom: 0 }).costs

  test('at a measured rate they are what was measured', () => {
    expect(at(2000).total_us).toBeCloseTo(200, 1)
    expect(at(10_000).total_us).toBeCloseTo(110, 1)
  })

  test('between two they are on the line between them, by how busy the front thread is', () => {
    // At 5,000/s it is busy for 0.4, and 80 us are half-way.
    expect(at(5000)).toMatchObject({ front_us: expect.closeTo(80, 1), total_us: expect.closeTo(155, 1) })
  })

  test('below the lowest one they are what they are there', () => {
    expect(at(100).total_us).toBeCloseTo(200, 6)
  })
})

describe('a plan that is run', () => {
  const name = mixOf(mix).name
  const measured = resultWith(name, [{ per_s: 9000 }], [{ per_s: 7000, front: 70, crypto: 45, store: 30 }])
  const held = reportWith([machineTokens, refreshes, measured])

  test('is run at seven tenths of what the machine can do, and its cost is held against what it was to cost', async () => {
    const rates: number[] = []
    const check = await checkPlan(held, mix, measured, async (rate) => {
      rates.push(rate)
      return sampleWith({ per_s: rate, offered: rate, front: 60, crypto: 45, store: 30 })
    })
    expect(rates).toEqual([expect.closeTo(0.7 * 8000, 0)])
    expect(check).toMatchObject({ kept: true, predicted_cpu_us: 145, measured_cpu_us: 135, measured_knee_per_s: 7000 })
    expect(check?.predicted_knee_per_s).toBeCloseTo(8000, 0)
  })

  test('that does not keep the objective is said not to', async () => {
    const late = async (rate: number) => sampleWith({ per_s: rate, offered: rate, p99: 40 })
    expect((await checkPlan(held, mix, measured, late))?.kept).toBe(false)
  })

  test('is not made where the mix or one of its parts was not measured', async () => {
    const never = () => Promise.reject(new Error('nothing to run'))
    expect(await checkPlan(held, mix, undefined, never)).toBeUndefined()
    expect(await checkPlan(reportWith([machineTokens, measured]), mix, measured, never)).toBeUndefined()
  })
})
