// Converts the metrics of the scrape to OTLP, with the same names, labels and buckets.
import { type api, metrics as sdk } from '@opentelemetry/sdk-node'
import type { MetricSample } from '../metrics.ts'

type MetricData = sdk.MetricData
type Rows = MetricSample['values']

const DOUBLE = 1 as api.ValueType

/** Converts samples to OTLP metrics, cumulative since `start`. */
export function metricsOf(samples: readonly MetricSample[], start: api.HrTime, end: api.HrTime): MetricData[] {
  const point = <T>(attributes: api.Attributes, value: T) => ({ startTime: start, endTime: end, attributes, value })
  return samples.flatMap(({ name, help, type, values }): MetricData[] => {
    if (values.length === 0) return []
    const common = {
      descriptor: { name, description: help, unit: unitOf(name), valueType: DOUBLE },
      aggregationTemporality: sdk.AggregationTemporality.CUMULATIVE,
    }
    if (type === 'histogram') {
      const dataPoints = [...byLabels(name, values)].map(({ labels, ...value }) => point(labels, value))
      return [{ ...common, dataPointType: sdk.DataPointType.HISTOGRAM, dataPoints }]
    }
    const dataPoints = values.map(({ labels, value }) => point(labels, value))
    return type === 'counter'
      ? [{ ...common, dataPointType: sdk.DataPointType.SUM, isMonotonic: true, dataPoints }]
      : [{ ...common, dataPointType: sdk.DataPointType.GAUGE, dataPoints }]
  })
}

/** The UCUM unit that the name of a metric states. */
function unitOf(name: string): string {
  if (name.includes('_seconds')) return 's'
  return name.includes('_bytes') ? 'By' : '1'
}

interface Distribution {
  labels: api.Attributes
  buckets: { boundaries: number[]; counts: number[] }
  sum: number
  count: number
}

/** Groups the rows of a histogram by labels: cumulative buckets, then sum and count. */
function byLabels(name: string, rows: Rows): Iterable<Distribution> {
  const found = new Map<string, Distribution>()
  for (const { metricName, labels: all, value } of rows) {
    const { le, ...labels } = all
    const key = JSON.stringify(labels)
    const one = found.get(key) ?? { labels, buckets: { boundaries: [], counts: [] }, sum: 0, count: 0 }
    found.set(key, one)
    if (metricName === `${name}_sum`) one.sum = value
    else if (metricName === `${name}_count`) one.count = value
    else {
      const { boundaries, counts } = one.buckets
      const below = counts.reduce((sum, count) => sum + count, 0)
      if (le !== '+Inf') boundaries.push(Number(le))
      counts.push(value - below)
    }
  }
  return found.values()
}
