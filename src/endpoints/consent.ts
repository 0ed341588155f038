// GET and POST /consent: the page shows the client, the resource, the scopes and the redirect host, and takes the user's decision.
import type { App } from '../context.ts'
import { CODE_PREFIX } from '../grants/authorization_code.ts'
import { parseForm, parseParams, type Reply, type Request, redirect } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { html, isolated, type Markup } from '../lib/html.ts'
import { equalSecrets, isId, newBearer, newId } from '../lib/id.ts'
import { newAuditEvent, sentBy } from '../oauth/audit.ts'
import { responseUri } from '../oauth/authorization.ts'
import { checkAdmitted } from '../oauth/cimd.ts'
import { consentedTo, decided } from '../oauth/consent.ts'
import { keepDocumentClient } from '../oauth/document_client.ts'
import { PATHS } from '../oauth/metadata.ts'
import { isOpenIdScope } from '../oauth/openid.ts'
import { isOnDevice, placeOf } from '../oauth/redirect_uri.ts'
import { scopeNames } from '../oauth/resource.ts'
import type { AuthorizationRequest } from '../records/authorization_request.ts'
import type { Client } from '../records/client.ts'
import type { DeviceRequest } from '../records/device_request.ts'
import type { Resource } from '../records/resource.ts'
import { accountName } from '../records/user.ts'
import { CODE_LIFETIME } from './authorize.ts'
import { decidedPage, deviceOrigin, deviceWarning } from './device_page.ts'
import { localesOf, messagesOf } from './language.ts'
import type { Messages } from './messages/en.ts'
import { isForeign } from './origin.ts'
import { errorPage, page } from './pages.ts'
import { findSignedIn, type SignedIn, sessionToken } from './session.ts'
import { ACCOUNT_PATH, basePath, loginUrl, pathAndQuery, toLogin } from './urls.ts'

/** The response to a refused decision, with a message of the catalogue. */
type Refusal = 'expired' | 'noDecision' | 'nothingAllowed' | 'tooMuchAllowed' | 'not_signed_in' | 'bad_form'

function refuse(app: App, request: Request, status: number, refusal: Refusal): Reply {
  const messages = messagesOf(request)
  const texts = { ...messages.consent, ...messages.errors.texts }
  return errorPage(app, messages, request.id, { status, title: messages.consent.refused, text: texts[refusal] })
}

/** The consent page of a pending request of this session. */
export async function showConsent(app: App, request: Request): Promise<Reply> {
  const id = parseParams(request.query).session_id
  const signedIn = await findSignedIn(app, request)
  if (!signedIn) return toLogin(app, pathAndQuery(request))
  const pending = await findPending(app, id, signedIn)
  if (!pending) return refuse(app, request, 400, 'expired')
  return consentPage(app, request, pending, signedIn)
}

interface Pending {
  request: AuthorizationRequest
  client: Client
  resource?: Resource
  /** The device whose user code was entered. Without it the client gets the answer by redirect. */
  device?: DeviceRequest
}

/** The pending request of this session, if its client is still active and its resource still exists. */
async function findPending(
  app: App,
  id: string | undefined,
  { session, user }: SignedIn,
): Promise<Pending | undefined> {
  if (id === undefined || !isId(id)) return undefined
  const request = await app.store.findAuthorizationRequest({ id, now: app.clock.now() })
  if (!request || request.session_id !== session.id || request.user_id !== user.id) return undefined
  const [stored, resource, device] = await Promise.all([
    app.store.findClient({ client_id: request.client_id }),
    request.resource === undefined ? undefined : app.store.findResource({ uri: request.resource }),
    request.redirect_uri === '' ? app.store.findDeviceRequest({ id }) : undefined,
  ])
  // A client that is not stored yet is the document that was fetched with the request, even if the document has changed since.
  const client = stored ?? request.client
  if (client && !stored) await checkAdmitted(app, client)
  if (client?.status !== 'active' || (request.resource !== undefined && !resource)) return undefined
  return { request, client, resource, device }
}

function consentPage(app: App, http: Request, pending: Pending, signedIn: SignedIn): Reply {
  const messages = messagesOf(http)
  const { request, client, resource, device } = pending
  const { user } = signedIn
  const { consent: t } = messages
  const another = device ? loginUrl(app, PATHS.device, true) : asSomebodyElse(app, http, request)
  return page(
    app,
    messages,
    t.title(client.client_name),
    html`<h1>${t.heading(isolated(client.client_name))}</h1>
<dl>
<div><dt>${t.accessTo}</dt><dd>${resource ? html`${isolated(resource.display_name)} <code>${resource.uri}</code>` : t.yourAccount}</dd></div>
${device ? deviceOrigin(messages, device) : html`<div><dt>${t.afterwards}</dt><dd class="host">${placeOf(request.redirect_uri)}</dd></div>`}
</dl>
${device ? deviceWarning(messages) : isOnDevice(request.redirect_uri) && html`<p class="note warn">${t.onDevice}</p>`}
${client.registration_source !== 'admin' && html`<p class="note warn">${namedBy(client, t)}</p>`}
<form method="post" action="${basePath(app)}/consent${localesQuery(http)}">
<input type="hidden" name="session_id" value="${request.id}">
<input type="hidden" name="csrf_token" value="${sessionToken(app, signedIn, `consent ${request.id}`)}">
${request.scope === '' ? html`<p class="note">${t.withoutScopes}</p>` : scopeChoice(request, resource, t)}
<div class="buttons">
<button name="action" value="deny">${t.deny}</button>
<button class="main" name="action" value="allow">${t.allow}</button>
</div>
</form>
<footer class="soft"><span>${messages.signedInAs(isolated(accountName(user)))}</span> ${another && html`<a href="${another}">${messages.useAnotherAccount}</a> `}<a href="${basePath(app)}${ACCOUNT_PATH}">${messages.account.title}</a></footer>`,
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
  t: ConsentMessages,
): Markup => html`<fieldset>
<legend>${t.scopes}</legend>
<ul>${scopeNames(scope).map((name) => scopeItem(name, resource, t))}</ul>
</fieldset>`

function scopeItem(name: string, resource: Resource | undefined, t: ConsentMessages): Markup {
  const description =
    resource?.scopes.find((each) => each.name === name)?.description ?? (isOpenIdScope(name) && t.openId[name])
  return html`<li><label><input type="checkbox" name="scopes" value="${name}" checked><span>${description ? html`${isolated(description)} <code>${name}</code>` : name}</span></label></li>`
}

/** The URL of the same authorization request, with a new login first. Undefined for a request that is for this user only. */
function asSomebodyElse(app: App, http: Request, request: AuthorizationRequest): string | undefined {
  const { client_id, scope, asked_scope = scope, code_challenge, state, resource, dpop_jkt, sign_in } = request
  const { max_age, acr_values, is_for_user } = sign_in?.required ?? {}
  if (is_for_user) return undefined
  const query = new URLSearchParams({
    response_type: 'code',
    client_id,
    ...(request.redirect_uri_sent ? { redirect_uri: request.redirect_uri } : {}),
    scope: asked_scope,
    ...(state === undefined ? {} : { state }),
    ...(resource === undefined ? {} : { resource }),
    ...(dpop_jkt === undefined ? {} : { dpop_jkt }),
    ...(sign_in?.nonce === undefined ? {} : { nonce: sign_in.nonce }),
    ...(max_age === undefined ? {} : { max_age: String(max_age) }),
    ...(acr_values === undefined ? {} : { acr_values }),
    ...localesOf(http),
    code_challenge,
    code_challenge_method: 'S256',
    prompt: 'login',
  })
  return `${basePath(app)}${PATHS.authorize}?${query}`
}

/** Handles the posted decision. */
export async function decideConsent(app: App, request: Request): Promise<Reply> {
  const form = parseForm(request, 'scopes')
  const signedIn = await findSignedIn(app, request)
  if (!signedIn) return refuse(app, request, 401, 'not_signed_in')
  const expected = sessionToken(app, signedIn, `consent ${form.session_id}`)
  if (isForeign(app, request) || !equalSecrets(expected, form.csrf_token ?? ''))
    return refuse(app, request, 403, 'bad_form')
  const pending = await findPending(app, form.session_id, signedIn)
  if (!pending) return refuse(app, request, 400, 'expired')
  if (form.action === 'deny') return deny(app, request, pending)
  if (form.action !== 'allow') return refuse(app, request, 400, 'noDecision')
  const approved = scopeNames(form.scopes ?? '')
  const asked = scopeNames(pending.request.scope)
  if (approved.length === 0 && asked.length > 0) return refuse(app, request, 400, 'nothingAllowed')
  if (!approved.every((name) => asked.includes(name))) return refuse(app, request, 400, 'tooMuchAllowed')
  return allow(app, request, pending, approved)
}

async function allow(app: App, http: Request, pending: Pending, approved: string[]): Promise<Reply> {
  const { request, resource, device } = pending
  const { client_id, user_id } = request
  http.notes.client_id = client_id
  const now = app.clock.now()
  const code = newBearer(CODE_PREFIX, request.id)
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
  const approval = { id: request.id, scope, consent, now }
  const event = eventOf(app, http, pending, 'consent_granted', scope)
  const taken = device
    ? await app.store.recorded(
        'approveDeviceRequest',
        { ...approval, code_hash: device.hash, code_expires_at: device.expires_at },
        event,
      )
    : await app.store.recorded(
        'approveAuthorizationRequest',
        { ...approval, code_hash: code.hash, code_expires_at: now + CODE_LIFETIME },
        event,
      )
  if (!taken) return refuse(app, http, 400, 'expired')
  await keepDocumentClient(app, pending.client, { actor_id: user_id, ...sentBy(http) })
  app.metrics.count('core_consent_decisions_total', { decision: 'approved' })
  app.metrics.observe('core_auth_flow_duration_seconds', now - request.created_at)
  return device
    ? decidedPage(app, messagesOf(http), 'allowed')
    : redirect(responseUri(app, request, { code: code.value }))
}

/** The stored consent after the decision. */
async function afterDecision(app: App, { request }: Pending, resource_id: string, approved: string[]) {
  const { user_id, client_id, redirect_uri } = request
  const before = await app.store.findConsent({ user_id, client_id, resource_id })
  return decided(before, { asked: scopeNames(request.scope), approved, redirect_uri })
}

async function deny(app: App, http: Request, pending: Pending): Promise<Reply> {
  const { request, device } = pending
  const { id } = request
  const event = eventOf(app, http, pending, 'consent_denied', request.scope)
  const taken = device
    ? await app.store.recorded('denyDeviceRequest', { id, now: app.clock.now() }, event)
    : await app.store.recorded('deleteAuthorizationRequest', { id }, event)
  if (!taken) return refuse(app, http, 400, 'expired')
  const error = new OAuthError('access_denied', 'the user denied the request')
  Object.assign(http.notes, { client_id: request.client_id, refusal: error })
  app.metrics.count('core_consent_decisions_total', { decision: 'denied' })
  app.metrics.count('core_auth_denied_total', { reason: 'access_denied' })
  return device ? decidedPage(app, messagesOf(http), 'denied') : redirect(responseUri(app, request, error))
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
