// The connections of the user to upstream providers.
import { type Params, parseParams } from '../../http/message.ts'
import { html, isolated, type Markup } from '../../lib/html.ts'
import { disconnectFrom, isLive, listConnections, type UserConnection } from '../connections.ts'
import type { Messages } from '../messages/en.ts'
import { type AccountRequest, type AccountSection, itemList, type Submitted, sectionForm, timesOf } from './section.ts'

const ID = 'connections'

export const connectionsSection = {
  id: ID,
  heading: ({ connections }) => connections.heading,
  async render(account) {
    const { app, request, signedIn, messages } = account
    const { connections: t } = messages
    const found = await listConnections(app, signedIn.user.id)
    const lost = found.filter(({ grant }) => grant.ended_reason === 'answer_lost')
    const items = found.filter(isLive).map((each) => item(account, each))
    return html`<p class="soft">${t.lead}</p>
${problemNote(t, parseParams(request.query).error)}${lost.map(({ provider }) => html`<p class="note warn">${t.lost(isolated(provider.display_name))}</p>\n`)}${itemList(items, t.none)}`
  },
  async submit({ app, request, signedIn }: AccountRequest, { provider = '' }: Params): Promise<Submitted> {
    await disconnectFrom(app, request, signedIn, provider)
    return {}
  },
} satisfies AccountSection

/** What the connect flow reports when a user returns without a connection. */
function problemNote(t: Messages['connections'], error: string | undefined): Markup | undefined {
  if (error === undefined) return undefined
  const known: Record<string, string> = { access_denied: t.denied, temporarily_unavailable: t.unavailable }
  return html`<p class="note bad" role="alert">${known[error] ?? t.failed}</p>\n`
}

function item(account: AccountRequest, { grant, provider }: UserConnection): Markup {
  const { messages } = account
  const { connections: t } = messages
  return html`<li class="row"><span>${isolated(provider.display_name)}
${grant.scopes_granted && html`<code>${grant.scopes_granted}</code>`}<span class="soft">${timesOf(messages, grant.updated_at, undefined)}</span></span>
${sectionForm(
  account,
  ID,
  html`<input type="hidden" name="provider" value="${provider.slug}">
<button aria-label="${t.disconnectFrom(provider.display_name)}">${t.disconnect}</button>`,
)}</li>`
}
