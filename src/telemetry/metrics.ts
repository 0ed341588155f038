// The table of all metrics. Names, labels and buckets of the specification are stable; label values are always from a fixed set.

import { setTimeout as sleep } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import {
  addTiming,
  type Cell,
  type Labels,
  MetricFamily,
  newTimings,
  type Tally,
  type Timings,
} from './metric_family.ts'
import type { CounterName, GaugeName, HistogramName, ReadingName } from './metric_names.ts'
import { COUNTERS, GAUGES, HISTOGRAMS, READINGS } from './metric_names.ts'

export const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

type Reading = number | Record<string, number>
type Read = () => Reading | Promise<Reading>

const PATIENCE_MS = 1000
/** What is read; nothing when it fails or takes too long, so that the scrape tells the rest also when storage is away. */
const inTime = (read: Read): Promise<Reading | undefined> =>
  Promise.race([(async () => read())().catch(() => undefined), sleep(PATIENCE_MS, undefined, { ref: false })])

const rowsOf = (reading: Reading = {}, label = ''): { labels: Labels; value: number }[] =>
  typeof reading === 'number'
    ? [{ labels: {}, value: reading }]
    : Object.entries(reading).map(([key, value]) => ({ labels: { [label]: key }, value }))

/** A metric as it stands; a histogram is a row per bucket, then its sum and its count. */
export interface MetricSample {
  name: string
  help: string
  type: string
  values: { metricName?: string; labels: Partial<Record<string, string | number>>; value: number }[]
}

interface HistogramRule {
  readonly help: string
  readonly labels: readonly string[]
}
interface CounterRule extends HistogramRule {
  /** Values of its one label that are there, at 0, from the start. */
  readonly zero?: readonly string[]
}

/** A counter as prom-client renders it, filled from what was counted when it is asked for. */
function showCounter(
  registry: Registry,
  name: string,
  help: string,
  labels: readonly string[],
  tallies: MetricFamily<Tally>,
) {
  new Counter({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
    collect() {
      this.reset()
      for (const { labels, held } of tallies.places) this.inc(labels, held.value)
    },
  })
}

/** A histogram that prom-client renders from our buckets. */
class ShownHistogram extends Histogram<string> {
  private readonly timings: MetricFamily<Timings>
  private readonly shown: { name: string; help: string }

  constructor(registry: Registry, name: string, help: string, timings: MetricFamily<Timings>) {
    super({ name, help, registers: [registry] })
    this.shown = { name, help }
    this.timings = timings
  }

  /** What prom-client calls to render; its own get() builds on this. */
  async getForPromString(): Promise<object> {
    return { ...this.shown, type: 'histogram', aggregator: 'sum', values: this.timings.places.flatMap(this.rows) }
  }

  private readonly rows = ({ labels: sharedLabels, held: { bounds, counts, sum } }: Cell<Timings>) => {
    const { name } = this.shown
    let total = 0
    const buckets = counts.map((count, i) => {
      total += count
      return { metricName: `${name}_bucket`, labels: { le: bounds[i] ?? '+Inf' }, sharedLabels, value: total }
    })
    const row = (what: string, value: number) => ({ metricName: `${name}_${what}`, labels: {}, sharedLabels, value })
    return [...buckets, row('sum', sum), row('count', total)]
  }
}

/** The metrics of one service: counted and observed by name, rendered for the scrape. */
export class Metrics {
  private readonly registry = new Registry()
  private readonly tallies = new Map<CounterName, MetricFamily<Tally>>()
  private readonly timings = new Map<HistogramName, MetricFamily<Timings>>()

  constructor() {
    for (const [name, { help, labels, zero }] of Object.entries(COUNTERS) as [CounterName, CounterRule][]) {
      const tallies = new MetricFamily(labels, () => ({ value: 0 }))
      for (const value of zero ?? (labels.length === 0 ? [''] : [])) tallies.of({ [labels[0] ?? '']: value })
      this.tallies.set(name, tallies)
      showCounter(this.registry, name, help, labels, tallies)
    }
    for (const [name, { help, labels }] of Object.entries(HISTOGRAMS) as [HistogramName, HistogramRule][]) {
      const timings = new MetricFamily(labels, () => newTimings(BUCKETS))
      if (labels.length === 0) timings.of(undefined)
      this.timings.set(name, timings)
      new ShownHistogram(this.registry, name, help, timings)
    }
  }

  count(name: CounterName, labels?: Labels, by = 1): void {
    const tally = this.tallies.get(name)?.of(labels)
    if (tally) tally.value += by
  }

  observe(name: HistogramName, seconds: number, labels?: Labels): void {
    const timings = this.timings.get(name)?.of(labels)
    if (timings) addTiming(timings, seconds)
  }

  /** What a counter has reached, by its label values. */
  counted(name: CounterName): readonly Cell<Tally>[] {
    return this.tallies.get(name)?.places ?? []
  }

  /** The durations of a histogram, by its label values. */
  timed(name: HistogramName): MetricFamily<Timings> {
    return this.timings.get(name) as MetricFamily<Timings>
  }

  /** Registers a gauge whose value is asked for at every scrape: a number, or one per value of `label`. */
  gauge(name: GaugeName, read: Read, label?: string): void {
    new Gauge({
      name,
      help: GAUGES[name],
      labelNames: label ? [label] : [],
      registers: [this.registry],
      async collect() {
        const reading = await inTime(read)
        // What it was at the last scrape, or the 0 it begins with, is not what it is now.
        if (label) this.reset()
        else this.remove()
        for (const { labels, value } of rowsOf(reading, label)) this.set(labels, value)
      },
    })
  }

  /** Registers a counter whose value is asked for at every scrape, per value of `label`. */
  reading(name: ReadingName, read: () => Record<string, number>, label: string): void {
    new Counter({
      name,
      help: READINGS[name],
      labelNames: [label],
      registers: [this.registry],
      collect() {
        this.reset()
        for (const { labels, value } of rowsOf(read(), label)) this.inc(labels, value)
      },
    })
  }

  /** Adds the metrics of the process itself: CPU, memory, event loop, garbage collection. */
  addProcessMetrics(): void {
    collectDefaultMetrics({ register: this.registry })
  }

  /** Every metric with its values, for other ways out. */
  async samples(): Promise<MetricSample[]> {
    const all = await this.registry.getMetricsAsJSON()
    return all.map(({ name, help, type, values }) => ({ name, help, type: String(type), values }))
  }

  /** The scrape: Prometheus text format. */
  async render(): Promise<{ type: string; text: string }> {
    return { type: this.registry.contentType, text: await this.registry.metrics() }
  }
}
