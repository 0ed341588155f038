// The comparison of a plan with the measurement of its mix, in words.
import { digits, whole } from '../report/figures.ts'
import type { Report } from '../report/report.ts'
import { HEADROOM, MOST_OFF } from './notes.ts'

const percent = (share: number) => `${(100 * share).toFixed(0)} %`
const offBy = (predicted: number, measured: number) => predicted / measured - 1
const say = (off: number) => `${percent(Math.abs(off))} too ${off < 0 ? 'low' : 'high'}`

/** The deviation of a plan from the measurement, and whether it is within the accepted deviation. `speeds` are those of the run. */
export function planVerdict(check: NonNullable<Report['plan_check']>, speeds: Report['speeds'] = []): string {
  const { mix, rate_per_s, kept, p99_ms, predicted_cpu_us, measured_cpu_us } = check
  const { predicted_knee_per_s, measured_knee_per_s } = check
  const cost = measured_cpu_us ? offBy(predicted_cpu_us, measured_cpu_us) : undefined
  const rate = measured_knee_per_s ? offBy(predicted_knee_per_s, measured_knee_per_s) : undefined
  const beyond = Object.entries({ cost, rate }).filter(([, off]) => Math.abs(off ?? 0) > MOST_OFF)
  const names = beyond.map(([name]) => name).join(' and the ')
  return [
    `The plan, computed from the parts, says that a request of ${mix} at ${whole(rate_per_s)}/s costs ${whole(predicted_cpu_us)} us; measured at that rate, it cost ${whole(measured_cpu_us)} us${cost === undefined ? '' : ` (${say(cost)})`}, p99 ${digits(p99_ms, 1)} ms, ${kept ? 'within' : 'OUTSIDE'} the objective.`,
    measured_knee_per_s
      ? `The plan has ${whole(predicted_knee_per_s)}/s per instance, and the mix kept the objective up to ${whole(measured_knee_per_s)}/s (${say(rate ?? 0)}).`
      : `The plan has ${whole(predicted_knee_per_s)}/s per instance, and the mix did not keep the objective at any rate: the plan does not hold.`,
    beyond.length > 0
      ? `The ${names} ${beyond.length > 1 ? 'are' : 'is'} beyond the accepted deviation of ${percent(MOST_OFF)}: do not plan from this report; measure again on an idle machine.`
      : cost !== undefined && rate !== undefined
        ? `Both are within the accepted deviation of ${percent(MOST_OFF)}.`
        : '',
    speeds.length > 1
      ? `The machine itself made ${whole(Math.min(...speeds))} to ${whole(Math.max(...speeds))} signatures/s during the run (${percent(1 - Math.min(...speeds) / Math.max(...speeds))} between its slowest and its fastest moment), so service plan counts on ${whole(rate_per_s / (1 - HEADROOM))}/s.`
      : '',
  ]
    .filter(Boolean)
    .join(' ')
}
