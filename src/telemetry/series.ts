// The last hour in short periods, for the admin page: tokens by grant, how fast and how well the token endpoint answers,
// refusals by reason, queues. In memory, of a fixed size.
import type { Clock } from '../lib/time.ts'
import type { Metrics } from './metrics.ts'

/** What happened in one period. */
export interface Point {
  /** Epoch seconds at which the period began. */
  at: number
  /** Access tokens issued, by grant; grants without one are left out. */
  tokens: Record<string, number>
  /** Answers of the token endpoint, good and bad. */
  answers: number
  /** Seconds that half of them, and 99 of 100, took at most; absent without answers. Exact to a tenth. */
  p50?: number
  p99?: number
  /** Requests that were refused or failed, by reason: the most frequent ones. */
  errors: Record<string, number>
  /** Most jobs that were seen waiting, by queue. */
  queues: Record<string, number>
}

export const PERIOD = 10
const MAX_POINTS = 3600 / PERIOD
const MAX_ERRORS = 20
const LOOK_MS = 1000

interface SeriesParts {
  metrics: Pick<Metrics, 'counted'>
  /** Jobs that wait now, by queue. */
  queues(): Record<string, number>
  clock: Clock
}

/** A ring of the last hour, fed by what the metrics count and by the durations it is told. */
export class Series {
  private readonly parts: SeriesParts
  private readonly ring: Point[] = []
  private readonly durations = new Durations()
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

  /** Begins to look at the queues and the clock; stop() ends it. */
  start(): void {
    this.timer = setInterval(() => this.look(), LOOK_MS)
    this.timer.unref()
  }
  stop(): void {
    clearInterval(this.timer)
  }

  /** Adds an answer of the token endpoint. */
  answered(seconds: number): void {
    this.durations.add(seconds)
  }

  /** Takes out the durations of the answers since the last time, for who shows them; counted by bucket. */
  takeAnswered(): BucketCounts {
    return this.durations.take()
  }

  /** Adds what another thread took out. */
  addAnswered(counts: BucketCounts): void {
    this.durations.addAll(counts)
  }

  /** Remembers how full the queues are, and ends the period when its time is over. */
  look(): void {
    for (const [name, waiting] of Object.entries(this.parts.queues()))
      this.queues[name] = Math.max(waiting, this.queues[name] ?? 0)
    const period = periodOf(this.parts.clock.now())
    if (period === this.at) return
    this.ring.push({
      at: this.at,
      tokens: this.tokens.take(),
      answers: this.durations.count,
      p50: this.durations.quantile(0.5),
      p99: this.durations.quantile(0.99),
      errors: most(this.errors.take()),
      queues: this.queues,
    })
    if (this.ring.length > MAX_POINTS) this.ring.shift()
    this.durations.clear()
    this.queues = {}
    this.at = period
  }

  /** The periods that ended and began at `since` (epoch seconds) or later, oldest first. */
  points(since = 0): Point[] {
    return this.ring.filter(({ at }) => at >= since)
  }
}

const periodOf = (now: number) => now - (now % PERIOD)

const most = (counts: Record<string, number>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(counts)
      .sort(([, a], [, b]) => b - a)
      .slice(0, MAX_ERRORS),
  )

/** By how much a counter grew since it was last asked, summed over all labels but one. */
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

/** Eight buckets for every doubling of a microsecond, up to two minutes. */
const STEPS = 8
const BUCKETS = 27 * STEPS

/** Numbers of buckets, and how many durations each holds. */
export type BucketCounts = [bucket: number, count: number][]

/** Durations of one period, for its quantiles. */
export class Durations {
  count = 0
  private readonly buckets = new Uint32Array(BUCKETS)

  add(seconds: number): void {
    const step = Math.floor(Math.log2(Math.max(1, seconds * 1e6)) * STEPS)
    const i = Math.min(BUCKETS - 1, step)
    this.buckets[i] = (this.buckets[i] as number) + 1
    this.count++
  }

  /** Everything that is in it; it is empty then. */
  take(): BucketCounts {
    const counts = [...this.buckets].flatMap((count, i): BucketCounts => (count > 0 ? [[i, count]] : []))
    this.clear()
    return counts
  }

  addAll(counts: BucketCounts): void {
    for (const [i, count] of counts) {
      this.buckets[i] = (this.buckets[i] as number) + count
      this.count += count
    }
  }

  /** The seconds that a share of them (0 to 1) took at most; undefined without any. */
  quantile(share: number): number | undefined {
    if (this.count === 0) return undefined
    let left = Math.ceil(share * this.count)
    const i = this.buckets.findIndex((count) => {
      left -= count
      return left <= 0
    })
    return Number((2 ** ((i + 0.5) / STEPS) / 1e6).toPrecision(3))
  }

  clear(): void {
    this.buckets.fill(0)
    this.count = 0
  }
}
