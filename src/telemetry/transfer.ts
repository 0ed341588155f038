// What several threads count is counted once: a front thread hands over what it counted since it was last asked.
import type { Labels } from './metric_family.ts'
import { COUNTERS, type CounterName, HISTOGRAMS, type HistogramName } from './metric_names.ts'
import type { Metrics } from './metrics.ts'

/** What was counted and observed since the last time. */
export interface Moved {
  counts: [name: CounterName, labels: Labels, by: number][]
  timings: [name: HistogramName, labels: Labels, counts: number[], sum: number][]
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
    for (const { labels, held } of metrics.timed(name).places) {
      if (held.counts.every((count) => count === 0)) continue
      moved.timings.push([name, labels, [...held.counts], held.sum])
      held.counts.fill(0)
      held.sum = 0
    }
  return moved
}

/** Adds it to the metrics that are shown. */
export function addTo(metrics: Metrics, { counts, timings }: Moved): void {
  for (const [name, labels, by] of counts) metrics.count(name, labels, by)
  for (const [name, labels, more, sum] of timings) {
    const timing = metrics.timed(name).of(labels)
    more.forEach((count, i) => {
      timing.counts[i] = (timing.counts[i] as number) + count
    })
    timing.sum += sum
  }
}
