// The audit trail. An issuance is its own event and is not recorded here. Details contain names, never secrets or tokens.
import type { App } from '../context.ts'
import type { Request } from '../http/message.ts'
import { newId } from '../lib/id.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { AuditAction, DetailOf, LaterAction } from './audit_events.ts'

export interface AuditEntry<A extends AuditAction> {
  action: A
  /** User id, client id, `admin`, `system`, or empty when the actor is unknown. */
  actor_id: string
  client_id?: string
  /** Address of the caller. */
  ip: string
  request_id?: string
  detail?: DetailOf<A>
}

/** The request that caused an event. */
export const sentBy = ({ remote, id }: Request) => ({ ip: remote, request_id: id })

/** An event that an operation of the store records in the transaction of a change (store/recorded.ts). */
export const newAuditEvent = <A extends AuditAction>(
  { clock }: Pick<App, 'clock'>,
  { detail, ...entry }: AuditEntry<A>,
): AuditEvent => ({ id: newId(), created_at: clock.now(), detail: { ...detail }, ...entry })

/** Records an event on its own. Resolves when it is committed, or when that has failed, which is logged and counted. */
export async function audit<A extends LaterAction>(app: App, entry: AuditEntry<A>): Promise<void> {
  const action: AuditAction = entry.action
  try {
    await app.store.recordAudit(newAuditEvent(app, entry))
  } catch (error) {
    app.metrics.count('ext_audit_events_dropped_total', { action })
    app.log.error({ err: error, action, request_id: entry.request_id }, 'an audit event could not be recorded')
  }
}
