// A plan as text, with the formula behind every number.
import { whole } from '../report/figures.ts'
import type { Report } from '../report/report.ts'
import { aligned } from '../report/table.ts'
import type { Costs } from './costs.ts'
import type { PlanInput } from './input.ts'
import type { Limit } from './limits.ts'
import type { Plan } from './types.ts'

const short = (value: number) => (value >= 100 ? whole(value) : value.toFixed(value >= 10 ? 1 : 2))

/** Renders a plan as text. `file` is the file of the report. */
export function renderPlan(
  plan: Plan,
  input: PlanInput,
  { machine, created_at, version }: Report,
  file: string,
): string {
  const { rate, store, alg, mix, sloMs } = input
  return [
    `${whole(rate)} requests/s (${mix.map(({ work, share }) => `${work.name} ${share}`).join(', ')}), p99 within ${sloMs} ms, ${store}, ${alg}`,
    `from ${file}, a run of ${version} on ${created_at.slice(0, 10)}: ${machine.cores} x ${machine.model}`,
    '',
    ...resourceRows(plan, input),
    '',
    ...capacityRows(plan),
    '',
    'Cost of a request at the knees, from which the capacity of an instance is computed:',
    costsTable(plan, 'costs_at_knee'),
    '',
    `Cost of a request at the ${whole(rate / plan.instances)}/s of each instance, from which the other numbers are computed:`,
    costsTable(plan, 'costs'),
    '',
    ...plan.warnings.map((text) => `note: ${text}`),
  ].join('\n')
}

const row = (what: string, value: string, formula: string) => `${what.padEnd(30)} ${value.padStart(14)}   ${formula}`

/** What the load needs: a line for each resource, with its formula. */
function resourceRows(plan: Plan, input: PlanInput): string[] {
  const { costs } = plan
  const { rate, average, headroom, retentionDays, cores, frontThreads, store } = input
  const isPostgres = store === 'postgres'
  const fronts = frontThreads > 1 ? ` and ${frontThreads} front threads` : ''
  const perInstance = `(${whole(plan.capacity_per_s)} x ${(1 - headroom).toFixed(2)} after headroom)`
  const database = row(
    'database processors',
    short(plan.database_cores),
    `${whole(rate)}/s x ${costs.database_us.toFixed(1)} us`,
  )
  const wal = isPostgres ? ' of write-ahead log; the tables are written at checkpoints' : ''
  return [
    row('instances', `${plan.instances}`, `${whole(rate)} / ${perInstance}, with ${cores} processors each${fronts}`),
    row('processors in use', short(plan.cores), `${whole(rate)}/s x ${costs.total_us.toFixed(1)} us`),
    row('memory', `${whole(plan.memory_mib)} MiB`, 'measured peak x instances'),
    ...(isPostgres ? [database] : []),
    row(
      'writes forced to disk',
      `${short(plan.fsyncs_per_s)}/s`,
      `${whole(rate)}/s x ${costs.fsyncs.toFixed(3)}; fewer per request at higher rates, because requests share commits`,
    ),
    row(
      'written to disk',
      `${short(plan.written_mb_per_s)} MB/s`,
      `${whole(rate)}/s x ${whole(costs.written_bytes)} bytes${wal}`,
    ),
    row(
      'growth',
      `${short(plan.gb_per_day)} GB/day`,
      `${whole(average)}/s x 86,400 s x ${whole(costs.database_bytes)} bytes`,
    ),
    row(
      'kept',
      `${short(plan.retained_gb)} GB`,
      `${retentionDays} days of growth; then service purge --only issuances and --only audit-events must delete the record`,
    ),
  ]
}

/** What one instance serves, and what limits it. */
function capacityRows(plan: Plan): string[] {
  const { limits, use, mixed_share, worst_speed } = plan
  const [first, second] = limits
  const bottleneck = `The first bottleneck${first?.shared ? `, at ${atRate(first)}` : ''}: ${first?.what ?? 'none'}`
  const next = second ? `; the second, at ${atRate(second)}: ${second.what}.` : '.'
  return [
    `One instance serves ${whole(plan.capacity_per_s)}/s within the latency objective. ${bottleneck}${next}`,
    ...limits.map((limit) => row(`  ${limit.what}`, atRate(limit), limit.formula)),
    `The measured machine serves ${whole(plan.measured_knee_per_s)}/s of this mix, with the load generator on it: 1 / sum(share / knee).`,
    `${use.toFixed(2)} is the utilisation of its busiest part at that rate, ${plan.use_of}. An instance may use each of its parts up to that. It does not include what the load generator and other programs used, because the measurement does not show that the service could have used it.`,
    ...(mixed_share < 1
      ? [
          `One process that serves several kinds of requests uses more CPU for each than with one kind alone. The capacity of an instance is the first limit x ${mixed_share.toFixed(2)}.`,
        ]
      : []),
    ...(worst_speed < 1
      ? [
          `The speed of the machine varied during the run: in its slowest moment it made ${worst_speed.toFixed(2)} of its median signatures per second. The capacity of an instance is multiplied by ${worst_speed.toFixed(2)}.`,
        ]
      : []),
  ]
}

/** The rate at which a part is saturated: of one instance, or of all instances that share it. */
const atRate = ({ per_s, shared }: Limit) =>
  Number.isFinite(per_s) ? `${whole(per_s)}/s${shared ? ' in all' : ''}` : 'no limit measured'

const COLUMNS: readonly (readonly [title: string, name: keyof Costs, digits: number])[] = [
  ['front us', 'front_us', 1],
  ['crypto us', 'crypto_us', 1],
  ['storage us', 'store_us', 1],
  ['total us', 'total_us', 1],
  ['database us', 'database_us', 1],
  ['growth B', 'database_bytes', 0],
  ['written B', 'written_bytes', 0],
  ['forced writes', 'fsyncs', 3],
]

/** The computation of every cost: a line for each workload, and the sum of share x cost. */
function costsTable(plan: Plan, which: 'costs' | 'costs_at_knee'): string {
  const figures = (costs: Costs) => COLUMNS.map(([, name, digits]) => costs[name].toFixed(digits))
  const lines = plan.parts.map((part) => [
    ...[part.work, part.share.toFixed(4), whole(part.knee_per_s)],
    ...figures(part[which]),
  ])
  const header = ['workload', 'share', 'knee/s', ...COLUMNS.map(([title]) => title)]
  const sum = ['sum of share x cost', '1', whole(plan.measured_knee_per_s), ...figures(plan[which])]
  return aligned([header, ...lines, sum], new Set([0]))
}
