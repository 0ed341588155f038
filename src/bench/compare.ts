// What changed between two reports. A change smaller than what the rounds of either differ by is noise, and called so.
import { keyOf, middleRound, type Report, type Result } from './report.ts'
import type { Sample } from './sample.ts'
import { aligned, digits } from './table.ts'

interface Measure {
  name: string
  of(sample: Sample): number | null
  /** Whether more of it is better. */
  better: 'more' | 'less'
  /** Share that two runs differ by even where their rounds agree. */
  noise: number
}
const MEASURES: readonly Measure[] = [
  { name: 'requests/s', of: ({ per_s }) => per_s, better: 'more', noise: 0.05 },
  { name: 'p99 ms', of: ({ latency_ms }) => latency_ms.p99, better: 'less', noise: 0.15 },
  { name: 'CPU us', of: ({ cpu_us }) => cpu_us.total, better: 'less', noise: 0.03 },
  { name: 'growth bytes', of: ({ database_bytes }) => database_bytes, better: 'less', noise: 0.03 },
]

export interface Change {
  work: string
  measure: string
  before: number
  after: number
  /** Of the value before: 0.1 is ten percent more. */
  change: number
  /** Changes up to this share are noise. */
  band: number
  verdict: 'better' | 'worse' | 'noise'
}
export interface Comparison {
  changes: Change[]
  /** How much faster the machine itself was, by what it signed a second; 1 is as fast as before. */
  machine: number
  /** What only one of the two has. */
  unmatched: string[]
}

/** Compares what both reports measured. */
export function compareReports(before: Report, after: Report): Comparison {
  const old = new Map(before.results.map((result) => [keyOf(result), result]))
  const now = new Map(after.results.map((result) => [keyOf(result), result]))
  const both = [...now].flatMap(([key, result]) => {
    const earlier = old.get(key)
    return earlier ? [{ key, earlier, result }] : []
  })
  return {
    changes: both.flatMap(({ key, earlier, result }) =>
      MEASURES.flatMap((measure) => changeOf(key, measure, earlier, result)),
    ),
    machine: (after.calibration.es256_sign_per_s ?? Number.NaN) / (before.calibration.es256_sign_per_s ?? Number.NaN),
    unmatched: [...new Set([...old.keys(), ...now.keys()])].filter((key) => !old.has(key) || !now.has(key)),
  }
}

function changeOf(work: string, { name, of, better, noise }: Measure, earlier: Result, later: Result): Change[] {
  const value = (result: Result) => {
    const sample = middleRound(result)
    return sample ? of(sample) : null
  }
  const [before, after] = [value(earlier), value(later)]
  if (before === null || after === null || before === 0) return []
  const change = after / before - 1
  const band = noise + spread(earlier, of) + spread(later, of)
  const verdict = Math.abs(change) <= band ? 'noise' : change > 0 === (better === 'more') ? 'better' : 'worse'
  return [{ work, measure: name, before, after, change, band, verdict }]
}

/** Half of what the rounds differ by, as a share of their middle. */
function spread({ rounds }: Result, of: Measure['of']): number {
  const values = rounds.flatMap((round) => of(round) ?? [])
  if (values.length < 2) return 0
  const [low, high] = [Math.min(...values), Math.max(...values)]
  return (high - low) / (high + low)
}

const percent = (share: number) => `${share > 0 ? '+' : ''}${(100 * share).toFixed(1)} %`

/** Renders a comparison for a person. */
export function renderComparison({ changes, machine, unmatched }: Comparison): string {
  const lines = changes.map(({ work, measure, before, after, change, band, verdict }) => [
    work,
    measure,
    digits(before, before < 100 ? 1 : 0),
    digits(after, after < 100 ? 1 : 0),
    percent(change),
    `± ${(100 * band).toFixed(1)} %`,
    verdict,
  ])
  const count = (verdict: Change['verdict']) => changes.filter((change) => change.verdict === verdict).length
  return [
    `the machine signs ${digits(machine, 2)} times as fast as in the run before: rates follow it, CPU a request goes the other way`,
    '',
    aligned([['work', 'figure', 'before', 'after', 'change', 'noise', 'verdict'], ...lines], new Set([0, 1, 6])),
    '',
    `${count('better')} better, ${count('worse')} worse, ${count('noise')} within the noise`,
    ...unmatched.map((key) => `only in one of them: ${key}`),
  ].join('\n')
}
