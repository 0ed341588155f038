// GET /oauth/authorize: checks, then login, then consent, then the code.
import type { App } from '../context.ts'
import { CODE_PREFIX } from '../grants/authorization_code.ts'
import { type Params, parseParams, prefersHtml, type Reply, type Request, redirect } from '../http/message.ts'
import { problem } from '../http/problem.ts'
import { OAuthError } from '../lib/error.ts'
import { newBearer, newId } from '../lib/id.ts'
import { isLoopbackHost } from '../lib/url.ts'
import { sentBy } from '../oauth/audit.ts'
import { checkNotDenied } from '../oauth/clients/approval.ts'
import { isPublic } from '../oauth/clients/client_metadata.ts'
import { askerOf } from '../oauth/clients/client_standing.ts'
import { isUnstored, keepDocumentClient } from '../oauth/clients/document_client.ts'
import { resolveClient } from '../oauth/clients/find_client.ts'
import { isOnDevice } from '../oauth/clients/redirect_uri.ts'
import { PATHS } from '../oauth/metadata.ts'
import { isSignIn } from '../oauth/openid.ts'
import { type AuthenticationRequest, dueSignIn, signInOf } from '../oauth/sign_in/authentication_request.ts'
import {
  parseRequested,
  type Requested,
  type ReturnAddress,
  resolveReturnAddress,
} from '../oauth/sign_in/authorization.ts'
import { consentedTo, covers } from '../oauth/sign_in/consent.ts'
import { checkPushed, mayAnswer, openRequested, usedRequestUri } from '../oauth/sign_in/pushed_request.ts'
import { queryAfterLogin, queryForAnother, requiredLoginAt } from '../oauth/sign_in/required_login.ts'
import { decideAccess } from '../oauth/tokens/access.ts'
import { isAdminSignInDue, isAdminUri, isLocalAdmin } from '../oauth/tokens/admin_resource.ts'
import type { AuthorizationRequest } from '../records/authorization_request.ts'
import type { Consent } from '../records/consent.ts'
import type { RequestedSignIn, RequiredSignIn } from '../records/sign_in.ts'
import { personOf } from '../records/user.ts'
import { askConsentAlone, asksConsentAlone } from './consent_alone.ts'
import { answerAccessRefused } from './pages/access_refused.ts'
import { answerUnapproved } from './pages/approval.ts'
import { messagesOf } from './pages/language.ts'
import { thrownPage } from './pages/pages.ts'
import { backWith, respond } from './pages/response.ts'
import { basePath, loginUrl, toLogin } from './pages/urls.ts'
import { askConsent } from './pending_request.ts'
import { findSignedIn, type SignedIn } from './session.ts'
import { stepUp } from './sign_in/step_up.ts'

/** Time in seconds that a user has for login and consent. */
const REQUEST_LIFETIME = 600

/** Maximum length of a request. With what is added on its way through login and consent, it still fits into the head of a request. */
const MAX_QUERY = 12 * 1024
/** The length of the parameters that are added here, on the way through login and consent. */
const lengthOfOurs = ({ login_for, prompt }: Params): number =>
  Object.entries({ login_for, prompt }).reduce(
    (sum, [name, value]) => sum + (value ? `&${name}=${value}`.length : 0),
    0,
  )

const tooLong = () => new OAuthError('invalid_request', 'the request is too long', { reason: 'request_too_long' })

/** Answers an authorization request: a redirect to the login or consent page, a code, or an error. */
export async function authorize(app: App, request: Request): Promise<Reply> {
  // Several values of `resource` become one text that names no resource. The error can then be sent to the client (RFC 8707).
  const sent = parseParams(request.query, 'resource')
  request.notes.client_id = sent.client_id
  const opened = await openRequested(app, sent).catch((error: unknown) => endedPage(app, request, sent, error))
  if ('status' in opened) return opened
  const { params, pushed_id } = opened
  const signedIn = await findSignedIn(app, request)
  const isTooLong = request.query.length - lengthOfOurs(params) > MAX_QUERY
  if (asksConsentAlone(params)) {
    if (isTooLong) throw tooLong()
    return askConsentAlone(app, request, params, signedIn)
  }
  const back = { ...(await resolveReturnAddress(app, params, askerOf(request, signedIn?.user))), pushed_id }
  try {
    if (isTooLong) throw tooLong()
    checkPushed(app.config, back)
    await checkNotDenied(app, back.client, 'access_denied')
    const requested = await parseRequested(app, params, back.client)
    return await proceed(app, request, params, back, requested, signedIn)
  } catch (error) {
    if (!(error instanceof OAuthError) || error.status >= 500) throw error
    app.metrics.count('core_auth_denied_total', { reason: error.code })
    if (mayRedirect(back, signedIn)) {
      request.notes.refusal = error
      return await respond(app, request, back, error)
    }
    if (!prefersHtml(request)) throw error
    request.notes.refusal = error
    return refusalPage(app, request, back, error)
  }
}

/** The page of a pushed request that has ended, with the way back to its application. Throws the error for programs. */
async function endedPage(app: App, request: Request, { client_id = '' }: Params, error: unknown): Promise<Reply> {
  if (!(error instanceof OAuthError) || error.code !== 'invalid_request_uri' || !prefersHtml(request)) throw error
  request.notes.refusal = error
  const { status, redirect_uris = [] } = (await resolveClient(app, client_id)) ?? {}
  const [redirect_uri, ...others] = redirect_uris
  const isOnly = status === 'active' && redirect_uri !== undefined && others.length === 0
  const back = isOnly ? backWith(app, { redirect_uri }, error) : undefined
  return thrownPage(app, messagesOf(request), request, error, { back })
}

/** Answers an authorization request that was sent as a form (OpenID Connect Core §3.1.2.1). Browsers send the session cookie with the GET that follows. */
export function authorizeByForm(app: App, request: Request): Reply | Promise<Reply> {
  const query = request.body.toString('utf8')
  if (query.length > MAX_QUERY) return authorize(app, { ...request, query })
  return redirect(`${basePath(app)}${PATHS.authorize}?${query}`)
}

/**
 * Whether an error may be sent to the redirect URI without a decision of the user. If every client may register itself, this would be an
 * open redirector (RFC 9700 §4.11.2). A loopback address is on the device of the user, and a command line client waits there.
 */
const mayRedirect = ({ client, redirect_uri }: ReturnAddress, signedIn: SignedIn | undefined): boolean =>
  client.registration_source === 'admin' || signedIn !== undefined || isLoopbackHost(new URL(redirect_uri).hostname)

/** A page that says what is wrong. The user may return to the application, which then gets the error. */
const refusalPage = (app: App, request: Request, back: ReturnAddress, error: OAuthError): Reply =>
  thrownPage(app, messagesOf(request), request, error, {
    back: backWith(app, back, error),
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
  const isTooOld = isAdminSignInDue(app, requested.resource?.uri, signedIn?.session, login_at)
  const due = dueSignIn(app, requested, signedIn?.session, login_at)
  if (!signedIn || isTooOld || due === 'sign_in') {
    if (prompt.includes('none')) throw new OAuthError('login_required', 'no user is signed in')
    const again = isTooOld || prompt.includes('login') || requested.authentication.max_age !== undefined
    return toLogin(app, request, comeBack(app, request, params), again)
  }
  const asked = { client: back.client, resource: requested.resource, user: signedIn.user, back }
  const unapproved = await answerUnapproved(app, request, { ...asked, isSilent: prompt.includes('none') })
  if (unapproved) return unapproved
  const steppedUp = (classes: readonly string[]) =>
    stepUp(app, request, signedIn, { classes, prompt, comeBack: comeBack(app, request, params) })
  if (due) return steppedUp(requested.authentication.acr_values)
  const { resource } = requested
  const needsPasskey = isAdminUri(app.config, resource?.uri) && isLocalAdmin(app, signedIn.user)
  if (needsPasskey && signedIn.session.acr !== 'phr') return steppedUp(['phr'])
  if (!resource) return decideOnConsent(app, request, back, requested, signedIn)
  const { scope, refused_by } = decideAccess(resource, personOf(signedIn.user), requested.scope, signedIn.session)
  if (!refused_by) return decideOnConsent(app, request, back, { ...requested, scope }, signedIn)
  if (refused_by === 'second_factor' && signedIn.user.provider === 'local') return steppedUp(['mfa'])
  const another = await loginUrl(app, request, `${request.path}?${await queryForAnother(app, request.query)}`, true)
  return answerAccessRefused(app, request, back, requested, {
    user: signedIn.user,
    resource,
    rule: refused_by,
    another,
  })
}

/**
 * Whether the request asks for the page also where consent is there already. The page shows the account, with a link to use another one.
 * MCP clients add `prompt=consent` wherever `offline_access` is offered, only because OpenID Connect Core §11 asks for the scope that
 * way unless there is consent to it. Without `openid` it therefore asks for that consent once, and not at every login.
 */
function asksForPage({ prompt, scope }: Requested): boolean {
  if (prompt.includes('select_account')) return true
  return prompt.includes('consent') && (isSignIn(scope) || !scope.includes('offline_access'))
}

/** The code at once if the user has consented before, otherwise the consent page. */
async function decideOnConsent(
  app: App,
  request: Request,
  back: ReturnAddress,
  requested: Requested,
  signedIn: SignedIn,
): Promise<Reply> {
  // At the admin listener the user is asked each time, and so is the user of authorization details: no consent remembers them.
  const asksAlways =
    isAdminUri(app.config, requested.resource?.uri) || !isCertain(back) || requested.authorization_details
  const consent = asksAlways ? undefined : await findCovering(app, back, requested, signedIn)
  const pending = toRequest(app, back, requested, signedIn)
  if (consent && !asksForPage(requested)) {
    await keepDocumentClient(app, back.client, { actor_id: signedIn.user.id, ...sentBy(request) })
    return respond(app, request, back, await grantAtOnce(app, pending, consent))
  }
  if (requested.prompt.includes('none')) throw new OAuthError('consent_required', 'the user has not consented')
  return askConsent(app, request, { ...pending, client: isUnstored(back.client) ? back.client : undefined })
}

/** The URL of the same request, for after the login. */
const comeBack = (app: App, request: Request, params: Params): string =>
  `${request.path}?${queryAfterLogin(app, params, request.query)}`

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
    authorization_details: requested.authorization_details && { asked: requested.authorization_details },
    state: back.state,
    response_mode: back.response_mode,
    pushed_id: back.pushed_id,
    code_challenge: requested.code_challenge,
    dpop_jkt: requested.dpop_jkt,
    sign_in: requestedSignIn(app, requested, session),
    created_at: now,
    expires_at: now + REQUEST_LIFETIME,
  }
}

/** The sign-in, if tokens contain it: for a request that names `openid`, or has requirements for the sign-in, or a class that was reached. */
function requestedSignIn(
  { config }: App,
  { scope, authentication }: Requested,
  session: SignedIn['session'],
): RequestedSignIn | undefined {
  const { nonce, max_age, acr_values } = authentication
  const sign_in = { ...signInOf(session), required: requiredOf(authentication) }
  if (!config.oauth.openid) return sign_in.acr === undefined ? undefined : sign_in
  if (isSignIn(scope)) return { ...sign_in, nonce }
  return max_age !== undefined || acr_values.length > 0 || sign_in.acr !== undefined ? sign_in : undefined
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

/** Records the code of a request that an earlier consent covers. */
async function grantAtOnce(app: App, pending: AuthorizationRequest, consent: Consent): Promise<{ code: string }> {
  if (!(await mayAnswer(app, pending))) throw usedRequestUri()
  const code = newBearer(CODE_PREFIX, pending.id)
  await app.store.createAuthorizationRequest({
    ...pending,
    consent_id: consent.id,
    code_hash: code.hash,
    code_expires_at: app.clock.now() + app.config.oauth.code_expiry,
  })
  return { code: code.value }
}

/** Refusals without a redirect URI that could be trusted: a page for browsers, a problem document for programs. */
export const renderAuthorizeError = (app: App, error: OAuthError, request: Request): Reply =>
  prefersHtml(request)
    ? thrownPage(app, messagesOf(request), request, error, { headers: error.more.headers })
    : problem(error, request, request.id, app.config.oauth.error_content_type)
