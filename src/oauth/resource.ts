// Resource indicators (RFC 8707) and scopes (RFC 6749 §3.3): what a request asks for and what it may have.
import type { App } from '../context.ts'
import { quoteNames } from '../lib/bounded.ts'
import { OAuthError } from '../lib/error.ts'
import { normalisedUrl, parseHttpUrl } from '../lib/url.ts'
import type { Client } from '../records/client.ts'
import type { Resource } from '../records/resource.ts'

const MAX_SCOPE_LENGTH = 8192
const SCOPE_TOKENS = /^[\x21\x23-\x5b\x5d-\x7e]+(?: +[\x21\x23-\x5b\x5d-\x7e]+)*$/

/** The resource that a URI names, byte for byte. Throws invalid_target. */
async function resolveResource(app: App, uri: string): Promise<Resource> {
  const resource = await app.store.findResource({ uri })
  if (resource) return resource
  const near = await findNear(app, uri)
  throw new OAuthError('invalid_target', `the resource is not known${near ? `; ${near} is registered` : ''}`, {
    reason: 'resource_not_found',
  })
}

/** The resource that an exchange is into: by its URI, or a broker resource by its slug, as those may have no URI. Throws invalid_target. */
export async function resolveTarget(app: App, target: string): Promise<Resource> {
  const named = parseHttpUrl(target) ? undefined : await app.store.findResourceByName({ name: target })
  return named?.slug === target && named.backend_kind === 'broker' ? named : resolveResource(app, target)
}

/** The registered URI that differs by case of the host, a trailing slash or a default port only: the usual slips. */
async function findNear(app: App, uri: string): Promise<string | undefined> {
  const bare = (text: string) => normalisedUrl(text)?.toLowerCase().replace(/\/$/, '')
  const wanted = bare(uri)
  if (wanted === undefined) return undefined
  return (await listAllResources(app)).find((each) => each.uri !== undefined && bare(each.uri) === wanted)?.uri
}

/** The resource of a URI that we make tokens for ourselves. Throws invalid_target. */
export async function resolveMint(app: App, uri: string): Promise<Resource> {
  const resource = await resolveResource(app, uri)
  if (resource.backend_kind === 'mint') return resource
  throw new OAuthError('invalid_target', 'tokens of this resource come from its provider', {
    reason: 'broker_resource',
  })
}

/** Every registered resource, oldest first. */
export const listAllResources = (app: App): Promise<Resource[]> => app.store.listResources({})

/** The names of a scope parameter, each once. Throws invalid_scope for characters that no scope may hold. */
export function parseScope(text: string): string[] {
  if (text.length > MAX_SCOPE_LENGTH || !SCOPE_TOKENS.test(text))
    throw new OAuthError('invalid_scope', 'the scope is malformed', { reason: 'malformed_scope' })
  return [...new Set(text.split(' ').filter(Boolean))]
}

/** The names in a stored scope. */
export const scopeNames = (scope: string): string[] => scope.split(' ').filter(Boolean)

/** What a resource is called in records: its URI, or the slug of a broker resource without one. */
export const nameOf = ({ uri, slug }: Resource): string => uri ?? slug

/** The scope names that a resource declares. */
export const catalogOf = (resource: Resource): string[] => resource.scopes.map((each) => each.name)

/** Refuses scopes that the resource does not declare. Throws invalid_scope. */
export function checkDeclared(names: readonly string[], resource: Resource): void {
  const declared = catalogOf(resource)
  const unknown = names.filter((name) => !declared.includes(name))
  if (unknown.length > 0)
    throw new OAuthError('invalid_scope', `the resource does not declare: ${quoteNames(unknown)}`, {
      reason: 'scope_not_in_catalog',
    })
}

/** Refuses scopes beyond what is allowed; never narrows silently. Throws invalid_scope. */
export function checkWithin(names: readonly string[], allowed: readonly string[], reason: string): void {
  const beyond = names.filter((name) => !allowed.includes(name))
  if (beyond.length > 0) throw new OAuthError('invalid_scope', `not allowed: ${quoteNames(beyond)}`, { reason })
}

/** The names themselves. Throws invalid_scope for none: a token without a scope is of no use, and must never be taken for one with every scope. */
export function atLeastOne(names: readonly string[]): readonly string[] {
  if (names.length > 0) return names
  throw new OAuthError('invalid_scope', 'nothing is left of the scope', { reason: 'default_scope_empty' })
}

/** What a granted scope rests on. */
interface Basis {
  client: Client
  resource?: string
  /** The scope of the user's consent as it is now; undefined where no consent was stored. */
  consented?: string
}
/**
 * What is left of a granted scope today: what the resource still declares, the client is still registered for and the user
 * still consents to. Throws invalid_target when the resource is gone, invalid_scope when nothing is left.
 */
export async function remainingScope(
  app: App,
  names: readonly string[],
  { client, resource, consented }: Basis,
): Promise<string> {
  const catalog = resource === undefined ? undefined : catalogOf(await resolveMint(app, resource))
  const registered = scopeNames(client.scope)
  const allowed = consented === undefined ? undefined : scopeNames(consented)
  const left = names
    .filter((name) => catalog === undefined || catalog.includes(name))
    .filter((name) => registered.length === 0 || registered.includes(name))
    .filter((name) => allowed === undefined || allowed.includes(name))
  if (left.length === 0 && names.length > 0)
    throw new OAuthError('invalid_scope', 'nothing is left of the scope that was granted', { reason: 'scope_is_gone' })
  return left.join(' ')
}

/** A `resource` at the token endpoint must be the one of the grant (RFC 8707 §2.2). Throws invalid_target. */
export function checkCovered(requested: string | undefined, granted: string | undefined): void {
  if (requested !== undefined && requested !== granted)
    throw new OAuthError('invalid_target', 'the grant does not cover this resource', { reason: 'resource_not_covered' })
}
