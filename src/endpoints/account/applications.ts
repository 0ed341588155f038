// The applications that have access to the account. Removing one ends its consent and its tokens at once.
import type { Params } from '../../http/message.ts'
import { html, isolated, type Markup } from '../../lib/html.ts'
import { newAuditEvent } from '../../oauth/audit.ts'
import { scopeNames } from '../../oauth/tokens/resource.ts'
import type { Application } from '../../records/application.ts'
import type { Messages } from '../messages/en.ts'
import { dayIn } from '../pages/language.ts'
import { descriptionOf } from '../pages/scope_text.ts'
import { actorOf } from '../session.ts'
import { type AccountRequest, type AccountSection, itemList, sectionForm, timesOf } from './section.ts'

const ID = 'applications'

export const applicationsSection = {
  id: ID,
  heading: ({ account }) => account.applications.heading,
  async render(account) {
    const { applications: t } = account.messages.account
    const found = await account.app.store.listApplications({ user_id: account.signedIn.user.id })
    const items = found.map((each) => item(account, each))
    return html`<p class="soft">${t.lead}</p>
${itemList(items, t.none)}`
  },
  submit: removeAccess,
  done: ({ account }) => account.applications.done,
} satisfies AccountSection

function item(account: AccountRequest, application: Application): Markup {
  const { messages } = account
  const { applications: t } = messages.account
  const { client_id, client_name, resource_id, resource, scope, created_at, last_used_at, unused_since } = application
  const access = resource ? t.accessTo(isolated(resource.display_name)) : t.accessToAccount
  const unused = unused_since !== undefined && ` · ${t.unusedSince(dayIn(messages, unused_since))}`
  return html`<li class="row"><span><strong>${isolated(client_name)}</strong>
<span class="soft">${access}</span>
<span class="soft">${timesOf(messages, created_at, last_used_at)}${unused}</span>
${scope && html`<span class="soft">${scopesOf(messages, scope, resource)}</span>`}
${resource?.uri && html`<code>${resource.uri}</code>`}</span>
${sectionForm(
  account,
  ID,
  html`<input type="hidden" name="client_id" value="${client_id}">
<input type="hidden" name="resource_id" value="${resource_id}">
<button aria-label="${t.removeFrom(client_name, resource?.display_name ?? t.accessToAccount)}">${t.remove}</button>`,
)}</li>`
}

/** What the scopes allow, in the words of the consent page. */
const scopesOf = (messages: Messages, scope: string, resource: Application['resource']): Markup[] =>
  scopeNames(scope).map((name, i) => {
    const found = resource?.scopes.find((each) => each.name === name)
    return html`${i > 0 && ', '}${descriptionOf(messages, found) ?? isolated(name)}`
  })

async function removeAccess({ app, request, signedIn }: AccountRequest, { client_id, resource_id }: Params) {
  const user_id = signedIn.user.id
  if (client_id === undefined) return {}
  const detail = { user_id, ...(resource_id ? { resource_id } : {}) }
  const event = newAuditEvent(app, { ...actorOf(request, signedIn), action: 'consent_revoked', client_id, detail })
  // When another tab or an operator was first, the access has ended, and there is no event.
  await app.store.recorded('endApplication', { user_id, client_id, resource_id, now: app.clock.now() }, event)
  return {}
}
