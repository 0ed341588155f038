// Operations on users of an upstream provider, by their subject or session there.

import { all, change, is, type Op, one, orNull, type Row, selectNumber, str, where } from '../op.ts'
import { column, plainTable } from '../table.ts'
import { endFamilies } from '../tokens/families.ts'
import { endSessions } from './session_rows.ts'
import { endAdminSessions } from './user_rows.ts'

/** The user that a logout token names: by subject, by session at the provider, or by both. */
interface NamedByProvider {
  issuer: string
  sub?: string
  sid?: string
}
export interface EndedSessions {
  user_id: string
  sessions: number
  families: number
  /** Live connections of the user to upstream providers, which the caller ends too. */
  connections: number
}

/** A session at an upstream provider that a user signed in from. */
interface FederatedSession {
  id: string
  issuer: string
  sid: string
  user_id: string
  /** The time until which a logout token may name it, in epoch seconds. */
  expires_at: number
}

const FEDERATED_SESSIONS = plainTable<FederatedSession>('federated_sessions', {
  id: column.id,
  issuer: column.text(),
  sid: column.text(),
  user_id: column.text(),
  expires_at: column.int,
})

/** Records from which session at a provider a user signed in. A later sign-in from the same one replaces the record. */
export function* saveFederatedSession(session: FederatedSession): Op<void> {
  yield* FEDERATED_SESSIONS.insert(
    [session],
    `ON CONFLICT (issuer, sid) DO UPDATE SET user_id = excluded.user_id,
       expires_at = CASE WHEN excluded.expires_at > federated_sessions.expires_at THEN excluded.expires_at ELSE federated_sessions.expires_at END`,
  )
}

/**
 * Ends the sessions that an upstream provider signed out. With `sid` these are the sessions of that session at the provider, and the
 * sessions of `sub` whose session at the provider is not known. With `sub` alone they are all sessions of the user. With `families` the
 * refresh tokens of the user end too, even if the session has ended before. Every session of the user at the admin page ends. Undefined
 * when there is no such user.
 */
export function* endFederatedSessions({
  families,
  now,
  ...named
}: NamedByProvider & { families: boolean; now: number }): Op<EndedSessions | undefined> {
  const { user_id, sessions } = yield* findNamed(named, now)
  if (user_id === undefined) return undefined
  yield* endSessions(sessions)
  const atAdminPage = yield* endAdminSessions(user_id)
  yield* change`DELETE FROM federated_sessions ${where(['user_id = ?', user_id], is('sid', named.sid))}`
  const ended = families ? yield* endFamilies('user_id', user_id, 'signed_out', now) : 0
  const connections = families ? yield* countConnections(user_id) : 0
  return { user_id, sessions: sessions.length + atAdminPage, families: ended, connections }
}

const countConnections = (user_id: string) =>
  selectNumber`SELECT count(*) AS n FROM broker_grants WHERE user_id = ${user_id} AND revoked_at IS NULL`

function* findNamed({ issuer, sub, sid }: NamedByProvider, now: number): Op<{ user_id?: string; sessions: Row[] }> {
  const bySid =
    sid === undefined
      ? []
      : yield* all`SELECT id, user_id FROM sessions WHERE oidc_issuer = ${issuer} AND oidc_sid = ${sid}`
  if (sub === undefined) {
    const owner = bySid[0] ?? (yield* findSignedOut(issuer, sid, now))
    return { user_id: owner && str(owner.user_id), sessions: bySid }
  }
  const user = yield* one`SELECT id FROM users WHERE provider_issuer = ${issuer} AND provider_sub = ${sub}`
  if (!user) return { sessions: [] }
  const user_id = str(user.id)
  const unnamed = sid === undefined ? undefined : (['oidc_sid IS NULL'] as const)
  const others = yield* all`SELECT id, user_id FROM sessions ${where(['user_id = ?', user_id], unnamed)}`
  return { user_id, sessions: [...bySid.filter((row) => row.user_id === user_id), ...others] }
}

/** The user of a session at the provider whose sessions here have ended. */
const findSignedOut = (issuer: string, sid: string | undefined, now: number) =>
  one`SELECT user_id FROM federated_sessions WHERE issuer = ${issuer} AND sid = ${orNull(sid)} AND expires_at > ${now}`

/** The id of the user with this subject at an upstream provider. */
export function* findSubjectUser({ issuer, sub }: { issuer: string; sub: string }): Op<string | undefined> {
  const row = yield* one`SELECT id FROM users WHERE provider_issuer = ${issuer} AND provider_sub = ${sub}`
  return row && str(row.id)
}
