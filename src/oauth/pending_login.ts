// A pending sign-in at an upstream provider. Its state is in an encrypted cookie, so that only the same browser can complete it.
import type { App, OidcLogin } from '../context.ts'
import { cookieOf, parseCookies, type RequestHead } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { equalSecrets, newSecret } from '../lib/id.ts'
import { consumeOnce } from './single_use.ts'

export interface PendingLogin extends OidcLogin {
  /** The slug of the provider. */
  provider: string
  /** The local path to redirect to after the sign-in. */
  target: string
  /** The name of its cookie. It is different for each listener, so that a sign-in to the account pages does not sign in to the admin page. */
  cookie: string
  /** When the pending sign-in expires. */
  until: number
}

/** The cookies of the pending sign-ins of one listener. */
export interface PendingCookies {
  /** How their names begin. */
  prefix: string
  /** A Set-Cookie header. */
  write(name: string, value: string, maxAge: number): string
}

const LIFETIME_SECONDS = 600
/** Maximum number of pending sign-ins in one browser. Their cookies are sent with every request, and request headers are limited to 16 KB. */
const MAX_PENDING = 3
/** Maximum length of the target, so that the cookie does not exceed its size limit. */
const MAX_TARGET = 2048

/** Each pending sign-in has its own cookie, named after its state, so that tabs do not interfere with each other. */
const cookieName = ({ prefix }: PendingCookies, state: string) => prefix + state.slice(0, 16)

/** Starts a sign-in that redirects to `target` when it completes. Returns it with the Set-Cookie headers. Throws invalid_request when the target is too long. */
export async function startPendingLogin(
  app: App,
  request: RequestHead,
  cookies: PendingCookies,
  { provider, target, redirect_uri }: Pick<PendingLogin, 'provider' | 'target' | 'redirect_uri'>,
): Promise<{ login: PendingLogin; set: string[] }> {
  if (target.length > MAX_TARGET)
    throw new OAuthError('invalid_request', 'the redirect parameter is too long', { reason: 'oidc_long_target' })
  const secrets = { state: newSecret(), nonce: newSecret(), verifier: newSecret() }
  const cookie = cookieName(cookies, secrets.state)
  const login = { ...secrets, redirect_uri, provider, target, cookie, until: app.clock.now() + LIFETIME_SECONDS }
  const sealed = app.sealer.seal(login)
  const others = parseCookies(request).flatMap(([name]) => (name.startsWith(cookies.prefix) ? [name] : []))
  const dropped = others.slice(0, Math.max(0, others.length + 1 - MAX_PENDING))
  return {
    login,
    set: [...dropped.map((name) => cookies.write(name, '', 0)), cookies.write(cookie, sealed, LIFETIME_SECONDS)],
  }
}

/** The pending sign-in of this browser that a state belongs to, unless it has expired. */
export async function findPendingLogin(
  app: App,
  request: RequestHead,
  cookies: PendingCookies,
  state: string | undefined,
): Promise<PendingLogin | undefined> {
  if (state === undefined) return undefined
  const name = cookieName(cookies, state)
  const sealed = cookieOf(request, name)
  const login: Partial<PendingLogin> = (sealed && app.sealer.open(sealed)) || {}
  const isValid = login.cookie === name && login.until !== undefined && equalSecrets(login.state ?? '', state)
  return isValid && (login.until ?? 0) > app.clock.now() ? (login as PendingLogin) : undefined
}

/** Consumes a pending sign-in. False when it was consumed before: a browser may send its cookie again. */
export const consumePendingLogin = (app: App, { provider, state, until }: PendingLogin): Promise<boolean> =>
  consumeOnce(app, 'oidc_state', provider, state, until)

/** The Set-Cookie header that deletes a pending sign-in. */
export const clearPendingLogin = (cookies: PendingCookies, { cookie }: PendingLogin): string =>
  cookies.write(cookie, '', 0)
