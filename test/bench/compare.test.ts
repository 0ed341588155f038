import { expect, test } from 'vitest'
import { compareReports, renderComparison } from '../../src/bench/compare.ts'
import { reportWith, resultWith } from './reports.ts'

const verdicts = (before: number[], after: number[]) => {
  const rounds = (rates: number[]) => rates.map((per_s) => ({ per_s }))
  const { changes } = compareReports(
    reportWith([resultWith('xaa', rounds(before))]),
    reportWith([resultWith('xaa', rounds(after))]),
  )
  return changes.find(({ measure }) => measure === 'requests/s')
}

test('a change larger than what the rounds differ by is a change, in its direction', () => {
  expect(verdicts([1000, 1010], [1200, 1210])).toMatchObject({ verdict: 'better' })
  expect(verdicts([1000, 1010], [800, 810])).toMatchObject({ verdict: 'worse' })
})

test('a change within what the rounds differ by is noise', () => {
  expect(verdicts([1000, 1020], [1030, 1040])).toMatchObject({ verdict: 'noise' })
  // Twelve percent, of a machine whose rounds differ by forty.
  expect(verdicts([800, 1200], [900, 1300])).toMatchObject({ verdict: 'noise' })
})

test('of CPU and latency less is better', () => {
  const [before, after] = [50, 30].map((front) => reportWith([resultWith('xaa', [{ per_s: 1000, front, p99: front }])]))
  const { changes } = compareReports(before as typeof after & object, after as typeof after & object)
  expect(Object.fromEntries(changes.map(({ measure, verdict }) => [measure, verdict]))).toMatchObject({
    'CPU us': 'better',
    'p99 ms': 'better',
    'requests/s': 'noise',
  })
})

test('what only one report has is named, and the machines are held against each other', () => {
  const before = reportWith([resultWith('xaa', [{ per_s: 1000 }]), resultWith('login', [{ per_s: 10 }])])
  const after = reportWith([resultWith('xaa', [{ per_s: 1000 }], [], { alg: 'RS256' })])
  after.calibration.es256_sign_per_s = 20_000
  const comparison = compareReports(before, after)
  expect(comparison.unmatched).toHaveLength(3)
  expect(comparison.machine).toBe(0.5)
  expect(renderComparison(comparison)).toContain('only in one of them: login')
})
