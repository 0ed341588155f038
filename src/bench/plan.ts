// The planner: from what each kind of request was measured to cost, what a load of many kinds needs, and what gives way first.
import { keeps } from './knee.ts'
import type { Report } from './report.ts'
import { MOST_ROWS, type Sample } from './sample.ts'
import type { Mix } from './scenarios.ts'
import type { AlgName, StoreName } from './settings.ts'

export interface PlanInput {
  /** Requests a second at the peak. */
  rate: number
  /** Requests a second on average, for what is stored. */
  average: number
  mix: Mix
  sloMs: number
  store: StoreName
  alg: AlgName
  /** Processors of an instance. */
  cores: number
  /** Share of the capacity that stays free: 0.3. */
  headroom: number
  retentionDays: number
}

/** What one request of the mix costs, microseconds of CPU and bytes. */
export interface Costs {
  front_us: number
  crypto_us: number
  store_us: number
  total_us: number
  database_us: number
  database_bytes: number
  written_bytes: number
  fsyncs: number
}
export interface Limit {
  what: string
  /** Requests a second at which it is used up to `use`. */
  per_s: number
  formula: string
}
export interface Plan {
  costs: Costs
  /** How busy the busiest part may be before latencies leave the objective, as measured. */
  use: number
  /** The weakest first. */
  limits: readonly Limit[]
  /** What the measured machine did with its load generator beside it. */
  measured_knee_per_s: number
  capacity_per_s: number
  instances: number
  cores: number
  memory_mib: number
  database_cores: number
  fsyncs_per_s: number
  gb_per_day: number
  retained_gb: number
  warnings: readonly string[]
}

const MEGA = 1e6
const DAY = 86_400
/** The most that is believed of a part's use: measured shares of short runs go to 1. */
const MOST_USE = 0.9

/** Plans from a report. Throws when it lacks a work of the mix, or none of its rates kept the objective. */
export function plan(report: Report, input: PlanInput): Plan {
  const { rate, mix, sloMs, store, cores, headroom } = input
  const shares = mix.reduce((sum, { share }) => sum + share, 0)
  const parts = mix.map(({ work, share }) => ({ share: share / shares, knee: kneeOf(report, work.name, input) }))
  const weighted = (of: (sample: Sample) => number | null) =>
    parts.reduce((sum, { share, knee }) => sum + share * (of(knee) ?? 0), 0)
  const costs: Costs = {
    front_us: weighted(({ cpu_us }) => cpu_us.front),
    crypto_us: weighted(({ cpu_us }) => cpu_us.crypto),
    store_us: weighted(({ cpu_us }) => cpu_us.store),
    total_us: weighted(({ cpu_us }) => cpu_us.total),
    database_us: weighted(({ cpu_us }) => cpu_us.database),
    database_bytes: weighted(({ database_bytes }) => database_bytes),
    written_bytes: weighted((sample) => sample.log_bytes ?? sample.written_bytes),
    fsyncs: weighted(({ fsyncs }) => fsyncs),
  }
  const use = Math.min(MOST_USE, ...parts.map(({ knee }) => useOf(knee, report.machine.cores)))
  const limits = limitsOf(costs, { use, cores, store, fsyncs: report.calibration.fsync_per_s ?? 0 })
  const capacity = limits[0]?.per_s ?? 0
  const instances = Math.ceil(rate / (capacity * (1 - headroom)))
  const stored = (input.average * DAY * costs.database_bytes) / 1e9
  return {
    costs,
    use,
    limits,
    measured_knee_per_s: 1 / parts.reduce((sum, { share, knee }) => sum + share / knee.per_s, 0),
    capacity_per_s: capacity,
    instances,
    cores: (rate * costs.total_us) / MEGA,
    memory_mib: instances * Math.max(...parts.map(({ knee }) => knee.memory_mib.peak ?? 0)),
    database_cores: (rate * costs.database_us) / MEGA,
    fsyncs_per_s: rate * costs.fsyncs,
    gb_per_day: stored,
    retained_gb: stored * input.retentionDays,
    warnings: warningsOf(report, input, instances, sloMs),
  }
}

/** The highest measured rate of a work that keeps the objective. What a request costs there is what it will cost: at lower rates commits are shared by fewer. */
function kneeOf(report: Report, work: string, { store, alg, sloMs }: PlanInput): Sample {
  const result = report.results.find(
    (each) =>
      each.server === 'service' && each.work === work && each.store === store && each.alg === alg && !each.failed,
  )
  if (!result) throw new Error(`the report has no ${work} with ${store} and ${alg}: take one with service bench`)
  const knee = result.ladder.findLast((sample) => keeps(sample, sloMs))
  if (!knee) throw new Error(`no rate of ${work} in the report kept p99 within ${sloMs} ms`)
  return knee
}

/** How busy the busiest part was at a knee. */
function useOf({ busy, threads }: Sample, cores: number): number {
  const crypto = (busy.crypto ?? 0) / Math.max(1, threads.crypto ?? 1)
  return Math.max(busy.front ?? 0, crypto, busy.store ?? 0, (busy.machine ?? 0) / cores)
}

/** Requests a second of one instance at which each part is used up, the weakest first. */
function limitsOf(
  costs: Costs,
  { use, cores, store, fsyncs }: { use: number; cores: number; store: string; fsyncs: number },
): Limit[] {
  const cryptoThreads = Math.max(1, Math.min(16, cores - 1))
  const limit = (what: string, threads: number, us: number): Limit => ({
    what,
    per_s: us > 0 ? (use * threads * MEGA) / us : Number.POSITIVE_INFINITY,
    formula: `${use.toFixed(2)} x ${threads} / ${us.toFixed(1)} us`,
  })
  return [
    limit('the front thread', 1, costs.front_us),
    limit(`the ${cryptoThreads} crypto thread${cryptoThreads > 1 ? 's' : ''}`, cryptoThreads, costs.crypto_us),
    ...(store === 'sqlite'
      ? [
          limit('the storage thread', 1, costs.store_us),
          {
            what: 'the disk',
            per_s: costs.fsyncs > 0 ? use * fsyncs * MOST_ROWS : Number.POSITIVE_INFINITY,
            formula: `${use.toFixed(2)} x ${Math.round(fsyncs)} forced writes/s x ${MOST_ROWS} rows together`,
          },
        ]
      : []),
    limit(`the ${cores} processors`, cores, costs.total_us),
  ].toSorted((a, b) => a.per_s - b.per_s)
}

function warningsOf(report: Report, { store, cores }: PlanInput, instances: number, sloMs: number): string[] {
  const { machine, settings, partial } = report
  const warnings: [boolean, string][] = [
    [
      store === 'sqlite' && instances > 1,
      'SQLite is for one instance: plan with --store postgres, or a larger machine',
    ],
    [instances === 1, 'one instance is no redundancy: run two where an outage matters'],
    [settings.smoke, 'the report is of a smoke run: its figures mean nothing'],
    [partial, 'the report is of a run that was interrupted'],
    [machine.tmpfs, 'the report was taken on tmpfs, where a commit costs nothing'],
    [machine.load_average > machine.cores / 4, 'the machine of the report was busy with something else'],
    [cores !== machine.cores, `measured with ${machine.cores} processors: what ${cores} do is computed, not measured`],
    [
      sloMs < settings.slo_p99_ms / 4,
      'the objective is much tighter than the one the report looked for: its rates are coarse there',
    ],
  ]
  return warnings.filter(([applies]) => applies).map(([, say]) => say)
}
