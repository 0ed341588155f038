// GET and POST /account/requests: a signed-in person decides about the approvals (CIBA) that clients ask for.
import type { App } from '../../context.ts'
import { notifyDecided } from '../../events/approval_ping.ts'
import { parseForm, parseParams, type Reply, type Request, redirect } from '../../http/message.ts'
import { OAuthError } from '../../lib/error.ts'
import { dueSignIn } from '../../oauth/sign_in/authentication_request.ts'
import { decideAccess } from '../../oauth/tokens/access.ts'
import { scopeNames } from '../../oauth/tokens/resource.ts'
import type { ApprovalRequest } from '../../records/polled_request.ts'
import type { Resource } from '../../records/resource.ts'
import { personOf } from '../../records/user.ts'
import type { PolledApproval } from '../../store/tokens/approvals.ts'
import { answerIn, isWithin, recordAllowed, recordDenied, requestOf, shownOf } from '../decision.ts'
import { isFromHere } from '../origin.ts'
import { messagesOf } from '../pages/language.ts'
import { approvalForm, type Hurdle, type PageNote, requestsPage, type ShownApproval } from '../pages/requests_page.ts'
import { basePath, pathAndQuery, REQUESTS_PATH, toLogin } from '../pages/urls.ts'
import { checkForm, findSignedIn, type SignedIn } from '../session.ts'
import { stepUp } from '../sign_in/step_up.ts'
import { confirmedPlace } from '../wanted_sign_in.ts'

/** Requests of one page. Of each client a person has at most ten. */
const SHOWN = 50

/** The page. With `confirm` it signs the person in again, as one of the requests needs. */
export async function showRequests(app: App, http: Request): Promise<Reply> {
  const signedIn = await findSignedIn(app, http)
  if (!signedIn) return toLogin(app, http, pathAndQuery(http))
  const { confirm, done } = parseParams(http.query)
  const asked = confirm === undefined ? undefined : await findOwn(app, signedIn, confirm)
  if (asked?.hurdle === 'confirm') return signInAgain(app, http, signedIn, asked)
  const { requests: t } = messagesOf(http)
  const said = isFromHere(http) && (done === 'allowed' || done === 'denied') ? { text: t[done] } : undefined
  return showAll(app, http, signedIn, said)
}

/** Handles the form of one request. */
export async function decideRequest(app: App, http: Request): Promise<Reply> {
  const form = parseForm(http, 'scopes', 'details')
  const signedIn = await findSignedIn(app, http)
  if (!signedIn) return toLogin(app, http, REQUESTS_PATH)
  checkForm(app, http, signedIn, approvalForm(form.request_id ?? ''), form.csrf_token)
  const { consent: t } = messagesOf(http)
  const refuse = (text: string) => showAll(app, http, signedIn, { text, status: 400 })
  const own = await findOwn(app, signedIn, form.request_id)
  if (!own) return refuse(t.expired)
  const answer = answerIn(own.request, form)
  if (typeof answer === 'string') return refuse(t[answer])
  const decision = { ...own, signedIn }
  if (answer.action === 'deny')
    return (await recordDenied(app, http, decision)) ? decided(app, own, 'denied') : refuse(t.expired)
  if (own.hurdle === 'confirm') return signInAgain(app, http, signedIn, own)
  if (own.hurdle) return refuse(messagesOf(http).requests[own.hurdle])
  if (!isWithin(own.request, answer)) return refuse(t.tooMuchAllowed)
  const { hash: code_hash, expires_at: code_expires_at } = own.polled
  const isRecorded = await recordAllowed(app, http, decision, answer, { code_hash, code_expires_at })
  return isRecorded ? decided(app, own, 'allowed') : refuse(t.expired)
}

/** Notifies the client of a recorded decision, and shows the page again. */
function decided(app: App, { client, polled }: ShownApproval, done: 'allowed' | 'denied'): Reply {
  notifyDecided(app, client, polled)
  return redirect(`${basePath(app)}${REQUESTS_PATH}?${new URLSearchParams({ done })}`)
}

async function showAll(app: App, http: Request, signedIn: SignedIn, said?: PageNote): Promise<Reply> {
  const open = { user_id: signedIn.user.id, now: app.clock.now(), limit: SHOWN }
  const found = await app.store.listOpenApprovals(open)
  const shown = await Promise.all(found.map((polled) => shownTo(app, signedIn, polled)))
  return requestsPage(
    app,
    http,
    signedIn,
    shown.filter((each) => each !== undefined),
    said,
  )
}

/** An open request that a person may decide about, by its id. */
async function findOwn(app: App, signedIn: SignedIn, id = ''): Promise<ShownApproval | undefined> {
  const polled = await app.store.findPolledRequest({ id })
  const { approval, decision, expires_at = 0 } = polled ?? {}
  const isOpen = decision === undefined && expires_at > app.clock.now()
  if (!polled || approval?.user_id !== signedIn.user.id || !isOpen) return undefined
  return shownTo(app, signedIn, { ...polled, approval })
}

/** An open request as a person sees it; undefined while its client cannot be used. */
async function shownTo(app: App, signedIn: SignedIn, polled: PolledApproval): Promise<ShownApproval | undefined> {
  const names = scopeNames(polled.scope)
  const shown = await shownOf(app, requestOf(polled, signedIn, names, app.clock.now()), polled)
  if (!shown) return undefined
  const { scope, hurdle } = accessOf(shown.resource, signedIn, names)
  return {
    ...shown,
    polled,
    request: requestOf(polled, signedIn, scope, app.clock.now()),
    hurdle: hurdle ?? hurdleOf(app, signedIn, polled.approval),
  }
}

/** The scopes that the person may allow, or why they may allow none. */
function accessOf(
  resource: Resource | undefined,
  { user, session }: SignedIn,
  names: readonly string[],
): { scope: readonly string[]; hurdle?: Hurdle } {
  const { scope, refused_by } = resource
    ? decideAccess(resource, personOf(user), names, session)
    : { scope: names, refused_by: undefined }
  if (!refused_by) return { scope }
  const canConfirm = refused_by === 'second_factor' && user.provider === 'local'
  return { scope: names, hurdle: canConfirm ? 'confirm' : 'mayNot' }
}

/** The classes of a request, of which the person must reach one. A resource that requires a second factor needs no certain one. */
const classesOf = ({ acr_values }: ApprovalRequest): string[] => scopeNames(acr_values ?? '')

/** Whether the sign-in of the person is what the request requires. */
function hurdleOf(app: App, { session }: SignedIn, approval: ApprovalRequest): Hurdle | undefined {
  const authentication = { acr_values: classesOf(approval) }
  try {
    return dueSignIn(app, { prompt: [], authentication }, session, undefined) ? 'confirm' : undefined
  } catch (error) {
    if (error instanceof OAuthError && error.status < 500) return 'unreachable'
    throw error
  }
}

/** To the sign-in that a request requires, and back to the page. A provider is asked for the classes of the request, which the place names. */
function signInAgain(app: App, http: Request, signedIn: SignedIn, { polled }: ShownApproval): Promise<Reply> {
  const { id, approval } = polled
  if (signedIn.session.oidc_issuer !== undefined) return toLogin(app, http, confirmedPlace(id), true)
  const classes = classesOf(approval)
  const query = new URLSearchParams({ confirm: id }).toString()
  return stepUp(app, { ...http, path: REQUESTS_PATH, query }, signedIn, {
    classes: classes.length > 0 ? classes : ['mfa'],
    prompt: [],
    comeBack: REQUESTS_PATH,
  })
}
