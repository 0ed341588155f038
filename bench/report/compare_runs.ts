// Differences of two runs in machine, settings and calibration, and which of them prevent a comparison.

import { median } from '../statistics.ts'
import { digits } from './figures.ts'
import { middleRound, type Report, resultKey } from './report.ts'

export interface Machines {
  /** Ratio of the signature rates, later to earlier. */
  signs: number
  /** Ratio of the machine speeds, later to earlier: the middle of the calibrations and of the other servers. 1 when the machines are equally fast. */
  speed: number
  /** Relative uncertainty of `speed`; null when calibrations are missing. */
  doubt: number | null
  /** Whether the machines differ so much that rates must be scaled before they are compared. */
  differ: boolean
}
export interface Runs {
  machines: Machines
  /** Differences of machine and settings, in words. */
  differences: string[]
  /** Warnings about either report: smoke run, interrupted, empty. */
  warnings: string[]
  /** Why the reports cannot be compared. */
  doubt?: string
  /** Why the knees cannot be compared. */
  kneeDoubt?: string
}

/** Relative difference of calibrations above which machines count as not equally fast. */
const ALIKE = 0.1
/** Relative uncertainty of a calibration: it is short, and repeated calibrations of one machine differ by this much. */
const MOMENT = 0.2

/** Compares the circumstances of two runs. */
export function compareRuns(before: Report, after: Report): Runs {
  const facts = [factsOf(before), factsOf(after)] as const
  const names = [...new Set(facts.flatMap((each) => Object.keys(each)))]
  const differ = (name: string) => facts[0][name] !== facts[1][name]
  const differing = names.filter(differ)
  const said = { before, after }
  const warnings = Object.entries(said).flatMap(([which, report]) =>
    warningsOf(report).map((text) => `${which}: ${text}`),
  )
  return {
    machines: compareMachines(before, after, differ('CPU') || differ('processors')),
    differences: differing.map(
      (name) => `${name}: ${facts[0][name] ?? 'none'} before, ${facts[1][name] ?? 'none'} after`,
    ),
    warnings,
    doubt: doubtOf(before, after, differing),
    kneeDoubt: differ('objective') ? 'the objectives differ' : undefined,
  }
}

/** Settings that change the workload, so that runs with different values cannot be compared. */
const OTHER_WORK = ['connections', 'machine clients', 'database in memory']

function doubtOf(before: Report, after: Report, differing: readonly string[]): string | undefined {
  if (before.settings.smoke || after.settings.smoke) return 'a smoke run says nothing about speed'
  if (before.partial || after.partial) return 'a run was interrupted: measure again'
  const other = differing.filter((name) => OTHER_WORK.includes(name))
  return other.length > 0 ? `the workloads differ in ${other.join(', ')}` : undefined
}

function warningsOf({ settings, partial, results }: Report): string[] {
  const failed = results.filter(({ failed }) => failed)
  const measured = results.some(({ rounds }) => rounds.length > 0)
  return [
    ...(measured ? [] : ['EMPTY: nothing was measured']),
    ...(partial ? ['INTERRUPTED: missing results were not measured'] : []),
    ...(settings.smoke ? ['SMOKE RUN: it says nothing about speed'] : []),
    ...failed.map((result) => `FAILED: ${resultKey(result)}: ${result.failed?.slice(0, 80)}`),
  ]
}

/** The circumstances that should be equal in both runs, by name. */
function factsOf({ machine, settings, version, commit }: Report): Record<string, string> {
  const { connections, seconds, warmup, rounds, slo_p99_ms, clients, callers, versions } = settings
  return {
    service: `${version} (${commit})`,
    CPU: machine.model,
    processors: `${machine.cores}`,
    memory: `${machine.memory_gib} GiB`,
    system: machine.os,
    Node: machine.node,
    OpenSSL: machine.openssl,
    'database in memory': machine.tmpfs ? 'yes' : 'no',
    connections: `${connections}`,
    // Older reports do not have this setting.
    'machine clients': `${clients ?? 100}`,
    seconds: `${seconds}`,
    'seconds of warm-up': `${warmup}`,
    rounds: `${rounds}`,
    objective: `${slo_p99_ms} ms`,
    'set by the caller': callers.toSorted().join(', ') || 'nothing',
    ...versions,
  }
}

function compareMachines(before: Report, after: Report, isOther: boolean): Machines {
  const ratio = (name: keyof Report['calibration']) =>
    (after.calibration[name] ?? Number.NaN) / (before.calibration[name] ?? Number.NaN)
  const signs = ratio('es256_sign_per_s')
  // Calibrations of the processor, which the workloads use. The disk is not included.
  const calibrated = (['es256_verify_per_s', 'rs256_sign_per_s', 'http_per_s'] as const).map(ratio)
  const all = [signs, ...calibrated, speedOfOthers(before, after)]
    .filter((each) => each > 0 && Number.isFinite(each))
    .toSorted((a, b) => a - b)
  const [low = Number.NaN, high = Number.NaN] = [all[0], all.at(-1)]
  const isFaster = Number.isFinite(signs) && Math.max(signs, 1 / signs) > 1 + ALIKE
  if (!isOther && !isFaster) return { signs, speed: 1, doubt: 0, differ: false }
  if (!Number.isFinite(signs)) return { signs, speed: 1, doubt: null, differ: true }
  return { signs, speed: Math.sqrt(low * high), doubt: MOMENT + (high - low) / (high + low), differ: true }
}

/** Ratio of the rates of the other servers, which are measured for much longer than a calibration. NaN without other servers. */
function speedOfOthers(before: Report, after: Report): number {
  const rates = (report: Report) =>
    new Map(
      report.results.flatMap((result) =>
        result.store === 'none' ? [[resultKey(result), middleRound(result)?.per_s ?? 0] as const] : [],
      ),
    )
  const [old, now] = [rates(before), rates(after)]
  const ratios = [...now].map(([key, rate]) => rate / (old.get(key) ?? 0)).filter((each) => each > 0 && each < Infinity)
  return ratios.length > 0 ? median(ratios) : Number.NaN
}

/** The header of a comparison. */
export function renderRuns({ machines, differences, warnings }: Runs): string[] {
  const { signs, speed, doubt, differ } = machines
  const scaled =
    doubt === null
      ? 'The machines are not equally fast and there is no calibration: only the ratios to the other servers of the run are compared, not rates and CPU time.'
      : `The machines are not equally fast: rates, knees and CPU time of the earlier report are scaled to the later machine, which is ${digits(speed, 2)} times as fast (± ${digits(100 * doubt, 0)} %) according to the calibrations and the other servers of the runs. Ratios to the other servers of a run need no scaling and are more reliable.`
  return [
    ...warnings,
    ...differences.map((text) => `differs: ${text}`),
    `the signature rate of the machine is ${digits(signs, 2)} times that of the earlier run`,
    ...(differ ? [scaled] : []),
  ]
}
