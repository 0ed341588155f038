// Compares two reports. A change smaller than the spread of the rounds is marked as noise. When the noise is unknown, or the runs
// are not comparable, no change is called better or worse.

import { FOREIGN, type Sample } from '../run/sample.ts'
import { median } from '../statistics.ts'
import { compareRuns, type Machines, type Runs, renderRuns } from './compare_runs.ts'
import { digits } from './figures.ts'
import { middleRound, type Report, resultKey, type WorkResult } from './report.ts'
import { aligned, pairsOf } from './table.ts'

interface Measure {
  name: string
  of(sample: Sample): number | null
  /** Which direction is an improvement. */
  better: 'more' | 'less'
  /** Relative difference of two runs whose rounds agree. */
  noise: number
  /** The effect of a machine that is twice as fast. */
  machine: 'twice' | 'half' | 'same' | 'unknown'
}
const RATE: Measure = { name: 'requests/s', of: ({ per_s }) => per_s, better: 'more', noise: 0.05, machine: 'twice' }
const CPU: Measure = { name: 'CPU us', of: ({ cpu_us }) => cpu_us.total, better: 'less', noise: 0.03, machine: 'half' }
const MEASURES: readonly Measure[] = [
  RATE,
  { name: 'p99 ms', of: ({ latency_ms }) => latency_ms.p99, better: 'less', noise: 0.15, machine: 'unknown' },
  CPU,
  { name: 'growth bytes', of: ({ database_bytes }) => database_bytes, better: 'less', noise: 0.03, machine: 'same' },
]
/** The knee is measured once in a run, and one disturbance can make it too low. */
const KNEE_NOISE = 0.25
const KNEE: Omit<Measure, 'of'> = { name: 'knee/s', better: 'more', noise: KNEE_NOISE, machine: 'twice' }

export interface FigureChange {
  work: string
  measure: string
  /** Scaled to the machine of the later report when the machines differ. */
  before: number
  after: number
  /** Relative change: 0.1 is ten percent more. Null when the earlier value is 0. */
  change: number | null
  /** Relative changes up to this value are noise. Null when the noise is unknown. */
  band: number | null
  verdict: 'better' | 'worse' | 'noise' | 'not shown'
  /** Why the verdict is 'not shown'. */
  why?: string
}
export interface Comparison extends Runs {
  changes: FigureChange[]
  /** Results that only one of the reports has. */
  unmatched: string[]
}

/** Compares the results that both reports have. */
export function compareReports(before: Report, after: Report): Comparison {
  const old = new Map(before.results.map((result) => [resultKey(result), result]))
  const now = new Map(after.results.map((result) => [resultKey(result), result]))
  const runs = compareRuns(before, after)
  const both = [...now].flatMap(([work, later]) => {
    const earlier = old.get(work)
    if (!earlier) return []
    const disturbed = isDisturbed(earlier, before.machine.cores) || isDisturbed(later, after.machine.cores)
    return [{ work, earlier, later, runs, disturbed, others: othersOf(work, old, now) }]
  })
  return {
    ...runs,
    changes: both.flatMap(changesOf),
    unmatched: [...new Set([...old.keys(), ...now.keys()])].filter((key) => !old.has(key) || !now.has(key)),
  }
}

interface Pair {
  work: string
  earlier: WorkResult
  later: WorkResult
  runs: Runs
  /** Whether other programs used the machine during a measurement. */
  disturbed: boolean
  /** The other servers of both runs with the same workload. */
  others: [WorkResult, WorkResult][]
}

const isDisturbed = ({ rounds, knee }: WorkResult, cores: number): boolean =>
  [...rounds, ...(knee ? [knee] : [])].some(({ busy }) => (busy.foreign ?? 0) > FOREIGN.decides * cores)

function othersOf(key: string, old: Map<string, WorkResult>, now: Map<string, WorkResult>): [WorkResult, WorkResult][] {
  const mine = now.get(key)
  if (!mine || mine.store === 'none') return []
  return [...now].flatMap(([name, later]) => {
    const earlier = old.get(name)
    return earlier && later.store === 'none' && later.work === mine.work
      ? [[earlier, later] as [WorkResult, WorkResult]]
      : []
  })
}

function changesOf(pair: Pair): FigureChange[] {
  const ratios = [RATE, CPU].flatMap((measure) => pair.others.flatMap((other) => ratioOf(pair, measure, other)))
  const own = MEASURES.flatMap((measure) => {
    const change = changeOf(pair, measure)
    return change.map((each) =>
      confirmed(
        each,
        ratios.filter((ratio) => ratio.measure.startsWith(measure.name)),
      ),
    )
  })
  return [...own, ...kneeOf(pair), ...ratios]
}

/** A slow phase of the machine affects the other servers of the run too. Therefore the ratio to them must show the change as well. */
function confirmed(change: FigureChange, ratios: readonly FigureChange[]): FigureChange {
  const isClaim = change.verdict === 'better' || change.verdict === 'worse'
  if (!isClaim || ratios.length === 0 || ratios.some(({ verdict }) => verdict === change.verdict)) return change
  return { ...change, verdict: 'not shown', why: 'the ratios to the other servers of the run do not show it' }
}

interface Values {
  before: number
  after: number
  /** The spread of the rounds plus the noise between runs. NaN with a single round, whose spread is unknown. */
  band: number
  doubt?: string
}

function judge(
  work: string,
  measure: string,
  better: Measure['better'],
  { before, after, band, doubt: why }: Values,
): FigureChange {
  const change = before > 0 ? after / before - 1 : null
  const difference = change ?? after
  const isNoise = Math.abs(difference) <= band
  const doubt = why ?? (Number.isNaN(band) ? ONE_ROUND : undefined)
  const verdict = doubt ? 'not shown' : isNoise ? 'noise' : difference > 0 === (better === 'more') ? 'better' : 'worse'
  const values = { work, measure, before, after, change, band: Number.isNaN(band) ? null : band, verdict } as const
  return doubt ? { ...values, why: doubt } : values
}

const ONE_ROUND = 'the noise is unknown with one round: measure three or more (--rounds)'

/** Why two results cannot be compared; undefined when they can. */
function doubtOf({ earlier, later, runs, disturbed }: Pair): string | undefined {
  if (runs.doubt) return runs.doubt
  if (earlier.generator !== later.generator) return 'the load generators differ'
  if ([earlier, later].some(({ rounds }) => rounds.some(({ errors }) => errors > 0))) return 'there were errors'
  if (disturbed) return 'other programs used the machine: measure again on an idle machine'
  if (later.store === 'none') return 'it is a reference for the service'
  return undefined
}

/** The factor from the earlier to the later machine, and its uncertainty. */
function scaling({ machines }: Runs, of: Measure['machine']): { by: number; band: number; doubt?: string } {
  const { differ, speed, doubt }: Machines = machines
  if (!differ || of === 'same') return { by: 1, band: 0 }
  if (of === 'unknown')
    return { by: 1, band: 0, doubt: 'the machines differ, and this value does not scale with their speed' }
  if (doubt === null) return { by: 1, band: 0, doubt: 'the machines differ, and there is no calibration' }
  return { by: of === 'twice' ? speed : 1 / speed, band: doubt }
}

function changeOf(pair: Pair, { name, of, better, noise, machine }: Measure): FigureChange[] {
  const { work, earlier, later, runs } = pair
  const value = (result: WorkResult) => {
    const sample = middleRound(result)
    return sample ? of(sample) : null
  }
  const [before, after] = [value(earlier), value(later)]
  if (before === null || after === null || before === 0) return []
  const { by, band, doubt } = scaling(runs, machine)
  return [
    judge(work, name, better, {
      before: before * by,
      after,
      band: noise + band + spread(valuesOf(earlier, of)) + spread(valuesOf(later, of)),
      doubt: doubtOf(pair) ?? doubt,
    }),
  ]
}

const valuesOf = ({ rounds }: WorkResult, of: Measure['of']): number[] => rounds.flatMap((round) => of(round) ?? [])

/** Half the range of some values, relative to their middle. NaN for a single value. */
function spread(values: readonly number[]): number {
  if (values.length < 2) return Number.NaN
  const [low, high] = [Math.min(...values), Math.max(...values)]
  return high > 0 ? (high - low) / (high + low) : 0
}

/** The change of the knee. A missing knee counts as 0. */
function kneeOf(pair: Pair): FigureChange[] {
  const { work, earlier, later, runs } = pair
  if (earlier.ladder.length === 0 || later.ladder.length === 0) return []
  const rate = ({ knee }: WorkResult) => (knee ? (knee.offered_per_s ?? knee.per_s) : 0)
  if (rate(earlier) === 0 && rate(later) === 0) return []
  const { by, band, doubt } = scaling(runs, KNEE.machine)
  return [
    judge(work, KNEE.name, KNEE.better, {
      before: rate(earlier) * by,
      after: rate(later),
      band: KNEE.noise + band + [earlier, later].reduce((sum, each) => sum + spread(valuesOf(each, RATE.of)), 0),
      doubt: doubtOf(pair) ?? runs.kneeDoubt ?? doubt,
    }),
  ]
}

/** The ratio of a measure to that of another server in the same round, which does not depend on the speed of the machine. */
function ratioOf(
  pair: Pair,
  { name, of, better, noise }: Measure,
  [earlier, later]: [WorkResult, WorkResult],
): FigureChange[] {
  const [before, after] = [pairsOf(pair.earlier, earlier, of), pairsOf(pair.later, later, of)]
  if (before.length === 0 || after.length === 0) return []
  const others = doubtOf({ ...pair, earlier: { ...earlier, store: 'sqlite' }, later: { ...later, store: 'sqlite' } })
  return [
    judge(pair.work, `${name} to ${later.server}`, better, {
      before: median(before),
      after: median(after),
      band: noise + spread(before) + spread(after),
      doubt: doubtOf(pair) ?? others,
    }),
  ]
}

const percent = (share: number | null) =>
  share === null ? '-' : `${share > 0 ? '+' : ''}${(100 * share).toFixed(1)} %`
const value = (number: number) => digits(number, number < 10 ? 2 : number < 100 ? 1 : 0)

/** Renders a comparison as text. */
export function renderComparison(comparison: Comparison): string {
  const { changes, unmatched } = comparison
  const lines = changes.map(({ work, measure, before, after, change, band, verdict }) => [
    work,
    measure,
    value(before),
    value(after),
    percent(change),
    band === null ? 'unknown' : `± ${(100 * band).toFixed(1)} %`,
    verdict,
  ])
  const count = (verdict: FigureChange['verdict']) => changes.filter((change) => change.verdict === verdict).length
  const reasons = new Set(changes.flatMap(({ why }) => why ?? []))
  return [
    ...renderRuns(comparison),
    '',
    ...(lines.length > 0
      ? [
          aligned(
            [
              [
                'workload',
                'measure',
                comparison.machines.differ ? 'before, scaled' : 'before',
                'after',
                'change',
                'noise',
                'verdict',
              ],
              ...lines,
            ],
            new Set([0, 1, 6]),
          ),
          '',
          `${count('better')} better, ${count('worse')} worse, ${count('noise')} within the noise, ${count('not shown')} not shown`,
        ]
      : ['no result is in both reports']),
    ...[...reasons].map((why) => `not shown (${changes.filter((change) => change.why === why).length}): ${why}`),
    ...unmatched.map((key) => `only in one report: ${key}`),
  ].join('\n')
}
