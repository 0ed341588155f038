// What an authorization request says about the sign-in of the user (OpenID Connect Core §3.1.2.1, RFC 9470 §4), and whether a session
// satisfies it.
import type { App } from '../../context.ts'
import type { Params } from '../../http/message.ts'
import { OAuthError } from '../../lib/error.ts'
import { digest } from '../../lib/id.ts'
import type { Client } from '../../records/client.ts'
import type { Session } from '../../records/session.ts'
import type { SignIn } from '../../records/sign_in.ts'
import { PROMPTS } from '../openid.ts'
import { verifyIdTokenHint } from './id_token_hint.ts'
import { allowsPasswords } from './local_login.ts'
import { meetsClass, reachableClasses } from './second_factor.ts'

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

const refuse = (name: 'acr_values' | 'id_token_hint' | 'max_age' | 'nonce' | 'prompt', text: string) =>
  new OAuthError('invalid_request', `${name} ${text}`, { reason: `bad_${name}` })

/** Reads the parameters. Without `oauth.openid` they are ignored. Throws invalid_request. */
export async function parseAuthenticationRequest(
  app: App,
  { nonce, max_age, acr_values, id_token_hint }: Params,
  { client_id }: Client,
): Promise<AuthenticationRequest> {
  if (!app.config.oauth.openid) return NO_REQUIREMENTS
  if (nonce !== undefined && nonce.length > MAX_NONCE) throw refuse('nonce', 'is too long')
  if (max_age !== undefined && !/^\d{1,9}$/.test(max_age)) throw refuse('max_age', 'must be a number of seconds')
  const hint = id_token_hint === undefined ? undefined : await verifyIdTokenHint(app, id_token_hint)
  if (id_token_hint !== undefined && hint?.client_id !== client_id)
    throw refuse('id_token_hint', 'is not an ID token of this client')
  return {
    nonce,
    max_age: max_age === undefined ? undefined : Number(max_age),
    acr_values: parseClasses(acr_values),
    hinted: hint?.sub,
  }
}

/** The authentication context classes that `acr_values` names. Throws invalid_request. */
export function parseClasses(acr_values = ''): string[] {
  if (acr_values.length > MAX_ACR_VALUES) throw refuse('acr_values', 'is too long')
  return acr_values.split(' ').filter(Boolean)
}

/** The values of `prompt`. Without `oauth.openid` unknown values are ignored. Throws invalid_request. */
export function parsePrompt({ config }: App, text = ''): string[] {
  const values = text.split(' ').filter(Boolean)
  const unknown = values.filter((value) => !PROMPTS.some((known) => known === value))
  if (config.oauth.openid && unknown.length > 0) throw refuse('prompt', `must be of ${PROMPTS.join(', ')}`)
  if (values.includes('none') && values.length > 1) throw refuse('prompt', 'none excludes other values')
  return values
}

/** The session id that applications get. It does not reveal that of the session, which the admin API and cookies have. */
const sidOf = (session_id: string): string => digest(`sid ${session_id}`)

/** When and how the user of a session signed in. */
export function signInOf({ id, created_at, oidc_issuer, auth_time, amr, acr }: Session): SignIn {
  const sid = sidOf(id)
  if (oidc_issuer === undefined)
    return { auth_time: created_at, amr: amr ?? ['pwd'], sid, ...(acr === undefined ? {} : { acr }) }
  return {
    sid,
    ...(auth_time === undefined ? {} : { auth_time }),
    ...(amr ? { amr } : {}),
    ...(acr === undefined ? {} : { acr }),
  }
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

/** What a request needs of the user first: another sign-in, or the second factor in this one. */
export type DueSignIn = 'sign_in' | 'second_factor'

/**
 * What the user must do before the request is answered; undefined when nothing. `login_at` is when the login page was shown for this request, if
 * the session was started there. Throws login_required or unmet_authentication_requirements if another sign-in would not satisfy the request.
 */
export function dueSignIn(
  { clock, oidc, config }: App,
  { prompt, authentication }: Wanted,
  session: Session | undefined,
  login_at: number | undefined,
): DueSignIn | undefined {
  const { acr_values, hinted } = authentication
  const max_age = prompt.includes('login') ? 0 : authentication.max_age
  // No time is not a new sign-in.
  const { auth_time = 0, ...proven } = session ? signInOf(session) : {}
  const isMet = meetsClass(acr_values, proven)
  const hasSignedIn = session && login_at !== undefined && clock.now() <= session.created_at + LOGIN_COUNTS
  const isLocal = session ? session.oidc_issuer === undefined : allowsPasswords({ config, oidc })
  const mayStepUp = isLocal && reachableClasses(config).some((value) => acr_values.includes(value))
  // A provider asserts any class.
  const mayAskProvider = oidc.length > 0 && !hasSignedIn
  if (!isMet && !mayStepUp && !mayAskProvider)
    throw new OAuthError('unmet_authentication_requirements', 'none of the acr_values can be satisfied')
  if (!session) return 'sign_in'
  const allowed = hasSignedIn ? SKEW : 0
  const since = hasSignedIn ? login_at : clock.now()
  const isTooOld = max_age !== undefined && ((max_age === 0 && !hasSignedIn) || auth_time + max_age + allowed < since)
  if (isTooOld || isAnother(session, hinted)) {
    if (!hasSignedIn) return 'sign_in'
    throw new OAuthError('login_required', 'the user did not sign in as this request requires')
  }
  if (isMet) return undefined
  return mayStepUp ? 'second_factor' : 'sign_in'
}

const isAnother = ({ user_id }: Session, hinted: string | undefined): boolean =>
  hinted !== undefined && hinted !== user_id
