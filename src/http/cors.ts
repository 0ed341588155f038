// CORS: which origins may read an answer, and the answer to a preflight request (Fetch standard §3.2).
import type { Reply, RequestHead } from './message.ts'

const PREFLIGHT_AGE_SECONDS = 86_400

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
      'access-control-allow-headers': 'Content-Type, Authorization, DPoP, MCP-Protocol-Version',
      'access-control-max-age': String(PREFLIGHT_AGE_SECONDS),
    }
  }

  private allowedOrigin({ headers: { origin } }: RequestHead): string | undefined {
    if (!origin) return undefined
    if (this.allowsAll) return '*'
    return this.origins.includes(origin) ? origin : undefined
  }
}
