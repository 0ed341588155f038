// The statistics of the benchmark.
import { expect, test } from 'vitest'
import { median, newLatencies, percentilesOf } from '../../bench/statistics.ts'

test('percentiles of latencies are at most 1.1 % too high', () => {
  const latencies = newLatencies()
  for (let ms = 1; ms <= 1000; ms++) latencies.record(ms)
  const found = percentilesOf(latencies)
  for (const [name, exact] of Object.entries({ p50: 500, p95: 950, p99: 990, p999: 999, max: 1000 })) {
    const ratio = found[name as keyof typeof found] / exact
    expect(ratio).toBeGreaterThanOrEqual(1)
    expect(ratio).toBeLessThanOrEqual(1.011)
  }
})

test('without values there are no percentiles', () => {
  expect(Object.values(percentilesOf(newLatencies()))).toEqual([
    Number.NaN,
    Number.NaN,
    Number.NaN,
    Number.NaN,
    Number.NaN,
  ])
})

test('the median of an even count is the mean of the two in the middle', () => {
  expect([median([3, 1, 2]), median([4, 1, 3, 2])]).toEqual([2, 2.5])
})
