// The audit trail. An issuance is its own event and is not recorded here. Details contain names, never secrets or tokens.
import type { App } from '../context.ts'
import type { Request } from '../http/message.ts'
import { newId } from '../lib/id.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { AuditAction, DetailOf } from './audit_events.ts'
import type { LoneAction } from './lone_events.ts'

/** Who caused an event. */
export interface AuditActor {
  /** User id, client id, `admin`, `system`, or empty when the actor is unknown. */
  actor_id: string
  /** Address of the caller. */
  ip: string
  request_id?: string
}

export interface AuditEntry<A extends AuditAction> extends AuditActor {
  action: A
  client_id?: string
  detail?: DetailOf<A>
}

/** The actor of what the service does on its own. */
export const SYSTEM: AuditActor = { actor_id: 'system', ip: '' }

/** The request that caused an event. */
export const sentBy = ({ remote, id }: Request) => ({ ip: remote, request_id: id })

/** An event that an operation of the store records in the transaction of a change (store/recorded.ts). */
export const newAuditEvent = <A extends AuditAction>(
  { clock }: Pick<App, 'clock'>,
  { action, actor_id, client_id, ip, request_id, detail }: AuditEntry<A>,
  id = newId(),
): AuditEvent => ({ id, action, actor_id, client_id, ip, request_id, detail: { ...detail }, created_at: clock.now() })

/** Records an event of something that changed no record. Resolves when it is committed, or when that has failed, which is logged and counted. */
export async function audit<A extends LoneAction>(app: App, entry: AuditEntry<A>, id?: string): Promise<void> {
  const action: AuditAction = entry.action
  try {
    await app.store.recordAudit(newAuditEvent(app, entry, id))
  } catch (error) {
    app.metrics.count('ext_audit_events_dropped_total', { action })
    app.log.error({ err: error, action, request_id: entry.request_id }, 'an audit event could not be recorded')
  }
}
