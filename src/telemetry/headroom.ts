// Capacity: the utilisation of each part of the process, and the request rate at which the busiest part would be saturated. When the
// configuration names a benchmark report of this machine, utilisation is relative to the rates that it measured.
import { type Clock, DAY } from '../lib/time.ts'
import type { GrantLabel } from './metric_names.ts'
import type { Metrics } from './metrics.ts'
import { CORES, machineMicros, threadMicros } from './proc.ts'

/** Busy microseconds since the start, and the number of workers that they are summed over. */
export interface LoadSample {
  us: number
  of: number
}
/** Parts of the service by name. `process` is the whole process, `machine` everything that runs on the machine. */
export type Loads = Readonly<Record<string, LoadSample>>

export interface HeadroomShown {
  /** Answers of the public listener per second, smoothed. */
  requests_per_s: number
  /** Utilisation of each part, smoothed: 0 to 1. */
  parts: Record<string, number>
  busiest?: string
  /** Request rate at which the latency objective would be missed, or the busiest part would be saturated. Absent before it was measured. */
  ceiling_per_s?: number
  /** Utilisation of the ceiling, 0 to 1. */
  use?: number
  /** Source of the ceiling: a report of `service bench`, or the traffic of the last day. */
  source: 'report' | 'traffic' | 'none'
  /** With a ceiling from traffic: when it was measured (epoch seconds), and the utilisation of the busiest part then. */
  measured_at?: number
  measured_use?: number
}

interface HeadroomParts {
  metrics: Pick<Metrics, 'counted'>
  clock: Clock
  /** Maximum requests per second that a benchmark measured, by kind of work. Empty without a report. */
  knees: Readonly<Record<string, number>>
  /** A monotonic clock in milliseconds, and the busy time of the parts. Tests replace them. */
  nowMs?: () => number
  loads?: () => Loads
}

const SAMPLE_MS = 5000
/** Utilisation above which a part answers late. */
const SATURATED = 0.9
/** Below this utilisation, the cost per request is mostly idle cost and says nothing about the ceiling. */
const MIN_USE = 0.05
/** Share of the machine that the scheduler leaves to the service, whatever else runs there. */
const MIN_MACHINE_SHARE = 0.5
/** Weight of the newest sample in the moving average. */
const WEIGHT = 0.3

/** Name of each kind of work in a report: by the grant_type label, and by the path of a POST. */
const WORK_OF_GRANT: Readonly<Record<GrantLabel, string>> = {
  client_credentials: 'client_credentials',
  authorization_code: 'authorization_code',
  device_code: 'authorization_code',
  ciba: 'authorization_code',
  refresh_token: 'refresh_token',
  token_exchange: 'exchange, new tokens',
  jwt_bearer: 'xaa',
}
const WORK_OF_PATH: Readonly<Record<string, string>> = {
  '/oauth/introspect': 'introspection, new tokens',
  '/oauth/revoke': 'revocation',
  '/login': 'login',
}
const REFUSED: readonly string[] = ['429', '503']
/** A sample with more refusals than this share of the requests does not show what a request costs. */
const MOST_REFUSED = 0.01
const ADMIN = /^\/(admin|metrics)/

/** Busy time of the threads of this process by name, of the process and of the machine. Empty when the system does not provide it. */
function ownLoads(): Loads {
  const loads: Record<string, LoadSample> = {}
  let own = 0
  for (const [tid, { role, us }] of threadMicros(process.pid)) {
    own += us
    if (role === 'other' && tid !== process.pid) continue
    // The main thread, where front threads serve. The name is the value of a metric label.
    const name = role === 'other' ? 'main' : role
    const load = loads[name] ?? { us: 0, of: 0 }
    loads[name] = { us: load.us + us, of: load.of + 1 }
  }
  const machine = machineMicros()
  if (Number.isNaN(machine)) return loads
  return { ...loads, process: { us: own, of: CORES }, machine: { us: machine, of: CORES } }
}

interface LoadSamples {
  ms: number
  /** Without those that were refused because of a limit or of overload, which cost little. */
  requests: number
  refused: number
  works: Record<string, number>
  loads: Loads
}

/** Samples every five seconds; show() returns the result. */
export class Headroom {
  private readonly parts: HeadroomParts
  private last: LoadSamples
  private rate = 0
  private workRates: Record<string, number> = {}
  private busy: Record<string, number> = {}
  /** Busy seconds of each part per request, measured when the busiest part had the utilisation `use`. */
  private learned?: { costs: Record<string, number>; use: number; at: number }
  private timer?: NodeJS.Timeout

  constructor(parts: HeadroomParts) {
    this.parts = parts
    this.last = this.now()
  }

  /** Samples until stop(). */
  start(): void {
    this.timer = setInterval(() => this.sample(), SAMPLE_MS)
    this.timer.unref()
  }
  stop(): void {
    clearInterval(this.timer)
  }

  /** Compares the current values with the last sample. */
  sample(): void {
    const { last } = this
    const now = this.now()
    const seconds = (now.ms - last.ms) / 1000
    if (seconds <= 0) return
    this.last = now
    const rate = (now.requests - last.requests) / seconds
    const shares = Object.entries(now.loads).map(([name, { us, of }]) => {
      const before = last.loads[name]?.us ?? 0
      return [name, Math.max(0, us - before) / 1e6 / seconds / of] as const
    })
    this.rate = smooth(this.rate, rate)
    this.busy = Object.fromEntries(shares.map(([name, share]) => [name, smooth(this.busy[name] ?? 0, share)]))
    this.workRates = Object.fromEntries(
      Object.entries(now.works).map(([work, count]) => [
        work,
        smooth(this.workRates[work] ?? 0, (count - (last.works[work] ?? 0)) / seconds),
      ]),
    )
    const refused = (now.refused - last.refused) / seconds
    if (refused <= MOST_REFUSED * rate)
      this.learn(
        rate,
        shares.filter(([name]) => name !== 'machine'),
      )
  }

  /** Keeps the costs of the busiest sample of a day: the higher the utilisation, the more requests share a commit. Load of other processes is ignored. */
  private learn(rate: number, shares: readonly (readonly [string, number])[]): void {
    const at = this.parts.clock.now()
    const stale = this.learned === undefined || at - this.learned.at > DAY
    const use = Math.max(0, ...shares.map(([, share]) => share))
    if (rate > 0 && use >= MIN_USE && (stale || use >= (this.learned?.use ?? 0)))
      this.learned = { costs: Object.fromEntries(shares.map(([name, share]) => [name, share / rate])), use, at }
  }

  /** The rate at which the first part would be saturated, given what other processes leave of the machine; at least the present rate. */
  private ceilingOf(costs: Readonly<Record<string, number>>): number {
    const { machine = 0, process = 0 } = this.busy
    const left = Math.max(MIN_MACHINE_SHARE, 1 - Math.max(0, machine - process))
    const rates = Object.entries(costs).map(([name, cost]) => (SATURATED * (name === 'process' ? left : 1)) / cost)
    return Math.max(this.rate, Math.min(...rates))
  }

  show(): HeadroomShown {
    const shown = {
      requests_per_s: round(this.rate),
      parts: Object.fromEntries(Object.entries(this.busy).map(([name, share]) => [name, round(share, 3)])),
      busiest: Object.entries(this.busy).reduce<[string, number] | undefined>(
        (most, each) => (most && most[1] >= each[1] ? most : each),
        undefined,
      )?.[0],
    }
    const { knees } = this.parts
    const known = Object.entries(this.workRates).filter(([work]) => knees[work])
    if (Object.keys(knees).length > 0) {
      // Each kind of work uses its share: at half of the maximum rate of one kind, half of the capacity is left for the others.
      const use = known.reduce((sum, [work, rate]) => sum + rate / (knees[work] ?? 1), 0)
      const rate = known.reduce((sum, [, each]) => sum + each, 0)
      // The ceiling depends on the present mix of requests.
      const ceiling = use > 0 ? { ceiling_per_s: round(rate / use) } : {}
      return { ...shown, ...ceiling, use: round(use, 3), source: 'report' }
    }
    if (!this.learned) return { ...shown, source: 'none' }
    const { costs, use, at } = this.learned
    const ceiling = this.ceilingOf(costs)
    return {
      ...shown,
      ceiling_per_s: round(ceiling),
      use: round(this.rate / ceiling, 3),
      source: 'traffic',
      measured_at: at,
      measured_use: round(use, 3),
    }
  }

  private now(): LoadSamples {
    const { metrics, nowMs = () => performance.now(), loads = ownLoads } = this.parts
    const works: Record<string, number> = {}
    const add = (work: string | undefined, count: number) => {
      if (work) works[work] = (works[work] ?? 0) + count
    }
    let [requests, refused] = [0, 0]
    for (const { labels, held } of metrics.counted('core_tokens_issued_total'))
      add(WORK_OF_GRANT[labels['grant_type'] as GrantLabel], held.value)
    for (const { labels, held } of metrics.counted('core_http_requests_total')) {
      const path = labels['path'] ?? ''
      if (ADMIN.test(path)) continue
      if (REFUSED.includes(labels['status'] ?? '')) {
        refused += held.value
        continue
      }
      requests += held.value
      if (labels['method'] === 'POST') add(WORK_OF_PATH[path], held.value)
    }
    return { ms: nowMs(), requests, refused, works, loads: loads() }
  }
}

const smooth = (before: number, now: number): number => before + WEIGHT * (now - before)
const round = (value: number, digits = 1): number => Number(value.toFixed(digits))
