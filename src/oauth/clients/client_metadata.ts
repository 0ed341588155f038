// The fields of a client (RFC 7591 §2), declared once for registration, documents and the admin API. Here they are read strictly, as the
// admin API does; self_description.ts reads what a client says about itself.
import { z } from 'zod'
import type { Config } from '../../config/schema.ts'
import { listProblems, quoteNames } from '../../lib/bounded.ts'
import { OAuthError } from '../../lib/error.ts'
import { issuesOf, jsonBool, listOf, name, scope, text, word } from '../../lib/field.ts'
import { newId } from '../../lib/id.ts'
import { isHttpUrl } from '../../lib/url.ts'
import { AUTH_METHODS, type AuthMethod, type Client } from '../../records/client.ts'
import { ID_TOKEN_ALGS, rareMembersOf } from '../../records/rare_members.ts'
import { CIBA_GRANT } from '../sign_in/approval.ts'
import { keyFields, keysFault } from './client_keys.ts'
import { newClientSecret, secretRecord } from './client_secret.ts'
import { redirectFault, redirectUri } from './redirect_uri.ts'

const SECRET_METHODS: readonly AuthMethod[] = ['client_secret_basic', 'client_secret_post']
export const MAX_REDIRECT_URIS = 20
export const MAX_TYPES = 20
const grantTypes = listOf(text(255), { max: MAX_TYPES, filled: true })

/** Whether a text can be a backchannel_logout_uri (Back-Channel Logout 1.0 §2.2). */
export const isLogoutUri = (uri: string): boolean => isHttpUrl(uri) && !uri.includes('#')

/** The fields that clients and operators may set. */
export const clientFields = {
  client_name: name(255).describe('Name that users see.'),
  redirect_uris: listOf(redirectUri, { max: MAX_REDIRECT_URIS }).describe(
    'URIs to which the browser may return, matched exactly except for the port of loopback: https, http on loopback, or a private-use scheme of a public client.',
  ),
  post_logout_redirect_uris: listOf(redirectUri, { max: MAX_REDIRECT_URIS }).describe(
    'URIs to which the browser may return after a logout (`oauth.openid`), matched exactly.',
  ),
  id_token_signed_response_alg: word(ID_TOKEN_ALGS).describe(
    'Algorithm of the ID tokens and logout tokens of the client (`oauth.openid`). Default: `oauth.id_token_alg`.',
  ),
  backchannel_logout_uri: text(2048)
    .refine(isLogoutUri, 'must be an absolute http or https URL without fragment')
    .meta({ format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^#]+$' })
    .describe(
      'URL that is notified with a logout token when a sign-in ends (`oauth.openid`). Hosts in private networks need `events.allow_hosts`.',
    ),
  backchannel_logout_session_required: jsonBool().describe(
    'Whether the client needs `sid` in logout tokens. All of them have it.',
  ),
  require_pushed_authorization_requests: jsonBool().describe(
    'Whether the client must push its authorization requests to `/oauth/par` (RFC 9126).',
  ),
  grant_types: grantTypes.transform((types) => [...new Set(types)]).describe('Grant types that the client may use.'),
  response_types: listOf(word(['code']), { max: 1 }).describe('Only code is offered.'),
  token_endpoint_auth_method: word(AUTH_METHODS).describe('How the client authenticates. none: a public client.'),
  ...keyFields,
  application_type: word(['web', 'native']).describe('A native client runs on the device of its user.'),
  scope: scope().describe('Names of the scopes that the client may request, separated by spaces.'),
  agent: jsonBool().describe('Whether the client is an agent. Tokens of an agent have agent claims.'),
  agent_description: text(255).describe('What the agent does.'),
  dpop_bound_access_tokens: jsonBool().describe('Whether the client must send a DPoP proof in every token request.'),
} as const

/** A whole registration with its defaults. Unknown members are ignored (RFC 7591 §2). */
export const clientRecord = z
  .object(clientFields)
  .partial()
  .extend({
    client_name: clientFields.client_name,
    redirect_uris: clientFields.redirect_uris.prefault([]),
    grant_types: clientFields.grant_types
      .default(['authorization_code'])
      .describe('Grant types that the client may use; authorization_code by default.'),
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

/** What this server allows clients to have. */
export interface Offered {
  grant_types: readonly string[]
  /** `dcr.redirect_schemes` */
  redirect_schemes: readonly string[]
  /** Whether a jwks_uri may be plain http: `cimd.allow_private_addresses` */
  http_keys: boolean
}
/** What a configuration offers to clients that register themselves. */
export const offeredToAll = ({ dcr, cimd }: Config): Omit<Offered, 'grant_types'> => ({
  redirect_schemes: dcr.redirect_schemes,
  http_keys: cimd.allow_private_addresses,
})

/** Reads the metadata of a client. Throws invalid_client_metadata or invalid_redirect_uri that names every problem. */
export function parseClientMetadata(input: unknown, offered: Offered): ClientMetadata {
  const result = clientRecord.safeParse(input)
  if (!result.success) throw refuseMetadata(issuesOf(result.error))
  checkClient(result.data, offered)
  return result.data
}

type Shape = Pick<
  Client,
  'grant_types' | 'redirect_uris' | 'post_logout_redirect_uris' | 'token_endpoint_auth_method' | 'jwks' | 'jwks_uri'
>

/** Grants that a client must authenticate for. */
const PROVING_GRANTS = ['client_credentials', CIBA_GRANT]

/** The members that are lists of URIs to which the browser may be sent. */
const URI_LISTS = ['redirect_uris', 'post_logout_redirect_uris'] as const

/**
 * Checks the fields of a client against each other. Values that it had `before` stay allowed when the server no longer offers them. Throws
 * invalid_client_metadata or invalid_redirect_uri.
 */
export function checkClient(client: Shape, offered: Offered, before?: Shape): void {
  const known = [...offered.grant_types, ...(before?.grant_types ?? [])]
  const unknown = client.grant_types.filter((type) => !known.includes(type))
  if (unknown.length > 0)
    throw refuseMetadata([
      { path: 'grant_types', message: `are not offered by this server: ${quoteNames(unknown, ', ')}` },
    ])
  const needsRedirect = client.grant_types.includes('authorization_code')
  if (needsRedirect && client.redirect_uris.length === 0)
    throw refuseMetadata([{ path: 'redirect_uris', message: 'is required for authorization_code' }])
  const faults = URI_LISTS.flatMap((list) =>
    (client[list] ?? []).map((uri, i) => ({
      path: `${list}[${i}]`,
      message: before?.[list]?.includes(uri) ? undefined : redirectFault(uri, client, offered.redirect_schemes),
    })),
  )
  const problems = faults.flatMap(({ path, message }) => (message === undefined ? [] : { path, message }))
  if (problems.length > 0) throw refuseMetadata(problems)
  const proving = client.grant_types.find((type) => PROVING_GRANTS.includes(type))
  if (client.token_endpoint_auth_method === 'none' && proving !== undefined)
    throw refuseMetadata([
      { path: 'token_endpoint_auth_method', message: `none cannot be used with the ${proving} grant` },
    ])
  const isRekeyed = client.jwks !== before?.jwks || client.jwks_uri !== before?.jwks_uri
  const fault = before && !isRekeyed ? undefined : keysFault(client, offered.http_keys)
  if (fault) throw refuseMetadata([fault])
}

/** The refusal of a registration, by the fields that its problems are about. */
export function refuseMetadata(problems: readonly { path: string; message: string }[]): OAuthError {
  const code = problems.every(({ path }) => path.startsWith('redirect_uris['))
    ? 'invalid_redirect_uri'
    : 'invalid_client_metadata'
  return new OAuthError(code, listProblems(problems.map(({ path, message }) => `${path} ${message}`)))
}

export interface ClientRegistration {
  client: Client
  /** Shown once, stored as a hash. Only clients with a secret method have one. */
  client_secret?: string
}

/** What a new client has. Only operators set federated credentials and notifications. */
type NewClient = Omit<ClientMetadata, 'token_endpoint_auth_method'> &
  Pick<
    Client,
    | 'token_endpoint_auth_method'
    | 'federated_credentials'
    | 'backchannel_token_delivery_mode'
    | 'backchannel_client_notification_endpoint'
  >

/** Makes the record of a new client. Only operators choose a `client_id`. */
export function newClient(
  metadata: NewClient,
  source: Client['registration_source'],
  now: number,
  client_id = `c_${newId()}`,
): ClientRegistration {
  const hasSecret = SECRET_METHODS.includes(metadata.token_endpoint_auth_method)
  const client_secret = hasSecret ? newClientSecret() : undefined
  return {
    client_secret,
    client: {
      ...metadata,
      client_id,
      secrets: client_secret === undefined ? undefined : [secretRecord(client_secret, now)],
      status: 'active',
      registration_source: source,
      version: 1,
      issued_at: now,
      updated_at: now,
    },
  }
}

const USER_PREFIX = 'u_'
/** Ids of users and of clients must differ: both can be the `sub` of a token (RFC 9068 §5). */
export const newUserId = (): string => `${USER_PREFIX}${newId()}`
/** True for ids that only users have. */
export const isUserId = (id: string): boolean => id.startsWith(USER_PREFIX)

/** Whether a client may authenticate with a method. */
export const acceptsMethod = (client: Client, method: AuthMethod): boolean =>
  (client.token_endpoint_auth_methods_supported ?? [client.token_endpoint_auth_method]).includes(method)
/** Whether a client may only name itself, so that its authentication protects nothing. */
export const isPublic = (client: Client): boolean => client.token_endpoint_auth_method === 'none'

/** The client as API answers show it: without its secret, times as numbers. */
export const shownClient = (client: Client) => ({
  client_name: client.client_name,
  redirect_uris: client.redirect_uris,
  ...(client.post_logout_redirect_uris ? { post_logout_redirect_uris: client.post_logout_redirect_uris } : {}),
  ...rareMembersOf(client),
  grant_types: client.grant_types,
  response_types: client.response_types,
  token_endpoint_auth_method: client.token_endpoint_auth_method,
  ...(client.token_endpoint_auth_methods_supported
    ? { token_endpoint_auth_methods_supported: client.token_endpoint_auth_methods_supported }
    : {}),
  ...(client.jwks ? { jwks: client.jwks } : {}),
  ...(client.jwks_uri === undefined ? {} : { jwks_uri: client.jwks_uri }),
  application_type: client.application_type,
  scope: client.scope,
  ...(client.dpop_bound_access_tokens ? { dpop_bound_access_tokens: true } : {}),
})
