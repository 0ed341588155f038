// Token exchange (RFC 8693): impersonation, or delegation with an actor token. The new token never has more access than the subject token.

import { type checkConnection, type Vended, vend } from '../broker/vend.ts'
import type { App } from '../context.ts'
import type { Params } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import type { Reason } from '../lib/reasons/index.ts'
import { ADMISSION, type Admitted, POLICY } from '../oauth/federation/admission.ts'
import {
  ACCESS_TOKEN,
  type ForeignToken,
  ID_TOKEN,
  JWT,
  verifyForeignToken,
} from '../oauth/federation/subject_token.ts'
import { provenBy } from '../oauth/openid.ts'
import { findLiveToken, type LiveToken } from '../oauth/tokens/access_token.ts'
import { refuseDetails } from '../oauth/tokens/authorization_details.ts'
import { type CommitOutcome, ISSUED } from '../oauth/tokens/commit.ts'
import { HELD_DETAILS, RESOURCE_KNOWN } from '../oauth/tokens/common_rules.ts'
import { checkBound } from '../oauth/tokens/dpop.ts'
import { delegatedTo, EXCHANGE_RULES, type Exchange, namedScope } from '../oauth/tokens/exchange_policy.ts'
import { actorsBehind } from '../oauth/tokens/fronting.ts'
import type { Authorization } from '../oauth/tokens/issue.ts'
import { atLeastOne, catalogOf, isSameResource } from '../oauth/tokens/resource.ts'
import { decide, type GrantRule } from '../oauth/tokens/rule.ts'
import type { Client } from '../records/client.ts'
import type { Actor } from '../records/issuance.ts'
import type { Grant, GrantInput } from './grant.ts'

/** Types of tokens of this service. With XAA, the subject token of an identity provider may be an ID token too. */
const TOKEN_TYPES = [ACCESS_TOKEN, JWT]
const SUBJECT_TYPES = [...TOKEN_TYPES, ID_TOKEN]
/** Maximum number of successive exchanges. Every check of a token reads all tokens from which it was exchanged, even without actors. */
const MAX_EXCHANGES = 32

const invalid = (description: string, reason: Reason) => new OAuthError('invalid_request', description, { reason })
const refuse = (description: string, reason: Reason) => new OAuthError('invalid_grant', description, { reason })

const INVALID_SUBJECT = 'the subject token is not valid'
/** The subject token, consent or link that the exchange depends on was revoked or deleted after it was read. */
const revoked = (reason: Reason): CommitOutcome => ({ refusal: { description: INVALID_SUBJECT, reason } })
const OUTCOMES = {
  recorded: ISSUED,
  subject_revoked: revoked('subject_revoked'),
  consent_revoked: revoked('consent_revoked'),
  link_deleted: revoked('link_deleted'),
}

/** Short name of the grant. */
const GRANT_TYPE = 'token_exchange'

export interface VendedExchange extends Exchange {
  /** Gets the token of a provider, or only checks that there is one. */
  vend: typeof vend | typeof checkConnection
  vended?: Vended | undefined
}

/** The rules of an exchange of a token of this service. The last one gets the token of the provider of a broker resource. */
const RULES: readonly GrantRule<VendedExchange>[] = [
  ...EXCHANGE_RULES,
  HELD_DETAILS,
  {
    name: 'connection',
    async check(app, facts) {
      const { resource, sub: user_id, names: scope } = facts
      if (resource?.backend_kind !== 'broker') return
      facts.vended = (await facts.vend(app, { user_id, scope, resource })) || undefined
    },
  },
]

export const tokenExchange = {
  type: 'urn:ietf:params:oauth:grant-type:token-exchange',
  name: GRANT_TYPE,
  clients: 'confidential',
  isMachine: true,
  denied: 'token_exchange_denied',
  switch: 'token_exchange.enabled',
  enabled: (config) => config.token_exchange.enabled,
  rules: RULES,
  lifetime: (config) => config.token_exchange.token_expiry,
  counters: { issued: 'ext_token_exchange_total', denied: 'ext_token_exchange_denied_total' },

  async run(app, input) {
    const { subject_token = '', subject_token_type } = checkParams(app, input.form)
    // This service has no ID tokens that could be exchanged.
    const own = subject_token_type === ID_TOKEN ? undefined : await findLiveToken(app, subject_token)
    return own
      ? exchangeOwn(app, input, own)
      : exchangeForeign(app, input, await verifyForeignToken(app, subject_token, subject_token_type))
  },
} satisfies Grant

const targetOf = ({ resource, audience }: Params, { default_resource }: Client): string | undefined =>
  resource ?? audience ?? default_resource

/** Exchange of a token of this service. */
async function exchangeOwn(app: App, input: GrantInput, subject: LiveToken): Promise<Authorization> {
  const { form, client, proof } = input
  const { claims, issuance, user_version } = subject
  if (subject.exchanges >= MAX_EXCHANGES) throw invalid('too many successive token exchanges', 'too_many_exchanges')
  const uri = targetOf(form, client)
  const facts: VendedExchange = {
    client,
    uri,
    asked: form.scope,
    names: [],
    sub: claims.sub,
    user_version,
    proven: claims,
    subject,
    asked_details: form.authorization_details,
    held_details: issuance.authorization_details,
    actor: (found) => ownActorOf(app, input, found),
    vend,
  }
  const decided = await decide(app, RULES, facts)
  const { resource, audience, names, authorization_details, consent_id, about, fronting, act, vended } = decided
  return {
    grant_type: GRANT_TYPE,
    client,
    lifetime: app.config.token_exchange.token_expiry,
    sub: claims.sub,
    resource: resource ?? audience,
    scope: names.join(' '),
    authorization_details: vended ? undefined : authorization_details,
    consent_id,
    about,
    identity: provenBy(claims),
    vended,
    not_after: claims.exp,
    jkt: proof?.jkt ?? claims.cnf?.jkt,
    act,
    family_id: issuance.family_id,
    parent_id: issuance.id,
    labels: { kind: form.actor_token === undefined && !fronting ? 'impersonation' : 'delegation' },
    issued_token_type: ACCESS_TOKEN,
    commit: { op: 'recordExchange', input: { link: fronting?.link }, outcomes: OUTCOMES },
  }
}

/** The actor chain of an exchange of a token of this service. */
async function ownActorOf(app: App, input: GrantInput, { subject, resource, fronting }: Exchange) {
  const { form, client, proof } = input
  const { claims } = subject
  if (resource?.backend_kind === 'broker' && form.actor_token !== undefined)
    throw invalid('actor_token is not supported for tokens of a provider', 'broker_actor_not_allowed')
  const act = await actorOf(app, input, fronting ? actorsBehind(subject, client) : claims.act, fronting !== undefined)
  // A client that exchanges its own token must prove its key. Another client keeps the key binding or sends its own proof.
  if (claims.client_id === client.client_id) checkBound(claims.cnf?.jkt, proof)
  return act
}

/** The rules of an exchange of a token of an identity provider. Its policies decide, not the lists of the resource. */
const FOREIGN_RULES: readonly GrantRule<Admitted>[] = [
  RESOURCE_KNOWN,
  {
    // The scopes of the subject token are not used, because they are names of another server.
    name: 'scope',
    async check(app, facts) {
      const { resource, asked } = facts
      if (!resource) return
      const catalog = catalogOf(resource)
      const names = (await namedScope(app, asked, resource)) ?? catalog
      facts.names = catalog.length === 0 ? names : atLeastOne(names)
    },
  },
  POLICY,
  ...ADMISSION,
]

/** Exchange of a token of a trusted identity provider. It has no record here, so its revocation cannot end the new token. */
async function exchangeForeign(app: App, input: GrantInput, subject: ForeignToken): Promise<Authorization> {
  const { form, client, proof } = input
  const uri = targetOf(form, client)
  refuseDetails(form)
  if (uri === undefined) throw new OAuthError('access_denied', 'resource is required', { reason: 'missing_resource' })
  const facts: Admitted = {
    client,
    uri,
    asked: form.scope,
    names: [],
    federated: subject,
    sub: '',
    user_version: undefined,
    proven: subject.proven,
  }
  const { sub, resource, names, about } = await decide(app, FOREIGN_RULES, facts)
  return {
    grant_type: GRANT_TYPE,
    client,
    lifetime: app.config.token_exchange.token_expiry,
    sub,
    resource,
    scope: names.join(' '),
    about,
    identity: provenBy(subject.proven),
    not_after: Math.floor(subject.exp),
    jkt: proof?.jkt ?? subject.jkt,
    act: await actorOf(app, input, subject.act, false),
    labels: { kind: form.actor_token === undefined ? 'impersonation' : 'delegation' },
    issued_token_type: ACCESS_TOKEN,
  }
}

/** Checks the parameters of an exchange, and returns them. Throws invalid_request or invalid_target. */
function checkParams(app: App, form: Params): Params {
  if (form.subject_token === undefined) throw invalid('subject_token is missing', 'missing_subject_token')
  checkType('subject_token_type', form.subject_token_type, app.config.xaa.enabled ? SUBJECT_TYPES : TOKEN_TYPES)
  if (form.actor_token !== undefined) checkType('actor_token_type', form.actor_token_type)
  else if (form.actor_token_type !== undefined)
    throw invalid('actor_token_type needs an actor_token', 'missing_actor_token')
  if (form.requested_token_type !== undefined) checkType('requested_token_type', form.requested_token_type)
  const { audience, resource = audience } = form
  if (audience !== undefined && resource !== undefined && !isSameResource(app, audience, resource))
    throw new OAuthError('invalid_target', 'audience and resource name different targets', { reason: 'two_targets' })
  return form
}

function checkType(
  name: `${'subject' | 'actor' | 'requested'}_token_type`,
  type: string | undefined,
  types = TOKEN_TYPES,
): void {
  if (type === undefined || !types.includes(type))
    throw invalid(`${name} must be one of ${types.join(', ')}`, `bad_${name}`)
}

/**
 * The actor chain of the new token. Without an actor token the previous chain is kept, so that an exchange cannot remove it. The
 * gateway of a fronted exchange is always added as an actor, with or without an actor token.
 */
async function actorOf(
  app: App,
  { form, client, proof }: GrantInput,
  before: Actor | undefined,
  fronted: boolean,
): Promise<Actor | undefined> {
  if (form.actor_token === undefined) return fronted ? delegatedTo(app, client, before) : before
  const actor = await findLiveToken(app, form.actor_token)
  if (!actor) throw refuse('the actor token is not valid', 'invalid_actor_token')
  // With the token of another client, that client would become an actor without its knowledge.
  if (actor.claims.client_id !== client.client_id)
    throw refuse('the actor token is not valid', 'actor_token_of_another_client')
  checkBound(actor.claims.cnf?.jkt, proof)
  return delegatedTo(app, client, before)
}
