// What the planner is asked.
import type { Report } from '../report/report.ts'
import type { Mix } from '../run/scenarios.ts'
import type { AlgName, StoreName } from '../run/settings.ts'

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
