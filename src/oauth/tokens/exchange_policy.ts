// Authorization of token exchanges (RFC 8693 §2.1): the rules for each kind of target, in order.
import type { App } from '../../context.ts'
import { OAuthError } from '../../lib/error.ts'
import type { Client } from '../../records/client.ts'
import type { Consent } from '../../records/consent.ts'
import type { FrontingLink } from '../../records/fronting_link.ts'
import type { Actor } from '../../records/issuance.ts'
import type { Resource, TokenAudience } from '../../records/resource.ts'
import { isUserId } from '../clients/client_metadata.ts'
import type { FederatedSubject } from '../federation/idp_token.ts'
import { admitSubject, applyPolicies } from '../federation/xaa_policy.ts'
import { PATHS } from '../metadata.ts'
import type { ClaimsAbout } from './access.ts'
import type { LiveToken } from './access_token.ts'
import { declaredScope, requestedNames } from './requested_scope.ts'
import { atLeastOne, catalogOf, checkDeclared, checkWithin, listAllResources, scopeNames } from './resource.ts'
import { checkAccess } from './subject_access.ts'

export interface Exchange {
  caller: Client
  subject: LiveToken
  /** The scope parameter. */
  scope?: string
}
/** The result of an allowed exchange. */
export interface Allowed {
  resource?: TokenAudience
  scope: string
  consent_id?: string
  /** The claims about the user. */
  about?: ClaimsAbout
  /** The fronting link that allows the exchange instead of a consent. */
  link?: FrontingLink
}

const isOwn = ({ caller, subject }: Exchange) => caller.client_id === subject.claims.client_id
const isSelfExchange = (app: App, exchange: Exchange) =>
  app.config.token_exchange.allow_self_exchange && isOwn(exchange)

/** Without a target: a client may exchange its own token for the same audience, if that is enabled. Throws access_denied. */
export async function allowSameAudience(app: App, exchange: Exchange): Promise<Allowed> {
  const { claims, issuance, is_for_userinfo, about } = exchange.subject
  if (!isSelfExchange(app, exchange))
    throw new OAuthError('access_denied', 'resource is required', { reason: 'self_exchange_not_allowed' })
  const held = scopeNames(claims.scope ?? '')
  const requested = requestedNames(exchange.scope, held) ?? held
  checkWithin(requested, held, 'subject_scope_ceiling', SUBJECT)
  const scope = atLeastOne(requested).join(' ')
  const [uri] = claims.aud ?? []
  if (uri === undefined) return { scope, about }
  // The consent says that a token is for userinfo.
  if (is_for_userinfo) return { resource: { uri, slug: uri }, scope, about, consent_id: issuance.consent_id }
  return { resource: (await app.store.findResource({ uri })) ?? { uri, slug: uri }, scope, about }
}

/** The access of the subject to the target. A client that exchanges its own token acts for itself. Throws access_denied. */
export function checkSubject(app: App, { caller, subject }: Exchange, target: Resource, names: readonly string[]) {
  const { claims, user_version } = subject
  return checkAccess(app, target, { sub: claims.sub, client_id: caller.client_id, user_version, proven: claims }, names)
}

/** Exchange for a token of a mint resource. Throws invalid_scope, access_denied for a client that is on no list, or consent_required. */
export async function allowMint(app: App, exchange: Exchange, resource: Resource): Promise<Allowed> {
  const requested = await requestedScope(app, exchange, resource)
  if (!isOwn(exchange)) checkListed(exchange.caller, resource)
  // Before the consent: a user is never asked for scopes that the user may not have.
  const { scope: wanted, about } = await checkSubject(app, exchange, resource, requested)
  const most = neededBy(resource, wanted).join(' ')
  if (isSelfExchange(app, exchange)) return { resource, scope: most, about }
  const { scope, consent_id } = await consentedScope(app, exchange, resource, wanted)
  return { resource, scope, consent_id, about }
}

const SUBJECT = 'the subject token has'

/** Returns the names. Throws invalid_scope when there are none, unless the resource declares no scopes. */
const neededBy = (resource: Resource, names: readonly string[]): readonly string[] =>
  catalogOf(resource).length === 0 ? names : atLeastOne(names)

/** The requested scopes, which the resource must declare. Undefined when the request names none. Throws invalid_scope. */
async function namedScope(app: App, scope: string | undefined, resource: Resource): Promise<string[] | undefined> {
  const catalog = catalogOf(resource)
  const requested = requestedNames(scope, catalog)
  // A resource without scopes needs none, so scopes of other resources are dropped.
  if (requested && catalog.length === 0) return declaredScope(app, requested, resource)
  if (requested) checkDeclared(requested, resource)
  return requested
}

/** The requested scopes, which the subject token must have and the resource must declare. Without a scope parameter, all of those. Throws invalid_scope. */
async function requestedScope(app: App, { subject, scope }: Exchange, resource: Resource): Promise<string[]> {
  const held = scopeNames(subject.claims.scope ?? '')
  const requested = await namedScope(app, scope, resource)
  if (requested === undefined) return held.filter((name) => catalogOf(resource).includes(name))
  checkWithin(requested, held, 'subject_scope_ceiling', SUBJECT)
  return requested
}

/**
 * Exchange of a token of an identity provider for a token of a mint resource. The policies of the provider decide, not the lists of the
 * resource. The scopes of the subject token are not used, because they are names of another server. Throws invalid_scope, access_denied when
 * no policy or rule of access allows it, and what `resolveSubject` throws.
 */
export async function allowForeign(
  app: App,
  caller: Client,
  subject: FederatedSubject,
  scope: string | undefined,
  resource: Resource,
): Promise<Allowed & { sub: string }> {
  const wanted = neededBy(resource, (await namedScope(app, scope, resource)) ?? catalogOf(resource))
  const allowed = await applyPolicies(app, subject, caller, resource, wanted)
  return { resource, ...(await admitSubject(app, subject, caller, resource, allowed)) }
}

/** The part of `wanted` that the user consented to at a resource. An explicit scope parameter must be covered completely. Throws consent_required, invalid_scope. */
async function consentedScope(
  app: App,
  exchange: Exchange,
  resource: Resource,
  wanted: readonly string[],
): Promise<Pick<Allowed, 'scope' | 'consent_id'>> {
  const consent = await findSubjectConsent(app, exchange, resource)
  if (!consent) throw consentRequired(app, exchange, resource, wanted, 'consent_missing')
  const consented = scopeNames(consent.scope)
  const missing = wanted.filter((name) => !consented.includes(name))
  // A token without scopes is for the whole resource. A consent to some of its scopes does not cover that.
  const isLess = wanted.length === 0 && consented.length > 0
  const isNamed = requestedNames(exchange.scope, wanted) !== undefined
  if (isLess || (isNamed && missing.length > 0))
    throw consentRequired(app, exchange, resource, missing, 'scope_insufficient')
  if (wanted.length === 0) return { scope: '', consent_id: consent.id }
  return { scope: atLeastOne(wanted.filter((name) => consented.includes(name))).join(' '), consent_id: consent.id }
}

/**
 * Exchange for a token of a broker resource, with a subject token that is not for a mint resource. The caller must be on the list of the
 * target, or be the server of exactly one mint resource to which the user consented. Throws access_denied, invalid_scope, or
 * consent_required for that resource.
 */
export async function allowBroker(app: App, exchange: Exchange, resource: Resource): Promise<Allowed> {
  if (!isUserId(exchange.subject.claims.sub))
    throw new OAuthError('access_denied', 'only tokens of users can be exchanged for tokens of a provider', {
      reason: 'subject_not_user',
    })
  const requested = await requestedScope(app, exchange, resource)
  const { scope: wanted } = await checkSubject(app, exchange, resource, requested)
  const { allowed_client_ids } = resource.policy.exchange
  const most = atLeastOne(wanted).join(' ')
  if (allowed_client_ids.includes(exchange.caller.client_id)) return { resource, scope: most }
  if (allowed_client_ids.length > 0)
    throw new OAuthError('access_denied', 'this client may not exchange tokens into this resource', {
      reason: 'operator_gate_denied',
    })
  const attesting = await findAttesting(app, exchange.caller)
  const { scope, consent_id } = await consentedScope(app, exchange, attesting, wanted)
  return { resource, scope, consent_id }
}

/** The only mint resource of which a client is the server. Throws access_denied. */
async function findAttesting(app: App, { client_id }: Client): Promise<Resource> {
  const served = (await listAllResources(app)).filter(({ policy }) => policy.runtime.client_ids.includes(client_id))
  const [only, ...more] = served.filter(({ backend_kind }) => backend_kind === 'mint')
  if (only && more.length === 0) return only
  throw new OAuthError('access_denied', 'this client may not exchange tokens into this resource', {
    reason: only ? 'agent_attestation_ambiguous_actor' : 'agent_attestation_required',
  })
}

/** A client may exchange the token of another client only when the resource lists it. Throws access_denied. */
function checkListed({ client_id }: Client, { policy }: Resource): void {
  if (policy.exchange.allowed_client_ids.includes(client_id) || policy.runtime.client_ids.includes(client_id)) return
  throw new OAuthError('access_denied', 'this client may not exchange tokens into this resource', {
    reason: 'cross_client_not_authorized',
  })
}

/** The consent of the user for the client to which the subject token was issued, not for the client that exchanges it. */
const findSubjectConsent = (app: App, { subject }: Exchange, resource: Resource): Promise<Consent | undefined> =>
  app.store.findConsent({
    user_id: subject.claims.sub,
    client_id: subject.claims.client_id,
    resource_id: resource.id,
  })

function consentRequired(
  app: App,
  { subject }: Exchange,
  { slug, uri = '' }: Resource,
  scope: readonly string[],
  cause: 'consent_missing' | 'scope_insufficient',
): OAuthError {
  const query = new URLSearchParams({ client_id: subject.claims.client_id, resource: uri, scope: scope.join(' ') })
  const consent_url = `${app.config.server.issuer}${PATHS.authorize}?${query}`
  return new OAuthError('consent_required', `the user must authorize access to ${slug}`, {
    reason: cause,
    body: { consent_url, cause },
  })
}

/** The actor chain with the caller as the current actor. Throws invalid_request beyond `token_exchange.max_chain_depth`. */
export function delegatedTo(app: App, caller: Client, previous: Actor | undefined): Actor {
  let depth = 1
  for (let at = previous; at; at = at.act) depth++
  if (depth > app.config.token_exchange.max_chain_depth)
    throw new OAuthError('invalid_request', 'the chain of actors is too long', { reason: 'chain_too_deep' })
  const actor_type = caller.is_agent ? 'agent' : 'service'
  return { sub: caller.client_id, actor_type, ...(previous ? { act: previous } : {}) }
}
