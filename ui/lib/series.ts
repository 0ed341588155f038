// The last hour, from the memory of the server, in the form that charts need.
import type { ChartLine } from '../parts/chart.tsx'
import { get } from './api.ts'
import type { SeriesAnswer } from './types.ts'

export interface ChartSeries {
  /** Epoch seconds. */
  times: number[]
  /** A second, by grant. */
  tokens: ChartLine[]
  /** A second, by reason: the most frequent ones. */
  refusals: ChartLine[]
  latencies: ChartLine[]
  queues: ChartLine[]
}

/** Lines of one chart. */
const MOST_LINES = 6

type Counts = Readonly<Record<string, number>>

/** Sums by name, most frequent first. */
export function mostFrequent(counts: readonly Counts[]): [name: string, count: number][] {
  const sums = new Map<string, number>()
  for (const each of counts)
    for (const [name, count] of Object.entries(each)) sums.set(name, (sums.get(name) ?? 0) + count)
  return [...sums].sort(([, a], [, b]) => b - a)
}

/** A line for each of the most frequent names. An undefined entry was not measured. `none` names the line of no name. */
export function linesOf(
  counts: readonly (Counts | undefined)[],
  divisorOf: (i: number) => number,
  none: string,
): ChartLine[] {
  const found = mostFrequent(counts.filter((each) => each !== undefined))
    .slice(0, MOST_LINES)
    .map(([name]) => name)
    .sort()
  return (found.length > 0 ? found : [none]).map((name) => ({
    name: name.replaceAll('_', ' '),
    values: counts.map((each, i) => (each ? (each[name] ?? 0) / divisorOf(i) : null)),
  }))
}

/** The percentiles of points. */
export const latencyLines = (points: readonly ({ p50?: number; p99?: number } | undefined)[]): ChartLine[] =>
  (['p50', 'p99'] as const).map((name) => ({ name, values: points.map((point) => point?.[name] ?? null) }))

/** What lines without a name are called. */
export const [NO_GRANT, NO_REASON] = ['any grant', 'any reason']

/** Reads the last hour. */
export async function readSeries(): Promise<ChartSeries> {
  const { period, points } = await get<SeriesAnswer>('/admin/stats/series')
  const of = (select: (point: SeriesAnswer['points'][number]) => Counts, divisor: number, none: string) =>
    linesOf(points.map(select), () => divisor, none)
  return {
    times: points.map(({ at }) => Date.parse(at) / 1000),
    tokens: of(({ tokens }) => tokens, period, NO_GRANT),
    refusals: of(({ errors }) => errors, period, NO_REASON),
    latencies: latencyLines(points),
    queues: of(({ queues }) => queues, 1, 'no queue'),
  }
}
