// Rows of sessions.
import type { Session } from '../../records/session.ts'
import {
  type Condition,
  change,
  idText,
  maybeDecoded,
  maybeNum,
  maybeStr,
  num,
  type Op,
  type Param,
  type Row,
  str,
} from '../op.ts'

const COLUMNS = [
  'id',
  'created_at',
  'expires_at',
  'oidc_issuer',
  'oidc_sid',
  'auth_time',
  'amr',
  'acr',
  'user_agent',
  'ip',
  'last_used_at',
]

/** The columns of a session (`s`), with names that do not collide with those of its user. */
export const SESSION_COLUMNS = COLUMNS.map((column) => `s.${column} AS session_${column}`).join(', ')

/** A session from its row. */
export const readSession = (row: Row, user_id: string): Session => ({
  id: idText(row.session_id),
  user_id,
  created_at: num(row.session_created_at),
  expires_at: num(row.session_expires_at),
  oidc_issuer: maybeStr(row.session_oidc_issuer),
  oidc_sid: maybeStr(row.session_oidc_sid),
  auth_time: maybeNum(row.session_auth_time),
  amr: maybeDecoded(row.session_amr),
  acr: maybeStr(row.session_acr),
  user_agent: maybeStr(row.session_user_agent),
  ip: maybeStr(row.session_ip),
  last_used_at: maybeNum(row.session_last_used_at),
})

/** Deletes the sessions of a condition. Their applications are notified later. Returns the number of sessions. */
export function* removeSessions([condition, ...params]: Condition): Op<number> {
  yield* change(
    `UPDATE application_sessions SET ended = 1 WHERE ended = 0 AND session_id IN (SELECT id FROM sessions WHERE ${condition})`,
    ...params,
  )
  return yield* change(`DELETE FROM sessions WHERE ${condition}`, ...params)
}

/**
 * Ends sessions, with the unused codes that were given in them. A request that waits for a decision gives no access, and the person decides
 * after the next sign-in. Each row has `id` and `user_id`.
 */
export function* endSessions(rows: readonly Row[]): Op<void> {
  for (const row of rows) {
    const id = row.id as Param
    yield* removeSessions(['id = ?', id])
    yield* change(
      'DELETE FROM authorization_requests WHERE user_id = ? AND session_id = ? AND code_hash IS NOT NULL AND consumed_at IS NULL',
      str(row.user_id),
      id,
    )
  }
}
