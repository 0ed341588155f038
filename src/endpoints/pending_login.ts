// A pending sign-in at the upstream provider. Its state is in an encrypted cookie, so that only the same browser can complete it.
import type { App, OidcLogin } from '../context.ts'
import { cookieOf, parseCookies, type RequestHead } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { equalSecrets, newSecret } from '../lib/id.ts'
import { consumeOnce } from '../oauth/single_use.ts'
import { hostCookie, setCookie } from './session.ts'

export interface PendingLogin extends OidcLogin {
  /** The slug of the provider. */
  provider: string
  /** The local path to redirect to after the sign-in. */
  target: string
  /** When the pending sign-in expires. */
  until: number
}

const LIFETIME_SECONDS = 600
/** Maximum number of pending sign-ins in one browser. Their cookies are sent with every request, and request headers are limited to 16 KB. */
const MAX_PENDING = 3
/** Maximum length of the target, so that the cookie does not exceed its size limit. */
const MAX_TARGET = 2048

const prefix = (app: App) => hostCookie(app, 'service_oidc_')
/** Each pending sign-in has its own cookie, named after its state, so that tabs do not interfere with each other. */
const cookieName = (app: App, state: string) => prefix(app) + state.slice(0, 16)
/** The callback is a navigation from another site, with which browsers do not send SameSite=Strict cookies. */
const write = (app: App, name: string, value: string, maxAge: number) =>
  setCookie(app, name, value, maxAge, app.config.session.same_site === 'none' ? 'none' : 'lax')

/** Starts a sign-in that redirects to `target` when it completes. Returns it with the Set-Cookie headers. Throws invalid_request when the target is too long. */
export async function startPendingLogin(
  app: App,
  request: RequestHead,
  { provider, target }: Pick<PendingLogin, 'provider' | 'target'>,
): Promise<{ login: PendingLogin; cookies: string[] }> {
  if (target.length > MAX_TARGET)
    throw new OAuthError('invalid_request', 'the redirect parameter is too long', { reason: 'oidc_long_target' })
  const secrets = { state: newSecret(), nonce: newSecret(), verifier: newSecret() }
  const login = { ...secrets, provider, target, until: app.clock.now() + LIFETIME_SECONDS }
  const sealed = app.sealer.seal(login)
  const others = parseCookies(request).flatMap(([name]) => (name.startsWith(prefix(app)) ? [name] : []))
  const dropped = others.slice(0, Math.max(0, others.length + 1 - MAX_PENDING))
  return {
    login,
    cookies: [
      ...dropped.map((name) => write(app, name, '', 0)),
      write(app, cookieName(app, login.state), sealed, LIFETIME_SECONDS),
    ],
  }
}

/** The pending sign-in of this browser that a state belongs to, unless it has expired. */
export async function findPendingLogin(
  app: App,
  request: RequestHead,
  state: string | undefined,
): Promise<PendingLogin | undefined> {
  const sealed = state && cookieOf(request, cookieName(app, state))
  const opened = (sealed && app.sealer.open(sealed)) || {}
  const login = opened as Partial<PendingLogin>
  const isValid = state !== undefined && login.until !== undefined && equalSecrets(login.state ?? '', state)
  return isValid && (login.until ?? 0) > app.clock.now() ? (login as PendingLogin) : undefined
}

/** Consumes a pending sign-in. False when it was consumed before: a browser may send its cookie again. */
export const consumePendingLogin = (app: App, { provider, state, until }: PendingLogin): Promise<boolean> =>
  consumeOnce(app, 'oidc_state', provider, state, until)

/** The Set-Cookie header that deletes a pending sign-in. */
export const clearPendingLogin = (app: App, { state }: PendingLogin): string =>
  write(app, cookieName(app, state), '', 0)
