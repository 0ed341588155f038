// The queues (lanes) of a process. Queues of the same name in several threads are summed.
import type { LaneStats } from '../lib/threads/lane.ts'

/** Queues by name. */
export type Lanes = Readonly<Record<string, LaneStats>>

interface HasLanes {
  lanes: Lanes
  frontPool?: { reports(): readonly { lanes: Lanes }[] }
}

/** Every queue by name. Queues of the same name in several threads are summed. */
export const allLanes = ({ frontPool, lanes }: HasLanes): Lanes =>
  frontPool ? (addedUp([lanes, ...frontPool.reports().map((each) => each.lanes)]) as Lanes) : lanes

/** Number of waiting jobs, by queue. */
export const waitingIn = (lanes: Lanes): Record<string, number> => ofLanes(lanes, 'waiting')

/** One statistic of every queue. */
export const ofLanes = (lanes: Lanes, field: keyof LaneStats, scale = 1): Record<string, number> =>
  mapValues(lanes, (stats) => stats[field] * scale)

/** Sums statistics by name over several records. */
export function addedUp<T extends object>(records: readonly Readonly<Record<string, T>>[]): Record<string, T> {
  const sums: Record<string, Record<string, number>> = {}
  for (const record of records)
    for (const [name, figures] of Object.entries(record)) {
      sums[name] ??= {}
      const sum = sums[name]
      for (const [figure, value] of Object.entries(figures) as [string, unknown][])
        if (typeof value === 'number') sum[figure] = (sum[figure] ?? 0) + value
    }
  return sums as Record<string, T>
}

/** Maps the values of a record. */
export const mapValues = <T, R>(record: Readonly<Record<string, T>>, value: (each: T) => R): Record<string, R> =>
  Object.fromEntries(Object.entries(record).map(([name, each]) => [name, value(each)]))
