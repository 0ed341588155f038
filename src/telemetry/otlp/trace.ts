// Spans of OpenTelemetry behind the interface Trace. Sampling is decided here, before anything is allocated for a request.
import { api, type core, type resources, tracing } from '@opentelemetry/sdk-node'
import { OAuthError } from '../../lib/error.ts'
import { type Attributes, formatTraceparent, type Trace, type TraceParent, type Tracer } from '../trace.ts'

interface TracerParts {
  resource: resources.Resource
  scope: core.InstrumentationScope
  /** Share of the requests that are traced, 0 to 1, when the caller did not decide. */
  sampleRate: number
  onEnd(span: tracing.ReadableSpan): void
}

/** Creates the tracer. It follows the sampling decision of the caller (parent-based sampling). */
export function openTracer({ resource, scope, sampleRate, onEnd }: TracerParts): Tracer {
  const spanProcessor: tracing.SpanProcessor = {
    onStart() {},
    onEnd,
    forceFlush: async () => {},
    shutdown: async () => {},
  }
  const provider = new tracing.BasicTracerProvider({
    resource,
    sampler: new tracing.AlwaysOnSampler(),
    spanProcessors: [spanProcessor],
  })
  const tracer = provider.getTracer(scope.name, scope.version)
  return {
    begin(name, parent, attributes) {
      if (!(parent ? parent.sampled : Math.random() < sampleRate)) return undefined
      const context = parent ? api.trace.setSpanContext(api.ROOT_CONTEXT, contextOf(parent)) : api.ROOT_CONTEXT
      return new SpanTrace(tracer, tracer.startSpan(name, { kind: api.SpanKind.SERVER, attributes }, context))
    },
  }
}

const contextOf = ({ trace_id, span_id, sampled }: TraceParent): api.SpanContext => ({
  traceId: trace_id,
  spanId: span_id,
  traceFlags: sampled ? api.TraceFlags.SAMPLED : api.TraceFlags.NONE,
  isRemote: true,
})

class SpanTrace implements Trace {
  private readonly tracer: api.Tracer
  private readonly own: api.Span

  constructor(tracer: api.Tracer, own: api.Span) {
    this.tracer = tracer
    this.own = own
  }

  get trace_id(): string {
    return this.own.spanContext().traceId
  }

  get traceparent(): string {
    const { traceId, spanId } = this.own.spanContext()
    return formatTraceparent({ trace_id: traceId, span_id: spanId, sampled: true })
  }

  async span<R>(name: string, attributes: Attributes, work: (inner: Trace) => Promise<R>): Promise<R> {
    const context = api.trace.setSpan(api.ROOT_CONTEXT, this.own)
    const kind = attributes['server.address'] ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL
    const inner = new SpanTrace(this.tracer, this.tracer.startSpan(name, { kind, attributes }, context))
    try {
      const result = await work(inner)
      inner.end()
      return result
    } catch (error) {
      inner.end(reasonOf(error))
      throw error
    }
  }

  set(attributes: Attributes): void {
    this.own.setAttributes(attributes)
  }

  end(failure?: string): void {
    if (failure !== undefined) {
      this.own.setAttribute('error.type', failure)
      this.own.setStatus({ code: api.SpanStatusCode.ERROR, message: failure })
    }
    this.own.end()
  }
}

/** The reason of an error. Never its message, which may contain data of the request. */
function reasonOf(error: unknown): string {
  if (error instanceof OAuthError) return error.reason
  const { reason } = error as { reason?: unknown }
  return typeof reason === 'string' ? reason : error instanceof Error ? error.name : 'error'
}
