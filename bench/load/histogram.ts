// Latencies in bounded memory: logarithmic buckets, so that a percentile is right to one percent whatever the scale.

const PER_OCTAVE = 64
const FLOOR_MS = 0.001
const indexOf = (ms: number) => (ms <= FLOOR_MS ? 0 : Math.ceil(Math.log2(ms / FLOOR_MS) * PER_OCTAVE))
const msOf = (index: number) => FLOOR_MS * 2 ** (index / PER_OCTAVE)

export interface Percentiles {
  p50: number
  p95: number
  p99: number
  p999: number
  max: number
}

/** Counts of latencies in milliseconds. */
export class Histogram {
  private readonly counts: number[] = []
  private max = 0
  count = 0

  /** Takes a latency in milliseconds, `times` times. */
  record(ms: number, times = 1): void {
    const index = indexOf(ms)
    this.counts[index] = (this.counts[index] ?? 0) + times
    this.count += times
    if (ms > this.max) this.max = ms
  }

  /** Takes what another one counted. */
  add(other: Histogram): void {
    other.counts.forEach((times, index) => {
      this.counts[index] = (this.counts[index] ?? 0) + times
    })
    this.count += other.count
    this.max = Math.max(this.max, other.max)
  }

  /** The value that a share `q` does not exceed, in milliseconds, at most 1.1 % too high; NaN without any. */
  percentile(q: number): number {
    const rank = Math.max(1, Math.ceil(q * this.count))
    let seen = 0
    for (const [index, count] of this.counts.entries()) {
      seen += count ?? 0
      if (seen >= rank) return Math.min(msOf(index), this.max)
    }
    return Number.NaN
  }

  percentiles(): Percentiles {
    const [p50, p95, p99, p999] = [0.5, 0.95, 0.99, 0.999].map((q) => this.percentile(q)) as [
      number,
      number,
      number,
      number,
    ]
    return { p50, p95, p99, p999, max: this.count > 0 ? this.max : Number.NaN }
  }
}
