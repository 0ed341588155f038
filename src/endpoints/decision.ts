// The decision of a person about a request, at the consent page or at /account/requests: what is shown, what is answered, and its record.
import type { App } from '../context.ts'
import type { Params, Request } from '../http/message.ts'
import { newId } from '../lib/id.ts'
import { newAuditEvent, sentBy } from '../oauth/audit.ts'
import { approvalOf } from '../oauth/clients/approval.ts'
import { checkAdmitted } from '../oauth/clients/cimd.ts'
import { keepDocumentClient } from '../oauth/clients/document_client.ts'
import { isSignIn } from '../oauth/openid.ts'
import { signInOf } from '../oauth/sign_in/authentication_request.ts'
import { consentedTo, decided } from '../oauth/sign_in/consent.ts'
import { scopeNames } from '../oauth/tokens/resource.ts'
import type { AuthorizationRequest } from '../records/authorization_request.ts'
import type { PolledRequest } from '../records/polled_request.ts'
import type { ShownRequest } from './pages/consent_page.ts'
import { type ConsentAnswer, denial } from './pending_request.ts'
import type { SignedIn } from './session.ts'

/** The authorization request of the person who decides about a polled request. It has no redirect URI and no PKCE: what the client polls with takes their place. */
export const requestOf = (
  { id, client_id, resource, dpop_jkt, asked_scope, authorization_details, expires_at }: PolledRequest,
  { session, user }: SignedIn,
  scope: readonly string[],
  now: number,
): AuthorizationRequest => ({
  id,
  client_id,
  user_id: user.id,
  session_id: session.id,
  redirect_uri: '',
  authorization_details: authorization_details && { asked: authorization_details },
  redirect_uri_sent: false,
  scope: scope.join(' '),
  asked_scope,
  resource,
  code_challenge: '',
  dpop_jkt,
  // A class that was reached counts at resources that require one.
  sign_in: isSignIn(scope) || session.acr !== undefined ? signInOf(session) : undefined,
  created_at: now,
  expires_at,
})

/** What a page shows of a request, if its client is still active and its resource still exists. */
export async function shownOf(
  app: App,
  request: AuthorizationRequest,
  polled?: PolledRequest,
): Promise<ShownRequest | undefined> {
  const [stored, resource] = await Promise.all([
    app.store.findClient({ client_id: request.client_id }),
    request.resource === undefined ? undefined : app.store.findResource({ uri: request.resource }),
  ])
  // A client that is not stored yet is the document that was fetched with the request, even if the document has changed since.
  const client = stored ?? request.client
  if (client && !stored) await checkAdmitted(app, client)
  // The key may have been set, or the client denied, since the request began.
  if (client && (await approvalOf(app, client)) !== 'approved') return undefined
  if (client?.status !== 'active' || (request.resource !== undefined && !resource)) return undefined
  return { request, client, resource, polled }
}

/** What is wrong with an answer, by its message in the catalogue. */
export type AnswerFault = 'noDecision' | 'nothingAllowed'

/** The answer in a form. */
export function answerIn(request: AuthorizationRequest, form: Params): ConsentAnswer | AnswerFault {
  const { action } = form
  if (action !== 'allow' && action !== 'deny') return 'noDecision'
  const approved = scopeNames(form.scopes ?? '')
  const details = positionsIn(form.details)
  const asksNothing = request.scope === '' && request.authorization_details === undefined
  if (action === 'allow' && approved.length === 0 && details.length === 0 && !asksNothing) return 'nothingAllowed'
  return { action, approved, details }
}

/** The positions in the boxes of a form. One that no page can have is NaN, which no request has. */
const positionsIn = (text = ''): number[] =>
  scopeNames(text).map((at) => (/^\d{1,2}$/.test(at) ? Number(at) : Number.NaN))

/** Whether an answer allows no more than the request asks for. */
export const isWithin = (
  { scope, authorization_details }: AuthorizationRequest,
  { approved, details }: ConsentAnswer,
): boolean =>
  approved.every((name) => scopeNames(scope).includes(name)) &&
  details.every((at) => authorization_details?.asked[at] !== undefined)

/** A request with the person who decides about it. */
export interface PersonDecision extends ShownRequest {
  signedIn: SignedIn
}

/** How a client gets the token of an allowed request: the hash of its code, and until when. */
interface Redeemable {
  code_hash: string
  code_expires_at: number
}

/** Records that a person allows a request. False when it was decided meanwhile. */
export async function recordAllowed(
  app: App,
  http: Request,
  decision: PersonDecision,
  { approved, details }: ConsentAnswer,
  code: Redeemable,
): Promise<boolean> {
  const { request, resource, polled } = decision
  const { client_id, user_id } = request
  http.notes.client_id = client_id
  const now = app.clock.now()
  const resource_id = consentedTo(resource, approved)
  const consent =
    resource_id === undefined
      ? undefined
      : {
          id: newId(),
          user_id,
          client_id,
          resource_id,
          ...(await afterDecision(app, decision, resource_id, approved)),
        }
  const scope = approved.join(' ')
  const asked = request.authorization_details
  const authorization_details = asked && { asked: asked.asked, granted: details.toSorted((a, b) => a - b) }
  const approval = {
    id: request.id,
    session_id: decision.signedIn.session.id,
    scope,
    authorization_details,
    consent,
    now,
    ...code,
  }
  const event = eventOf(app, http, decision, 'granted', scope)
  const { store } = app
  const taken = polled?.approval
    ? await store.recorded('allowApproval', { ...approval, request }, event)
    : await store.recorded(polled ? 'approvePolledRequest' : 'approveAuthorizationRequest', approval, event)
  if (!taken) return false
  await keepDocumentClient(app, decision.client, { actor_id: user_id, ...sentBy(http) })
  app.metrics.count('core_consent_decisions_total', { decision: 'approved' })
  app.metrics.observe('core_auth_flow_duration_seconds', now - (polled ?? request).created_at)
  return true
}

/** The stored consent after the decision. */
async function afterDecision(app: App, { request }: ShownRequest, resource_id: string, approved: readonly string[]) {
  const { user_id, client_id, redirect_uri } = request
  const before = await app.store.findConsent({ user_id, client_id, resource_id })
  return decided(before, { asked: scopeNames(request.scope), approved, redirect_uri })
}

/** Records that a person denies a request. False when it was decided meanwhile. */
export async function recordDenied(app: App, http: Request, decision: PersonDecision): Promise<boolean> {
  const { request, polled } = decision
  const { id } = request
  const now = app.clock.now()
  const event = eventOf(app, http, decision, 'denied', request.scope)
  const { store } = app
  const taken = polled?.approval
    ? await store.recorded('denyApproval', { id, now, denied_at: now }, event)
    : await store.recorded(polled ? 'denyPolledRequest' : 'denyAuthorizationRequest', { id, now }, event)
  if (!taken) return false
  Object.assign(http.notes, { client_id: request.client_id, refusal: denial() })
  app.metrics.count('core_consent_decisions_total', { decision: 'denied' })
  app.metrics.count('core_auth_denied_total', { reason: 'access_denied' })
  return true
}

function eventOf(
  app: App,
  http: Request,
  { request, resource, polled }: ShownRequest,
  outcome: 'granted' | 'denied',
  scope: string,
) {
  const { id, client_id, user_id } = request
  const about = { actor_id: user_id, client_id, ...sentBy(http) }
  const detail = { scope, ...(resource ? { resource: resource.uri } : {}) }
  if (polled?.approval)
    return newAuditEvent(app, {
      ...about,
      action: `approval_${outcome}`,
      detail: { ...detail, approval_id: id, user_id },
    })
  return newAuditEvent(app, {
    ...about,
    action: `consent_${outcome}`,
    detail: { ...detail, ...(polled ? { device_address: polled.ip } : {}) },
  })
}
