// The tables of the record: issued tokens and audit events.
import type { AuditEvent } from '../records/audit_event.ts'
import type { Issuance } from '../records/issuance.ts'
import { type Condition, flag, orNull, str } from './op.ts'
import { column, plainTable } from './table.ts'

/** A flag that is NULL while it is not set. */
const rareFlag = { read: flag, write: (value: boolean | undefined) => (value ? 1 : null) }
export const ISSUANCES = plainTable<Issuance, 'sub'>(
  'issuances',
  {
    id: column.id,
    grant_type: column.text(),
    client_id: column.text(),
    resource: column.maybeText(),
    scope: column.text(),
    issued_at: column.int,
    expires_at: column.int,
    kid: column.text(),
    jkt: column.maybeText(),
    act: column.maybeJson(),
    is_agent: { ...rareFlag, name: 'agent' },
    family_id: column.maybeId,
    consent_id: column.maybeId,
    parent_id: column.maybeId,
    broker_provider: column.maybeText(),
    ip: column.text(),
    retry: { ...rareFlag, read: (value) => flag(value) || undefined },
    typ: column.maybeText(),
    authorization_details: column.maybeJson(),
    revoked_at: column.readOnly(column.maybeInt),
  },
  // A row without a subject: the client is it.
  {
    sub: {
      read: (value, { client_id }) => ({ sub: str(value ?? client_id) }),
      write: ({ sub, client_id }) => (sub === client_id ? null : sub),
    },
  },
)

/** The joins with the family and the consent of an issued token (`i`), whose revocation ends it. */
export const ENDED_BY =
  'LEFT JOIN token_families f ON f.id = i.family_id LEFT JOIN consent_grants c ON c.id = i.consent_id'
/** The column with the time at which the token, its family or its consent was revoked; NULL while the token is live. */
export const DEAD_AT = 'COALESCE(i.revoked_at, f.revoked_at, c.revoked_at) AS dead_at'

/** The condition that a user or client is the subject of a token. In a row without a subject, the client is the subject. */
export const isAbout = (sub: string | undefined): Condition | undefined =>
  sub === undefined ? undefined : ['(sub = ? OR (sub IS NULL AND client_id = ?))', sub, sub]

/** The members of a detail that name what an event is about, the most telling one first. A client has a column of its own. */
const ABOUT = [
  ...['user_id', 'resource_id', 'api_key_id', 'idp_id', 'broker_provider_id', 'webhook_id', 'stream_id'],
  ...['jti', 'family', 'kid', 'slug'],
]
const aboutOf = ({ detail }: AuditEvent) =>
  ABOUT.map((name) => detail[name]).find((value) => typeof value === 'string' && value !== '') as string | undefined

export const EVENTS = plainTable<AuditEvent>(
  'audit_events',
  {
    id: column.id,
    action: column.text(),
    actor_id: column.text(),
    client_id: column.maybeText(),
    ip: column.text(),
    request_id: column.maybeId,
    detail: column.json(),
    created_at: column.int,
  },
  { about: { write: (event) => orNull(aboutOf(event)) } },
)

/** Which issuances are the events of an action. */
export const ISSUED_ACTIONS: Readonly<Record<string, Condition>> = {
  token_issued: ['broker_provider IS NULL'],
  upstream_token_issued: ['broker_provider IS NOT NULL'],
}

/** The audit event that an issued token is. */
export const issuanceEvent = (i: Issuance): AuditEvent => ({
  id: i.id,
  action: i.broker_provider ? 'upstream_token_issued' : 'token_issued',
  actor_id: i.sub,
  client_id: i.client_id,
  ip: i.ip,
  request_id: i.id,
  detail: {
    jti: i.id,
    grant_type: i.grant_type,
    scope: i.scope,
    ...(i.resource ? { resource: i.resource } : {}),
    ...(i.broker_provider ? { provider: i.broker_provider } : {}),
    ...(i.family_id ? { family: i.family_id } : {}),
    ...(i.parent_id ? { parent: i.parent_id } : {}),
    ...(i.retry ? { retry: true } : {}),
  },
  created_at: i.issued_at,
})
