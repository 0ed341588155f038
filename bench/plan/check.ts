// Holds the planner against reality: plans a mix from its parts, runs it at the rate of the plan, and says how far off it was.
import { addStep, keeps } from '../load/knee.ts'
import type { Report, WorkResult } from '../report/report.ts'
import type { Sample } from '../run/sample.ts'
import type { Mix } from '../run/scenarios.ts'
import { plan } from './plan.ts'

/** As an operator plans: so much of the capacity stays free. */
const HEADROOM = 0.3

/**
 * Plans the rate of one instance from what the report has of the parts, and has `run` do it (requests a second). `result` is
 * that of the mix itself, whose ladder gets this step. Undefined when it or one of the parts was not measured to the end.
 */
export async function checkPlan(
  report: Report,
  mix: Mix,
  result: WorkResult | undefined,
  run: (rate: number) => Promise<Sample>,
): Promise<Report['plan_check']> {
  if (!result || result.failed || result.store === 'none') return undefined
  const { store, alg } = result
  const sloMs = report.settings.slo_p99_ms
  const planFor = (rate: number) =>
    plan(report, {
      ...{ mix, rate, average: rate, sloMs, store, alg },
      cores: report.machine.cores,
      frontThreads: 1,
      headroom: HEADROOM,
      retentionDays: 1,
    })
  let rate: number
  try {
    // What service plan prints of an instance and sizes by, on the machine that it was measured on.
    rate = (1 - HEADROOM) * planFor(1).capacity_per_s
  } catch {
    return undefined
  }
  const sample = await run(rate)
  // A knee that one bad second found is not below what was kept after it.
  addStep(result, sample, sloMs)
  const { costs, capacity_per_s } = planFor(rate)
  return {
    mix: result.work,
    rate_per_s: rate,
    kept: keeps(sample, sloMs),
    p99_ms: sample.latency_ms.p99,
    predicted_cpu_us: costs.total_us,
    measured_cpu_us: sample.cpu_us.total,
    predicted_knee_per_s: capacity_per_s,
    measured_knee_per_s: result.knee?.per_s ?? null,
  }
}
