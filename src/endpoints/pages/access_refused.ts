// The answer when the signed-in user may not use the resource that an application requests.
import type { App } from '../../context.ts'
import { prefersHtml, type Reply, type Request } from '../../http/message.ts'
import type { OAuthError } from '../../lib/error.ts'
import { html, isolated } from '../../lib/html.ts'
import type { Requested, ReturnAddress } from '../../oauth/sign_in/authorization.ts'
import type { AccessRule } from '../../oauth/tokens/access.ts'
import { noteAccessRefused, refusedAccess } from '../../oauth/tokens/subject_access.ts'
import type { Resource } from '../../records/resource.ts'
import { accountName, type User } from '../../records/user.ts'
import { messagesOf } from './language.ts'
import { type BackLink, backButton, page } from './pages.ts'
import { backWith, respond } from './response.ts'

const ACCESS_REFUSED = 403

export interface RefusedAccess {
  user: User
  resource: Resource
  rule: AccessRule
  /** The login page that leads back to the same request. */
  another: string
}

/** Records the refusal, and shows it to the person. With prompt=none, and without a browser, the client gets it at once. */
export async function answerAccessRefused(
  app: App,
  request: Request,
  back: ReturnAddress,
  { prompt }: Requested,
  refused: RefusedAccess,
): Promise<Reply> {
  const error = await noteRefused(app, request, back.client.client_id, refused)
  if (prompt.includes('none') || !prefersHtml(request)) return respond(app, request, back, error)
  return accessRefusedPage(app, request, refused, backWith(app, back, error))
}

/** Records the refusal, and shows it to the person who entered the code of a device. The device waits for another account. */
export async function refuseDeviceAccess(
  app: App,
  request: Request,
  client_id: string,
  refused: RefusedAccess,
): Promise<Reply> {
  await noteRefused(app, request, client_id, refused)
  return accessRefusedPage(app, request, refused)
}

async function noteRefused(
  app: App,
  request: Request,
  client_id: string,
  { user, resource, rule }: RefusedAccess,
): Promise<OAuthError> {
  const error = refusedAccess('access_denied', user.id, resource, rule)
  request.notes.refusal = error
  app.metrics.count('core_auth_denied_total', { reason: error.code })
  await noteAccessRefused(app, request, client_id, error)
  return error
}

/** The page for a user who may not use a resource. `back` leads back to the application. */
export function accessRefusedPage(
  app: App,
  request: Request,
  { user, resource, rule, another }: RefusedAccess,
  back?: BackLink,
): Reply {
  const messages = messagesOf(request)
  const { accessRefused: t } = messages
  return page(
    app,
    messages,
    t.title,
    html`<h1>${t.heading(isolated(accountName(user)), isolated(resource.display_name))}</h1>
<p class="note bad" role="alert">${t[rule]}</p>
${back && backButton(messages, back)}
<p class="after"><a class="button" href="${another}">${messages.useAnotherAccount}</a></p>`,
    { status: ACCESS_REFUSED, waiting: request.notes.waiting },
  )
}
