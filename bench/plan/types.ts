import type { Costs } from './costs.ts'
import type { Limit, PlannedUse } from './limits.ts'

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
  use_of: Omit<PlannedUse, 'share'>
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
