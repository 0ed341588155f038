// What an authorization request says about the sign-in of the user (OpenID Connect Core §3.1.2.1, RFC 9470 §4), and whether a session
// satisfies it.
import type { App } from '../context.ts'
import type { Params } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import type { Client } from '../records/client.ts'
import type { Session } from '../records/session.ts'
import type { SignIn } from '../records/sign_in.ts'
import { verifyIdTokenHint } from './id_token_hint.ts'
import { PROMPTS } from './openid.ts'

export interface AuthenticationRequest {
  nonce?: string
  /** Maximum seconds since the user signed in. */
  max_age?: number
  /** Authentication context classes of which one is required. */
  acr_values: readonly string[]
  /** The id of the user that id_token_hint names. */
  hinted?: string
}
const NO_REQUIREMENTS: AuthenticationRequest = { acr_values: [] }

const MAX_NONCE = 1024
const MAX_ACR_VALUES = 1024

const refuse = (name: string, text: string) =>
  new OAuthError('invalid_request', `${name} ${text}`, { reason: `bad_${name}` })

/** Reads the parameters. Without `oauth.openid` they are ignored. Throws invalid_request. */
export async function parseAuthenticationRequest(
  app: App,
  { nonce, max_age, acr_values = '', id_token_hint }: Params,
  { client_id }: Client,
): Promise<AuthenticationRequest> {
  if (!app.config.oauth.openid) return NO_REQUIREMENTS
  if (nonce !== undefined && nonce.length > MAX_NONCE) throw refuse('nonce', 'is too long')
  if (acr_values.length > MAX_ACR_VALUES) throw refuse('acr_values', 'is too long')
  if (max_age !== undefined && !/^\d{1,9}$/.test(max_age)) throw refuse('max_age', 'must be a number of seconds')
  const hint = id_token_hint === undefined ? undefined : await verifyIdTokenHint(app, id_token_hint)
  if (id_token_hint !== undefined && hint?.client_id !== client_id)
    throw refuse('id_token_hint', 'is not an ID token of this client')
  return {
    nonce,
    max_age: max_age === undefined ? undefined : Number(max_age),
    acr_values: acr_values.split(' ').filter(Boolean),
    hinted: hint?.sub,
  }
}

/** The values of `prompt`. Without `oauth.openid` unknown values are ignored. Throws invalid_request. */
export function parsePrompt({ config }: App, text = ''): string[] {
  const values = text.split(' ').filter(Boolean)
  const unknown = values.filter((value) => !PROMPTS.some((known) => known === value))
  if (config.oauth.openid && unknown.length > 0) throw refuse('prompt', `must be of ${PROMPTS.join(', ')}`)
  if (values.includes('none') && values.length > 1) throw refuse('prompt', 'none excludes other values')
  return values
}

/** When and how the user of a session signed in. */
export function signInOf({ created_at, oidc_issuer, auth_time = created_at, amr, acr }: Session): SignIn {
  const methods = amr ?? (oidc_issuer === undefined ? ['pwd'] : undefined)
  return { auth_time, ...(methods ? { amr: methods } : {}), ...(acr === undefined ? {} : { acr }) }
}

/** Tolerance in seconds for the clock of the upstream provider. */
const SKEW = 5
/** Seconds after a login in which it satisfies the request that it was made for. The browser returns to the request at once. */
const LOGIN_COUNTS = 600

/** What a request says about the sign-in. */
interface Wanted {
  prompt: readonly string[]
  authentication: AuthenticationRequest
}

/**
 * Whether the user must sign in before the request is answered. `login_at` is when the login page was shown for this request, if the
 * session was started there. Throws login_required or unmet_authentication_requirements if another sign-in would not satisfy the request.
 */
export function isSignInDue(
  { clock, oidc }: App,
  { prompt, authentication }: Wanted,
  session: Session | undefined,
  login_at: number | undefined,
): boolean {
  const { acr_values, hinted } = authentication
  const max_age = prompt.includes('login') ? 0 : authentication.max_age
  const { auth_time, acr } = session ? signInOf(session) : { auth_time: 0, acr: undefined }
  const isMet = acr_values.length === 0 || (acr !== undefined && acr_values.includes(acr))
  const hasSignedIn = session && login_at !== undefined && clock.now() <= session.created_at + LOGIN_COUNTS
  // Only an upstream provider asserts a class.
  if (!isMet && (hasSignedIn || oidc.length === 0))
    throw new OAuthError('unmet_authentication_requirements', 'none of the acr_values can be satisfied')
  if (!session || !isMet) return true
  if (!hasSignedIn) {
    const isTooOld = max_age !== undefined && (max_age === 0 || auth_time + max_age < clock.now())
    return isTooOld || isAnother(session, hinted)
  }
  if (isAnother(session, hinted) || (max_age !== undefined && auth_time + max_age + SKEW < login_at))
    throw new OAuthError('login_required', 'the user did not sign in as this request requires')
  return false
}

const isAnother = ({ user_id }: Session, hinted: string | undefined): boolean =>
  hinted !== undefined && hinted !== user_id
