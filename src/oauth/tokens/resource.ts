// Resources (RFC 8707) and the scopes that they declare (RFC 6749 §3.3). What a request asks for is in requested_scope.ts.
import type { Config } from '../../config/schema.ts'
import type { App } from '../../context.ts'
import { quoteNames } from '../../lib/bounded.ts'
import { OAuthError, type SentValue } from '../../lib/error.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import { normalisedUrl, rootTwin } from '../../lib/url.ts'
import type { Client } from '../../records/client.ts'
import type { Resource, TokenAudience } from '../../records/resource.ts'
import { isOpenIdScope } from '../openid.ts'
import { refuseAdmin } from './admin_resource.ts'

/** The resource that a URI names, byte for byte unless `oauth.match_root_slash` says otherwise. Throws invalid_target. */
async function resolveResource(app: App, uri: string): Promise<Resource> {
  const resource = await findNamedResource(app, uri)
  if (resource) return resource
  const known = (await listAllResources(app)).flatMap((each) => each.uri ?? [])
  const near = findNear(known, uri)
  const sent: SentValue = { parameter: 'resource', value: uri, allowed: near === undefined ? known : [near] }
  if (near !== undefined && near === rootTwin(uri))
    throw unknownResource(sent, `${near} is registered; oauth.match_root_slash accepts both`, 'root_slash')
  throw unknownResource(sent, near && `${near} is registered`, 'resource_not_found')
}

const unknownResource = (sent: SentValue, hint: string | undefined, reason: Reason) =>
  new OAuthError('invalid_target', `the resource is not known: ${quoteNames([sent.value])}${hint ? `; ${hint}` : ''}`, {
    reason,
    sent,
  })

/** The resource that a URI names. With `oauth.match_root_slash`, a URI without a path matches with and without the slash at the end. */
export async function findNamedResource(app: App, uri: string): Promise<Resource | undefined> {
  const twin = app.config.oauth.match_root_slash ? rootTwin(uri) : undefined
  return (
    (await app.store.findResource({ uri })) ?? (twin === undefined ? undefined : app.store.findResource({ uri: twin }))
  )
}

/** Whether two URIs name the same resource. */
export const isSameResource = ({ config }: App, a: string, b: string): boolean =>
  a === b || (config.oauth.match_root_slash && rootTwin(a) === b)

/** The target of an exchange, by URI. A broker resource may have no URI, so it can also be named by its slug, which has no colon. Throws invalid_target. */
export async function resolveTarget(app: App, target: string): Promise<Resource> {
  const named = target.includes(':') ? undefined : await app.store.findResourceByName({ name: target })
  if (named?.slug === target && named.backend_kind === 'broker') return named
  refuseAdmin(app.config, target)
  return resolveResource(app, target)
}

/** The registered URI that differs from this one only by case, a trailing slash or a default port. */
function findNear(known: readonly string[], uri: string): string | undefined {
  const bare = (text: string) => normalisedUrl(text)?.toLowerCase().replace(/\/$/, '')
  const wanted = bare(uri)
  return wanted === undefined ? undefined : known.find((each) => bare(each) === wanted)
}

/** The mint resource of a URI. The admin listener is one only for the sign-in of a person. Throws invalid_target. */
export async function resolveMint(app: App, uri: string, use?: 'sign_in'): Promise<Resource> {
  const resource = await resolveResource(app, uri)
  if (use !== 'sign_in') refuseAdmin(app.config, resource.uri)
  if (resource.backend_kind === 'mint') return resource
  throw new OAuthError('invalid_target', 'tokens of this resource come from its provider', {
    reason: 'broker_resource',
  })
}

/** Every registered resource, oldest first. */
export const listAllResources = (app: App): Promise<Resource[]> => app.store.listResources({})

/** The names in a stored scope. */
export const scopeNames = (scope: string): string[] => scope.split(' ').filter(Boolean)

/** The name of a resource in records: its URI, or the slug of a broker resource without a URI. */
export const nameOf = ({ uri, slug }: TokenAudience): string => uri ?? slug

/** The scope names that a resource declares. */
export const catalogOf = (resource: Resource): string[] => resource.scopes.map((each) => each.name)

/** Scope names as an error message lists them. */
const listed = (names: readonly string[]): string => (names.length > 0 ? quoteNames(names) : 'none')

/** What a resource declares, for an error message. */
export const declares = (resource: Resource): string => `declares ${listed(catalogOf(resource))}`

/** Refuses scopes that the resource does not declare. Throws invalid_scope. */
export function checkDeclared(names: readonly string[], resource: Resource): void {
  const declared = catalogOf(resource)
  const unknown = names.filter((name) => !declared.includes(name))
  if (unknown.length > 0)
    throw new OAuthError(
      'invalid_scope',
      `the resource does not declare ${quoteNames(unknown)}; it ${declares(resource)}`,
      {
        reason: 'scope_not_in_catalog',
        sent: sentScope(unknown, declared),
      },
    )
}

/** Refuses scopes that are not allowed. `holder` begins the part of the message that lists the allowed scopes. Throws invalid_scope. */
export function checkWithin(
  names: readonly string[],
  allowed: readonly string[],
  reason: Reason,
  holder?: string,
): void {
  const beyond = names.filter((name) => !allowed.includes(name))
  if (beyond.length === 0) return
  const hint = holder === undefined ? '' : `; ${holder} ${listed(allowed)}`
  const sent = sentScope(beyond, allowed)
  throw new OAuthError('invalid_scope', `not allowed: ${quoteNames(beyond)}${hint}`, { reason, sent })
}

const sentScope = (refused: readonly string[], allowed: readonly string[]): SentValue => ({
  parameter: 'scope',
  value: refused.join(' '),
  allowed,
})

/** Returns the names. Throws invalid_scope when there are none: a token without scope is useless at a resource that has scopes. */
export function atLeastOne(names: readonly string[]): readonly string[] {
  if (names.length > 0) return names
  throw new OAuthError('invalid_scope', 'nothing is left of the scope', { reason: 'default_scope_empty' })
}

/**
 * The scopes that an operator limits a client to; undefined if no operator did. The scope that a client registers about itself is a
 * default, not a limit: the consent and the resource limit its tokens.
 */
export function scopeCeiling({ registration_source, scope, operator_set }: Client): string[] | undefined {
  const set = registration_source === 'admin' ? scope : operator_set?.scope
  return set ? scopeNames(set) : undefined
}

/** What limits a granted scope when it is used. */
interface Basis {
  config: Pick<Config, 'oauth'>
  client: Client
  resource?: Resource
  /** The scope of the user's consent now. Undefined if no consent was stored. */
  consented?: string
  /** The scopes that the user may have now. Undefined without a resource. */
  allowed?: readonly string[]
}
/** The scopes that the operator still allows the client to have, and that the user still consents to. */
export function stillGranted(
  names: readonly string[],
  { client, consented }: Pick<Basis, 'client' | 'consented'>,
): string[] {
  const ceiling = scopeCeiling(client)
  const agreed = consented === undefined ? undefined : scopeNames(consented)
  return names
    .filter((name) => ceiling === undefined || ceiling.includes(name))
    .filter((name) => agreed === undefined || agreed.includes(name))
}

/**
 * The part of a granted scope that still holds: the resource declares it, the operator allows the client to have it, the user may
 * have it and consents to it. Throws invalid_scope if nothing is left.
 */
export function remainingScope(names: readonly string[], basis: Basis): string {
  const { config, resource, allowed } = basis
  const catalog = resource && catalogOf(resource)
  const isOwn = (name: string) => catalog === undefined || catalog.includes(name)
  const isForSignIn = (name: string) => !isOwn(name) && config.oauth.openid && isOpenIdScope(name)
  const left = stillGranted(names, basis)
    .filter((name) => isOwn(name) || isForSignIn(name))
    .filter((name) => allowed === undefined || allowed.includes(name))
  // A token for a resource needs one of its scopes. Scopes of a sign-in give no access to it.
  const isLost = left.length === 0 || (left.every(isForSignIn) && !names.every(isForSignIn))
  if (isLost && names.length > 0)
    throw new OAuthError('invalid_scope', 'nothing is left of the scope that was granted', { reason: 'scope_is_gone' })
  return left.join(' ')
}

/** A `resource` at the token endpoint must be the one of the grant (RFC 8707 §2.2). Throws invalid_target. */
export function checkCovered(app: App, requested: string | undefined, granted: string | undefined): void {
  const isOther = granted === undefined || (requested !== undefined && !isSameResource(app, requested, granted))
  if (requested !== undefined && isOther)
    throw new OAuthError('invalid_target', 'the grant does not cover this resource', {
      reason: 'resource_not_covered',
      sent: { parameter: 'resource', value: requested, allowed: granted === undefined ? [] : [granted] },
    })
}
