// The authorization request (RFC 6749 §4.1.1, RFC 7636, RFC 8707): its checks in order, and the response by redirect.
import { issuerOf } from '../../config/issuer.ts'
import type { App } from '../../context.ts'
import type { Params } from '../../http/message.ts'
import { type ErrorCode, OAuthError } from '../../lib/error.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import type { Client } from '../../records/client.ts'
import { isUrlShaped, resolveDocumentClient } from '../clients/cimd.ts'
import type { Asker } from '../clients/client_standing.ts'
import { resolveClient } from '../clients/find_client.ts'
import { hasRedirectUri } from '../clients/redirect_uri.ts'
import { type AskedGrant, askedGrant, IN_BROWSER } from '../tokens/request_rules.ts'
import { type AuthenticationRequest, parseAuthenticationRequest, parsePrompt } from './authentication_request.ts'

/** Where the response may be sent: a client and one of its registered redirect URIs. */
export interface ReturnAddress {
  client: Client
  redirect_uri: string
  /** The request named it, so the token request must too (RFC 6749 §4.1.3). */
  redirect_uri_sent: boolean
  state?: string
  /** The response is posted as a form (OAuth 2.0 Form Post Response Mode). Undefined: it is in the query. */
  response_mode?: 'form_post'
  /** The pushed request (RFC 9126) that the response answers. */
  pushed_id?: string
}

/** Where a response is sent, and how. */
export type ResponseAddress = Pick<ReturnAddress, 'redirect_uri' | 'state' | 'response_mode' | 'pushed_id'>

export const RESPONSE_MODES = ['query', 'form_post'] as const

/** What a valid request asks for. */
export interface Requested extends AskedGrant {
  code_challenge: string
  /** Key that the code is to be bound to (RFC 9449 §10). */
  dpop_jkt?: string
  prompt: readonly string[]
  authentication: AuthenticationRequest
}

const refuse = (code: ErrorCode, description: string, reason: Reason) =>
  new OAuthError(code, description, { reason, status: 400 })

/** The client and its redirect URI. Errors of this step are never sent by redirect, because no redirect URI is trusted yet. */
export async function resolveReturnAddress(app: App, params: Params, asker: Asker): Promise<ReturnAddress> {
  return returnAddressOf(await resolveAskingClient(app, params, asker), params)
}

/** Where the response to a request of this client is sent. Throws invalid_request when that is not a registered redirect URI. */
export function returnAddressOf(client: Client, params: Params): ReturnAddress {
  const { redirect_uri, state } = params
  const posted = params.response_mode === 'form_post' ? ({ response_mode: 'form_post' } as const) : {}
  if (redirect_uri === undefined) {
    const [only, ...others] = client.redirect_uris
    if (only === undefined || others.length > 0)
      throw refuse('invalid_request', 'redirect_uri is missing', 'missing_redirect_uri')
    return { client, redirect_uri: only, redirect_uri_sent: false, state, ...posted }
  }
  if (!hasRedirectUri(client, redirect_uri))
    throw refuse(
      'invalid_request',
      'the redirect_uri is not registered for this client',
      'unregistered_redirect_uri',
    ).with({
      sent: { parameter: 'redirect_uri', value: redirect_uri, allowed: client.redirect_uris },
    })
  return { client, redirect_uri, redirect_uri_sent: true, state, ...posted }
}

/** The active client of a request. Throws what the user sees, because no redirect URI is known yet. */
export async function resolveAskingClient(app: App, { client_id }: Params, asker: Asker): Promise<Client> {
  if (client_id === undefined) throw refuse('invalid_request', 'client_id is missing', 'missing_client_id')
  const client = await (isUrlShaped(client_id)
    ? resolveDocumentClient(app, client_id, asker)
    : resolveClient(app, client_id))
  if (!client) throw refuse('invalid_client', 'the client is not known', 'unknown_client')
  if (client.status !== 'active') throw refuse('invalid_client', 'the client is suspended', 'client_suspended')
  return client
}

/** Checks all other parameters of the request. Throws the error that the client gets. */
export async function parseRequested(app: App, params: Params, client: Client): Promise<Requested> {
  if (params.request !== undefined)
    throw refuse('request_not_supported', 'request objects are not supported', 'request_object')
  if (params.request_uri !== undefined)
    throw refuse('request_uri_not_supported', 'request_uri is not supported', 'request_uri')
  if (params.client_secret !== undefined)
    throw refuse('invalid_request', 'a client_secret must never be in a URL', 'secret_in_url')
  if (params.response_type === undefined)
    throw refuse('invalid_request', 'response_type is missing', 'missing_response_type')
  if (params.response_type !== 'code')
    throw refuse('unsupported_response_type', 'response_type must be code', 'unsupported_response_type')
  const { response_mode = 'query' } = params
  if (!RESPONSE_MODES.some((mode) => mode === response_mode))
    throw refuse('invalid_request', 'response_mode must be query or form_post', 'unsupported_response_mode')
  if (!client.grant_types.includes('authorization_code'))
    throw refuse('unauthorized_client', 'the client may not use authorization_code', 'grant_not_registered')
  const code_challenge = parseChallenge(params)
  return {
    ...(await askedGrant(app, params, client, IN_BROWSER)),
    code_challenge,
    dpop_jkt: app.config.dpop.enabled ? parseJkt(params.dpop_jkt) : undefined,
    prompt: parsePrompt(app, params.prompt),
    authentication: await parseAuthenticationRequest(app, params, client),
  }
}

/** A SHA-256 digest in base64url. */
const SHA256 = /^[A-Za-z0-9_-]{43}$/

function parseChallenge({ code_challenge, code_challenge_method }: Params): string {
  if (code_challenge === undefined)
    throw refuse('invalid_request', 'code_challenge is missing: PKCE is required', 'missing_code_challenge')
  // Without a method RFC 7636 means plain, which is not offered.
  if (code_challenge_method !== 'S256')
    throw refuse('invalid_request', 'code_challenge_method must be S256', 'unsupported_challenge_method')
  if (!SHA256.test(code_challenge))
    throw refuse('invalid_request', 'code_challenge is malformed', 'malformed_code_challenge')
  return code_challenge
}

function parseJkt(dpop_jkt: string | undefined): string | undefined {
  if (dpop_jkt !== undefined && !SHA256.test(dpop_jkt))
    throw refuse('invalid_request', 'dpop_jkt is not a key thumbprint', 'malformed_dpop_jkt')
  return dpop_jkt
}

/** The members of a response; `iss` names us, so that a client is never mixed up (RFC 9207). */
export const responseMembers = (
  app: App,
  { state }: Pick<ReturnAddress, 'state'>,
  response: { code: string } | OAuthError,
): Record<string, string> => ({
  ...(response instanceof OAuthError
    ? { error: response.code, error_description: response.message }
    : { code: response.code }),
  ...(state === undefined ? {} : { state }),
  iss: issuerOf(app.config),
})

/** The redirect URI with the response in its query. */
export function responseUri(
  app: App,
  to: Pick<ReturnAddress, 'redirect_uri' | 'state'>,
  response: { code: string } | OAuthError,
): string {
  const query = new URLSearchParams(responseMembers(app, to, response))
  return `${to.redirect_uri}${to.redirect_uri.includes('?') ? '&' : '?'}${query}`
}
