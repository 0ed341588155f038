// The statistics of the benchmark: latency histograms, percentiles and the median.
import { Histogram, logarithmic } from '../src/lib/histogram.ts'

export interface Percentiles {
  p50: number
  p95: number
  p99: number
  p999: number
  max: number
}

/** From a microsecond on, 64 buckets per doubling: a percentile is at most 1.1 % too high. */
const MILLISECONDS = logarithmic(0.001, 64)

/** An empty histogram of latencies in milliseconds. */
export const newLatencies = (): Histogram => new Histogram(MILLISECONDS)

/** The percentiles of a histogram; NaN when it is empty. */
export const percentilesOf = (latencies: Histogram): Percentiles => ({
  p50: latencies.quantile(0.5),
  p95: latencies.quantile(0.95),
  p99: latencies.quantile(0.99),
  p999: latencies.quantile(0.999),
  max: latencies.count > 0 ? latencies.max : Number.NaN,
})

/** The median of some numbers. For an even count, it is the mean of the two in the middle. */
export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] as number) + (sorted[Math.floor(middle)] as number)) / 2
}
