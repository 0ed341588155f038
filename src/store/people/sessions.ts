// Operations on the sessions of browsers: the sign-ins of users.
import type { Session } from '../../records/session.ts'
import type { User } from '../../records/user.ts'
import { all, change, idBytes, type Op, one } from '../op.ts'
import { endSessions, removeSessions, SESSIONS } from './session_rows.ts'
import { deletePasswordLinks, USER_COLUMNS, USERS } from './user_rows.ts'

/** Records a session. */
export const createSession = (session: Session) => SESSIONS.add(session)

const SESSION = SESSIONS.as('s', 'session_')
const FIND = `SELECT ${SESSION.columns}, ${USER_COLUMNS}
  FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = ? AND s.expires_at > ? AND u.status = ?`

/** A live session of an active user. */
export function* findSession(w: { id: string; now: number }): Op<{ session: Session; user: User } | undefined> {
  const row = yield* one({ sql: FIND, params: [idBytes(w.id), w.now, 'active'] })
  return row && { user: USERS.read(row), session: SESSION.read(row) }
}

/** The live sessions of a user, newest first, at most 100. */
export const listSessions = ({ user_id, now }: { user_id: string; now: number }) =>
  SESSIONS.list`WHERE user_id = ${user_id} AND expires_at > ${now} ORDER BY id DESC LIMIT 100`

/** Records that a session is in use. */
export function* touchSession({ id, now }: { id: string; now: number }): Op<void> {
  yield* change`UPDATE sessions SET last_used_at = ${now} WHERE id = ${idBytes(id)}`
}

/** Ends a session. False when it ended before. */
export function* deleteSession({ id }: { id: string }): Op<boolean> {
  return (yield* removeSessions(['id = ?', idBytes(id)])) === 1
}

/** Ends one session of a user, with its codes. Returns whether the user had this session. */
export function* endUserSession({ user_id, id }: { user_id: string; id: string }): Op<boolean> {
  const rows = yield* all`SELECT id, user_id FROM sessions WHERE id = ${idBytes(id)} AND user_id = ${user_id}`
  yield* endSessions(rows)
  return rows.length === 1
}

/** Ends every session of a user but one, with their codes. Returns their number. */
export function* endOtherSessions({ user_id, id }: { user_id: string; id: string }): Op<number> {
  const rows = yield* all`SELECT id, user_id FROM sessions WHERE user_id = ${user_id} AND id <> ${idBytes(id)}`
  yield* endSessions(rows)
  return rows.length
}

/**
 * Replaces the password hash of a user, and ends the unused password link and every session but one, `id`. Returns the number of ended
 * sessions; undefined when the hash is no longer `from`.
 */
export function* changePassword(w: {
  user_id: string
  id: string
  from: string
  to: string
  now: number
}): Op<number | undefined> {
  const changed = yield* change`UPDATE users SET password_hash = ${w.to}, updated_at = ${w.now}, version = version + 1
    WHERE id = ${w.user_id} AND password_hash = ${w.from}`
  if (changed === 0) return undefined
  yield* deletePasswordLinks(w.user_id)
  return yield* endOtherSessions(w)
}
