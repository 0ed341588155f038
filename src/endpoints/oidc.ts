// GET /oidc/start and /oidc/callback, and the same with the slug of a further provider: sign-in of users at an upstream OpenID provider.
import type { App, OidcIdentity } from '../context.ts'
import { parseParams, type Reply, type Request, redirect } from '../http/message.ts'
import { html } from '../lib/html.ts'
import { newAuditEvent, sentBy } from '../oauth/audit.ts'
import { providerNamed } from '../oauth/oidc_providers.ts'
import {
  finishUpstreamSignIn,
  type SignInPlace,
  startUpstreamSignIn,
  type UpstreamSignIn,
} from '../oauth/upstream_sign_in.ts'
import { messagesOf } from './language.ts'
import { page } from './pages.ts'
import { hostCookie, setCookie, startSession, type UpstreamSession } from './session.ts'
import { safeRedirect } from './urls.ts'

/** The sign-in of users. */
const userSignIn = (app: App): SignInPlace => ({
  cookies: {
    prefix: hostCookie(app, 'service_oidc_'),
    // The callback is a navigation from another site, with which browsers do not send SameSite=Strict cookies.
    write: (name, value, maxAge) =>
      setCookie(app, name, value, maxAge, app.config.session.same_site === 'none' ? 'none' : 'lax'),
  },
  redirectUri: ({ settings }) => new URL(settings.redirect_uri).href,
  failed: 'user_oidc_login_failed',
  enter: (request, signedIn, cookie) => signIn(app, request, signedIn, cookie),
})

/** Redirects a browser to the provider. `redirect` is the local path to return to; `prompt=login` requires a new sign-in there. */
export async function startOidc(app: App, request: Request): Promise<Reply> {
  const provider = providerNamed(app, request.params['provider'])
  const { redirect: target, prompt, acr_values, login_hint } = parseParams(request.query)
  const wanted = { target: safeRedirect(app, target), reauthenticate: prompt === 'login', acr_values, login_hint }
  return startUpstreamSignIn(app, request, userSignIn(app), provider, wanted)
}

/** Completes a sign-in when the browser returns. */
export const finishOidc = async (app: App, request: Request): Promise<Reply> =>
  finishUpstreamSignIn(app, request, userSignIn(app), providerNamed(app, request.params['provider']))

async function signIn(
  app: App,
  request: Request,
  { provider: { slug }, identity, login, user, created }: UpstreamSignIn,
  cookie: string,
): Promise<Reply> {
  const detail = { created, provider: slug }
  const event = newAuditEvent(app, { action: 'user_oidc_login', actor_id: user.id, ...sentBy(request), detail })
  const session = { user_id: user.id, target: login.target, upstream: upstreamSession(app, identity), event }
  const cookies = [await startSession(app, request, session), cookie]
  return app.config.session.same_site === 'strict'
    ? continuePage(app, request, login.target, cookies)
    : redirect(login.target, { 'set-cookie': cookies })
}

/** What the provider says about the sign-in. A logout token may name its session. */
function upstreamSession(app: App, { issuer, claims: { sid, auth_time, amr, acr } }: OidcIdentity): UpstreamSession {
  const now = app.clock.now()
  return {
    oidc_issuer: issuer,
    oidc_sid: isShort(sid) ? sid : undefined,
    // A session at the provider may be older than the one here. A time in the future comes from a wrong clock.
    auth_time: typeof auth_time === 'number' && auth_time < now ? Math.floor(auth_time) : undefined,
    amr: Array.isArray(amr) && amr.length <= MAX_AMR && amr.every(isShort) ? amr : undefined,
    acr: isShort(acr) ? acr : undefined,
  }
}
const MAX_SHORT = 255
const MAX_AMR = 10
const isShort = (value: unknown): value is string => typeof value === 'string' && value.length <= MAX_SHORT

/** With SameSite=Strict a redirect would not send the session cookie, because the navigation started at the provider. A page starts a new one. */
function continuePage(app: App, request: Request, target: string, cookies: string[]): Reply {
  const messages = messagesOf(request, target)
  const { start: t } = messages
  const body = html`<h1>${t.heading}</h1>\n<p><a href="${target}">${t.continue}</a></p>`
  return page(app, messages, t.heading, body, { headers: { refresh: `0;url=${target}`, 'set-cookie': cookies } })
}
