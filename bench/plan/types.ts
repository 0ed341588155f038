import type { Costs } from './costs.ts'
import type { Limit } from './limits.ts'

/** A workload of a plan. The cost of a request of the mix is the sum of share x cost over all workloads. */
export interface PlannedPart {
  work: string
  /** Share of the requests; the sum over all workloads is 1. */
  share: number
  knee_per_s: number
  costs_at_knee: Costs
  /** At the rate of each instance. */
  costs: Costs
}

export interface Plan {
  parts: readonly PlannedPart[]
  /** Costs at the knees. The capacity of an instance is computed from them. */
  costs_at_knee: Costs
  /** Costs at the rate of each instance. The resource usage is computed from them. */
  costs: Costs
  /** Utilisation of the busiest part of the measured machine at the measured rate of the mix, and the part. */
  use: number
  use_of: string
  /** In the order in which they are reached as the load of all instances grows. */
  limits: readonly Limit[]
  /** The rate of the measured machine, with the load generator on the same machine. */
  measured_knee_per_s: number
  /** What an instance reaches of the first limit, because it serves several kinds of requests. 1 for one kind. */
  mixed_share: number
  /** The slowest moment of the measured machine in the run, as a share of its median speed. */
  worst_speed: number
  /** Capacity of one instance in the slowest moment. */
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
