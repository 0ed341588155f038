// Operations on local users and the sign-ins of their browsers.
import type { Session, User } from '../oauth/types.ts'
import { forgetConnections } from './connections.ts'
import {
  all,
  anywhere,
  byAge,
  bytes,
  type Found,
  idText,
  maybeStr,
  num,
  type Op,
  type Order,
  one,
  orNull,
  type Place,
  type Row,
  run,
  type Search,
  str,
  where,
} from './op.ts'

const COLUMNS = 'id, email, name, password_hash, role, status, provider, version, created_at, updated_at'

const read = (row: Row): User => ({
  id: str(row.id),
  email: maybeStr(row.email),
  name: str(row.name),
  password_hash: maybeStr(row.password_hash),
  role: row.role as User['role'],
  status: row.status as User['status'],
  provider: row.provider as User['provider'],
  version: num(row.version),
  created_at: num(row.created_at),
  updated_at: num(row.updated_at),
})

/** Emails are compared without regard to case. */
const emailKey = (email: string | undefined) => orNull(email?.toLowerCase())
const mutable = (u: User) => [
  orNull(u.email),
  emailKey(u.email),
  u.name,
  orNull(u.password_hash),
  u.role,
  u.status,
  u.updated_at,
]

/** The user of this id, disabled or not. */
export function* findUser({ id }: { id: string }): Op<User | undefined> {
  const row = yield* one(`SELECT ${COLUMNS} FROM users WHERE id = ?`, id)
  return row && read(row)
}

/** The user with this email, whatever its case. */
export function* findUserByEmail({ email }: { email: string }): Op<User | undefined> {
  const row = yield* one(`SELECT ${COLUMNS} FROM users WHERE email_key = ?`, emailKey(email))
  return row && read(row)
}

export interface UserFilter {
  email?: string
  after?: Place
  order?: Order
  limit: number
  offset: number
}
/** In order of creation, or newest first. */
export function* listUsers({ email, after, order = 'oldest', limit, offset }: UserFilter): Op<User[]> {
  const age = byAge('created_at', 'id', order, after)
  const filter = where(email === undefined ? undefined : ['email_key = ?', emailKey(email)], age.beyond)
  const rows = yield* all(
    `SELECT ${COLUMNS} FROM users ${filter.sql} ${age.sql} LIMIT ? OFFSET ?`,
    ...filter.params,
    limit,
    offset,
  )
  return rows.map(read)
}

/** Of the next rows of the list those whose email, name or id has the text in it. */
export function* listUsersWith({ q, after, order, rows: size }: Search): Op<Found<User>> {
  const age = byAge('created_at', 'id', order, after)
  const filter = where(age.beyond)
  const page = `SELECT ${COLUMNS}, email_key FROM users ${filter.sql} ${age.sql} LIMIT ?`
  const last = yield* one(
    `SELECT created_at, id FROM users ${filter.sql} ${age.sql} LIMIT 1 OFFSET ?`,
    ...filter.params,
    size - 1,
  )
  const found = yield* all(
    `SELECT * FROM (${page}) page WHERE email_key LIKE ? ESCAPE '!' OR lower(name) LIKE ? ESCAPE '!' OR lower(id) LIKE ? ESCAPE '!' ${age.sql}`,
    ...filter.params,
    size,
    anywhere(q),
    anywhere(q),
    anywhere(q),
  )
  return { rows: found.map(read), next: last && { at: num(last.created_at), id: str(last.id) } }
}

/** Adds a user; `exists` when the email is taken. */
export function* createUser(user: User): Op<'created' | 'exists'> {
  const added = yield* run(
    `INSERT INTO users (email, email_key, name, password_hash, role, status, updated_at, id, provider, version, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ...mutable(user),
    user.id,
    user.provider,
    user.version,
    user.created_at,
  )
  return added === 1 ? 'created' : 'exists'
}

/** Writes a user that was read at `user.version`. `signOut` also ends its sessions and refresh tokens. */
export function* updateUser({
  user,
  signOut,
  now,
}: {
  user: User
  signOut: boolean
  now: number
}): Op<'updated' | 'stale' | 'exists'> {
  const twin = yield* one('SELECT 1 AS found FROM users WHERE email_key = ? AND id <> ?', emailKey(user.email), user.id)
  if (twin) return 'exists'
  const changed = yield* run(
    'UPDATE users SET email = ?, email_key = ?, name = ?, password_hash = ?, role = ?, status = ?, updated_at = ?, version = version + 1 WHERE id = ? AND version = ?',
    ...mutable(user),
    user.id,
    user.version,
  )
  if (changed === 0) return 'stale'
  if (signOut) yield* signOutUser({ id: user.id, now })
  return 'updated'
}

/** Replaces the hash of a password whose parameters rose, without touching anything else. */
export function* rehashPassword({ id, from, to }: { id: string; from: string; to: string }): Op<number> {
  return yield* run('UPDATE users SET password_hash = ? WHERE id = ? AND password_hash = ?', to, id, from)
}

/** Ends every session and family of a user. Returns how many families were live. */
export function* signOutUser({ id, now }: { id: string; now: number }): Op<number> {
  yield* run('DELETE FROM sessions WHERE user_id = ?', id)
  // Codes and undecided requests came of those sessions.
  yield* run('DELETE FROM authorization_requests WHERE user_id = ? AND consumed_at IS NULL', id)
  return yield* run(
    'UPDATE token_families SET revoked_at = ?, revoked_reason = ? WHERE user_id = ? AND revoked_at IS NULL',
    now,
    'signed_out',
    id,
  )
}

/** Deletes a user with everything that would let it back in. With live families only when forced. */
export function* deleteUser({
  id,
  force,
  now,
}: {
  id: string
  force: boolean
  now: number
}): Op<'deleted' | 'has_tokens' | undefined> {
  if (!(yield* one('SELECT 1 AS found FROM users WHERE id = ?', id))) return undefined
  const family = yield* one(
    'SELECT 1 AS found FROM token_families WHERE user_id = ? AND revoked_at IS NULL LIMIT 1',
    id,
  )
  if (family && !force) return 'has_tokens'
  yield* signOutUser({ id, now })
  yield* run('UPDATE consent_grants SET revoked_at = ? WHERE user_id = ? AND revoked_at IS NULL', now, id)
  yield* forgetConnections({ user_id: id, now })
  yield* run('DELETE FROM users WHERE id = ?', id)
  return 'deleted'
}

/** Records a sign-in. */
export function* createSession(session: Session): Op<void> {
  yield* run(
    'INSERT INTO sessions (id, user_id, created_at, expires_at) VALUES (?, ?, ?, ?)',
    bytes(session.id),
    session.user_id,
    session.created_at,
    session.expires_at,
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
    `SELECT s.id AS session_id, s.created_at AS session_created_at, s.expires_at AS session_expires_at, ${COLUMNS.split(
      ', ',
    )
      .map((c) => `u.${c}`)
      .join(', ')}
     FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = ? AND s.expires_at > ? AND u.status = ?`,
    bytes(id),
    now,
    'active',
  )
  if (!row) return undefined
  const user = read(row)
  return {
    user,
    session: {
      id: idText(row.session_id),
      user_id: user.id,
      created_at: num(row.session_created_at),
      expires_at: num(row.session_expires_at),
    },
  }
}

/** Ends a sign-in. */
export function* deleteSession({ id }: { id: string }): Op<void> {
  yield* run('DELETE FROM sessions WHERE id = ?', bytes(id))
}
