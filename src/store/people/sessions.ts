// Operations on the sessions of browsers: the sign-ins of users.
import type { Session } from '../../records/session.ts'
import type { User } from '../../records/user.ts'
import { all, change, columnsOf, idBytes, maybeEncoded, type Op, one, orNull } from '../op.ts'
import { endSessions, readSession, removeSessions, SESSION_COLUMNS } from './session_rows.ts'
import { deletePasswordLinks, readUser, USER_COLUMNS } from './user_rows.ts'

/** Records a session. */
export function* createSession(session: Session): Op<void> {
  yield* change(
    'INSERT INTO sessions (id, user_id, created_at, expires_at, oidc_issuer, oidc_sid, auth_time, amr, acr, user_agent, ip, last_used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    idBytes(session.id),
    session.user_id,
    session.created_at,
    session.expires_at,
    orNull(session.oidc_issuer),
    orNull(session.oidc_sid),
    orNull(session.auth_time),
    maybeEncoded(session.amr),
    orNull(session.acr),
    orNull(session.user_agent),
    orNull(session.ip),
    orNull(session.last_used_at),
  )
}

/** A live session of an active user. */
export function* findSession({
  id,
  now,
}: {
  id: string
  now: number
}): Op<{ session: Session; user: User } | undefined> {
  const row = yield* one(
    `SELECT ${SESSION_COLUMNS}, ${columnsOf('u', USER_COLUMNS)}
     FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = ? AND s.expires_at > ? AND u.status = ?`,
    idBytes(id),
    now,
    'active',
  )
  if (!row) return undefined
  const user = readUser(row)
  return { user, session: readSession(row, user.id) }
}

/** The live sessions of a user, newest first, at most 100. */
export function* listSessions({ user_id, now }: { user_id: string; now: number }): Op<Session[]> {
  const rows = yield* all(
    `SELECT ${SESSION_COLUMNS} FROM sessions s WHERE s.user_id = ? AND s.expires_at > ? ORDER BY s.id DESC LIMIT 100`,
    user_id,
    now,
  )
  return rows.map((row) => readSession(row, user_id))
}

/** Records that a session is in use. */
export function* touchSession({ id, now }: { id: string; now: number }): Op<void> {
  yield* change('UPDATE sessions SET last_used_at = ? WHERE id = ?', now, idBytes(id))
}

/** Ends a session. False when it ended before. */
export function* deleteSession({ id }: { id: string }): Op<boolean> {
  return (yield* removeSessions(['id = ?', idBytes(id)])) === 1
}

/** Ends one session of a user, with its codes. Returns whether the user had this session. */
export function* endUserSession({ user_id, id }: { user_id: string; id: string }): Op<boolean> {
  const rows = yield* all('SELECT id, user_id FROM sessions WHERE id = ? AND user_id = ?', idBytes(id), user_id)
  yield* endSessions(rows)
  return rows.length === 1
}

/** Ends every session of a user but one, with their codes. Returns their number. */
export function* endOtherSessions({ user_id, id }: { user_id: string; id: string }): Op<number> {
  const rows = yield* all('SELECT id, user_id FROM sessions WHERE user_id = ? AND id <> ?', user_id, idBytes(id))
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
  const changed = yield* change(
    'UPDATE users SET password_hash = ?, updated_at = ?, version = version + 1 WHERE id = ? AND password_hash = ?',
    w.to,
    w.now,
    w.user_id,
    w.from,
  )
  if (changed === 0) return undefined
  yield* deletePasswordLinks(w.user_id)
  return yield* endOtherSessions(w)
}
