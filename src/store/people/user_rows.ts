// Rows of users.

import { domainToUnicode } from 'node:url'
import { asciiDomain, comparableEmail, domainOf } from '../../lib/email.ts'
import { groupsOf, type Profile, profileOf, type User } from '../../records/user.ts'
import {
  type Condition,
  change,
  exists,
  insertRows,
  maybeDecoded,
  type Op,
  orNull,
  partsOf,
  valuesOf,
  where,
} from '../op.ts'
import { column, recordTable } from '../table.ts'

const groups = {
  read: (value: unknown): string[] => maybeDecoded(value) ?? [],
  write: (names: readonly string[]) => (names.length === 0 ? null : JSON.stringify(names)),
}

function profileText(user: User): string | null {
  const text = JSON.stringify(profileOf(user))
  return text === '{}' ? null : text
}

export const USERS = recordTable<User, keyof Profile>(
  'users',
  'id',
  {
    id: column.text(),
    email: column.maybeText(),
    email_verified: column.bool,
    name: column.text(),
    password_hash: column.maybeText(),
    role: column.text(),
    status: column.text(),
    provider: column.fixed(column.text()),
    provider_issuer: column.fixed(column.maybeText()),
    provider_sub: column.maybeText(),
    operator_groups: groups,
    provider_groups: groups,
    version: column.int,
    created_at: column.fixed(column.int),
    updated_at: column.int,
  },
  {
    profile: { read: maybeDecoded<Profile>, write: profileText },
    // The key of a new row.
    email_key: { write: ({ email }) => (email === undefined ? null : emailKeys(email)[0]) },
  },
)

/** The columns of users `u` in a join. */
export const USER_COLUMNS = USERS.as('u').columns

/**
 * The keys that rows may have for an email: first that of new rows, in which an internationalised domain has its letters, so that searches
 * find them. Earlier versions wrote the email as it was given, in lower case: with letters, or with A-labels. Emails share a key only if
 * comparableEmail() makes them equal.
 */
export function emailKeys(email: string): readonly [key: string, withALabels: string, asGiven: string] {
  const compared = comparableEmail(email)
  const domain = domainOf(compared)
  const letters = withLetters(domain)
  const key = asciiDomain(letters) === domain ? letters : domain
  return [compared.slice(0, compared.length - domain.length) + key, compared, email.toLowerCase()]
}

/** A text whose A-labels are written with letters. */
export const withLetters = (text: string): string =>
  text
    .split(/([.@])/)
    .map(labelWithLetters)
    .join('')

/** Many texts decode to the same letters; the A-label is the one to which they encode (RFC 5891 §5.4). */
function labelWithLetters(label: string): string {
  if (!/^xn--/i.test(label)) return label
  const letters = domainToUnicode(label)
  return asciiDomain(letters) === label.toLowerCase() ? letters : label
}

/** Whether two emails are the same address. */
export const isSameEmail = (a: string | undefined, b: string | undefined): boolean =>
  a === undefined || b === undefined ? a === b : comparableEmail(a) === comparableEmail(b)

/** The condition that a row has an email. */
export const hasEmail = (email: string): Condition => ['email_key IN (?, ?, ?)', ...emailKeys(email)]

/** Whether another user than `id` has an email. */
export function* isEmailTaken(email: string | undefined, id = ''): Op<boolean> {
  if (email === undefined) return false
  return yield* exists`users ${where(hasEmail(email), ['id <> ?', id])}`
}

/** Writes the provider groups of users. */
export function* writeProviderGroups(users: readonly User[], now: number): Op<void> {
  for (const some of partsOf(users, 2)) {
    const rows = valuesOf(some.map(({ id, provider_groups }) => [id, groups.write(provider_groups)]))
    yield* change`UPDATE users SET provider_groups = n.column2, version = version + 1,
      updated_at = (SELECT CAST(${now} AS BIGINT)) FROM (${rows}) AS n WHERE users.id = n.column1`
  }
}

/** Adds users whose email, and whose subject at their provider, is not taken. Returns their number. */
export const insertUsers = (users: readonly User[]) => USERS.insert(users, 'ON CONFLICT DO NOTHING')

/** Ends every session of a person at the admin page. Returns their number. */
export function* endAdminSessions(user_id: string): Op<number> {
  return yield* change`DELETE FROM admin_sessions WHERE user_id = ${user_id}`
}

/** Deletes the unused password link of a user: it was made for the password, or for the account, as it was before. */
export const deletePasswordLinks = (user_id: string) => change`DELETE FROM password_links WHERE user_id = ${user_id}`

/** The account with a subject at a provider. The row is locked, so that the groups of this sign-in are written even when an operator changes the user at the same time. */
export const findFederated = ({ provider_issuer, provider_sub }: User) =>
  USERS.lock`WHERE provider_issuer = ${orNull(provider_issuer)} AND provider_sub = ${orNull(provider_sub)}`

/** The names of the groups of users are also rows, by which groups and their users are listed. Deletes those of a user. */
export function* deleteGroups(user_id: string): Op<void> {
  yield* change`DELETE FROM user_groups WHERE user_id = ${user_id}`
}

/** Adds the rows of users that have none. */
export function* addGroups(users: readonly User[]): Op<void> {
  const rows = users.flatMap((user) => groupsOf(user).map((name) => [user.id, name, user.created_at]))
  yield* insertRows('user_groups (user_id, name, created_at)', rows)
}
