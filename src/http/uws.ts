// The fast engine: uWebSockets.js. Everything a request contains is copied before the handler returns, and no native object is
// used after an abort. docs/decisions/0006 lists the faults of its parser and what protects the service from them.
import { createRequire } from 'node:module'
import { BodyRoom } from './body_room.ts'
import { hasBody } from './framing.ts'
import { type Accepted, type Decision, type HttpListener, type HttpListenerOptions, splitAddress } from './listener.ts'
import type { Reply } from './message.ts'
import { asOAuthError, problem } from './problem.ts'
import { SilentConnections } from './silent_connections.ts'
import { copyHead, HttpExchange, type NativeRequest, type NativeResponse, readBody } from './uws_exchange.ts'

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

/** Without this flag, the operating system distributes connections over all listeners of the port (SO_REUSEPORT). */
const EXCLUSIVE_PORT = 1
// Build 20.57 reads this variable at load time. Without it, it refuses heads over 4 KiB; framing.ts sets the limit of the service.
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(64 * 1024)
const require = createRequire(import.meta.url)
const NO_BODY = Buffer.alloc(0)

interface Build {
  name: string
  native: Native
  /** Whether it gives no answer to requests that it cannot read. */
  isSilent: boolean
}

/** The builds in order of preference: the first needs glibc 2.38, the second runs on Node 20 with glibc 2.27. */
const BUILDS = [
  { name: 'uWebSockets.js 20.57', isSilent: false, load: () => require('uWebSockets.js') as Native },
  {
    name: 'uWebSockets.js 20.30',
    isSilent: true,
    // The binary itself: the package's entry point would fall back to an imitation in JavaScript.
    load: () =>
      require(
        `uwebsockets-glibc227/binaries/uws_${process.platform}_${process.arch}_${process.versions.modules}.node`,
      ) as Native,
  },
]

/** Loads the native build that runs on this platform, if any. */
export function loadNative(): Build | undefined {
  for (const { name, isSilent, load } of BUILDS) {
    try {
      const native = load()
      if (typeof native.App === 'function') return { name, native, isSilent }
    } catch {}
  }
  return undefined
}

/** Opens a listener on uWebSockets.js. Throws when no native build loads or the address is taken. */
export async function openUws(options: HttpListenerOptions): Promise<HttpListener> {
  const build = loadNative()
  if (!build) throw new Error('no native build of uWebSockets.js loads on this platform')
  const { native, name, isSilent } = build
  native._cfg('silent')
  const { port } = splitAddress(options.address)
  // A thread that shares the port does not know what the others serve.
  const silent = isSilent && !options.shared ? new SilentConnections(port, options.log) : undefined
  const listener = new UwsListener(options, silent)
  const app = native.App().any('/*', (res, req) => listener.serve(res, req))
  const socket = await listen(app, options.address, options.shared ? 0 : EXCLUSIVE_PORT)
  listener.startTimeouts()
  silent?.start(() => listener.peers())
  let closed: Promise<void> | undefined
  const close = async (waitMs: number) => {
    silent?.stop()
    native.us_listen_socket_close(socket)
    await listener.drain(waitMs)
    // Closes the idle connections, which would still be served.
    app.close()
  }
  return {
    engine: name,
    // Only once: the engine frees its socket, and closing it a second time would crash the process.
    close: (waitMs) => {
      closed ??= close(waitMs)
      return closed
    },
  }
}

/** The requests of one listener. */
class UwsListener {
  private readonly options: HttpListenerOptions
  private readonly open = new Set<HttpExchange>()
  private readonly room: BodyRoom
  private readonly silent: SilentConnections | undefined
  private timeouts: NodeJS.Timeout | undefined

  constructor(options: HttpListenerOptions, silent: SilentConnections | undefined) {
    this.options = options
    this.silent = silent
    this.room = new BodyRoom(options.bodyRoomBytes, options.largeBodyBytes)
  }

  serve(res: NativeResponse, req: NativeRequest): void {
    const exchange = new HttpExchange(res, req.getCaseSensitiveMethod() === 'HEAD', this.left)
    this.open.add(exchange)
    try {
      const head = copyHead(res, req)
      exchange.peer = head.remote
      this.silent?.served(head.remote)
      const accepted = this.options.accept(head)
      if (accepted instanceof Promise) this.sendLater(exchange, accepted.then(replyOnly))
      else if ('status' in accepted) exchange.send(accepted)
      else if (hasBody(head)) this.read(res, exchange, accepted)
      else this.answer(exchange, accepted, NO_BODY)
    } catch (error) {
      this.fail(exchange, error)
    }
  }

  /** Cuts requests that take too long. The timeouts of the engine are fixed at about ten seconds without progress; these bound the whole request. */
  startTimeouts(): void {
    const { readTimeoutMs, writeTimeoutMs } = this.options
    this.timeouts = setInterval(() => {
      const nowMs = performance.now()
      for (const exchange of this.open) {
        const limitMs = readTimeoutMs + (exchange.phase === 'read' ? 0 : writeTimeoutMs)
        if (nowMs - exchange.startedMs > limitMs) exchange.cut()
      }
    }, 1000)
    this.timeouts.unref()
  }

  /** The peers of the requests in flight. */
  peers(): Set<string> {
    return new Set([...this.open].map(({ peer }) => peer))
  }

  /** Waits up to `waitMs` for the requests in flight, then cuts the others. */
  async drain(waitMs: number): Promise<void> {
    const deadline = performance.now() + waitMs
    while (this.open.size > 0 && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10))
    clearInterval(this.timeouts)
    for (const exchange of this.open) exchange.cut()
  }

  private read(res: NativeResponse, exchange: HttpExchange, accepted: Accepted): void {
    readBody(res, {
      limit: accepted.limit,
      hold: (bytes) => {
        if (exchange.state !== 'open' || !this.room.take(bytes, exchange.held)) return false
        exchange.held += bytes
        return true
      },
      complete: (body) => this.answer(exchange, accepted, body),
      tooLarge: () => exchange.send(accepted.tooLarge()),
      noRoom: () => exchange.send(accepted.noRoom()),
    })
  }

  private answer(exchange: HttpExchange, accepted: Accepted, body: Buffer): void {
    exchange.phase = 'write'
    try {
      const reply = accepted.answer(body)
      if (reply instanceof Promise) this.sendLater(exchange, reply)
      else exchange.send(reply)
    } catch (error) {
      this.fail(exchange, error)
    }
  }

  private sendLater(exchange: HttpExchange, reply: Promise<Reply>): void {
    reply.then((value) => exchange.send(value)).catch((error: unknown) => this.fail(exchange, error))
  }

  private fail(exchange: HttpExchange, error: unknown): void {
    this.options.log.error({ err: error }, 'the answer could not be written')
    exchange.send({ ...problem(asOAuthError(error), undefined), close: true })
  }

  private readonly left = (exchange: HttpExchange): void => {
    this.open.delete(exchange)
    this.silent?.served(exchange.peer)
    this.room.give(exchange.held)
  }
}

/** The engine must be asked for the body in the turn of the head, so that a decision that takes longer can only be an answer. */
function replyOnly(decision: Decision): Reply {
  if ('status' in decision) return decision
  throw new Error('uWebSockets.js cannot wait for a guard before it reads a body')
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
