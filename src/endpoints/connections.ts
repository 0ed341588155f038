// GET /connections: the upstream connections of a user, as a page or as JSON. Also disconnects.

import { disconnect } from '../broker/connection.ts'
import type { App } from '../context.ts'
import {
  empty,
  json,
  NO_STORE,
  parseForm,
  parseParams,
  prefersHtml,
  type Reply,
  type Request,
  redirect,
} from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { html, isolated, type Markup } from '../lib/html.ts'
import { rfc3339 } from '../lib/time.ts'
import { isCrossSite } from '../lib/url.ts'
import { audit } from '../oauth/audit.ts'
import { PATHS } from '../oauth/metadata.ts'
import { scopeNames } from '../oauth/resource.ts'
import type { BrokerGrant } from '../records/broker_grant.ts'
import type { BrokerProvider } from '../records/broker_provider.ts'
import { actorOf } from './connect.ts'
import { dayIn, messagesOf } from './language.ts'
import type { Messages } from './messages/en.ts'
import { page } from './pages.ts'
import { checkForm, findSignedIn, type SignedIn, sessionToken } from './session.ts'
import { basePath, pathAndQuery, toLogin } from './urls.ts'

interface UserConnection {
  grant: BrokerGrant
  provider: BrokerProvider
}

/** Every connection of a user, including ended ones. */
async function listConnections({ store }: App, user_id: string): Promise<UserConnection[]> {
  const [grants, providers] = await Promise.all([store.listBrokerGrants({ user_id }), store.listProviders()])
  return grants.flatMap((grant) => {
    const provider = providers.find(({ id }) => id === grant.broker_provider_id)
    return provider ? [{ grant, provider }] : []
  })
}

const isLive = ({ grant }: UserConnection): boolean => grant.revoked_at === undefined

const jsonOf = ({ grant, provider }: UserConnection) => ({
  provider: provider.slug,
  display_name: provider.display_name,
  scopes_granted: scopeNames(grant.scopes_granted),
  created_at: rfc3339(grant.created_at),
  updated_at: rfc3339(grant.updated_at),
})

const notSignedIn = () =>
  new OAuthError('unauthorized', 'you are not signed in', {
    reason: 'not_signed_in',
    headers: { 'www-authenticate': 'Bearer' },
  })

/** The active connections of the signed-in user. */
export async function showConnections(app: App, request: Request): Promise<Reply> {
  const signedIn = await findSignedIn(app, request)
  const isPage = prefersHtml(request)
  if (!signedIn && isPage) return toLogin(app, pathAndQuery(request))
  if (!signedIn) throw notSignedIn()
  const found = await listConnections(app, signedIn.user.id)
  if (!isPage) return json(200, found.filter(isLive).map(jsonOf), NO_STORE)
  return connectionsPage(app, messagesOf(request), signedIn, found, parseParams(request.query).error)
}

const PURPOSE = 'disconnect'
/** What went wrong at the provider, by the error that the user came back with. */
function problemOf({ denied, unavailable, failed }: Messages['connections'], error: string): string {
  if (error === 'access_denied') return denied
  return error === 'temporarily_unavailable' ? unavailable : failed
}

function connectionsPage(
  app: App,
  messages: Messages,
  signedIn: SignedIn,
  found: readonly UserConnection[],
  error: string | undefined,
): Reply {
  const { user } = signedIn
  const { connections: t } = messages
  const items = found.filter(isLive).map((each) => item(app, messages, signedIn, each))
  const lost = found
    .filter(({ grant }) => grant.ended_reason === 'answer_lost')
    .map(({ provider }) => html`<p class="note warn">${t.lost(isolated(provider.display_name))}</p>\n`)
  return page(
    app,
    messages,
    t.title,
    html`<h1>${t.title}</h1>
<p class="soft">${t.lead}</p>
${error && html`<p class="note bad" role="alert">${problemOf(t, error)}</p>`}
${lost}${items.length > 0 ? html`<ul>${items}</ul>` : html`<p class="note">${t.none}</p>`}
<footer class="soft"><span>${messages.signedInAs(isolated(user.email ?? user.name))}</span></footer>`,
  )
}

function item(app: App, messages: Messages, signedIn: SignedIn, { grant, provider }: UserConnection): Markup {
  const { connections: t } = messages
  return html`<li class="row"><span>${isolated(provider.display_name)}
${grant.scopes_granted && html`<code>${grant.scopes_granted}</code>`}<span class="soft">${messages.since(dayIn(messages, grant.updated_at))}</span></span>
<form method="post" action="${basePath(app)}${PATHS.connections}">
<input type="hidden" name="csrf_token" value="${sessionToken(app, signedIn, PURPOSE)}">
<input type="hidden" name="provider" value="${provider.slug}">
<button aria-label="${t.disconnectFrom(provider.display_name)}">${t.disconnect}</button>
</form></li>`
}

/** Ends a connection by the form on the page. */
export async function disconnectByForm(app: App, request: Request): Promise<Reply> {
  const form = parseForm(request)
  const signedIn = await findSignedIn(app, request)
  if (!signedIn) return toLogin(app, pathAndQuery(request))
  checkForm(app, request, signedIn, PURPOSE, form.csrf_token)
  await disconnectFrom(app, request, signedIn, form.provider ?? '')
  return redirect(basePath(app) + PATHS.connections)
}

/** Ends a connection for a program that sends the session cookie of the user. */
export async function deleteConnection(app: App, request: Request): Promise<Reply> {
  const signedIn = await findSignedIn(app, request)
  if (!signedIn) throw notSignedIn()
  if (isCrossSite(request))
    throw new OAuthError('access_denied', 'cross-site requests are not allowed', { reason: 'cross_site' })
  if (await disconnectFrom(app, request, signedIn, request.params['provider'] ?? '')) return empty(204, NO_STORE)
  throw new OAuthError('not_found', 'there is no such connection')
}

async function disconnectFrom(app: App, request: Request, signedIn: SignedIn, slug: string): Promise<boolean> {
  const found = (await listConnections(app, signedIn.user.id))
    .filter(isLive)
    .find(({ provider }) => provider.slug === slug)
  if (!found) return false
  const ended = await disconnect(app, found.grant.id)
  if (ended?.detail)
    await audit(app, { action: 'broker_grant_revoked', detail: ended.detail, ...actorOf(request, signedIn) })
  return true
}
