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
import { requestedNames } from './requested_scope.ts'
import { catalogOf, checkDeclared, checkWithin } from './resource.ts'

/** The mint resource of a subject token, when it is not the target itself, and its link to the target. */
export interface FrontingStep {
  source: Resource
  link?: FrontingLink
}

/** The gateway in front of the target of an exchange; undefined when the subject token is not for another mint resource. */
export async function findFronting(
  { store, config }: App,
  { claims }: Pick<LiveToken, 'claims'>,
  target: Resource,
): Promise<FrontingStep | undefined> {
  for (const uri of claims.aud ?? []) {
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

/** The requested scopes of the target to which a link maps the scopes of a subject token. Without a scope parameter, all of those. Throws invalid_scope. */
export function mappedScope(
  { scope_map }: FrontingLink,
  held: readonly string[],
  asked: string | undefined,
  target: Resource,
): readonly string[] {
  const entries = Object.entries(scope_map)
  const reachable = new Set(entries.filter(([name]) => held.includes(name)).flatMap(([, targets]) => targets))
  const requested = requestedNames(asked, catalogOf(target))
  if (!requested) return catalogOf(target).filter((name) => reachable.has(name))
  checkDeclared(requested, target)
  const mapped = entries.flatMap(([, targets]) => targets)
  checkWithin(requested, mapped, 'fronting_scope_unmapped')
  checkWithin(requested, [...reachable], 'fronting_subject_scope_insufficient')
  return requested
}

/** The link may be used by the clients that the target lists, or by the servers of the source when it lists none. Throws access_denied. */
export function checkCaller({ client_id }: Client, source: Resource, target: Resource): void {
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
