// The connect flow: a user goes to a provider and comes back with a code. What is remembered meanwhile is bound to the user, the
// provider and the return URL, and used once.
import { createHmac } from 'node:crypto'
import type { App } from '../context.ts'
import type { Params } from '../http/message.ts'
import { asOAuthError } from '../http/problem.ts'
import { OAuthError } from '../lib/error.ts'
import { SLUG } from '../lib/field.ts'
import { digest, equalSecrets, isId, newId } from '../lib/id.ts'
import { audit } from '../oauth/audit.ts'
import { PATHS } from '../oauth/metadata.ts'
import { matchesReturnUrl } from '../oauth/redirect_pattern.ts'
import { catalogOf, scopeNames } from '../oauth/resource.ts'
import { upstreamReason } from '../oauth/upstream_errors.ts'
import type { BrokerProvider } from '../records/broker_provider.ts'
import type { ConnectState } from '../records/connect_state.ts'
import type { Resource } from '../records/resource.ts'
import { connect, type NewConnection } from './connection.ts'
import { sealing } from './credential.ts'
import { authorizeUrl, redeemUpstreamCode } from './oauth.ts'
import { protocolOf } from './protocols.ts'
import { upstreamScopes } from './provider.ts'
import { UpstreamRefusal } from './upstream.ts'

/** Seconds that a user may take at the provider. */
const STATE_LIFETIME = 600

const bad = (description: string, reason: string) => new OAuthError('invalid_request', description, { reason })
const badTarget = (description: string, reason: string) => new OAuthError('invalid_target', description, { reason })

/** Throws 503 that names the key to set, while users cannot connect at all. */
export function checkBrokerEnabled(app: App): void {
  sealing(app)
  if (!app.config.connect.state_secret)
    throw new OAuthError('temporarily_unavailable', 'upstream connections are off: connect.state_secret is not set', {
      reason: 'connect_off',
    })
}

/** What a user is to be connected to, and where to go afterwards. */
export interface WantedConnection {
  provider: BrokerProvider
  resource: Resource
  return_url: string
}

/** Reads a request to connect. Throws invalid_request or invalid_target; not_found for what cannot be the slug of a provider. */
export async function readWanted(app: App, slug: string, params: Params): Promise<WantedConnection> {
  if (!SLUG.test(slug)) throw new OAuthError('not_found', 'there is no such provider', { reason: 'bad_slug' })
  const provider = await app.store.findProvider({ name: slug })
  if (!provider) throw bad('the provider is not known', 'unknown_provider')
  const resource = await resourceOf(app, provider, params.resource)
  const { return_url } = params
  if (return_url === undefined) throw bad('return_url is missing', 'missing_return_url')
  if (!isAllowed(app, resource, return_url)) throw bad('return_url is not on the list', 'return_url_not_allowed')
  if (protocolOf(provider).connects === 'operator')
    throw badTarget('users do not connect to this provider by themselves', 'no_connect_step')
  return { provider, resource, return_url }
}

async function resourceOf({ store }: App, provider: BrokerProvider, name: string | undefined): Promise<Resource> {
  if (name === undefined) {
    const own = await store.listResources({ broker_provider_slug: provider.slug, limit: 2 })
    if (own.length > 1)
      throw bad('several resources have their tokens from this provider: name one', 'ambiguous_resource')
    if (own[0]) return own[0]
    throw badTarget('no resource has its tokens from this provider', 'no_resource')
  }
  const resource = (await store.findResource({ uri: name })) ?? (await store.findResourceByName({ name }))
  if (resource?.broker_provider_slug === provider.slug) return resource
  throw badTarget('the resource does not have its tokens from this provider', 'resource_of_another_provider')
}

/** The list of the resource, where it has one, is in place of the general one. */
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
/** Not stored: whoever reads the database cannot redeem a code. */
const verifierOf = (app: App, { id }: ConnectState): string => mac(app, 'verifier', id)
const callbackOf = ({ config }: App, { slug }: BrokerProvider): string =>
  `${config.connect.redirect_base_url.replace(/\/$/, '')}${PATHS.connect}/${slug}/callback`

/** Remembers where a user goes. Returns the URL at the provider. */
export async function beginConnect(
  app: App,
  user_id: string,
  { provider, resource, return_url }: WantedConnection,
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

/** Everything the resource knows, and what was granted before for others of the provider: connecting takes nothing away. */
async function scopesFor(app: App, user_id: string, provider: BrokerProvider, resource: Resource): Promise<string[]> {
  const own = upstreamScopes(resource, catalogOf(resource))
  const before = await app.store.findBrokerGrant({ user_id, broker_provider_id: provider.id })
  if (!before) return own
  const all = await app.store.listResources({ broker_provider_slug: provider.slug })
  const known = all.flatMap((each) => upstreamScopes(each, catalogOf(each)))
  const granted = scopeNames(before.scopes_granted).filter((name) => known.includes(name))
  return [...new Set([...own, ...granted])]
}

/** What a provider sends back with a user. */
export interface ConnectCallback {
  /** The provider in the path. */
  slug: string
  params: Params
}

/** The user who does it, for the audit trail. */
export interface Doer {
  actor_id: string
  ip: string
  request_id: string
}

/** Connects a user and records it. Throws invalid_request when the provider went meanwhile. */
export async function connectAs(
  app: App,
  doer: Doer,
  provider: BrokerProvider,
  connection: Omit<NewConnection, 'user_id'>,
): Promise<void> {
  const made = await connect(app, provider, { ...connection, user_id: doer.actor_id })
  if (!made) throw bad('the provider is not known', 'unknown_provider')
  await audit(app, { action: 'broker_grant_created', detail: made.detail, ...doer })
}

/**
 * Connects a user who comes back. Returns where the browser goes on to: the return URL, with `error` when the provider
 * refused or cannot be reached. Throws invalid_request for a state that is unknown, used, expired or forged, access_denied for that of another user.
 */
export async function finishConnect(app: App, { slug, params }: ConnectCallback, doer: Doer): Promise<string> {
  const { code, state: text = '' } = params
  if (code === undefined && params.error === undefined) throw bad('code is missing', 'missing_code')
  const { state, provider } = await findState(app, slug, text)
  if (state.user_id !== doer.actor_id)
    throw new OAuthError('access_denied', 'somebody else began this', { reason: 'state_of_another_user' })
  if (!(await app.store.takeConnectState({ id: state.id }))) throw badState('state_used')
  const failed = async (reason: string, error?: unknown): Promise<void> => {
    const detail = { provider: slug, user_id: doer.actor_id, reason }
    app.log.warn({ ...detail, request_id: doer.request_id, err: error }, 'a user could not be connected')
    await audit(app, { action: 'broker_connect_failed', detail, ...doer })
  }
  if (code === undefined) {
    await failed(upstreamReason(params.error))
    return withError(state, params.error === 'access_denied' ? 'access_denied' : 'server_error')
  }
  try {
    const { credential, granted } = await redeemUpstreamCode(app, provider, {
      code,
      code_verifier: verifierOf(app, state),
      redirect_uri: callbackOf(app, provider),
      asked: scopeNames(state.scope),
    })
    await connectAs(app, doer, provider, { credential, granted })
    return state.return_url
  } catch (error) {
    await failed(error instanceof UpstreamRefusal ? `upstream_${error.code}` : asOAuthError(error).reason, error)
    const isAway = error instanceof OAuthError && error.code === 'temporarily_unavailable'
    return withError(state, isAway ? 'temporarily_unavailable' : 'server_error')
  }
}

const badState = (reason: string) => bad('this way back has expired or was used already', reason)

async function findState(app: App, slug: string, text: string) {
  const [id = ''] = text.split('.')
  const state = isId(id) ? await app.store.findConnectState({ id, now: app.clock.now() }) : undefined
  if (!state) throw badState('unknown_state')
  const provider = await app.store.findProvider({ name: state.broker_provider_id })
  if (provider?.slug !== slug) throw badState('state_of_another_provider')
  if (!equalSecrets(text, stateOf(app, state, provider))) throw badState('forged_state')
  return { state, provider }
}

function withError({ return_url }: ConnectState, error: string): string {
  return `${return_url}${return_url.includes('?') ? '&' : '?'}${new URLSearchParams({ error })}`
}
