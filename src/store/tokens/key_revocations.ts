// The note that a signing key is being revoked, and the event of the revocation.
import type { AuditEvent } from '../../records/audit_event.ts'
import { change, exists, idBytes, type Op } from '../op.ts'
import { recordAudit } from './audit_trail.ts'

/** The setting that has the note. */
export const KEY_REVOCATION = 'key_revocation'

/** Deletes the note, and records the event of the revoked key, unless another instance has recorded it. Without an event no key was removed. */
export function* recordKeyRevocation({ event }: { event?: AuditEvent }): Op<void> {
  yield* change`DELETE FROM runtime_settings WHERE name = ${KEY_REVOCATION}`
  if (!event) return
  if (!(yield* exists`audit_events WHERE id = ${idBytes(event.id)}`)) yield* recordAudit(event)
}
