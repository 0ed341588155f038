// The security events that follow from an audit event, for the resources of one stream: a table with one row for each action.
//
// A stream contains nothing about other resources: a token must be for a resource of the stream, and a user or client must have an
// unexpired token for a resource of the stream.

import { issuerOf } from '../config/issuer.ts'
import type { App } from '../context.ts'
import type { AuditAction } from '../oauth/audit_events.ts'
import { hasRules } from '../oauth/tokens/access.ts'
import { listAllResources } from '../oauth/tokens/resource.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { EventReceiver } from '../records/event_receiver.ts'
import type { Resource } from '../records/resource.ts'
import {
  type Answer,
  endedTokens,
  exchangedFrom,
  hasTokens,
  opaque,
  type Question,
  revokedBy,
  type SecurityEvent,
  urisOf,
} from './concerned.ts'
import {
  ACCOUNT_DISABLED,
  ACCOUNT_ENABLED,
  ACCOUNT_PURGED,
  CREDENTIAL_CHANGE,
  SESSION_REVOKED,
  STREAM_UPDATED,
  TOKEN_CLAIMS_CHANGE,
  VERIFICATION,
} from './event_types.ts'

/** The resources of a stream: those whose runtime list has its client. */
export const resourcesOf = async (app: App, client_id: string): Promise<Resource[]> =>
  (await listAllResources(app)).filter(
    ({ policy, uri }) => uri !== undefined && policy.runtime.client_ids.includes(client_id),
  )

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
const aboutUser = ({ app }: Question, sub: string) => ({ format: 'iss_sub', iss: issuerOf(app.config), sub })

const clientEnded: Answer = async (question) => {
  const { client_id } = question.event
  if (client_id === undefined) return []
  const own = (await hasTokens(question, { client_id })) ? revokedBy({ client_id }) : []
  return [...own, ...(await exchangedFrom(question, { client_id }))]
}

/** A token-revoked event for the tokens of a client for a user, at the resource that the audit event names or at every resource. */
const accessEnded: Answer = async (question) => {
  const { client_id, detail, actor_id } = question.event
  const { resource, resource_id } = detail
  const name = text(resource_id) ?? text(resource)
  const isNamed = (uri?: string, id?: string) => name === undefined || name === uri || name === id
  const target = name === undefined ? undefined : question.resources.find(({ uri, id }) => isNamed(uri, id))
  const sub = text(detail['user_id']) ?? actor_id
  if (client_id === undefined) return []
  const isMine = name === undefined || target !== undefined
  const own =
    isMine && (await hasTokens(question, { sub, client_id }))
      ? revokedBy({ client_id, sub, ...(target ? { aud: target.uri } : {}) })
      : []
  const all = await listAllResources(question.app)
  const uri = name === undefined ? undefined : all.find((each) => isNamed(each.uri, each.id))?.uri
  return [...own, ...(await exchangedFrom(question, { client_id, user_id: sub, resource: uri }))]
}

const keyRevoked: Answer = async (question) => {
  const kid = text(question.event.detail['kid'])
  return kid === undefined ? [] : [...revokedBy({ kid }), ...(await exchangedFrom(question, { kid }))]
}

/** A token-revoked event with the filter of a mass revocation, converted to claims. */
const massRevoked: Answer = async (question) => {
  const { client_id, user_id: sub, agent, kid, resource, since, until } = question.event.detail
  const who = { sub: text(sub), client_id: text(client_id) }
  const isMine = resource === undefined || urisOf(question).includes(String(resource))
  const isKnown = (who.sub ?? who.client_id) === undefined || (await hasTokens(question, who))
  const claims = { client_id, sub, agent, kid, aud: resource, issued_from: since, issued_before: until }
  const given = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined))
  // An exchange keeps the actors of a token, so the claim names those that were exchanged from the token of an actor.
  const of = {
    client_id: text(client_id) ?? text(agent),
    user_id: text(sub),
    kid: text(kid),
    resource: text(resource),
    since: number(since),
    until: number(until),
  }
  return [...(isMine && isKnown ? revokedBy(given) : []), ...(await exchangedFrom(question, of))]
}
const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)

/** A resource that was deleted has no stream any more, but other resources may have tokens that were exchanged from its tokens. */
const resourceDeleted: Answer = async (question) => {
  const resource = text(question.event.detail['resource'])
  return resource === undefined ? [] : exchangedFrom(question, { resource })
}

/** A token-revoked event for all tokens of a resource whose rules refuse more than before. */
const resourceUpdated: Answer = ({ event: { detail }, resources }) => {
  const aud = resources.find(({ id }) => id === detail['resource_id'])?.uri
  return detail['narrowed'] === true && aud !== undefined ? revokedBy({ aud }) : []
}

/** The user of an event, if the user has tokens for the stream. */
async function userOf(question: Question): Promise<string | undefined> {
  const { detail, actor_id } = question.event
  const sub = text(detail['user_id']) ?? actor_id
  return (await hasTokens(question, { sub })) ? sub : undefined
}

const sessionRevoked: Answer = async (question) => {
  const sub = await userOf(question)
  if (sub === undefined) return []
  const payload = { initiating_entity: question.event.actor_id === sub ? 'user' : 'admin' }
  return [{ type: SESSION_REVOKED, suffix: 'session', sub_id: aboutUser(question, sub), payload }]
}

/** An event about the account of a user (OpenID RISC 1.0 §2). */
const ofAccount =
  (type: string): Answer =>
  async (question) => {
    const sub = await userOf(question)
    return sub === undefined ? [] : [{ type, suffix: 'account', sub_id: aboutUser(question, sub), payload: {} }]
  }

/** A token-revoked event for all tokens of a user. */
const tokensEnded: Answer = async (question) => {
  const sub = await userOf(question)
  return sub === undefined ? [] : revokedBy({ sub })
}

const passwordChanged: Answer = async (question) => {
  const sub = await userOf(question)
  if (sub === undefined) return []
  const payload = { credential_type: 'password', change_type: 'update' }
  return [{ type: CREDENTIAL_CHANGE, suffix: 'credential', sub_id: aboutUser(question, sub), payload }]
}

const both =
  (...answers: readonly Answer[]): Answer =>
  async (question) =>
    (await Promise.all(answers.map((answer) => answer(question)))).flat()

/** The claims that the tokens of the stream's resources have, as they are now. Email and name only with events.include_pii. */
const claimsChanged =
  (concernsRules: (question: Question) => boolean): Answer =>
  async (question) => {
    const { app, resources } = question
    const sub = await userOf(question)
    const user = sub === undefined ? undefined : await app.store.findUser({ id: sub })
    if (!user) return []
    const groups = [...new Set([...user.operator_groups, ...user.provider_groups])].sort()
    const { include_pii } = app.config.events
    const known = {
      groups,
      ...(include_pii ? { email: user.email, name: user.name, email_verified: user.email_verified } : {}),
    }
    const wanted = new Set<string>(resources.flatMap(({ token_claims }) => token_claims))
    const claims = Object.fromEntries(
      Object.entries(known).filter(([name, value]) => wanted.has(name) && value !== undefined),
    )
    // Without such a claim a rule of a resource may still depend on the change.
    if (Object.keys(claims).length === 0)
      return concernsRules(question) && resources.some(hasRules) ? revokedBy({ sub: user.id }) : []
    return [{ type: TOKEN_CLAIMS_CHANGE, suffix: 'claims', sub_id: aboutUser(question, user.id), payload: { claims } }]
  }

const hasField = ({ event }: Question, name: string): boolean => {
  const { fields } = event.detail
  return Array.isArray(fields) && fields.includes(name)
}
/** What access rules and the groups of scopes depend on. */
const RULE_FIELDS = ['operator_groups', 'provider_groups', 'email', 'email_verified']
const CLAIM_FIELDS = [...RULE_FIELDS, 'name']
const fieldsChanged = claimsChanged((question) => RULE_FIELDS.some((name) => hasField(question, name)))
/** A password that an operator sets ends the sessions and refresh tokens of the user, and so does a new subject at the provider. */
const userUpdated: Answer = both(
  (question) => (hasField(question, 'password') ? both(sessionRevoked, passwordChanged)(question) : []),
  (question) => (hasField(question, 'provider_sub') ? sessionRevoked(question) : []),
  (question) => (CLAIM_FIELDS.some((name) => hasField(question, name)) ? fieldsChanged(question) : []),
)

/** Events about a stream itself. */
const ofStream =
  (type: string, payload: (event: AuditEvent) => Readonly<Record<string, unknown>> | undefined): Answer =>
  ({ event, stream }) => {
    const about = event.detail['stream_id'] === stream.id ? payload(event) : undefined
    return about ? [{ type, suffix: 'stream', sub_id: opaque(stream.id), payload: about }] : []
  }

const byJti = (event: AuditEvent) => {
  const jti = text(event.detail['jti'])
  return jti === undefined ? undefined : { jti }
}
const byFamily = (event: AuditEvent) => {
  const family = text(event.detail['family'])
  return family === undefined ? undefined : { family }
}

const byConsent = ({ client_id, actor_id, detail }: AuditEvent) => {
  const consent_id = text(detail['consent_id'])
  const user_id = text(detail['user_id']) ?? actor_id
  return consent_id === undefined || client_id === undefined ? undefined : { consent_id, user_id, client_id }
}

const ROWS: Partial<Record<AuditAction, Answer>> = {
  token_revoked: endedTokens((event) => byJti(event) ?? byFamily(event)),
  issuance_revoked: endedTokens(byJti),
  refresh_token_reused: endedTokens(byFamily),
  auth_code_reused: accessEnded,
  consent_revoked: both(accessEnded, endedTokens(byConsent)),
  access_refused: accessEnded,
  tokens_revoked: massRevoked,
  key_revoked: keyRevoked,
  client_suspended: clientEnded,
  client_deleted: clientEnded,
  user_signed_out: sessionRevoked,
  factors_reset: sessionRevoked,
  user_disabled: both(sessionRevoked, ofAccount(ACCOUNT_DISABLED), tokensEnded),
  user_enabled: ofAccount(ACCOUNT_ENABLED),
  user_deleted: both(sessionRevoked, ofAccount(ACCOUNT_PURGED), tokensEnded),
  user_backchannel_logout: sessionRevoked,
  user_password_set: both(sessionRevoked, passwordChanged),
  user_password_changed: passwordChanged,
  user_updated: userUpdated,
  user_email_changed: claimsChanged(() => true),
  user_claims_changed: fieldsChanged,
  resource_updated: resourceUpdated,
  resource_deleted: resourceDeleted,
  stream_verification_requested: ofStream(VERIFICATION, ({ detail: { state } }) =>
    state === undefined ? {} : { state },
  ),
  // A receiver is not notified of its own changes.
  stream_updated: ofStream(STREAM_UPDATED, ({ actor_id, client_id, detail: { status } }) =>
    actor_id === client_id || status === undefined ? undefined : { status },
  ),
}

/** The audit actions from which security events may follow. */
export const STREAM_ACTIONS = Object.keys(ROWS) as AuditAction[]

/** Whether an event is about the stream itself. Such events are sent without being requested. */
export const isAboutStream = (type: string): boolean => type === VERIFICATION || type === STREAM_UPDATED

/** The security events of a stream that follow from an audit event. */
export async function securityEvents(app: App, stream: EventReceiver, event: AuditEvent): Promise<SecurityEvent[]> {
  const row = ROWS[event.action as AuditAction]
  const resources = row ? await resourcesOf(app, stream.client_id ?? '') : []
  if (!row || resources.length === 0) return []
  const found = await row({ app, event, stream, resources })
  return found.filter(({ type }) => isAboutStream(type) || stream.events.includes(type))
}
