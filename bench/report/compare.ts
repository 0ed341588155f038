// What changed between two reports. A change smaller than what the rounds of either differ by is noise, and called so; where
// the rounds cannot say what noise is, or the runs are not alike, nothing is called better or worse.

import { FOREIGN, type Sample } from '../run/sample.ts'
import { median } from '../statistics.ts'
import { compareRuns, type Machines, type Runs, renderRuns } from './compare_runs.ts'
import { digits } from './figures.ts'
import { middleRound, type Report, resultKey, type WorkResult } from './report.ts'
import { aligned, pairsOf } from './table.ts'

interface Measure {
  name: string
  of(sample: Sample): number | null
  /** Whether more of it is better. */
  better: 'more' | 'less'
  /** Share that two runs differ by even where their rounds agree. */
  noise: number
  /** What a machine twice as fast makes of it: twice, half, the same; of 'unknown' nobody can say. */
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
/** The knee is climbed to once in a run, and one bad moment ends the climb. */
const KNEE_NOISE = 0.25
const KNEE: Omit<Measure, 'of'> = { name: 'knee/s', better: 'more', noise: KNEE_NOISE, machine: 'twice' }

export interface FigureChange {
  work: string
  measure: string
  /** Scaled to the machine of after, where the machines differ. */
  before: number
  after: number
  /** Of the value before: 0.1 is ten percent more. Null where that was nothing. */
  change: number | null
  /** Changes up to this share are noise. Null where nothing says what noise is. */
  band: number | null
  verdict: 'better' | 'worse' | 'noise' | 'not shown'
  /** Why it is not shown. */
  why?: string
}
export interface Comparison extends Runs {
  changes: FigureChange[]
  /** What only one of the two has. */
  unmatched: string[]
}

/** Compares what both reports measured. */
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
  /** Whether somebody else used the machine meanwhile. */
  disturbed: boolean
  /** The other servers of both runs that did the same work. */
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

/** A moment in which the machine was slower slows its neighbours in the run too: their ratio has to show the change. */
function confirmed(change: FigureChange, ratios: readonly FigureChange[]): FigureChange {
  const isClaim = change.verdict === 'better' || change.verdict === 'worse'
  if (!isClaim || ratios.length === 0 || ratios.some(({ verdict }) => verdict === change.verdict)) return change
  return { ...change, verdict: 'not shown', why: 'the ratios to the other servers of the run do not show it' }
}

interface Values {
  before: number
  after: number
  /** What the rounds differ by and what two runs differ by, together. NaN where a single round says nothing of it. */
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

const ONE_ROUND = 'one round says nothing about noise: take three or more (--rounds)'

/** Why nothing can be said of a measure; undefined: something can. */
function doubtOf({ earlier, later, runs, disturbed }: Pair): string | undefined {
  if (runs.doubt) return runs.doubt
  if (earlier.generator !== later.generator) return 'the load generators differ'
  if ([earlier, later].some(({ rounds }) => rounds.some(({ errors }) => errors > 0))) return 'there were errors'
  if (disturbed) return 'others used the machine meanwhile: take it again when it is quiet'
  if (later.store === 'none') return 'it is what the service is held against'
  return undefined
}

/** What a value of before would be on the machine of after, and by how much that may be off. */
function scaling({ machines }: Runs, of: Measure['machine']): { by: number; band: number; doubt?: string } {
  const { differ, speed, doubt }: Machines = machines
  if (!differ || of === 'same') return { by: 1, band: 0 }
  if (of === 'unknown') return { by: 1, band: 0, doubt: 'the machines differ, and it does not follow their speed' }
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

/** Half of what some values differ by, as a share of their middle. NaN: one value differs from nothing. */
function spread(values: readonly number[]): number {
  if (values.length < 2) return Number.NaN
  const [low, high] = [Math.min(...values), Math.max(...values)]
  return high > 0 ? (high - low) / (high + low) : 0
}

/** The knee. None that was found is a rate of 0. */
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

/** A measure as the share of what another server had in the same round: however fast the machine is. */
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

/** Renders a comparison for a person. */
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
                'work',
                'figure',
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
      : ['nothing was measured in both of them']),
    ...[...reasons].map((why) => `not shown (${changes.filter((change) => change.why === why).length}): ${why}`),
    ...unmatched.map((key) => `only in one of them: ${key}`),
  ].join('\n')
}
