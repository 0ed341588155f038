// The account of a person who signs in at an upstream provider: found by issuer and subject, or by what SCIM says of the person.
import { isDeepStrictEqual } from 'node:util'
import type { ScimMatch } from '../../records/scim.ts'
import { PROFILE_MEMBERS, profileOf, type User } from '../../records/user.ts'
import { change, forUpdate, type Op, orNull, part, type Sql, str, where } from '../op.ts'
import { scimGroupsAtSignIn } from './scim_providers.ts'
import { findFederated, hasEmail, isEmailTaken, isSameEmail, USERS } from './user_rows.ts'
import { createUser, signOutUser, updateUser } from './users.ts'

/**
 * The account of a user who has just signed in at an upstream provider. An account with that issuer and subject is updated with the email,
 * name and groups from the provider. Without such an account, the new account `user` is added. An account is never chosen only because it
 * has the same email. If another account has the email, a first sign-in is refused (`email_taken`), and a known account loses its email,
 * because the provider no longer vouches for the previous one. But a verified email is taken from an account at a provider that did not
 * verify it (`displaced`). A disabled account is returned unchanged. `email_before` is set when the email has changed.
 */
export function* saveFederatedUser(arrived: Arrival): Op<FederatedUser | 'email_taken'> {
  const saved = yield* saveArrival(arrived)
  const { user, scim } = arrived
  if (saved !== 'email_taken' && scim?.claim)
    yield* change`UPDATE users SET provider_claim = ${scim.claim}
      WHERE provider_issuer = ${orNull(user.provider_issuer)} AND provider_sub = ${orNull(user.provider_sub)}
      AND (provider_claim IS NULL OR provider_claim <> ${scim.claim})`
  return saved
}

interface Arrival {
  user: User
  scim?: ScimSignIn
}

function* saveArrival({ user: arrived, scim }: Arrival): Op<FederatedUser | 'email_taken'> {
  let known = (scim && (yield* linkPerson(arrived, scim))) ?? (yield* findFederated(arrived))
  if (known && known.status !== 'active') return { user: known, created: false }
  const groups = scim && (yield* scimGroupsAtSignIn(scim.provider, known?.id ?? arrived.id))
  const user = groups ? { ...arrived, provider_groups: groups } : arrived
  const displaced = yield* takeUnverifiedEmail(user)
  if (!known) {
    if ((yield* createUser(user)) === 'created') return { user, created: true, ...displaced }
    // Another account has the email, or the same person signed in twice at the same time.
    known = yield* findFederated(user)
    if (!known) return 'email_taken'
  }
  if (known.status !== 'active') return { user: known, created: false }
  const taken = !isSameEmail(known.email, user.email) && (yield* isEmailTaken(user.email, known.id))
  const next: User = {
    ...known,
    email: taken ? undefined : user.email,
    email_verified: !taken && user.email_verified,
    name: user.name || known.name,
    ...profileOf(user),
    provider_groups: user.provider_groups,
  }
  if (isDeepStrictEqual(next, known)) return { user: known, created: false, ...displaced }
  next.updated_at = user.updated_at
  yield* updateUser({ user: next, signOut: false, now: user.updated_at })
  const fields = (['name', ...PROFILE_MEMBERS, 'email_verified', 'provider_groups'] as const).filter(
    (field) => !isDeepStrictEqual(next[field], known[field]),
  )
  return {
    user: next,
    created: false,
    ...(next.email === known.email ? {} : { email_before: known.email ?? '' }),
    ...(fields.length > 0 ? { changed: { fields, groups_before: known.provider_groups } } : {}),
    ...displaced,
  }
}

/** How SCIM finds the person of a sign-in. */
export interface ScimSignIn {
  provider: string
  match: ScimMatch
  /** The value that externalId is compared with, if it is not the subject. */
  claim?: string
}

/**
 * Links a person of SCIM who signs in for the first time to the subject, and returns the account. A person who is linked to
 * another subject is returned only when the account is not active: then the person gets no other account. An account that the subject had
 * before, without SCIM, loses the subject and ends.
 */
function* linkPerson(user: User, { provider, match, claim }: ScimSignIn): Op<User | undefined> {
  const { provider_issuer, provider_sub, updated_at: now } = user
  const account = yield* findPersonOf(user, provider, match, claim)
  if (!account) return undefined
  if (account.provider_sub === provider_sub || account.status !== 'active') return account
  if (account.provider_sub !== undefined) return undefined
  const before = yield* findFederated(user)
  if (before) {
    yield* change`UPDATE users SET provider_sub = NULL, version = version + 1 WHERE id = ${before.id}`
    yield* signOutUser({ id: before.id, now })
  }
  yield* change`UPDATE users
    SET provider_issuer = ${orNull(provider_issuer)}, provider_sub = ${orNull(provider_sub)}, version = version + 1
    WHERE id = ${account.id}`
  return yield* findFederated(user)
}

/** The account whose SCIM record fits a sign-in. */
function* findPersonOf(
  { provider_sub, email, email_verified }: User,
  provider: string,
  match: ScimMatch,
  claim: string | undefined,
): Op<User | undefined> {
  const by = (condition: Sql) =>
    USERS.lock`WHERE id IN (SELECT s.user_id FROM scim_users s WHERE s.provider = ${provider} AND ${condition})`
  if (match === 'external_id') return yield* by(part`s.external_id = ${claim ?? str(provider_sub)}`)
  if (!email_verified || email === undefined) return undefined
  const key = email.toLowerCase()
  const emails = part`SELECT e.user_id FROM scim_emails e WHERE e.email_key = ${key} AND e.is_primary = 1`
  return (yield* by(part`s.user_name_key = ${key}`)) ?? (yield* by(part`s.user_id IN (${emails})`))
}

/** Takes a verified email from another account whose provider did not verify it: everyone can write an address into such an account, and its owner could not sign in. */
function* takeUnverifiedEmail(user: User): Op<Pick<FederatedUser, 'displaced'>> {
  if (!user.email_verified || user.email === undefined) return {}
  const holder = yield* forUpdate`SELECT id, email FROM users ${where(hasEmail(user.email))}
    AND provider = 'oidc' AND email_verified = 0 AND (provider_issuer <> ${orNull(user.provider_issuer)}
      OR provider_sub IS NULL OR provider_sub <> ${orNull(user.provider_sub)})`
  if (!holder) return {}
  yield* change`UPDATE users SET email = NULL, email_key = NULL, updated_at = ${user.updated_at}, version = version + 1
    WHERE id = ${str(holder.id)}`
  return { displaced: { user_id: str(holder.id), email: str(holder.email) } }
}

export interface FederatedUser {
  user: User
  created: boolean
  /** Empty when there was no email. */
  email_before?: string
  /** The other members that the sign-in changed. */
  changed?: { fields: string[]; groups_before: readonly string[] }
  /** The account that lost the email, because its provider had not verified it. */
  displaced?: { user_id: string; email: string }
}
