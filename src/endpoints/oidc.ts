// GET /oidc/start and /oidc/callback: out to the upstream OpenID provider, and back in as a user of ours.
import type { App } from '../app.ts'
import { parseParams, type Reply, type Request, redirect } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { audit, sentBy } from '../oauth/audit.ts'
import type { AuditAction, DetailOf } from '../oauth/audit_events.ts'
import { resolveFederatedUser } from '../oauth/federated_user.ts'
import type { OidcProvider } from '../oauth/oidc_provider.ts'
import { upstreamReason } from '../oauth/upstream_errors.ts'
import { html, page } from './pages.ts'
import { beginLogin, findLogin, forgetLogin, type PendingLogin } from './pending_login.ts'
import { startSession } from './session.ts'
import { safeRedirect } from './urls.ts'

/** Sends a browser to the provider. `redirect` is a path of ours to come back to, `prompt=login` asks for a new sign-in there. */
export async function startOidc(app: App, request: Request): Promise<Reply> {
  const provider = providerOf(app)
  const { redirect: target, prompt } = parseParams(request.query)
  const { login, cookies } = await beginLogin(app, request, safeRedirect(app, target))
  const url = await provider.authorizationUrl(login, prompt === 'login')
  return { ...redirect(url, { 'set-cookie': cookies }), status: 302 }
}

/** Takes a browser back in. Whatever the provider says in words stays here: the page tells in ours. */
export async function finishOidc(app: App, request: Request): Promise<Reply> {
  const provider = providerOf(app)
  const params = parseParams(request.query)
  const login = await findLogin(app, request, params.state)
  if (!login)
    throw new OAuthError('invalid_request', 'this sign-in has expired, or was begun in another browser', {
      reason: 'oidc_state',
    })
  try {
    if (params.error !== undefined) throw upstreamRefusal(params.error)
    if (params.code === undefined)
      throw new OAuthError('invalid_request', 'the identity provider sent no code', { reason: 'oidc_no_code' })
    return await signIn(app, request, provider, login)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    const detail = { provider: PROVIDER, reason: error.reason, ...error.more.about }
    app.log.warn(
      { ...detail, request_id: request.id, remote: request.remote },
      'a sign-in at the identity provider failed',
    )
    await note(app, request, 'user_oidc_login_failed', '', detail)
    throw error.withHeaders({ 'set-cookie': forgetLogin(app, login) })
  }
}

/** The slug of the provider of `oidc` in the configuration. */
const PROVIDER = 'default'

function providerOf({ oidc }: App): OidcProvider {
  if (!oidc) throw new OAuthError('not_found', 'there is no such page')
  return oidc
}

async function signIn(app: App, request: Request, provider: OidcProvider, login: PendingLogin): Promise<Reply> {
  const identity = await provider.redeem(request.query, login)
  const { user, created } = await resolveFederatedUser(app, identity)
  const cookies = [await startSession(app, request, user.id), forgetLogin(app, login)]
  await note(app, request, 'user_oidc_login', user.id, { created })
  return app.config.session.same_site === 'strict'
    ? ownStep(login.target, cookies)
    : redirect(login.target, { 'set-cookie': cookies })
}

/** A redirect would still count as coming from the provider, and a strict session cookie stay at home: a page of ours begins anew. */
const ownStep = (target: string, cookies: string[]): Reply =>
  page('Signed in', html`<h1>You are signed in</h1>\n<p><a href="${target}">Continue</a></p>`, {
    headers: { refresh: `0;url=${target}`, 'set-cookie': cookies },
  })

const upstreamRefusal = (error: string): OAuthError =>
  new OAuthError('invalid_request', 'the identity provider did not sign you in', {
    reason: `oidc_${upstreamReason(error)}`,
  })

const note = <A extends AuditAction>(app: App, request: Request, action: A, actor_id: string, detail: DetailOf<A>) =>
  audit(app, { action, actor_id, ...sentBy(request), detail })
