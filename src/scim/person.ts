// A person in the form of SCIM (RFC 7643 §4.1): what is accepted, and what is shown.
import { z } from 'zod'
import type { App } from '../context.ts'
import { issuesOf, text } from '../lib/field.ts'
import { isObject } from '../lib/json.ts'
import { rfc3339 } from '../lib/time.ts'
import { PATHS } from '../oauth/metadata.ts'
import type { ScimPerson, ScimUser } from '../records/scim.ts'
import { refusal, URNS } from './message.ts'

/** The attributes of a person that are kept, while they are changed. Other attributes are ignored. */
export type PersonDraft = Record<string, unknown>

const NAMES = ['userName', 'externalId', 'displayName', 'name', 'emails', 'active', 'id', 'meta', 'groups', 'schemas']
export const NAME_PARTS = ['formatted', 'familyName', 'givenName', 'middleName', 'honorificPrefix', 'honorificSuffix']
export const EMAIL_PARTS = ['value', 'type', 'display', 'primary']
const MAX_EMAILS = 20

/** The members of an object under the names that the schema has; names are accepted in any case. Null stands for absent (RFC 7643 §2.5). */
export function canonical(given: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(given)) {
    const name = names.find((each) => each.toLowerCase() === key.toLowerCase())
    if (name !== undefined && value !== null) found[name] = value
  }
  return found
}

/** Strips the URN of the core schema from names: Entra ID writes it before some. */
const bare = (given: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name.replace(/^urn:ietf:params:scim:schemas:core:2\.0:user:/i, ''),
      value,
    ]),
  )

/** The attributes of a body that are known. */
export const personMembers = (given: Readonly<Record<string, unknown>>): PersonDraft => canonical(bare(given), NAMES)

/** A boolean, or its text as Entra ID sends it. */
export const scimBool = z.preprocess((value) => {
  const lower = typeof value === 'string' ? value.toLowerCase() : value
  return lower === 'true' ? true : lower === 'false' ? false : value
}, z.boolean('must be true or false'))

const object = (names: readonly string[]) => (value: unknown) => (isObject(value) ? canonical(value, names) : value)
const short = text(255).optional()
const name = z.preprocess(
  object(NAME_PARTS),
  z.strictObject(Object.fromEntries(NAME_PARTS.map((part) => [part, short])), 'must be an object of texts'),
)
const email = z.preprocess(
  object(EMAIL_PARTS),
  z.strictObject({
    value: text(254).min(1, 'must not be empty'),
    type: text(64).optional(),
    display: short,
    primary: scimBool.optional(),
  }),
)
const person = z.object({
  userName: text(254).refine((value) => value.trim() !== '', 'must not be empty'),
  externalId: short,
  displayName: short,
  name: name.optional(),
  emails: z.array(email, 'must be a list').max(MAX_EMAILS, `must have at most ${MAX_EMAILS} items`).optional(),
  active: scimBool.optional(),
})

/** Attributes that a schema describes. Throws invalidValue that names every problem. */
export function readAs<T>(schema: z.ZodType<T>, draft: unknown): T {
  const { success, data, error } = schema.safeParse(draft)
  if (success) return data
  const problems = issuesOf(error).map(({ path, message }) => `${path} ${message}`)
  throw refusal('invalidValue', problems.join('; '))
}

/** A complete person from its attributes. Throws invalidValue. `active` is absent when it was not sent. */
export function readPerson(draft: PersonDraft): ScimPerson & { active?: boolean } {
  const { emails = [], name, externalId, displayName, ...rest } = readAs(person, draft)
  // At most one is the primary one (RFC 7643 §2.4): the last one that is marked.
  const last = emails.findLastIndex(({ primary }) => primary)
  const kept = emails.map((each, i) => tidy({ ...each, primary: each.primary === undefined ? undefined : i === last }))
  const parts = name && tidy(name)
  return {
    ...rest,
    ...(externalId ? { externalId } : {}),
    ...(displayName ? { displayName } : {}),
    ...(parts && Object.keys(parts).length > 0 ? { name: parts as Record<string, string> } : {}),
    ...(kept.length > 0 ? { emails: kept } : {}),
  }
}

const tidy = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as T

/** The name that the account has. */
export const accountNameOf = ({ displayName, name = {} }: ScimPerson): string =>
  displayName ?? name['formatted'] ?? [name['givenName'], name['familyName']].filter(Boolean).join(' ')

/** The URL of a resource of SCIM. */
export const scimUrl = ({ config }: Pick<App, 'config'>, path: string): string =>
  config.server.issuer + PATHS.scim + path

/** A person as it is shown. */
export const personJson = (app: App, user: ScimUser) => ({
  schemas: [URNS.user],
  id: user.id,
  externalId: user.externalId,
  userName: user.userName,
  name: user.name,
  displayName: user.displayName,
  emails: user.emails,
  active: user.active,
  groups: user.groups.map(({ id, displayName }) => ({
    value: id,
    $ref: scimUrl(app, `/Groups/${id}`),
    display: displayName,
    type: 'direct',
  })),
  meta: {
    resourceType: 'User',
    created: rfc3339(user.created_at),
    lastModified: rfc3339(user.updated_at),
    location: scimUrl(app, `/Users/${user.id}`),
  },
})
