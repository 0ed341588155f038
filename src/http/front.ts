// What an HTTP engine is: it copies a request into plain values, asks `accept`, reads the body if told to, and writes the reply.
import { Lru } from '../lib/lru.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Reply, RequestHead } from './message.ts'

/** A request that may send its body: at most `limit` bytes. */
export interface Accepted {
  limit: number
  /** Answers a body of more than that, which says so only while it comes. */
  tooLarge(): Reply
  /** Answers a body for which there is no memory left. */
  crowded(): Reply
  /** Answers the request; never rejects. */
  answer(body: Buffer): Reply | Promise<Reply>
}
/** Decides on a request by its head alone: an answer (the body is never read, but skipped), or how much body it may send. */
export type Accept = (head: RequestHead) => Reply | Promise<Reply> | Accepted

export interface FrontOptions {
  /** `host:port` or `:port`. */
  address: string
  /** Whether other threads of this process listen there too. */
  shared?: boolean
  accept: Accept
  readTimeoutMs: number
  writeTimeoutMs: number
  idleTimeoutMs: number
  /** What bodies that are still coming may hold together; ROOM_BYTES when not said. */
  bodyRoomBytes?: number
  log: Logger
}

export interface HttpFront {
  /** Which engine serves, for the log and the status page. */
  readonly engine: string
  /** Rejects when it can serve no longer; never where that ends the process by itself. */
  readonly failed?: Promise<never>
  /** Stops accepting, waits up to `waitMs` for requests in flight, then cuts what is left. */
  close(waitMs: number): Promise<void>
}

/** Splits an address of the configuration; an empty host means every interface. */
export function splitAddress(address: string): { host: string; port: number } {
  const at = address.lastIndexOf(':')
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(address.slice(at + 1)) }
}

/** Addresses by their text, as the same peers come again and again. */
const addresses = new Lru<string>(10_000)

/** The address of a peer as people write it: IPv4 where it is mapped into IPv6, else the shortest form. */
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

/** The one writer of header values: control characters and non-ASCII never reach the wire. Throws for such a value. */
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
