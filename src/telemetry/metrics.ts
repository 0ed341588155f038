// The metrics of the service: counted here, rendered by prom-client. Label values are always from a fixed set.

import { setTimeout as sleep } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, Histogram as PromHistogram, Registry } from 'prom-client'
import { bounded, Histogram } from '../lib/histogram.ts'
import type { StageListener } from '../lib/threads/lane.ts'
import { type Cell, type Labels, MetricFamily, type Tally } from './metric_family.ts'
import type { CounterName, GaugeName, HistogramName, ReadingName } from './metric_names.ts'
import { COUNTERS, GAUGES, HISTOGRAMS, READINGS } from './metric_names.ts'

/** Bounds in seconds, stable by specification. */
export const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Undefined: the gauge has no value now. */
type Reading = number | Record<string, number> | undefined
type Read = () => Reading | Promise<Reading>

const READ_TIMEOUT_MS = 1000
/** Returns undefined when reading fails or takes too long, so that a scrape shows the other metrics while storage is unavailable. */
const inTime = (read: Read): Promise<Reading> =>
  Promise.race([(async () => read())().catch(() => undefined), sleep(READ_TIMEOUT_MS, undefined, { ref: false })])

const rowsOf = (reading: Reading = {}, label = ''): { labels: Labels; value: number }[] =>
  typeof reading === 'number'
    ? [{ labels: {}, value: reading }]
    : Object.entries(reading).map(([key, value]) => ({ labels: { [label]: key }, value }))

/** A metric and its values. A histogram has one value per bucket, then its sum and its count. */
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
interface TimingRule extends HistogramRule {
  /** Bounds of the buckets in seconds, if they differ from the usual ones. */
  readonly bounds?: readonly number[]
}
interface CounterRule extends HistogramRule {
  /** Values of its only label that are exported as 0 before they are counted. */
  readonly zero?: readonly string[]
}

/** Registers a counter that prom-client fills from `tallies` at every scrape. */
function registerCounter(
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
      for (const { labels, held } of tallies.cells) this.inc(labels, held.value)
    },
  })
}

/** A histogram that prom-client renders from our buckets. */
class RenderedHistogram extends PromHistogram<string> {
  private readonly timings: MetricFamily<Histogram>
  private readonly about: { name: string; help: string }

  constructor(registry: Registry, name: string, help: string, timings: MetricFamily<Histogram>) {
    super({ name, help, registers: [registry] })
    this.about = { name, help }
    this.timings = timings
  }

  /** prom-client calls this to render. Its own get() builds on it. */
  async getForPromString(): Promise<object> {
    return { ...this.about, type: 'histogram', aggregator: 'sum', values: this.timings.cells.flatMap(this.rows) }
  }

  private readonly rows = ({ labels: sharedLabels, held: { scale, counts, count, sum } }: Cell<Histogram>) => {
    const { name } = this.about
    let total = 0
    const buckets = counts.map((inBucket, i) => {
      total += inBucket
      const bound = scale.boundOf(i)
      return {
        metricName: `${name}_bucket`,
        labels: { le: bound < Infinity ? bound : '+Inf' },
        sharedLabels,
        value: total,
      }
    })
    const row = (what: string, value: number) => ({ metricName: `${name}_${what}`, labels: {}, sharedLabels, value })
    return [...buckets, row('sum', sum), row('count', count)]
  }
}

/** The metrics of one service: counted and observed by name, rendered at every scrape. */
export class Metrics {
  private readonly registry = new Registry()
  private readonly tallies = new Map<CounterName, MetricFamily<Tally>>()
  private readonly timings = new Map<HistogramName, MetricFamily<Histogram>>()

  constructor() {
    for (const [name, { help, labels, zero }] of Object.entries(COUNTERS) as [CounterName, CounterRule][]) {
      const tallies = new MetricFamily(labels, () => ({ value: 0 }))
      for (const value of zero ?? (labels.length === 0 ? [''] : [])) tallies.of({ [labels[0] ?? '']: value })
      this.tallies.set(name, tallies)
      registerCounter(this.registry, name, help, labels, tallies)
    }
    for (const [name, { help, labels, bounds = BUCKETS }] of Object.entries(HISTOGRAMS) as [
      HistogramName,
      TimingRule,
    ][]) {
      const scale = bounded(bounds)
      const timings = new MetricFamily(labels, () => new Histogram(scale))
      if (labels.length === 0) timings.of(undefined)
      this.timings.set(name, timings)
      new RenderedHistogram(this.registry, name, help, timings)
    }
  }

  count(name: CounterName, labels?: Labels, by = 1): void {
    const tally = this.tallies.get(name)?.of(labels)
    if (tally) tally.value += by
  }

  /** Exports series as 0 before they are counted. Without this Prometheus does not see the first increase of a series. */
  expect(name: CounterName, series: readonly Labels[]): void {
    for (const labels of series) this.tallies.get(name)?.of(labels)
  }

  observe(name: HistogramName, seconds: number, labels?: Labels): void {
    this.timings.get(name)?.of(labels).record(seconds)
  }

  /** The values of a counter, by its labels. */
  counted(name: CounterName): readonly Cell<Tally>[] {
    return this.tallies.get(name)?.cells ?? []
  }

  /** The durations of a histogram, by its labels. */
  timed(name: HistogramName): MetricFamily<Histogram> {
    return this.timings.get(name) as MetricFamily<Histogram>
  }

  /** Registers a gauge that is read at every scrape: a number, or one per value of `label`. */
  gauge(name: GaugeName, read: Read, label?: string): void {
    new Gauge({
      name,
      help: GAUGES[name],
      labelNames: label ? [label] : [],
      registers: [this.registry],
      async collect() {
        const reading = await inTime(read)
        // A failed reading must not show the value of the last scrape, or the initial 0.
        if (label) this.reset()
        else this.remove()
        for (const { labels, value } of rowsOf(reading, label)) this.set(labels, value)
      },
    })
  }

  /** Registers a counter that is read at every scrape, per value of `label`. */
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

  /** Every metric with its values, for other exporters. */
  async samples(): Promise<MetricSample[]> {
    const all = await this.registry.getMetricsAsJSON()
    return all.map(({ name, help, type, values }) => ({ name, help, type: String(type), values }))
  }

  /** The scrape: Prometheus text format. */
  async render(): Promise<{ type: string; text: string }> {
    return { type: this.registry.contentType, text: await this.registry.metrics() }
  }
}

/** Observes the stages of lanes. */
export const stagesIn =
  (metrics: Metrics): StageListener =>
  (lane, stage, seconds) =>
    metrics.observe('ext_lane_seconds', seconds, { lane, stage })
