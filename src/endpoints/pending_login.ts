// A sign-in at the upstream provider that a browser is away for: sealed in a cookie, so that only that browser can end it.
import type { App, OidcLogin } from '../context.ts'
import { cookieOf, parseCookies, type RequestHead } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { equalSecrets, newSecret } from '../lib/id.ts'
import { useUp } from '../oauth/single_use.ts'
import { ownName, setCookie } from './session.ts'

export interface PendingLogin extends OidcLogin {
  /** The place of ours to go to afterwards. */
  target: string
  /** When it is too late to come back. */
  until: number
}

const LIFETIME_SECONDS = 600
/** Tabs in which a sign-in may be pending at once: their cookies travel with every request, whose head has 16 KB. */
const MAX_PENDING = 3
/** What fits into a cookie beside the rest. */
const MAX_TARGET = 2048

const prefix = (app: App) => ownName(app, 'service_oidc_')
/** Each has a cookie of its own, named after its state, so that one tab does not end the sign-in of another. */
const nameOf = (app: App, state: string) => prefix(app) + state.slice(0, 16)
/** The way back comes from another site, so that a strict cookie would stay at home. */
const write = (app: App, name: string, value: string, maxAge: number) =>
  setCookie(app, name, value, maxAge, app.config.session.same_site === 'none' ? 'none' : 'lax')

/** Begins a sign-in that ends at `target`. Returns it with the Set-Cookie headers. Throws invalid_request when the target is too long. */
export async function keepPendingLogin(
  app: App,
  request: RequestHead,
  target: string,
): Promise<{ login: PendingLogin; cookies: string[] }> {
  if (target.length > MAX_TARGET)
    throw new OAuthError('invalid_request', 'this request is too long to come back to', { reason: 'oidc_long_target' })
  const secrets = { state: newSecret(), nonce: newSecret(), verifier: newSecret() }
  const login = { ...secrets, target, until: app.clock.now() + LIFETIME_SECONDS }
  const sealed = app.sealer.seal(login)
  const others = parseCookies(request).flatMap(([name]) => (name.startsWith(prefix(app)) ? [name] : []))
  const forgotten = others.slice(0, Math.max(0, others.length + 1 - MAX_PENDING))
  return {
    login,
    cookies: [
      ...forgotten.map((name) => write(app, name, '', 0)),
      write(app, nameOf(app, login.state), sealed, LIFETIME_SECONDS),
    ],
  }
}

/** The sign-in of this browser that a state belongs to, while its time is not over. */
export async function findLogin(
  app: App,
  request: RequestHead,
  state: string | undefined,
): Promise<PendingLogin | undefined> {
  const sealed = state && cookieOf(request, nameOf(app, state))
  const opened = (sealed && app.sealer.open(sealed)) || {}
  const login = opened as Partial<PendingLogin>
  const isOurs = state !== undefined && login.until !== undefined && equalSecrets(login.state ?? '', state)
  return isOurs && (login.until ?? 0) > app.clock.now() ? (login as PendingLogin) : undefined
}

/** Uses a sign-in up. False when that was done before: a browser can keep its cookie, and send it again. */
export const useLogin = (app: App, { state, until }: PendingLogin): Promise<boolean> =>
  useUp(app, 'oidc_state', app.config.oidc.issuer, state, until)

/** The Set-Cookie header that ends a sign-in. */
export const forgetLogin = (app: App, { state }: PendingLogin): string => write(app, nameOf(app, state), '', 0)
