// The page after a logout that does not return to an application.
import type { App } from '../../context.ts'
import type { Reply } from '../../http/message.ts'
import { html } from '../../lib/html.ts'
import type { Messages } from '../messages/en.ts'
import { page, waysOn } from './pages.ts'
import { basePath } from './urls.ts'

/** The page "You are signed out", with a link to sign in again. */
export function signedOutPage(app: App, messages: Messages, headers: Record<string, string>): Reply {
  const { signOut: t } = messages
  const again = { href: `${basePath(app)}/login`, text: messages.login.submit }
  const body = html`<h1>${t.done}</h1>\n<p class="soft">${t.close}</p>\n${waysOn(app, messages, { again })}`
  return page(app, messages, t.done, body, { headers })
}
