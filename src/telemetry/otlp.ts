// Push to OpenTelemetry collectors: metrics, traces and logs by OTLP over gRPC. Loaded only where one of them is on.
// No globals of OpenTelemetry are set and no async context is kept: a trace travels with the request that it is of.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { core, resources, type tracing } from '@opentelemetry/sdk-node'
import type { Build } from '../lib/build.ts'
import { withTimeout } from '../lib/timeout.ts'
import { useSystemNames } from './grpc_names.ts'
import type { LogEvent } from './logger.ts'
import type { Metrics } from './metrics.ts'
import { metricsOf } from './otlp_metrics.ts'
import { openTracer } from './otlp_trace.ts'
import { Outbox } from './outbox.ts'
import type { Tracer } from './trace.ts'

export interface ExportTarget {
  /** `host:port`; a scheme in front is left out, as `insecure` says what is spoken. */
  endpoint: string
  insecure: boolean
}
export interface ExportSettings {
  metrics?: ExportTarget
  traces?: ExportTarget & { sampleRate: number }
  logs?: ExportTarget
  /** Milliseconds between two pushes of the metrics. */
  metricsEveryMs: number
  /** Milliseconds that spans and log records are gathered for a batch. */
  batchMs: number
}

export interface Exports {
  readonly tracer?: Tracer
  readonly log?: (event: LogEvent) => void
  /** Sends what is left, for a few seconds at most. */
  close(): Promise<void>
}

/** How long one push may take; and how long the end of the process waits for the last ones. */
const SEND_MS = 5000
const CLOSE_MS = 3000
const MAX_QUEUE = 2048
const MAX_BATCH = 512

type Signal = 'metrics' | 'traces' | 'logs'
interface Exporter<T> {
  export(items: T, done: (result: { code: number }) => void): void
  shutdown(): Promise<void>
}

/** Connects to the collectors of these settings; they need not be there. */
export async function openExports(settings: ExportSettings, metrics: Metrics, build: Build): Promise<Exports> {
  useSystemNames()
  const resource = resourceOf(build)
  const scope = { name: 'service', version: build.version }
  const ends: (() => Promise<unknown>)[] = []

  function outboxFor<T>(signal: Signal, exporter: Exporter<T[]>): Outbox<T> {
    const outbox = new Outbox<T>({
      send: (batch) => delivered(exporter, batch),
      delayMs: settings.batchMs,
      maxQueue: MAX_QUEUE,
      maxBatch: MAX_BATCH,
      onSent: (count) => metrics.count('ext_telemetry_sent_total', { signal }, count),
      onDropped: (count) => metrics.count('ext_telemetry_dropped_total', { signal }, count),
    })
    ends.push(() => outbox.drain().then(() => exporter.shutdown()))
    return outbox
  }

  let tracer: Tracer | undefined
  if (settings.traces) {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-grpc')
    const spans = outboxFor<tracing.ReadableSpan>('traces', new OTLPTraceExporter(connection(settings.traces)))
    tracer = openTracer({ resource, scope, sampleRate: settings.traces.sampleRate, onEnd: (span) => spans.put(span) })
  }

  let log: Exports['log']
  if (settings.logs) {
    const { OTLPLogExporter } = await import('@opentelemetry/exporter-logs-otlp-grpc')
    const { recordOf } = await import('./otlp_logs.ts')
    const records = outboxFor('logs', new OTLPLogExporter(connection(settings.logs)))
    log = (event) => records.put(recordOf(event, resource, scope))
  }

  if (settings.metrics) {
    const { OTLPMetricExporter } = await import('@opentelemetry/exporter-metrics-otlp-grpc')
    const exporter = new OTLPMetricExporter(connection(settings.metrics))
    const start = core.hrTime()
    const readMetrics = async () => {
      const samples = await metrics.samples()
      return { resource, scopeMetrics: [{ scope, metrics: metricsOf(samples, start, core.hrTime()) }] }
    }
    // One push at a time: while a collector hangs, the next ones are left out, and the one after them tells it all.
    let pushing: Promise<void> | undefined
    const push = () => {
      pushing ??= readMetrics()
        .then((read) => delivered(exporter, read))
        .catch(() => false)
        .then((arrived) => {
          metrics.count(arrived ? 'ext_telemetry_sent_total' : 'ext_telemetry_dropped_total', { signal: 'metrics' })
          pushing = undefined
        })
      return pushing
    }
    const timer = setInterval(() => void push(), settings.metricsEveryMs)
    timer.unref()
    ends.push(async () => {
      clearInterval(timer)
      await pushing
      await push()
      await exporter.shutdown()
    })
  }

  return {
    tracer,
    log,
    close: () => withTimeout(CLOSE_MS, Promise.allSettled(ends.map((end) => end()))),
  }
}

const connection = ({ endpoint, insecure }: ExportTarget) => ({
  url: `${insecure ? 'http' : 'https'}://${endpoint.replace(/^[a-z]+:\/\//, '')}`,
  timeoutMillis: SEND_MS,
})

const delivered = <T>(exporter: Exporter<T>, items: T): Promise<boolean> =>
  new Promise((resolve) => {
    exporter.export(items, ({ code }) => resolve(code === core.ExportResultCode.SUCCESS))
  })

/** Who sends: name and version, this process, and what OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME say. */
const resourceOf = ({ version }: Build): resources.Resource =>
  resources
    .resourceFromAttributes({
      'service.name': 'service',
      'service.version': version,
      'service.instance.id': randomUUID(),
      'host.name': hostname(),
      'process.pid': process.pid,
      'process.runtime.name': 'nodejs',
      'process.runtime.version': process.versions.node,
    })
    .merge(resources.detectResources({ detectors: [resources.envDetector] }))
