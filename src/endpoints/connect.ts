// GET and POST /connect/{provider}, and its callback: a user connects to the provider of a broker resource.

import { isApiKey } from '../broker/apikey.ts'
import {
  beginConnect,
  type ConnectRequest,
  checkBrokerEnabled,
  connectAs,
  finishConnect,
  readConnectRequest,
  withError,
} from '../broker/connect.ts'
import { protocolOf } from '../broker/protocols.ts'
import { configOf } from '../broker/provider.ts'
import { apikeyConfig } from '../config/provider_record.ts'
import type { App } from '../context.ts'
import {
  type Params,
  parseForm,
  parseParams,
  prefersHtml,
  type Reply,
  type Request,
  redirect,
} from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { html, isolated, type Markup } from '../lib/html.ts'
import { placeOf } from '../oauth/clients/redirect_uri.ts'
import { upstreamReason } from '../oauth/federation/upstream_errors.ts'
import { PATHS } from '../oauth/metadata.ts'
import { type AccessRule, decideAccess } from '../oauth/tokens/access.ts'
import { catalogOf } from '../oauth/tokens/resource.ts'
import { noteAccessRefused, refusedAccess } from '../oauth/tokens/subject_access.ts'
import type { Resource } from '../records/resource.ts'
import { accountName, personOf } from '../records/user.ts'
import { accessRefusedPage } from './pages/access_refused.ts'
import { messagesOf } from './pages/language.ts'
import { page } from './pages/pages.ts'
import { ACCOUNT_PATH, basePath, loginUrl, pathAndQuery, toLogin } from './pages/urls.ts'
import { actorOf, checkForm, findSignedIn, formToken, isFromBrowser, type SignedIn } from './session.ts'

const slugOf = ({ params }: Request): string => params['provider'] ?? ''

/**
 * Redirects a user to the provider, or asks for an API key. A browser first shows the account: an attacker who can replace the
 * session cookie of a browser could otherwise make a user connect to the account of the attacker.
 */
export async function startConnect(app: App, request: Request): Promise<Reply> {
  checkBrokerEnabled(app)
  const signedIn = await findSignedIn(app, request)
  if (!signedIn) return toLogin(app, request, pathAndQuery(request))
  const connectRequest = await readConnectRequest(app, slugOf(request), parseParams(request.query))
  const refused = await findRefusal(app, request, signedIn, connectRequest)
  if (refused) return refused
  if (usesApiKey(connectRequest)) return keyPage(app, request, signedIn, connectRequest)
  if (isFromBrowser(request)) return connectPage(app, request, signedIn, connectRequest)
  return redirect(await beginConnect(app, signedIn.user.id, connectRequest))
}

/** Completes the connect flow when the user returns from the provider. */
export async function connectCallback(app: App, request: Request): Promise<Reply> {
  checkBrokerEnabled(app)
  const params = parseParams(request.query)
  const signedIn = await findSignedIn(app, request)
  if (!signedIn && params.code !== undefined) return toLogin(app, request, pathAndQuery(request))
  if (!signedIn) {
    const reason = params.error === undefined ? 'not_signed_in' : upstreamReason(params.error)
    throw new OAuthError('access_denied', 'you are not signed in', { reason })
  }
  return redirect(await finishConnect(app, { slug: slugOf(request), params }, actorOf(request, signedIn)))
}

/** The local path of the page for the same request. */
const connectPlace = (slug: string, { resource = '', return_url = '' }: Params): string =>
  `${PATHS.connect}/${slug}?${new URLSearchParams({ resource, return_url })}`

/** The login page that leads back to the same request. */
const anotherAccount = (app: App, request: Request, { provider, resource, return_url }: ConnectRequest) =>
  loginUrl(app, request, connectPlace(provider.slug, { resource: resource.slug, return_url }), true)

/** The answer to a user who may not use the resource: the provider would be asked for tokens that the user never gets. Undefined when the user may. */
async function findRefusal(
  app: App,
  request: Request,
  signedIn: SignedIn,
  connectRequest: ConnectRequest,
): Promise<Reply | undefined> {
  const { resource, return_url } = connectRequest
  const { user } = signedIn
  const rule = refusalOf(resource, signedIn)
  if (!rule) return undefined
  const error = refusedAccess('access_denied', user.id, resource, rule)
  request.notes.refusal = error
  await noteAccessRefused(app, request, undefined, error)
  const href = withError(return_url, error.code)
  if (!prefersHtml(request)) return redirect(href)
  const refused = { user, resource, rule, another: await anotherAccount(app, request, connectRequest) }
  return accessRefusedPage(app, request, refused, { href, place: placeOf(return_url) })
}

const refusalOf = (resource: Resource, { user, session }: SignedIn): AccessRule | undefined =>
  decideAccess(resource, personOf(user), catalogOf(resource), session).refused_by

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
async function connectPage(
  app: App,
  request: Request,
  signedIn: SignedIn,
  connectRequest: ConnectRequest,
  { status, fields, after }: PageParts = {},
): Promise<Reply> {
  const messages = messagesOf(request)
  const another = await anotherAccount(app, request, connectRequest)
  const { provider, resource, return_url } = connectRequest
  const { user } = signedIn
  const { connect: t } = messages
  return page(
    app,
    messages,
    t.title(provider.display_name),
    html`<h1>${t.heading(isolated(provider.display_name))}</h1>
<p class="soft">${t.purpose(isolated(resource.display_name))}</p>
<form method="post" action="${basePath(app)}${PATHS.connect}/${provider.slug}">
<input type="hidden" name="csrf_token" value="${formToken(app, signedIn, purposeOf(connectRequest))}">
<input type="hidden" name="resource" value="${resource.slug}">
<input type="hidden" name="return_url" value="${return_url}">
${fields}<button class="main wide">${t.submit}</button>
</form>
${after}<footer class="soft"><span>${messages.signedInAs(isolated(accountName(user)))}</span> <a href="${another}">${messages.useAnotherAccount}</a></footer>`,
    { status, waiting: request.notes.waiting },
  )
}

function keyPage(
  app: App,
  request: Request,
  signedIn: SignedIn,
  connectRequest: ConnectRequest,
  problem?: string,
): Promise<Reply> {
  const messages = messagesOf(request)
  const { provider } = connectRequest
  const { connect: t } = messages
  const connections = html`<a href="${basePath(app)}${ACCOUNT_PATH}#connections">${t.yourConnections}</a>`
  const { issuance_instructions_url: help } = configOf(provider, apikeyConfig)
  return connectPage(app, request, signedIn, connectRequest, {
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
  if (!signedIn) return toLogin(app, request, connectPlace(slugOf(request), form))
  const connectRequest = await readConnectRequest(app, slugOf(request), form)
  checkForm(app, request, signedIn, purposeOf(connectRequest), form.csrf_token)
  const refused = await findRefusal(app, request, signedIn, connectRequest)
  if (refused) return refused
  if (!usesApiKey(connectRequest)) return redirect(await beginConnect(app, signedIn.user.id, connectRequest))
  const api_key = form.api_key?.trim() ?? ''
  if (!isApiKey(api_key)) {
    return keyPage(app, request, signedIn, connectRequest, messagesOf(request).connect.badKey)
  }
  const connection = { credential: { api_key, tokens: [] }, granted: [] }
  await connectAs(app, actorOf(request, signedIn), connectRequest.provider, connection)
  return redirect(connectRequest.return_url)
}
