// Operations on users of an upstream provider, by their subject or session there.
import { endFamilies } from './families.ts'
import { all, type Op, one, type Row, str } from './op.ts'
import { endSessions } from './session_rows.ts'

/** What a logout token names: a subject, a session at the provider, or both. */
interface NamedByProvider {
  issuer: string
  sub?: string
  sid?: string
}
interface EndedSessions {
  user_id: string
  sessions: number
  families: number
}

/**
 * Ends the sessions that an upstream provider signed out. With `sid` these are the sessions of that session at the provider, and those of
 * `sub` whose session at the provider is not known; with `sub` alone every session of the user. With `families` the refresh tokens of the
 * user end too. Undefined when there is no such user.
 */
export function* endFederatedSessions({
  families,
  now,
  ...named
}: NamedByProvider & { families: boolean; now: number }): Op<EndedSessions | undefined> {
  const { user_id, sessions } = yield* findNamed(named)
  if (user_id === undefined) return undefined
  yield* endSessions(sessions)
  const ended = families ? yield* endFamilies('user_id', user_id, 'signed_out', now) : 0
  return { user_id, sessions: sessions.length, families: ended }
}

function* findNamed({ issuer, sub, sid }: NamedByProvider): Op<{ user_id?: string; sessions: Row[] }> {
  const bySid =
    sid === undefined
      ? []
      : yield* all('SELECT id, user_id FROM sessions WHERE oidc_issuer = ? AND oidc_sid = ?', issuer, sid)
  if (sub === undefined) {
    const owner = bySid[0]
    return { user_id: owner && str(owner.user_id), sessions: bySid }
  }
  const user = yield* one('SELECT id FROM users WHERE provider_issuer = ? AND provider_sub = ?', issuer, sub)
  if (!user) return { sessions: [] }
  const user_id = str(user.id)
  const unnamed = sid === undefined ? '' : ' AND oidc_sid IS NULL'
  const others = yield* all(`SELECT id, user_id FROM sessions WHERE user_id = ?${unnamed}`, user_id)
  return { user_id, sessions: [...bySid.filter((row) => row.user_id === user_id), ...others] }
}

/** The id of the user with this subject at an upstream provider. */
export function* findSubjectUser({ issuer, sub }: { issuer: string; sub: string }): Op<string | undefined> {
  const row = yield* one('SELECT id FROM users WHERE provider_issuer = ? AND provider_sub = ?', issuer, sub)
  return row && str(row.id)
}
