import { expect, test } from 'vitest'
import { type PlanInput, plan } from '../../src/bench/plan.ts'
import { checkPlan } from '../../src/bench/plan_check.ts'
import { renderPlan } from '../../src/bench/plan_text.ts'
import { mixOf, parseMix } from '../../src/bench/scenarios.ts'
import { reportWith, resultWith } from './reports.ts'

const mix = parseMix('client_credentials=75,refresh=25')
const input: PlanInput = {
  rate: 5000,
  average: 1000,
  mix,
  sloMs: 25,
  store: 'sqlite',
  alg: 'ES256',
  cores: 2,
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

test('a run of the mix is held against the plan from its parts', () => {
  const measured = resultWith(mixOf(mix).name, [{ per_s: 9000 }], [{ per_s: 7000, front: 70, crypto: 45, store: 30 }])
  const check = checkPlan(reportWith([machineTokens, refreshes, measured]), mix)
  expect(check).toMatchObject({ measured_per_s: 7000, predicted_cpu_us: 145, measured_cpu_us: 145 })
  expect(check?.predicted_per_s).toBeCloseTo(8000, 0)
  expect(checkPlan(report, mix)).toBeUndefined()
})
