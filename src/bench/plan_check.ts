// Holds the planner against reality: what it says of a mix from its parts, and what the mix did in the same run.
import { plan } from './plan.ts'
import type { Report } from './report.ts'
import { type Mix, mixOf } from './scenarios.ts'

/** Compares the first part of a run. Undefined when the mix or one of its parts was not measured to the end. */
export function checkPlan(report: Report, mix: Mix): Report['plan_check'] {
  const { name } = mixOf(mix)
  const result = report.results.find(({ work, server }) => work === name && server === 'service')
  const knee = result?.knee
  if (!result || !knee || result.store === 'none') return undefined
  try {
    const { measured_knee_per_s, costs } = plan(report, {
      mix,
      rate: knee.per_s,
      average: knee.per_s,
      sloMs: report.settings.slo_p99_ms,
      store: result.store,
      alg: result.alg,
      cores: report.machine.cores,
      headroom: 0,
      retentionDays: 1,
    })
    return {
      mix: name,
      predicted_per_s: measured_knee_per_s,
      measured_per_s: knee.per_s,
      predicted_cpu_us: costs.total_us,
      measured_cpu_us: knee.cpu_us.total ?? 0,
    }
  } catch {
    return undefined
  }
}
