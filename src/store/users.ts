// Operations on users.

import { isDeepStrictEqual } from 'node:util'
import { type Person, personOf } from '../records/person.ts'
import { groupsOf, type User } from '../records/user.ts'
import { endAdminSessions } from './admin_session_rows.ts'
import { forgetConnections } from './connections.ts'
import { endFamilies } from './families.ts'
import {
  type Found,
  hasRowsWithin,
  type ListPage,
  type ListSpec,
  lastOfWindow,
  listPage,
  type Search,
  searchRows,
} from './list.ts'
import { change, columnsOf, containing, forUpdate, is, maybeStr, type Op, one, orNull } from './op.ts'
import { deletePasswordLinks } from './password_link_rows.ts'
import { removeFromAccess } from './references.ts'
import { addGroups, deleteGroups } from './user_groups.ts'
import { changeable, emailKey, insertUsers, readUser, USER_COLUMNS } from './user_rows.ts'

/** The user with this id, disabled or not. */
export function* findUser({ id }: { id: string }): Op<User | undefined> {
  const row = yield* one(`SELECT ${USER_COLUMNS} FROM users WHERE id = ?`, id)
  return row && readUser(row)
}

/**
 * The data of a user that access rules need. `version` is the version that was read together with a token. A cached result is of that
 * version or of a later one.
 */
export function* findPerson({ id }: { id: string; version: number }): Op<Person | undefined> {
  const user = yield* findUser({ id })
  return user && personOf(user)
}

/** The user with this email, compared case-insensitively. */
export function* findUserByEmail({ email }: { email: string }): Op<User | undefined> {
  const row = yield* one(`SELECT ${USER_COLUMNS} FROM users WHERE email_key = ?`, emailKey(email))
  return row && readUser(row)
}

const LIST: ListSpec = { table: 'users', columns: `${USER_COLUMNS}, email_key`, at: 'created_at', id: 'id' }
/** The users of a group. The index of user_groups has them by age. */
const membersOf = (group: string): ListSpec => ({
  table: 'user_groups g',
  join: 'JOIN users u ON u.id = g.user_id',
  columns: `${columnsOf('u', USER_COLUMNS)}, u.email_key, g.user_id`,
  at: 'g.created_at',
  id: 'g.user_id',
  only: ['g.name = ?', group],
})
const listOf = (group: string | undefined) => (group === undefined ? LIST : membersOf(group))

interface UserFilter {
  group?: string
}

/** Every user, those of a group, or the user with an email, ordered by age. */
export function* listUsers({ email, group, ...page }: { email?: string } & UserFilter & ListPage): Op<User[]> {
  return (yield* listPage(listOf(group), page, is('email_key', email?.toLowerCase()))).map(readUser)
}

/** The users among the next rows of the list whose email, name or id contains the text. */
export function* listUsersWith({ group, ...search }: UserFilter & Search): Op<Found<User>> {
  const matching = containing(search.q, 'email_key', 'name', 'id')
  const { rows, next } =
    group !== undefined && (yield* isCommon(group, search))
      ? yield* searchRows(LIST, search, matching, [
          'EXISTS (SELECT 1 FROM user_groups g WHERE g.user_id = page.id AND g.name = ?)',
          group,
        ])
      : yield* searchRows(listOf(group), search, matching)
  return { rows: rows.map(readUser), next }
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
  if ((yield* insertUsers([user])) === 0) return 'exists'
  yield* addGroups([user])
  return 'created'
}

/**
 * Writes a user that was read at `user.version`. `exists`: another user has the email. `subject_exists`: another user has the subject at the
 * provider. `signOut` also ends the user's sessions and refresh tokens.
 */
export function* updateUser({
  user,
  signOut,
  now,
}: {
  user: User
  signOut: boolean
  now: number
}): Op<'updated' | 'stale' | 'exists' | 'subject_exists'> {
  const twin = yield* one('SELECT 1 AS found FROM users WHERE email_key = ? AND id <> ?', emailKey(user.email), user.id)
  if (twin) return 'exists'
  const before = yield* one(`SELECT ${USER_COLUMNS} FROM users WHERE id = ? AND version = ?`, user.id, user.version)
  if (before && maybeStr(before.provider_sub) !== user.provider_sub && (yield* findFederated(user)))
    return 'subject_exists'
  const changed = yield* change(
    'UPDATE users SET email = ?, email_key = ?, email_verified = ?, name = ?, password_hash = ?, role = ?, status = ?, operator_groups = ?, provider_groups = ?, updated_at = ?, provider_sub = ?, version = version + 1 WHERE id = ? AND version = ?',
    ...changeable(user),
    orNull(user.provider_sub),
    user.id,
    user.version,
  )
  if (!before || changed === 0) return 'stale'
  if (!isDeepStrictEqual(groupsOf(readUser(before)), groupsOf(user))) {
    yield* deleteGroups(user.id)
    yield* addGroups([user])
  }
  if (maybeStr(before.password_hash) !== user.password_hash || user.status !== 'active')
    yield* deletePasswordLinks(user.id)
  if (signOut) yield* signOutUser({ id: user.id, now })
  return 'updated'
}

/** The row is locked, so that the groups of this sign-in are written even when an operator changes the user at the same time. */
const findFederated = ({ provider_issuer, provider_sub }: User) =>
  forUpdate(
    `SELECT ${USER_COLUMNS} FROM users WHERE provider_issuer = ? AND provider_sub = ?`,
    orNull(provider_issuer),
    orNull(provider_sub),
  )

/**
 * The account of a user who has just signed in at an upstream provider. An account with that issuer and subject is updated with the email,
 * name and groups from the provider. Without such an account, the new account `user` is added. An account is never chosen only because it
 * has the same email. If another account has the email, a first sign-in is refused (`email_taken`), and a known account loses its email,
 * because the provider no longer vouches for the previous one. A disabled account is returned unchanged. `email_before` is set when the
 * email has changed.
 */
export function* saveFederatedUser({ user }: { user: User }): Op<FederatedUser | 'email_taken'> {
  let row = yield* findFederated(user)
  if (!row) {
    if ((yield* createUser(user)) === 'created') return { user, created: true }
    // Another account has the email, or the same person signed in twice at the same time.
    row = yield* findFederated(user)
    if (!row) return 'email_taken'
  }
  const known = readUser(row)
  if (known.status !== 'active') return { user: known, created: false }
  const taken = yield* one(
    'SELECT 1 AS found FROM users WHERE email_key = ? AND id <> ?',
    emailKey(user.email),
    known.id,
  )
  const next: User = {
    ...known,
    email: taken ? undefined : user.email,
    email_verified: !taken && user.email_verified,
    name: user.name || known.name,
    provider_groups: user.provider_groups,
  }
  if (isDeepStrictEqual(next, known)) return { user: known, created: false }
  next.updated_at = user.updated_at
  yield* updateUser({ user: next, signOut: false, now: user.updated_at })
  return { user: next, created: false, ...(next.email === known.email ? {} : { email_before: known.email ?? '' }) }
}

export interface FederatedUser {
  user: User
  created: boolean
  /** Empty when there was no email. */
  email_before?: string
}

/** Replaces a password hash with outdated parameters. Nothing else is changed. */
export function* rehashPassword({ id, from, to }: { id: string; from: string; to: string }): Op<number> {
  return yield* change('UPDATE users SET password_hash = ? WHERE id = ? AND password_hash = ?', to, id, from)
}

/** Ends every session and family of a user. Returns the number of families that were live. */
export function* signOutUser({ id, now }: { id: string; now: number }): Op<number> {
  yield* change('DELETE FROM sessions WHERE user_id = ?', id)
  yield* endAdminSessions(id)
  // Codes and undecided requests belong to these sessions.
  yield* change('DELETE FROM authorization_requests WHERE user_id = ? AND consumed_at IS NULL', id)
  return yield* endFamilies('user_id', id, 'signed_out', now)
}

/** Deletes a user, ends its sessions, families, consents and connections, and removes it from the access rules of resources. A user with live families is deleted only when forced. */
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
  yield* change('UPDATE consent_grants SET revoked_at = ? WHERE user_id = ? AND revoked_at IS NULL', now, id)
  yield* forgetConnections({ user_id: id, now })
  yield* deleteGroups(id)
  yield* deletePasswordLinks(id)
  yield* removeFromAccess(id, now)
  yield* change('DELETE FROM federated_sessions WHERE user_id = ?', id)
  yield* change('DELETE FROM users WHERE id = ?', id)
  return 'deleted'
}
