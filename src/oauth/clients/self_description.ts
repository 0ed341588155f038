// The metadata that a client sends about itself, in a registration (RFC 7591) or in a metadata document. Clients send the same text to every
// server, so values that this server does not offer are omitted. It refuses only if no usable value is left. The response lists what was registered.
import { z } from 'zod'
import type { DCR_MODES } from '../../config/oauth_keys.ts'
import type { Config } from '../../config/schema.ts'
import { clip } from '../../lib/bounded.ts'
import { bool, isBlank, issuesOf, listOf, text } from '../../lib/field.ts'
import { schemeOf } from '../../lib/redirect_scheme.ts'
import { parseHttpUrl } from '../../lib/url.ts'
import type { AuthMethod, Client } from '../../records/client.ts'
import { ID_TOKEN_ALGS } from '../../records/rare_members.ts'
import { DEVICE_CODE_GRANT } from '../sign_in/device.ts'
import { keysFault } from './client_keys.ts'
import {
  type ClientMetadata,
  clientFields,
  clientRecord,
  isLogoutUri,
  MAX_REDIRECT_URIS,
  MAX_TYPES,
  type Offered,
  refuseMetadata,
} from './client_metadata.ts'
import { redirectFault, redirectUri } from './redirect_uri.ts'

/** Maximum bytes of the record of a client that registers itself, without its keys: one caller can make thousands of them. */
const MAX_RECORD = 8192

/** What is wrong with the size of a client that registers itself; undefined if nothing is. */
export function sizeFault({ jwks, secrets, ...rest }: Partial<Client>): { path: string; message: string } | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(rest))
  if (bytes <= MAX_RECORD) return undefined
  return { path: 'the metadata', message: `has ${bytes} bytes without keys; at most ${MAX_RECORD} are allowed` }
}

const GRANTS = ['authorization_code', 'refresh_token']
/**
 * The grants that clients may register themselves. Machine grants act without a user, so only operators give them. A device has no redirect
 * URI, so that dcr.mode approved_redirects does not limit who gets its tokens: only operators give its grant then.
 */
export const selfRegisteredGrants = ({ device }: Config, mode: (typeof DCR_MODES)[number]): readonly string[] =>
  device.enabled && mode === 'open' ? [...GRANTS, DEVICE_CODE_GRANT] : GRANTS
const MAX_NAME = 255

/** The fields that may contain values that this server does not offer. */
export const tolerantFields = {
  redirect_uris: listOf(z.unknown(), { max: MAX_REDIRECT_URIS }),
  post_logout_redirect_uris: listOf(z.unknown(), { max: MAX_REDIRECT_URIS })
    .optional()
    .describe('URIs to which the browser may return after a logout (`oauth.openid`). Unsafe ones are left out.'),
  id_token_signed_response_alg: z
    .unknown()
    .transform((value) => ID_TOKEN_ALGS.find((alg) => alg === value))
    .optional()
    .describe(`Algorithm of the ID tokens of the client: ${ID_TOKEN_ALGS.join(' or ')}. Others are left out.`),
  backchannel_logout_uri: z
    .unknown()
    .transform((value) => (typeof value === 'string' && value.length <= 2048 && isLogoutUri(value) ? value : undefined))
    .optional()
    .describe(
      'URL that is notified with a logout token when a sign-in ends: an absolute http or https URL without fragment. Others are left out.',
    ),
  backchannel_logout_session_required: bool()
    .optional()
    .describe(clientFields.backchannel_logout_session_required.description ?? ''),
  require_pushed_authorization_requests: bool()
    .optional()
    .describe(clientFields.require_pushed_authorization_requests.description ?? ''),
  grant_types: clientFields.grant_types
    .default(GRANTS)
    .describe(
      'authorization_code and refresh_token, which are also the default. With device.enabled and an open registration also the device code grant. Others are left out.',
    ),
  response_types: listOf(text(255), { max: MAX_TYPES })
    .default(['code'])
    .describe('code, which is also the default. Others are left out.'),
}

/** The members of a registration. */
export const registration = clientRecord.in.extend({
  ...tolerantFields,
  redirect_uris: tolerantFields.redirect_uris
    .default([])
    .describe(
      'URIs to which the browser may return, matched exactly except for the port of loopback. Unsafe ones are left out; at least one must remain, unless the client only uses the device code grant.',
    ),
  client_name: z.preprocess(
    (value) => (typeof value === 'string' && isBlank(value) ? undefined : value),
    clientFields.client_name
      .optional()
      .describe('Name that users see. Default: the host of client_uri or of the first redirect URI.'),
  ),
  client_uri: z.unknown().optional().describe('Home page of the client.'),
  token_endpoint_auth_method: clientFields.token_endpoint_auth_method.default('client_secret_basic'),
  // Some clients send these as text.
  agent: bool()
    .default(false)
    .describe(clientFields.agent.description ?? ''),
  dpop_bound_access_tokens: bool()
    .default(false)
    .describe(clientFields.dpop_bound_access_tokens.description ?? ''),
})

const isNothing = (value: unknown): boolean =>
  value === null || value === '' || (Array.isArray(value) && value.length === 0)

/** The members of a JSON object that say something: null, an empty text and an empty list count as absent. */
export const saidIn = (input: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => !isNothing(value)))

/** Reads a registration, given without the members that say nothing. Throws invalid_client_metadata or invalid_redirect_uri that names every problem. */
export function parseRegistration(input: Readonly<Record<string, unknown>>, offered: Offered): ClientMetadata {
  const result = registration.safeParse(withoutUnusedKeys(input))
  if (!result.success) throw refuseMetadata(issuesOf(result.error))
  const {
    redirect_uris,
    post_logout_redirect_uris,
    grant_types,
    response_types,
    client_name,
    client_uri,
    agent,
    ...fields
  } = result.data
  const usable = usableTypes({ grant_types, response_types }, offered.grant_types)
  if (!usable)
    throw refuseMetadata([
      { path: 'grant_types', message: 'and response_types must include authorization_code and code' },
    ])
  const { uris, faults } = judgeRedirects(redirect_uris, fields, offered.redirect_schemes)
  const needsRedirect = usable.grant_types.includes('authorization_code')
  if (needsRedirect && redirect_uris.length === 0)
    throw refuseMetadata([{ path: 'redirect_uris', message: 'is required for authorization_code' }])
  if (needsRedirect && uris.length === 0) throw refuseMetadata(faults)
  const fault = keysFault(fields, offered.http_keys)
  if (fault) throw refuseMetadata([fault])
  return {
    ...fields,
    ...usable,
    redirect_uris: uris,
    post_logout_redirect_uris: usableReturns(post_logout_redirect_uris, fields, offered.redirect_schemes),
    client_name: client_name ?? nameFor(client_uri, uris),
    is_agent: agent,
  }
}

/** Keys are only for private_key_jwt. The keys of a client that registers another method are omitted. */
function withoutUnusedKeys(input: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (input['token_endpoint_auth_method'] === 'private_key_jwt') return input
  const { jwks, jwks_uri, ...rest } = input
  return rest
}

interface Types {
  grant_types: readonly string[]
  response_types: readonly string[]
}
/** The grant and response types that a client may have here; undefined if a user could not sign in with them. */
export function usableTypes({ grant_types, response_types }: Types, offered: readonly string[]) {
  const hasCode = response_types.includes('code')
  const usable = grant_types.filter((type) => offered.includes(type) && (hasCode || type !== 'authorization_code'))
  return usable.includes('authorization_code') || usable.includes(DEVICE_CODE_GRANT)
    ? { grant_types: usable, response_types: ['code' as const] }
    : undefined
}

interface Judged {
  uris: string[]
  faults: { path: string; message: string }[]
}
/** Checks each redirect URI: returns those that the client may have, and what is wrong with the others. */
export function judgeRedirects(
  given: readonly unknown[],
  client: { token_endpoint_auth_method: AuthMethod },
  schemes: readonly string[],
): Judged {
  const judged: Judged = { uris: [], faults: [] }
  for (const [i, each] of given.entries()) {
    const { data: uri, error } = redirectUri.safeParse(each)
    const message = error ? issuesOf(error)[0]?.message : redirectFault(uri, client, schemes)
    if (message === undefined) judged.uris.push(uri as string)
    else judged.faults.push({ path: `redirect_uris[${i}]`, message })
  }
  return judged
}

/** The redirect URIs after a logout that the client may have; undefined if there are none. */
export function usableReturns(
  given: readonly unknown[] = [],
  client: { token_endpoint_auth_method: AuthMethod },
  schemes: readonly string[],
): string[] | undefined {
  const { uris } = judgeRedirects(given, client, schemes)
  return uris.length > 0 ? uris : undefined
}

/** The name of a client that gives none: the host of its home page, or of its first redirect URI, or the scheme of that. */
function nameFor(client_uri: unknown, [first]: readonly string[]): string {
  const home = typeof client_uri === 'string' ? parseHttpUrl(client_uri)?.hostname : undefined
  if (!home && first === undefined) throw refuseMetadata([{ path: 'client_name', message: 'is required' }])
  return clip(home || hostOrScheme(first), MAX_NAME)
}

const hostOrScheme = (uri = ''): string => new URL(uri).hostname || (schemeOf(uri) ?? '')
