// The JSON forms of an audit event: in the admin API and in webhooks.
import { rfc3339 } from '../lib/time.ts'
import type { AuditEvent } from '../records/audit_event.ts'

/** An event in the form of the admin API. */
export const eventJson = (event: AuditEvent) => ({
  id: event.id,
  action: event.action,
  kind: event.action,
  actor_id: event.actor_id,
  client_id: event.client_id ?? '',
  ip: event.ip,
  request_id: event.request_id ?? '',
  detail: event.detail,
  created_at: rfc3339(event.created_at),
  timestamp: rfc3339(event.created_at),
})

/** Members of details that may contain an email address or a name of a person. */
const PERSONAL = ['email', 'email_before', 'expected', 'federated_subject', 'found', 'impersonate_sub', 'subject']

/** Members for the audit trail only. The values of changed fields may name people, also where no name is expected; `fields` has the names of the fields. */
const KEPT = ['changes']

/** The body of a webhook request. Without `include_pii` it names users by id only. */
export function webhookBody(event: AuditEvent, include_pii: boolean): string {
  const detail = Object.entries(event.detail).filter(
    ([name]) => !KEPT.includes(name) && (include_pii || !PERSONAL.includes(name)),
  )
  const { kind, timestamp, ...data } = eventJson({ ...event, detail: Object.fromEntries(detail) })
  return JSON.stringify({ type: kind, timestamp, data })
}
