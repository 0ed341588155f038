// CORS: which origins may read an answer, and the answer to a preflight request (Fetch standard §3.2).
import type { Reply, RequestHead } from './message.ts'

const PREFLIGHT_AGE_SECONDS = 86_400
const HEADERS = ['Content-Type', 'Authorization', 'DPoP', 'MCP-Protocol-Version']
/** A field name (RFC 9110 §5.1). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** The CORS headers of a listener. */
export class Cors {
  private readonly origins: readonly string[]
  private readonly allowsAll: boolean

  /** `origins` are the allowed origins; `*` allows every origin. */
  constructor(origins: readonly string[]) {
    this.origins = origins
    this.allowsAll = origins.includes('*')
  }

  /** Adds the headers that allow an allowed origin to read an answer. */
  addTo(reply: Reply, head: RequestHead): void {
    if (this.origins.length === 0) return
    const origin = this.allowedOrigin(head)
    if (!this.allowsAll) reply.headers['vary'] = 'Origin'
    if (!origin) return
    reply.headers['access-control-allow-origin'] = origin
    reply.headers['access-control-expose-headers'] = 'DPoP-Nonce, WWW-Authenticate, Retry-After'
  }

  /** The headers of the answer to a preflight request; none for an origin that is not allowed. */
  preflightHeaders(head: RequestHead): Record<string, string> {
    if (!this.allowedOrigin(head)) return {}
    return {
      'access-control-allow-methods': 'GET, POST, OPTIONS',
      'access-control-allow-headers': this.allowedHeaders(head),
      'access-control-max-age': String(PREFLIGHT_AGE_SECONDS),
    }
  }

  /** The headers of our clients, and those that the page names: programs that trace requests add their own to each. */
  private allowedHeaders({ headers }: RequestHead): string {
    const named = headers['access-control-request-headers']?.split(',').map((name) => name.trim()) ?? []
    return [...HEADERS, ...named.filter((name) => TOKEN.test(name))].join(', ')
  }

  private allowedOrigin({ headers: { origin } }: RequestHead): string | undefined {
    if (!origin) return undefined
    if (this.allowsAll) return '*'
    return this.origins.includes(origin) ? origin : undefined
  }
}
