// A plan as text, with the formula behind every figure.
import type { Plan, PlanInput } from './plan.ts'
import type { Report } from './report.ts'

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
const short = (value: number) => (value >= 100 ? whole.format(value) : value.toFixed(value >= 10 ? 1 : 2))

/** Renders a plan for a person. */
export function renderPlan(plan: Plan, input: PlanInput, { machine, created_at, version }: Report): string {
  const { costs, limits, use } = plan
  const { rate, average, headroom, retentionDays, cores, frontThreads, store, alg, mix, sloMs } = input
  const [first, second] = limits
  const row = (what: string, value: string, formula: string) => `${what.padEnd(22)} ${value.padStart(14)}   ${formula}`
  return [
    `${whole.format(rate)} requests/s (${mix.map(({ work, share }) => `${work.name} ${share}`).join(', ')}), p99 within ${sloMs} ms, ${store}, ${alg}`,
    `from a run of ${version} on ${created_at.slice(0, 10)}: ${machine.cores} x ${machine.model}`,
    '',
    row(
      'instances',
      `${plan.instances}`,
      `${whole.format(rate)} / (${whole.format(plan.capacity_per_s)} x ${(1 - headroom).toFixed(2)} kept free of peaks), each of ${cores} processors${frontThreads > 1 ? ` and ${frontThreads} front threads` : ''}`,
    ),
    row('processors in use', short(plan.cores), `${whole.format(rate)}/s x ${costs.total_us.toFixed(1)} us`),
    row('memory', `${whole.format(plan.memory_mib)} MiB`, 'the highest that was seen, times the instances'),
    ...(store === 'postgres'
      ? [
          row(
            'database processors',
            short(plan.database_cores),
            `${whole.format(rate)}/s x ${costs.database_us.toFixed(1)} us`,
          ),
        ]
      : []),
    row(
      'writes forced to disk',
      `${short(plan.fsyncs_per_s)}/s`,
      `${whole.format(rate)}/s x ${costs.fsyncs.toFixed(3)}; fewer a request the higher the rate, because commits are shared`,
    ),
    row(
      'growth',
      `${short(plan.gb_per_day)} GB/day`,
      `${whole.format(average)}/s x 86,400 s x ${whole.format(costs.database_bytes)} bytes`,
    ),
    row(
      'kept',
      `${short(plan.retained_gb)} GB`,
      `${retentionDays} days of it, until service purge deletes what has expired`,
    ),
    '',
    `One instance does ${whole.format(plan.capacity_per_s)}/s before its p99 leaves the objective. What gives way first: ${first?.what ?? 'nothing'}` +
      (second ? `; next, at ${whole.format(second.per_s)}/s: ${second.what}.` : '.'),
    ...limits.map(({ what, per_s, formula }) => row(`  ${what}`, `${whole.format(per_s)}/s`, formula)),
    `${use.toFixed(2)} is how busy the busiest part of the service was, the least of the knees: ${plan.use_of.part} at that of ${plan.use_of.work}. What the load generator and other programs used is not in it: nobody saw the service have it.`,
    `The knees of the report, load generator beside it, make ${whole.format(plan.measured_knee_per_s)}/s: 1 / sum(share / knee).`,
    ...plan.warnings.map((text) => `note: ${text}`),
  ].join('\n')
}
