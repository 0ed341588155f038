// The errors of a sign-in at an upstream OpenID provider. Errors of the library are translated, because they contain the data that was sent.
import { codeOf, OAuthError } from '../../lib/error.ts'
import { FetchError } from '../../net/error.ts'
import { refused } from './id_token.ts'
import { shownIssuer, shownValue, unreachable } from './oidc_discovery.ts'

/** Errors of the token endpoint for a client_id or client_secret that the provider does not accept (RFC 6749 §5.2). */
const CLIENT_ERRORS = ['invalid_client', 'unauthorized_client', 'unsupported_grant_type']
/** Error codes of openid-client for a provider that fails, or that does not match the configuration. */
const PROVIDER_FAILURES = /(NOT_CONFORM|NOT_JSON|TIMEOUT|SERVER_METADATA|FORBIDDEN)$|^ERR_/
/** A 401 with WWW-Authenticate, which is how the token endpoint refuses a client that authenticated by a header (RFC 6749 §5.2). */
const CHALLENGE = 'OAUTH_WWW_AUTHENTICATE_CHALLENGE'

/** The error of openid-client for an error response; its member `error` has the code of the provider. */
const ERROR_RESPONSE = 'OAUTH_RESPONSE_BODY_ERROR'

/** The provider is available but does not accept this service. Only an operator can correct that, here or at the provider. */
const refusedClient = (reason: string): OAuthError =>
  new OAuthError('server_error', 'the identity provider does not accept this service; please ask an administrator', {
    status: 502,
    reason: `oidc_${reason}`,
    cause: new Error(`the identity provider refused client_id or client_secret: ${reason}`),
  })

/** Runs requests to the provider. Throws 500 or 502 for a failure of the provider or of the configuration, 401 for a sign-in that could not be verified. */
export async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw translate(error)
  }
}

function translate(error: unknown): unknown {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof OAuthError) return at
    if (at instanceof FetchError) return unreachable(at.reason, at)
  }
  const code = codeOf(error)
  if (code === undefined) return error
  if (code === ERROR_RESPONSE) return tokenError(error)
  if (code === CHALLENGE) return refusedClient('invalid_client')
  const mismatch = mismatchIn(error)
  if (mismatch) return mismatch
  const reason = code.toLowerCase().replace(/^oauth_/, '')
  return PROVIDER_FAILURES.test(code) ? unreachable(reason) : refused(reason)
}

function tokenError(response: unknown): OAuthError {
  const error = response instanceof Error && 'error' in response ? String(response.error) : ''
  if (CLIENT_ERRORS.includes(error)) return refusedClient(error)
  return refused(error === 'invalid_request' ? error : 'code')
}

/** Claims whose values are not secret. */
const SHOWN = ['iss', 'aud', 'azp', 'exp', 'iat', 'nbf']

/** The refusal for a claim that the library compared: with the expected and the found value if these are not secret. */
function mismatchIn(error: unknown): OAuthError | undefined {
  for (let at = error; typeof at === 'object' && at !== null && 'cause' in at; at = at.cause) {
    const { cause } = at
    if (typeof cause !== 'object' || cause === null || !('claims' in cause) || !('claim' in cause)) continue
    const { claim, claims } = cause
    if (typeof claim !== 'string' || typeof claims !== 'object' || claims === null) return undefined
    if (!SHOWN.includes(claim)) return refused(claim)
    const show = claim === 'iss' ? shownIssuer : shownValue
    const found = { found: show((claims as Record<string, unknown>)[claim]) }
    return refused(claim, 'expected' in cause ? { expected: show(cause.expected), ...found } : found)
  }
  return undefined
}
