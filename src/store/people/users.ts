// Operations on users.

import { isDeepStrictEqual } from 'node:util'
import { groupsOf, type Person, personOf, type User } from '../../records/user.ts'
import {
  type Found,
  hasRowsWithin,
  type ListPage,
  type ListSpec,
  lastOfWindow,
  listPage,
  type Search,
  searchRows,
} from '../list.ts'
import { all, change, containing, either, exists, is, maybeStr, type Op, one, raw, str, where } from '../op.ts'
import { removeFromAccess } from '../references.ts'
import { endFamilies } from '../tokens/families.ts'
import { forgetConnections } from './connections.ts'
import { removeSessions } from './session_rows.ts'
import {
  addGroups,
  deleteGroups,
  deletePasswordLinks,
  endAdminSessions,
  findFederated,
  hasEmail,
  insertUsers,
  isEmailTaken,
  isSameEmail,
  USER_COLUMNS,
  USERS,
  withLetters,
} from './user_rows.ts'

/** The user with this id, disabled or not. */
export const findUser = ({ id }: { id: string }) => USERS.find`WHERE id = ${id}`

/**
 * The data of a user that access rules need. `version` is the version that was read together with a token. A cached result is of that
 * version or of a later one.
 */
export function* findPerson({ id }: { id: string; version: number }): Op<Person | undefined> {
  const user = yield* findUser({ id })
  return user && personOf(user)
}

/** The user with this email, whose case and whose form of the domain do not matter. Of two accounts of earlier versions it is the one with the given form. */
export function* findUserByEmail({ email }: { email: string }): Op<User | undefined> {
  const found = yield* all`SELECT ${raw(USERS.columns)}, email_key FROM users ${where(hasEmail(email))}`
  // A key finds a row, but whose address it is follows from the email alone.
  const rows = found.filter((row) => isSameEmail(maybeStr(row.email), email))
  const row = rows.find(({ email_key }) => email_key === email.toLowerCase()) ?? rows[0]
  return row && USERS.read(row)
}

const LIST: ListSpec = { table: 'users', columns: `${USERS.columns}, email_key`, at: 'created_at', id: 'id' }
/** The users of a group. The index of user_groups has them by age. */
const membersOf = (group: string): ListSpec => ({
  table: 'user_groups g',
  join: 'JOIN users u ON u.id = g.user_id',
  columns: `${USER_COLUMNS}, u.email_key, g.user_id`,
  at: 'g.created_at',
  id: 'g.user_id',
  only: ['g.name = ?', group],
})
const placesOf = (group: string | undefined) => (group === undefined ? LIST : membersOf(group))

interface UserFilter {
  group?: string
  /** Issuer of the upstream provider. */
  issuer?: string
}

/** Every user, those of a group, or the user with an email, ordered by age. */
export function* listUsers({ email, group, issuer, ...page }: { email?: string } & UserFilter & ListPage): Op<User[]> {
  const ofProvider = is(group === undefined ? 'provider_issuer' : 'u.provider_issuer', issuer)
  const rows = yield* listPage(placesOf(group), page, email === undefined ? undefined : hasEmail(email), ofProvider)
  return rows.map(USERS.read)
}

/** The users among the next rows of the list whose email, name or id contains the text. */
export function* listUsersWith({ group, issuer, ...search }: UserFilter & Search): Op<Found<User>> {
  const matching = [
    either(containing(search.q, 'email', 'name', 'id'), containing(withLetters(search.q), 'email_key')),
    ...(issuer === undefined ? [] : [is('provider_issuer', issuer)]),
  ]
  const { rows, next } =
    group !== undefined && (yield* isCommon(group, search))
      ? yield* searchRows(LIST, search, ...matching, [
          'EXISTS (SELECT 1 FROM user_groups g WHERE g.user_id = page.id AND g.name = ?)',
          group,
        ])
      : yield* searchRows(placesOf(group), search, ...matching)
  return { rows: rows.map(USERS.read), next }
}

/** Reading users in order of age is faster than looking up the users of a group by about this factor. */
const FASTER = 5
/** Whether at least one in FASTER of the next users is in the group. The search is then faster in the list of all users. */
function* isCommon(group: string, search: Search): Op<boolean> {
  const last = yield* lastOfWindow(LIST, search)
  if (!last) return false
  return yield* hasRowsWithin(membersOf(group), { ...search, rows: Math.ceil(search.rows / FASTER) }, last)
}

/** Adds a user. `exists` when the email, or the subject at its provider, is taken. */
export function* createUser(user: User): Op<'created' | 'exists'> {
  if ((yield* isEmailTaken(user.email)) || (yield* insertUsers([user])) === 0) return 'exists'
  yield* addGroups([user])
  return 'created'
}

/**
 * Writes a user that was read at `user.version`. `exists`: another user has the email. `subject_exists`: another user has the subject at the
 * provider. `signOut` also ends the user's sessions and refresh tokens.
 */
export function* updateUser(w: {
  user: User
  signOut: boolean
  now: number
}): Op<'updated' | 'stale' | 'exists' | 'subject_exists'> {
  const { user, signOut, now } = w
  const before = yield* one`SELECT ${raw(USERS.columns)}, email_key FROM users
    WHERE id = ${user.id} AND version = ${user.version}`
  const key = before && isSameEmail(maybeStr(before.email), user.email) ? maybeStr(before.email_key) : undefined
  if (key === undefined && (yield* isEmailTaken(user.email, user.id))) return 'exists'
  if (before && maybeStr(before.provider_sub) !== user.provider_sub && (yield* findFederated(user)))
    return 'subject_exists'
  // A row keeps its key while its email stays the same.
  const outcome = yield* USERS.update(user, key === undefined ? {} : { email_key: key })
  if (!before || outcome === 'stale') return 'stale'
  if (!isDeepStrictEqual(groupsOf(USERS.read(before)), groupsOf(user))) {
    yield* deleteGroups(user.id)
    yield* addGroups([user])
  }
  if (maybeStr(before.password_hash) !== user.password_hash || user.status !== 'active')
    yield* deletePasswordLinks(user.id)
  if (signOut) yield* signOutUser({ id: user.id, now })
  return 'updated'
}

/** Replaces a password hash with outdated parameters. Nothing else is changed. */
export function* rehashPassword({ id, from, to }: { id: string; from: string; to: string }): Op<number> {
  return yield* change`UPDATE users SET password_hash = ${to} WHERE id = ${id} AND password_hash = ${from}`
}

/** Ends every session and family of a user. Returns the number of families that were live. */
export function* signOutUser({ id, now }: { id: string; now: number }): Op<number> {
  yield* removeSessions(['user_id = ?', id])
  yield* endAdminSessions(id)
  // Codes belong to these sessions. Undecided requests give no access.
  yield* change`DELETE FROM authorization_requests WHERE user_id = ${id} AND code_hash IS NOT NULL
    AND consumed_at IS NULL`
  return yield* endFamilies('user_id', id, 'signed_out', now)
}

/** Deletes a user, ends its sessions, families, consents and connections, and removes it from the access rules of resources. A user with live families is deleted only when forced. */
export function* deleteUser(w: { id: string; force: boolean; now: number }): Op<'deleted' | 'has_tokens' | undefined> {
  const { id, force, now } = w
  if (!(yield* exists`users WHERE id = ${id}`)) return undefined
  if (!force && (yield* exists`token_families WHERE user_id = ${id} AND revoked_at IS NULL`)) return 'has_tokens'
  yield* signOutUser({ id, now })
  yield* change`UPDATE consent_grants SET revoked_at = ${now} WHERE user_id = ${id} AND revoked_at IS NULL`
  yield* forgetConnections({ user_id: id, now })
  yield* deleteGroups(id)
  yield* deletePasswordLinks(id)
  yield* removeFromAccess(id, now)
  yield* change`DELETE FROM federated_sessions WHERE user_id = ${id}`
  for (const table of [
    'scim_members',
    'scim_emails',
    'scim_users',
    'recovery_codes',
    'user_factors',
    'device_requests',
  ])
    yield* change`DELETE FROM ${raw(table)} WHERE user_id = ${id}`
  yield* change`DELETE FROM users WHERE id = ${id}`
  return 'deleted'
}

/** Longer than the cost in a hash, and too short for its salt to make many different texts. */
const PREFIX = 30
const MAX_PREFIXES = 10_000
/** The beginnings of the password hashes that this service did not make itself, each once. Reads all users. */
export function* listHashPrefixes(_: Record<never, never>): Op<string[]> {
  const rows = yield* all`SELECT DISTINCT CASE WHEN password_hash LIKE '$2%' THEN substr(password_hash, 1, 7)
      ELSE substr(password_hash, 1, ${raw(PREFIX)}) END AS prefix
    FROM users WHERE password_hash IS NOT NULL AND password_hash NOT LIKE '$argon2id$v=19$m=19456,t=2,p=1$%'
    ORDER BY prefix LIMIT ${raw(MAX_PREFIXES)}`
  return rows.map((row) => str(row.prefix))
}
