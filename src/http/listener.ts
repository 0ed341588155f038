// The contract of an HTTP engine: it copies a request into plain values, calls `accept`, reads the body when the request is accepted,
// and writes the reply.
import { Lru } from '../lib/lru.ts'
import { MB } from '../lib/memory.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Reply, RequestHead } from './message.ts'

/** A request that may send a body of up to `limit` bytes. */
export interface Accepted {
  limit: number
  /** The answer to a body that exceeds the limit while it is read. */
  tooLarge(): Reply
  /** The answer when there is no memory for the body. */
  noRoom(): Reply
  /** Answers the request; never rejects. */
  answer(body: Buffer): Reply | Promise<Reply>
}
/** The decision on a request by its head alone: an answer (the body is skipped, not read), or how much body it may send. */
export type Decision = Reply | Accepted
export type Accept = (head: RequestHead) => Decision | Promise<Decision>

export interface HttpListenerOptions {
  /** `host:port` or `:port`. */
  address: string
  /** Whether other threads of this process listen on the same address. */
  shared?: boolean
  accept: Accept
  readTimeoutMs: number
  writeTimeoutMs: number
  idleTimeoutMs: number
  /** Maximum bytes of all incomplete bodies together. Default: ROOM_BYTES. */
  bodyRoomBytes?: number
  /** Maximum bytes of all parts of them that go beyond the size of a small body. Default: bodyRoomBytes. */
  largeBodyBytes?: number
  log: Logger
}

export interface HttpListener {
  /** Name of the engine, for the log and the status page. */
  readonly engine: string
  /** Rejects when it can no longer serve. Absent when such a failure ends the process anyway. */
  readonly failed?: Promise<never>
  /** Begins to drain: /ready is 503, requests are answered and their connections closed. Absent when the threads share the state of the app. */
  drain?(): Promise<void>
  /** Stops accepting, waits up to `waitMs` for the requests in flight, then cuts the others. */
  close(waitMs: number): Promise<void>
}

/** Splits an address of the configuration. An empty host means all interfaces. */
export function splitAddress(address: string): { host: string; port: number } {
  const at = address.lastIndexOf(':')
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(address.slice(at + 1)) }
}

/** Cache of normalised addresses: the same peers send many requests. */
const addresses = new Lru<string>({ max: 10_000, bytes: 2 * MB })

/** The address of a peer in its usual form: IPv4 when it is mapped into IPv6, otherwise the shortest form. */
export function peerAddress(text: string): string {
  if (!text.includes(':')) return text
  return addresses.memo(text, (known) => shortAddress(known.split('%')[0] as string))
}

function shortAddress(plain: string): string {
  const short = URL.canParse(`http://[${plain}]`) ? new URL(`http://[${plain}]`).hostname.slice(1, -1) : plain
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(short)?.slice(1)
  return mapped
    ? mapped
        .map((group) => Number.parseInt(group, 16))
        .flatMap((group) => [group >> 8, group & 255])
        .join('.')
    : short
}

/** The header lines of a reply. Both engines write only these. Throws for a value with control characters or non-ASCII characters. */
export function headerLines(reply: Reply): [string, string][] {
  const lines: [string, string][] = []
  for (const name in reply.headers) {
    const value = reply.headers[name] as string | string[]
    for (const each of typeof value === 'string' ? [value] : value) {
      if (!/^[\t\x20-\x7e]*$/.test(each)) throw new Error(`header ${name} holds a character that no header may hold`)
      lines.push([name, each])
    }
  }
  return lines
}
