// GET /oidc/start and /oidc/callback, and the same with the slug of a further provider: sign-in at an upstream OpenID provider.
import type { App, OidcIdentity, OidcProvider } from '../context.ts'
import { parseParams, type Reply, type Request, redirect } from '../http/message.ts'
import { asOAuthError } from '../http/problem.ts'
import { subscriber } from '../http/rate_limit.ts'
import { OAuthError } from '../lib/error.ts'
import { html } from '../lib/html.ts'
import { audit, sentBy } from '../oauth/audit.ts'
import { checkEmailDomain, resolveFederatedUser } from '../oauth/federated_user.ts'
import { providerNamed } from '../oauth/oidc_providers.ts'
import { upstreamReason } from '../oauth/upstream_errors.ts'
import { messagesOf } from './language.ts'
import { page } from './pages.ts'
import {
  clearPendingLogin,
  consumePendingLogin,
  findPendingLogin,
  type PendingLogin,
  startPendingLogin,
} from './pending_login.ts'
import { startSession, type UpstreamSession } from './session.ts'
import { safeRedirect } from './urls.ts'

/** Redirects a browser to the provider. `redirect` is the local path to return to; `prompt=login` requires a new sign-in there. */
export async function startOidc(app: App, request: Request): Promise<Reply> {
  const provider = providerNamed(app, request.params['provider'])
  const { redirect: target, prompt, acr_values, login_hint } = parseParams(request.query)
  const pending = { provider: provider.slug, target: safeRedirect(app, target) }
  const { login, cookies } = await startPendingLogin(app, request, pending)
  try {
    const url = await provider.authorizationUrl(login, { reauthenticate: prompt === 'login', acr_values, login_hint })
    return { ...redirect(url, { 'set-cookie': cookies }), status: 302 }
  } catch (error) {
    if (provider.failures.take(subscriber(request.remote)) === 0)
      await recordFailure(app, request, provider, asOAuthError(error))
    throw error
  }
}

/** Completes a sign-in when the browser returns. Texts of the provider are never shown. */
export async function finishOidc(app: App, request: Request): Promise<Reply> {
  const provider = providerNamed(app, request.params['provider'])
  const params = parseParams(request.query)
  const login = await findPendingLogin(app, request, params.state)
  if (!login) throw badState('oidc_state')
  // The answer of one provider must not complete a sign-in at another one (RFC 9700 §4.4).
  if (login.provider !== provider.slug) throw badState('oidc_other_provider')
  const address = subscriber(request.remote)
  const wait = provider.failures.wait(address)
  if (wait > 0) throw tooMany(wait)
  if (!(await consumePendingLogin(app, login))) throw badState('oidc_state_used')
  let identity: OidcIdentity | undefined
  try {
    if (params.error !== undefined) throw upstreamRefusal(params.error)
    if (params.code === undefined)
      throw new OAuthError('invalid_request', 'the identity provider sent no code', { reason: 'oidc_no_code' })
    identity = await provider.redeem(request.query, login)
    checkEmailDomain(provider.settings, identity)
    return await signIn(app, request, provider, identity, login)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    // Every caller can cause failures without an identity. Only a limited number of them is recorded, so that they cannot fill the audit trail.
    if (identity || provider.failures.take(address) === 0) await recordFailure(app, request, provider, error)
    throw error.withHeaders({ 'set-cookie': clearPendingLogin(app, login) })
  }
}

async function recordFailure(app: App, request: Request, { slug }: OidcProvider, error: OAuthError): Promise<void> {
  const { user_id, ...about } = error.more.about ?? {}
  const detail = { provider: slug, reason: error.reason, ...about, ...(user_id ? { user_id } : {}) }
  app.log.warn(
    { ...detail, request_id: request.id, remote: request.remote },
    'a sign-in at the identity provider failed',
  )
  await audit(app, { action: 'user_oidc_login_failed', actor_id: '', ...sentBy(request), detail })
}

const badState = (reason: string): OAuthError =>
  new OAuthError('invalid_request', 'this sign-in has expired, was already used, or was started in another browser', {
    reason,
  })
const tooMany = (wait: number): OAuthError =>
  new OAuthError('slow_down', 'too many failed sign-ins from your address; please wait before you try again', {
    reason: 'oidc_too_many_failures',
    headers: { 'retry-after': String(wait) },
  })

async function signIn(
  app: App,
  request: Request,
  { slug, settings }: OidcProvider,
  identity: OidcIdentity,
  login: PendingLogin,
): Promise<Reply> {
  const { user, created, email_before } = await resolveFederatedUser(app, identity, settings)
  const cookies = [
    await startSession(app, request, user.id, upstreamSession(app, identity)),
    clearPendingLogin(app, login),
  ]
  const event = { actor_id: user.id, ...sentBy(request) }
  await audit(app, { action: 'user_oidc_login', ...event, detail: { created, provider: slug } })
  if (email_before !== undefined) {
    const detail = { provider: slug, email: user.email ?? '', email_before }
    await audit(app, { action: 'user_email_changed', ...event, detail })
  }
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

const upstreamRefusal = (error: string): OAuthError =>
  new OAuthError('invalid_request', 'the identity provider did not sign you in', {
    reason: `oidc_${upstreamReason(error)}`,
  })
