// The revocations that the feed has reported. An entry is deleted when every token that it can match has expired. So the size is bounded by
// the number of revocations in one token lifetime.
import type { AccessToken } from './options.ts'

const BASE = 'https://schemas.openid.net/secevent'
const SESSION_REVOKED = `${BASE}/caep/event-type/session-revoked`
const TOKEN_CLAIMS_CHANGE = `${BASE}/caep/event-type/token-claims-change`
const CREDENTIAL_CHANGE = `${BASE}/caep/event-type/credential-change`
const TOKEN_REVOKED = `${BASE}/oauth/event-type/token-revoked`

/** The event that a receiver requests to see that its stream works (SSF 1.0 §8.1.4). */
export const VERIFICATION = `${BASE}/ssf/event-type/verification`

/** The events that a stream of this package requests. */
export const EVENTS_REQUESTED = [SESSION_REVOKED, TOKEN_REVOKED, TOKEN_CLAIMS_CHANGE, CREDENTIAL_CHANGE]

/** The claims of a security event token (RFC 8417 §2.2). */
export interface SecurityEvent {
  iat: number
  sub_id?: { sub?: string; user?: { sub?: string } }
  events: Readonly<Record<string, RevocationEvent>>
}
/** The tokens that were revoked: those that have all of these claims and were issued in this period. */
interface RevokedTokens {
  jti?: string
  kid?: string
  client_id?: string
  sub?: string
  aud?: string
  agent?: string
  /** Epoch seconds, inclusive. */
  issued_from?: number
  issued_before?: number
}
type RevocationEvent = RevokedTokens & { event_timestamp?: number; state?: string }

/** Matching tokens that were issued before `before` are revoked. The entry was received at `heard` and is deleted after `until`. Epoch seconds. */
interface Entry {
  tokens: RevokedTokens
  before: number
  heard: number
  until: number
}

/**
 * The state of a token according to the list. `unsure`: the token was issued in the second of the revocation, so only the authorization
 * server knows which was first. An introspection before `heard` does not count.
 */
export type Verdict = { state: 'valid' | 'revoked' } | { state: 'unsure'; heard: number }
const VALID: Verdict = { state: 'valid' }

const PRUNE_SECONDS = 10

/** The revocations, indexed by one claim, so that a token is compared with few entries. */
export class RevocationList {
  private readonly entries = new Map<string, Entry[]>()
  private readonly longestToken: number
  private pruned = 0

  /** `longestToken` is the longest lifetime of a token in seconds. */
  constructor(longestToken: number) {
    this.longestToken = longestToken
  }

  /** Applies an event. Unknown events are ignored. Returns whether a key was revoked. In this case the keys must be read again. */
  apply({ events, iat, sub_id }: SecurityEvent): boolean {
    const applied = Object.entries(events).map(([type, { event_timestamp = iat, ...event }]) => {
      const sub = sub_id?.user?.sub ?? sub_id?.sub
      if (type === TOKEN_REVOKED) this.add(event, event_timestamp)
      // After a change, the claims and the rights in an earlier token are no longer correct.
      if ((type === SESSION_REVOKED || type === TOKEN_CLAIMS_CHANGE) && sub) this.add({ sub }, event_timestamp)
      return type === TOKEN_REVOKED && event.kid !== undefined
    })
    this.prune()
    return applied.includes(true)
  }

  /** Whether a token was revoked. */
  verdict(token: AccessToken): Verdict {
    if (this.entries.size === 0) return VALID
    const { claims, keyId, clientId, subject } = token
    const issued = claims.iat ?? 0
    const places = [`jti ${claims.jti}`, `kid ${keyId}`, `client_id ${clientId}`, `sub ${subject}`, '']
    const entries = places
      .flatMap((place) => this.entries.get(place) ?? [])
      .filter(({ tokens, before }) => issued <= before && matches(tokens, token))
    if (entries.some(({ before }) => issued < Math.floor(before))) return { state: 'revoked' }
    return entries.length > 0 ? { state: 'unsure', heard: Math.max(...entries.map(({ heard }) => heard)) } : VALID
  }

  private add(tokens: RevokedTokens, at: number): void {
    const place = placeOf(tokens)
    const heard = Date.now() / 1000
    // A single token is revoked permanently. A client or user can get new tokens after the event.
    const bound = tokens.jti === undefined ? Math.min(at, tokens.issued_before ?? at) : Number.POSITIVE_INFINITY
    const text = JSON.stringify(tokens)
    const known = this.entries.get(place) ?? []
    const isSame = (entry: Entry) => JSON.stringify(entry.tokens) === text
    // An event may arrive again after a later one.
    const before = Math.max(bound, known.find(isSame)?.before ?? bound)
    const others = known.filter((entry) => !isSame(entry))
    this.entries.set(place, [...others, { tokens, before, heard, until: heard + this.longestToken }])
  }

  private prune(): void {
    const now = Date.now() / 1000
    if (now - this.pruned < PRUNE_SECONDS) return
    this.pruned = now
    for (const [place, entries] of this.entries) {
      const live = entries.filter(({ until }) => until >= now)
      if (live.length === 0) this.entries.delete(place)
      else if (live.length < entries.length) this.entries.set(place, live)
    }
  }
}

/** The index key of an entry. An entry without any of these claims is compared with every token. */
function placeOf(tokens: RevokedTokens): string {
  const name = (['jti', 'client_id', 'sub', 'kid'] as const).find((claim) => tokens[claim] !== undefined)
  return name ? `${name} ${tokens[name]}` : ''
}

function matches(
  { kid, client_id, sub, aud, agent, issued_from = 0 }: RevokedTokens,
  { claims, keyId, clientId, subject }: AccessToken,
): boolean {
  return (
    (kid === undefined || kid === keyId) &&
    (client_id === undefined || client_id === clientId) &&
    (sub === undefined || sub === subject) &&
    (aud === undefined || [claims.aud].flat().includes(aud)) &&
    (agent === undefined || actorsOf(claims).includes(agent)) &&
    issued_from <= (claims.iat ?? 0)
  )
}

/** Every actor of a delegated token (RFC 8693 §4.1), and the agent that holds it. */
function actorsOf(claims: AccessToken['claims']): unknown[] {
  const actors: unknown[] = [claims['agent_id']]
  for (let act = claims['act'] as Actor | undefined; act; act = act.act) actors.push(act.sub)
  return actors
}
interface Actor {
  sub?: string
  act?: Actor
}
