// GET /connections: the upstream connections of a user as JSON. The page is a section of the account page.

import { disconnect } from '../broker/connection.ts'
import type { App } from '../context.ts'
import { empty, json, NO_STORE, parseParams, prefersHtml, type Reply, type Request, redirect } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { rfc3339 } from '../lib/time.ts'
import { scopeNames } from '../oauth/tokens/resource.ts'
import type { BrokerGrant } from '../records/broker_grant.ts'
import type { BrokerProvider } from '../records/broker_provider.ts'
import { crossSite, isForeign } from './origin.ts'
import { ACCOUNT_PATH, basePath } from './pages/urls.ts'
import { actorOf, findSignedIn, type SignedIn } from './session.ts'

export interface UserConnection {
  grant: BrokerGrant
  provider: BrokerProvider
}

/** Every connection of a user, including ended ones. */
export async function listConnections({ store }: App, user_id: string): Promise<UserConnection[]> {
  const [grants, providers] = await Promise.all([store.listBrokerGrants({ user_id }), store.listProviders()])
  return grants.flatMap((grant) => {
    const provider = providers.find(({ id }) => id === grant.broker_provider_id)
    return provider ? [{ grant, provider }] : []
  })
}

/** Whether a connection has not ended. */
export const isLive = ({ grant }: UserConnection): boolean => grant.revoked_at === undefined

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

/** The active connections of the signed-in user as JSON. A browser is sent to the account page, with the error of the connect flow. */
export async function showConnections(app: App, request: Request): Promise<Reply> {
  if (prefersHtml(request)) return redirect(connectionsPage(app, request))
  const signedIn = await findSignedIn(app, request)
  if (!signedIn) throw notSignedIn()
  const found = await listConnections(app, signedIn.user.id)
  return json(200, found.filter(isLive).map(jsonOf), NO_STORE)
}

function connectionsPage(app: App, { query }: Request): string {
  const { error } = parseParams(query)
  const about = error === undefined ? '' : `?${new URLSearchParams({ error })}`
  return `${basePath(app)}${ACCOUNT_PATH}${about}#connections`
}

/** Ends a connection for a program that sends the session cookie of the user. */
export async function deleteConnection(app: App, request: Request): Promise<Reply> {
  const signedIn = await findSignedIn(app, request)
  if (!signedIn) throw notSignedIn()
  if (isForeign(app, request)) throw crossSite()
  if (await disconnectFrom(app, request, signedIn, request.params['provider'] ?? '')) return empty(204, NO_STORE)
  throw new OAuthError('not_found', 'there is no such connection')
}

/** Ends the connection of a user to a provider. False when there is none. */
export async function disconnectFrom(app: App, request: Request, signedIn: SignedIn, slug: string): Promise<boolean> {
  const found = (await listConnections(app, signedIn.user.id))
    .filter(isLive)
    .find(({ provider }) => provider.slug === slug)
  if (!found) return false
  return disconnect(app, found.grant.id, actorOf(request, signedIn))
}
