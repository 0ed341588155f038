// The import of users with the password hashes of another system.
import { z } from 'zod'
import { HASH_FORM, hashProblem } from '../../crypto/password_hash.ts'
import { comparableEmail } from '../../lib/email.ts'
import { bool, groupNames, jsonBool, listOf, text, word } from '../../lib/field.ts'
import { newLocalUser } from '../../oauth/sign_in/local_user.ts'
import { notePasswordKinds } from '../../oauth/sign_in/password_kinds.ts'
import type { User } from '../../records/user.ts'
import { EXISTING, MAX_IMPORTED } from '../../records/user_batches.ts'
import { notStale } from '../../store/stale.ts'
import { action } from '../action.ts'
import * as answers from '../answers/people.ts'
import { conflict } from '../outcome.ts'
import { checkAdminUsers } from '../rights.ts'
import { EMAIL_VERIFIED, email, profileMembers, role } from './user_members.ts'

const MAX_HASH = 255

/** A user of an import. */
export const importable = z.strictObject({
  email: email.describe('Email for sign-in. Unique, case is ignored.'),
  name: text(255).default('').describe('Display name.'),
  ...z.object(profileMembers).partial().shape,
  password_hash: z
    .string()
    .max(MAX_HASH, { abort: true })
    .meta({ pattern: HASH_FORM })
    .superRefine((hash, context) => {
      const problem = hashProblem(hash)
      if (problem) context.addIssue(problem)
    })
    .optional()
    .describe(
      'Hash of the password: argon2id in PHC form, or bcrypt. Without it the user cannot sign in with a password.',
    ),
  role: role.default('user').describe('A label. It gives no rights, unless `admin.sign_in.local` is on.'),
  status: word(['active', 'disabled']).default('active').describe('A disabled user cannot sign in.'),
  groups: groupNames().default([]).describe('Names of the groups of the user.'),
  email_verified: jsonBool().default(true).describe(EMAIL_VERIFIED),
})

const importedUsers = listOf(importable, { max: MAX_IMPORTED, filled: true }).superRefine((users, context) => {
  const places = new Map<string, number>()
  for (const [i, { email }] of users.entries()) {
    const address = comparableEmail(email)
    const first = places.get(address)
    if (first !== undefined)
      context.addIssue({ code: 'custom', path: [i, 'email'], message: `is that of users[${first}]` })
    else places.set(address, i)
  }
})

const hashesOf = (users: readonly User[]) => users.flatMap(({ password_hash }) => password_hash ?? [])

export const userImport = action('POST /admin/users/import', {
  doc: `Creates up to ${MAX_IMPORTED} users with the password hashes of another system: all of them or, when one is refused, none.`,
  answer: answers.imported,
  status: 201,
  dryRun: true,
  query: z.strictObject({ dry_run: bool().prefault(false).describe('Only check the input, and create nothing.') }),
  body: z.strictObject({
    users: importedUsers.describe('The users.'),
    existing: word(EXISTING)
      .default('refuse')
      .describe('What to do with an email that a user has already: refuse the request, or skip the new user.'),
  }),
  items: 'users',
  audit: 'users_imported',
  // The command reads a file and sends it in batches (cli/import_users.ts).
  cli: { byHand: true },
  async run(app, { query: { dry_run }, body: { users, existing } }, by) {
    const { store, clock } = app
    const now = clock.now()
    const imported = users.map((user) => newLocalUser(user, now))
    checkAdminUsers(app, by, ...imported)
    if (!dry_run) await notePasswordKinds({ store, clock }, hashesOf(imported))
    const batch = { users: imported, skip: existing === 'skip', dry_run }
    const { created, taken } = dry_run
      ? notStale(await store.importUsers(batch))
      : await by.record('importUsers', batch, { detail: {} })
    if (existing === 'refuse' && taken.length > 0) throw emailsTaken(taken)
    const shown = { created, skipped: taken.length }
    return dry_run ? { shown, dry: true } : { shown }
  },
})

const emailsTaken = (indexes: readonly number[]) =>
  conflict(`${indexes.length} of the users have an email that another user has already`, 'email_taken', {
    errors: indexes.map((index) => ({ index, message: 'a user with this email exists already' })),
  })
