// The scopes that a request asks for (RFC 6749 §3.3), and those of them that can be granted.
import type { App } from '../../context.ts'
import { OAuthError } from '../../lib/error.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import type { Client } from '../../records/client.ts'
import type { Resource } from '../../records/resource.ts'
import type { TokenFamily } from '../../records/token_family.ts'
import { isOpenIdScope, isSignIn, OPENID_SCOPES, offeredOpenId } from '../openid.ts'
import {
  catalogOf,
  checkDeclared,
  checkWithin,
  declares,
  listAllResources,
  scopeCeiling,
  scopeNames,
} from './resource.ts'

const MAX_SCOPE_LENGTH = 8192
const SCOPE_CHARACTERS = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

/** The names in a scope parameter, each once. Throws invalid_scope for characters that are not allowed in a scope. */
export function parseScope(text: string): string[] {
  if (text.length > MAX_SCOPE_LENGTH || !SCOPE_CHARACTERS.test(text))
    throw new OAuthError('invalid_scope', 'the scope is malformed', { reason: 'malformed_scope' })
  return [...new Set(scopeNames(text))]
}

/** Removes names of OpenID Connect that are not offered. */
const withoutOpenId = (names: readonly string[], offered: readonly string[]): string[] =>
  names.filter((name) => offered.includes(name) || !isOpenIdScope(name))

/**
 * The names that a request asks for, without names of OpenID Connect that are not offered. Undefined if none is left: that is a request
 * without scope. Throws invalid_scope.
 */
export function requestedNames(scope: string | undefined, offered: readonly string[]): string[] | undefined {
  const names = withoutOpenId(parseScope(scope ?? ''), offered)
  return names.length > 0 ? names : undefined
}

/** The scopes that any resource declares. */
const declaredAnywhere = async (app: App): Promise<string[]> => (await listAllResources(app)).flatMap(catalogOf)

/**
 * The requested scopes that the resource declares. With `oauth.narrow_scopes`, scopes that only other resources declare are
 * omitted, because clients without a hint request every scope of the metadata document. Throws invalid_scope.
 */
export async function declaredScope(app: App, names: string[], resource: Resource): Promise<string[]> {
  const catalog = catalogOf(resource)
  const own = names.filter((name) => catalog.includes(name))
  if (own.length === names.length) return names
  const everywhere = app.config.oauth.narrow_scopes ? await declaredAnywhere(app) : []
  const isNothingLeft = own.length === 0 && catalog.length > 0
  if (isNothingLeft || !names.every((name) => everywhere.includes(name))) checkDeclared(names, resource)
  return own
}

/**
 * The requested scopes that the client may have. With `oauth.narrow_scopes` the others are omitted, as long as one remains.
 * Throws invalid_scope.
 */
function allowedScope(app: App, names: string[], allowed: readonly string[], client: Client): string[] {
  const left = names.filter((name) => allowed.includes(name))
  const isNarrowed = app.config.oauth.narrow_scopes && (left.length > 0 || names.length === 0)
  if (!isNarrowed) checkWithin(names, allowed, 'beyond_client_scope', mayHave(client))
  return left
}

const mayHave = ({ client_id }: Client): string => `${client_id} may have`

/** The scopes that an authorization request asks for and the client may have. A sign-in needs no resource. Throws invalid_scope. */
export async function authorizedScope(
  app: App,
  scope: string | undefined,
  resource: Resource | undefined,
  client: Client,
): Promise<string[]> {
  const offered = offeredOpenId(app.config, parseScope(scope ?? ''))
  const ceiling = scopeCeiling(client)
  const openid = offered.filter((name) => ceiling?.includes(name) ?? true)
  if (!resource && isSignIn(offered)) {
    if (ceiling && !isSignIn(openid)) checkWithin(offered, ceiling, 'beyond_client_scope', mayHave(client))
    return openid
  }
  const names = await scopeAtResource(app, scope, resource, client)
  return openid.length === 0 ? names : [...new Set([...openid, ...names])]
}

/** The URI of the resource that a request names, or else that of its client (default_resource), unless it has only scopes of OpenID. Throws invalid_scope. */
export function requestedUri(
  { config }: Pick<App, 'config'>,
  { resource, scope }: { resource?: string; scope?: string },
  { default_resource }: Pick<Client, 'default_resource'>,
): string | undefined {
  if (resource !== undefined || default_resource === undefined) return resource
  const names = parseScope(scope ?? '')
  return config.oauth.openid && names.length > 0 && names.every(isOpenIdScope) ? undefined : default_resource
}

/** The part of the scope that resources declare. */
async function scopeAtResource(
  app: App,
  scope: string | undefined,
  resource: Resource | undefined,
  client: Client,
): Promise<string[]> {
  const offered = resource ? catalogOf(resource) : await declaredAnywhere(app)
  const names = requestedNames(scope, offered)
  if (names === undefined) return assumedScope(app, resource, offered, client)
  const declared = resource ? await declaredScope(app, names, resource) : declaredSomewhere(names, offered)
  return allowedScope(app, declared, scopeCeiling(client) ?? declared, client)
}

/**
 * The scopes that a machine client asks for and may have; without a scope, all that it is registered for. There is no consent for a machine
 * client, so the scope that it registered about itself is a limit here; that of a document is a default, because the policy of an operator and
 * the assertion limit its client. Without a resource it gets exactly the scopes that it asks for. Throws invalid_scope.
 */
export async function machineScope(
  app: App,
  scope: string | undefined,
  resource: Resource | undefined,
  client: Client,
): Promise<readonly string[]> {
  const registered = await registeredScope(app, client)
  const limit = client.registration_source === 'cimd' ? await documentLimit(app, resource, client) : registered
  const offered = resource ? catalogOf(resource) : limit
  const names = requestedNames(scope, offered)
  if (names === undefined) return (registered.length > 0 ? registered : limit).filter((name) => offered.includes(name))
  if (resource) return allowedScope(app, await declaredScope(app, names, resource), limit, client)
  checkWithin(names, limit, 'beyond_client_scope', mayHave(client))
  return names
}

/** The scopes that the client of a document may have: those that an operator set, or all. */
const documentLimit = async (app: App, resource: Resource | undefined, client: Client): Promise<readonly string[]> =>
  scopeCeiling(client) ?? (resource ? catalogOf(resource) : declaredAnywhere(app))

/** The registered scope of a client, without names of OpenID Connect that no resource declares. */
async function registeredScope(app: App, client: Client): Promise<string[]> {
  const names = scopeNames(client.scope)
  return names.some(isOpenIdScope) ? withoutOpenId(names, await declaredAnywhere(app)) : names
}

/** If the request names no resource, at least one resource must declare each scope. Throws invalid_scope. */
function declaredSomewhere(names: string[], offered: readonly string[]): string[] {
  if (offered.length > 0) checkWithin(names, offered, 'scope_not_in_catalog')
  return names
}

/** The scope of a request that names none. Throws invalid_scope if one is required. */
function assumedScope(
  { config }: App,
  resource: Resource | undefined,
  offered: readonly string[],
  client: Client,
): string[] {
  if (resource && offered.length === 0) return []
  const hint = resource ? `; ${resource.uri} ${declares(resource)}` : ''
  if (config.oauth.require_scope)
    throw missing(`scope is missing${hint}; oauth.require_scope: false makes it optional`, 'missing_scope')
  const registered = withoutOpenId(scopeNames(client.scope), offered)
  const candidates = resource && registered.length === 0 ? offered : registered.filter((name) => offered.includes(name))
  const names = candidates.filter((name) => scopeCeiling(client)?.includes(name) ?? true)
  if (names.length === 0) throw missing(`scope is missing, and there is no default${hint}`, 'no_scope')
  return [...names]
}

const missing = (description: string, reason: Reason) => new OAuthError('invalid_scope', description, { reason })

/**
 * The granted scopes that a refresh request asks for; without a scope, all of them. Scopes that the authorization request asked for and
 * the user did not grant are omitted, as long as one scope remains. Throws invalid_scope.
 */
export async function refreshedScope(
  app: App,
  scope: string | undefined,
  family: Pick<TokenFamily, 'scope' | 'asked_scope'>,
): Promise<string[]> {
  const granted = scopeNames(family.scope)
  const names = requestedNames(scope, app.config.oauth.openid ? [...granted, ...OPENID_SCOPES] : granted)
  if (names === undefined) return granted
  const asked = scopeNames(family.asked_scope ?? family.scope)
  const left = names.filter((name) => granted.includes(name))
  const mayLeaveOut = left.length > 0 || granted.length === 0
  // A resource without scopes needs none: scopes of other resources are omitted there, as in the authorization request.
  const elsewhere = granted.length === 0 && app.config.oauth.narrow_scopes ? await declaredAnywhere(app) : []
  checkWithin(names, mayLeaveOut ? [...asked, ...elsewhere] : granted, 'beyond_granted_scope', 'the grant has')
  return left
}
