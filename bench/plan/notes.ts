// The notes of a plan: where its numbers are not reliable, and why.
import { DEFAULT_REQUEST_RATE } from '../../src/config/rate_limit_keys.ts'
import { whole } from '../report/figures.ts'
import type { Report } from '../report/report.ts'
import { FOREIGN } from '../run/sample.ts'
import { type Mix, parseMix, sumOf } from '../run/scenarios.ts'
import { keptOf } from './costs.ts'
import type { PlanInput } from './input.ts'
import type { Knee } from './limits.ts'
import type { Plan } from './types.ts'

type Note = readonly [applies: boolean, say: string]
type Planned = Pick<
  Plan,
  | 'capacity_per_s'
  | 'instances'
  | 'measured_knee_per_s'
  | 'mixed_share'
  | 'limits'
  | 'database_cores'
  | 'fsyncs_per_s'
  | 'written_mb_per_s'
>

/** Share of the capacity that the verification of a plan keeps free, as operators do. */
export const HEADROOM = 0.3

/** Accepted deviation of a plan. Beyond it, the machine was not idle, or the mix behaves differently from its parts. */
export const MOST_OFF = 0.15

/** The notes of a plan. */
export function notesOf(report: Report, input: PlanInput, knees: readonly Knee[], planned: Planned): string[] {
  const { store, sloMs } = input
  const { machine, settings, partial } = report
  const notes: Note[] = [
    ...knees.map((knee) => aboutOthers(knee, machine.cores)),
    ...aboutMeasuredMix(report, input, planned),
    ...aboutDatabase(input, planned, machine.cores),
    aboutShares(input.mix),
    aboutLimit(input),
    aboutMachine(machine, input.here),
    [
      store === 'sqlite' && planned.instances > 1,
      'SQLite is for one instance: plan with --store postgres, or a larger machine',
    ],
    [planned.instances === 1, 'a single instance has no redundancy: run two when an outage matters'],
    [settings.smoke, 'the report is of a smoke run, whose results say nothing about speed'],
    [partial, 'the report is of a run that was interrupted'],
    [machine.tmpfs, 'the report was measured on tmpfs, where a commit costs nothing'],
    [machine.load_average > machine.cores / 4, 'the machine of the report was busy with other work at the start'],
    ...aboutShape(input, machine.cores, planned),
    [
      sloMs < settings.slo_p99_ms / 4,
      'the objective is much tighter than the objective of the report, which measured few rates in that range',
    ],
  ]
  return notes.filter(([applies]) => applies).map(([, say]) => say)
}

/** The default limit on all requests is below most planned rates. */
const aboutLimit = ({ rate }: PlanInput): Note => [
  rate > DEFAULT_REQUEST_RATE,
  `the default of rate_limit.requests_per_second is ${DEFAULT_REQUEST_RATE} for all callers together: set it, and rate_limit.burst, above the peak of all requests, at least ${whole(rate)}`,
]

/** All instances share one database. When it is saturated, more instances do not help. */
function aboutDatabase(
  { store, rate }: PlanInput,
  { limits, database_cores, fsyncs_per_s, written_mb_per_s }: Planned,
  cores: number,
): Note[] {
  const used = limits.filter(({ shared, per_s }) => shared && per_s < rate)
  const what = used.map(({ what, per_s }) => `${what} at ${whole(per_s)}/s`).join(', ')
  const needs = `${database_cores.toFixed(1)} processors, ${whole(fsyncs_per_s)} forced writes/s and ${written_mb_per_s.toFixed(1)} MB/s`
  return [
    [
      used.length > 0,
      `all instances share one database, from which the plan needs ${needs}: a machine like the one of the report, with ${cores} processors, is saturated before that (${what}); a larger machine was not measured, and at higher rates more commits share a forced write`,
    ],
    [
      store === 'postgres' && database_cores === 0,
      'the report does not show what the database used: the plan does not include its processors',
    ],
  ]
}

function aboutShares(mix: Mix): Note {
  const sum = sumOf(mix)
  const parts = mix.map(({ work, share }) => `${work.name} ${((100 * share) / sum).toFixed(1)} %`).join(', ')
  return [
    Math.abs(sum - 100) > SHARES,
    `the shares of the mix add up to ${Number(sum.toFixed(3))}, not 100: interpreted as ${parts}`,
  ]
}
/** Rounding of shares such as 33.33. */
const SHARES = 0.05

const aboutMachine = (machine: Report['machine'], here: PlanInput['here']): Note => [
  here !== undefined && (here.model !== machine.model || here.cores !== machine.cores),
  `the report is of another machine, ${machine.cores} x ${machine.model}; this one is ${here?.cores} x ${here?.model}`,
]

/** Processors that other programs used at a knee were not available to the service, and these programs shared its caches and clock rate. */
const aboutOthers = ({ work, sample: { busy, per_s } }: Knee, cores: number): Note => [
  (busy.foreign ?? 0) > FOREIGN.said * cores,
  `other programs used ${(busy.foreign ?? 0).toFixed(2)} of the ${cores} processors at the knee of ${work} (${whole(per_s)}/s): the knee and the costs are those of a busy machine; measure again on an idle machine`,
]

function aboutShape(
  { cores, frontThreads }: PlanInput,
  measured: number,
  { capacity_per_s, measured_knee_per_s, mixed_share }: Planned,
): Note[] {
  const shown = measured_knee_per_s * mixed_share
  return [
    [
      frontThreads > 1,
      'measured with one front thread: the capacity of several, and of the supervisor thread, is computed',
    ],
    [cores !== measured, `measured with ${measured} processors: the capacity of ${cores} is computed, not measured`],
    [
      capacity_per_s > shown * ROUNDING,
      `${whole(capacity_per_s)}/s per instance is more than the ${whole(shown)}/s that the knees of the report show: it is computed, not measured`,
    ],
  ]
}
const ROUNDING = 1.001

/** A report of `bench --mix` has a measurement of the mix itself. A note states it when the plan, computed from the parts, promises more. */
function aboutMeasuredMix(report: Report, input: PlanInput, { capacity_per_s }: Planned): Note[] {
  const name = report.results.find(({ work }) => isSameMix(work, input.mix))?.work
  if (!name) return []
  let measured: number
  try {
    measured = keptOf(report, name, input).at(-1)?.per_s ?? 0
  } catch (error) {
    return [[true, `the report measured this mix, but has no knee for it: ${(error as Error).message}`]]
  }
  // Rounded up: rounded down, the capacity would be too small.
  const headroom = Math.ceil(100 * (1 - ((1 - input.headroom) * measured) / capacity_per_s)) / 100
  const over = capacity_per_s / measured - 1
  return [
    [
      over > 0.005,
      `the report measured this mix: it kept the objective up to ${whole(measured)}/s, and the ${whole(capacity_per_s)}/s planned from its parts are ${(100 * over).toFixed(0)} % more${over > MOST_OFF ? `, beyond the ${100 * MOST_OFF} % accepted deviation of a plan` : ''}; use --headroom ${headroom.toFixed(2)} to plan for the measured rate`,
    ],
  ]
}

const MIX = 'mix '
function isSameMix(work: string, mix: Mix): boolean {
  if (!work.startsWith(MIX)) return false
  try {
    return sharesOf(parseMix(work.slice(MIX.length))) === sharesOf(mix)
  } catch {
    // A report of another version may have workloads that this version does not have.
    return false
  }
}

/** Shares as text, equal for equal mixes, however they are written. */
function sharesOf(mix: Mix): string {
  const total = sumOf(mix)
  return mix
    .map(({ work, share }) => `${work.name} ${(share / total).toFixed(6)}`)
    .sort()
    .join()
}
