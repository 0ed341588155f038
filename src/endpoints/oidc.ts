// GET /oidc/start and /oidc/callback, and the same with the slug of a further provider: sign-in of users at an upstream OpenID provider.
import type { App, OidcIdentity, OidcProvider } from '../context.ts'
import { CLOCK_SKEW } from '../crypto/jwt_times.ts'
import { parseParams, prefersHtml, type Reply, type Request, redirect } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { html } from '../lib/html.ts'
import { newAuditEvent, sentBy } from '../oauth/audit.ts'
import { providerNamed } from '../oauth/federation/oidc_providers.ts'
import {
  finishUpstreamSignIn,
  type SignInPlace,
  startUpstreamSignIn,
  type UpstreamSignIn,
} from '../oauth/federation/upstream_sign_in.ts'
import { provenUpstream } from '../oauth/sign_in/second_factor.ts'
import { messagesOf } from './pages/language.ts'
import { page, thrownPage } from './pages/pages.ts'
import { ACCOUNT_PATH, loginUrl, placeOfTarget, readTarget, safeRedirect } from './pages/urls.ts'
import { wayBack } from './pages/way_back.ts'
import { type Authenticated, browserOf, crossSiteCookie, hostCookie, startSession } from './session.ts'
import { wantedBy } from './wanted_sign_in.ts'

/** The sign-in of users. */
const userSignIn = (app: App): SignInPlace => ({
  browserOf: (request) => browserOf(app, request),
  cookies: {
    prefix: hostCookie(app, 'service_oidc_'),
    write: (name, value, maxAge) => crossSiteCookie(app, name, value, maxAge),
  },
  redirectUri: ({ settings }) => new URL(settings.redirect_uri).href,
  failed: 'user_oidc_login_failed',
  enter: (request, signedIn, cookie) => signIn(app, request, signedIn, cookie),
})

/**
 * Redirects a browser to the provider. `redirect` is the local path to return to. `prompt=login` requires a new sign-in there, and so may the
 * authorization request at that path.
 */
export async function startOidc(app: App, request: Request): Promise<Reply> {
  const provider = providerNamed(app, request.params['provider'])
  const { redirect: place, prompt } = parseParams(request.query)
  const target = safeRedirect(app, await readTarget(app, place))
  const wanted = await wantedBy(app, target)
  const reauthenticate = prompt === 'login' || wanted.max_age !== undefined
  return startUpstreamSignIn(app, request, userSignIn(app), provider, { target, reauthenticate, ...wanted }).catch(
    (error: unknown) => signInFailed(app, request, error, { target, reauthenticate }),
  )
}

/** Completes a sign-in when the browser returns. */
export const finishOidc = (app: App, request: Request): Promise<Reply> =>
  finishUpstreamSignIn(app, request, userSignIn(app), providerNamed(app, request.params['provider'])).catch(
    (error: unknown) => signInFailed(app, request, error, error instanceof OAuthError ? error.more : {}),
  )

/** The page of a sign-in that failed, with the ways on: another sign-in for the same target, and the application that waits. */
async function signInFailed(
  app: App,
  request: Request,
  error: unknown,
  { target, reauthenticate }: OAuthError['more'],
): Promise<Reply> {
  if (!(error instanceof OAuthError) || !prefersHtml(request)) throw error
  request.notes.refusal = error
  const messages = messagesOf(request, target)
  const place = target === undefined ? ACCOUNT_PATH : placeOfTarget(app, target)
  const again = { href: await loginUrl(app, request, place, reauthenticate), text: messages.signInAgain }
  const back = await wayBack(app, request, place)
  return thrownPage(app, messages, request, error, { headers: error.more.headers, back, again })
}

async function signIn(
  app: App,
  request: Request,
  { provider, identity, login, user, created }: UpstreamSignIn,
  cookie: string,
): Promise<Reply> {
  const detail = { created, provider: provider.slug }
  const event = newAuditEvent(app, { action: 'user_oidc_login', actor_id: user.id, ...sentBy(request), detail })
  const session = { user_id: user.id, target: login.target, how: upstreamSession(app, provider, identity), event }
  const cookies = [...(await startSession(app, request, session)), cookie]
  return app.config.session.same_site === 'strict'
    ? continuePage(app, request, login.target, cookies)
    : redirect(login.target, { 'set-cookie': cookies })
}

/** What the provider says about the sign-in. A logout token may name its session. */
function upstreamSession(app: App, { settings }: OidcProvider, { issuer, claims }: OidcIdentity): Authenticated {
  const now = app.clock.now()
  const { sid, auth_time } = claims
  return {
    oidc_issuer: issuer,
    oidc_sid: isShort(sid) ? sid : undefined,
    // A session at the provider may be older than the one here. A clock may be a little ahead; a time far in the future is none.
    auth_time:
      typeof auth_time === 'number' && auth_time <= now + CLOCK_SKEW.sign_in
        ? Math.min(Math.floor(auth_time), now)
        : undefined,
    ...provenUpstream(claims, settings.mfa_values, isShort),
  }
}
const MAX_SHORT = 255
const isShort = (value: unknown): value is string => typeof value === 'string' && value.length <= MAX_SHORT

/** With SameSite=Strict a redirect would not send the session cookie, because the navigation started at the provider. A page starts a new one. */
function continuePage(app: App, request: Request, target: string, cookies: string[]): Reply {
  const messages = messagesOf(request, target)
  const { start: t } = messages
  const body = html`<h1>${t.heading}</h1>\n<p><a href="${target}">${t.continue}</a></p>`
  return page(app, messages, t.heading, body, { headers: { refresh: `0;url=${target}`, 'set-cookie': cookies } })
}
