// Fronted exchanges: a gateway resource in front of another resource obtains tokens for it by a link that an operator created,
// instead of the consent of the user. The scope map of the link is the maximum.
import { issuerOf } from '../../config/issuer.ts'
import type { App } from '../../context.ts'
import { OAuthError } from '../../lib/error.ts'
import type { Client } from '../../records/client.ts'
import type { FrontingLink } from '../../records/fronting_link.ts'
import type { Actor } from '../../records/issuance.ts'
import type { Resource } from '../../records/resource.ts'
import type { LiveToken } from './access_token.ts'
import { type Allowed, checkSubject, type Exchange } from './exchange_policy.ts'
import { requestedNames } from './requested_scope.ts'
import { atLeastOne, catalogOf, checkDeclared, checkWithin, scopeNames } from './resource.ts'

/** The mint resource of a subject token, when it is not the target itself, and its link to the target. */
export interface FrontingStep {
  source: Resource
  link?: FrontingLink
}

/** The gateway in front of the target of an exchange; undefined when the subject token is not for another mint resource. */
export async function findFronting(
  { store, config }: App,
  { subject }: Exchange,
  target: Resource,
): Promise<FrontingStep | undefined> {
  for (const uri of subject.claims.aud ?? []) {
    const source = uri === issuerOf(config) ? undefined : await store.findResource({ uri })
    if (source?.backend_kind !== 'mint') continue
    if (source.id === target.id) return undefined
    return { source, link: await store.findFrontingLink({ source_slug: source.slug, target_slug: target.slug }) }
  }
  return undefined
}

/**
 * The link with which a subject token is exchanged into the target. Undefined for an exchange that needs none. Throws invalid_request for a broker
 * resource without a link: a token for a mint resource was sent to that resource, and only an operator may allow its exchange for a
 * token of a provider.
 */
export function checkLinked(fronting: FrontingStep | undefined, target: Resource): Required<FrontingStep> | undefined {
  if (!fronting) return undefined
  const { source, link } = fronting
  if (link) return { source, link }
  if (target.backend_kind === 'mint') return undefined
  throw new OAuthError('invalid_request', `no fronting link leads from ${source.slug} to ${target.slug}`, {
    reason: 'fronting_link_missing',
  })
}

/**
 * The allowed scopes of a fronted exchange: the scopes of the target to which the link maps the scopes of the subject token.
 * Throws access_denied for a client that may not use the link and for a user who may not use the target, invalid_scope for scopes outside the map.
 */
export async function allowFronted(
  app: App,
  exchange: Exchange,
  { source, link }: Required<FrontingStep>,
  target: Resource,
): Promise<Allowed> {
  checkCaller(exchange.caller, source, target)
  const entries = Object.entries(link.scope_map)
  const held = scopeNames(exchange.subject.claims.scope ?? '')
  const reachable = new Set(entries.filter(([name]) => held.includes(name)).flatMap(([, targets]) => targets))
  const requested = requestedNames(exchange.scope, catalogOf(target))
  if (requested) {
    checkDeclared(requested, target)
    const mapped = entries.flatMap(([, targets]) => targets)
    checkWithin(requested, mapped, 'fronting_scope_unmapped')
    checkWithin(requested, [...reachable], 'fronting_subject_scope_insufficient')
  }
  const names = requested ?? catalogOf(target).filter((name) => reachable.has(name))
  const { scope, about } = await checkSubject(app, exchange, target, atLeastOne(names))
  return { resource: target, scope: scope.join(' '), about, link }
}

/** The link may be used by the clients that the target lists, or by the servers of the source when it lists none. Throws access_denied. */
function checkCaller({ client_id }: Client, source: Resource, target: Resource): void {
  const { allowed_client_ids } = target.policy.exchange
  const isListed = allowed_client_ids.length > 0
  const isNamed = isListed
    ? allowed_client_ids.includes(client_id)
    : source.policy.runtime.client_ids.includes(client_id)
  if (isNamed) return
  throw new OAuthError('access_denied', 'this client may not use the fronting link', {
    reason: isListed ? 'operator_gate_denied' : 'fronting_caller_not_authorized',
  })
}

/** The previous actors of a token that a gateway exchanges: the client to which it was issued comes before the gateway. */
export function actorsBehind({ claims, issuance }: LiveToken, caller: Client): Actor | undefined {
  const { act, client_id } = claims
  if (client_id === caller.client_id || client_id === act?.sub) return act
  return { sub: client_id, actor_type: issuance.is_agent ? 'agent' : 'service', ...(act ? { act } : {}) }
}
