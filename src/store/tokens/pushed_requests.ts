// Operations on pushed authorization requests (RFC 9126). One that a browser has opened is kept as long as other values that browsers come back for.
import type { SingleUse } from '../../records/single_use.ts'
import { change, changed, idBytes, maybeIdText, type Op, one, raw, str } from '../op.ts'
import { recordUse } from './single_uses.ts'

/** Requests that a new one removes at most: rows are removed faster than they are added. */
const SWEPT = 10

export interface NewPushedRequest {
  id: string
  /** Encrypted. The key is in the request_uri, which is not stored. */
  sealed: string
  expires_at: number
  now: number
  /** The DPoP proof and the client assertion that it consumes. */
  uses: readonly SingleUse[]
}

/** Records a request, and removes some that have expired. Throws when its proof or assertion was used before. */
export function* pushRequest({ id, sealed, expires_at, now, uses }: NewPushedRequest): Op<void> {
  yield* change`DELETE FROM pushed_requests
    WHERE id IN (SELECT id FROM pushed_requests ORDER BY id LIMIT ${raw(SWEPT)}) AND expires_at <= ${now}`
  yield* change`INSERT INTO pushed_requests (id, sealed, expires_at) VALUES (${idBytes(id)}, ${sealed}, ${expires_at})`
  for (const use of uses) yield* recordUse(use)
}

export interface PushedRequest {
  sealed: string
  /** The authorization request that has answered it. */
  answered_by?: string
}

/** The request with this id, unless it has expired: pushed, opened or answered. */
export function* findPushedRequest({ id, now }: { id: string; now: number }): Op<PushedRequest | undefined> {
  const key = idBytes(id)
  const row =
    yield* one`SELECT sealed, NULL AS answered_by FROM pushed_requests WHERE id = ${key} AND expires_at > ${now}
    UNION ALL SELECT sealed, answered_by FROM pending_values WHERE id = ${key} AND expires_at > ${now}`
  return row && { sealed: str(row.sealed), answered_by: maybeIdText(row.answered_by) }
}

/** Keeps a request that a browser has opened until `expires_at`. */
export function* openPushedRequest(r: { id: string; sealed: string; expires_at: number }): Op<void> {
  const opened = yield* change`DELETE FROM pushed_requests WHERE id = ${idBytes(r.id)}`
  yield* opened === 1
    ? change`INSERT INTO pending_values (id, sealed, expires_at)
      VALUES (${idBytes(r.id)}, ${r.sealed}, ${r.expires_at})`
    : change`UPDATE pending_values SET expires_at = ${r.expires_at} WHERE id = ${idBytes(r.id)}`
}

/** Whether an authorization request may answer a pushed one: no other one has, and none will. */
export function* answerPushedRequest({ id, answered_by }: { id: string; answered_by: string }): Op<boolean> {
  return yield* changed`UPDATE pending_values SET answered_by = ${idBytes(answered_by)} WHERE id = ${idBytes(id)}
    AND (answered_by IS NULL OR answered_by = ${idBytes(answered_by)})`
}
