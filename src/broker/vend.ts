// Vending: the token of a user at the provider of a broker resource. Callers check beforehand who may request it.

import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import { PATHS } from '../oauth/metadata.ts'
import { checkDeclared, scopeNames } from '../oauth/tokens/resource.ts'
import type { BrokerGrant, ConnectionEnd } from '../records/broker_grant.ts'
import type { BrokerProvider } from '../records/broker_provider.ts'
import type { Resource } from '../records/resource.ts'
import type { NoTokenReason, UpstreamToken } from '../records/upstream_token.ts'
import { findConnection } from './connection.ts'
import { protocolOf } from './protocols.ts'
import { providerOf, upstreamScopes } from './provider.ts'
import { noTokenAfter, renew } from './renew.ts'

export interface VendRequest {
  /** The user whose token is requested. */
  user_id: string
  /** The broker resource of the token. */
  resource: Resource
  /** The allowed scopes of the resource; at least one. */
  scope: readonly string[]
}
export interface Vended {
  /** Slug of the provider. */
  provider: string
  access_token: string
  /** Seconds; 0 when the provider gives no expiry. */
  expires_in: number
}

/**
 * The token of a user at a provider, for scopes of a resource: a stored token that is still valid, or a new one. Throws
 * consent_required with the URL at which the user can connect, temporarily_unavailable when the provider is unavailable,
 * invalid_scope for a scope that the resource does not declare, server_error when the provider is not configured correctly.
 */
export async function vend(app: App, { user_id, resource, scope }: VendRequest): Promise<Vended> {
  const startedMs = performance.now()
  checkDeclared(scope, resource)
  const provider = await providerOf(app, resource)
  const token = await tokenFor(app, provider, user_id, upstreamScopes(resource, scope))
  if (typeof token === 'string') throw connectionRequired(app, provider, resource, token)
  const seconds = (performance.now() - startedMs) / 1000
  app.metrics.observe('core_upstream_token_issuance_duration_seconds', seconds, { provider: provider.slug })
  const { access_token, expires_at } = token
  const expires_in = expires_at === undefined ? 0 : Math.max(0, expires_at - app.clock.now())
  return { provider: provider.slug, access_token, expires_in }
}

async function tokenFor(
  app: App,
  provider: BrokerProvider,
  user_id: string,
  wanted: string[],
): Promise<UpstreamToken | NoTokenReason> {
  const connection = await findConnection(app, user_id, provider)
  if (!connection) return noTokenAfter(await endReason(app, provider, user_id))
  if (!hasGranted(provider, connection.grant, wanted)) return 'insufficient'
  return (
    protocolOf(provider).storedToken(connection.credential, wanted, app.clock.now()) ??
    renew(app, provider, connection, wanted)
  )
}

/** Whether a connection has upstream scopes, as far as the provider names them. */
function hasGranted(provider: BrokerProvider, { scopes_granted }: BrokerGrant, wanted: readonly string[]): boolean {
  const granted = scopeNames(scopes_granted)
  return !protocolOf(provider).scoped || wanted.every((name) => granted.includes(name))
}

/** Checks that a user has the connection for a vend, or gets one without a connect flow. Changes nothing. Throws as vend() does for a missing connection. */
export async function checkConnection(app: App, { user_id, resource, scope }: VendRequest): Promise<void> {
  const provider = await providerOf(app, resource)
  const grant = await app.store.findBrokerGrant({ user_id, broker_provider_id: provider.id })
  if (grant) {
    if (hasGranted(provider, grant, upstreamScopes(resource, scope))) return
    throw connectionRequired(app, provider, resource, 'insufficient')
  }
  if (protocolOf(provider).initialCredential?.(provider) && (await app.store.findUser({ id: user_id }))) return
  throw connectionRequired(app, provider, resource, noTokenAfter(await endReason(app, provider, user_id)))
}

/** The reason why the last connection of a user to a provider ended. */
async function endReason({ store }: App, { id }: BrokerProvider, user_id: string): Promise<ConnectionEnd | undefined> {
  const grants = await store.listBrokerGrants({ user_id })
  return grants.find(({ broker_provider_id }) => broker_provider_id === id)?.ended_reason
}

const CAUSES = {
  missing: { cause: 'consent_missing', reason: 'upstream_connection_missing', why: '' },
  lost: {
    cause: 'consent_missing',
    reason: 'upstream_answer_lost',
    why: ' again: a response of the provider was lost, and the connection ended with it',
  },
  insufficient: { cause: 'scope_insufficient', reason: 'upstream_scope_insufficient', why: '' },
} as const

/** The user must connect, or connect again. For protocols without a connect flow an operator must connect the user. */
function connectionRequired(
  app: App,
  provider: BrokerProvider,
  { slug }: Resource,
  missing: NoTokenReason,
): OAuthError {
  const { cause, reason, why } = CAUSES[missing]
  if (protocolOf(provider).connects === 'operator')
    return new OAuthError('access_denied', `an operator must connect the user to ${slug}`, { reason })
  const { issuer } = app.config.server
  const query = new URLSearchParams({ resource: slug, return_url: issuer + PATHS.connections })
  const consent_url = `${issuer}${PATHS.connect}/${provider.slug}?${query}`
  return new OAuthError('consent_required', `Authorize access to ${slug}${why}`, {
    reason,
    body: { consent_url, cause },
  })
}
