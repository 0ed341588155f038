// The interface of tracing: W3C trace context in and out, spans around work. The implementation is behind Tracer, and is loaded only
// when tracing is enabled.
import { AsyncLocalStorage } from 'node:async_hooks'

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

/** A span of a request that is sampled. Other requests have none, so that tracing costs them nothing. */
export interface Trace {
  readonly trace_id: string
  /** The traceparent header of requests made within this span (W3C Trace Context §3.2). */
  readonly traceparent: string
  /** Runs work in a child span. Returns the result of the work, or throws its error. A failure is recorded by its reason. */
  span<R>(name: string, attributes: Attributes, work: (inner: Trace) => Promise<R>): Promise<R>
  set(attributes: Attributes): void
  /** Ends the span; `failure` is the reason of a failure. */
  end(failure?: string): void
}

/** The trace context that a caller sent. */
export interface TraceParent {
  trace_id: string
  span_id: string
  sampled: boolean
}

/** The span of the running code. Nothing enters it while no request is traced, and then reading it costs nothing. */
const active = new AsyncLocalStorage<Trace>()

/** The span that the running code belongs to; undefined when its request is not sampled. */
export const activeTrace = (): Trace | undefined => active.getStore()

/** Runs work, and what follows from it, within a span. */
export const within = <R>(trace: Trace, work: () => R): R => active.run(trace, work)

/** Runs a part of a request, in a child span when the request is traced. */
export function inSpan<R>(name: string, work: () => Promise<R>): Promise<R> {
  const trace = activeTrace()
  return trace ? trace.span(name, {}, (inner) => within(inner, work)) : work()
}

export interface Tracer {
  /** Begins the trace of a request; undefined when it is not sampled. */
  begin(name: string, parent: TraceParent | undefined, attributes: Attributes): Trace | undefined
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ZEROS = /^0+$/

/** Parses a traceparent header. Undefined for every value that the standard requires to be ignored. */
export function parseTraceparent(header: string | undefined): TraceParent | undefined {
  const [, version, trace_id = '', span_id = '', flags = '', more] = TRACEPARENT.exec(header ?? '') ?? []
  if (version === undefined || version === 'ff' || ZEROS.test(trace_id) || ZEROS.test(span_id)) return undefined
  // Version 00 ends after the flags; later versions may continue.
  if (version === '00' && more !== undefined) return undefined
  return { trace_id, span_id, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** Writes a traceparent header. */
export const formatTraceparent = ({ trace_id, span_id, sampled }: TraceParent): string =>
  `00-${trace_id}-${span_id}-${sampled ? '01' : '00'}`
