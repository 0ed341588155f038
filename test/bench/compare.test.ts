import { expect, test } from 'vitest'
import { compareReports, renderComparison } from '../../bench/report/compare.ts'
import type { Report, WorkResult } from '../../bench/report/report.ts'
import { reportWith, resultWith } from './reports.ts'

const rounds = (rates: readonly number[]) => rates.map((per_s) => ({ per_s }))
const verdicts = (before: number[], after: number[]) => {
  const { changes } = compareReports(
    reportWith([resultWith('xaa', rounds(before))]),
    reportWith([resultWith('xaa', rounds(after))]),
  )
  return changes.find(({ measure }) => measure === 'requests/s')
}
const [OLD, NEW] = [
  [1000, 1010, 1005],
  [600, 610, 605],
]
const peerWith = (rates: readonly number[], server = 'oidc-provider') =>
  resultWith('xaa', rounds(rates), [], { server, store: 'none' })
/** A machine of another model with the same speed, scaled by the share. */
const onOther = (results: WorkResult[], speed: number): Report => {
  const report = reportWith(results)
  const { calibration, machine } = report
  const slower = Object.entries(calibration).map(([name, value]) => [name, (value ?? 0) * speed])
  return { ...report, machine: { ...machine, model: 'Other' }, calibration: Object.fromEntries(slower) }
}
const verdictsOf = (before: Report, after: Report) =>
  Object.fromEntries(
    compareReports(before, after)
      .changes.filter(({ work }) => work.includes('service'))
      .map(({ measure, verdict }) => [measure, verdict]),
  )

test('a change larger than the spread of the rounds is reported with its direction', () => {
  expect(verdicts([1000, 1010], [1200, 1210])).toMatchObject({ verdict: 'better' })
  expect(verdicts([1000, 1010], [800, 810])).toMatchObject({ verdict: 'worse' })
})

test('a change within the spread of the rounds is noise', () => {
  expect(verdicts([1000, 1020], [1030, 1040])).toMatchObject({ verdict: 'noise' })
  // Twelve percent, on a machine whose rounds differ by forty.
  expect(verdicts([800, 1200], [900, 1300])).toMatchObject({ verdict: 'noise' })
})

test('lower CPU and latency are improvements', () => {
  const [before, after] = [50, 30].map((front) => {
    const round = { per_s: 1000, front, p99: front }
    return reportWith([resultWith('xaa', [round, round])])
  }) as [Report, Report]
  expect(verdictsOf(before, after)).toMatchObject({ 'CPU us': 'better', 'p99 ms': 'better', 'requests/s': 'noise' })
})

test('figures that only one report has are named, and the machines are compared', () => {
  const before = reportWith([resultWith('xaa', [{ per_s: 1000 }]), resultWith('login', [{ per_s: 10 }])])
  const after = reportWith([resultWith('xaa', [{ per_s: 1000 }], [], { alg: 'RS256' })])
  after.calibration.es256_sign_per_s = 20_000
  const comparison = compareReports(before, after)
  expect(comparison.unmatched).toHaveLength(3)
  expect(comparison.machines.signs).toBe(0.5)
  expect(renderComparison(comparison)).toContain('only in one report: login')
  expect(renderComparison(comparison)).toContain('no result is in both reports')
})

test('without a second round of a figure its noise is unknown', () => {
  const one = (growth: number) => {
    const result = resultWith('xaa', rounds([1000, 1010]))
    result.rounds.forEach((round, i) => {
      round.database_bytes = i === 0 ? growth : null
    })
    return reportWith([result])
  }
  for (const [before, after] of [
    [300, 600],
    [600, 300],
  ] as const) {
    const { changes } = compareReports(one(before), one(after))
    expect(changes.find(({ measure }) => measure === 'growth bytes')).toMatchObject({
      verdict: 'not shown',
      band: null,
    })
  }
})

test('with one round no change is reported, and more rounds are recommended', () => {
  expect(verdicts([1000], [600])).toMatchObject({ verdict: 'not shown', band: null })
  expect(verdicts(OLD, [600])).toMatchObject({ verdict: 'not shown', band: null })
  const text = renderComparison(
    compareReports(reportWith([resultWith('xaa', rounds([1000]))]), reportWith([resultWith('xaa', rounds([600]))])),
  )
  expect(text).toMatch(/0 better, 0 worse, 0 within the noise, 4 not shown\n.*measure three or more/)
})

test.each([
  ['a smoke run', 'SMOKE RUN', (report: Report) => ({ ...report, settings: { ...report.settings, smoke: true } })],
  ['an interrupted run', 'INTERRUPTED', (report: Report) => ({ ...report, partial: true })],
])('%s shows no change, and is called so', (_what, said, make) => {
  const [before, after] = [reportWith([resultWith('xaa', rounds(OLD))]), reportWith([resultWith('xaa', rounds(NEW))])]
  expect(new Set(Object.values(verdictsOf(before, make(after))))).toEqual(new Set(['not shown']))
  expect(renderComparison(compareReports(make(before), after))).toMatch(new RegExp(`^before: ${said}`))
})

test('a report without figures is reported as empty', () => {
  const text = renderComparison(compareReports(reportWith([resultWith('xaa', rounds(OLD))]), reportWith([])))
  expect(text).toMatch(/^after: EMPTY/)
})

test('different settings are listed first; with another number of connections nothing is compared', () => {
  const before = reportWith([resultWith('xaa', rounds(OLD))])
  const after = reportWith([resultWith('xaa', rounds(NEW))])
  after.settings = { ...after.settings, seconds: 3, clients: 100 }
  expect(renderComparison(compareReports(before, after))).toMatch(
    /^differs: seconds: 10 before, 3 after\nthe signature rate/,
  )
  expect(verdictsOf(before, after)['requests/s']).toBe('worse')
  after.settings.connections = 16
  expect(verdictsOf(before, after)['requests/s']).toBe('not shown')
})

test('a round with errors is not compared', () => {
  const after = reportWith([resultWith('xaa', [{ per_s: 600, errors: 3 }, { per_s: 605 }])])
  expect(verdictsOf(reportWith([resultWith('xaa', rounds(OLD))]), after)['requests/s']).toBe('not shown')
})

test('a round during which other processes used the machine is not compared', () => {
  const [before, after] = [OLD, NEW].map((rates) => reportWith([resultWith('xaa', rounds(rates))])) as [Report, Report]
  for (const sample of after.results[0]?.rounds.slice(0, 1) ?? []) sample.busy.foreign = 0.4
  expect(verdictsOf(before, after)['requests/s']).toBe('worse')
  for (const sample of after.results[0]?.rounds.slice(0, 1) ?? []) sample.busy.foreign = 0.8
  expect(verdictsOf(before, after)['requests/s']).toBe('not shown')
})

test('a slower machine is no regression: rates and CPU are scaled by the calibration', () => {
  const slower = resultWith(
    'xaa',
    NEW.map((per_s) => ({ per_s, front: 66, crypto: 50, store: 17, p99: 9 })),
  )
  const comparison = compareReports(reportWith([resultWith('xaa', rounds(OLD))]), onOther([slower], 0.6))
  const found = Object.fromEntries(comparison.changes.map(({ measure, verdict }) => [measure, verdict]))
  expect(found).toEqual({ 'requests/s': 'noise', 'CPU us': 'noise', 'p99 ms': 'not shown', 'growth bytes': 'noise' })
  expect(comparison.changes[0]?.before).toBeCloseTo(603)
  expect(renderComparison(comparison)).toMatch(/differs: CPU: Test before, Other after[\s\S]*scaled[\s\S]*0\.60 times/)
  // The results of the peers show the speed of the machine, too: signing is twice as slow, but the peers are no slower.
  const mixed = onOther([peerWith(OLD, 'a')], 0.5)
  expect(compareReports(reportWith([peerWith(OLD, 'a')]), mixed).machines.speed).toBeCloseTo(Math.SQRT1_2)
  // Half of the expected rate of that machine is still a regression.
  const bad = resultWith('xaa', rounds([300, 301, 302]))
  expect(verdictsOf(reportWith([resultWith('xaa', rounds(OLD))]), onOther([bad], 0.6))['requests/s']).toBe('worse')
})

test('without a calibration only ratios are compared across machines', () => {
  const [before, after] = [OLD, NEW].map((rates) => [resultWith('xaa', rounds(rates)), peerWith(rates)])
  const other = onOther(after as WorkResult[], Number.NaN)
  expect(verdictsOf(reportWith(before as WorkResult[]), other)).toMatchObject({
    'requests/s': 'not shown',
    'requests/s to oidc-provider': 'noise',
  })
})

test('the ratios to the peer and to the yardstick are compared; a change that they do not confirm is not reported', () => {
  const with_ = (mine: readonly number[], its: readonly number[]) =>
    reportWith([resultWith('xaa', rounds(mine)), peerWith(its), peerWith(its, 'yardstick')])
  // Every server became slower, so the machine did.
  expect(verdictsOf(with_(OLD, OLD), with_(NEW, NEW))).toMatchObject({
    'requests/s': 'not shown',
    'requests/s to oidc-provider': 'noise',
    'requests/s to yardstick': 'noise',
  })
  expect(verdictsOf(with_(OLD, OLD), with_(NEW, OLD))).toMatchObject({
    'requests/s': 'worse',
    'requests/s to oidc-provider': 'worse',
    'requests/s to yardstick': 'worse',
  })
  // The peer is the reference, so it has no regressions of its own.
  const { changes } = compareReports(with_(OLD, OLD), with_(NEW, NEW))
  expect(
    changes.filter(({ work, verdict }) => !work.includes('service') && ['better', 'worse'].includes(verdict)),
  ).toEqual([])
})

test('knees are compared: a lost knee is a regression, and knees for different objectives are not compared', () => {
  const knee = (rate: number, p99 = 5) => reportWith([resultWith('xaa', rounds(OLD), [{ per_s: rate, p99 }])])
  const of = (before: Report, after: Report) => verdictsOf(before, after)['knee/s']
  expect(of(knee(800), knee(700))).toBe('noise')
  expect(of(knee(800), knee(400))).toBe('worse')
  expect(of(knee(400), knee(800))).toBe('better')
  expect(of(knee(800), knee(800, 90))).toBe('worse')
  expect(of(knee(800, 90), knee(800))).toBe('better')
  const other = knee(400)
  other.settings.slo_p99_ms = 50
  expect(of(knee(800), other)).toBe('not shown')
})
