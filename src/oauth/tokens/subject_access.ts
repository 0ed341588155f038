// The access of the subject of a token: reads the user where a rule or a claim needs it, decides, and records refusals.
import type { App } from '../../context.ts'
import type { Request } from '../../http/message.ts'
import { OAuthError } from '../../lib/error.ts'
import type { Resource } from '../../records/resource.ts'
import type { Proven } from '../../records/sign_in.ts'
import { type AuditEntry, audit, newAuditEvent, sentBy } from '../audit.ts'
import { mayAuditRefusal } from '../refusal_limit.ts'
import {
  type AccessDecision,
  type AccessRule,
  type ClaimsAbout,
  claimsAbout,
  concernsPerson,
  decideAccess,
} from './access.ts'
import { nameOf } from './resource.ts'

/** The subject of a token, and the client that the token is issued to. */
export interface Subject {
  sub: string
  client_id: string
  /** The version of the user that was read together with the token; undefined when the subject is not a user here. */
  user_version?: number
  /** How the user has signed in, as far as it is known. */
  proven?: Proven | undefined
}

export interface SubjectAccess extends AccessDecision {
  /** The claims about the user in tokens for the resource. */
  about?: ClaimsAbout
}

/** The access of a subject to a resource. The rules do not apply to a client that acts for itself, because it is not a user. */
export async function accessOf(
  app: App,
  resource: Resource,
  { sub, client_id, user_version: version, proven = {} }: Subject,
  names: readonly string[],
): Promise<SubjectAccess> {
  if (sub === client_id || !concernsPerson(resource)) return { scope: names }
  // The version is part of the key of the cache: a change of the user takes effect at once, at every instance.
  const person = version === undefined ? undefined : await app.store.findPerson({ id: sub, version })
  return { about: claimsAbout(resource, person), ...decideAccess(resource, person, names, proven) }
}

const REASON = 'access_refused'
const DESCRIPTIONS: Readonly<Record<AccessRule, string>> = {
  access: 'the user may not use this resource',
  second_factor: 'the resource requires a sign-in with a second factor',
  scope_groups: 'the user may have none of these scopes',
}

/** The refusal of a subject by a rule. */
export const refusedAccess = (
  code: 'access_denied' | 'invalid_grant',
  sub: string,
  resource: Resource,
  rule: AccessRule,
): OAuthError =>
  new OAuthError(code, DESCRIPTIONS[rule], {
    reason: REASON,
    about: { user_id: sub, resource: nameOf(resource), rule },
  })

/** Whether an error is the refusal of a user by the rules of a resource. */
export const isAccessRefused = (error: unknown): error is OAuthError =>
  error instanceof OAuthError && error.reason === REASON

/** Records a refusal by an access rule in the audit trail, unless that was done with the change that it caused. Other errors are ignored. */
export async function noteAccessRefused(
  app: App,
  request: Request,
  client_id: string | undefined,
  refusal: OAuthError,
): Promise<void> {
  if (!isAccessRefused(refusal) || refusal.more.recorded) return
  const entry = entryOf(request, client_id, refusal)
  if (mayAuditRefusal(app, request, entry.actor_id, entry.action)) await audit(app, entry)
}

/** The event of a refusal by an access rule, to be recorded with the change that it causes. */
export const accessRefused = (app: App, request: Request, client_id: string, refusal: OAuthError) =>
  newAuditEvent(app, entryOf(request, client_id, refusal))

function entryOf(
  request: Request,
  client_id: string | undefined,
  { more: { about = {} } }: OAuthError,
): AuditEntry<'access_refused'> {
  const { user_id = '', resource, rule } = about
  const detail = { user_id, resource, rule }
  return { action: 'access_refused', actor_id: user_id, client_id, ...sentBy(request), detail }
}
