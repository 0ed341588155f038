// Servers to fetch from, each on a loopback port of its own and gone when the test is over; and fetchers that may reach them.
import { createServer, type RequestListener, type Server } from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import { assert, onTestFinished } from 'vitest'
import { FetchError } from '../../src/net/error.ts'
import { createFetcher, type FetcherOptions } from '../../src/net/fetch.ts'
import type { Fetcher, FetchReply, FetchRequest } from '../../src/net/fetcher.ts'

export interface Peer {
  url: string
  port: number
  /** Paths that were asked for, in order. */
  asked: string[]
  /** Connections that were made, ever. */
  connections: number
  /** Connections that are open now. */
  open: Set<Socket>
}

/** Listens on a port of `address` and keeps a record of who connects. */
export async function listenOn<S extends net.Server>(server: S, scheme = 'http', address = '127.0.0.1'): Promise<Peer> {
  const peer: Peer = { url: '', port: 0, asked: [], connections: 0, open: new Set() }
  server.on('connection', (socket: Socket) => {
    peer.connections++
    peer.open.add(socket)
    socket.on('error', () => {}).once('close', () => peer.open.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, address, resolve))
  onTestFinished(() => {
    for (const socket of peer.open) socket.destroy()
    server.close()
  })
  peer.port = (server.address() as AddressInfo).port
  peer.url = `${scheme}://${address.includes(':') ? `[${address}]` : address}:${peer.port}`
  return peer
}

/** An HTTP server. */
export async function servePeer(
  answer: RequestListener,
  server: Server = createServer(),
  scheme = 'http',
): Promise<Peer> {
  const peer = await listenOn(server, scheme)
  server.on('request', (request, response) => {
    peer.asked.push(request.url ?? '')
    response.on('error', () => {})
    answer(request, response)
  })
  return peer
}

/** A server that answers whatever comes with `lines`, and then does what `after` says. */
export const serveRaw = (lines: string, after: (socket: Socket) => void = (socket) => socket.end()): Promise<Peer> =>
  listenOn(
    net.createServer((socket) =>
      socket.once('data', () => {
        socket.write(lines)
        after(socket)
      }),
    ),
  )

/** Bytes of an answer that are not its body, to be repeated without end; `head` comes once before them. */
export const FRAMING = {
  'chunk extensions': {
    head: 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    piece: `1;${'a'.repeat(15_000)}\r\n \r\n`,
  },
  'interim answers': { head: '', piece: 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'.repeat(400) },
}

/** Writes such an answer for as long as the other side reads it. Says how many bytes the system has taken. */
export function flood(
  socket: Pick<Socket, 'write' | 'on' | 'destroyed'>,
  { head, piece }: { head: string; piece: string },
) {
  const count = { sent: head.length }
  const more = () => {
    while (!socket.destroyed && socket.write(piece)) count.sent += piece.length
  }
  socket.on('drain', more)
  socket.write(head)
  more()
  return count
}

/** A fetcher for peers on loopback. */
export const localFetcher = (options: Partial<FetcherOptions> = {}): Fetcher =>
  createFetcher({ allowPrivate: true, userAgent: 'service-test', ...options })

/** Fetches with limits that are no obstacle, over http too. */
export const fetchFrom = (fetcher: Fetcher, url: string, request: Partial<FetchRequest> = {}): Promise<FetchReply> =>
  fetcher.fetch(url, { maxBytes: 10_000, timeoutMs: 5000, allowHttp: true, ...request })

/** The FetchError that a fetch ends with; fails when it does not. */
export async function faultOf(fetch: Promise<unknown>): Promise<FetchError> {
  const error = await fetch.then(
    () => assert.fail('the fetch succeeded'),
    (reason: unknown) => reason,
  )
  assert(error instanceof FetchError, `threw ${String(error)}, not a FetchError`)
  return error
}
