// The planner: computes the resources and the first bottleneck of a mix of workloads from the measured cost of each workload.

import { DAY } from '../../src/lib/time.ts'
import type { Report } from '../report/report.ts'
import type { Sample } from '../run/sample.ts'
import { sumOf } from '../run/scenarios.ts'
import { median } from '../statistics.ts'
import { combinedCosts, costsAtKnees, costsAtRate, keptOf } from './costs.ts'
import type { PlanInput } from './input.ts'
import {
  databaseUse,
  diskSeen,
  limitsOf,
  measuredRate,
  mixedShare,
  sharedLimits,
  useAtRate,
  weakestFirst,
} from './limits.ts'
import { notesOf } from './notes.ts'
import type { Plan } from './types.ts'

const MEGA = 1e6
/** Tolerance for rounding errors: a plan for exactly the capacity needs one instance. */
const ROUNDING = 1e-9

/** The slowest moment of the machine in the run, as a share of its median speed: the plan must hold then too. */
function worstSpeed({ speeds = [] }: Report): number {
  return speeds.length > 1 ? Math.min(...speeds) / median(speeds) : 1
}

/** Plans from a report. Throws when the report lacks a workload of the mix, or when none of its rates met the objective. */
export function plan(report: Report, input: PlanInput): Plan {
  const { rate, mix, headroom } = input
  const { machine, calibration } = report
  const shares = sumOf(mix)
  const parts = mix.map(({ work, share }) => ({
    work: work.name,
    share: share / shares,
    samples: keptOf(report, work.name, input),
  }))
  const knees = parts.map(({ samples, ...each }) => ({ ...each, sample: samples.at(-1) as Sample }))
  const atKnees = costsAtKnees(parts)
  const costsAtKnee = combinedCosts(atKnees)
  const measured = measuredRate(knees)
  const { share: use, part: useOf } = useAtRate(
    costsAtKnee,
    { ...input, cores: machine.cores, frontThreads: 1 },
    measured,
  )
  const own = limitsOf(costsAtKnee, input, { use, fsyncs: calibration.fsync_per_s ?? 0 })
  const worst = worstSpeed(report)
  const mixed = mixedShare(knees)
  const capacity = (own[0]?.per_s ?? 0) * mixed * worst
  const instances = Math.ceil(rate / (capacity * (1 - headroom)) - ROUNDING)
  const atRate = costsAtRate(parts, rate / instances)
  const costs = combinedCosts(atRate)
  const seen = { ...diskSeen(knees, calibration.fsync_per_s), cores: machine.cores, measured }
  const shared =
    input.store === 'postgres' ? sharedLimits(costs, { ...seen, use: databaseUse(knees, machine.cores, use) }) : []
  const stored = (input.average * DAY * costs.database_bytes) / 1e9
  const planned = {
    limits: weakestFirst([...own, ...shared], instances),
    measured_knee_per_s: measured,
    mixed_share: mixed,
    worst_speed: worst,
    capacity_per_s: capacity,
    instances,
    database_cores: (rate * costs.database_us) / MEGA,
    fsyncs_per_s: rate * costs.fsyncs,
    written_mb_per_s: (rate * costs.written_bytes) / MEGA,
  }
  return {
    parts: atRate.map(({ work, share, samples, costs }, i) => ({
      work,
      share,
      knee_per_s: samples.at(-1)?.per_s ?? 0,
      costs_at_knee: atKnees[i]?.costs ?? costs,
      costs,
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
