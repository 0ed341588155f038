import { describe, expect, test } from 'vitest'
import { checkPlan } from '../../bench/plan/check.ts'
import type { PlanInput } from '../../bench/plan/input.ts'
import { plan } from '../../bench/plan/plan.ts'
import { renderPlan } from '../../bench/plan/text.ts'
import { planVerdict } from '../../bench/plan/verdict.ts'
import type { Report } from '../../bench/report/report.ts'
import { mixOf, parseMix } from '../../bench/run/scenarios.ts'
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
// The knees give 8,000/s of the mix, at which the service uses 0.58 of its two processors and 0.56 of its front thread.
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

test('the cost of a mix is the weighted sum of the costs of its parts', () => {
  const { costs, cores, gb_per_day, retained_gb, fsyncs_per_s } = plan(report, input)
  expect(costs).toMatchObject({ front_us: 70, crypto_us: 45, store_us: 30, total_us: 145, database_bytes: 250 })
  expect(cores).toBeCloseTo((5000 * 145) / 1e6, 6)
  // Storage is planned for the average, forced writes for the peak.
  expect(gb_per_day).toBeCloseTo((1000 * 86_400 * 250) / 1e9, 6)
  expect(retained_gb).toBeCloseTo(10 * gb_per_day, 6)
  expect(fsyncs_per_s).toBeCloseTo(250, 6)
})

test('the measured machine serves what its knees give, and its busiest part is the first limit', () => {
  const { use, use_of, limits, capacity_per_s } = plan(report, input)
  // Of the two processors; the 0.3 of the load generator are not counted for the service.
  expect(use).toBeCloseTo(0.58, 6)
  expect(use_of).toBe('the 2 processors')
  expect(limits.map(({ what }) => what)).toEqual([
    'the 2 processors',
    'the front thread',
    'the 1 crypto thread',
    'the storage thread',
    'the disk',
  ])
  // Several kinds of requests reach 0.85 of what their knees give.
  expect(capacity_per_s).toBeCloseTo(0.85 * 8000, 6)
  expect(limits[1]?.per_s).toBeCloseTo((0.58 * 1e6) / 70, 6)
})

test('an instance is planned for the slowest moment of the machine in the run', () => {
  const { capacity_per_s, worst_speed, measured_knee_per_s } = plan(
    { ...report, speeds: [40_000, 30_000, 44_000] },
    input,
  )
  expect([worst_speed, capacity_per_s]).toEqual([0.75, expect.closeTo(0.85 * 6000, 6)])
  expect(measured_knee_per_s).toBeCloseTo(8000, 6)
  const varied = { ...report, speeds: [40_000, 30_000, 44_000] }
  expect(renderPlan(plan(varied, input), input, varied, 'capacity.json')).toContain('is multiplied by 0.75')
  expect(renderPlan(plan(report, input), input, report, 'capacity.json')).not.toContain('slowest moment')
})

describe('CPU used by other processes', () => {
  const single = parseMix('client_credentials=1')
  const taken = (foreign: number) =>
    reportWith([
      resultWith(
        'client_credentials',
        [{ per_s: 2000 }],
        [{ per_s: 1400, front: 240, crypto: 140, store: 90, foreign }],
      ),
    ])

  test('a single kind of work is planned for its own knee, also when the machine was busy', () => {
    for (const foreign of [0, 1.1])
      expect(plan(taken(foreign), { ...input, mix: single }).capacity_per_s).toBeCloseTo(1400, 6)
  })

  test('load of other processes at the knee is reported with its figure', () => {
    const notes = (foreign: number) => plan(taken(foreign), { ...input, mix: single }).warnings.join('\n')
    expect(notes(1.1)).toContain(
      'other programs used 1.10 of the 2 processors at the knee of client_credentials (1,400/s)',
    )
    expect(notes(0.1)).not.toContain('other programs')
  })
})

describe('an instance is planned for the measured rates, and a larger one is computed', () => {
  // One kind keeps the front thread busy, the other the storage thread: together they could do more than each alone.
  const different = reportWith([
    resultWith('client_credentials', [{ per_s: 9000 }], [{ per_s: 8000, front: 100, crypto: 10, store: 10 }]),
    resultWith('refresh_token', [{ per_s: 9000 }], [{ per_s: 8000, front: 10, crypto: 10, store: 100 }]),
  ])
  const half = { ...input, mix: parseMix('client_credentials=50,refresh=50') }

  test('on the measured machine the rates of the knees are used', () => {
    const { capacity_per_s, limits } = plan(different, half)
    expect(capacity_per_s).toBeCloseTo(0.85 * 8000, 6)
    // Half of the requests use one thread, half the other: the processors are the busiest part.
    expect(limits[0]).toMatchObject({ what: 'the 2 processors', per_s: expect.closeTo(8000, 6) })
  })

  test('on a larger machine the text says that the rates are extrapolated', () => {
    const { capacity_per_s, warnings, limits } = plan(different, { ...half, cores: 8 })
    expect(limits[0]?.what).toBe('the front thread')
    expect(capacity_per_s).toBeCloseTo((0.85 * 0.48 * 1e6) / 55, 6)
    expect(warnings.join()).toContain('is more than the 6,800/s that the knees of the report show: it is computed')
  })

  test('a mix that was measured below the sum of its parts is reported with its headroom', () => {
    const name = mixOf(half.mix).name
    const withMix = reportWith([...different.results, resultWith(name, [{ per_s: 5200 }], [{ per_s: 5000 }])])
    const said = plan(withMix, { ...half, mix: parseMix('refresh=5,client_credentials=5') }).warnings.join()
    expect(said).toContain('kept the objective up to 5,000/s, and the 6,800/s planned from its parts are 36 % more')
    expect(said).toContain('beyond the 15 %')
    expect(said).toContain('--headroom 0.49')
    expect(plan(withMix, { ...half, mix: parseMix('refresh=6,client_credentials=4') }).warnings.join()).not.toContain(
      'very mix',
    )
  })
})

test('instances are planned with headroom; the rate of the measured machine is that of its knees', () => {
  const { instances, capacity_per_s, measured_knee_per_s } = plan(report, { ...input, rate: 30_000 })
  expect(instances).toBe(Math.ceil(30_000 / (capacity_per_s * 0.7)))
  expect(measured_knee_per_s).toBeCloseTo(1 / (0.75 / 10_000 + 0.25 / 5000), 3)
})

test('more processors help until the front thread is saturated', () => {
  const many = plan(report, { ...input, cores: 16 })
  expect(many.limits[0]?.what).toBe('the front thread')
  expect(many.capacity_per_s).toBe(plan(report, { ...input, cores: 8 }).capacity_per_s)
  expect(many.warnings.join()).toContain('computed, not measured')
})

test('a plan for several instances on SQLite is reported as impossible', () => {
  expect(plan(report, { ...input, rate: 30_000 }).warnings.join()).toContain('SQLite is for one instance')
})

test('work that was not measured is not planned', () => {
  expect(() => plan(report, { ...input, alg: 'RS256' })).toThrow('client_credentials with sqlite and RS256')
  expect(() => plan(report, { ...input, sloMs: 2 })).toThrow('no rate of client_credentials')
  expect(() => parseMix('coffee=10')).toThrow('not coffee=10')
})

test('the text shows every formula with its figures', () => {
  const text = renderPlan(plan(report, input), input, report, 'capacity.json')
  for (const part of [
    '5,000/s x 145.0 us',
    '1,000/s x 86,400 s x 250 bytes',
    'One instance serves 6,800/s',
    'The capacity of an instance is the first limit x 0.85',
    'The first bottleneck: the 2 processors; the second, at 8,286/s: the front thread',
    '0.58 x 1 / 70.0 us',
    '0.58 is the utilisation of its busiest part at that rate, the 2 processors',
  ])
    expect(text).toContain(part)
})

describe('the database that all instances share', () => {
  // At its knee an instance uses 0.5 of the two processors; the database 0.4 of them, for 0.5 forced writes and 600 bytes each.
  const onPostgres = (database: number) => {
    const result = resultWith(
      'client_credentials',
      [{ per_s: 3000 }],
      [{ per_s: 2000, front: 250, crypto: 250, store: 0 }],
      { store: 'postgres' },
    )
    const ladder = result.ladder.map((sample) => ({
      ...sample,
      ...{ cpu_us: { ...sample.cpu_us, database }, log_bytes: 600, fsyncs: 0.2 },
    }))
    return reportWith([{ ...result, ladder }])
  }
  const shared: PlanInput = { ...input, store: 'postgres', mix: parseMix('client_credentials=100') }
  const mostOf = (rate: number, database = 400) => plan(onPostgres(database), { ...shared, rate })

  test('the database is among the limits, at the rate of all instances together', () => {
    const { limits, use } = mostOf(1000)
    expect(use).toBeCloseTo(0.5, 6)
    expect(limits.filter((limit) => limit.shared)).toEqual([
      {
        what: "the database's 2 processors",
        per_s: expect.closeTo(2500, 6),
        shared: true,
        formula: '0.50 x 2 / 400.0 us',
      },
      expect.objectContaining({ what: "the database's disk", per_s: expect.closeTo((0.5 * 1000) / 0.2, 6) }),
      expect.objectContaining({ what: "the database's disk, bytes", per_s: Number.POSITIVE_INFINITY }),
    ])
  })

  test('the database is the first limit with many instances, and the last with one', () => {
    expect(mostOf(1000).limits[0]?.what).not.toContain('database')
    const { limits, instances, capacity_per_s } = mostOf(20_000)
    expect(instances).toBeGreaterThan(10)
    expect(limits.slice(0, 2).map(({ what }) => what)).toEqual(["the database's 2 processors", "the database's disk"])
    // The rate of an instance does not depend on the database, which may be larger than the measured one.
    expect(capacity_per_s).toBeCloseTo(2000, 6)
  })

  test('a plan that needs more of the database than the machine of the report has is marked as too small', () => {
    expect(mostOf(1000).warnings.join()).not.toContain('share one database')
    expect(mostOf(20_000).warnings.join()).toContain(
      'the plan needs 8.0 processors, 4,000 forced writes/s and 12.0 MB/s: a machine like the one of the report, with 2 processors, is saturated before',
    )
    expect(mostOf(1000, 0).warnings.join()).toContain('does not show what the database used')
  })

  test('the database is planned up to its measured utilisation and disk rate', () => {
    const busy = mostOf(1000, 800).limits.find(({ what }) => what.includes('processors') && what.includes('database'))
    expect(busy?.formula).toBe('0.80 x 2 / 800.0 us')
    const report = onPostgres(400)
    const slow = plan({ ...report, calibration: { ...report.calibration, fsync_per_s: 10 } }, shared)
    expect(slow.limits.find(({ what }) => what === "the database's disk")?.formula).toContain(
      '0.50 x 400 forced writes/s',
    )
  })

  test('the disk of the database carries at least the rate that was measured on it', () => {
    const report = onPostgres(400)
    // Few requests share a commit at the rate of the plan, and many at the measured one.
    for (const { ladder } of report.results)
      ladder.unshift(...ladder.map((sample) => ({ ...sample, per_s: 100, fsyncs: 5 })))
    const { limits, measured_knee_per_s } = plan(report, { ...shared, rate: 10 })
    expect(limits.find(({ what }) => what === "the database's disk")?.per_s).toBeGreaterThanOrEqual(measured_knee_per_s)
  })

  test('the text has the lines of the database, with the bytes that it writes', () => {
    const at = { ...shared, rate: 20_000 }
    const text = renderPlan(plan(onPostgres(400), at), at, onPostgres(400), 'capacity.json')
    expect(text).toContain("The first bottleneck, at 2,500/s in all: the database's 2 processors")
    expect(text).toMatch(/written to disk +12\.0 MB\/s +20,000\/s x 600 bytes of write-ahead log/)
    expect(text).toMatch(
      /the database's disk, bytes +no limit measured +600 bytes per request; 1\.20 MB\/s were measured/,
    )
  })
})

test('every cost is a sum that can be checked by hand, in the text and in the figures', () => {
  const planned = plan(report, input)
  expect(planned.parts.map(({ work, share, knee_per_s }) => [work, share, knee_per_s])).toEqual([
    ['client_credentials', 0.75, 10_000],
    ['refresh_token', 0.25, 5000],
  ])
  for (const which of ['costs', 'costs_at_knee'] as const)
    for (const name of ['total_us', 'front_us', 'database_bytes', 'fsyncs'] as const)
      expect(planned.parts.reduce((sum, part) => sum + part.share * part[which][name], 0)).toBeCloseTo(
        planned[which][name],
        9,
      )
  const text = renderPlan(planned, input, report, 'capacity.json')
  expect(text).toContain('from capacity.json, a run of')
  expect(text).toMatch(/\| refresh_token +\| 0\.2500 \| +5,000 \| +100\.0 \| +60\.0 \| +60\.0 \| +220\.0 \|/)
  expect(text).toMatch(/\| sum of share x cost \| +1 \| +8,000 \| +70\.0 \| +45\.0 \| +30\.0 \| +145\.0 \|/)
})

test('assumptions are stated: shares that do not add up to 100, another machine', () => {
  const notes = (more: Partial<PlanInput>) => plan(report, { ...input, ...more }).warnings.join()
  const twice = parseMix('client_credentials=150,refresh=50')
  expect(notes({ mix: twice })).toContain(
    'add up to 200, not 100: interpreted as client_credentials 75.0 %, refresh_token 25.0 %',
  )
  expect(notes({})).not.toContain('add up')
  expect(notes({ rate: 2000 })).toContain('the default of rate_limit.requests_per_second is 100')
  expect(notes({ rate: 2000 })).toContain('at least 2,000')
  expect(notes({ rate: 90 })).not.toContain('rate_limit.requests_per_second')
  expect(notes({ here: { model: 'Test', cores: 2 } })).not.toContain('another machine')
  expect(notes({ here: { model: 'Test', cores: 8 } })).toContain('of another machine, 2 x Test; this one is 8 x Test')
  expect(notes({ here: { model: 'Other', cores: 2 } })).toContain('this one is 2 x Other')
})

test('a report without measured rates is refused with the reason', () => {
  const ceilings = [resultWith('client_credentials', [{ per_s: 12_000 }]), refreshes]
  expect(() => plan(reportWith(ceilings), input)).toThrow(
    'has only the maximum rate of client_credentials, and no knee',
  )
  expect(() => plan(reportWith(ceilings), input)).toThrow('measured with --no-open')
  expect(() => plan(reportWith(ceilings, { partial: true }), input)).toThrow('interrupted before')
  const failed = resultWith('client_credentials', [], [], { failed: 'it burnt' })
  expect(() => plan(reportWith([failed, refreshes]), input)).toThrow('could not be measured: it burnt')
  expect(() => plan(reportWith([], { partial: true }), input)).toThrow('(its run was interrupted)')
})

test('several front threads saturate later, and this is calculated', () => {
  const one = plan(report, { ...input, cores: 16 })
  const four = plan(report, { ...input, cores: 16, frontThreads: 4 })
  expect(one.limits[0]?.what).toBe('the front thread')
  expect(four.limits.find(({ what }) => what === 'the 4 front threads')?.per_s).toBe(4 * (one.limits[0]?.per_s ?? 0))
  expect(four.warnings.join()).toContain('measured with one front thread')
})

describe('costs follow the rate', () => {
  // A front thread that is busy for 0.2 at 100 us, for 0.6 at 60 us; the other parts do not change.
  const steps = [
    { per_s: 2000, front: 100, crypto: 80, store: 20 },
    { per_s: 10_000, front: 60, crypto: 40, store: 10 },
  ]
  const stepped = reportWith([resultWith('client_credentials', [{ per_s: 12_000 }], steps)])
  const at = (rate: number) =>
    plan(stepped, { ...input, mix: parseMix('client_credentials=1'), rate, cores: 8, headroom: 0 }).costs

  test('at a measured rate the costs are the measured ones', () => {
    expect(at(2000).total_us).toBeCloseTo(200, 1)
    expect(at(10_000).total_us).toBeCloseTo(110, 1)
  })

  test('between two measured rates the costs are interpolated by the utilisation of the front thread', () => {
    // At 5,000/s it is busy for 0.4, which gives 80 us.
    expect(at(5000)).toMatchObject({ front_us: expect.closeTo(80, 1), total_us: expect.closeTo(155, 1) })
  })

  test('below the lowest measured rate the costs are those of that rate', () => {
    expect(at(100).total_us).toBeCloseTo(200, 6)
  })
})

describe('verification of a plan', () => {
  const name = mixOf(mix).name
  const measured = resultWith(name, [{ per_s: 9000 }], [{ per_s: 7000, front: 70, crypto: 45, store: 30 }])
  const held = reportWith([machineTokens, refreshes, measured])

  test('a plan is verified at seven tenths of the planned rate, and its measured cost is compared with the planned cost', async () => {
    const rates: number[] = []
    const check = await checkPlan(held, mix, measured, async (rate) => {
      rates.push(rate)
      return sampleWith({ per_s: rate, offered: rate, front: 60, crypto: 45, store: 30 })
    })
    // The rate that determines the number of instances: 0.85 / (0.75 / 10,000 + 0.25 / 5000).
    const { capacity_per_s } = plan(held, { ...input, rate: 1 })
    expect(capacity_per_s).toBeCloseTo(6800, 6)
    expect(rates).toEqual([expect.closeTo(0.7 * capacity_per_s, 3)])
    expect(check).toMatchObject({ kept: true, predicted_cpu_us: 145, measured_cpu_us: 135, measured_knee_per_s: 7000 })
    expect(check?.predicted_knee_per_s).toBeCloseTo(capacity_per_s, 6)
  })

  test('a machine that varied is planned for its slowest moment, and compared by its usual one', async () => {
    const rates: number[] = []
    const varied = { ...held, speeds: [40_000, 30_000, 42_000] }
    const check = await checkPlan(varied, mix, measured, async (rate) => {
      rates.push(rate)
      return sampleWith({ per_s: rate, offered: rate })
    })
    expect(rates).toEqual([expect.closeTo(0.7 * 0.75 * 6800, 6)])
    expect(check?.predicted_knee_per_s).toBeCloseTo(6800, 6)
    expect(check && planVerdict(check, varied.speeds)).toContain(
      'The machine itself made 30,000 to 42,000 signatures/s during the run (29 % between its slowest and its fastest moment), so service plan counts on 5,100/s.',
    )
  })

  test('a deviation beyond the tolerance is reported with its direction', () => {
    const say = (more: Partial<NonNullable<Report['plan_check']>>) =>
      planVerdict({
        ...{ mix: name, rate_per_s: 5310, kept: true, p99_ms: 20, predicted_cpu_us: 145, measured_cpu_us: 150 },
        ...{ predicted_knee_per_s: 7586, measured_knee_per_s: 7000, ...more },
      })
    expect(say({})).toContain(
      'The plan has 7,586/s per instance, and the mix kept the objective up to 7,000/s (8 % too high)',
    )
    expect(say({})).toContain('Both are within the accepted deviation of 15 %.')
    expect(say({ measured_knee_per_s: 6000 })).toMatch(
      /26 % too high.*The rate is beyond the accepted deviation of 15 %/,
    )
    expect(say({ measured_cpu_us: 200 })).toMatch(/28 % too low.*The cost is beyond the accepted deviation of 15 %/)
    expect(say({ measured_cpu_us: 200, measured_knee_per_s: 9999 })).toContain(
      'The cost and the rate are beyond the accepted deviation of 15 %',
    )
    expect(say({ measured_knee_per_s: null })).toContain(
      'the mix did not keep the objective at any rate: the plan does not hold',
    )
  })

  test('a verified rate above the knee becomes the knee, and a failed one does not', async () => {
    for (const [p99, knee] of [
      [9, 5310],
      [40, 3000],
    ] as const) {
      const low = resultWith(name, [{ per_s: 9000 }], [{ per_s: 3000 }])
      const run = async () => sampleWith({ per_s: 5310, offered: 5310, p99 })
      const check = await checkPlan(reportWith([machineTokens, refreshes, low]), mix, low, run)
      expect([check?.measured_knee_per_s, low.knee?.per_s, low.ladder.at(-1)?.per_s]).toEqual([knee, knee, 5310])
    }
  })

  test('the verification is sorted into the steps by its rate: the knee is the highest rate that met the objective', async () => {
    const high = resultWith(name, [{ per_s: 9000 }], [{ per_s: 7000 }])
    const run = async () => sampleWith({ per_s: 5310, offered: 5310 })
    const check = await checkPlan(reportWith([machineTokens, refreshes, high]), mix, high, run)
    expect([check?.measured_knee_per_s, high.ladder.map(({ per_s }) => per_s)]).toEqual([7000, [5310, 7000]])
  })

  test('a verification that misses the objective is reported', async () => {
    const late = async (rate: number) => sampleWith({ per_s: rate, offered: rate, p99: 40 })
    expect((await checkPlan(held, mix, measured, late))?.kept).toBe(false)
  })

  test('a plan is not verified when the mix or one of its parts was not measured', async () => {
    const never = () => Promise.reject(new Error('nothing to run'))
    expect(await checkPlan(held, mix, undefined, never)).toBeUndefined()
    expect(await checkPlan(reportWith([machineTokens, measured]), mix, measured, never)).toBeUndefined()
  })
})
