// The last hour in periods of ten seconds, for the admin page: tokens by grant, latency and number of answers of the token endpoint,
// refusals by reason, queues. In memory, of a fixed size.
import { Histogram, type HistogramCounts, logarithmic } from '../lib/histogram.ts'
import type { Clock } from '../lib/time.ts'
import { type ActivityKind, type ActivitySum, type MinuteSums, NOTHING } from './activity_sums.ts'
import type { Metrics } from './metrics.ts'

/** One period. */
export interface Point {
  /** Epoch seconds at which the period began. */
  at: number
  /** Access tokens issued, by grant. Grants without tokens are omitted. */
  tokens: Record<string, number>
  /** Answers of the token endpoint, errors included. */
  answers: number
  /** Latency percentiles of the token endpoint in seconds, at most 5 % too high. Absent without answers. */
  p50?: number
  p99?: number
  /** Refused and failed requests by reason: the most frequent reasons. */
  errors: Record<string, number>
  /** Highest number of waiting jobs that was sampled, by queue. */
  queues: Record<string, number>
}

export const PERIOD = 10
const MAX_POINTS = 3600 / PERIOD
const MAX_ERRORS = 20
const SAMPLE_MS = 1000
/** From a microsecond on, 16 buckets per doubling. */
const SECONDS = logarithmic(1e-6, 16)

interface SeriesParts {
  metrics: Pick<Metrics, 'counted'>
  /** Jobs waiting now, by queue. */
  queues(): Record<string, number>
  clock: Clock
  /** Receives the sums of each completed period. */
  onPeriod?(sums: MinuteSums): void
}

/** A ring buffer of the last hour. It reads the counters, and is called for every answer of the token endpoint. */
export class Series {
  private readonly parts: SeriesParts
  private readonly ring: Point[] = []
  private readonly durations = new Histogram(SECONDS)
  private readonly tokens: Growth
  private readonly errors: Growth
  private queues: Record<string, number> = {}
  private at: number
  private timer?: NodeJS.Timeout

  constructor(parts: SeriesParts) {
    this.parts = parts
    this.at = periodOf(parts.clock.now())
    this.tokens = new Growth(() => parts.metrics.counted('core_tokens_issued_total'), 'grant_type')
    this.errors = new Growth(() => parts.metrics.counted('ext_refusals_total'), 'reason')
  }

  /** Samples every second, until stop(). */
  start(): void {
    this.timer = setInterval(() => this.sample(), SAMPLE_MS)
    this.timer.unref()
  }
  stop(): void {
    clearInterval(this.timer)
  }

  /** Adds an answer of the token endpoint. */
  answered(seconds: number): void {
    this.durations.record(seconds)
  }

  /** Takes out the durations of the answers since the last call, for the thread that shows them. */
  takeAnswered(): HistogramCounts {
    return this.durations.take()
  }

  /** Adds the durations of another thread. */
  addAnswered(counts: HistogramCounts): void {
    this.durations.add(counts)
  }

  /** Samples the queues, and ends the period when its time is over. */
  sample(): void {
    for (const [name, waiting] of Object.entries(this.parts.queues()))
      this.queues[name] = Math.max(waiting, this.queues[name] ?? 0)
    const period = periodOf(this.parts.clock.now())
    if (period === this.at) return
    const [tokens, errors] = [this.tokens.take(), this.errors.take()]
    this.parts.onPeriod?.({ at: this.at, sums: sumsOf(tokens, errors, this.durations) })
    this.ring.push({
      at: this.at,
      tokens,
      answers: this.durations.count,
      ...quantilesOf(this.durations),
      errors: mostFrequent(errors),
      queues: this.queues,
    })
    if (this.ring.length > MAX_POINTS) this.ring.shift()
    this.durations.clear()
    this.queues = {}
    this.at = period
  }

  /** The completed periods that began at `since` (epoch seconds) or later, oldest first. */
  points(since = 0): Point[] {
    return this.ring.filter(({ at }) => at >= since)
  }
}

const quantilesOf = (durations: Histogram): Pick<Point, 'p50' | 'p99'> =>
  durations.count > 0 ? { p50: digits3(durations.quantile(0.5)), p99: digits3(durations.quantile(0.99)) } : {}

/** A period as sums for the store. */
function sumsOf(tokens: Record<string, number>, errors: Record<string, number>, durations: Histogram): ActivitySum[] {
  const sum = (kind: ActivityKind, name: string, counts: Partial<ActivitySum>) => ({
    ...NOTHING,
    ...counts,
    kind,
    name,
  })
  return [
    ...Object.entries(tokens).map(([name, issued]) => sum('grant', name, { issued })),
    ...Object.entries(errors).map(([name, refused]) => sum('reason', name, { refused })),
    ...durations.contents().buckets.map(([i, requests]) => sum('latency', storedBucket(i), { requests })),
  ]
}

/** Stored durations have half as many buckets: at most 9 % too high. */
const storedBucket = (index: number): string => String(Math.ceil(index / 2))
const STORED_SECONDS = logarithmic(1e-6, 8)

/** The latency percentiles of stored sums of the kind `latency`. */
export function storedQuantiles(sums: readonly Pick<ActivitySum, 'name' | 'requests'>[]): Pick<Point, 'p50' | 'p99'> {
  const durations = new Histogram(STORED_SECONDS)
  const max = Math.max(0, ...sums.map(({ name }) => Number(name)))
  durations.add({
    buckets: sums.map(({ name, requests }) => [Number(name), requests]),
    sum: 0,
    max: STORED_SECONDS.boundOf(Math.min(max, STORED_SECONDS.size - 2)),
  })
  return quantilesOf(durations)
}

const digits3 = (seconds: number) => Number(seconds.toPrecision(3))

const periodOf = (now: number) => now - (now % PERIOD)

const mostFrequent = (counts: Record<string, number>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(counts)
      .sort(([, a], [, b]) => b - a)
      .slice(0, MAX_ERRORS),
  )

/** The increase of a counter since the last call, by one of its labels, summed over the others. */
class Growth {
  private before: Record<string, number> = {}
  private readonly counted: () => ReturnType<Metrics['counted']>
  private readonly label: string

  constructor(counted: () => ReturnType<Metrics['counted']>, label: string) {
    this.counted = counted
    this.label = label
  }

  take(): Record<string, number> {
    const now: Record<string, number> = {}
    for (const { labels, held } of this.counted()) {
      const key = labels[this.label] ?? ''
      now[key] = (now[key] ?? 0) + held.value
    }
    const grown = Object.entries(now).map(([key, value]) => [key, value - (this.before[key] ?? 0)] as const)
    this.before = now
    return Object.fromEntries(grown.filter(([, by]) => by > 0))
  }
}
