// What clients were answered. Only an answer that arrived counts: what was cut off may have happened or not.
import { decodeJwt } from 'jose'

/** A sign-in with the chain of its refresh tokens. */
export interface Family {
  refresh_token: string
  /** Refresh tokens that were answered with a new one. */
  consumed: string[]
  /** `unsure` when an answer never came, `dead` when it was revoked or a used token was brought again. */
  state: 'live' | 'unsure' | 'dead'
}
export interface Issued {
  jti: string
  access_token: string
}

export class History {
  readonly issued: Issued[] = []
  readonly families: Family[] = []
  /** Forms that were answered with tokens, and must never be again: codes, assertions. */
  readonly consumed: { what: string; form: Record<string, string>; headers: Record<string, string> }[] = []
  /** Access tokens whose revocation was answered. */
  readonly revoked = new Set<string>()
  /** Clients whose suspension was answered. */
  readonly suspended: Machine[] = []
  /** Answers that no client may get: 500, or a second success. */
  readonly faults: string[] = []
  /** Answers by status; 0 for those that never came. */
  readonly answers: Record<number, number> = {}

  /** Notes an access token of an answer. */
  issue(token: unknown): void {
    const access_token = String(token)
    this.issued.push({ jti: decodeJwt(access_token).jti ?? '', access_token })
  }
}

export interface Machine {
  client_id: string
  client_secret: string
}
