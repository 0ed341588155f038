// The well-known documents: server metadata, signing keys, protected resources.
import { issuerOf } from '../config/issuer.ts'
import type { App } from '../context.ts'
import { JWKS_MAX_AGE_SECONDS } from '../crypto/keyring.ts'
import { offeredGrantTypes } from '../grants/index.ts'
import { empty, json, type Reply, type Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { findDescribed, PATHS, resourceMetadata, serverMetadata } from '../oauth/metadata.ts'
import { listAllResources } from '../oauth/tokens/resource.ts'
import { LANGUAGES } from './pages/language.ts'

const HOUR = { 'cache-control': 'public, max-age=3600' }
const JWKS_CACHE = `public, max-age=${JWKS_MAX_AGE_SECONDS}`

/** Authorization server metadata (RFC 8414), also under the OpenID path. */
export async function serverDocument(app: App): Promise<Reply> {
  const offered = {
    grant_types: offeredGrantTypes(app.config),
    signing_algs: app.keyring.published().map(({ alg }) => alg),
    ui_locales: LANGUAGES.map(({ language }) => language),
  }
  return json(200, serverMetadata(app.config, offered, await listAllResources(app)), HOUR)
}

/** The public signing keys (RFC 7517). */
export function jwks(app: App, request: Request): Reply {
  const { body, etag } = app.keyring.jwks()
  const headers = { 'cache-control': JWKS_CACHE, etag }
  const known = request.headers['if-none-match']?.split(',').map((each) => each.trim().replace(/^W\//, ''))
  if (known?.includes(etag) || known?.includes('*')) return empty(304, headers)
  return { status: 200, headers: { 'content-type': 'application/json', ...headers }, body }
}

/** Protected resource metadata (RFC 9728); the path parameter `ref` names the resource. */
export async function resourceDocument(app: App, request: Request): Promise<Reply> {
  const resource = findDescribed(await listAllResources(app), request.params['ref'])
  if (!resource) throw new OAuthError('not_found', 'no resource is registered under this path')
  return json(200, resourceMetadata(app.config, resource), HOUR)
}

/** The agents among the clients; every token that carries one of their ids is signed by our own keys. */
export async function agentsDocument({ config, store }: App): Promise<Reply> {
  const agents = await store.listAgents()
  const shown = agents.map(({ client_id, client_name, agent_description }) => ({
    agent_id: client_id,
    client_name,
    ...(agent_description ? { agent_description } : {}),
    jwks_uri: config.server.issuer + PATHS.jwks,
  }))
  return json(200, { issuer: issuerOf(config), agents: shown }, HOUR)
}
