// The connect flow: a user authorizes at a provider and returns with a code. The state in between is bound to the user, the provider
// and the return URL, and is used once.
import { createHmac } from 'node:crypto'
import type { App } from '../context.ts'
import type { Params } from '../http/message.ts'
import { asOAuthError } from '../http/problem.ts'
import { OAuthError, type RefusalReason } from '../lib/error.ts'
import { SLUG } from '../lib/field.ts'
import { digest, equalSecrets, isId, newId } from '../lib/id.ts'
import { type AuditActor, audit } from '../oauth/audit.ts'
import { matchesReturnUrl } from '../oauth/clients/redirect_pattern.ts'
import { upstreamReason } from '../oauth/federation/upstream_errors.ts'
import { PATHS } from '../oauth/metadata.ts'
import { mayAuditRefusal } from '../oauth/refusal_limit.ts'
import { catalogOf, scopeNames } from '../oauth/tokens/resource.ts'
import type { ConnectState } from '../records/broker_grant.ts'
import type { BrokerProvider } from '../records/broker_provider.ts'
import type { Resource } from '../records/resource.ts'
import { connect, type NewConnection } from './connection.ts'
import { requireEncryption } from './credential.ts'
import { authorizeUrl, redeemUpstreamCode } from './oauth.ts'
import { protocolOf } from './protocols.ts'
import { upstreamScopes } from './provider.ts'
import { UpstreamRefusal } from './upstream.ts'

/** Seconds within which a user must return from the provider. */
const STATE_LIFETIME = 600

const invalidRequest = (description: string, reason: RefusalReason) =>
  new OAuthError('invalid_request', description, { reason })
const invalidTarget = (description: string, reason: RefusalReason) =>
  new OAuthError('invalid_target', description, { reason })

/** Throws not_found when connections are not enabled, and 503 when they cannot be encrypted. Both name the missing setting. */
export function checkBrokerEnabled(app: App): void {
  if (!app.config.connect.state_secret)
    throw new OAuthError('not_found', 'upstream connections are disabled: connect.state_secret is not set', {
      reason: 'connect_off',
    })
  requireEncryption(app)
}

/** A request to connect: the provider, the resource, and the URL to return to. */
export interface ConnectRequest {
  provider: BrokerProvider
  resource: Resource
  return_url: string
}

/** Reads a request to connect. Throws invalid_request or invalid_target; not_found for a malformed slug. */
export async function readConnectRequest(app: App, slug: string, params: Params): Promise<ConnectRequest> {
  if (!SLUG.test(slug)) throw new OAuthError('not_found', 'there is no such provider', { reason: 'bad_slug' })
  const provider = await app.store.findProvider({ name: slug })
  if (!provider) throw invalidRequest('the provider is not known', 'unknown_provider')
  const resource = await resourceOf(app, provider, params.resource)
  const { return_url } = params
  if (return_url === undefined) throw invalidRequest('return_url is missing', 'missing_return_url')
  if (!isAllowed(app, resource, return_url)) throw invalidRequest('return_url is not allowed', 'return_url_not_allowed')
  if (protocolOf(provider).connects === 'operator')
    throw invalidTarget('users cannot connect to this provider; an operator connects them', 'no_connect_step')
  return { provider, resource, return_url }
}

async function resourceOf({ store }: App, provider: BrokerProvider, name: string | undefined): Promise<Resource> {
  if (name === undefined) {
    const own = await store.listResources({ broker_provider_slug: provider.slug, limit: 2 })
    if (own.length > 1)
      throw invalidRequest('several resources use this provider; resource is required', 'ambiguous_resource')
    if (own[0]) return own[0]
    throw invalidTarget('no resource uses this provider', 'no_resource')
  }
  const resource = (await store.findResource({ uri: name })) ?? (await store.findResourceByName({ name }))
  if (resource?.broker_provider_slug === provider.slug) return resource
  throw invalidTarget('the resource does not use this provider', 'resource_of_another_provider')
}

/** The list of the resource replaces the configured list, unless it is empty. */
function isAllowed({ config }: App, { policy }: Resource, return_url: string): boolean {
  if (return_url === config.server.issuer + PATHS.connections) return true
  const own = policy.connect.allowed_return_urls
  const patterns = own.length > 0 ? own : config.connect.allowed_return_urls
  return patterns.some((pattern) => matchesReturnUrl(pattern, return_url))
}

const mac = ({ config }: App, ...parts: string[]) =>
  createHmac('sha256', config.connect.state_secret).update(JSON.stringify(parts)).digest('base64url')
const stateOf = (app: App, { id, user_id, return_url }: ConnectState, { slug }: BrokerProvider): string =>
  `${id}.${mac(app, 'state', id, user_id, slug, return_url)}`
/** The PKCE verifier is derived, not stored: read access to the database is not enough to redeem a code. */
const verifierOf = (app: App, { id }: ConnectState): string => mac(app, 'verifier', id)
/** The URL to which a provider sends users back. */
export const callbackOf = ({ config }: App, { slug }: BrokerProvider): string =>
  `${config.connect.redirect_base_url.replace(/\/$/, '')}${PATHS.connect}/${slug}/callback`

/** Stores the state of a connect flow. Returns the authorization URL of the provider. */
export async function beginConnect(
  app: App,
  user_id: string,
  { provider, resource, return_url }: ConnectRequest,
): Promise<string> {
  const scope = (await scopesFor(app, user_id, provider, resource)).join(' ')
  const state: ConnectState = {
    id: newId(),
    user_id,
    broker_provider_id: provider.id,
    resource_id: resource.id,
    return_url,
    scope,
    expires_at: app.clock.now() + STATE_LIFETIME,
  }
  const url = authorizeUrl(provider, {
    redirect_uri: callbackOf(app, provider),
    scope,
    state: stateOf(app, state, provider),
    code_challenge: digest(verifierOf(app, state)),
  })
  await app.store.createConnectState(state)
  return url
}

/** Every scope of the resource, and the scopes that the user granted earlier for other resources of the provider: connecting removes no scope. */
async function scopesFor(app: App, user_id: string, provider: BrokerProvider, resource: Resource): Promise<string[]> {
  const own = upstreamScopes(resource, catalogOf(resource))
  const existing = await app.store.findBrokerGrant({ user_id, broker_provider_id: provider.id })
  if (!existing) return own
  const all = await app.store.listResources({ broker_provider_slug: provider.slug })
  const known = all.flatMap((each) => upstreamScopes(each, catalogOf(each)))
  const granted = scopeNames(existing.scopes_granted).filter((name) => known.includes(name))
  return [...new Set([...own, ...granted])]
}

/** The request with which a provider sends a user back. */
export interface ConnectCallback {
  /** The provider in the path. */
  slug: string
  params: Params
}

/** Connects a user. Throws invalid_request when the provider was deleted in the meantime. */
export async function connectAs(
  app: App,
  actor: AuditActor,
  provider: BrokerProvider,
  connection: Omit<NewConnection, 'user_id'>,
): Promise<void> {
  if (!(await connect(app, provider, { ...connection, user_id: actor.actor_id }, actor)))
    throw invalidRequest('the provider is not known', 'unknown_provider')
}

/**
 * Connects a user who returns from the provider. Returns the URL to redirect to: the return URL, with `error` when the provider
 * refused or cannot be reached. Throws invalid_request for a state that is unknown, used, expired or forged, access_denied for the
 * state of another user.
 */
export async function finishConnect(app: App, { slug, params }: ConnectCallback, actor: AuditActor): Promise<string> {
  const { code } = params
  const failed = async (reason: RefusalReason, error?: unknown): Promise<void> => {
    const detail = { provider: slug, user_id: actor.actor_id, reason }
    app.log.warn({ ...detail, request_id: actor.request_id, err: error }, 'a user could not be connected to a provider')
    if (mayAuditRefusal(app, { remote: actor.ip }, actor.actor_id, 'broker_connect_failed'))
      await audit(app, { action: 'broker_connect_failed', detail, ...actor })
  }
  const { state, provider } = await takeState(app, { slug, params }, actor).catch(async (error: unknown) => {
    // The provider reports an error that belongs to no known request. Only the operator can do something about it.
    if (params.error !== undefined && (await app.store.findProvider({ name: slug })))
      await failed(upstreamReason(params.error), error)
    throw error
  })
  if (code === undefined) {
    await failed(upstreamReason(params.error))
    return withError(state.return_url, params.error === 'access_denied' ? 'access_denied' : 'server_error')
  }
  try {
    const { credential, granted } = await redeemUpstreamCode(app, provider, {
      code,
      code_verifier: verifierOf(app, state),
      redirect_uri: callbackOf(app, provider),
      requested: scopeNames(state.scope),
    })
    await connectAs(app, actor, provider, { credential, granted })
    return state.return_url
  } catch (error) {
    await failed(error instanceof UpstreamRefusal ? `upstream_${error.code}` : asOAuthError(error).reason, error)
    const isUnavailable = error instanceof OAuthError && error.code === 'temporarily_unavailable'
    return withError(state.return_url, isUnavailable ? 'temporarily_unavailable' : 'server_error')
  }
}

const badState = (reason: RefusalReason) =>
  invalidRequest('this connection request has expired or was already used', reason)

/** The state with which a user returns. It is used up. Throws invalid_request, or access_denied for the state of another user. */
async function takeState(app: App, { slug, params }: ConnectCallback, { actor_id }: AuditActor) {
  if (params.state === undefined) throw invalidRequest('state is missing', 'missing_state')
  if (params.code === undefined && params.error === undefined) throw invalidRequest('code is missing', 'missing_code')
  const found = await findState(app, slug, params.state)
  if (found.state.user_id !== actor_id)
    throw new OAuthError('access_denied', 'another user started this connection', { reason: 'state_of_another_user' })
  if (!(await app.store.takeConnectState({ id: found.state.id }))) throw badState('state_used')
  return found
}

async function findState(app: App, slug: string, text: string) {
  const [id = ''] = text.split('.')
  const state = isId(id) ? await app.store.findConnectState({ id, now: app.clock.now() }) : undefined
  if (!state) throw badState('unknown_state')
  const provider = await app.store.findProvider({ name: state.broker_provider_id })
  if (provider?.slug !== slug) throw badState('state_of_another_provider')
  if (!equalSecrets(text, stateOf(app, state, provider))) throw badState('forged_state')
  return { state, provider }
}

/** A return URL with an error. */
export function withError(return_url: string, error: string): string {
  return `${return_url}${return_url.includes('?') ? '&' : '?'}${new URLSearchParams({ error })}`
}
