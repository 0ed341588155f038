// GET and POST /connect/{provider}, and its callback: a user connects to the provider of a broker resource.

import { isApiKey } from '../broker/apikey.ts'
import {
  type AuditActor,
  beginConnect,
  type ConnectRequest,
  checkBrokerEnabled,
  connectAs,
  finishConnect,
  readConnectRequest,
} from '../broker/connect.ts'
import { protocolOf } from '../broker/protocols.ts'
import { configOf } from '../broker/provider.ts'
import { apikeyConfig } from '../config/provider_record.ts'
import type { App } from '../context.ts'
import { type Params, parseForm, parseParams, type Reply, type Request, redirect } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { html, isolated, type Markup } from '../lib/html.ts'
import { sentBy } from '../oauth/audit.ts'
import { PATHS } from '../oauth/metadata.ts'
import { messagesOf } from './language.ts'
import type { Messages } from './messages/en.ts'
import { page } from './pages.ts'
import { checkForm, findSignedIn, isFromBrowser, type SignedIn, sessionToken } from './session.ts'
import { basePath, pathAndQuery, toLogin } from './urls.ts'

const slugOf = ({ params }: Request): string => params['provider'] ?? ''

/** The signed-in user of a request, for the audit trail. */
export const actorOf = (request: Request, { user }: SignedIn): AuditActor => ({ actor_id: user.id, ...sentBy(request) })

/**
 * Redirects a user to the provider, or asks for an API key. A browser first shows the account: an attacker who can replace the
 * session cookie of a browser could otherwise make a user connect to the account of the attacker.
 */
export async function startConnect(app: App, request: Request): Promise<Reply> {
  checkBrokerEnabled(app)
  const signedIn = await findSignedIn(app, request)
  if (!signedIn) return toLogin(app, pathAndQuery(request))
  const connectRequest = await readConnectRequest(app, slugOf(request), parseParams(request.query))
  const messages = messagesOf(request)
  if (usesApiKey(connectRequest)) return keyPage(app, messages, signedIn, connectRequest)
  if (isFromBrowser(request)) return connectPage(app, messages, signedIn, connectRequest)
  return redirect(await beginConnect(app, signedIn.user.id, connectRequest))
}

/** Completes the connect flow when the user returns from the provider. */
export async function connectCallback(app: App, request: Request): Promise<Reply> {
  checkBrokerEnabled(app)
  const params = parseParams(request.query)
  if (params.state === undefined)
    throw new OAuthError('invalid_request', 'state is missing', { reason: 'missing_state' })
  const signedIn = await findSignedIn(app, request)
  if (!signedIn) throw new OAuthError('access_denied', 'you are not signed in', { reason: 'not_signed_in' })
  return redirect(await finishConnect(app, { slug: slugOf(request), params }, actorOf(request, signedIn)))
}

const usesApiKey = ({ provider }: ConnectRequest): boolean => protocolOf(provider).connects === 'key'
const purposeOf = ({ provider }: ConnectRequest) => `connect ${provider.id}`

interface PageParts {
  status?: number
  /** Input fields of the form. */
  fields?: Markup
  /** Content below the form. */
  after?: Markup
}
/** The page with the provider, the resource, the account, and the button to continue. */
function connectPage(
  app: App,
  messages: Messages,
  signedIn: SignedIn,
  connectRequest: ConnectRequest,
  { status, fields, after }: PageParts = {},
): Reply {
  const { provider, resource, return_url } = connectRequest
  const { user } = signedIn
  const { connect: t } = messages
  const query = new URLSearchParams({ resource: resource.slug, return_url })
  const again = new URLSearchParams({ redirect: `${PATHS.connect}/${provider.slug}?${query}`, prompt: 'login' })
  return page(
    app,
    messages,
    t.title(provider.display_name),
    html`<h1>${t.heading(isolated(provider.display_name))}</h1>
<p class="soft">${t.purpose(isolated(resource.display_name))}</p>
<form method="post" action="${basePath(app)}${PATHS.connect}/${provider.slug}">
<input type="hidden" name="csrf_token" value="${sessionToken(app, signedIn, purposeOf(connectRequest))}">
<input type="hidden" name="resource" value="${resource.slug}">
<input type="hidden" name="return_url" value="${return_url}">
${fields}<button class="main wide">${t.submit}</button>
</form>
${after}<footer class="soft"><span>${messages.signedInAs(isolated(user.email ?? user.name))}</span> <a href="${basePath(app)}/login?${again.toString()}">${messages.useAnotherAccount}</a></footer>`,
    { status },
  )
}

function keyPage(
  app: App,
  messages: Messages,
  signedIn: SignedIn,
  connectRequest: ConnectRequest,
  problem?: string,
): Reply {
  const { provider } = connectRequest
  const { connect: t } = messages
  const connections = html`<a href="${basePath(app)}${PATHS.connections}">${t.yourConnections}</a>`
  const { issuance_instructions_url: help } = configOf(provider, apikeyConfig)
  return connectPage(app, messages, signedIn, connectRequest, {
    status: problem ? 422 : 200,
    fields: html`${problem && html`<p class="note bad" role="alert" id="problem">${problem}</p>`}
<label for="api_key">${t.key(isolated(provider.display_name))}</label>
<input type="password" id="api_key" name="api_key" autocomplete="off" required maxlength="4096" autofocus${problem && html` aria-describedby="problem"`}>
`,
    after: html`${help && html`<p class="soft after"><a href="${help}" rel="noreferrer">${t.whereToFind}</a></p>`}
<p class="soft after">${t.stored(connections)}</p>
`,
  })
}

/** Handles the form of the page: redirects to the provider, or stores the API key that the user entered. */
export async function submitConnect(app: App, request: Request): Promise<Reply> {
  checkBrokerEnabled(app)
  const form: Params = parseForm(request)
  const signedIn = await findSignedIn(app, request)
  if (!signedIn) throw new OAuthError('access_denied', 'you are not signed in', { reason: 'not_signed_in' })
  const connectRequest = await readConnectRequest(app, slugOf(request), form)
  checkForm(app, request, signedIn, purposeOf(connectRequest), form.csrf_token)
  if (!usesApiKey(connectRequest)) return redirect(await beginConnect(app, signedIn.user.id, connectRequest))
  const api_key = form.api_key?.trim() ?? ''
  if (!isApiKey(api_key)) {
    const messages = messagesOf(request)
    return keyPage(app, messages, signedIn, connectRequest, messages.connect.badKey)
  }
  const connection = { credential: { api_key, tokens: [] }, granted: [] }
  await connectAs(app, actorOf(request, signedIn), connectRequest.provider, connection)
  return redirect(connectRequest.return_url)
}
