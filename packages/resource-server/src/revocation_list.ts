// What was revoked, as far as the feed has reported it. Every entry is forgotten when no token of its time can be valid any more, so
// the size is bounded by the revocations of one token lifetime.
import type { AccessToken } from './options.ts'

const BASE = 'https://schemas.openid.net/secevent'
const SESSION_REVOKED = `${BASE}/caep/event-type/session-revoked`
const TOKEN_CLAIMS_CHANGE = `${BASE}/caep/event-type/token-claims-change`
const CREDENTIAL_CHANGE = `${BASE}/caep/event-type/credential-change`
const TOKEN_REVOKED = `${BASE}/oauth/event-type/token-revoked`

/** The events that a stream of this package requests. */
export const EVENTS_REQUESTED = [SESSION_REVOKED, TOKEN_REVOKED, TOKEN_CLAIMS_CHANGE, CREDENTIAL_CHANGE]

/** The claims of a security event token (RFC 8417 §2.2). */
export interface SecurityEvent {
  jti: string
  iat: number
  sub_id?: SubjectId
  events: Readonly<Record<string, RevocationEvent>>
}
interface SubjectId {
  format?: string
  sub?: string
  user?: SubjectId
}
interface RevocationEvent {
  jti?: string
  jtis?: readonly string[]
  kid?: string
  client_id?: string
  event_timestamp?: number
}

/** The kinds of things that an entry names. */
type Kind = 'jti' | 'kid' | 'client_id' | 'sub'
/** Tokens that were issued before `before` are revoked. The entry arrived at `heard` and is forgotten at `until`. Epoch seconds. */
interface Entry {
  before: number
  heard: number
  until: number
}

/**
 * What the list says about a token. `unsure`: it was issued in the second of the revocation, so only the authorization server knows which
 * was first; an answer from before `heard` does not count.
 */
export type Verdict = { state: 'valid' | 'revoked' } | { state: 'unsure'; heard: number }
const VALID: Verdict = { state: 'valid' }

/** Revoked tokens, keys, clients and users. */
export class RevocationList {
  private readonly entries = new Map<string, Entry>()
  private readonly longestToken: number
  private pruned = 0

  /** `longestToken` is the longest lifetime of a token in seconds. */
  constructor(longestToken: number) {
    this.longestToken = longestToken
  }

  /** The number of entries. */
  get size(): number {
    return this.entries.size
  }

  /** Applies an event. Unknown events are ignored. */
  apply({ events, iat, sub_id }: SecurityEvent): void {
    for (const [type, event] of Object.entries(events)) {
      const at = event.event_timestamp ?? iat
      if (type === TOKEN_REVOKED) this.addTokens(event, at)
      const subject = sub_id?.user?.sub ?? sub_id?.sub
      // The claims of a token that was issued before the change are no longer true, and so are its rights.
      if ((type === SESSION_REVOKED || type === TOKEN_CLAIMS_CHANGE) && subject) this.add('sub', subject, at)
    }
    this.prune()
  }

  /** Whether a token was revoked. */
  verdict({ claims, keyId, clientId, subject }: AccessToken): Verdict {
    if (this.entries.size === 0) return VALID
    const issued = claims.iat ?? 0
    const kinds: [Kind, string][] = [
      ['jti', String(claims.jti)],
      ['kid', keyId],
      ['client_id', clientId],
      ['sub', subject],
    ]
    const entries = kinds.flatMap(([kind, value]) => this.entries.get(`${kind} ${value}`) ?? [])
    if (entries.some(({ before }) => issued < Math.floor(before))) return { state: 'revoked' }
    const unsure = entries.filter(({ before }) => issued === Math.floor(before))
    return unsure.length > 0 ? { state: 'unsure', heard: Math.max(...unsure.map(({ heard }) => heard)) } : VALID
  }

  private addTokens({ jti, jtis = [], kid, client_id }: RevocationEvent, at: number): void {
    // A key or a single token is revoked for ever; a client can get new tokens afterwards.
    for (const id of jti === undefined ? jtis : [jti, ...jtis]) this.add('jti', id, Number.POSITIVE_INFINITY)
    if (kid !== undefined) this.add('kid', kid, Number.POSITIVE_INFINITY)
    if (client_id !== undefined) this.add('client_id', client_id, at)
  }

  private add(kind: Kind, value: string, before: number): void {
    const key = `${kind} ${value}`
    const heard = Date.now() / 1000
    const known = this.entries.get(key)?.before ?? 0
    this.entries.set(key, { before: Math.max(before, known), heard, until: heard + this.longestToken })
  }

  private prune(): void {
    const now = Date.now() / 1000
    if (now - this.pruned < PRUNE_SECONDS) return
    this.pruned = now
    for (const [key, { until }] of this.entries) if (until < now) this.entries.delete(key)
  }
}

const PRUNE_SECONDS = 10
