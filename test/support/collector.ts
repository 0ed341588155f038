// An OpenTelemetry collector: a gRPC server that decodes its input with the published protocol, which is independent of this code.
import { createRequire } from 'node:module'
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, type status } from '@grpc/grpc-js'

export type Attributes = Record<string, string | number | boolean | undefined>
export interface Span {
  trace_id: string
  span_id: string
  parent: string
  name: string
  /** 1 internal, 2 server, 3 client. */
  kind: number
  /** 2 is an error. */
  status: number
  attributes: Attributes
  resource: Attributes
}
export interface Metric {
  name: string
  description: string
  unit: string
  type: 'sum' | 'gauge' | 'histogram'
  monotonic: boolean
  points: { attributes: Attributes; value: number; sum: number; bounds: number[]; counts: number[] }[]
}
export interface LogRecord {
  severity: string
  number: number
  body: string
  trace_id: string
  attributes: Attributes
  resource: Attributes
}

// The messages of the protocol, as far as they are read here, with numbers for longs and base64 for bytes.
type Value = Partial<Record<'stringValue' | 'boolValue' | 'intValue' | 'doubleValue', string | number | boolean>>
type Pairs = { key: string; value: Value }[]
type Held<R extends string, S extends string, I extends string, T> = Record<
  R,
  ({ resource: { attributes: Pairs } } & Record<S, Record<I, T[]>[]>)[]
>
type Traces = Held<'resourceSpans', 'scopeSpans', 'spans', RawSpan>
type Metrics = Held<'resourceMetrics', 'scopeMetrics', 'metrics', RawMetric>
type Logs = Held<'resourceLogs', 'scopeLogs', 'logRecords', RawLog>
interface RawSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  status?: { code?: number }
  attributes: Pairs
}
interface RawPoint {
  attributes: Pairs
  asDouble?: number
  count?: number
  sum?: number
  explicitBounds?: number[]
  bucketCounts?: number[]
}
type RawMetric = Partial<Record<Metric['type'], { isMonotonic?: boolean; dataPoints: RawPoint[] }>> &
  Record<'name' | 'description' | 'unit', string>
interface RawLog {
  severityText: string
  severityNumber: number
  body: Value
  traceId?: string
  attributes: Pairs
}
interface MessageType {
  decode(bytes: Buffer): object
  toObject(message: object, how: object): unknown
}

const { opentelemetry } = createRequire(import.meta.url)('otlp-protos/build/src/generated/root') as {
  opentelemetry: { proto: { collector: Record<string, { v1: Record<string, MessageType> }> } }
}
const READ = { longs: Number, bytes: String, arrays: true }

const plain = (value: Value) => value.stringValue ?? value.boolValue ?? value.doubleValue ?? value.intValue
const attributesOf = (pairs: Pairs): Attributes =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, plain(value)]))
const hex = (base64 = '') => Buffer.from(base64, 'base64').toString('hex')

export class Collector {
  readonly spans: Span[] = []
  readonly metrics: Metric[] = []
  readonly logs: LogRecord[] = []
  /** Everything that arrived, in order. */
  readonly bytes: Buffer[] = []
  /** The status of every answer, if it is not OK. */
  refusal: status | undefined
  private readonly server = new Server()
  private port = 0

  /** Starts a collector on a free port, with TLS if a key and a certificate (PEM) are given. */
  static async start(tls?: { key: string; cert: string }): Promise<Collector> {
    const collector = new Collector()
    collector.serve<Traces>('trace', 'Trace', (request) => collector.readSpans(request))
    collector.serve<Metrics>('metrics', 'Metrics', (request) => collector.readMetrics(request))
    collector.serve<Logs>('logs', 'Logs', (request) => collector.readLogs(request))
    const pair = tls && { private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.cert) }
    const credentials = pair ? ServerCredentials.createSsl(null, [pair]) : ServerCredentials.createInsecure()
    collector.port = await new Promise((resolve, reject) => {
      collector.server.bindAsync('127.0.0.1:0', credentials, (error, port) => (error ? reject(error) : resolve(port)))
    })
    return collector
  }

  get endpoint(): string {
    return `127.0.0.1:${this.port}`
  }
  close(): void {
    this.server.forceShutdown()
  }

  private serve<T>(signal: string, name: string, read: (request: T) => void): void {
    const type = opentelemetry.proto.collector[signal]?.v1[`Export${name}ServiceRequest`]
    const asIs = (bytes: Buffer) => bytes
    const Export = {
      path: `/opentelemetry.proto.collector.${signal}.v1.${name}Service/Export`,
      requestStream: false,
      responseStream: false,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    }
    this.server.addService(
      { Export },
      {
        Export: ({ request }: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => {
          if (this.refusal !== undefined) return answer({ code: this.refusal, details: 'refused' })
          this.bytes.push(request)
          if (type) read(type.toObject(type.decode(request), READ) as T)
          answer(null, Buffer.alloc(0))
        },
      },
    )
  }

  private readSpans({ resourceSpans }: Traces): void {
    for (const { resource, scopeSpans } of resourceSpans)
      for (const span of scopeSpans.flatMap(({ spans }) => spans))
        this.spans.push({
          trace_id: hex(span.traceId),
          span_id: hex(span.spanId),
          parent: hex(span.parentSpanId),
          name: span.name,
          kind: span.kind,
          status: span.status?.code ?? 0,
          attributes: attributesOf(span.attributes),
          resource: attributesOf(resource.attributes),
        })
  }

  private readMetrics({ resourceMetrics }: Metrics): void {
    for (const metric of resourceMetrics
      .flatMap(({ scopeMetrics }) => scopeMetrics)
      .flatMap(({ metrics }) => metrics)) {
      const type = (['sum', 'gauge', 'histogram'] as const).find((each) => metric[each]) ?? 'gauge'
      const { isMonotonic = false, dataPoints = [] } = metric[type] ?? {}
      const { name, description, unit } = metric
      const points = dataPoints.map(({ attributes, asDouble, count, sum = 0, explicitBounds, bucketCounts }) => ({
        attributes: attributesOf(attributes),
        value: asDouble ?? count ?? 0,
        sum,
        bounds: explicitBounds ?? [],
        counts: bucketCounts ?? [],
      }))
      this.metrics.push({ name, description, unit, type, monotonic: isMonotonic, points })
    }
  }

  private readLogs({ resourceLogs }: Logs): void {
    for (const { resource, scopeLogs } of resourceLogs)
      for (const record of scopeLogs.flatMap(({ logRecords }) => logRecords))
        this.logs.push({
          severity: record.severityText,
          number: record.severityNumber,
          body: String(plain(record.body)),
          trace_id: hex(record.traceId),
          attributes: attributesOf(record.attributes),
          resource: attributesOf(resource.attributes),
        })
  }
}
