// A request that waits for the decision of a person, at the consent page. It belongs to a browser and a person, and outlives the session that
// it was made in, its expiry and its first answer: each of them leads to the application, or to a page with a link to it.
import type { App } from '../context.ts'
import { CODE_PREFIX } from '../grants/authorization_code.ts'
import { type Reply, type Request, redirect, splitTarget } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { type Bearer, bearerOf, equalSecrets, isId } from '../lib/id.ts'
import { newAuditEvent, sentBy } from '../oauth/audit.ts'
import { PATHS } from '../oauth/metadata.ts'
import { sealerFor } from '../oauth/sign_in/pending_value.ts'
import { askingForConsent } from '../oauth/sign_in/pushed_request.ts'
import { scopeNames } from '../oauth/tokens/resource.ts'
import type { AuthorizationRequest } from '../records/authorization_request.ts'
import { decidedPage } from './pages/device_page.ts'
import { localesOf, messagesOf } from './pages/language.ts'
import { errorPage } from './pages/pages.ts'
import { respond } from './pages/response.ts'
import { basePath, pathAndQuery } from './pages/urls.ts'
import { backTo } from './pages/way_back.ts'
import { browserOf, type SignedIn } from './session.ts'

/** The local path of the consent page of a request. */
export const consentPlace = (http: Request, id: string): string =>
  `/consent?${new URLSearchParams({ session_id: id, ...localesOf(http) })}`

/** The local path with which a request begins again, as only its browser can read it. */
export const sealPlace = (key: string, place: string): Promise<string> => sealerFor(key).seal({ place })

/** Records a request of this browser, and redirects to the consent page. */
export async function askConsent(app: App, http: Request, request: AuthorizationRequest): Promise<Reply> {
  const { key, cookie } = browserOf(app, http)
  await app.store.createAuthorizationRequest({ ...request, sealed: await sealPlace(key, pathAndQuery(http)) })
  return redirect(basePath(app) + consentPlace(http, request.id), { 'set-cookie': cookie })
}

/** The local path with which a request of this browser begins again. */
async function placeOfRequest({ browser }: SignedIn, { sealed }: AuthorizationRequest): Promise<string | undefined> {
  const { place } = (browser && sealed && (await sealerFor(browser).open(sealed))) || {}
  return typeof place === 'string' ? place : undefined
}

/** The request with an id, in any state. */
export const findRequest = async (app: App, id: string | undefined): Promise<AuthorizationRequest | undefined> =>
  id !== undefined && isId(id) ? app.store.findAuthorizationRequest({ id }) : undefined

/** A request that this person may decide about: it was made in this browser. */
export interface Own {
  request: AuthorizationRequest
  place?: string
}

/** What a person answered: the button, and the scopes that were checked. Undefined for a page that was only opened. */
export interface ConsentAnswer {
  action: 'allow' | 'deny'
  approved: readonly string[]
  /** The positions of the elements of the details that were checked. */
  details: readonly number[]
}

/**
 * The answer if a request is not one that this person can decide about in this browser. Another person gets a request of their own, and is
 * always asked: what was pressed on the page of another person allows nothing. Deny there tells the client so, and changes nothing either.
 */
export async function refuseForeign(
  app: App,
  http: Request,
  signedIn: SignedIn,
  request: AuthorizationRequest | undefined,
  action?: string,
): Promise<Own | Reply> {
  if (!request) return refusePending(app, http, undefined)
  const place = await placeOfRequest(signedIn, request)
  const isOfBrowser = place !== undefined || request.session_id === signedIn.session.id
  if (!isOfBrowser) return refusePending(app, http, request, http.method === 'POST' ? 403 : 400)
  if (request.user_id === signedIn.user.id) return { request, place }
  return action === 'deny' && request.redirect_uri !== ''
    ? respond(app, http, request, denial())
    : beginAgain(app, http, { request, place })
}

/** The error that the client of a denied request gets. */
export const denial = (): OAuthError => new OAuthError('access_denied', 'the user denied the request')

/** Whether a request waits for its decision. */
export const isOpen = ({ clock }: App, { code_hash, denied_at, expires_at }: AuthorizationRequest): boolean =>
  code_hash === undefined && denied_at === undefined && expires_at > clock.now()

/** The same request from its beginning. It asks, also where an earlier consent would answer: this person came from a page that asks. */
export const beginAgain = (app: App, http: Request, { request, place }: Own): Reply =>
  place === undefined ? refusePending(app, http, request) : redirect(basePath(app) + asking(place))

/** A local path. If it is an authorization request, it asks for the consent page. */
function asking(place: string): string {
  const { path, query } = splitTarget(place)
  return path === PATHS.authorize ? `${path}?${askingForConsent(query)}` : place
}

/** The page of a request that cannot be decided about, with the link to the application. */
export function refusePending(app: App, http: Request, request: AuthorizationRequest | undefined, status = 400): Reply {
  const messages = messagesOf(http)
  const { refused: title, expired: text } = messages.consent
  const back = request?.redirect_uri
    ? backTo(app, request, 'the request has expired or was already answered')
    : undefined
  return errorPage(app, messages, http, { status, title, text, back })
}

/** The authorization code of a request. The same request gives the same code, which is not stored. */
export const codeOfRequest = ({ successors }: App, { id }: AuthorizationRequest): Bearer =>
  bearerOf(CODE_PREFIX, id, successors.mac(CODE, id))
const CODE = 'authorization code'

/** The code of a request that was allowed, whichever of the secrets made it. Undefined when it can no longer be used. */
function usableCode(
  app: App,
  { id, code_hash, code_expires_at, consumed_at }: AuthorizationRequest,
): Bearer | undefined {
  if (code_hash === undefined || consumed_at !== undefined || (code_expires_at ?? 0) <= app.clock.now())
    return undefined
  return app.successors
    .macs(CODE, id)
    .map((mac) => bearerOf(CODE_PREFIX, id, mac))
    .find(({ hash }) => equalSecrets(hash, code_hash))
}

/** Whether an answer allows what a request was allowed. */
const isSame = (
  { scope, authorization_details }: AuthorizationRequest,
  { action, approved, details }: ConsentAnswer,
): boolean =>
  action === 'allow' &&
  isEqual(new Set(scopeNames(scope)), new Set(approved)) &&
  isEqual(new Set(authorization_details?.granted), new Set(details))

const isEqual = (a: ReadonlySet<unknown>, b: ReadonlySet<unknown>): boolean =>
  a.size === b.size && [...a].every((each) => b.has(each))

/**
 * The request as another answer than the first finds it: the code that the first one gave ends if it was not used, and the request is
 * undecided again. A request that sends nothing to a client keeps its first answer.
 */
export async function withdrawAnswer(
  app: App,
  request: AuthorizationRequest,
  answer: ConsentAnswer,
): Promise<AuthorizationRequest> {
  const { id, code_hash, redirect_uri } = request
  if (code_hash === undefined || redirect_uri === '' || isSame(request, answer)) return request
  const isWithdrawn = await app.store.withdrawCode({ id })
  return isWithdrawn ? { ...request, code_hash: undefined } : request
}

/**
 * The answer to a request that was answered before, or has expired. The same answer has the same effect: browsers send forms twice. After the
 * code was used there is a page with the link to the application.
 */
export async function answerAgain(app: App, http: Request, own: Own, answer?: ConsentAnswer): Promise<Reply> {
  const { request } = own
  const isDenied = request.denied_at !== undefined
  const isAllowed = request.code_hash !== undefined
  const isAnswered = isDenied || isAllowed
  // Nothing is sent to a client.
  if (request.redirect_uri === '')
    return isAnswered
      ? decidedPage(app, http, isDenied ? 'denied' : 'allowed', await isOfDevice(app, request))
      : beginAgain(app, http, own)
  const action = answer?.action
  if (action === 'deny' && !isAllowed) return respond(app, http, request, denial())
  const code = answer && isSame(request, answer) ? usableCode(app, request) : undefined
  if (code) return respond(app, http, request, { code: code.value })
  const isOver = isAnswered && (action !== 'allow' || request.consumed_at !== undefined)
  return isOver ? refusePending(app, http, request) : beginAgain(app, http, own)
}

const isOfDevice = async (app: App, { id }: AuthorizationRequest): Promise<boolean> =>
  (await app.store.findPolledRequest({ id })) !== undefined

/** What is wrong with a form, with a message of the catalogue. */
type Mistake = 'noDecision' | 'nothingAllowed' | 'tooMuchAllowed' | 'no_cookies' | 'bad_form'

/** The page of a form that cannot be accepted, with the way back to the consent page. */
export function refuseForm(app: App, http: Request, status: number, mistake: Mistake, id = ''): Reply {
  const messages = messagesOf(http)
  const texts = { ...messages.consent, ...messages.errors.texts }
  const again = { href: basePath(app) + consentPlace(http, id), text: messages.tryAgain }
  return errorPage(app, messages, http, { status, title: messages.consent.refused, text: texts[mistake], again })
}

/** Ends the consent that a withdrawn answer gave. A consent from before the request stays, as after every denied request. */
export async function endConsent(app: App, http: Request, request: AuthorizationRequest): Promise<void> {
  const { consent_id, created_at, client_id, user_id } = request
  const consent = consent_id === undefined ? undefined : await app.store.findConsentById({ id: consent_id })
  if (!consent || consent.created_at < created_at) return
  const event = newAuditEvent(app, {
    action: 'consent_revoked',
    actor_id: user_id,
    client_id,
    ...sentBy(http),
    detail: { consent_id: consent.id, user_id, resource_id: consent.resource_id },
  })
  await app.store.recorded('revokeConsent', { id: consent.id, now: app.clock.now() }, event)
}
