// Verifies the planner: plans a mix from its parts, measures the mix at the planned rate, and records the deviation.
import { addStep, keeps } from '../load/knee.ts'
import type { Report, WorkResult } from '../report/report.ts'
import type { Sample } from '../run/sample.ts'
import type { Mix } from '../run/scenarios.ts'
import { HEADROOM } from './notes.ts'
import { plan } from './plan.ts'

/**
 * Plans the rate of one instance from the parts of the mix in the report, and measures the mix at this rate with `run`. `result` is
 * the result of the mix, to whose ladder the sample is added. Returns undefined when the mix or one of its parts was not completely
 * measured.
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
      mix,
      rate,
      average: rate,
      sloMs,
      store,
      alg,
      cores: report.machine.cores,
      frontThreads: 1,
      headroom: HEADROOM,
      retentionDays: 1,
    })
  let rate: number
  try {
    // The capacity that service plan computes for an instance on the measured machine.
    rate = (1 - HEADROOM) * planFor(1).capacity_per_s
  } catch {
    return undefined
  }
  const sample = await run(rate)
  // A disturbance may have made the measured knee too low: this rate counts when it met the objective.
  addStep(result, sample, sloMs)
  const { costs, measured_knee_per_s, mixed_share } = planFor(rate)
  return {
    mix: result.work,
    rate_per_s: rate,
    kept: keeps(sample, sloMs),
    p99_ms: sample.latency_ms.p99,
    predicted_cpu_us: costs.total_us,
    measured_cpu_us: sample.cpu_us.total,
    predicted_knee_per_s: measured_knee_per_s * mixed_share,
    measured_knee_per_s: result.knee?.per_s ?? null,
  }
}
