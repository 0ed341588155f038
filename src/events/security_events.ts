// The security events that follow from an audit event, for the resources of one stream: a table with one row for each action.
//
// A stream contains nothing about other resources: a token must be for a resource of the stream, and a user or client must have an
// unexpired token for a resource of the stream.

import { issuerOf } from '../config/issuer.ts'
import { longestLife } from '../config/lifetimes.ts'
import type { App } from '../context.ts'
import { idFloor } from '../lib/id.ts'
import type { AuditAction } from '../oauth/audit_events.ts'
import { listAllResources } from '../oauth/resource.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { EventReceiver } from '../records/event_receiver.ts'
import type { Resource } from '../records/resource.ts'
import {
  CREDENTIAL_CHANGE,
  SESSION_REVOKED,
  STREAM_UPDATED,
  TOKEN_CLAIMS_CHANGE,
  TOKEN_REVOKED,
  VERIFICATION,
} from './event_types.ts'

/** A security event. Its jti is the id of the audit event with this suffix, so it is the same each time the security event is created. */
export interface SecurityEvent {
  type: string
  suffix: string
  sub_id: Readonly<Record<string, unknown>>
  payload: Readonly<Record<string, unknown>>
}

/** The input of a row. */
interface Question {
  app: App
  event: AuditEvent
  stream: EventReceiver
  resources: readonly Resource[]
}
type Answer = (question: Question) => SecurityEvent[] | Promise<SecurityEvent[]>

/** The resources of a stream: those whose runtime list has its client. */
export const resourcesOf = async (app: App, client_id: string): Promise<Resource[]> =>
  (await listAllResources(app)).filter(
    ({ policy, uri }) => uri !== undefined && policy.runtime.client_ids.includes(client_id),
  )

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
const urisOf = ({ resources }: Question): string[] => resources.flatMap(({ uri }) => uri ?? [])

/** The time bounds of a search for tokens. Tokens that were issued before `liveFrom` have expired. */
const bounds = ({ app: { config, clock } }: Question) => {
  const now = clock.now()
  return { now, liveFrom: idFloor(now - longestLife(config) - 60) }
}

const hasTokens = async (question: Question, who: { sub?: string; client_id?: string }): Promise<boolean> =>
  (await question.app.store.countTokensFor({ ...who, resources: urisOf(question), ...bounds(question) })) > 0

const opaque = (id: string) => ({ format: 'opaque', id })
const aboutUser = ({ app }: Question, sub: string) => ({ format: 'iss_sub', iss: issuerOf(app.config), sub })

/** A token-revoked event for each token that the revocation of a token or of a family revoked. */
const endedTokens =
  (find: (event: AuditEvent) => { jti: string } | { family: string } | undefined): Answer =>
  async (question) => {
    const of = find(question.event)
    if (!of) return []
    const found = await question.app.store.listConcernedTokens({ ...of, ...bounds(question) })
    const mine = new Set(urisOf(question))
    return found
      .filter(({ resource }) => mine.has(resource))
      .map(({ id, expires_at }) => ({
        type: TOKEN_REVOKED,
        suffix: id,
        sub_id: opaque(id),
        payload: { jti: id, exp: expires_at, ...('family' in of ? { family: of.family } : {}) },
      }))
  }

/** A token-revoked event for every token that was issued before the event and has these claims. */
const revokedBy = (claims: Readonly<Record<string, unknown>>): SecurityEvent[] => [
  { type: TOKEN_REVOKED, suffix: 'tokens', sub_id: opaque(String(Object.values(claims)[0])), payload: claims },
]

const clientEnded: Answer = async (question) => {
  const { client_id } = question.event
  return client_id !== undefined && (await hasTokens(question, { client_id })) ? revokedBy({ client_id }) : []
}

/** A token-revoked event for the tokens of a client for a user, at the resource that the audit event names or at every resource. */
const accessEnded: Answer = async (question) => {
  const { client_id, detail, actor_id } = question.event
  const { user_id, resource, resource_id } = detail
  const isNamed = resource !== undefined || resource_id !== undefined
  const target = question.resources.find(({ uri, id }) => uri === resource || id === resource_id)
  const sub = text(user_id) ?? actor_id
  if (client_id === undefined || (isNamed && !target) || !(await hasTokens(question, { sub, client_id }))) return []
  return revokedBy({ client_id, sub, ...(target ? { aud: target.uri } : {}) })
}

const keyRevoked: Answer = ({ event: { detail } }) => revokedBy({ kid: detail['kid'] })

/** A token-revoked event with the filter of a mass revocation, converted to claims. */
const massRevoked: Answer = async (question) => {
  const { client_id, user_id: sub, agent, kid, resource, since, until } = question.event.detail
  if (resource !== undefined && !urisOf(question).includes(String(resource))) return []
  const who = { sub: text(sub), client_id: text(client_id) }
  if ((who.sub ?? who.client_id) !== undefined && !(await hasTokens(question, who))) return []
  const claims = { client_id, sub, agent, kid, aud: resource, issued_from: since, issued_before: until }
  return revokedBy(Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined)))
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
const claimsChanged: Answer = async (question) => {
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
  if (Object.keys(claims).length === 0) return []
  return [{ type: TOKEN_CLAIMS_CHANGE, suffix: 'claims', sub_id: aboutUser(question, user.id), payload: { claims } }]
}

const hasField = ({ event }: Question, name: string): boolean => {
  const { fields } = event.detail
  return Array.isArray(fields) && fields.includes(name)
}
const CLAIM_FIELDS = ['operator_groups', 'name', 'email', 'email_verified']
/** A password that an operator sets ends the sessions and refresh tokens of the user. */
const userUpdated: Answer = both(
  (question) => (hasField(question, 'password') ? both(sessionRevoked, passwordChanged)(question) : []),
  (question) => (CLAIM_FIELDS.some((name) => hasField(question, name)) ? claimsChanged(question) : []),
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

const ROWS: Partial<Record<AuditAction, Answer>> = {
  token_revoked: endedTokens((event) => byJti(event) ?? byFamily(event)),
  issuance_revoked: endedTokens(byJti),
  refresh_token_reused: endedTokens(byFamily),
  auth_code_reused: accessEnded,
  consent_revoked: accessEnded,
  access_refused: accessEnded,
  tokens_revoked: massRevoked,
  key_revoked: keyRevoked,
  client_suspended: clientEnded,
  client_deleted: clientEnded,
  user_signed_out: sessionRevoked,
  user_disabled: sessionRevoked,
  user_deleted: sessionRevoked,
  user_backchannel_logout: sessionRevoked,
  user_password_set: both(sessionRevoked, passwordChanged),
  user_password_changed: passwordChanged,
  user_updated: userUpdated,
  user_email_changed: claimsChanged,
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
