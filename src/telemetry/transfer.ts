// Moves the counts of a front thread to the supervisor, which exports the metrics of the process. The thread then counts
// from zero again.
import type { HistogramCounts } from '../lib/histogram.ts'
import type { Labels } from './metric_family.ts'
import { COUNTERS, type CounterName, HISTOGRAMS, type HistogramName } from './metric_names.ts'
import type { Metrics } from './metrics.ts'

/** The counts and observations since the last transfer. */
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

/** Adds the counts of a thread to the exported metrics. */
export function addTo(metrics: Metrics, { counts, timings }: Moved): void {
  for (const [name, labels, by] of counts) metrics.count(name, labels, by)
  for (const [name, labels, taken] of timings) metrics.timed(name).of(labels).add(taken)
}
