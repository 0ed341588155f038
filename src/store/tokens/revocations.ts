// Mass revocation: revokes every token and family that matches a filter, in small ranges of the time-ordered keys.
import type { AuditEvent } from '../../records/audit_event.ts'
import { USERINFO_CONSENT } from '../../records/consent.ts'
import type { Actor } from '../../records/issuance.ts'
import {
  all,
  type Condition,
  change,
  decoded,
  idBytes,
  idText,
  is,
  listed,
  maybeStr,
  num,
  type Op,
  one,
  partsOf,
  type Row,
  raw,
  str,
  where,
  windowEnd,
} from '../op.ts'
import { DEAD_AT, ENDED_BY } from '../record.ts'
import { recordAudit } from './audit_trail.ts'
import { endFamilies } from './families.ts'

/** The filter. Properties that are undefined match everything. */
export interface Description {
  client_id?: string
  /** The subject of tokens, and the user of families. */
  user_id?: string
  /** A client that the token was issued to, or that is in its chain of actors. */
  agent?: string
  /** The key that signed it. */
  kid?: string
  /** The resource of the token, by URI. */
  resource?: string
  /** Tokens for userinfo do not match. Their audience is the issuer, which may be the URI of the resource. */
  but_userinfo?: boolean
  /** Issued at this time or later. */
  since?: number
  /** Issued before this time. */
  until?: number
}
export interface RevocationWindow extends Description {
  /** Continue after this id. */
  after: string
  /** Maximum number of rows to examine. */
  rows: number
  now: number
  /** Counts without revoking. */
  dry_run: boolean
  /**
   * The event of the whole revocation. It is recorded with the first change, so that a killed process leaves no change without an event,
   * and again with a change to something that was issued after the last event: receivers apply an event to older tokens only.
   */
  record?: {
    event: AuditEvent
    /** The time of the last recorded event. */
    last?: number
  }
}
export interface Revoked {
  count: number
  client_ids: string[]
  /** Whether the event was recorded. */
  recorded: boolean
  /** Where to continue; undefined at the end. */
  next?: string
}

const TOKENS =
  raw(`SELECT i.id, i.client_id, i.sub, i.act, i.kid, i.resource, i.issued_at, i.expires_at, i.parent_id, c.resource_id AS consented_to, ${DEAD_AT}
  FROM issuances i ${ENDED_BY}`)

/** Maximum number of rows that one range changes. */
const MOST = 200

/** Revokes live tokens that match, and live tokens that were exchanged, directly or indirectly, from one that matches. */
export function* revokeTokens(w: RevocationWindow): Op<Revoked> {
  const end = yield* windowEnd('issuances', idBytes(w.after), w.rows)
  const fits = where(
    is('i.client_id', w.client_id),
    is('i.sub', w.user_id),
    w.agent === undefined ? undefined : ['(i.client_id = ? OR i.act IS NOT NULL)', w.agent],
    is('i.kid', w.kid),
    is('i.resource', w.resource),
    ...fitsTime(w, 'i.issued_at'),
  )
  const candidates = where(
    ['i.id > ?', idBytes(w.after)],
    end && ['i.id <= ?', end],
    ['i.broker_provider IS NULL AND i.revoked_at IS NULL AND i.expires_at > ?', w.now],
    // An exchanged token matches if the token that it was exchanged for matches.
    fits.sql === '' ? undefined : [`(i.parent_id IS NOT NULL OR (${fits.sql.slice('WHERE '.length)}))`, ...fits.params],
  )
  const rows = yield* all`${TOKENS} ${candidates} ORDER BY i.id LIMIT ${MOST}`
  const hit: Row[] = []
  for (const row of rows) if (yield* isHit(row, w)) hit.push(row)
  if (!w.dry_run) yield* endTokens(hit, w.now)
  const recorded = yield* recordWith(
    w,
    hit.map(({ issued_at }) => num(issued_at)),
  )
  return { ...revoked(hit, rows, end), recorded }
}

function* endTokens(rows: readonly Row[], now: number): Op<void> {
  for (const ids of partsOf(rows.map(({ id }) => id as Buffer)))
    yield* change`UPDATE issuances SET revoked_at = ${now} WHERE id IN ${listed(ids)}`
}

/** Records the event of a revocation if no recorded event includes all that was issued at these times. */
function* recordWith({ record, dry_run }: RevocationWindow, times: readonly number[]): Op<boolean> {
  if (!record || dry_run) return false
  const { event, last } = record
  if (!times.some((time) => last === undefined || time > last)) return false
  yield* recordAudit(event)
  return true
}

function* isHit(token: Row, w: RevocationWindow): Op<boolean> {
  if (token.dead_at !== null) return false
  let fits = fitsToken(token, w)
  for (let parent_id = token.parent_id; parent_id !== null; ) {
    const row: Row | undefined = yield* one`${TOKENS} WHERE i.id = ${parent_id as Buffer}`
    if (!row) return fits
    // A token that this sweep has revoked still counts as a match.
    if (row.dead_at !== null && row.dead_at !== w.now) return false
    fits ||= fitsToken(row, w)
    parent_id = row.parent_id
  }
  return fits
}

const fitsTime = ({ since, until }: Description, column: string): (Condition | undefined)[] => [
  since === undefined ? undefined : [`${column} >= ?`, since],
  until === undefined ? undefined : [`${column} < ?`, until],
]

const fitsToken = (
  row: Row,
  { client_id, user_id, agent, kid, resource, but_userinfo, since, until }: Description,
): boolean =>
  (client_id === undefined || row.client_id === client_id) &&
  (user_id === undefined || row.sub === user_id) &&
  (agent === undefined || row.client_id === agent || actorsOf(row).includes(agent)) &&
  (kid === undefined || row.kid === kid) &&
  (resource === undefined || row.resource === resource) &&
  (!but_userinfo || row.consented_to !== USERINFO_CONSENT) &&
  (since === undefined || num(row.issued_at) >= since) &&
  (until === undefined || num(row.issued_at) < until)

function actorsOf(row: Row): string[] {
  const actors: string[] = []
  const first = maybeStr(row.act)
  for (let actor: Actor | undefined = first ? decoded<Actor>(first) : undefined; actor; actor = actor.act)
    actors.push(actor.sub)
  return actors
}

/** The condition for families in the range that ends at an id. Families do not belong to a key. */
const fitsSignIn = (w: RevocationWindow, end: Buffer | undefined): (Condition | undefined)[] => [
  ['id > ?', idBytes(w.after)],
  end && ['id <= ?', end],
  is('client_id', w.client_id),
  is('client_id', w.agent),
  is('user_id', w.user_id),
  is('resource', w.resource),
  ...fitsTime(w, 'created_at'),
]

/** Revokes the families that match, with their refresh tokens and access tokens. */
export function* revokeFamilies(w: RevocationWindow): Op<Revoked> {
  if (w.kid !== undefined) return NONE
  const end = yield* windowEnd('token_families', idBytes(w.after), w.rows)
  const filter = where(['revoked_at IS NULL'], ...fitsSignIn(w, end))
  const rows = yield* all`SELECT id, client_id, created_at FROM token_families ${filter} ORDER BY id LIMIT ${MOST}`
  if (!w.dry_run) for (const { id } of rows) yield* endFamilies('id', id as Buffer, 'emergency', w.now)
  return { ...revoked(rows, rows, end), recorded: yield* recordWith(w, timesOf(rows)) }
}

/** Cancels the matching codes that were not redeemed, and the matching requests that wait for a decision. */
export function* cancelRequests(w: RevocationWindow): Op<Revoked> {
  if (w.kid !== undefined) return NONE
  const end = yield* windowEnd('authorization_requests', idBytes(w.after), w.rows)
  const filter = where(['consumed_at IS NULL'], ['expires_at > ?', w.now], ...fitsSignIn(w, end))
  const rows =
    yield* all`SELECT id, client_id, created_at FROM authorization_requests ${filter} ORDER BY id LIMIT ${MOST}`
  // A code that was redeemed in the meantime has a family, which is revoked with the other families.
  if (!w.dry_run)
    for (const { id } of rows)
      yield* change`DELETE FROM authorization_requests WHERE id = ${id as Buffer} AND consumed_at IS NULL`
  return { ...revoked(rows, rows, end), recorded: yield* recordWith(w, timesOf(rows)) }
}

const NONE: Revoked = { count: 0, client_ids: [], recorded: false }
const timesOf = (rows: readonly Row[]) => rows.map(({ created_at }) => num(created_at))

const revoked = (hit: readonly Row[], looked: readonly Row[], end: Buffer | undefined): Omit<Revoked, 'recorded'> => {
  const client_ids = [...new Set(hit.map((row) => str(row.client_id)))]
  // After a full range there may be further rows after its last row.
  const last = looked.length === MOST ? (looked.at(-1)?.id as Buffer) : end
  return { count: hit.length, client_ids, ...(last ? { next: idText(last) } : {}) }
}
