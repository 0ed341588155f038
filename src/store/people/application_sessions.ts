// Operations on the applications of sessions, which are notified when a session ends (OpenID Connect Back-Channel Logout 1.0).
import type { ApplicationSession, DueLogout } from '../../records/session.ts'
import { change, idBytes, listed, type Op, part, raw } from '../op.ts'
import { column, plainTable } from '../table.ts'

/** Records that a user signed in to an application within a session that has not ended. */
export function* noteApplication(a: Omit<ApplicationSession, 'user_id' | 'expires_at'>): Op<void> {
  yield* change`INSERT INTO application_sessions (id, session_id, client_id, sid, user_id, expires_at, ended, attempts, retry_at)
    SELECT ${idBytes(a.id)}, s.id, ${a.client_id}, ${a.sid}, s.user_id, s.expires_at, 0, 0, 0
    FROM sessions s WHERE s.id = ${idBytes(a.session_id)} ON CONFLICT DO NOTHING`
}

/** The applications of a session belong to another one from now on: the same person signed in again in the same browser. */
export function* moveApplications(w: { from: string; to: string; expires_at: number }): Op<void> {
  yield* change`UPDATE application_sessions SET session_id = ${idBytes(w.to)}, expires_at = ${w.expires_at}
    WHERE session_id = ${idBytes(w.from)} AND ended = 0`
}

const LOGOUTS = plainTable<DueLogout>('application_sessions', {
  id: column.id,
  client_id: column.text(),
  sid: column.text(),
  user_id: column.text(),
  expires_at: column.int,
  attempts: column.int,
})

/** The next logouts that applications must be notified of, except for some clients. */
export function listDueLogouts(w: { now: number; except: readonly string[]; limit: number }): Op<DueLogout[]> {
  const others = w.except.length > 0 ? part`AND client_id NOT IN ${listed(w.except)}` : raw('')
  return LOGOUTS.list`WHERE ended = 1 AND retry_at <= ${w.now} ${others} ORDER BY retry_at LIMIT ${w.limit}`
}

/** Removes a logout that an application has accepted, or that it cannot be notified of. */
export function* settleLogout({ id }: { id: string }): Op<void> {
  yield* change`DELETE FROM application_sessions WHERE id = ${idBytes(id)}`
}

/** Records a failed attempt. */
export function* postponeLogout(w: { id: string; retry_at: number; expires_at: number }): Op<void> {
  yield* change`UPDATE application_sessions
    SET attempts = attempts + 1, retry_at = ${w.retry_at}, expires_at = ${w.expires_at} WHERE id = ${idBytes(w.id)}`
}
