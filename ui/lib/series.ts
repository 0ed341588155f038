// The last hour, from the memory of the server, in the form that charts need.
import type { ChartLine } from '../parts/chart.tsx'
import { get } from './api.ts'
import type { SeriesAnswer } from './types.ts'

type Point = SeriesAnswer['points'][number]
export interface ChartSeries {
  /** Epoch seconds. */
  times: number[]
  /** A second, by grant. */
  tokens: ChartLine[]
  latencies: ChartLine[]
  /** Most frequent first. */
  errors: [reason: string, count: number][]
  queues: ChartLine[]
}

/** Reads the last hour. */
export async function readSeries(): Promise<ChartSeries> {
  const { period, points } = await get<SeriesAnswer>('/admin/stats/series')
  const names = (of: (point: Point) => Record<string, number>) =>
    [...new Set(points.flatMap((point) => Object.keys(of(point))))].sort()
  const linesOf = (of: (point: Point) => Record<string, number>, divisor: number, none: string): ChartLine[] => {
    const found = names(of)
    return (found.length > 0 ? found : [none]).map((name) => ({
      name: name.replaceAll('_', ' '),
      values: points.map((point) => (of(point)[name] ?? 0) / divisor),
    }))
  }
  const sums = new Map<string, number>()
  for (const { errors } of points)
    for (const [reason, count] of Object.entries(errors)) sums.set(reason, (sums.get(reason) ?? 0) + count)
  return {
    times: points.map(({ at }) => Date.parse(at) / 1000),
    tokens: linesOf(({ tokens }) => tokens, period, 'any grant'),
    latencies: [
      { name: 'p50', values: points.map(({ p50 }) => p50 ?? null) },
      { name: 'p99', values: points.map(({ p99 }) => p99 ?? null) },
    ],
    errors: [...sums].sort(([, a], [, b]) => b - a),
    queues: linesOf(({ queues }) => queues, 1, 'no queue'),
  }
}
