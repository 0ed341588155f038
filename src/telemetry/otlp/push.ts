// Push to OpenTelemetry collectors: metrics, traces and logs by OTLP over gRPC. Loaded only when one of them is enabled. It sets no
// globals of OpenTelemetry and keeps no async context: a trace is passed along with its request.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { type api, core, resources, type metrics as sdk, type tracing } from '@opentelemetry/sdk-node'
import type { Build } from '../../lib/build.ts'
import { withTimeout } from '../../lib/timeout.ts'
import type { LogEvent } from '../logger.ts'
import type { Metrics } from '../metrics.ts'
import type { Tracer } from '../trace.ts'
import { useSystemNames } from './grpc_names.ts'
import { metricsOf } from './metrics.ts'
import { Outbox } from './outbox.ts'
import { openTracer } from './trace.ts'

export interface ExportTarget {
  /** `host:port`. A scheme is ignored: `insecure` selects plain text or TLS. */
  endpoint: string
  insecure: boolean
}
export interface ExportSettings {
  metrics?: ExportTarget
  traces?: ExportTarget & { sampleRate: number }
  logs?: ExportTarget
  /** Milliseconds between two pushes of the metrics. */
  metricsEveryMs: number
  /** Milliseconds for which spans and log records are collected into a batch. */
  batchMs: number
}

export interface Exports {
  readonly tracer?: Tracer
  readonly log?: (event: LogEvent) => void
  /** Sends queued items, for at most a few seconds. */
  close(): Promise<void>
}

/** Timeout of one push. */
const SEND_MS = 5000
/** How long the end of the process waits for the last pushes. */
const CLOSE_MS = 3000
const MAX_QUEUE = 2048
const MAX_BATCH = 512

type Signal = 'metrics' | 'traces' | 'logs'
interface Exporter<T> {
  export(items: T, done: (result: { code: number }) => void): void
  shutdown(): Promise<void>
}

/** Opens the exports of these settings. The collectors need not be reachable. */
export async function openExports(settings: ExportSettings, metrics: Metrics, build: Build): Promise<Exports> {
  useSystemNames()
  const exports = new OtlpExports(settings, metrics, build)
  const { traces, logs, metrics: pushed } = settings
  const tracer = traces ? await exports.openTraces(traces) : undefined
  const log = logs ? await exports.openLogs(logs) : undefined
  if (pushed) await exports.openMetrics(pushed)
  return { tracer, log, close: () => exports.close() }
}

/** The open exports: one queue and one exporter for each signal. */
class OtlpExports {
  private readonly settings: ExportSettings
  private readonly metrics: Metrics
  private readonly resource: resources.Resource
  private readonly scope: core.InstrumentationScope
  private readonly ends: (() => Promise<unknown>)[] = []

  constructor(settings: ExportSettings, metrics: Metrics, build: Build) {
    this.settings = settings
    this.metrics = metrics
    this.resource = resourceOf(build)
    this.scope = { name: 'service', version: build.version }
  }

  async openTraces(target: ExportTarget & { sampleRate: number }): Promise<Tracer> {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-grpc')
    const spans = this.outbox<tracing.ReadableSpan>('traces', new OTLPTraceExporter(connection(target)))
    const { resource, scope } = this
    return openTracer({ resource, scope, sampleRate: target.sampleRate, onEnd: (span) => spans.put(span) })
  }

  async openLogs(target: ExportTarget): Promise<Exports['log']> {
    const { OTLPLogExporter } = await import('@opentelemetry/exporter-logs-otlp-grpc')
    const { recordOf } = await import('./logs.ts')
    const records = this.outbox('logs', new OTLPLogExporter(connection(target)))
    return (event) => records.put(recordOf(event, this.resource, this.scope))
  }

  /** Pushes the metrics at an interval, one push at a time: while a collector hangs, pushes are skipped, and the next one has all values. */
  async openMetrics(target: ExportTarget): Promise<void> {
    const { OTLPMetricExporter } = await import('@opentelemetry/exporter-metrics-otlp-grpc')
    const exporter = new OTLPMetricExporter(connection(target))
    const start = core.hrTime()
    let pushing: Promise<void> | undefined
    const push = () => {
      pushing ??= this.pushMetrics(exporter, start).finally(() => {
        pushing = undefined
      })
      return pushing
    }
    const timer = setInterval(() => void push(), this.settings.metricsEveryMs)
    timer.unref()
    this.ends.push(async () => {
      clearInterval(timer)
      await pushing
      await push()
      await exporter.shutdown()
    })
  }

  /** Sends queued items, for at most CLOSE_MS. */
  close(): Promise<void> {
    return withTimeout(CLOSE_MS, Promise.allSettled(this.ends.map((end) => end())))
  }

  private async pushMetrics(exporter: Exporter<sdk.ResourceMetrics>, start: api.HrTime): Promise<void> {
    const { metrics, resource, scope } = this
    const arrived = await metrics
      .samples()
      .then((samples) => metricsOf(samples, start, core.hrTime()))
      .then((read) => delivered(exporter, { resource, scopeMetrics: [{ scope, metrics: read }] }))
      .catch(() => false)
    metrics.count(arrived ? 'ext_telemetry_sent_total' : 'ext_telemetry_dropped_total', { signal: 'metrics' })
  }

  private outbox<T>(signal: Signal, exporter: Exporter<T[]>): Outbox<T> {
    const outbox = new Outbox<T>({
      send: (batch) => delivered(exporter, batch),
      delayMs: this.settings.batchMs,
      maxQueue: MAX_QUEUE,
      maxBatch: MAX_BATCH,
      onSent: (count) => this.metrics.count('ext_telemetry_sent_total', { signal }, count),
      onDropped: (count) => this.metrics.count('ext_telemetry_dropped_total', { signal }, count),
    })
    this.ends.push(() => outbox.drain().then(() => exporter.shutdown()))
    return outbox
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

/** The resource attributes: name and version, this process, and the values of OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME. */
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
