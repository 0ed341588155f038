// The answers of operations on groups, lockouts, password links and sign-ins, on deleted records, and on many users or resources at once.
import { z } from 'zod'
import { user } from './answers.ts'
import { own } from './own_words.ts'

const texts = z.array(z.string())
const count = z.int().min(0)

export const imported = z.strictObject({
  created: count.describe('Number of users that were created, or that would be.'),
  skipped: count.describe('Number of users that were skipped, because another user has their email.'),
})

export const accessOfUser = z.strictObject({
  slug: z.string(),
  display_name: z.string(),
  allowed: z.boolean().describe('Whether the user may use the resource.'),
  admitted_by: z
    .enum(['everyone', 'groups', 'users', 'email_domains'])
    .optional()
    .describe('The rule of `access` that admits the user.'),
  refused_by: z
    .enum(['user_inactive', 'access', 'second_factor', 'scope_groups'])
    .optional()
    .describe('The rule that refuses the user.'),
  groups: texts.describe('Groups of the user that `access` names.'),
  scopes: texts.describe('Scopes that the user may get.'),
  missing_scopes: z
    .array(z.strictObject({ name: z.string(), groups: texts }))
    .describe('Scopes that the user does not get, and the groups that would give them.'),
})

export const group = z.strictObject({
  name: z.string(),
  users: count.describe('Number of users in the group. Counting stops at 1000.'),
  more_users: z.literal(true).optional().describe('The group has more than 1000 users. Absent when `users` is exact.'),
  resources: texts.describe('Slugs of the resources whose access or scopes name the group.'),
})

export const lockout = z.strictObject({
  id: z.string(),
  address: z
    .string()
    .optional()
    .describe('Address that is locked out. For IPv6 it is the /64 prefix. Absent for an account.'),
  user_id: z.string().optional().describe('User of the account whose logins wait. Absent for an address.'),
  email: z.string().optional().describe('Email of the user.'),
  failures: count.describe('Number of failed logins since `since`.'),
  since: z.iso.datetime(),
  locked_at: z.iso.datetime(),
  locked_until: z.iso.datetime().describe('Time at which the lockout ends.'),
})

export const deletedRecord = z.strictObject({
  kind: z.enum(['client', 'resource']),
  name: z.string().describe('The client_id, or the id of the resource.'),
  label: z.string().describe('Name of the client, or slug of the resource.'),
  deleted_at: z.iso.datetime(),
  deleted_by: z.string(),
  lost: texts.describe('What a restore does not bring back, besides consents, sign-ins and tokens.'),
  restorable_until: z.iso.datetime().describe('Until then it can be restored.'),
})

export const userSession = z.strictObject({
  id: z.string(),
  browser: z.string().optional().describe('Browser that the User-Agent header of the sign-in names.'),
  system: z.string().optional().describe('Operating system or device that the header names.'),
  address: z.string().optional().describe('Address that the sign-in came from.'),
  user_agent: z.string().optional().describe('The header itself. The browser chose its text.'),
  provider_issuer: z
    .string()
    .optional()
    .describe('Issuer of the upstream provider at which the user signed in. Absent after a sign-in with a password.'),
  created_at: z.iso.datetime(),
  last_used_at: z.iso.datetime().optional().describe('Time of the last use, at most five minutes late.'),
  expires_at: z.iso.datetime(),
})

export const passwordLinkAnswer = z.strictObject({
  url: z.url().describe('The link. It is shown only here: give it to the user over a private channel.'),
  expires_at: z.iso.datetime(),
})

/** A user with the second factors. */
export const userInFull = user.extend({
  factors: z
    .array(
      z.strictObject({
        id: own(),
        kind: z.enum(['totp', 'passkey']),
        name: z.string(),
        created_at: z.iso.datetime(),
        last_used_at: z.iso.datetime().optional(),
      }),
    )
    .describe('Second factors of a local user.'),
  recovery_codes_left: count,
})
export const factorsReset = z.strictObject({ user_id: z.string(), factors_removed: count })
