// Rows of sessions.
import type { Session } from '../../records/session.ts'
import { type Condition, change, type Op, type Param, type Row, str, where } from '../op.ts'
import { column, plainTable } from '../table.ts'

export const SESSIONS = plainTable<Session>('sessions', {
  id: column.id,
  user_id: column.text(),
  created_at: column.int,
  expires_at: column.int,
  oidc_issuer: column.maybeText(),
  oidc_sid: column.maybeText(),
  auth_time: column.maybeInt,
  amr: column.maybeJson(),
  acr: column.maybeText(),
  user_agent: column.maybeText(),
  ip: column.maybeText(),
  last_used_at: column.maybeInt,
})

/** Deletes the sessions of a condition. Their applications are notified later. Returns the number of sessions. */
export function* removeSessions(condition: Condition): Op<number> {
  const found = where(condition)
  yield* change`UPDATE application_sessions SET ended = 1
    WHERE ended = 0 AND session_id IN (SELECT id FROM sessions ${found})`
  return yield* change`DELETE FROM sessions ${found}`
}

/**
 * Ends sessions, with the unused codes that were given in them. A request that waits for a decision gives no access, and the person decides
 * after the next sign-in. Each row has `id` and `user_id`.
 */
export function* endSessions(rows: readonly Row[]): Op<void> {
  for (const row of rows) {
    const id = row.id as Param
    yield* removeSessions(['id = ?', id])
    yield* change`DELETE FROM authorization_requests WHERE user_id = ${str(row.user_id)} AND session_id = ${id}
      AND code_hash IS NOT NULL AND consumed_at IS NULL`
  }
}
