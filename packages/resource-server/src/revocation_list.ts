// The revocations that the feed has reported. An entry is deleted when every token that it can match has expired. The size is bounded: when
// the list is full, it is emptied, and every token that was issued before is introspected.
import type { AccessToken } from './options.ts'

const BASE = 'https://schemas.openid.net/secevent'
const SESSION_REVOKED = `${BASE}/caep/event-type/session-revoked`
const TOKEN_CLAIMS_CHANGE = `${BASE}/caep/event-type/token-claims-change`
const TOKEN_REVOKED = `${BASE}/oauth/event-type/token-revoked`

/** The event that a receiver requests to see that its stream works (SSF 1.0 §8.1.4). */
export const VERIFICATION = `${BASE}/ssf/event-type/verification`

/** The events that a stream of this package needs. Without one of them, revoked tokens would be accepted. */
export const EVENTS_NEEDED = [SESSION_REVOKED, TOKEN_REVOKED, TOKEN_CLAIMS_CHANGE]

/** The claims of a security event token (RFC 8417 §2.2). */
export interface SecurityEvent {
  iat: number
  sub_id?: { sub?: string; user?: { sub?: string } }
  events: Readonly<Record<string, RevocationEvent>>
}
const CLAIMS = ['kid', 'client_id', 'sub', 'aud', 'agent', 'issued_from', 'issued_before'] as const
/** The tokens that were revoked: those that have all of these claims and were issued in this period. */
interface RevokedTokens {
  kid?: string
  client_id?: string
  sub?: string
  aud?: string
  agent?: string
  /** Epoch seconds, inclusive. */
  issued_from?: number
  issued_before?: number
}
/** `jti` names a single token, which expires at `exp`. */
type RevocationEvent = RevokedTokens & { event_timestamp?: number; state?: string; jti?: string; exp?: number }

/** Matching tokens that were issued before `before` are revoked. The entry was received at `heard` and is deleted after `until`. Epoch seconds. */
interface Entry {
  tokens: RevokedTokens
  before: number
  heard: number
  until: number
}

/**
 * The state of a token according to the list. `unsure`: only the authorization server knows it, because the token was issued at the time of
 * a revocation, or before the list began. An introspection before `heard` does not count.
 */
export type Verdict = { state: 'valid' | 'revoked' } | { state: 'unsure'; heard: number }

/** Maximum difference between the clocks of both servers in seconds. The time between a change and its commit is shorter too. */
const CLOCKS = 5
const PRUNE_SECONDS = 10
/** The bytes of an entry in addition to its text, as measured. */
const [SINGLE_BYTES, ENTRY_BYTES] = [80, 500]
const MOST_BYTES = 32 * 1024 * 1024

interface Limits {
  /** The longest lifetime of a token in seconds. */
  longestToken: number
  /** Maximum number of bytes of the list. */
  mostBytes?: number
}

/** The revocations, indexed by claims, so that a token is compared with few entries. */
export class RevocationList {
  /** The single tokens by jti, with the time after which each is deleted. */
  private readonly singles = new Map<string, number>()
  private readonly entries = new Map<string, Map<string, Entry>>()
  private readonly limits: Required<Limits>
  private bytes = 0
  private pruned = 0
  private began = { heard: Number.POSITIVE_INFINITY, until: Number.POSITIVE_INFINITY }

  constructor(limits: Limits) {
    this.limits = { mostBytes: MOST_BYTES, ...limits }
  }

  /** Begins again: every token that was issued before now counts as unsure, because revocations may be unknown here. */
  begin(): void {
    const heard = Date.now() / 1000
    this.began = { heard, until: heard + CLOCKS }
  }

  /** Applies an event. Unknown events are ignored. Returns whether a key was revoked. In this case the keys must be read again. */
  apply({ events, iat, sub_id }: SecurityEvent): boolean {
    let isKey = false
    for (const [type, { event_timestamp = iat, ...event }] of Object.entries(events)) {
      const sub = sub_id?.user?.sub ?? sub_id?.sub
      if (type === TOKEN_REVOKED && event.jti !== undefined) this.addSingle(event.jti, event.exp)
      else if (type === TOKEN_REVOKED) this.add(event, event_timestamp)
      // After a change, the claims and the rights in an earlier token are no longer correct.
      if ((type === SESSION_REVOKED || type === TOKEN_CLAIMS_CHANGE) && sub) this.add({ sub }, event_timestamp)
      isKey ||= type === TOKEN_REVOKED && event.kid !== undefined
    }
    this.prune()
    return isKey
  }

  /** Whether a token was revoked. */
  verdict(token: AccessToken): Verdict {
    const { claims, keyId, clientId, subject } = token
    if (this.singles.has(String(claims.jti))) return { state: 'revoked' }
    const issued = claims.iat ?? 0
    const places = [pair(clientId, subject), pair(clientId, undefined), pair(undefined, subject), `kid ${keyId}`, '']
    const found = places
      .flatMap((place) => [...(this.entries.get(place)?.values() ?? [])])
      .filter(({ tokens, before }) => issued <= before + CLOCKS && matches(tokens, token))
    if (found.some(({ before }) => issued < Math.floor(before))) return { state: 'revoked' }
    const unsure = found.map(({ heard }) => heard)
    if (issued <= this.began.until) unsure.push(this.began.heard)
    // Earlier revocations are deleted, so an introspection before that time does not count.
    const reach = Date.now() / 1000 - this.limits.longestToken
    if (issued <= reach + CLOCKS) unsure.push(reach)
    return unsure.length > 0 ? { state: 'unsure', heard: Math.max(...unsure) } : { state: 'valid' }
  }

  /** Number of bytes of the list, about. */
  get size(): number {
    return this.bytes
  }

  private addSingle(jti: string, exp: number | undefined): void {
    const now = Date.now() / 1000
    const until = (exp ?? now + this.limits.longestToken) + 2 * CLOCKS
    if (until < now) return
    if (!this.singles.has(jti)) this.grow(SINGLE_BYTES + jti.length)
    this.singles.set(jti, until)
  }

  private add(event: RevokedTokens, at: number): void {
    const tokens: RevokedTokens = Object.fromEntries(CLAIMS.map((name) => [name, event[name]]))
    const heard = Date.now() / 1000
    // A client or user can get new tokens after the event.
    const bound = Math.min(at, tokens.issued_before ?? at)
    const text = JSON.stringify(tokens)
    const place = placeOf(tokens)
    const known = this.entries.get(place)?.get(text)
    if (!known) this.grow(ENTRY_BYTES + 2 * (text.length + place.length))
    // An event may arrive again after a later one.
    const before = Math.max(bound, known?.before ?? bound)
    const entry = { tokens, before, heard, until: heard + this.limits.longestToken }
    const there = this.entries.get(place)
    if (there) there.set(text, entry)
    else this.entries.set(place, new Map([[text, entry]]))
  }

  /** Makes room for an entry. */
  private grow(bytes: number): void {
    if (this.bytes + bytes > this.limits.mostBytes) this.prune(true)
    if (this.bytes + bytes > this.limits.mostBytes) {
      this.singles.clear()
      this.entries.clear()
      this.bytes = 0
      this.begin()
    }
    this.bytes += bytes
  }

  private prune(isUrgent = false): void {
    const now = Date.now() / 1000
    if (!isUrgent && now - this.pruned < PRUNE_SECONDS) return
    this.pruned = now
    for (const [jti, until] of this.singles)
      if (until < now && this.singles.delete(jti)) this.bytes -= SINGLE_BYTES + jti.length
    for (const [place, entries] of this.entries) {
      for (const [text, { until }] of entries)
        if (until < now && entries.delete(text)) this.bytes -= ENTRY_BYTES + 2 * (text.length + place.length)
      if (entries.size === 0) this.entries.delete(place)
    }
  }
}

const pair = (client_id: string | undefined, sub: string | undefined) => JSON.stringify([client_id, sub])

/** The index key of an entry. An entry without any of these claims is compared with every token. */
function placeOf({ client_id, sub, kid }: RevokedTokens): string {
  if (client_id !== undefined || sub !== undefined) return pair(client_id, sub)
  return kid === undefined ? '' : `kid ${kid}`
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
    (agent === undefined || agent === clientId || actorsOf(claims).includes(agent)) &&
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
