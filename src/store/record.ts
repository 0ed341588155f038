// The rows of the record: issued tokens and audit events.
import type { AuditEvent } from '../records/audit_event.ts'
import type { Issuance } from '../records/issuance.ts'
import {
  type Condition,
  decoded,
  flag,
  idText,
  maybeDecoded,
  maybeIdText,
  maybeNum,
  maybeStr,
  num,
  type Row,
  str,
} from './op.ts'

export const ISSUANCE_COLUMNS =
  'id, grant_type, client_id, sub, resource, scope, issued_at, expires_at, kid, jkt, act, agent, family_id, consent_id, parent_id, broker_provider, ip, retry, typ, authorization_details, revoked_at'

/** The joins with the family and the consent of an issued token (`i`), whose revocation ends it. */
export const ENDED_BY =
  'LEFT JOIN token_families f ON f.id = i.family_id LEFT JOIN consent_grants c ON c.id = i.consent_id'
/** The column with the time at which the token, its family or its consent was revoked; NULL while the token is live. */
export const DEAD_AT = 'COALESCE(i.revoked_at, f.revoked_at, c.revoked_at) AS dead_at'

/** An issued token from its row. */
export const readIssuance = (row: Row): Issuance => ({
  id: idText(row.id),
  grant_type: str(row.grant_type),
  client_id: str(row.client_id),
  sub: str(row.sub ?? row.client_id),
  resource: maybeStr(row.resource),
  scope: str(row.scope),
  issued_at: num(row.issued_at),
  expires_at: num(row.expires_at),
  kid: str(row.kid),
  jkt: maybeStr(row.jkt),
  act: row.act === null ? undefined : decoded(row.act),
  is_agent: flag(row.agent),
  family_id: maybeIdText(row.family_id),
  consent_id: maybeIdText(row.consent_id),
  parent_id: maybeIdText(row.parent_id),
  broker_provider: maybeStr(row.broker_provider),
  ip: str(row.ip),
  retry: row.retry === 1 ? true : undefined,
  typ: row.typ === null ? undefined : (str(row.typ) as Issuance['typ']),
  authorization_details: maybeDecoded(row.authorization_details),
  revoked_at: maybeNum(row.revoked_at),
})

/** The condition that a user or client is the subject of a token. In a row without a subject, the client is the subject. */
export const isAbout = (sub: string | undefined): Condition | undefined =>
  sub === undefined ? undefined : ['(sub = ? OR (sub IS NULL AND client_id = ?))', sub, sub]

/** The columns that readEvent() reads. */
export const EVENT_COLUMNS = 'id, action, actor_id, client_id, ip, request_id, detail, created_at'

/** An audit event from its row. */
export const readEvent = (row: Row): AuditEvent => ({
  id: idText(row.id),
  action: str(row.action),
  actor_id: str(row.actor_id),
  client_id: maybeStr(row.client_id),
  ip: str(row.ip),
  request_id: maybeIdText(row.request_id),
  detail: decoded(row.detail),
  created_at: num(row.created_at),
})

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
