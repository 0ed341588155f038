// Connections to checked addresses, and those that wait for the next request.
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { buildConnector as BuildConnector, Dispatcher, Client as HttpClient } from 'undici'
import { socketLookup } from '../lib/system_names.ts'
import { limitReceivedBytes, wireBytes } from './body.ts'
import type { PeerCertificates } from './certificates.ts'

const require = createRequire(import.meta.url)
type SendRequest = (this: HttpClient, options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>

/**
 * Loads the HTTP library. This blocks the thread for 20 ms, once. A server loads it while it waits for other parts to start; a command loads
 * it with its first request. The entry point of undici would load five times as much. Its files are not imported, because Node would first
 * search them for the names that they export.
 */
export function loadHttpClient() {
  const Client = require('undici/lib/dispatcher/client.js') as typeof HttpClient
  const buildConnector = require('undici/lib/core/connect.js') as typeof BuildConnector
  const request = require('undici/lib/api/api-request.js') as SendRequest
  return { Client, buildConnector, request }
}

/** What one request needs of its connection. */
interface Use {
  /** The addresses that were checked for this request. */
  addresses: string[]
  /** Maximum bytes of the response body. */
  maxBytes: number
}

/** A connection of one request at a time. */
export class Connection {
  private readonly client: HttpClient
  private use: Use
  private socket: Socket | undefined
  /** The most bytes that the connection may have received in total, until the response to the present request is complete. */
  private most = 0

  /** `certificates` takes the end of the certificate of the server. */
  constructor(url: URL, use: Use, timeoutMs: number, certificates?: PeerCertificates) {
    const { Client, buildConnector } = loadHttpClient()
    this.use = use
    // The host and the TLS server name are those of the URL. TLS sessions are off: a ticket could carry bytes of one peer to another.
    const connect = buildConnector({
      lookup: socketLookup(async () => this.use.addresses),
      timeout: timeoutMs,
      rejectUnauthorized: true,
      maxCachedSessions: 0,
    })
    this.client = new Client(url.origin, {
      connect: (target, done) =>
        connect(target, (...outcome) => {
          this.most = wireBytes(this.use.maxBytes)
          this.socket = outcome[1] ?? undefined
          if (this.socket) limitReceivedBytes(this.socket, url.host, () => this.most)
          if (this.socket instanceof TLSSocket) noteEnd(certificates, url.host, this.socket)
          done(...outcome)
        }),
    })
  }

  /** Prepares an open connection for another request. False when it is closed, or its address is not one of the checked addresses. */
  reuse(use: Use): boolean {
    const socket = this.socket
    const address = socket?.remoteAddress
    if (!socket || address === undefined || socket.destroyed || !use.addresses.includes(address)) return false
    this.use = use
    this.most = socket.bytesRead + wireBytes(use.maxBytes)
    return true
  }

  send(options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData> {
    return loadHttpClient().request.call(this.client, options)
  }

  close(): void {
    this.client.destroy().catch(() => {})
  }
}

function noteEnd(certificates: PeerCertificates | undefined, host: string, socket: TLSSocket): void {
  const end = Date.parse(socket.getPeerCertificate().valid_to) / 1000
  if (Number.isFinite(end)) certificates?.note(host, end)
}

/** Connections that wait for the next request to their origin. */
export class IdleConnections {
  private readonly keepMs: number
  private readonly idle = new Map<string, { connection: Connection; timer: NodeJS.Timeout }[]>()

  /** Each connection waits at most `keepMs` milliseconds. With 0 none is kept. */
  constructor(keepMs: number) {
    this.keepMs = keepMs
  }

  /** An open connection to the origin at one of the checked addresses, or undefined. Others to this origin are closed. */
  take(origin: string, use: Use): Connection | undefined {
    const waiting = this.idle.get(origin) ?? []
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      clearTimeout(next.timer)
      if (next.connection.reuse(use)) return next.connection
      next.connection.close()
    }
    return undefined
  }

  /** Keeps a connection whose response was read to its end. */
  give(origin: string, connection: Connection): void {
    if (this.keepMs === 0) {
      connection.close()
      return
    }
    const waiting = this.idle.get(origin) ?? []
    const timer = setTimeout(() => {
      connection.close()
      waiting.splice(waiting.indexOf(entry), 1)
      if (waiting.length === 0) this.idle.delete(origin)
    }, this.keepMs)
    timer.unref()
    const entry = { connection, timer }
    waiting.push(entry)
    this.idle.set(origin, waiting)
  }
}
