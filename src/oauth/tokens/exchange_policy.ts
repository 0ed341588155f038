// The rules of token exchanges (RFC 8693 §2.1), in order. What a rule asks for depends on the target: none, a mint resource, a broker resource, or
// a resource behind a gateway.
import type { App } from '../../context.ts'
import { OAuthError } from '../../lib/error.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import type { Client } from '../../records/client.ts'
import type { Consent } from '../../records/consent.ts'
import type { Actor } from '../../records/issuance.ts'
import type { Resource, TokenAudience } from '../../records/resource.ts'
import { isUserId } from '../clients/client_metadata.ts'
import { PATHS } from '../metadata.ts'
import type { LiveToken } from './access_token.ts'
import { accessRules } from './common_rules.ts'
import { checkCaller, checkLinked, type FrontingStep, findFronting, mappedScope } from './fronting.ts'
import { declaredScope, requestedNames } from './requested_scope.ts'
import {
  atLeastOne,
  catalogOf,
  checkDeclared,
  checkWithin,
  listAllResources,
  resolveTarget,
  scopeNames,
} from './resource.ts'
import type { GrantFacts, GrantRule } from './rule.ts'

/** The exchange of a token of this service. `client` is the one that exchanges it, `uri` its target, by URI or slug. */
export interface Exchange extends GrantFacts {
  subject: LiveToken
  /** Without a target: the audience of the subject token. */
  audience?: TokenAudience | undefined
  /** The gateway in front of the target, with the link that replaces the consent. */
  fronting?: Required<FrontingStep> | undefined
  /** The mint resource whose server the client is. Its consent counts for a broker resource that lists no client. */
  attesting?: Resource
  consent_id?: string | undefined
  act?: Actor | undefined
  /** The actor chain of the new token. Throws the refusal of an actor. */
  actor(facts: Exchange): Promise<Actor | undefined> | Actor | undefined
}

const isOwn = ({ client, subject }: Exchange) => client.client_id === subject.claims.client_id
const isSelfExchange = (app: App, facts: Exchange) => app.config.token_exchange.allow_self_exchange && isOwn(facts)

export const EXCHANGE_RULES: readonly GrantRule<Exchange>[] = [
  {
    name: 'resource_known',
    async check(app, facts) {
      if (facts.uri === undefined) await keepAudience(app, facts)
      else facts.resource = await resolveTarget(app, facts.uri)
    },
  },
  {
    name: 'fronting_link',
    async check(app, facts) {
      const { resource, subject } = facts
      if (resource) facts.fronting = checkLinked(await findFronting(app, subject, resource), resource)
    },
  },
  {
    name: 'exchange_list',
    check(app, facts) {
      const { client, resource, fronting } = facts
      if (!resource) checkSelf(app, facts)
      else if (fronting) checkCaller(client, fronting.source, resource)
    },
  },
  {
    name: 'fronting_link',
    check(_, facts) {
      const { asked, subject, resource, fronting } = facts
      if (resource && fronting) facts.names = mappedScope(fronting.link, heldBy(subject), asked, resource)
    },
  },
  {
    name: 'scope',
    async check(app, facts) {
      const { asked, subject, resource, fronting } = facts
      if (!resource) facts.names = sameScope(asked, heldBy(subject))
      else if (!fronting) facts.names = await requestedScope(app, asked, heldBy(subject), resource)
    },
  },
  {
    name: 'exchange_list',
    async check(app, facts) {
      const { client, resource, fronting } = facts
      if (!resource || fronting) return
      if (resource.backend_kind === 'broker') facts.attesting = await attestingOf(app, facts, resource)
      else if (!isOwn(facts)) checkListed(client, resource)
    },
  },
  ...accessRules('access_denied'),
  {
    // Before the consent: a user is never asked for scopes that the user may not have.
    name: 'scope',
    check(_, { resource, fronting, names }) {
      const isForAll = resource?.backend_kind === 'mint' && !fronting && catalogOf(resource).length === 0
      if (!isForAll) atLeastOne(names)
    },
  },
  {
    name: 'consent',
    async check(app, facts) {
      const at = consentPlaceOf(app, facts)
      if (at) await useConsent(app, facts, at)
    },
  },
  {
    name: 'actor_chain',
    async check(_, facts) {
      facts.act = await facts.actor(facts)
    },
  },
]

/** Without a target the new token has the audience of the subject token. The consent says that a token is for userinfo. */
async function keepAudience({ store }: App, facts: Exchange): Promise<void> {
  const { claims, issuance, is_for_userinfo, about } = facts.subject
  const [uri] = claims.aud ?? []
  facts.about = about
  if (uri === undefined) return
  if (is_for_userinfo) facts.consent_id = issuance.consent_id
  facts.audience = (is_for_userinfo ? undefined : await store.findResource({ uri })) ?? { uri, slug: uri }
}

/** A client may exchange its own token for the same audience, if that is enabled. Throws access_denied. */
function checkSelf(app: App, facts: Exchange): void {
  if (!isSelfExchange(app, facts)) throw denied('resource is required', 'self_exchange_not_allowed')
}

const NOT_HERE = 'this client may not exchange tokens into this resource'
const denied = (description: string, reason: Reason) => new OAuthError('access_denied', description, { reason })

/** A client may exchange the token of another client only when the resource lists it. Throws access_denied. */
function checkListed({ client_id }: Client, { policy }: Resource): void {
  if (policy.exchange.allowed_client_ids.includes(client_id) || policy.runtime.client_ids.includes(client_id)) return
  throw denied(NOT_HERE, 'cross_client_not_authorized')
}

/**
 * A broker resource lists the client, or the client is the server of exactly one mint resource, which is returned. Throws access_denied.
 */
async function attestingOf(
  app: App,
  { client, subject }: Exchange,
  { policy }: Resource,
): Promise<Resource | undefined> {
  if (!isUserId(subject.claims.sub))
    throw denied('only tokens of users can be exchanged for tokens of a provider', 'subject_not_user')
  const { client_id } = client
  const { allowed_client_ids } = policy.exchange
  if (allowed_client_ids.includes(client_id)) return undefined
  if (allowed_client_ids.length > 0) throw denied(NOT_HERE, 'operator_gate_denied')
  const served = (await listAllResources(app)).filter((each) => each.policy.runtime.client_ids.includes(client_id))
  const [only, ...more] = served.filter(({ backend_kind }) => backend_kind === 'mint')
  if (only && more.length === 0) return only
  throw denied(NOT_HERE, only ? 'agent_attestation_ambiguous_actor' : 'agent_attestation_required')
}

const SUBJECT = 'the subject token has'
const heldBy = ({ claims }: LiveToken): string[] => scopeNames(claims.scope ?? '')

/** The scope of a token for the same audience. Throws invalid_scope. */
function sameScope(asked: string | undefined, held: readonly string[]): readonly string[] {
  const requested = requestedNames(asked, held) ?? held
  checkWithin(requested, held, 'subject_scope_ceiling', SUBJECT)
  return requested
}

/** The requested scopes, which the resource must declare. Undefined when the request names none. Throws invalid_scope. */
export async function namedScope(
  app: App,
  scope: string | undefined,
  resource: Resource,
): Promise<string[] | undefined> {
  const catalog = catalogOf(resource)
  const requested = requestedNames(scope, catalog)
  // A resource without scopes needs none, so scopes of other resources are dropped.
  if (requested && catalog.length === 0) return declaredScope(app, requested, resource)
  if (requested) checkDeclared(requested, resource)
  return requested
}

/** The requested scopes, which the subject token must have and the resource must declare. Without a scope parameter, all of those. Throws invalid_scope. */
async function requestedScope(
  app: App,
  asked: string | undefined,
  held: readonly string[],
  resource: Resource,
): Promise<readonly string[]> {
  const requested = await namedScope(app, asked, resource)
  if (requested === undefined) return held.filter((name) => catalogOf(resource).includes(name))
  checkWithin(requested, held, 'subject_scope_ceiling', SUBJECT)
  return requested
}

/** The resource whose consent the exchange needs. Undefined where a link, the list of a broker resource, or the client's own token replaces it. */
function consentPlaceOf(app: App, facts: Exchange): Resource | undefined {
  const { resource, fronting, attesting } = facts
  if (fronting || resource?.backend_kind === 'broker') return fronting ? undefined : attesting
  return isSelfExchange(app, facts) ? undefined : resource
}

/**
 * Keeps the scopes that the user consented to at a resource. An explicit scope parameter must be covered completely. Throws
 * consent_required, invalid_scope.
 */
async function useConsent(app: App, facts: Exchange, at: Resource): Promise<void> {
  const { names: wanted, asked, subject } = facts
  const consent = await findSubjectConsent(app, subject, at)
  if (!consent) throw consentRequired(app, subject, at, wanted, 'consent_missing')
  const consented = scopeNames(consent.scope)
  const missing = wanted.filter((name) => !consented.includes(name))
  // A token without scopes is for the whole resource. A consent to some of its scopes does not cover that.
  const isLess = wanted.length === 0 && consented.length > 0
  const isNamed = requestedNames(asked, wanted) !== undefined
  if (isLess || (isNamed && missing.length > 0)) throw consentRequired(app, subject, at, missing, 'scope_insufficient')
  facts.consent_id = consent.id
  if (wanted.length > 0) facts.names = atLeastOne(wanted.filter((name) => consented.includes(name)))
}

/** The consent of the user for the client to which the subject token was issued, not for the client that exchanges it. */
const findSubjectConsent = ({ store }: App, { claims }: LiveToken, resource: Resource): Promise<Consent | undefined> =>
  store.findConsent({ user_id: claims.sub, client_id: claims.client_id, resource_id: resource.id })

function consentRequired(
  app: App,
  { claims }: LiveToken,
  { slug, uri = '' }: Resource,
  scope: readonly string[],
  cause: 'consent_missing' | 'scope_insufficient',
): OAuthError {
  const query = new URLSearchParams({ client_id: claims.client_id, resource: uri, scope: scope.join(' ') })
  const consent_url = `${app.config.server.issuer}${PATHS.authorize}?${query}`
  return new OAuthError('consent_required', `the user must authorize access to ${slug}`, {
    reason: cause,
    body: { consent_url, cause },
  })
}

/** The actor chain with the client as the current actor. Throws invalid_request beyond `token_exchange.max_chain_depth`. */
export function delegatedTo(app: App, client: Client, previous: Actor | undefined): Actor {
  let depth = 1
  for (let at = previous; at; at = at.act) depth++
  if (depth > app.config.token_exchange.max_chain_depth)
    throw new OAuthError('invalid_request', 'the chain of actors is too long', { reason: 'chain_too_deep' })
  const actor_type = client.is_agent ? 'agent' : 'service'
  return { sub: client.client_id, actor_type, ...(previous ? { act: previous } : {}) }
}
