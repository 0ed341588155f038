// GET and POST /consent: the page shows the client, the resource, the scopes and the redirect host, and takes the user's decision.
import type { App } from '../context.ts'
import { parseForm, parseParams, type Reply, type Request, splitTarget } from '../http/message.ts'
import { html, isolated, type Markup } from '../lib/html.ts'
import { newId } from '../lib/id.ts'
import { newAuditEvent, sentBy } from '../oauth/audit.ts'
import { approvalOf } from '../oauth/clients/approval.ts'
import { checkAdmitted } from '../oauth/clients/cimd.ts'
import { keepDocumentClient } from '../oauth/clients/document_client.ts'
import { isOnDevice, placeOf } from '../oauth/clients/redirect_uri.ts'
import { PATHS } from '../oauth/metadata.ts'
import { isOpenIdScope } from '../oauth/openid.ts'
import { consentedTo, decided } from '../oauth/sign_in/consent.ts'
import { mayAnswer } from '../oauth/sign_in/pushed_request.ts'
import { queryForAnother } from '../oauth/sign_in/required_login.ts'
import { scopeNames } from '../oauth/tokens/resource.ts'
import type { AuthorizationRequest } from '../records/authorization_request.ts'
import type { Client } from '../records/client.ts'
import type { DeviceRequest } from '../records/device_request.ts'
import type { Resource } from '../records/resource.ts'
import { accountName } from '../records/user.ts'
import type { Messages } from './messages/en.ts'
import { hasCookies, isForeign } from './origin.ts'
import { decidedPage, deviceOrigin, deviceWarning } from './pages/device_page.ts'
import { localesOf, messagesOf } from './pages/language.ts'
import { page } from './pages/pages.ts'
import { respond } from './pages/response.ts'
import { descriptionOf } from './pages/scope_text.ts'
import { ACCOUNT_PATH, basePath, pathAndQuery, toLogin } from './pages/urls.ts'
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
import { findSignedIn, formToken, isFormToken, type SignedIn } from './session.ts'

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

interface Pending {
  request: AuthorizationRequest
  client: Client
  resource?: Resource
  /** The device whose user code was entered. Without it the client gets the answer by redirect. */
  device?: DeviceRequest
}

/** What the page shows of a request, if its client is still active and its resource still exists. */
async function detailsOf(app: App, request: AuthorizationRequest): Promise<Pending | undefined> {
  const { id } = request
  const [stored, resource, device] = await Promise.all([
    app.store.findClient({ client_id: request.client_id }),
    request.resource === undefined ? undefined : app.store.findResource({ uri: request.resource }),
    request.redirect_uri === '' ? app.store.findDeviceRequest({ id }) : undefined,
  ])
  // A client that is not stored yet is the document that was fetched with the request, even if the document has changed since.
  const client = stored ?? request.client
  if (client && !stored) await checkAdmitted(app, client)
  // The key may have been set, or the client denied, since the request began.
  if (client && (await approvalOf(app, client)) !== 'approved') return undefined
  if (client?.status !== 'active' || (request.resource !== undefined && !resource)) return undefined
  return { request, client, resource, device }
}

function consentPage(app: App, http: Request, pending: Pending, signedIn: SignedIn): Reply {
  const messages = messagesOf(http)
  const { request, client, resource, device } = pending
  const { user } = signedIn
  const { consent: t } = messages
  const another = !request.sign_in?.required?.is_for_user && `${consentPlace(http, request.id)}&account=another`
  return page(
    app,
    messages,
    t.title(client.client_name),
    html`<h1>${t.heading(isolated(client.client_name))}</h1>
<dl>
<div><dt>${t.accessTo}</dt><dd>${resource ? html`${isolated(resource.display_name)} <code>${resource.uri}</code>` : t.yourAccount}</dd></div>
${device ? deviceOrigin(messages, device) : request.redirect_uri !== '' && html`<div><dt>${t.afterwards}</dt><dd class="host">${placeOf(request.redirect_uri)}</dd></div>`}
</dl>
${device ? deviceWarning(messages) : request.redirect_uri !== '' && isOnDevice(request.redirect_uri) && html`<p class="note warn">${t.onDevice}</p>`}
${client.registration_source !== 'admin' && html`<p class="note warn">${namedBy(client, t)}</p>`}
<form method="post" action="${basePath(app)}/consent${localesQuery(http)}">
<input type="hidden" name="session_id" value="${request.id}">
<input type="hidden" name="csrf_token" value="${formToken(app, signedIn, purposeOf(request))}">
${request.scope === '' ? html`<p class="note">${t.withoutScopes}</p>` : scopeChoice(request, resource, messages)}
<div class="buttons">
<button name="action" value="deny">${t.deny}</button>
<button class="main" name="action" value="allow">${t.allow}</button>
</div>
</form>
<footer class="soft"><span>${messages.signedInAs(isolated(accountName(user)))}</span> ${another && html`<a href="${basePath(app)}${another}">${messages.useAnotherAccount}</a> `}<a href="${basePath(app)}${ACCOUNT_PATH}">${messages.account.title}</a></footer>`,
    { place: pathAndQuery(http) },
  )
}

/** The page after the decision has the language that the application asked for too. */
function localesQuery(request: Request): string {
  const query = new URLSearchParams(localesOf(request)).toString()
  return query && `?${query}`
}

type ConsentMessages = Messages['consent']

/** The warning about a client that chose its own name, with the host that its metadata document was fetched from. */
const namedBy = ({ client_id, registration_source }: Client, t: ConsentMessages): Markup | string =>
  registration_source === 'cimd' ? t.ownDocument(isolated(new URL(client_id).host)) : t.ownName

const scopeChoice = (
  { scope }: AuthorizationRequest,
  resource: Resource | undefined,
  messages: Messages,
): Markup => html`<fieldset>
<legend>${messages.consent.scopes}</legend>
<ul>${scopeNames(scope).map((name) => scopeItem(name, resource, messages))}</ul>
</fieldset>`

function scopeItem(name: string, resource: Resource | undefined, messages: Messages): Markup {
  const scope = resource?.scopes.find((each) => each.name === name)
  const description =
    scope || !isOpenIdScope(name) ? descriptionOf(messages, scope) : isolated(messages.consent.openId[name])
  return html`<li><label><input type="checkbox" name="scopes" value="${name}" checked><span>${description ? html`${description} <code>${name}</code>` : name}</span></label></li>`
}

const purposeOf = ({ id }: AuthorizationRequest): string => `consent ${id}`

/** Handles the posted decision. */
export async function decideConsent(app: App, http: Request): Promise<Reply> {
  const form = parseForm(http, 'scopes')
  if (isForeign(app, http)) return refuseForm(app, http, 403, 'bad_form', form.session_id)
  const signedIn = await findSignedIn(app, http)
  if (!signedIn && !hasCookies(http)) return refuseForm(app, http, 401, 'no_cookies', form.session_id)
  if (!signedIn) return toLogin(app, http, consentPlace(http, form.session_id ?? ''))
  const own = await refuseForeign(app, http, signedIn, await findRequest(app, form.session_id), form.action)
  if ('status' in own) return own
  const { request } = own
  if (!isFormToken(app, signedIn, purposeOf(request), form.csrf_token))
    return refuseForm(app, http, 403, 'bad_form', request.id)
  const { action } = form
  if (action !== 'allow' && action !== 'deny') return refuseForm(app, http, 400, 'noDecision', request.id)
  const approved = scopeNames(form.scopes ?? '')
  if (action === 'allow' && approved.length === 0 && request.scope !== '')
    return refuseForm(app, http, 400, 'nothingAllowed', request.id)
  return decideOwn(app, http, own, signedIn, { action, approved })
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
  const asked = scopeNames(request.scope)
  if (answer.approved.every((name) => asked.includes(name)))
    return (await allow(app, http, decision, answer.approved)) ?? decidedMeanwhile(app, http, own, answer)
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

interface Decision extends Pending {
  signedIn: SignedIn
}

/** Records the consent. Undefined when the request was decided meanwhile. */
async function allow(
  app: App,
  http: Request,
  pending: Decision,
  approved: readonly string[],
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
  const approval = { id: request.id, session_id: pending.signedIn.session.id, scope, consent, now }
  const event = eventOf(app, http, pending, 'consent_granted', scope)
  const taken = device
    ? await app.store.recorded(
        'approveDeviceRequest',
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
async function afterDecision(app: App, { request }: Pending, resource_id: string, approved: readonly string[]) {
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
  const taken = await app.store.recorded(device ? 'denyDeviceRequest' : 'denyAuthorizationRequest', decision, event)
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
  { request, resource, device }: Pending,
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
