// Operations on the sessions of the admin page. They are not cached, so that the end of a session, or of a right, is effective at once.
import type { AdminIdentity, AdminSession } from '../../records/admin_session.ts'
import type { ApiKey } from '../../records/api_key.ts'
import type { User } from '../../records/user.ts'
import { change, idBytes, type Op, one, raw, str } from '../op.ts'
import { column, plainTable } from '../table.ts'
import { USER_COLUMNS, USERS } from './user_rows.ts'

/** A session, with the members of its identity as columns. */
type StoredSession = Omit<AdminSession, 'identity'> & Partial<AdminIdentity>
const SESSIONS = plainTable<StoredSession>('admin_sessions', {
  id: column.id,
  hash: column.id,
  user_id: column.maybeText(),
  api_key_id: column.maybeId,
  config_key: column.maybeId,
  created_at: column.int,
  expires_at: column.int,
  provider: column.maybeText(),
  issuer: column.maybeText(),
  subject: column.maybeText(),
  groups: column.named('provider_groups', column.maybeJson()),
  actor_id: column.maybeText(),
})
const SESSION = SESSIONS.as('s', 'session_')

/** Records a session. */
export const createAdminSession = ({ identity, ...session }: AdminSession) => SESSIONS.add({ ...session, ...identity })

interface FoundAdminSession {
  session: AdminSession
  /** The person, if the account is active. */
  user?: User
  /** The key that was created at run time, unless it was revoked. */
  key?: Pick<ApiKey, 'name' | 'capability'>
}

const COLUMNS = raw(`${SESSION.columns}, ${USER_COLUMNS}`)
/** A live session, with the person or the key that it belongs to. */
export function* findAdminSession({ id, now }: { id: string; now: number }): Op<FoundAdminSession | undefined> {
  const row = yield* one`SELECT k.name AS key_name, k.capability AS key_capability, ${COLUMNS}
    FROM admin_sessions s LEFT JOIN users u ON u.id = s.user_id AND u.status = 'active'
      LEFT JOIN api_keys k ON k.id = s.api_key_id
    WHERE s.id = ${idBytes(id)} AND s.expires_at > ${now}`
  if (!row) return undefined
  return {
    session: sessionOf(SESSION.read(row)),
    user: row.id === null ? undefined : USERS.read(row),
    key:
      row.key_name === null
        ? undefined
        : { name: str(row.key_name), capability: str(row.key_capability) as ApiKey['capability'] },
  }
}

const sessionOf = ({ provider, issuer, subject, groups, actor_id, ...session }: StoredSession): AdminSession => ({
  ...session,
  identity: subject === undefined ? undefined : ({ provider, issuer, subject, groups, actor_id } as AdminIdentity),
})

/** Ends a session. */
export function* deleteAdminSession({ id }: { id: string }): Op<void> {
  yield* change`DELETE FROM admin_sessions WHERE id = ${idBytes(id)}`
}
