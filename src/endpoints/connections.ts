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
import { html, type Markup } from '../lib/html.ts'
import { rfc3339 } from '../lib/time.ts'
import { isCrossSite } from '../lib/url.ts'
import { audit } from '../oauth/audit.ts'
import { PATHS } from '../oauth/metadata.ts'
import { scopeNames } from '../oauth/resource.ts'
import type { BrokerGrant } from '../records/broker_grant.ts'
import type { BrokerProvider } from '../records/broker_provider.ts'
import { actorOf } from './connect.ts'
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
  return connectionsPage(app, signedIn, found, parseParams(request.query).error)
}

const PURPOSE = 'disconnect'
const PROBLEMS: Record<string, string> = {
  access_denied: 'You were not connected: the request was denied at the provider.',
  temporarily_unavailable: 'You were not connected: the provider does not respond. Please try again later.',
}

function connectionsPage(
  app: App,
  signedIn: SignedIn,
  found: readonly UserConnection[],
  error: string | undefined,
): Reply {
  const items = found.filter(isLive).map((each) => item(app, signedIn, each))
  const lost = found.filter(({ grant }) => grant.ended_reason === 'answer_lost').map(lostNote)
  return page(
    'Your connections',
    html`<h1>Your connections</h1>
<p class="soft">Accounts at other services that applications may use in your name.</p>
${error && html`<p class="note bad" role="alert">${PROBLEMS[error] ?? 'You were not connected: the provider reported an error.'}</p>`}
${lost}${items.length > 0 ? html`<ul>${items}</ul>` : html`<p class="note">You have no connections.</p>`}
<footer class="soft"><span>Signed in as <bdi>${signedIn.user.email ?? signedIn.user.name}</bdi></span></footer>`,
  )
}

const lostNote = ({ provider }: UserConnection): Markup =>
  html`<p class="note warn">A response of <bdi>${provider.display_name}</bdi> was lost, and your connection ended with it. Nobody revoked the connection. Connect again when an application asks you to.</p>
`

function item(app: App, signedIn: SignedIn, { grant, provider }: UserConnection): Markup {
  const since = rfc3339(grant.updated_at).slice(0, 10)
  return html`<li class="row"><span><bdi>${provider.display_name}</bdi>
${grant.scopes_granted && html`<code>${grant.scopes_granted}</code>`}<code>since ${since}</code></span>
<form method="post" action="${basePath(app)}${PATHS.connections}">
<input type="hidden" name="csrf_token" value="${sessionToken(app, signedIn, PURPOSE)}">
<input type="hidden" name="provider" value="${provider.slug}">
<button aria-label="Disconnect ${provider.display_name}">Disconnect</button>
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
