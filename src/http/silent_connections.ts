// Connections that the native engine keeps without ever calling the service: build 20.30 gives no answer to a request that it cannot read
// (HTTP/1.0, more than 48 header fields), and closes the connection later. The kernel's table of connections shows them, so that the log can.
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../telemetry/logger.ts'
import { peerAddress } from './listener.ts'

/** The engine has closed every connection that was served before this time. */
const QUIET_MS = 16_000
const LOOK_MS = 4000
/** A connection that is as old as this has had time to send its request. */
const CONFIRM_MS = 750
/** One line per hour. */
const AGAIN_MS = 3_600_000
/** Beyond these the table is not read: it takes time when there are many connections, and then not every peer is known. */
const MAX_PEERS = 1000
const MAX_REQUESTS = 2000

const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6']
const ESTABLISHED = '01'

/** Watches the connections of one port. On systems without /proc it sees none. */
export class SilentConnections {
  private readonly port: number
  private readonly log: Logger
  private readonly servedMs = new Map<string, number>()
  private requests = 0
  private warnedMs = Number.NEGATIVE_INFINITY
  private quietFromMs = performance.now()
  private serving: () => ReadonlySet<string> = () => new Set()
  private timer: NodeJS.Timeout | undefined

  constructor(port: number, log: Logger) {
    this.port = port
    this.log = log
  }

  /** `serving` returns the peers of the requests in flight. */
  start(serving: () => ReadonlySet<string>): void {
    this.serving = serving
    this.timer = setInterval(() => void this.look(), LOOK_MS).unref()
  }

  stop(): void {
    clearInterval(this.timer)
  }

  /** Notes a request of a peer, at its beginning and at its end. */
  served(peer: string): void {
    this.requests++
    if (this.servedMs.size >= MAX_PEERS && !this.servedMs.has(peer)) this.forget()
    this.servedMs.set(peer, performance.now())
  }

  /** What is not known counts as served just now. */
  private forget(): void {
    this.servedMs.clear()
    this.quietFromMs = performance.now()
  }

  private async look(): Promise<void> {
    const isBusy = this.requests > MAX_REQUESTS
    this.requests = 0
    const nowMs = performance.now()
    if (isBusy || nowMs - this.quietFromMs < QUIET_MS || nowMs - this.warnedMs < AGAIN_MS) return
    const before = await this.silent()
    if (before.size === 0) return
    await sleep(CONFIRM_MS, undefined, { ref: false })
    const after = await this.silent()
    const peers = new Set([...before].flatMap(([connection, peer]) => (after.has(connection) ? [peer] : [])))
    if (peers.size === 0) return
    this.warnedMs = nowMs
    this.log.warn(
      { peers: [...peers].slice(0, 10) },
      'connections are open without a request that uWebSockets.js 20.30 can read, and get no answer: a proxy or probe that speaks HTTP/1.0, a request with more than 48 header fields, or a client that sends nothing (docs/operate/deploy.md#connections)',
    )
  }

  /** The connections of peers that no request came from lately: the peer by connection. */
  private async silent(): Promise<Map<string, string>> {
    const tables = await Promise.all(TABLES.map((file) => readFile(file, 'latin1').catch(() => '')))
    const all = tables.flatMap((table) => connectionsOf(table, this.port))
    const quietMs = performance.now() - QUIET_MS
    const serving = this.serving()
    const isSilent = (peer: string) =>
      !serving.has(peer) && (this.servedMs.get(peer) ?? Number.NEGATIVE_INFINITY) < quietMs
    return new Map(all.filter(([, peer]) => isSilent(peer)))
  }
}

/** The established connections of a local port in a table of the kernel: the text of each with its peer. */
export function connectionsOf(table: string, port: number): [connection: string, peer: string][] {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return table.split('\n').flatMap((line): [string, string][] => {
    const [, at = '', remote = '', state] = line.trim().split(/\s+/, 4)
    return state === ESTABLISHED && at.endsWith(local) ? [[remote, peerAddress(addressOf(remote))]] : []
  })
}

/** The address of `HEX:PORT`. The kernel writes groups of four bytes in the order of the machine, which is little-endian wherever a native build exists. */
function addressOf(remote: string): string {
  const bytes = Buffer.from(remote.slice(0, remote.indexOf(':')), 'hex')
  for (let i = 0; i + 4 <= bytes.length; i += 4) bytes.subarray(i, i + 4).reverse()
  if (bytes.length === 4) return bytes.join('.')
  return (bytes.toString('hex').match(/.{4}/g) ?? []).join(':')
}
