// GET and POST /consent: the page shows the client, the resource, the scopes and the redirect host, and takes the user's decision.
import type { App } from '../context.ts'
import { parseForm, parseParams, type Reply, type Request, splitTarget } from '../http/message.ts'
import { newId } from '../lib/id.ts'
import { newAuditEvent, sentBy } from '../oauth/audit.ts'
import { approvalOf } from '../oauth/clients/approval.ts'
import { checkAdmitted } from '../oauth/clients/cimd.ts'
import { keepDocumentClient } from '../oauth/clients/document_client.ts'
import { PATHS } from '../oauth/metadata.ts'
import { consentedTo, decided } from '../oauth/sign_in/consent.ts'
import { mayAnswer } from '../oauth/sign_in/pushed_request.ts'
import { queryForAnother } from '../oauth/sign_in/required_login.ts'
import { scopeNames } from '../oauth/tokens/resource.ts'
import type { AuthorizationRequest } from '../records/authorization_request.ts'
import { hasCookies, isForeign } from './origin.ts'
import { consentForm, consentPage, type ShownRequest } from './pages/consent_page.ts'
import { decidedPage } from './pages/device_page.ts'
import { messagesOf } from './pages/language.ts'
import { respond } from './pages/response.ts'
import { pathAndQuery, toLogin } from './pages/urls.ts'
import {
  answerAgain,
  beginAgain,
  type ConsentAnswer,
  codeOfRequest,
  consentPlace,
  denial,
  endConsent,
  findRequest,
  isOpen,
  type Own,
  refuseForeign,
  refuseForm,
  refusePending,
  withdrawAnswer,
} from './pending_request.ts'
import { findSignedIn, isFormToken, type SignedIn } from './session.ts'

/** The consent page of a pending request of this browser. With `account=another` the same request begins again with a sign-in. */
export async function showConsent(app: App, http: Request): Promise<Reply> {
  const { session_id, account } = parseParams(http.query)
  const signedIn = await findSignedIn(app, http)
  if (!signedIn) return toLogin(app, http, pathAndQuery(http))
  const own = await refuseForeign(app, http, signedIn, await findRequest(app, session_id))
  if ('status' in own) return own
  if (account === 'another' && own.place) return asSomebodyElse(app, http, own.place)
  if (!isOpen(app, own.request)) return answerAgain(app, http, own)
  const pending = await detailsOf(app, own.request)
  return pending ? consentPage(app, http, pending, signedIn) : refusePending(app, http, own.request)
}

/**
 * The same request for another account, after a sign-in. The request itself does not require a new sign-in, unless the client did: some providers
 * never say when a user signed in, and could not satisfy it.
 */
async function asSomebodyElse(app: App, http: Request, place: string): Promise<Reply> {
  const { path, query } = splitTarget(place)
  if (path !== PATHS.authorize) return toLogin(app, http, place, true)
  return toLogin(app, http, `${path}?${await queryForAnother(app, query)}`, true)
}

/** What the page shows of a request, if its client is still active and its resource still exists. */
async function detailsOf(app: App, request: AuthorizationRequest): Promise<ShownRequest | undefined> {
  const { id } = request
  const [stored, resource, device] = await Promise.all([
    app.store.findClient({ client_id: request.client_id }),
    request.resource === undefined ? undefined : app.store.findResource({ uri: request.resource }),
    request.redirect_uri === '' ? app.store.findPolledRequest({ id }) : undefined,
  ])
  // A client that is not stored yet is the document that was fetched with the request, even if the document has changed since.
  const client = stored ?? request.client
  if (client && !stored) await checkAdmitted(app, client)
  // The key may have been set, or the client denied, since the request began.
  if (client && (await approvalOf(app, client)) !== 'approved') return undefined
  if (client?.status !== 'active' || (request.resource !== undefined && !resource)) return undefined
  return { request, client, resource, device }
}

/** Handles the posted decision. */
export async function decideConsent(app: App, http: Request): Promise<Reply> {
  const form = parseForm(http, 'scopes', 'details')
  if (isForeign(app, http)) return refuseForm(app, http, 403, 'bad_form', form.session_id)
  const signedIn = await findSignedIn(app, http)
  if (!signedIn && !hasCookies(http)) return refuseForm(app, http, 401, 'no_cookies', form.session_id)
  if (!signedIn) return toLogin(app, http, consentPlace(http, form.session_id ?? ''))
  const own = await refuseForeign(app, http, signedIn, await findRequest(app, form.session_id), form.action)
  if ('status' in own) return own
  const { request } = own
  if (!isFormToken(app, signedIn, consentForm(request), form.csrf_token))
    return refuseForm(app, http, 403, 'bad_form', request.id)
  const { action } = form
  if (action !== 'allow' && action !== 'deny') return refuseForm(app, http, 400, 'noDecision', request.id)
  const approved = scopeNames(form.scopes ?? '')
  const details = positionsIn(form.details)
  const asksNothing = request.scope === '' && request.authorization_details === undefined
  if (action === 'allow' && approved.length === 0 && details.length === 0 && !asksNothing)
    return refuseForm(app, http, 400, 'nothingAllowed', request.id)
  return decideOwn(app, http, own, signedIn, { action, approved, details })
}

/** Handles the decision of a person about a request of their own. */
async function decideOwn(app: App, http: Request, own: Own, signedIn: SignedIn, answer: ConsentAnswer): Promise<Reply> {
  const request = await withdrawAnswer(app, own.request, answer)
  if (!isOpen(app, request)) return answerAgain(app, http, { ...own, request }, answer)
  const pending = await detailsOf(app, request)
  if (!pending) return refusePending(app, http, request)
  if (!(await mayAnswer(app, request))) return refusePending(app, http, request)
  const decision = { ...pending, signedIn }
  if (answer.action === 'deny') {
    const denied = await deny(app, http, decision)
    if (denied && request !== own.request) await endConsent(app, http, request)
    return denied ?? decidedMeanwhile(app, http, own, answer)
  }
  if (isWithin(request, answer))
    return (await allow(app, http, decision, answer)) ?? decidedMeanwhile(app, http, own, answer)
  // What was asked is not known any more after an answer with fewer scopes: the person is asked again.
  return request === own.request ? refuseForm(app, http, 400, 'tooMuchAllowed', request.id) : beginAgain(app, http, own)
}

/** The positions in the boxes of a form. One that no page can have is NaN, which no request has. */
const positionsIn = (text = ''): number[] =>
  scopeNames(text).map((at) => (/^\d{1,2}$/.test(at) ? Number(at) : Number.NaN))

/** Whether an answer allows no more than the request asks for. */
const isWithin = (
  { scope, authorization_details }: AuthorizationRequest,
  { approved, details }: ConsentAnswer,
): boolean =>
  approved.every((name) => scopeNames(scope).includes(name)) &&
  details.every((at) => authorization_details?.asked[at] !== undefined)

/** The answer to a form that another one overtook: a double click, or the repetition of a browser. */
async function decidedMeanwhile(
  app: App,
  http: Request,
  { place, request: { id } }: Own,
  answer: ConsentAnswer,
): Promise<Reply> {
  const request = await findRequest(app, id)
  return request ? answerAgain(app, http, { request, place }, answer) : refusePending(app, http, undefined)
}

interface Decision extends ShownRequest {
  signedIn: SignedIn
}

/** Records the consent. Undefined when the request was decided meanwhile. */
async function allow(
  app: App,
  http: Request,
  pending: Decision,
  { approved, details }: ConsentAnswer,
): Promise<Reply | undefined> {
  const { request, resource, device } = pending
  const { client_id, user_id } = request
  http.notes.client_id = client_id
  const now = app.clock.now()
  const code = codeOfRequest(app, request)
  const resource_id = consentedTo(resource, approved)
  const consent =
    resource_id === undefined
      ? undefined
      : {
          id: newId(),
          user_id,
          client_id,
          resource_id,
          ...(await afterDecision(app, pending, resource_id, approved)),
        }
  const scope = approved.join(' ')
  // Without a redirect URI no client gets the code of a consent.
  const lifetime = request.redirect_uri === '' ? 0 : app.config.oauth.code_expiry
  const asked = request.authorization_details
  const authorization_details = asked && { asked: asked.asked, granted: details.toSorted((a, b) => a - b) }
  const approval = {
    id: request.id,
    session_id: pending.signedIn.session.id,
    scope,
    authorization_details,
    consent,
    now,
  }
  const event = eventOf(app, http, pending, 'consent_granted', scope)
  const taken = device
    ? await app.store.recorded(
        'approvePolledRequest',
        { ...approval, code_hash: device.hash, code_expires_at: device.expires_at },
        event,
      )
    : await app.store.recorded(
        'approveAuthorizationRequest',
        { ...approval, code_hash: code.hash, code_expires_at: now + lifetime },
        event,
      )
  if (!taken) return undefined
  await keepDocumentClient(app, pending.client, { actor_id: user_id, ...sentBy(http) })
  app.metrics.count('core_consent_decisions_total', { decision: 'approved' })
  app.metrics.observe('core_auth_flow_duration_seconds', now - request.created_at)
  return request.redirect_uri === ''
    ? decidedPage(app, messagesOf(http), 'allowed', device !== undefined)
    : respond(app, http, request, { code: code.value })
}

/** The stored consent after the decision. */
async function afterDecision(app: App, { request }: ShownRequest, resource_id: string, approved: readonly string[]) {
  const { user_id, client_id, redirect_uri } = request
  const before = await app.store.findConsent({ user_id, client_id, resource_id })
  return decided(before, { asked: scopeNames(request.scope), approved, redirect_uri })
}

/** Records the refusal. Undefined when the request was decided meanwhile. */
async function deny(app: App, http: Request, pending: Decision): Promise<Reply | undefined> {
  const { request, device } = pending
  const { id } = request
  const event = eventOf(app, http, pending, 'consent_denied', request.scope)
  const decision = { id, now: app.clock.now() }
  const taken = await app.store.recorded(device ? 'denyPolledRequest' : 'denyAuthorizationRequest', decision, event)
  if (!taken) return undefined
  const error = denial()
  Object.assign(http.notes, { client_id: request.client_id, refusal: error })
  app.metrics.count('core_consent_decisions_total', { decision: 'denied' })
  app.metrics.count('core_auth_denied_total', { reason: 'access_denied' })
  return request.redirect_uri === ''
    ? decidedPage(app, messagesOf(http), 'denied', device !== undefined)
    : respond(app, http, request, error)
}

const eventOf = (
  app: App,
  http: Request,
  { request, resource, device }: ShownRequest,
  action: 'consent_granted' | 'consent_denied',
  scope: string,
) =>
  newAuditEvent(app, {
    action,
    actor_id: request.user_id,
    client_id: request.client_id,
    ...sentBy(http),
    detail: {
      scope,
      ...(resource ? { resource: resource.uri } : {}),
      ...(device ? { device_address: device.ip } : {}),
    },
  })
