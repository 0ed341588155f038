// How much more this process could do: how busy each of its parts is, and the rate at which the busiest one would be full. With
// the rates that a benchmark found on this machine, use is told against those.
import { type Clock, DAY } from '../lib/time.ts'
import type { Metrics } from './metrics.ts'
import { CORES, machineMicros, threadMicros } from './proc.ts'

/** Busy microseconds since the start, and how many workers share them. */
export interface LoadSample {
  us: number
  of: number
}
/** Parts of the service by their names; `process` is all of it, and `machine` whatever runs there. */
export type Loads = Readonly<Record<string, LoadSample>>

export interface HeadroomShown {
  /** Answers of the public listener a second, lately. */
  requests_per_s: number
  /** Share of its time that each part is busy, lately: 1 is full. */
  parts: Record<string, number>
  busiest?: string
  /** The rate at which the objective would be missed, or the busiest part would be full. Absent before it was measured. */
  ceiling_per_s?: number
  /** Share of the ceiling that is in use. */
  use?: number
  /** Where the ceiling is from: a report of `service bench`, or the busiest time of the last day. */
  source: 'report' | 'traffic' | 'none'
  /** Epoch seconds, and how busy the busiest part was then, where the ceiling is from traffic. */
  measured_at?: number
  measured_use?: number
}

interface HeadroomParts {
  metrics: Pick<Metrics, 'counted'>
  clock: Clock
  /** Requests a second that a benchmark found for each kind of work; empty without a report. */
  knees: Readonly<Record<string, number>>
  /** Milliseconds that only go forward, and what the parts have done so far. Those of this process unless a test brings others. */
  nowMs?: () => number
  loads?: () => Loads
}

const LOOK_MS = 5000
/** A part that is busier than this answers late. */
const FULL = 0.9
/** Below this use the cost of a request is mostly that of being there: it says nothing about a ceiling. */
const LEAST_USE = 0.05
/** Whatever else runs on the machine, the scheduler leaves the service about so much of it. */
const LEAST_ROOM = 0.5
/** The weight of the newest look. */
const WEIGHT = 0.3

/** What each kind of traffic is called in a report: by the label of its grant, and by the path of a POST. */
const WORK_OF_GRANT: Readonly<Record<string, string>> = {
  client_credentials: 'client_credentials',
  authorization_code: 'authorization_code',
  refresh_token: 'refresh_token',
  token_exchange: 'exchange, new tokens',
  jwt_bearer: 'xaa',
}
const WORK_OF_PATH: Readonly<Record<string, string>> = {
  '/oauth/introspect': 'introspection, new tokens',
  '/oauth/revoke': 'revocation',
  '/login': 'login',
}
const ADMIN = /^\/(admin|metrics)/

/** Threads of this process by their names, and the machine they share. Empty where the system does not tell. */
function ownLoads(): Loads {
  const loads: Record<string, LoadSample> = {}
  let own = 0
  for (const [tid, { role, us }] of threadMicros(process.pid)) {
    own += us
    if (role === 'other' && tid !== process.pid) continue
    const name = role === 'other' ? 'hub' : role
    const load = loads[name] ?? { us: 0, of: 0 }
    loads[name] = { us: load.us + us, of: load.of + 1 }
  }
  const machine = machineMicros()
  if (Number.isNaN(machine)) return loads
  return { ...loads, process: { us: own, of: CORES }, machine: { us: machine, of: CORES } }
}

interface Look {
  ms: number
  requests: number
  works: Record<string, number>
  loads: Loads
}

/** Looks every five seconds; show() tells what it saw. */
export class Headroom {
  private readonly parts: HeadroomParts
  private last: Look
  private rate = 0
  private workRates: Record<string, number> = {}
  private busy: Record<string, number> = {}
  /** What a request takes of each part, in seconds of all of it, when the busiest one was so busy. */
  private learned?: { costs: Record<string, number>; use: number; at: number }
  private timer?: NodeJS.Timeout

  constructor(parts: HeadroomParts) {
    this.parts = parts
    this.last = this.now()
  }

  /** Begins to look; stop() ends it. */
  start(): void {
    this.timer = setInterval(() => this.look(), LOOK_MS)
    this.timer.unref()
  }
  stop(): void {
    clearInterval(this.timer)
  }

  /** Compares now with the last look. */
  look(): void {
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
    this.learn(
      rate,
      shares.filter(([name]) => name !== 'machine'),
    )
  }

  /** The busiest look of a day says most about the ceiling: the busier, the more requests share a commit. What others do says nothing. */
  private learn(rate: number, shares: readonly (readonly [string, number])[]): void {
    const at = this.parts.clock.now()
    const stale = this.learned === undefined || at - this.learned.at > DAY
    const use = Math.max(0, ...shares.map(([, share]) => share))
    if (rate > 0 && use >= LEAST_USE && (stale || use >= (this.learned?.use ?? 0)))
      this.learned = { costs: Object.fromEntries(shares.map(([name, share]) => [name, share / rate])), use, at }
  }

  /** The rate at which the first part would be full, with what others leave of the machine now; no less than what is borne. */
  private ceilingOf(costs: Readonly<Record<string, number>>): number {
    const { machine = 0, process = 0 } = this.busy
    const left = Math.max(LEAST_ROOM, 1 - Math.max(0, machine - process))
    const rates = Object.entries(costs).map(([name, cost]) => (FULL * (name === 'process' ? left : 1)) / cost)
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
      // Each kind of request takes its share: at half the knee of one kind, half of the machine is left for the others.
      const use = known.reduce((sum, [work, rate]) => sum + rate / (knees[work] ?? 1), 0)
      const rate = known.reduce((sum, [, each]) => sum + each, 0)
      // Which of them is the ceiling depends on what is asked.
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

  private now(): Look {
    const { metrics, nowMs = () => performance.now(), loads = ownLoads } = this.parts
    const works: Record<string, number> = {}
    const add = (work: string | undefined, count: number) => {
      if (work) works[work] = (works[work] ?? 0) + count
    }
    let requests = 0
    for (const { labels, held } of metrics.counted('core_tokens_issued_total'))
      add(WORK_OF_GRANT[labels['grant_type'] ?? ''], held.value)
    for (const { labels, held } of metrics.counted('core_http_requests_total')) {
      const path = labels['path'] ?? ''
      if (ADMIN.test(path)) continue
      requests += held.value
      if (labels['method'] === 'POST') add(WORK_OF_PATH[path], held.value)
    }
    return { ms: nowMs(), requests, works, loads: loads() }
  }
}

const smooth = (before: number, now: number): number => before + WEIGHT * (now - before)
const round = (value: number, digits = 1): number => Number(value.toFixed(digits))
