// Moves the counts of a front thread to the supervisor, which exports the metrics of the process. What was moved is no longer
// counted in the thread.
import type { HistogramCounts } from '../lib/histogram.ts'
import type { Labels } from './metric_family.ts'
import { COUNTERS, type CounterName, HISTOGRAMS, type HistogramName } from './metric_names.ts'
import type { Metrics } from './metrics.ts'

/** What was counted and observed since the last transfer. */
export interface Moved {
  counts: [name: CounterName, labels: Labels, by: number][]
  timings: [name: HistogramName, labels: Labels, counts: HistogramCounts][]
}

/** Takes everything out of the metrics of a thread, which count from zero again. */
export function takeFrom(metrics: Metrics): Moved {
  const moved: Moved = { counts: [], timings: [] }
  for (const name of Object.keys(COUNTERS) as CounterName[])
    for (const { labels, held } of metrics.counted(name)) {
      if (held.value === 0) continue
      moved.counts.push([name, labels, held.value])
      held.value = 0
    }
  for (const name of Object.keys(HISTOGRAMS) as HistogramName[])
    for (const { labels, held } of metrics.timed(name).cells)
      if (held.count > 0) moved.timings.push([name, labels, held.take()])
  return moved
}

/** Adds what was taken from a thread to the metrics that are exported. */
export function addTo(metrics: Metrics, { counts, timings }: Moved): void {
  for (const [name, labels, by] of counts) metrics.count(name, labels, by)
  for (const [name, labels, taken] of timings) metrics.timed(name).of(labels).add(taken)
}
