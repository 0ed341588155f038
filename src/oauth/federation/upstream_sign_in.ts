// Sign-in at an upstream OpenID provider: of users on the public listener, and of operators on the admin page.
import type { App, OidcIdentity, OidcProvider, WantedSignIn } from '../../context.ts'
import { type Params, parseParams, type Reply, type Request, redirect } from '../../http/message.ts'
import { asOAuthError } from '../../http/problem.ts'
import { subscriber } from '../../http/rate_limit.ts'
import { checkWait, OAuthError } from '../../lib/error.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import type { User } from '../../records/user.ts'
import { audit, newAuditEvent, sentBy } from '../audit.ts'
import {
  clearPendingLogin,
  consumePendingLogin,
  findPendingLogin,
  type PendingLogin,
  type PendingPlace,
  startPendingLogin,
} from '../sign_in/pending_login.ts'
import { checkEmailDomain, resolveFederatedUser } from './federated_user.ts'
import { upstreamReason } from './upstream_errors.ts'

/** What people sign in to. */
export interface SignInPlace extends PendingPlace {
  /** The callback of a provider. */
  redirectUri(provider: OidcProvider): string
  /** The audit action of a failure. */
  failed: 'user_oidc_login_failed' | 'admin_ui_login_failed'
  /** Starts the session of a person. `cookie` deletes the pending sign-in. */
  enter(request: Request, signedIn: UpstreamSignIn, cookie: string): Promise<Reply>
}

/** A completed sign-in. */
export interface UpstreamSignIn {
  provider: OidcProvider
  identity: OidcIdentity
  login: PendingLogin
  user: User
  /** Whether this sign-in created the account. */
  created: boolean
}

/** Redirects a browser to a provider. `target` is the local path to return to. */
export async function startUpstreamSignIn(
  app: App,
  request: Request,
  place: SignInPlace,
  provider: OidcProvider,
  { target, ...wanted }: WantedSignIn & { target: string },
): Promise<Reply> {
  const { reauthenticate } = wanted
  const pending = { provider: provider.slug, target, reauthenticate, redirect_uri: place.redirectUri(provider) }
  const { login, set } = await startPendingLogin(app, request, place, pending)
  try {
    const url = await provider.authorizationUrl(login, wanted)
    return { ...redirect(url, { 'set-cookie': set }), status: 302 }
  } catch (error) {
    if (provider.failures.take(subscriber(request.remote)) === 0)
      await recordFailure(app, request, place, provider, asOAuthError(error))
    throw error
  }
}

/**
 * Completes a sign-in when the browser returns. Texts of the provider are never shown. A refusal has the target of a sign-in that this browser
 * started.
 */
export async function finishUpstreamSignIn(
  app: App,
  request: Request,
  place: SignInPlace,
  provider: OidcProvider,
): Promise<Reply> {
  const params = parseParams(request.query)
  const login = await findPendingLogin(app, request, place, params.state)
  if (!login) throw badState('oidc_state')
  try {
    return await complete(app, request, place, provider, params, login)
  } catch (error) {
    const { target, reauthenticate } = login
    throw error instanceof OAuthError ? error.with({ target, reauthenticate }) : error
  }
}

async function complete(
  app: App,
  request: Request,
  place: SignInPlace,
  provider: OidcProvider,
  params: Params,
  login: PendingLogin,
): Promise<Reply> {
  if (login.until <= app.clock.now()) throw badState('oidc_state')
  // The answer of one provider must not complete a sign-in at another one (RFC 9700 §4.4).
  if (login.provider !== provider.slug) throw badState('oidc_other_provider')
  const address = subscriber(request.remote)
  checkWait(provider.failures.wait(address), TOO_MANY, 'oidc_too_many_failures')
  if (!(await consumePendingLogin(app, login))) throw badState('oidc_state_used')
  const cookie = clearPendingLogin(place, login)
  let identity: OidcIdentity | undefined
  try {
    if (params.error !== undefined) throw upstreamRefusal(params.error)
    if (params.code === undefined)
      throw new OAuthError('invalid_request', 'the identity provider sent no code', { reason: 'oidc_no_code' })
    identity = await provider.redeem(request.query, login)
    checkEmailDomain(provider.settings, identity)
    const { user, created } = await findAccount(app, request, provider, identity)
    return await place.enter(request, { provider, identity, login, user, created }, cookie)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    // Every caller can cause failures without an identity. Only a limited number of them is recorded, so that they cannot fill the audit trail.
    if (identity || provider.failures.take(address) === 0) await recordFailure(app, request, place, provider, error)
    throw error.withHeaders({ 'set-cookie': cookie })
  }
}

/** The account of a person, with what the provider says now. */
async function findAccount(
  app: App,
  request: Request,
  provider: OidcProvider,
  identity: OidcIdentity,
): Promise<{ user: User; created: boolean }> {
  // The operation finds the user.
  const entry = {
    action: 'user_email_changed',
    actor_id: '',
    ...sentBy(request),
    detail: { provider: provider.slug },
  } as const
  return resolveFederatedUser(app, identity, provider, newAuditEvent(app, entry))
}

async function recordFailure(
  app: App,
  request: Request,
  { failed }: SignInPlace,
  { slug }: OidcProvider,
  error: OAuthError,
): Promise<void> {
  const { user_id, ...about } = error.more.about ?? {}
  const detail = { provider: slug, reason: error.reason, ...about, ...(user_id ? { user_id } : {}) }
  app.log.warn(
    { ...detail, request_id: request.id, remote: request.remote },
    'a sign-in at the identity provider failed',
  )
  await audit(app, { action: failed, actor_id: '', ...sentBy(request), detail })
}

const badState = (reason: Reason): OAuthError =>
  new OAuthError('invalid_request', 'this sign-in has expired, was already used, or was started in another browser', {
    reason,
  })
const TOO_MANY = 'too many failed sign-ins from your address; please wait before you try again'
const upstreamRefusal = (error: string): OAuthError =>
  new OAuthError('invalid_request', 'the identity provider did not sign you in', {
    reason: `oidc_${upstreamReason(error)}`,
  })
