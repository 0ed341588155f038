// Converts log lines to OTLP records.
import { type api, core, type logs, type resources } from '@opentelemetry/sdk-node'
import type { LogEvent } from '../logger.ts'

/** Severity numbers of OpenTelemetry (logs data model, SeverityNumber). */
const SEVERITY: Readonly<Record<string, number>> = { debug: 5, info: 9, warn: 13, error: 17, fatal: 21 }
const SAMPLED = 1
const NO_SPAN = '0000000000000000'

/** The record of a log line. Its field `trace_id` becomes the trace of the record. */
export function recordOf(
  { level, time, msg, fields }: LogEvent,
  resource: resources.Resource,
  scope: core.InstrumentationScope,
): logs.ReadableLogRecord {
  const { trace_id, ...rest } = fields
  const hrTime = core.millisToHrTime(Date.parse(time))
  return {
    hrTime,
    hrTimeObserved: hrTime,
    severityText: level.toUpperCase(),
    severityNumber: SEVERITY[level] ?? 0,
    body: msg,
    attributes: rest as api.Attributes,
    droppedAttributesCount: 0,
    resource,
    instrumentationScope: scope,
    ...(typeof trace_id === 'string'
      ? { spanContext: { traceId: trace_id, spanId: NO_SPAN, traceFlags: SAMPLED } }
      : {}),
  }
}
