// The reference engine: node:http. It serves the admin listener, and the public listener when no native build of the fast engine loads.
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { Config } from '../config/schema.ts'
import { codeOf, OAuthError } from '../lib/error.ts'
import { newId } from '../lib/id.ts'
import { newNamed } from '../lib/named.ts'
import { BodyRoom } from './body_room.ts'
import { hasBody, statesNoLength } from './framing.ts'
import { type HttpListener, type HttpListenerOptions, headerLines, peerAddress, splitAddress } from './listener.ts'
import { addHeader, type Reply, type RequestHead, splitTarget } from './message.ts'
import { asOAuthError, problem } from './problem.ts'

const MAX_HEADER_BYTES = 16 * 1024
/** How often the server looks for requests that take too long. */
const SWEEP_MS = 1000

/** A header value as UTF-8, which the native engine reads too. node:http decodes every byte as one character. */
const utf8 = (value: string): string =>
  /^[\x00-\x7f]*$/.test(value) ? value : Buffer.from(value, 'latin1').toString('utf8')

function copyHead(req: IncomingMessage): RequestHead {
  const headers = newNamed()
  const repeated: string[] = []
  const lines = { headers, repeated }
  for (let i = 0; i < req.rawHeaders.length; i += 2)
    addHeader(lines, (req.rawHeaders[i] as string).toLowerCase(), utf8(req.rawHeaders[i + 1] as string))
  // HTTP/1.0 has no Host. Nothing depends on its value.
  if (req.httpVersion === '1.0') headers.host ??= 'localhost'
  return {
    method: req.method ?? '',
    ...splitTarget(req.url ?? '/'),
    headers,
    repeated,
    remote: peerAddress(req.socket.remoteAddress ?? ''),
  }
}

/** Resolves with the body, or with why it is refused. Rejects when the client disconnects. */
function readBody(req: IncomingMessage, limit: number, room: BodyRoom): Promise<Buffer | 'tooLarge' | 'noRoom'> {
  const whole = Number(req.headers['content-length'])
  const chunks: Buffer[] = []
  let size = 0
  let held = 0
  let isRefused = false
  return new Promise<Buffer | 'tooLarge' | 'noRoom'>((resolve, reject) => {
    const refuse = (why: 'tooLarge' | 'noRoom') => {
      isRefused = true
      chunks.length = 0
      resolve(why)
    }
    req.on('data', (chunk: Buffer) => {
      if (isRefused) return
      size += chunk.length
      if (size > limit) return refuse('tooLarge')
      if (size !== whole) {
        if (!room.take(chunk.length, held)) return refuse('noRoom')
        held += chunk.length
      }
      chunks.push(chunk)
    })
    req.on('end', () => resolve(Buffer.concat(chunks)))
    req.on('error', reject)
    req.on('close', () => reject(new Error('the client disconnected')))
  }).finally(() => room.give(held))
}

/** Connections whose last answer was sent: no further request of theirs is processed (RFC 9112 §9.6). */
const ended = new WeakSet<Socket>()

function send(req: IncomingMessage, res: ServerResponse, reply: Reply): void {
  if (res.headersSent || res.destroyed) return
  const lines = headerLines(reply)
  res.statusCode = reply.status
  for (const [name, value] of lines) res.appendHeader(name, value)
  if (reply.close) {
    ended.add(req.socket)
    res.setHeader('connection', 'close')
  }
  if (reply.stream && req.method !== 'HEAD') return void pipeline(reply.stream, res).catch(() => res.destroy())
  if (reply.status !== 204 && reply.status !== 304 && !reply.stream)
    res.setHeader('content-length', Buffer.byteLength(reply.body))
  res.end(req.method === 'HEAD' ? undefined : reply.body)
  if (reply.close) res.once('finish', () => req.destroy())
}

/** Opens a listener on node:http. Throws when the address is taken. */
export async function openNode(options: HttpListenerOptions): Promise<HttpListener> {
  const room = new BodyRoom(options.bodyRoomBytes, options.largeBodyBytes)
  const serve = (req: IncomingMessage, res: ServerResponse) => {
    respond(req, res, options, room, server).catch((error: unknown) => {
      if (res.destroyed) return
      options.log.error({ err: error }, 'the answer could not be written')
      send(req, res, { ...problem(asOAuthError(error), undefined), close: true })
    })
  }
  const server = createServer(serverOptions(options), serve)
  // An expectation that is not known is ignored (RFC 9110 §10.1.1), as by the native engine.
  server.on('checkExpectation', serve)
  server.on('clientError', refuseBadRequest)
  await listen(server, options.address)
  return {
    engine: 'node:http',
    async close(waitMs) {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeIdleConnections()
      const late = setTimeout(() => server.closeAllConnections(), waitMs)
      await closed
      clearTimeout(late)
    },
  }
}

const serverOptions = ({ readTimeoutMs, idleTimeoutMs }: HttpListenerOptions): ServerOptions => ({
  maxHeaderSize: MAX_HEADER_BYTES,
  // framingFault() refuses requests without Host. A refusal by the server would still serve the next request of the connection.
  requireHostHeader: false,
  requestTimeout: readTimeoutMs,
  headersTimeout: readTimeoutMs,
  keepAliveTimeout: idleTimeoutMs,
  connectionsCheckingInterval: SWEEP_MS,
})

async function respond(
  req: IncomingMessage,
  res: ServerResponse,
  { accept, writeTimeoutMs }: HttpListenerOptions,
  room: BodyRoom,
  server: Server,
): Promise<void> {
  res.on('error', () => {})
  if (ended.has(req.socket)) return
  const head = copyHead(req)
  // A request behind it on the same connection must not reach a handler.
  if (statesNoLength(head)) ended.add(req.socket)
  const decision = accept(head)
  const accepted = decision instanceof Promise ? await decision : decision
  if ('status' in accepted) return send(req, res, accepted)
  // The client disconnected while the guard of the route waited: no event will end the read of the body.
  if (res.destroyed) return
  const body = hasBody(head) ? await readBody(req, accepted.limit, room) : Buffer.alloc(0)
  if (typeof body === 'string') return send(req, res, accepted[body]())
  const late = setTimeout(() => res.destroy(), writeTimeoutMs).unref()
  try {
    const reply = await accepted.answer(body)
    send(req, res, server.listening ? reply : { ...reply, close: true })
  } finally {
    clearTimeout(late)
  }
}

function listen(server: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const { host, port } = splitAddress(address)
    server.once('error', (error) =>
      reject(
        Object.assign(new Error(`cannot listen on ${address}: ${error.message}`), {
          code: codeOf(error),
        }),
      ),
    )
    server.listen(port, host || undefined, resolve)
  })
}

/** Rejects when the address is in use. Threads that share a port would otherwise share it with another process too. */
export async function checkFree(address: string): Promise<void> {
  const server = createServer()
  await listen(server, address)
  await new Promise((resolve) => server.close(resolve))
}

/** Rejects when an address of the service is in use. */
export async function checkListeners({ server, admin }: Pick<Config, 'server' | 'admin'>): Promise<void> {
  await checkFree(server.address)
  if (admin.enabled) await checkFree(admin.address)
}

const parserRefusal = (code: string | undefined): OAuthError => {
  const refuse = (status: number, description: string) => new OAuthError('invalid_request', description, { status })
  if (code === 'HPE_HEADER_OVERFLOW') return refuse(431, 'the head of the request is too large')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return refuse(408, 'the request was not complete in time')
  return refuse(400, 'the request is not valid HTTP/1.1')
}

/** Answers a request that the parser refuses with a problem document, and closes the connection. */
function refuseBadRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const { status, headers, body } = problem(parserRefusal(error.code), undefined, newId())
  const fields = { ...headers, connection: 'close', 'content-length': Buffer.byteLength(body) }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
}
