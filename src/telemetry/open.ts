// Opens the telemetry of a process: metrics, log and, when they are enabled, exports and tracer.
import type { Env } from '../config/env.ts'
import type { Config } from '../config/schema.ts'
import type { Build } from '../lib/build.ts'
import { type LogEvent, type Logger, openLogger } from './logger.ts'
import { Metrics } from './metrics.ts'
import type { ExportSettings, Exports } from './otlp/push.ts'
import type { Tracer } from './trace.ts'

export interface Telemetry {
  readonly log: Logger
  readonly metrics: Metrics
  /** Set when tracing is enabled. */
  readonly tracer?: Tracer
  /** Sends queued items, for at most a few seconds. */
  close(): Promise<void>
}

/** Opens the telemetry that the section `observability` configures. */
export async function openTelemetry(config: Config, build: Build, env: Env): Promise<Telemetry> {
  const { observability } = config
  const metrics = new Metrics()
  const exports = await exportsFor(exportSettings(observability, env), metrics, build)
  return {
    log: openLogger(observability.logging, exports?.log),
    metrics,
    tracer: exports?.tracer,
    close: async () => exports?.close(),
  }
}

/** Opens the telemetry of a front thread. Its log lines go to `send`, its counts to the supervisor; it exports its spans itself. */
export async function openThreadTelemetry(
  { observability }: Config,
  build: Build,
  env: Env,
  send: (event: LogEvent) => void,
): Promise<Telemetry> {
  const metrics = new Metrics()
  const { metrics: _metrics, logs: _logs, ...settings } = exportSettings(observability, env)
  const exports = await exportsFor(settings, metrics, build)
  const { logging } = observability
  const { stdout, otel } = logging.outputs
  const outputs = { ...logging.outputs, stdout: false, otel: false }
  return {
    log: openLogger({ ...logging, outputs }, stdout || otel ? send : undefined),
    metrics,
    tracer: exports?.tracer,
    close: async () => exports?.close(),
  }
}

/** Loads OpenTelemetry only when something is exported. */
async function exportsFor(settings: ExportSettings, metrics: Metrics, build: Build): Promise<Exports | undefined> {
  if (!settings.metrics && !settings.traces && !settings.logs) return undefined
  const { openExports } = await import('./otlp/push.ts')
  return openExports(settings, metrics, build)
}

const METRICS_EVERY_MS = 15_000
const BATCH_MS = 1000

function exportSettings({ metrics, tracing, logging }: Config['observability'], env: Env): ExportSettings {
  const { outputs } = logging
  // The standard variables of OpenTelemetry, whose defaults are longer.
  const ms = (name: string, otherwise: number) => Number(env[name]) || otherwise
  return {
    metrics: ['otel', 'both'].includes(metrics.provider)
      ? { endpoint: metrics.otel_endpoint, insecure: metrics.insecure }
      : undefined,
    traces: tracing.enabled ? { ...tracing, sampleRate: tracing.sample_rate } : undefined,
    logs: outputs.otel ? { endpoint: outputs.otel_endpoint, insecure: outputs.insecure } : undefined,
    metricsEveryMs: ms('OTEL_METRIC_EXPORT_INTERVAL', METRICS_EVERY_MS),
    batchMs: ms('OTEL_BSP_SCHEDULE_DELAY', BATCH_MS),
  }
}
