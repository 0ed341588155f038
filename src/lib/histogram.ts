// The histogram of the service and of its benchmark: counts in buckets, so that memory does not grow with the number of values.

/** Which bucket a value belongs to. */
export interface BucketScale {
  readonly size: number
  indexOf(value: number): number
  /** The largest value of a bucket; infinite for the last bucket. */
  boundOf(index: number): number
}

/** Doublings of the smallest bound that a logarithmic scale covers: from a microsecond to two minutes. */
const DOUBLINGS = 27

/** Buckets of equal ratio from `least` on, `perDoubling` of them for every doubling: a quantile is too high by 1/perDoubling of an octave at most. */
export function logarithmic(least: number, perDoubling: number): BucketScale {
  const last = DOUBLINGS * perDoubling
  return {
    size: last + 1,
    indexOf: (value) => (value <= least ? 0 : Math.min(last, Math.ceil(Math.log2(value / least) * perDoubling))),
    boundOf: (index) => (index < last ? least * 2 ** (index / perDoubling) : Number.POSITIVE_INFINITY),
  }
}

/** Buckets with the given upper bounds, in ascending order, and one above the last bound. */
export const bounded = (bounds: readonly number[]): BucketScale => ({
  size: bounds.length + 1,
  indexOf: (value) => {
    let i = 0
    while (i < bounds.length && value > (bounds[i] as number)) i++
    return i
  },
  boundOf: (index) => bounds[index] ?? Number.POSITIVE_INFINITY,
})

/** The contents of a histogram as plain values, for another thread: the buckets that are not empty. */
export interface HistogramCounts {
  buckets: [index: number, count: number][]
  sum: number
  max: number
}

/** Counts values by bucket, with their number, sum and maximum. */
export class Histogram {
  readonly scale: BucketScale
  /** Values by bucket, not cumulative. */
  readonly counts: number[]
  count = 0
  sum = 0
  max = 0

  constructor(scale: BucketScale) {
    this.scale = scale
    this.counts = new Array<number>(scale.size).fill(0)
  }

  record(value: number): void {
    const i = this.scale.indexOf(value)
    this.counts[i] = (this.counts[i] as number) + 1
    this.count++
    this.sum += value
    if (value > this.max) this.max = value
  }

  /** Adds the contents of a histogram of the same scale. */
  add({ buckets, sum, max }: HistogramCounts): void {
    for (const [i, count] of buckets) {
      this.counts[i] = (this.counts[i] as number) + count
      this.count += count
    }
    this.sum += sum
    this.max = Math.max(this.max, max)
  }

  contents(): HistogramCounts {
    const buckets = this.counts.flatMap((count, i): [number, number][] => (count > 0 ? [[i, count]] : []))
    return { buckets, sum: this.sum, max: this.max }
  }

  /** Returns the contents and empties the histogram. */
  take(): HistogramCounts {
    const contents = this.contents()
    this.clear()
    return contents
  }

  /** The upper bound of the bucket below which a share `q` (0 to 1) of the values lies, at most the maximum. NaN when it is empty. */
  quantile(q: number): number {
    if (this.count === 0) return Number.NaN
    let missing = Math.max(1, Math.ceil(q * this.count))
    const i = this.counts.findIndex((count) => {
      missing -= count
      return missing <= 0
    })
    return Math.min(this.scale.boundOf(i), this.max)
  }

  clear(): void {
    this.counts.fill(0)
    this.count = 0
    this.sum = 0
    this.max = 0
  }
}
