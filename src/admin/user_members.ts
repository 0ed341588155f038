// The members of a user in bodies of the admin API.
import { z } from 'zod'
import { groupNames, text, word } from '../lib/field.ts'
import { MIN_PASSWORD, newPassword } from '../oauth/new_password.ts'

/** An email address. */
export const email = text(254).regex(/^[^\s@]+@[^\s@]+$/, 'must be an email address')
/** The role of a user. */
export const role = word(['admin', 'user'])

const GROUPS =
  'Names of the groups of the user; they replace those that operators set before. Groups from the upstream provider are kept.'
export const EMAIL_VERIFIED =
  'Whether the email is known to belong to the user. Rules for email domains count verified emails only.'

/** The members of a new user. */
export const newUser = z.object({
  email: email.describe('Email for sign-in. Unique, case is ignored.'),
  password: newPassword.describe(`At least ${MIN_PASSWORD} characters; stored only as a hash.`),
  name: text(255).default('').describe('Display name.'),
  role: role.default('user').describe('A label for operators. It gives no rights: the admin API has keys of its own.'),
  groups: groupNames().default([]).describe(GROUPS),
  email_verified: z.boolean().default(true).describe(EMAIL_VERIFIED),
})
/** The new subject of a user of an upstream provider. */
export const oidcSubject = text(255)
  .min(1, 'must not be empty')
  .describe(
    'New subject of the user at the upstream provider, after the account there was created again. The issuer stays.',
  )

/** The members that a change may have. */
export const userChange = z
  .object({
    email: email.describe('New email.'),
    name: text(255).describe('New display name.'),
    password: newPassword.describe('New password. It ends the sessions of the user.'),
    role: role.describe('New role. A label for operators, which gives no rights.'),
    groups: groupNames().describe(GROUPS),
    email_verified: z.boolean().describe(EMAIL_VERIFIED),
    oidc_subject: oidcSubject,
    provider_sub: oidcSubject.describe('The same as oidc_subject, under the name that answers have.'),
  })
  .partial()
  .refine(({ oidc_subject: a, provider_sub: b }) => a === undefined || b === undefined || a === b, {
    path: ['oidc_subject'],
    message: 'and provider_sub are the same member',
  })
