// GET and POST /consent: the page shows the client, the resource, the scopes and the redirect host, and takes the user's decision.
import type { App } from '../context.ts'
import { parseForm, parseParams, type Reply, type Request, splitTarget } from '../http/message.ts'
import { PATHS } from '../oauth/metadata.ts'
import { mayAnswer } from '../oauth/sign_in/pushed_request.ts'
import { queryForAnother } from '../oauth/sign_in/required_login.ts'
import type { AuthorizationRequest } from '../records/authorization_request.ts'
import { answerIn, isWithin, type PersonDecision, recordAllowed, recordDenied, shownOf } from './decision.ts'
import { hasCookies, isForeign } from './origin.ts'
import { consentForm, consentPage, type ShownRequest } from './pages/consent_page.ts'
import { decidedPage } from './pages/device_page.ts'
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
  const pending = await findShown(app, own.request)
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

/** What the page shows of a request; undefined if it cannot be decided about now. */
async function findShown(app: App, request: AuthorizationRequest): Promise<ShownRequest | undefined> {
  const { id, redirect_uri } = request
  return shownOf(app, request, redirect_uri === '' ? await app.store.findPolledRequest({ id }) : undefined)
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
  const answer = answerIn(request, form)
  if (typeof answer === 'string') return refuseForm(app, http, 400, answer, request.id)
  return decideOwn(app, http, own, signedIn, answer)
}

/** Handles the decision of a person about a request of their own. */
async function decideOwn(app: App, http: Request, own: Own, signedIn: SignedIn, answer: ConsentAnswer): Promise<Reply> {
  const request = await withdrawAnswer(app, own.request, answer)
  if (!isOpen(app, request)) return answerAgain(app, http, { ...own, request }, answer)
  const pending = await findShown(app, request)
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

/** Records the consent. Undefined when the request was decided meanwhile. */
async function allow(
  app: App,
  http: Request,
  pending: PersonDecision,
  answer: ConsentAnswer,
): Promise<Reply | undefined> {
  const { request, polled } = pending
  const code = codeOfRequest(app, request)
  // Without a redirect URI no client gets the code of a consent.
  const lifetime = request.redirect_uri === '' ? 0 : app.config.oauth.code_expiry
  const redeemable = polled
    ? { code_hash: polled.hash, code_expires_at: polled.expires_at }
    : { code_hash: code.hash, code_expires_at: app.clock.now() + lifetime }
  if (!(await recordAllowed(app, http, pending, answer, redeemable))) return undefined
  return request.redirect_uri === ''
    ? decidedPage(app, http, 'allowed', polled !== undefined)
    : respond(app, http, request, { code: code.value })
}

/** Records the refusal. Undefined when the request was decided meanwhile. */
async function deny(app: App, http: Request, pending: PersonDecision): Promise<Reply | undefined> {
  const { request, polled } = pending
  if (!(await recordDenied(app, http, pending))) return undefined
  return request.redirect_uri === ''
    ? decidedPage(app, http, 'denied', polled !== undefined)
    : respond(app, http, request, denial())
}
