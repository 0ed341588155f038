// GET /oidc/start and /oidc/callback: sign-in at the upstream OpenID provider.
import type { App, OidcIdentity, OidcProvider } from '../context.ts'
import { parseParams, type Reply, type Request, redirect } from '../http/message.ts'
import { subscriber } from '../http/rate_limit.ts'
import { OAuthError } from '../lib/error.ts'
import { html } from '../lib/html.ts'
import { audit, sentBy } from '../oauth/audit.ts'
import type { AuditAction, DetailOf } from '../oauth/audit_events.ts'
import { resolveFederatedUser } from '../oauth/federated_user.ts'
import { upstreamReason } from '../oauth/upstream_errors.ts'
import { page } from './pages.ts'
import {
  clearPendingLogin,
  consumePendingLogin,
  findPendingLogin,
  type PendingLogin,
  startPendingLogin,
} from './pending_login.ts'
import { startSession } from './session.ts'
import { safeRedirect } from './urls.ts'

/** Redirects a browser to the provider. `redirect` is the local path to return to; `prompt=login` requires a new sign-in there. */
export async function startOidc(app: App, request: Request): Promise<Reply> {
  const provider = providerOf(app)
  const { redirect: target, prompt } = parseParams(request.query)
  const { login, cookies } = await startPendingLogin(app, request, safeRedirect(app, target))
  const url = await provider.authorizationUrl(login, prompt === 'login')
  return { ...redirect(url, { 'set-cookie': cookies }), status: 302 }
}

/** Completes a sign-in when the browser returns. Texts of the provider are never shown. */
export async function finishOidc(app: App, request: Request): Promise<Reply> {
  const provider = providerOf(app)
  const params = parseParams(request.query)
  const login = await findPendingLogin(app, request, params.state)
  if (!login) throw badState('oidc_state')
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
    return await signIn(app, request, identity, login)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    // Anybody can cause failures without an identity. Only a limited number of them is recorded, so that they cannot fill the audit trail.
    if (identity || provider.failures.take(address) === 0) await recordFailure(app, request, error)
    throw error.withHeaders({ 'set-cookie': clearPendingLogin(app, login) })
  }
}

/** The name that the audit trail gives the provider of the `oidc` configuration. */
const PROVIDER = 'default'

async function recordFailure(app: App, request: Request, error: OAuthError): Promise<void> {
  const detail = { provider: PROVIDER, reason: error.reason, ...error.more.about }
  app.log.warn(
    { ...detail, request_id: request.id, remote: request.remote },
    'a sign-in at the identity provider failed',
  )
  await record(app, request, 'user_oidc_login_failed', '', detail)
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

function providerOf({ oidc }: App): OidcProvider {
  if (!oidc) throw new OAuthError('not_found', 'there is no such page')
  return oidc
}

async function signIn(app: App, request: Request, identity: OidcIdentity, login: PendingLogin): Promise<Reply> {
  const { user, created } = await resolveFederatedUser(app, identity)
  const cookies = [await startSession(app, request, user.id), clearPendingLogin(app, login)]
  await record(app, request, 'user_oidc_login', user.id, { created })
  return app.config.session.same_site === 'strict'
    ? continuePage(login.target, cookies)
    : redirect(login.target, { 'set-cookie': cookies })
}

/** With SameSite=Strict a redirect would not send the session cookie, because the navigation started at the provider. A page starts a new one. */
const continuePage = (target: string, cookies: string[]): Reply =>
  page('Signed in', html`<h1>You are signed in</h1>\n<p><a href="${target}">Continue</a></p>`, {
    headers: { refresh: `0;url=${target}`, 'set-cookie': cookies },
  })

const upstreamRefusal = (error: string): OAuthError =>
  new OAuthError('invalid_request', 'the identity provider did not sign you in', {
    reason: `oidc_${upstreamReason(error)}`,
  })

const record = <A extends AuditAction>(app: App, request: Request, action: A, actor_id: string, detail: DetailOf<A>) =>
  audit(app, { action, actor_id, ...sentBy(request), detail })
