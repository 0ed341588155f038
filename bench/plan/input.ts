// The input of the planner.
import type { Report } from '../report/report.ts'
import type { Mix } from '../run/scenarios.ts'
import type { AlgName, StoreName } from '../run/settings.ts'

export interface PlanInput {
  /** Requests per second at peak load. */
  rate: number
  /** Requests per second on average, for the growth of the database. */
  average: number
  mix: Mix
  sloMs: number
  store: StoreName
  alg: AlgName
  /** Processors of an instance. */
  cores: number
  /** `server.front_threads` of an instance. */
  frontThreads: number
  /** Share of the capacity that is kept free, such as 0.3. */
  headroom: number
  retentionDays: number
  /** The machine that runs the planner. A note states when the report is of another machine. */
  here?: Pick<Report['machine'], 'model' | 'cores'>
}
