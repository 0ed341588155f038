// The consent page (RFC 6749 §3.1): who asks, for what, and where the answer goes.
import type { App } from '../../context.ts'
import type { Reply, Request } from '../../http/message.ts'
import { html, isolated, type Markup } from '../../lib/html.ts'
import { isOnDevice, placeOf } from '../../oauth/clients/redirect_uri.ts'
import { isOpenIdScope } from '../../oauth/openid.ts'
import { detailsTypesOf } from '../../oauth/tokens/authorization_details.ts'
import { scopeNames } from '../../oauth/tokens/resource.ts'
import type { AuthorizationDetail } from '../../records/authorization_details.ts'
import type { AuthorizationRequest } from '../../records/authorization_request.ts'
import type { Client } from '../../records/client.ts'
import type { PolledRequest } from '../../records/polled_request.ts'
import type { Resource } from '../../records/resource.ts'
import { accountName } from '../../records/user.ts'
import type { Messages } from '../messages/en.ts'
import { consentPlace } from '../pending_request.ts'
import { formToken, type SignedIn } from '../session.ts'
import { deviceOrigin, deviceWarning } from './device_page.ts'
import { localesOf, messagesOf } from './language.ts'
import { page } from './pages.ts'
import { descriptionOf } from './scope_text.ts'
import { ACCOUNT_PATH, basePath, pathAndQuery } from './urls.ts'

/** A request with what its page shows. */
export interface ShownRequest {
  request: AuthorizationRequest
  client: Client
  resource?: Resource
  /** The request that the client polls for. Without it the client gets the answer by redirect. */
  polled?: PolledRequest
}

/** The purpose of the CSRF token of the form. */
export const consentForm = ({ id }: AuthorizationRequest): string => `consent ${id}`

/** The consent page: the client, the resource, and a box for each scope and each element of the details. */
export function consentPage(app: App, http: Request, pending: ShownRequest, signedIn: SignedIn): Reply {
  const messages = messagesOf(http)
  const { request, client, resource, polled: device } = pending
  const details = request.authorization_details?.asked
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
<input type="hidden" name="csrf_token" value="${formToken(app, signedIn, consentForm(request))}">
${request.scope === '' && !details && html`<p class="note">${t.withoutScopes}</p>`}${request.scope !== '' && scopeChoice(request.scope, resource, messages)}
${details && detailChoice(details, resource, messages)}
<div class="buttons">
<button name="action" value="deny">${t.deny}</button>
<button class="main" name="action" value="allow">${t.allow}</button>
</div>
</form>
<footer class="soft"><span>${messages.signedInAs(isolated(accountName(user)))}</span> ${another && html`<a href="${basePath(app)}${another}">${messages.useAnotherAccount}</a> `}<a href="${basePath(app)}${ACCOUNT_PATH}">${messages.account.title}</a></footer>`,
    { place: pathAndQuery(http), waiting: http.notes.waiting },
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

/** A box for each scope. */
export const scopeChoice = (
  scope: string,
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

/** A box for each element of authorization details, in the words of its type. Its value is the position of the element. */
export const detailChoice = (
  details: readonly AuthorizationDetail[],
  resource: Resource | undefined,
  messages: Messages,
): Markup => html`<fieldset>
<legend>${messages.consent.details}</legend>
<ul>${details.map((element, i) => html`<li><label><input type="checkbox" name="details" value="${i}" checked><span>${wordsOf(element, resource)}</span></label></li>`)}</ul>
</fieldset>`

/** What an element says, in lines. All of it is text from the client inside of words of an operator. */
function wordsOf(element: AuthorizationDetail, resource: Resource | undefined): Markup {
  const type = detailsTypesOf(resource).find((each) => each.type === element.type)
  const lines = type?.display?.flatMap((line) => filled(line, element) ?? []) ?? []
  const shown = lines.length > 0 ? lines : [html`${isolated(type?.description ?? element.type)}`, ...membersOf(element)]
  return html`${shown.map((line, i) => html`${i > 0 && html`<br>`}${line}`)}`
}

/** A line of display with the members in it. Undefined when one of them is absent. */
function filled(line: string, element: AuthorizationDetail): Markup | undefined {
  const parts = line.split(/\{([^{}]+)\}/)
  const isPresent = parts.every((part, i) => i % 2 === 0 || Object.hasOwn(element, part))
  return isPresent
    ? html`${parts.map((part, i) => (i % 2 === 0 ? part : isolated(valueText(element[part]))))}`
    : undefined
}

const membersOf = (element: AuthorizationDetail): Markup[] =>
  Object.entries(element)
    .filter(([name]) => name !== 'type')
    .map(([name, value]) => html`${isolated(name)}: ${isolated(valueText(value))}`)

const valueText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
