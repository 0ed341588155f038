// The members of a user in bodies of the admin API.

import { z } from 'zod'
import { EMAIL_ADDRESS } from '../../lib/email.ts'
import { groupNames, text, word } from '../../lib/field.ts'
import { MIN_PASSWORD, newPassword } from '../../oauth/sign_in/new_password.ts'

/** An email address. */
export const email = text(254).regex(EMAIL_ADDRESS, 'must be an email address')
/** The role of a user. */
export const role = word(['admin', 'user'])

const GROUPS =
  'Names of the groups of the user; they replace those that operators set before. Groups from the upstream provider are kept.'
export const EMAIL_VERIFIED =
  'Whether the email is known to belong to the user. Rules for email domains count verified emails only.'

const profileMember = (what: string) => text(255).describe(`${what} Empty: none.`)
/** The members of a user that applications get with the scope profile. */
export const profileMembers = {
  given_name: profileMember('Given name.'),
  family_name: profileMember('Family name.'),
  preferred_username: profileMember('Name by which the user wants to be called in applications.'),
  locale: profileMember('Language of the user, for example en-GB.'),
}

/** The members of a new user. */
export const newUser = z.object({
  email: email.describe('Email for sign-in. Unique, case is ignored.'),
  password: newPassword.describe(`At least ${MIN_PASSWORD} characters; stored only as a hash.`),
  name: text(255).default('').describe('Display name.'),
  ...z.object(profileMembers).partial().shape,
  role: role
    .default('user')
    .describe('A label, which `mfa.required` reads. It gives no rights, unless `admin.sign_in.local` is on.'),
  groups: groupNames().default([]).describe(GROUPS),
  email_verified: z.boolean().default(true).describe(EMAIL_VERIFIED),
})
/** The new subject of a user of an upstream provider. */
export const oidcSubject = text(255)
  .min(1, 'must not be empty')
  .describe(
    'New subject of the user at the upstream provider, after the account there was created again. The issuer stays. It ends the sessions of the user, and needs the capability admin.',
  )

/** The members that a change may have. */
export const userChange = z
  .object({
    email: email.describe('New email.'),
    name: text(255).describe('New display name.'),
    ...profileMembers,
    password: newPassword.describe('New password. It ends the sessions of the user.'),
    role: role.describe('New role. It gives no rights, unless `admin.sign_in.local` is on.'),
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
