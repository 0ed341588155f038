// The stored sums of requests and tokens, in the form that charts need, and the time range that the address names.
import type { ChartLine, ChartMark } from '../parts/chart.tsx'
import { get } from './api.ts'
import { type LoadedAnswer, useLoad } from './load.ts'
import { isRange, type RangeName } from './range.ts'
import { usePlace } from './router.ts'
import { type ChartSeries, latencyLines, linesOf, mostFrequent, NO_GRANT, NO_REASON, readSeries } from './series.ts'
import type { HistoryAnswer } from './types.ts'

type Point = HistoryAnswer['points'][number]

const EVERY_MS = 30_000
const LIVE_MS = 10_000
/** The period that has not ended is drawn after this time: before, few requests would make a wrong rate. */
const LEAST_SECONDS = 60

/** The range in the address, or the given one. */
export function useRange(otherwise: RangeName): RangeName {
  const { range = '' } = usePlace().query
  return isRange(range) ? range : otherwise
}

/** Whose requests: those of one client, resource or user, or all. */
interface HistoryOf {
  client_id?: string
  resource?: string
  user_id?: string
}

export interface StoredHistory {
  /** The periods of the charts, in epoch seconds, also those that were not measured. */
  times: number[]
  /** The point of each period; undefined where nothing was measured. */
  points: (Point | undefined)[]
  /** Seconds of the period that have passed. */
  secondsOf(i: number): number
  /** Every point, with that of the period that has just begun. */
  all: Point[]
  marks: ChartMark[]
}

async function readHistory(range: RangeName, of: HistoryOf): Promise<StoredHistory> {
  const answer = await get<HistoryAnswer>('/admin/activity/history', { range, ...of })
  const known = new Map(answer.points.map((point) => [Date.parse(point.at) / 1000, point]))
  const now = Date.now() / 1000
  const times: number[] = []
  for (let at = Date.parse(answer.from) / 1000; at < now - LEAST_SECONDS; at += answer.period) times.push(at)
  return {
    times,
    points: times.map((at) => known.get(at)),
    secondsOf: (i) => Math.min(answer.period, now - (times[i] ?? 0)),
    all: answer.points,
    marks: answer.marks.map(({ at, ...rest }) => ({ at: Date.parse(at) / 1000, ...rest })),
  }
}

/** The history of one client, resource or user. */
export const useHistory = (range: RangeName, of: HistoryOf): LoadedAnswer<StoredHistory> =>
  useLoad(JSON.stringify([range, of]), () => readHistory(range, of), EVERY_MS)

/** The charts of all requests. */
export interface Charted extends Omit<ChartSeries, 'queues'> {
  marks: ChartMark[]
  /** Refused and failed requests by reason, most frequent first. */
  errors: [reason: string, count: number][]
  /** Only of the last hour: queues are not stored. */
  queues?: Pick<ChartSeries, 'times' | 'queues'>
}

/** The charts of all requests. With `isAlone`, one instance, the last hour comes from its memory as far as that reaches, so that it is live. */
export const useCharts = (range: RangeName, isAlone: boolean): LoadedAnswer<Charted> =>
  useLoad(
    `charts ${range} ${isAlone}`,
    async () => {
      const [history, live] = await Promise.all([readHistory(range, {}), range === '1h' ? readSeries() : undefined])
      const stored = chartsOf(history)
      return live ? { ...(isAlone ? joined(stored, live) : stored), queues: live } : stored
    },
    range === '1h' ? LIVE_MS : EVERY_MS,
  )

const chartsOf = ({ times, points, secondsOf, all, marks }: StoredHistory): Charted => ({
  times,
  tokens: linesOf(
    points.map((point) => point && (point.grants ?? {})),
    secondsOf,
    NO_GRANT,
  ),
  refusals: linesOf(
    points.map((point) => point && (point.reasons ?? {})),
    secondsOf,
    NO_REASON,
  ),
  latencies: latencyLines(points),
  errors: mostFrequent(all.map(({ reasons = {} }) => reasons)),
  marks,
})

/** Stored periods, then those of the memory. */
function joined(stored: Charted, live: ChartSeries): Charted {
  const first = live.times[0] ?? Number.POSITIVE_INFINITY
  const before = stored.times.filter((at) => at + LEAST_SECONDS <= first).length
  const join = (old: readonly ChartLine[], young: readonly ChartLine[]): ChartLine[] => {
    const names = [...new Set([...old, ...young].map(({ name }) => name))]
    const real = names.filter((name) => name !== NO_GRANT && name !== NO_REASON)
    const part = (lines: readonly ChartLine[], name: string, count: number) =>
      (lines.find((line) => line.name === name)?.values ?? zeros(lines[0])).slice(0, count)
    return (real.length > 0 ? real : names).map((name) => ({
      name,
      values: [...part(old, name, before), ...part(young, name, live.times.length)],
    }))
  }
  return {
    ...stored,
    times: [...stored.times.slice(0, before), ...live.times],
    tokens: join(stored.tokens, live.tokens),
    latencies: join(stored.latencies, live.latencies),
    refusals: join(stored.refusals, live.refusals),
  }
}

/** A name without a line had no requests in the periods that were measured. */
const zeros = (line?: ChartLine): (number | null)[] => (line?.values ?? []).map((value) => (value === null ? null : 0))
