// The answer for a client that an operator must approve first.
import type { App } from '../../context.ts'
import { prefersHtml, type Reply, type Request } from '../../http/message.ts'
import { html, isolated } from '../../lib/html.ts'
import { sentBy } from '../../oauth/audit.ts'
import { checkNotDenied, notApproved, requestApproval } from '../../oauth/clients/approval.ts'
import type { ReturnAddress } from '../../oauth/sign_in/authorization.ts'
import type { Client } from '../../records/client.ts'
import type { Resource } from '../../records/resource.ts'
import { accountName, type User } from '../../records/user.ts'
import { messagesOf } from './language.ts'
import { backButton, page } from './pages.ts'
import { backWith, respond } from './response.ts'

interface Asked {
  client: Client
  resource?: Resource
  user: User
  /** Where the client gets the refusal. Undefined: it waits for no answer. */
  back?: ReturnAddress
  /** Nothing may be shown. */
  isSilent?: boolean
}

/** Records the request of a client that waits for its approval, and tells the person. Undefined for an approved client. Throws access_denied for one that was denied. */
export async function answerUnapproved(
  app: App,
  request: Request,
  { client, resource, user, back, isSilent = false }: Asked,
): Promise<Reply | undefined> {
  if ((await checkNotDenied(app, client, 'access_denied')) === 'approved') return undefined
  await requestApproval(app, { client, resource, user_id: user.id }, sentBy(request))
  const error = notApproved('access_denied')
  request.notes.refusal = error
  app.metrics.count('core_auth_denied_total', { reason: error.code })
  if (back && (isSilent || !prefersHtml(request))) return respond(app, request, back, error)
  const messages = messagesOf(request)
  const { approval: t } = messages
  return page(
    app,
    messages,
    messages.accessRefused.title,
    html`<h1>${t.heading(isolated(client.client_name))}</h1>
<p class="note">${t.text}</p>
${back && backButton(messages, backWith(app, back, error))}
<p class="soft">${messages.signedInAs(isolated(accountName(user)))}</p>`,
    { status: error.status, waiting: request.notes.waiting },
  )
}
