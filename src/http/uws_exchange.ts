// One request on uWebSockets.js: copying its head, reading its body, writing its answer.
import { newNamed } from '../lib/named.ts'
import { headerLines, peerAddress } from './listener.ts'
import { addHeader, type Reply, type RequestHead } from './message.ts'

export interface NativeRequest {
  /** As it was sent: `get` is not a known method. */
  getCaseSensitiveMethod(): string
  getUrl(): string
  getQuery(): string | undefined
  forEach(each: (name: string, value: string) => void): void
}
export interface NativeResponse {
  onAborted(handler: () => void): unknown
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): unknown
  cork(write: () => void): unknown
  writeStatus(status: string): unknown
  writeHeader(name: string, value: string): unknown
  end(body?: string | Buffer, close?: boolean): unknown
  endWithoutBody(): unknown
  close(): unknown
  getRemoteAddressAsText(): ArrayBuffer
}
const STATUS: Record<number, string> = {
  200: '200 OK',
  201: '201 Created',
  204: '204 No Content',
  302: '302 Found',
  303: '303 See Other',
  304: '304 Not Modified',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  409: '409 Conflict',
  411: '411 Length Required',
  413: '413 Content Too Large',
  415: '415 Unsupported Media Type',
  422: '422 Unprocessable Content',
  429: '429 Too Many Requests',
  431: '431 Request Header Fields Too Large',
  500: '500 Internal Server Error',
  503: '503 Service Unavailable',
}

/** One request: open, answered or aborted. */
export class HttpExchange {
  state: 'open' | 'done' | 'aborted' = 'open'
  readonly startedMs = performance.now()
  private readonly res: NativeResponse
  private readonly isHead: boolean
  private readonly left: (exchange: HttpExchange) => void
  phase: 'read' | 'write' = 'read'
  /** The address that the request came from. */
  peer = ''
  /** Bytes that it has taken of the body room. */
  held = 0

  constructor(res: NativeResponse, isHead: boolean, left: (exchange: HttpExchange) => void) {
    this.res = res
    this.isHead = isHead
    this.left = left
    res.onAborted(() => this.leave('aborted'))
  }

  /** Answers once. The last answer of a connection is delayed by one turn: a further request in the buffer then closes the connection instead of being served. */
  send(reply: Reply): void {
    if (reply.stream) throw new Error('this engine does not stream')
    const lines = headerLines(reply)
    if (reply.close) setImmediate(() => this.write(reply, lines))
    else this.write(reply, lines)
  }

  private write(reply: Reply, lines: [string, string][]): void {
    if (this.state !== 'open') return
    this.leave('done')
    this.res.cork(() => {
      this.res.writeStatus(STATUS[reply.status] ?? `${reply.status} Status`)
      for (const [name, value] of lines) this.res.writeHeader(name, value)
      // Only end() can close; it also writes `Connection: close`.
      if (reply.close) this.res.end(this.isHead ? '' : reply.body, true)
      else if (this.isHead) {
        this.res.writeHeader('content-length', String(Buffer.byteLength(reply.body)))
        this.res.endWithoutBody()
      } else if (reply.status === 204 || reply.status === 304) this.res.endWithoutBody()
      else this.res.end(reply.body)
    })
  }

  cut(): void {
    if (this.state !== 'open') return
    this.leave('aborted')
    this.res.close()
  }

  private leave(state: 'done' | 'aborted'): void {
    if (this.state !== 'open') return
    this.state = state
    this.left(this)
  }
}

/** Copies the head of a request. */
export function copyHead(res: NativeResponse, req: NativeRequest): RequestHead {
  const headers = newNamed()
  const repeated: string[] = []
  const lines = { headers, repeated }
  req.forEach((name, value) => {
    addHeader(lines, name, value)
  })
  return {
    method: req.getCaseSensitiveMethod(),
    path: req.getUrl(),
    query: req.getQuery() ?? '',
    headers,
    repeated,
    remote: peerAddress(Buffer.from(res.getRemoteAddressAsText()).toString('latin1')),
  }
}

interface BodyReader {
  limit: number
  /** Reserves memory for a chunk that is not the last one. */
  hold(bytes: number): boolean
  complete(body: Buffer): void
  tooLarge(): void
  noRoom(): void
}

/** Collects a body. When it is refused, because of its size or because memory is exhausted, nothing of it is kept. */
export function readBody(res: NativeResponse, { limit, hold, complete, tooLarge, noRoom }: BodyReader): void {
  const chunks: Buffer[] = []
  let size = 0
  let isRefused = false
  const refuse = (answer: () => void) => {
    isRefused = true
    chunks.length = 0
    answer()
  }
  res.onData((chunk, isLast) => {
    if (isRefused) return
    size += chunk.byteLength
    if (size > limit) return refuse(tooLarge)
    if (!isLast && !hold(chunk.byteLength)) return refuse(noRoom)
    // The ArrayBuffer is detached when this callback returns.
    chunks.push(Buffer.from(new Uint8Array(chunk)))
    if (isLast) complete(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
  })
}
