// Operations on the sessions of the admin page. They are not cached, so that the end of a session, or of a right, is effective at once.
import type { AdminIdentity, AdminSession } from '../../records/admin_session.ts'
import type { ApiKey } from '../../records/api_key.ts'
import type { User } from '../../records/user.ts'
import {
  change,
  columnsOf,
  decoded,
  idBytes,
  idText,
  maybeIdBytes,
  maybeIdText,
  maybeStr,
  num,
  type Op,
  one,
  orNull,
  type Row,
  str,
} from '../op.ts'
import { readUser, USER_COLUMNS } from './user_rows.ts'

const COLUMNS = [
  ...['id', 'hash', 'user_id', 'api_key_id', 'config_key', 'created_at', 'expires_at'],
  ...['provider', 'issuer', 'subject', 'provider_groups', 'actor_id'],
]

/** Records a session. */
export function* createAdminSession(session: AdminSession): Op<void> {
  yield* change(
    `INSERT INTO admin_sessions (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})`,
    idBytes(session.id),
    idBytes(session.hash),
    orNull(session.user_id),
    maybeIdBytes(session.api_key_id),
    maybeIdBytes(session.config_key),
    session.created_at,
    session.expires_at,
    orNull(session.identity?.provider),
    orNull(session.identity?.issuer),
    orNull(session.identity?.subject),
    orNull(session.identity && JSON.stringify(session.identity.groups)),
    orNull(session.identity?.actor_id),
  )
}

interface FoundAdminSession {
  session: AdminSession
  /** The person, if the account is active. */
  user?: User
  /** The key that was created at run time, unless it was revoked. */
  key?: Pick<ApiKey, 'name' | 'capability'>
}

/** A live session, with the person or the key that it belongs to. */
export function* findAdminSession({ id, now }: { id: string; now: number }): Op<FoundAdminSession | undefined> {
  const row = yield* one(
    `SELECT ${COLUMNS.map((column) => `s.${column} AS session_${column}`).join(', ')},
       k.name AS key_name, k.capability AS key_capability, ${columnsOf('u', USER_COLUMNS)}
     FROM admin_sessions s
       LEFT JOIN users u ON u.id = s.user_id AND u.status = ?
       LEFT JOIN api_keys k ON k.id = s.api_key_id
     WHERE s.id = ? AND s.expires_at > ?`,
    'active',
    idBytes(id),
    now,
  )
  if (!row) return undefined
  return {
    session: read(row),
    user: row.id === null ? undefined : readUser(row),
    key:
      row.key_name === null
        ? undefined
        : { name: str(row.key_name), capability: str(row.key_capability) as ApiKey['capability'] },
  }
}

const read = (row: Row): AdminSession => ({
  id: idText(row.session_id),
  hash: idText(row.session_hash),
  user_id: maybeStr(row.session_user_id),
  identity: row.session_subject === null ? undefined : readIdentity(row),
  api_key_id: maybeIdText(row.session_api_key_id),
  config_key: maybeIdText(row.session_config_key),
  created_at: num(row.session_created_at),
  expires_at: num(row.session_expires_at),
})

const readIdentity = (row: Row): AdminIdentity => ({
  provider: str(row.session_provider),
  issuer: str(row.session_issuer),
  subject: str(row.session_subject),
  groups: decoded(row.session_provider_groups),
  actor_id: str(row.session_actor_id),
})

/** Ends a session. */
export function* deleteAdminSession({ id }: { id: string }): Op<void> {
  yield* change('DELETE FROM admin_sessions WHERE id = ?', idBytes(id))
}
