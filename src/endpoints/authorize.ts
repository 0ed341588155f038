// GET /oauth/authorize: checks, then login, then consent, then the code.
import type { App } from '../context.ts'
import { CODE_PREFIX } from '../grants/authorization_code.ts'
import { type Params, parseParams, prefersHtml, type Reply, type Request, redirect } from '../http/message.ts'
import { problem } from '../http/problem.ts'
import { OAuthError } from '../lib/error.ts'
import { newBearer, newId } from '../lib/id.ts'
import { isLoopbackHost } from '../lib/url.ts'
import { decideAccess } from '../oauth/access.ts'
import { sentBy } from '../oauth/audit.ts'
import { type AuthenticationRequest, isSignInDue, signInOf } from '../oauth/authentication_request.ts'
import {
  parseRequested,
  type Requested,
  type ReturnAddress,
  resolveReturnAddress,
  responseUri,
} from '../oauth/authorization.ts'
import { isPublic } from '../oauth/client_metadata.ts'
import { consentedTo, covers } from '../oauth/consent.ts'
import { isUnstored, keepDocumentClient } from '../oauth/document_client.ts'
import { PATHS } from '../oauth/metadata.ts'
import { isSignIn } from '../oauth/openid.ts'
import { isOnDevice, placeOf } from '../oauth/redirect_uri.ts'
import { queryAfterLogin, requiredLoginAt } from '../oauth/required_login.ts'
import type { AuthorizationRequest } from '../records/authorization_request.ts'
import type { Consent } from '../records/consent.ts'
import { personOf } from '../records/person.ts'
import type { RequestedSignIn, RequiredSignIn } from '../records/sign_in.ts'
import { answerAccessRefused } from './access_refused.ts'
import { localesOf, messagesOf } from './language.ts'
import { thrownPage } from './pages.ts'
import { findSignedIn, type SignedIn } from './session.ts'
import { basePath, loginUrl, toLogin } from './urls.ts'

/** Time in seconds that a user has for login and consent. */
const REQUEST_LIFETIME = 600
/** Lifetime of a code in seconds (RFC 6749 §4.1.2 allows ten minutes; a client needs less than one). */
export const CODE_LIFETIME = 60

/** Answers an authorization request: a redirect to the login or consent page, a code, or an error. */
export async function authorize(app: App, request: Request): Promise<Reply> {
  // Several values of `resource` become one text that names no resource. The error can then be sent to the client (RFC 8707).
  const params = parseParams(request.query, 'resource')
  request.notes.client_id = params.client_id
  const back = await resolveReturnAddress(app, params)
  const signedIn = await findSignedIn(app, request)
  try {
    const requested = await parseRequested(app, params, back.client)
    return await proceed(app, request, params, back, requested, signedIn)
  } catch (error) {
    if (!(error instanceof OAuthError) || error.status >= 500) throw error
    app.metrics.count('core_auth_denied_total', { reason: error.code })
    if (mayRedirect(back, signedIn)) {
      request.notes.refusal = error
      return redirect(responseUri(app, back, error))
    }
    if (!prefersHtml(request)) throw error
    request.notes.refusal = error
    return refusalPage(app, request, back, error)
  }
}

/** Answers an authorization request that was sent as a form (OpenID Connect Core §3.1.2.1). Browsers send the session cookie with the GET that follows. */
export const authorizeByForm = (app: App, { body }: Request): Reply =>
  redirect(`${basePath(app)}${PATHS.authorize}?${body.toString('utf8')}`)

/**
 * Whether an error may be sent to the redirect URI without a decision of the user. If every client may register itself, this would be an
 * open redirector (RFC 9700 §4.11.2). A loopback address is on the device of the user, and a command line client waits there.
 */
const mayRedirect = ({ client, redirect_uri }: ReturnAddress, signedIn: SignedIn | undefined): boolean =>
  client.registration_source === 'admin' || signedIn !== undefined || isLoopbackHost(new URL(redirect_uri).hostname)

/** A page that says what is wrong. The user may return to the application, which then gets the error. */
const refusalPage = (app: App, request: Request, back: ReturnAddress, error: OAuthError): Reply =>
  thrownPage(app, messagesOf(request), request.id, error, {
    back: { href: responseUri(app, back, error), place: placeOf(back.redirect_uri) },
  })

async function proceed(
  app: App,
  request: Request,
  params: Params,
  back: ReturnAddress,
  requested: Requested,
  signedIn: SignedIn | undefined,
): Promise<Reply> {
  const { prompt } = requested
  const login_at = requiredLoginAt(app, params, signedIn?.login_for)
  const isDue = isSignInDue(app, requested, signedIn?.session, login_at)
  if (!signedIn || isDue) {
    if (prompt.includes('none')) throw new OAuthError('login_required', 'no user is signed in')
    const again = prompt.includes('login') || requested.authentication.max_age !== undefined
    return toLogin(app, comeBack(app, request, params), again, params)
  }
  const { resource } = requested
  if (!resource) return decideOnConsent(app, request, back, requested, signedIn)
  const { scope, refused_by } = decideAccess(resource, personOf(signedIn.user), requested.scope)
  if (!refused_by) return decideOnConsent(app, request, back, { ...requested, scope }, signedIn)
  const another = loginUrl(app, comeBack(app, request, params), true)
  return answerAccessRefused(app, request, back, requested, {
    user: signedIn.user,
    resource,
    rule: refused_by,
    another,
  })
}

/** The consent page shows the account, with a link to use another one. */
const SHOWN = ['consent', 'select_account']

/** The code at once if the user has consented before, otherwise the consent page. */
async function decideOnConsent(
  app: App,
  request: Request,
  back: ReturnAddress,
  requested: Requested,
  signedIn: SignedIn,
): Promise<Reply> {
  const { prompt } = requested
  const consent = isCertain(back) ? await findCovering(app, back, requested, signedIn) : undefined
  const pending = toRequest(app, back, requested, signedIn)
  if (consent && !prompt.some((each) => SHOWN.includes(each))) {
    await keepDocumentClient(app, back.client, { actor_id: signedIn.user.id, ...sentBy(request) })
    return redirect(await grantAtOnce(app, back, pending, consent))
  }
  if (prompt.includes('none')) throw new OAuthError('consent_required', 'the user has not consented')
  await app.store.createAuthorizationRequest(pending)
  const query = new URLSearchParams({ session_id: pending.id, ...localesOf(request) })
  return redirect(`${basePath(app)}/consent?${query}`)
}

/** The URL of the same request, for after the login. */
const comeBack = (app: App, request: Request, params: Params): string =>
  `${request.path}?${queryAfterLogin(app, params)}`

/**
 * Whether only the client can get the response. Any program on the device can listen on loopback or claim a private-use scheme, and the
 * client_id of a public client is not secret: the user must be asked each time (RFC 8252 §8.6).
 */
const isCertain = ({ client, redirect_uri }: ReturnAddress): boolean => !isPublic(client) || !isOnDevice(redirect_uri)

/** The user's earlier consent, if it covers all requested scopes and the redirect URI. Consents are stored only for requests that name a resource, or sign in. */
async function findCovering(
  app: App,
  { client, redirect_uri }: ReturnAddress,
  { resource, scope }: Requested,
  { user }: SignedIn,
): Promise<Consent | undefined> {
  const resource_id = consentedTo(resource, scope)
  if (resource_id === undefined) return undefined
  const { client_id } = client
  const consent = await app.store.findConsent({ user_id: user.id, client_id, resource_id })
  return consent && covers(consent, scope, redirect_uri) ? consent : undefined
}

function toRequest(
  app: App,
  back: ReturnAddress,
  requested: Requested,
  { session, user }: SignedIn,
): AuthorizationRequest {
  const now = app.clock.now()
  return {
    id: newId(),
    client_id: back.client.client_id,
    user_id: user.id,
    session_id: session.id,
    redirect_uri: back.redirect_uri,
    redirect_uri_sent: back.redirect_uri_sent,
    scope: requested.scope.join(' '),
    asked_scope: (requested.asked_scope.length > 0 ? requested.asked_scope : requested.scope).join(' '),
    resource: requested.resource?.uri,
    state: back.state,
    code_challenge: requested.code_challenge,
    dpop_jkt: requested.dpop_jkt,
    sign_in: requestedSignIn(app, requested, session),
    client: isUnstored(back.client) ? back.client : undefined,
    created_at: now,
    expires_at: now + REQUEST_LIFETIME,
  }
}

/** The sign-in, if tokens contain it: for a request that names `openid`, or has requirements for the sign-in. */
function requestedSignIn(
  { config }: App,
  { scope, authentication }: Requested,
  session: SignedIn['session'],
): RequestedSignIn | undefined {
  if (!config.oauth.openid) return undefined
  const { nonce, max_age, acr_values } = authentication
  const sign_in = { ...signInOf(session), required: requiredOf(authentication) }
  if (isSignIn(scope)) return { ...sign_in, nonce }
  return max_age !== undefined || acr_values.length > 0 ? sign_in : undefined
}

/** What the request requires of the sign-in; undefined when it requires nothing. */
function requiredOf({ max_age, acr_values, hinted }: AuthenticationRequest): RequiredSignIn | undefined {
  if (max_age === undefined && acr_values.length === 0 && hinted === undefined) return undefined
  return {
    max_age,
    ...(acr_values.length > 0 ? { acr_values: acr_values.join(' ') } : {}),
    ...(hinted === undefined ? {} : { is_for_user: true }),
  }
}

async function grantAtOnce(
  app: App,
  back: ReturnAddress,
  pending: AuthorizationRequest,
  consent: Consent,
): Promise<string> {
  const code = newBearer(CODE_PREFIX, pending.id)
  await app.store.createAuthorizationRequest({
    ...pending,
    client: undefined,
    consent_id: consent.id,
    code_hash: code.hash,
    code_expires_at: app.clock.now() + CODE_LIFETIME,
  })
  return responseUri(app, back, { code: code.value })
}

/** Refusals without a redirect URI that could be trusted: a page for browsers, a problem document for programs. */
export const renderAuthorizeError = (app: App, error: OAuthError, request: Request): Reply =>
  prefersHtml(request)
    ? thrownPage(app, messagesOf(request), request.id, error, { headers: error.more.headers })
    : problem(error, request, request.id)
