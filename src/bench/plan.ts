// The planner: from what each kind of request was measured to cost, what a load of many kinds needs, and what gives way first.
import { DAY } from '../lib/time.ts'
import { keeps } from './knee.ts'
import { type Costs, costsAtKnee, costsAtRate, type Part } from './plan_costs.ts'
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
  /** `server.front_threads` of an instance. */
  frontThreads: number
  /** Share of the capacity that stays free: 0.3. */
  headroom: number
  retentionDays: number
}

export interface Limit {
  what: string
  /** Requests a second at which it is used up to `use`. */
  per_s: number
  formula: string
}
export interface Plan {
  /** At the rate of the plan. */
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
/** The most that is believed of a part's use: measured shares of short runs go to 1. */
const MOST_USE = 0.9

/** Plans from a report. Throws when it lacks a work of the mix, or none of its rates kept the objective. */
export function plan(report: Report, input: PlanInput): Plan {
  const { rate, mix, headroom } = input
  const shares = mix.reduce((sum, { share }) => sum + share, 0)
  const parts = mix.map(({ work, share }) => ({ share: share / shares, samples: keptOf(report, work.name, input) }))
  const knees = parts.map(({ samples }) => samples.at(-1) as Sample)
  const use = Math.min(MOST_USE, ...knees.map((knee) => useOf(knee, report.machine.cores)))
  const limits = limitsOf(costsAtKnee(parts), input, { use, fsyncs: report.calibration.fsync_per_s ?? 0 })
  const capacity = limits[0]?.per_s ?? 0
  const instances = Math.ceil(rate / (capacity * (1 - headroom)))
  const costs = costsAtRate(parts, rate / instances)
  const stored = (input.average * DAY * costs.database_bytes) / 1e9
  return {
    costs,
    use,
    limits,
    measured_knee_per_s: 1 / parts.reduce((sum, { share }, i) => sum + share / (knees[i] as Sample).per_s, 0),
    capacity_per_s: capacity,
    instances,
    cores: (rate * costs.total_us) / MEGA,
    memory_mib: instances * Math.max(...knees.map(({ memory_mib }) => memory_mib.peak ?? 0)),
    database_cores: (rate * costs.database_us) / MEGA,
    fsyncs_per_s: rate * costs.fsyncs,
    gb_per_day: stored,
    retained_gb: stored * input.retentionDays,
    warnings: warningsOf(report, input, instances),
  }
}

/** What was measured of a work at the rates that keep the objective, the knee last. */
function keptOf(report: Report, work: string, { store, alg, sloMs }: PlanInput): Part['samples'] {
  const result = report.results.find(
    (each) =>
      each.server === 'service' && each.work === work && each.store === store && each.alg === alg && !each.failed,
  )
  if (!result) throw new Error(`the report has no ${work} with ${store} and ${alg}: take one with service bench`)
  const kept = result.ladder.filter((sample) => keeps(sample, sloMs))
  if (kept.length === 0) throw new Error(`no rate of ${work} in the report kept p99 within ${sloMs} ms`)
  return kept
}

/** How busy the busiest part was at a knee. */
function useOf({ busy, threads }: Sample, cores: number): number {
  const crypto = (busy.crypto ?? 0) / Math.max(1, threads.crypto ?? 1)
  return Math.max(busy.front ?? 0, crypto, busy.store ?? 0, (busy.machine ?? 0) / cores)
}

/** Requests a second of one instance at which each part is used up, the weakest first. */
function limitsOf(
  costs: Costs,
  { cores, frontThreads, store }: PlanInput,
  { use, fsyncs }: { use: number; fsyncs: number },
): Limit[] {
  const cryptoThreads = Math.max(1, Math.min(16, cores - 1))
  const limit = (what: string, threads: number, us: number): Limit => ({
    what,
    per_s: us > 0 ? (use * threads * MEGA) / us : Number.POSITIVE_INFINITY,
    formula: `${use.toFixed(2)} x ${threads} / ${us.toFixed(1)} us`,
  })
  return [
    limit(frontThreads > 1 ? `the ${frontThreads} front threads` : 'the front thread', frontThreads, costs.front_us),
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

function warningsOf(report: Report, { store, cores, frontThreads, sloMs }: PlanInput, instances: number): string[] {
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
    [frontThreads > 1, 'measured with one front thread: what several do, and the thread between them, is computed'],
    [cores !== machine.cores, `measured with ${machine.cores} processors: what ${cores} do is computed, not measured`],
    [
      sloMs < settings.slo_p99_ms / 4,
      'the objective is much tighter than the one the report looked for: its rates are coarse there',
    ],
  ]
  return warnings.filter(([applies]) => applies).map(([, say]) => say)
}
