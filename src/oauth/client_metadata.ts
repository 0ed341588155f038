// The fields of a client as they are written (RFC 7591 §2), declared once for registration, documents and the admin API.
import { z } from 'zod'
import { listProblems, quoteNames } from '../lib/bounded.ts'
import { OAuthError } from '../lib/error.ts'
import { bool, issuesOf, listOf, name, scope, text, word } from '../lib/field.ts'
import { digest, newId, newSecret } from '../lib/id.ts'
import { isLoopbackHost, parseHttpUrl } from '../lib/url.ts'
import type { Client } from '../records/client.ts'

export const SECRET_METHODS = ['client_secret_basic', 'client_secret_post'] as const
export const AUTH_METHODS = ['none', ...SECRET_METHODS] as const
const MAX_REDIRECT_URIS = 10

/** What a response adds to the query: there must be one of each. */
const RESPONSE_PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description']

/** https anywhere, http on this machine only (RFC 8252 §7.3); no fragment, no user (RFC 6749 §3.1.2). */
const isRedirectUri = (uri: string): boolean => {
  const url = parseHttpUrl(uri)
  return (
    url !== undefined &&
    (url.protocol === 'https:' || isLoopbackHost(url.hostname)) &&
    !uri.includes('#') &&
    url.username === '' &&
    url.password === '' &&
    !RESPONSE_PARAMETERS.some((name) => url.searchParams.has(name))
  )
}
const redirectUri = text(2048).refine(
  isRedirectUri,
  'must be an https URL (or http on localhost, 127.0.0.1, [::1]) without fragment, user, or a parameter of the response',
)
const MAX_TYPES = 20
const grantTypes = listOf(text(255), { max: MAX_TYPES, filled: true })

/** The fields that any writer of a client may set. */
export const clientFields = {
  client_name: name(255).describe('What users see.'),
  redirect_uris: listOf(redirectUri, { max: MAX_REDIRECT_URIS }).describe(
    'Where users are sent back to; matched exactly.',
  ),
  grant_types: grantTypes
    .transform((types) => [...new Set(types)])
    .describe('What it may ask the token endpoint for; authorization_code by default.'),
  response_types: listOf(word(['code']), { max: 1 }).describe('Only code exists.'),
  token_endpoint_auth_method: word(AUTH_METHODS).describe('How it authenticates; a public client does not.'),
  application_type: word(['web', 'native']).describe('A native client runs on the machine of its user.'),
  scope: scope().describe('Names of the scopes it may ask for, separated by spaces.'),
  agent: bool().describe('Its tokens carry agent claims.'),
  agent_description: text(255).describe('What the agent does.'),
  dpop_bound_access_tokens: bool().describe('It always sends DPoP proofs.'),
} as const

/** A whole registration with its defaults. Unknown members are ignored (RFC 7591 §2). */
export const clientRecord = z
  .object({
    ...clientFields,
    redirect_uris: clientFields.redirect_uris.prefault([]),
    grant_types: clientFields.grant_types.default(['authorization_code']),
    response_types: clientFields.response_types.prefault(['code']),
    token_endpoint_auth_method: clientFields.token_endpoint_auth_method.default('none'),
    application_type: clientFields.application_type.default('web'),
    scope: clientFields.scope.default(''),
    agent: clientFields.agent.default(false),
    agent_description: clientFields.agent_description.default(''),
    dpop_bound_access_tokens: clientFields.dpop_bound_access_tokens.default(false),
  })
  .transform(({ agent, ...rest }) => ({ ...rest, is_agent: agent }))
export type ClientMetadata = z.output<typeof clientRecord>

/** Reads a registration. Throws invalid_client_metadata or invalid_redirect_uri that names every problem. */
export function parseClientMetadata(input: unknown, offered: readonly string[]): ClientMetadata {
  const result = clientRecord.safeParse(input)
  if (!result.success) throw refuse(issuesOf(result.error))
  checkClient(result.data, offered)
  return result.data
}

type Shape = Pick<Client, 'grant_types' | 'redirect_uris' | 'token_endpoint_auth_method'>

/** What must hold between the fields of a client; `offered` are the grant types of this server. Throws invalid_client_metadata. */
export function checkClient(client: Shape, offered: readonly string[]): void {
  const unknown = client.grant_types.filter((type) => !offered.includes(type))
  if (unknown.length > 0)
    throw refuse([{ path: 'grant_types', message: `are not offered by this server: ${quoteNames(unknown, ', ')}` }])
  const needsRedirect = client.grant_types.includes('authorization_code')
  if (needsRedirect && client.redirect_uris.length === 0)
    throw refuse([{ path: 'redirect_uris', message: 'is required for authorization_code' }])
  if (client.token_endpoint_auth_method === 'none' && client.grant_types.includes('client_credentials'))
    throw refuse([
      { path: 'token_endpoint_auth_method', message: 'none cannot be used with the client_credentials grant' },
    ])
}

function refuse(problems: { path: string; message: string }[]): OAuthError {
  const code = problems.every(({ path }) => path.startsWith('redirect_uris['))
    ? 'invalid_redirect_uri'
    : 'invalid_client_metadata'
  return new OAuthError(code, listProblems(problems.map(({ path, message }) => `${path} ${message}`)))
}

export interface ClientRegistration {
  client: Client
  /** Shown once, stored as a hash. Public clients have none. */
  client_secret?: string
}

/** Makes the record of a new client. A chosen `client_id` is for admins. */
export function newClient(
  metadata: ClientMetadata,
  source: Client['registration_source'],
  now: number,
  client_id = `c_${newId()}`,
): ClientRegistration {
  const client_secret = metadata.token_endpoint_auth_method === 'none' ? undefined : newClientSecret()
  return {
    client_secret,
    client: {
      ...metadata,
      client_id,
      secret_hash: client_secret && digest(client_secret),
      status: 'active',
      registration_source: source,
      version: 1,
      issued_at: now,
      updated_at: now,
    },
  }
}

/** A client secret: 256 random bits. */
export const newClientSecret = (): string => newSecret('cs_')

const USER_PREFIX = 'u_'
/** Ids of users and of clients must never be taken for each other: both can be the `sub` of a token (RFC 9068 §5). */
export const newUserId = (): string => `${USER_PREFIX}${newId()}`
/** True for ids that only users have. */
export const isUserId = (id: string): boolean => id.startsWith(USER_PREFIX)

/** The client as API answers show it: without its secret, times as numbers. */
export const shownClient = (client: Client) => ({
  client_name: client.client_name,
  redirect_uris: client.redirect_uris,
  grant_types: client.grant_types,
  response_types: client.response_types,
  token_endpoint_auth_method: client.token_endpoint_auth_method,
  application_type: client.application_type,
  scope: client.scope,
  ...(client.dpop_bound_access_tokens ? { dpop_bound_access_tokens: true } : {}),
})
