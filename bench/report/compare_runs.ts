// How two runs differ before anything that they measured: machine, settings, calibration; and what of it forbids a verdict.

import { median } from '../statistics.ts'
import { digits } from './figures.ts'
import { middleRound, type Report, resultKey } from './report.ts'

export interface Machines {
  /** How often it signs now for each time that it signed before. */
  signs: number
  /** How fast it is now, of what it was: the middle of what the calibrations and the other servers say. 1 where they agree. */
  speed: number
  /** Share by which that may be off; null: the calibrations say too little. */
  doubt: number | null
  /** Whether the two runs had machines so different that their rates are not held against each other as they are. */
  differ: boolean
}
export interface Runs {
  machines: Machines
  /** What differs of machine and settings, in words. */
  differences: string[]
  /** What a reader has to know of either report: smoke, interrupted, empty. */
  warnings: string[]
  /** Why nothing can be said to be better or worse. */
  doubt?: string
  /** Why that cannot be said of the knees. */
  kneeDoubt?: string
}

/** Calibrations that differ by more than this are of machines that are not equally fast. */
const ALIKE = 0.1
/** A calibration is a moment: those of one machine on one day differ by this share from their middle. */
const MOMENT = 0.2

/** Holds the circumstances of two runs against each other. */
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

/** What differs in these is another work, not another speed. */
const OTHER_WORK = ['connections', 'machine clients', 'database in memory']

function doubtOf(before: Report, after: Report, differing: readonly string[]): string | undefined {
  if (before.settings.smoke || after.settings.smoke) return 'a smoke run says nothing about speed'
  if (before.partial || after.partial) return 'a run was interrupted: take it again'
  const other = differing.filter((name) => OTHER_WORK.includes(name))
  return other.length > 0 ? `not the same work: other ${other.join(', ')}` : undefined
}

function warningsOf({ settings, partial, results }: Report): string[] {
  const failed = results.filter(({ failed }) => failed)
  const measured = results.some(({ rounds }) => rounds.length > 0)
  return [
    ...(measured ? [] : ['EMPTY: nothing was measured']),
    ...(partial ? ['INTERRUPTED: what is missing was not measured'] : []),
    ...(settings.smoke ? ['A SMOKE RUN: it says nothing about speed'] : []),
    ...failed.map((result) => `FAILED: ${resultKey(result)}: ${result.failed?.slice(0, 80)}`),
  ]
}

/** What should be the same in both, by name. */
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
    // Reports of the time when it was no setting.
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
  // What takes the processor, as the works do; the disk is no part of it.
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

/** What became of the rates of the other servers, which are measured for much longer than a calibration. NaN without any. */
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

/** What stands above a comparison. */
export function renderRuns({ machines, differences, warnings }: Runs): string[] {
  const { signs, speed, doubt, differ } = machines
  const scaled =
    doubt === null
      ? 'The machines are not equally fast and there is no calibration: rates and CPU are not compared, but for their ratios to the other servers of the run.'
      : `The machines are not equally fast: rates, knees and CPU of before are scaled to the machine of after, ${digits(speed, 2)} times as fast (± ${digits(100 * doubt, 0)} %) by the calibrations and the other servers of the runs. Ratios to the other servers of a run need no scaling: believe them first.`
  return [
    ...warnings,
    ...differences.map((text) => `differs: ${text}`),
    `the machine signs ${digits(signs, 2)} times as fast as in the run before`,
    ...(differ ? [scaled] : []),
  ]
}
