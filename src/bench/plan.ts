// The planner: from what each kind of request was measured to cost, what a load of many kinds needs, and what gives way first.
import { DAY } from '../lib/time.ts'
import { type Costs, costsAtKnees, costsAtRate, keptOf, together } from './plan_costs.ts'
import {
  databaseUse,
  diskSeen,
  heldToKnees,
  type Limit,
  limitsOf,
  measuredRate,
  sharedLimits,
  type Use,
  useAtKnees,
  weakestFirst,
} from './plan_limits.ts'
import { notesOf } from './plan_notes.ts'
import type { Report } from './report.ts'
import type { Sample } from './sample.ts'
import { type Mix, sumOf } from './scenarios.ts'
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
  /** The machine that the plan is made on: where the report is of another one, that is said. */
  here?: Pick<Report['machine'], 'model' | 'cores'>
}

/** A kind of request in a plan: the sum of share x cost over all of them is what a request of the mix costs. */
export interface PlannedPart {
  work: string
  /** All together 1. */
  share: number
  knee_per_s: number
  costs_at_knee: Costs
  /** At the rate of each instance. */
  costs: Costs
}

export interface Plan {
  parts: readonly PlannedPart[]
  /** At the knees: what an instance can do is worked out from these. */
  costs_at_knee: Costs
  /** At the rate of each instance: what is used is worked out from these. */
  costs: Costs
  /** How busy the busiest part of the service may be before latencies leave the objective, as measured, and where. */
  use: number
  use_of: Omit<Use, 'share'>
  /** The weakest first, as the load of all instances together grows. */
  limits: readonly Limit[]
  /** What the measured machine did with its load generator beside it. */
  measured_knee_per_s: number
  /** What one instance does. */
  capacity_per_s: number
  instances: number
  cores: number
  memory_mib: number
  database_cores: number
  fsyncs_per_s: number
  written_mb_per_s: number
  gb_per_day: number
  retained_gb: number
  warnings: readonly string[]
}

const MEGA = 1e6

/** Plans from a report. Throws when it lacks a work of the mix, or none of its rates kept the objective. */
export function plan(report: Report, input: PlanInput): Plan {
  const { rate, mix, headroom } = input
  const { machine, calibration } = report
  const shares = sumOf(mix)
  const parts = mix.map(({ work, share }) => ({
    ...{ work: work.name, share: share / shares },
    samples: keptOf(report, work.name, input),
  }))
  const knees = parts.map(({ samples, ...each }) => ({ ...each, sample: samples.at(-1) as Sample }))
  const { share: use, ...useOf } = useAtKnees(knees, machine.cores)
  const isLarger = input.cores > machine.cores || input.frontThreads > 1
  const atKnees = costsAtKnees(parts)
  const costsAtKnee = together(atKnees)
  const computed = limitsOf(costsAtKnee, input, { use, fsyncs: calibration.fsync_per_s ?? 0 })
  const own = heldToKnees(computed, knees, isLarger)
  const capacity = own[0]?.per_s ?? 0
  const instances = Math.ceil(rate / (capacity * (1 - headroom)))
  const atRate = costsAtRate(parts, rate / instances)
  const costs = together(atRate)
  const seen = { ...diskSeen(knees, calibration.fsync_per_s), cores: machine.cores }
  const shared =
    input.store === 'postgres' ? sharedLimits(costs, { ...seen, use: databaseUse(knees, machine.cores, use) }) : []
  const stored = (input.average * DAY * costs.database_bytes) / 1e9
  const planned = {
    limits: weakestFirst([...own, ...shared], instances),
    measured_knee_per_s: measuredRate(knees),
    capacity_per_s: capacity,
    instances,
    database_cores: (rate * costs.database_us) / MEGA,
    fsyncs_per_s: rate * costs.fsyncs,
    written_mb_per_s: (rate * costs.written_bytes) / MEGA,
  }
  return {
    parts: atRate.map(({ work, share, samples, costs }, i) => ({
      ...{ work, share, knee_per_s: samples.at(-1)?.per_s ?? 0 },
      ...{ costs_at_knee: atKnees[i]?.costs ?? costs, costs },
    })),
    costs_at_knee: costsAtKnee,
    costs,
    use,
    use_of: useOf,
    ...planned,
    cores: (rate * costs.total_us) / MEGA,
    memory_mib: instances * Math.max(...knees.map(({ sample }) => sample.memory_mib.peak ?? 0)),
    gb_per_day: stored,
    retained_gb: stored * input.retentionDays,
    warnings: notesOf(report, input, knees, planned),
  }
}
