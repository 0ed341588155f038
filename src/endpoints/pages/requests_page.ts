// The page on which people decide about approvals (CIBA), and the line on other pages that leads there.
import type { App } from '../../context.ts'
import type { Reply, RequestHead } from '../../http/message.ts'
import { html, isolated, type Markup } from '../../lib/html.ts'
import type { PolledApproval } from '../../store/tokens/approvals.ts'
import { formToken, type SignedIn } from '../session.ts'
import { detailChoice, type ShownRequest, scopeChoice } from './consent_page.ts'
import { messagesOf, timeIn } from './language.ts'
import { page, waysOn } from './pages.ts'
import { basePath, REQUESTS_PATH } from './urls.ts'

/** Why a person cannot allow a request now. */
export type Hurdle = 'confirm' | 'unreachable' | 'mayNot'

/** An open request as its person sees it. */
export interface ShownApproval extends ShownRequest {
  polled: PolledApproval
  hurdle?: Hurdle
}

/** The purpose of the CSRF token of the form of a request. */
export const approvalForm = (id: string): string => `approval ${id}`

/** What the last answer did, or why it was not accepted. */
export interface PageNote {
  text: string
  /** Absent for an answer that was accepted. */
  status?: number
}

/** The page with a form for each open request. Equal requests stand under one heading. */
export function requestsPage(
  app: App,
  http: RequestHead,
  signedIn: SignedIn,
  shown: readonly ShownApproval[],
  said?: PageNote,
): Reply {
  const messages = messagesOf(http)
  const { requests: t } = messages
  const note = said && (said.status === undefined ? noted(said.text) : refused(said.text))
  return page(
    app,
    messages,
    t.title,
    html`<h1>${t.title}</h1>
${note}<p class="soft">${shown.length > 0 ? t.lead : t.none}</p>
${groupsOf(shown).map((group, i) => groupOf(app, http, signedIn, group, `requests-${i}`))}${waysOn(app, messages, {})}`,
    { status: said?.status, place: REQUESTS_PATH },
  )
}

const noted = (text: string): Markup => html`<p class="note" role="status">${text}</p>\n`
const refused = (text: string): Markup => html`<p class="note bad" role="alert">${text}</p>\n`

/** Requests are equal if a person can tell them apart by their time only. */
const contentOf = ({ request, polled, hurdle }: ShownApproval): string =>
  JSON.stringify([
    ...[request.client_id, request.resource, request.scope, request.authorization_details],
    ...[polled.approval.binding_message, hurdle],
  ])

function groupsOf(shown: readonly ShownApproval[]): ShownApproval[][] {
  const groups = new Map<string, ShownApproval[]>()
  for (const each of shown) groups.set(contentOf(each), [...(groups.get(contentOf(each)) ?? []), each])
  return [...groups.values()]
}

function groupOf(
  app: App,
  http: RequestHead,
  signedIn: SignedIn,
  group: readonly ShownApproval[],
  id: string,
): Markup | undefined {
  const { requests: t } = messagesOf(http)
  const [first] = group
  return (
    first &&
    html`<section aria-labelledby="${id}">
<h2 id="${id}">${t.heading(isolated(first.client.client_name))}</h2>
${group.length > 1 && html`<p class="soft">${t.equal(group.length)}</p>`}
${group.map((each) => formOf(app, http, signedIn, each, id))}</section>
`
  )
}

function formOf(
  app: App,
  http: RequestHead,
  signedIn: SignedIn,
  { request, client, resource, polled, hurdle }: ShownApproval,
  heading: string,
): Markup {
  const messages = messagesOf(http)
  const { requests: t, consent } = messages
  const details = request.authorization_details?.asked
  const { binding_message } = polled.approval
  const again = `${basePath(app)}${REQUESTS_PATH}?${new URLSearchParams({ confirm: polled.id })}`
  return html`<form method="post" action="${basePath(app)}${REQUESTS_PATH}" aria-labelledby="${heading}">
<input type="hidden" name="request_id" value="${polled.id}">
<input type="hidden" name="csrf_token" value="${formToken(app, signedIn, approvalForm(polled.id))}">
<dl>
<div><dt>${t.application}</dt><dd>${isolated(client.client_name)}</dd></div>
${binding_message !== undefined && html`<div><dt>${t.message}</dt><dd class="host">${isolated(binding_message)}</dd></div>`}
<div><dt>${consent.accessTo}</dt><dd>${resource ? html`${isolated(resource.display_name)} <code>${resource.uri}</code>` : consent.yourAccount}</dd></div>
<div><dt>${t.asked}</dt><dd>${timeIn(messages, polled.created_at)}</dd></div>
<div><dt>${t.until}</dt><dd>${timeIn(messages, polled.expires_at)}</dd></div>
</dl>
${request.scope !== '' ? scopeChoice(request.scope, resource, messages) : !details && html`<p class="note">${consent.withoutScopes}</p>`}
${details && detailChoice(details, resource, messages)}
${hurdle && html`<p class="note warn">${hurdle === 'confirm' ? t.confirmText : t[hurdle]}</p>`}
<div class="buttons">
<button name="action" value="deny">${consent.deny}</button>
${hurdle === 'confirm' && html`<a class="button main" href="${again}">${t.confirm}</a>`}${!hurdle && html`<button class="main" name="action" value="allow">${consent.allow}</button>`}
</div>
</form>
`
}
