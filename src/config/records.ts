// Records in the configuration file: resources, which the admin API can write too, and keys of the admin API.
import { z } from 'zod'
import {
  distinct,
  emailDomain,
  groupNames,
  listOf,
  name,
  nameList,
  resourceUri,
  scopeName,
  slug,
  text,
  word,
} from '../lib/field.ts'
import { ACCESS_MODES, ACCESS_TOKEN_TYPS, EVERYONE, TOKEN_CLAIMS } from '../records/resource.ts'

/** A language, optionally with script or region (RFC 5646 §2.1). */
const LANGUAGE_TAG = /^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/
const MAX_LANGUAGES = 50

const scopeEntry = z.strictObject({
  name: scopeName().min(1, 'must not be empty').describe('Name that clients request.'),
  description: text(1000).default('').describe('What users read on the consent page.'),
  descriptions: z
    .record(z.string().regex(LANGUAGE_TAG, 'must be a language tag such as de'), text(1000).min(1, 'must not be empty'))
    .refine((texts) => Object.keys(texts).length <= MAX_LANGUAGES, `must have at most ${MAX_LANGUAGES} languages`)
    .optional()
    .describe(
      'The description in further languages, by language tag: {"de": "Notizen lesen"}. Users whose language has no entry read `description`, which then counts as English.',
    ),
  upstream: text(1000).default('').describe('Scopes at the provider of a broker resource.'),
  groups: groupNames()
    .refine((names) => names.length > 0, 'must not be empty; leave it out for everyone who may use the resource')
    .meta({ minItems: 1 })
    .optional()
    .describe(
      'Only members of one of these groups get the scope. Without groups everyone who may use the resource gets it.',
    ),
})

const access = z.strictObject({
  mode: word(ACCESS_MODES).describe('Everyone who can sign in, or only the users on one of the lists.'),
  groups: groupNames().default([]).describe('Groups whose members may use it.'),
  users: nameList(name()).default([]).describe('Ids of users who may use it.'),
  email_domains: nameList(emailDomain()).default([]).describe('Domains of verified emails whose users may use it.'),
  second_factor: z
    .boolean()
    .optional()
    .describe('Whether users need a sign-in with two factors. It holds for existing tokens too.'),
})

const scopeEntries = z
  .array(scopeEntry, 'must be a list of scopes')
  .max(500)
  .refine((scopes) => new Set(scopes.map((each) => each.name)).size === scopes.length, 'must not name a scope twice')

const MAX_RETURN_URLS = 1000
const policy = z.strictObject({
  exchange: z
    .strictObject({ allowed_client_ids: distinct().default([]).describe('Clients that may exchange tokens for it.') })
    .optional(),
  runtime: z
    .strictObject({ client_ids: distinct().default([]).describe('Clients of its resource servers.') })
    .optional(),
  connect: z
    .strictObject({
      allowed_return_urls: listOf(text(2048), { max: MAX_RETURN_URLS })
        .default([])
        .describe('URLs to which the connect flow may return.'),
    })
    .optional(),
})

const MAX_TYPES = 20
const MAX_SCHEMA = 16 * 1024
const detailsTypes = listOf(
  z.strictObject({
    type: name(255),
    description: text(1000),
    schema: z
      .record(z.string(), z.unknown())
      .refine(
        (schema) => Buffer.byteLength(JSON.stringify(schema)) <= MAX_SCHEMA,
        `may have at most ${MAX_SCHEMA} bytes`,
      ),
    display: listOf(text(500), { max: 20 }).optional(),
  }),
  { max: MAX_TYPES },
).refine((types) => new Set(types.map(({ type }) => type)).size === types.length, 'must not name a type twice')

/** The fields of a resource in input. The admin API uses the same fields for PATCH. */
export const resourceFields = {
  slug: slug().describe('Its public name.'),
  uri: resourceUri().describe(
    'The audience of its tokens, exactly as the resource publishes it: any absolute URI without fragment. Metadata is served for http(s) URIs.',
  ),
  backend_kind: word(['mint', 'broker']).describe(
    'Whether tokens are issued here (`mint`) or obtained from an upstream provider (`broker`).',
  ),
  display_name: name().optional().describe('The name that users see; the slug by default.'),
  scopes: scopeEntries
    .default([])
    .describe('The scopes that clients may request. A scope with `groups` is only for the members of one of them.'),
  broker_provider_slug: slug().optional().describe('The provider of the tokens of a broker resource, by slug.'),
  broker_provider_id: text(256).optional().describe('The provider of the tokens of a broker resource, by id.'),
  access_token_typ: word(ACCESS_TOKEN_TYPS)
    .optional()
    .describe(
      'The typ of its access tokens: at+jwt (RFC 9068) by default, or JWT for resource servers that accept nothing else. With JWT a server cannot tell an access token from an ID token by its type, so it must check the audience.',
    ),
  policy: policy.optional().describe('The clients and actors that it trusts.'),
  access: access
    .optional()
    .describe(
      'Who may use it: `everyone` (the default), or with `restricted` the users on one of the lists `groups`, `users` (ids) and `email_domains` (of verified emails). With three empty lists no user may use it.',
    ),
  token_claims: nameList(word(TOKEN_CLAIMS))
    .optional()
    .describe('Claims about the user in its access tokens and introspection answers. None by default.'),
  authorization_details_types: detailsTypes
    .optional()
    .describe(
      'The types of `authorization_details` (RFC 9396) that requests may name. Each has a `type`, a `description`, a `schema` (JSON Schema 2020-12 of a whole element), and `display`: lines of text for people, with `{member}` for a value. None by default.',
    ),
} as const

/** A complete resource: a mint resource has a uri, a broker resource has a provider. */
export const resourceRecord = z
  .strictObject({
    ...resourceFields,
    uri: resourceFields.uri.optional(),
    access: resourceFields.access.default(EVERYONE),
    token_claims: resourceFields.token_claims.default([]),
    authorization_details_types: resourceFields.authorization_details_types.default([]),
  })
  .superRefine((resource, context) => {
    if (resource.backend_kind === 'mint' && !resource.uri)
      context.addIssue({ code: 'custom', path: ['uri'], message: 'is required for a mint resource' })
    const hasProvider = Boolean(resource.broker_provider_slug || resource.broker_provider_id)
    if (resource.backend_kind === 'mint' && hasProvider)
      context.addIssue({ code: 'custom', path: ['broker_provider_slug'], message: 'is only for broker resources' })
    if (resource.backend_kind === 'broker' && !hasProvider)
      context.addIssue({ code: 'custom', path: ['broker_provider_slug'], message: 'is required for a broker resource' })
  })
export type ResourceRecord = z.output<typeof resourceRecord>

/** An additional key of the admin API. */
export const apiKeyRecord = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][\w.@-]{0,63}$/, 'must be 1 to 64 letters, digits, ., _, @ and -'),
  sha256: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, 'must be the SHA-256 of the key: 64 hex characters')
    .refine((hex) => hex.toLowerCase() !== SHA256_OF_NOTHING, 'must not be that of an empty key'),
  capability: word(['read', 'write']),
})
const SHA256_OF_NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
