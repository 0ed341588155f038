// The fast engine: uWebSockets.js. Everything a request holds is copied before the handler returns; no native object is
// touched after an abort; see docs/decisions/0006 for what its parser gets wrong and what saves us.
import { createRequire } from 'node:module'
import { newNamed } from '../lib/named.ts'
import { BodyRoom } from './body_room.ts'
import { hasBody } from './framing.ts'
import { type FrontOptions, type HttpFront, headerLines, peerAddress, splitAddress } from './front.ts'
import type { Reply, RequestHead } from './message.ts'
import { asOAuthError, problem } from './problem.ts'

interface NativeRequest {
  /** As it was sent: `get` is no method. */
  getCaseSensitiveMethod(): string
  getUrl(): string
  getQuery(): string | undefined
  forEach(each: (name: string, value: string) => void): void
}
interface NativeResponse {
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
interface NativeApp {
  any(pattern: string, handler: (res: NativeResponse, req: NativeRequest) => void): NativeApp
  listen(port: number, options: number, done: (socket: unknown) => void): NativeApp
  listen(host: string, port: number, options: number, done: (socket: unknown) => void): NativeApp
  close(): NativeApp
}
interface Native {
  App(): NativeApp
  _cfg(setting: string): void
  us_listen_socket_close(socket: unknown): void
}

/** Without it the system spreads connections over everybody who listens there (SO_REUSEPORT). */
const EXCLUSIVE_PORT = 1
// Build 20.57 reads this when it is loaded, and refuses heads over 4 KiB without it: framing.ts has the limit.
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(64 * 1024)
const require = createRequire(import.meta.url)

/** The builds that may load here: the newest line needs glibc 2.38, the other one runs on Node 20 with glibc 2.27. */
const BUILDS = [
  { name: 'uWebSockets.js 20.57', load: () => require('uWebSockets.js') as Native },
  {
    name: 'uWebSockets.js 20.30',
    // The binary itself: the package's entry point would fall back to an imitation in JavaScript.
    load: () =>
      require(
        `uwebsockets-glibc227/binaries/uws_${process.platform}_${process.arch}_${process.versions.modules}.node`,
      ) as Native,
  },
]

/** Loads the native build that runs on this platform, if any. */
export function loadNative(): { name: string; native: Native } | undefined {
  for (const build of BUILDS) {
    try {
      const native = build.load()
      if (typeof native.App === 'function') return { name: build.name, native }
    } catch {}
  }
  return undefined
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

/** One request on its way: open, answered or aborted. */
class Exchange {
  state: 'open' | 'done' | 'aborted' = 'open'
  readonly startedMs = performance.now()
  private readonly res: NativeResponse
  private readonly isHead: boolean
  private readonly left: (exchange: Exchange) => void
  phase: 'read' | 'write' = 'read'
  /** Bytes of the body room that it has taken. */
  held = 0

  constructor(res: NativeResponse, isHead: boolean, left: (exchange: Exchange) => void) {
    this.res = res
    this.isHead = isHead
    this.left = left
    res.onAborted(() => this.leave('aborted'))
  }

  /** Answers once. The last answer of a connection waits a turn: a request behind it in the buffer then cuts the connection, else it would be served. */
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

function copyHead(res: NativeResponse, req: NativeRequest): RequestHead {
  const headers = newNamed()
  const repeated: string[] = []
  req.forEach((name, value) => {
    const known = headers[name]
    if (known === undefined) headers[name] = value
    else {
      headers[name] = `${known}${name === 'cookie' ? ';' : ','} ${value}`
      repeated.push(name)
    }
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
  /** Takes memory for a piece that is not the last one. */
  hold(bytes: number): boolean
  complete(body: Buffer): void
  tooMuch(): void
  crowded(): void
}

/** Collects a body; once it is refused, for its size or for want of memory, nothing of it is kept. */
function readBody(res: NativeResponse, { limit, hold, complete, tooMuch, crowded }: BodyReader): void {
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
    if (size > limit) return refuse(tooMuch)
    if (!isLast && !hold(chunk.byteLength)) return refuse(crowded)
    // The ArrayBuffer is detached when this callback returns.
    chunks.push(Buffer.from(new Uint8Array(chunk)))
    if (isLast) complete(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
  })
}

/** Opens a listener on uWebSockets.js. Throws when no native build loads or the address is taken. */
export async function openUws(options: FrontOptions): Promise<HttpFront> {
  const build = loadNative()
  if (!build) throw new Error('no native build of uWebSockets.js loads on this platform')
  const { native, name } = build
  native._cfg('silent')
  const open = new Set<Exchange>()
  const room = new BodyRoom(options.bodyRoomBytes)
  const left = (exchange: Exchange) => {
    open.delete(exchange)
    room.give(exchange.held)
  }

  const app = native.App().any('/*', (res, req) => {
    const exchange = new Exchange(res, req.getCaseSensitiveMethod() === 'HEAD', left)
    open.add(exchange)
    const broken = (error: unknown) => {
      options.log.error({ err: error }, 'the answer could not be written')
      exchange.send({ ...problem(asOAuthError(error), undefined), close: true })
    }
    try {
      const head = copyHead(res, req)
      const accepted = options.accept(head)
      if (accepted instanceof Promise) return void accepted.then((reply) => exchange.send(reply)).catch(broken)
      if ('status' in accepted) return exchange.send(accepted)
      const answer = (body: Buffer) => {
        exchange.phase = 'write'
        try {
          const reply = accepted.answer(body)
          if (reply instanceof Promise) reply.then((value) => exchange.send(value)).catch(broken)
          else exchange.send(reply)
        } catch (error) {
          broken(error)
        }
      }
      if (!hasBody(head)) return answer(Buffer.alloc(0))
      readBody(res, {
        limit: accepted.limit,
        hold: (bytes) => {
          if (exchange.state !== 'open' || !room.take(bytes)) return false
          exchange.held += bytes
          return true
        },
        complete: answer,
        tooMuch: () => exchange.send(accepted.tooLarge()),
        crowded: () => exchange.send(accepted.crowded()),
      })
    } catch (error) {
      broken(error)
    }
  })

  const socket = await listen(app, options.address, options.shared ? 0 : EXCLUSIVE_PORT)
  // The engine's own time-outs are fixed at about ten seconds without progress; these bound the whole.
  const sweep = setInterval(() => {
    const nowMs = performance.now()
    for (const exchange of open) {
      const limitMs = options.readTimeoutMs + (exchange.phase === 'read' ? 0 : options.writeTimeoutMs)
      if (nowMs - exchange.startedMs > limitMs) exchange.cut()
    }
  }, 1000)
  sweep.unref()

  const end = async (waitMs: number) => {
    native.us_listen_socket_close(socket)
    const deadline = performance.now() + waitMs
    while (open.size > 0 && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10))
    clearInterval(sweep)
    for (const exchange of open) exchange.cut()
    // What is left are idle connections, which would go on being served.
    app.close()
  }
  let ended: Promise<void> | undefined
  return {
    engine: name,
    // Once: the engine frees its socket, and closing it again would end the process.
    close: (waitMs) => {
      ended ??= end(waitMs)
      return ended
    },
  }
}

function listen(app: NativeApp, address: string, exclusive: number): Promise<unknown> {
  const { host, port } = splitAddress(address)
  return new Promise((resolve, reject) => {
    const done = (socket: unknown) =>
      socket
        ? resolve(socket)
        : reject(
            Object.assign(new Error(`cannot listen on ${address}: the address is taken or not allowed`), {
              code: 'EADDRINUSE',
            }),
          )
    if (host) app.listen(host, port, exclusive, done)
    else app.listen(port, exclusive, done)
  })
}
