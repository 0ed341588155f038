// Changes of the people that a provider manages over SCIM. Their accounts are rows of `users`.
import { isDeepStrictEqual } from 'node:util'
import { EMAIL_ADDRESS } from '../../lib/email.ts'
import { primaryEmail, profileOfName, type ScimPerson, type ScimProvider, type ScimUser } from '../../records/scim.ts'
import type { User } from '../../records/user.ts'
import { all, type Condition, change, exists, idBytes, insertRows, type Op, orNull, where } from '../op.ts'
import { forgetConnections } from './connections.ts'
import { nameKey, PEOPLE } from './scim_people.ts'
import { hasEmail, isEmailTaken, isSameEmail, USERS } from './user_rows.ts'
import { createUser, deleteUser, findUser, signOutUser, updateUser } from './users.ts'

/** What a change did, for the audit trail: the last event is that of the operation. */
export interface ScimChange {
  id: string
  events: readonly { action: string; detail: Record<string, unknown> }[]
}
type Taken = 'userName' | 'externalId'

/** The attribute of a person that another person of the provider has. */
function* takenBy(provider: string, { userName, externalId }: ScimPerson, id = ''): Op<Taken | undefined> {
  const rows = yield* all`SELECT user_name_key FROM scim_users WHERE provider = ${provider}
    AND (user_name_key = ${nameKey(userName)} OR external_id = ${orNull(externalId)}) AND user_id <> ${id}`
  if (rows.length === 0) return undefined
  return rows.some(({ user_name_key }) => user_name_key === nameKey(userName)) ? 'userName' : 'externalId'
}

function* addEmails(provider: string, user_id: string, person: ScimPerson): Op<void> {
  const primary = primaryEmail(person)
  const keys = new Set((person.emails ?? []).map(({ value }) => nameKey(value)))
  yield* insertRows(
    'scim_emails (user_id, email_key, provider, is_primary)',
    [...keys].map((each) => [user_id, each, provider, Number(primary !== undefined && nameKey(primary) === each)]),
  )
}

interface NewPerson {
  provider: ScimProvider
  /** The account, if the person has none yet. */
  user: User
  person: ScimPerson
  live_from: string
}

/** Adds a person. Who signed in before at the provider keeps the account. Returns the attribute that is taken, or the person and what was done. */
export function* createScimUser({
  provider,
  user,
  person,
  live_from,
}: NewPerson): Op<(ScimChange & { person: ScimUser }) | Taken> {
  const { slug } = provider
  const now = user.created_at
  const taken = yield* takenBy(slug, person)
  if (taken) return taken
  const known = yield* findKnown(provider, user, person)
  const account = known ?? (yield* addAccount(user))
  // The subject is taken, by a person who was added at the same time or by an account with another externalId.
  if (!account) return (yield* takenBy(slug, person)) ?? 'externalId'
  // Without ON CONFLICT: PostgreSQL repeats the operation when another one inserts the person at the same time, and takenBy() then says what is taken.
  const written = { ...person, id: account.id, provider: slug, version: 1, created_at: now, updated_at: now }
  yield* PEOPLE.add(written)
  yield* addEmails(slug, account.id, person)
  const about = { user_id: account.id, provider: slug }
  const added = (active: boolean, ...events: ScimChange['events']) => ({
    id: account.id,
    events,
    person: { ...written, active, groups: [] },
  })
  if (!known) return added(user.status === 'active', { action: 'user_created', detail: { ...about, role: user.role } })
  const linked = { action: 'user_updated', detail: { ...about, fields: ['scim'] } }
  const isActive = known.status === 'active'
  if (user.status === 'active' || !isActive) return added(isActive, linked)
  yield* updateUser({ user: { ...known, status: 'disabled', updated_at: now }, signOut: true, now })
  yield* endAccess({ id: known.id, now, live_from })
  return added(false, linked, { action: 'user_disabled', detail: about })
}

/** Adds an account, without its email if another account has it, or gets it at the same time. Undefined when the subject is taken. */
function* addAccount(user: User): Op<User | undefined> {
  for (const email of [user.email, undefined]) {
    const account = { ...user, email, email_verified: false }
    if ((yield* createUser(account)) === 'created') return account
  }
  return undefined
}

/** The account of a person who signed in at the provider before, and whom no SCIM record names. */
function* findKnown({ issuer, match }: ScimProvider, { provider_sub }: User, person: ScimPerson): Op<User | undefined> {
  const by = (...fits: Condition[]) =>
    USERS.lock`${where(['provider_issuer = ?', issuer], ['provider_sub IS NOT NULL'], ...fits)}
      AND NOT EXISTS (SELECT 1 FROM scim_users s WHERE s.user_id = users.id)`
  let found: User | undefined
  if (match === 'email') {
    for (const address of [person.userName, primaryEmail(person)]) {
      if (found || address === undefined) continue
      found = yield* by(['email_verified = 1'], hasEmail(address))
      if (found && !isSameEmail(found.email, address)) found = undefined
    }
  } else if (provider_sub !== undefined) found = yield* by(['provider_sub = ?', provider_sub])
  else if (person.externalId !== undefined) found = yield* by(['provider_claim = ?', person.externalId])
  return found
}

/** Ends what signing out does not: connections to providers, connections that are being made, and tokens that belong to no sign-in. */
function* endAccess(of: { id: string; now: number; live_from: string }): Op<void> {
  yield* forgetConnections({ user_id: of.id, now: of.now })
  yield* endTokens(of)
}

/** Revokes the access tokens of a user, also those that belong to no sign-in. */
function* endTokens({ id, now, live_from }: { id: string; now: number; live_from: string }): Op<void> {
  yield* change`UPDATE issuances SET revoked_at = ${now} WHERE sub = ${id} AND id > ${idBytes(live_from)}
    AND revoked_at IS NULL AND broker_provider IS NULL`
}

interface ChangedPerson {
  provider: ScimProvider
  id: string
  /** The version that was read. */
  version: number
  person: ScimPerson
  active: boolean
  /** The name that the account has now. */
  name: string
  now: number
  live_from: string
}

/** Writes a person that was read before. Returns what changed, the attribute that is taken, or undefined when there is no such person. */
export function* updateScimUser(c: ChangedPerson): Op<ScimChange | Taken | 'stale' | undefined> {
  const { provider, id, person, now } = c
  const before = yield* PEOPLE.lock`WHERE user_id = ${id} AND provider = ${provider.slug}`
  const known = before && (yield* findUser({ id }))
  if (!before || !known) return undefined
  if (before.version !== c.version) return 'stale'
  const taken = yield* takenBy(provider.slug, person, id)
  if (taken) return taken
  const isRenamed = before.externalId !== person.externalId
  const next = yield* accountOf(c, known, before)
  const isLeaving = known.status === 'active' && next.status !== 'active'
  const isChanged = !isDeepStrictEqual(next, known)
  if (isChanged) {
    const signOut = isLeaving || (isRenamed && known.provider_sub !== undefined)
    const outcome = yield* updateUser({ user: { ...next, updated_at: now }, signOut, now })
    if (outcome === 'stale') return 'stale'
    if (outcome !== 'updated') return 'externalId'
  }
  if (isLeaving) yield* endAccess(c)
  const fields = (['userName', 'externalId', 'displayName', 'name', 'emails'] as const).filter(
    (field) => !isDeepStrictEqual(before[field], person[field]),
  )
  const about = { user_id: id, provider: provider.slug }
  const link = next.provider_sub === known.provider_sub ? [] : ['provider_sub']
  const events = [
    ...(fields.length > 0 ? [{ action: 'user_updated', detail: { ...about, fields: [...fields, ...link] } }] : []),
    ...(next.status === known.status ? [] : [{ action: isLeaving ? 'user_disabled' : 'user_enabled', detail: about }]),
  ]
  if (events.length === 0) return { id, events }
  if (fields.includes('emails')) {
    yield* change`DELETE FROM scim_emails WHERE user_id = ${id}`
    yield* addEmails(provider.slug, id, person)
  }
  const { version, created_at } = before
  yield* PEOPLE.update({ ...person, id, provider: provider.slug, version, created_at, updated_at: now })
  return { id, events }
}

/** The account with what the provider says now. The email is that of SCIM until a sign-in vouches for one. */
function* accountOf({ provider, person, active, name, id }: ChangedPerson, known: User, before: ScimPerson): Op<User> {
  const isRenamed = before.externalId !== person.externalId
  // Parts that the provider no longer has are gone. Those of a sign-in stay while the provider says nothing about the name.
  const isNewName = !isDeepStrictEqual(before.name, person.name)
  const profile = isNewName ? { given_name: undefined, family_name: undefined, ...profileOfName(person) } : {}
  const email = primaryEmail(person) ?? person.userName
  const isFree = !known.email_verified && EMAIL_ADDRESS.test(email)
  const follows = isFree && (isSameEmail(email, known.email) || !(yield* isEmailTaken(email, id)))
  const sub = provider.isSubject && provider.match === 'external_id' ? person.externalId : undefined
  return {
    ...known,
    name: name || known.name,
    ...profile,
    status: active ? 'active' : 'disabled',
    ...(follows ? { email } : {}),
    // With `email` a person stays linked to the subject of the first sign-in.
    ...(isRenamed && provider.match === 'external_id' ? { provider_sub: sub } : {}),
  }
}

/** A person of a provider, whose tokens end. */
interface EndedPerson {
  id: string
  provider: string
  now: number
  live_from: string
}

/** Deletes a person of a provider, with the account. */
export function* deleteScimUser({ id, provider, now, live_from }: EndedPerson): Op<ScimChange | undefined> {
  if (!(yield* exists`scim_users WHERE user_id = ${id} AND provider = ${provider}`)) return undefined
  yield* endAccess({ id, now, live_from })
  if ((yield* deleteUser({ id, force: true, now })) === undefined) return undefined
  return { id, events: [{ action: 'user_deleted', detail: { user_id: id, provider, force: true } }] }
}

/** Ends the sessions and tokens of people, who stay active. Returns what was done. */
export function* revokeScimSubject({ id, provider, now, live_from }: EndedPerson): Op<ScimChange> {
  const tokens_revoked = yield* signOutUser({ id, now })
  yield* endTokens({ id, now, live_from })
  return { id, events: [{ action: 'user_signed_out', detail: { user_id: id, provider, tokens_revoked } }] }
}
