// Emergency stops: revoking whatever a description fits, in small windows of the time-ordered keys.
import type { Actor } from '../oauth/types.ts'
import { all, bytes, decoded, idText, maybeStr, num, type Op, one, type Row, run, str, where } from './op.ts'

/** What is to be revoked; what is not named does not matter. */
export interface Description {
  client_id?: string
  /** The subject of tokens, the user of sign-ins. */
  user_id?: string
  /** A client that the token was issued to, or that is anywhere in its chain of actors. */
  agent?: string
  /** The key that signed it. */
  kid?: string
  /** Issued at this time or later. */
  since?: number
  /** Issued before this time. */
  until?: number
}
export interface RevocationWindow extends Description {
  /** The id to go on behind. */
  after: string
  /** Rows looked at. */
  rows: number
  now: number
  /** Only counts. */
  dry_run: boolean
}
export interface Revoked {
  count: number
  client_ids: string[]
  /** Where to go on; none at the end. */
  next?: string
}

const TOKENS = `SELECT i.id, i.client_id, i.sub, i.act, i.kid, i.issued_at, i.expires_at, i.parent_id,
  COALESCE(i.revoked_at, f.revoked_at, c.revoked_at) AS dead_at FROM issuances i
  LEFT JOIN token_families f ON f.id = i.family_id LEFT JOIN consent_grants c ON c.id = i.consent_id`

/** Revokes live tokens that fit, or that were exchanged, in any number of steps, from one that fits. */
export function* revokeTokens(w: RevocationWindow): Op<Revoked> {
  const rows = yield* all(
    `${TOKENS} WHERE i.id > ? AND i.broker_provider IS NULL ORDER BY i.id LIMIT ?`,
    bytes(w.after),
    w.rows,
  )
  const hit: Row[] = []
  for (const row of rows) if (num(row.expires_at) > w.now && (yield* isHit(row, w))) hit.push(row)
  if (!w.dry_run)
    for (const { id } of hit) yield* run('UPDATE issuances SET revoked_at = ? WHERE id = ?', w.now, id as Buffer)
  return revoked(hit, rows, w)
}

function* isHit(token: Row, description: Description): Op<boolean> {
  let fits = false
  for (let row: Row | undefined = token; row; ) {
    if (row.dead_at !== null) return false
    fits ||= fitsToken(row, description)
    row = row.parent_id === null ? undefined : yield* one(`${TOKENS} WHERE i.id = ?`, row.parent_id as Buffer)
  }
  return fits
}

const fitsToken = (row: Row, { client_id, user_id, agent, kid, since, until }: Description): boolean =>
  (client_id === undefined || row.client_id === client_id) &&
  (user_id === undefined || row.sub === user_id) &&
  (agent === undefined || row.client_id === agent || actorsOf(row).includes(agent)) &&
  (kid === undefined || row.kid === kid) &&
  (since === undefined || num(row.issued_at) >= since) &&
  (until === undefined || num(row.issued_at) < until)

function actorsOf(row: Row): string[] {
  const actors: string[] = []
  const first = maybeStr(row.act)
  for (let actor: Actor | undefined = first ? decoded<Actor>(first) : undefined; actor; actor = actor.act)
    actors.push(actor.sub)
  return actors
}

/** Ends the families that fit: their refresh tokens, and every access token that came of them. No key belongs to a family. */
export function* revokeFamilies(w: RevocationWindow): Op<Revoked> {
  if (w.kid !== undefined) return { count: 0, client_ids: [] }
  const filter = where(
    ['id > ?', bytes(w.after)],
    ['revoked_at IS NULL'],
    w.client_id === undefined ? undefined : ['client_id = ?', w.client_id],
    w.agent === undefined ? undefined : ['client_id = ?', w.agent],
    w.user_id === undefined ? undefined : ['user_id = ?', w.user_id],
    w.since === undefined ? undefined : ['created_at >= ?', w.since],
    w.until === undefined ? undefined : ['created_at < ?', w.until],
  )
  const rows = yield* all(
    `SELECT id, client_id FROM token_families ${filter.sql} ORDER BY id LIMIT ?`,
    ...filter.params,
    w.rows,
  )
  if (!w.dry_run)
    for (const { id } of rows)
      yield* run(
        'UPDATE token_families SET revoked_at = ?, revoked_reason = ? WHERE id = ?',
        w.now,
        'emergency',
        id as Buffer,
      )
  return revoked(rows, rows, w)
}

const revoked = (hit: readonly Row[], looked: readonly Row[], { rows }: RevocationWindow): Revoked => {
  const client_ids = [...new Set(hit.map((row) => str(row.client_id)))]
  const last = looked.length === rows ? looked.at(-1) : undefined
  return { count: hit.length, client_ids, ...(last ? { next: idText(last.id) } : {}) }
}
