// The sign-ins of the user: browsers that have a session. One or all others can be ended.
import type { Params } from '../../http/message.ts'
import { html, type Markup } from '../../lib/html.ts'
import { isId } from '../../lib/id.ts'
import { newAuditEvent } from '../../oauth/audit.ts'
import type { Session } from '../../records/session.ts'
import { browserName } from '../pages/language.ts'
import { actorOf, endSession } from '../session.ts'
import { type AccountRequest, type AccountSection, itemList, type Submitted, sectionForm, timesOf } from './section.ts'

const ID = 'sign-ins'

export const signInsSection = {
  id: ID,
  heading: ({ account }) => account.signIns.heading,
  async render(account) {
    const { app, signedIn, messages } = account
    const t = messages.account.signIns
    const found = await app.store.listSessions({ user_id: signedIn.user.id, now: app.clock.now() })
    const others = found.filter(({ id }) => id !== signedIn.session.id)
    const items = [signedIn.session, ...others].map((each) => item(account, each))
    return html`<p class="soft">${t.lead}</p>
${itemList(items, '')}
${others.length > 0 && sectionForm(account, ID, html`<button class="wide" name="others" value="1">${t.endOthers}</button>`)}`
  },
  submit: endSignIns,
  done: ({ account }) => account.signIns.done,
} satisfies AccountSection

function item(account: AccountRequest, session: Session): Markup {
  const { messages } = account
  const { signIns: t } = messages.account
  const { id, user_agent, ip, created_at, last_used_at } = session
  const device = browserName(messages, user_agent) ?? t.unknownBrowser
  return html`<li class="row"><span>${device}${id === account.signedIn.session.id && html` <strong>(${t.thisBrowser})</strong>`}
<span class="soft">${timesOf(messages, created_at, last_used_at)}</span>${ip && html`<code>${ip}</code>`}</span>
${sectionForm(
  account,
  ID,
  html`<input type="hidden" name="session_id" value="${id}">
<button aria-label="${t.signOutOf(device, ip ?? '')}">${t.signOut}</button>`,
)}</li>`
}

async function endSignIns(account: AccountRequest, { others, session_id = '' }: Params): Promise<Submitted> {
  const { app, request, signedIn } = account
  const user_id = signedIn.user.id
  const detail = { user_id, sessions: 1 }
  const event = newAuditEvent(app, { ...actorOf(request, signedIn), action: 'user_sessions_ended', detail })
  if (others !== undefined) {
    await app.store.recorded('endOtherSessions', { user_id, id: signedIn.session.id }, event)
    return {}
  }
  if (isId(session_id)) await app.store.recorded('endUserSession', { user_id, id: session_id }, event)
  if (session_id !== signedIn.session.id) return {}
  return { cookies: [await endSession(app, request, undefined)], to: '/login' }
}
