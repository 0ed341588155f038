// Traces as the rest of the service sees them: W3C trace context in and out, spans around work. What records and sends them
// is behind Tracer, and loaded only where tracing is on.

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

/** A span of a request that is traced. Requests that are not have none, so that they pay nothing. */
export interface Trace {
  readonly trace_id: string
  /** What to send along with requests made from within this span (W3C Trace Context §3.2). */
  readonly traceparent: string
  /** Does work in a span below this one. Passes on what it returns or throws; a failure is noted by its reason. */
  span<R>(name: string, attributes: Attributes, work: (inner: Trace) => Promise<R>): Promise<R>
  set(attributes: Attributes): void
  /** Ends it; `failure` is what went wrong, by its reason. */
  end(failure?: string): void
}

/** What a caller said about its own trace. */
export interface TraceParent {
  trace_id: string
  span_id: string
  sampled: boolean
}

export interface Tracer {
  /** Begins the trace of a request; undefined when this one is not sampled. */
  begin(name: string, parent: TraceParent | undefined, attributes: Attributes): Trace | undefined
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ZEROS = /^0+$/

/** Reads a traceparent header. Undefined for anything that the standard tells to ignore. */
export function parseTraceparent(header: string | undefined): TraceParent | undefined {
  const [, version, trace_id = '', span_id = '', flags = '', more] = TRACEPARENT.exec(header ?? '') ?? []
  if (version === undefined || version === 'ff' || ZEROS.test(trace_id) || ZEROS.test(span_id)) return undefined
  // Version 00 has nothing behind the flags; later ones may.
  if (version === '00' && more !== undefined) return undefined
  return { trace_id, span_id, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** Writes a traceparent header. */
export const formatTraceparent = ({ trace_id, span_id, sampled }: TraceParent): string =>
  `00-${trace_id}-${span_id}-${sampled ? '01' : '00'}`
