// The event of a revoked signing key. Keys may be in a folder or in another service, so that the key and its event cannot change in one
// transaction. The event is noted before the key is removed. If the process is killed, the sender of events finds the note.
import type { App } from '../context.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import { KEY_REVOCATION } from '../store/tokens/key_revocations.ts'

interface Note {
  kid: string
  event: AuditEvent
}

/** Removes a key and records the event, which names the new current key. Returns the event. */
export async function revokeKey({ store, keyring, clock }: App, { kid, event }: Note): Promise<AuditEvent> {
  const note: Note = { kid, event }
  await store.saveSetting({ name: KEY_REVOCATION, value: JSON.stringify(note), now: clock.now() })
  const current_kid = (await keyring.revoke(kid))?.current_kid
  const recorded = { ...event, detail: { ...event.detail, current_kid } }
  await store.recordKeyRevocation({ event: recorded })
  return recorded
}

/** Seconds after which a key that is still published counts as not removed. Every instance reads the keys several times in this time. */
const REMOVED_WITHIN = 600

/** Records the event of a key that a killed process removed. A key that is still published later was not removed, and has no event. */
export async function recordUnfinished({
  store,
  keyring,
  clock,
}: Pick<App, 'store' | 'keyring' | 'clock'>): Promise<void> {
  const text = await store.findSetting({ name: KEY_REVOCATION })
  if (text === undefined) return
  const { kid, event } = JSON.parse(text) as Note
  if (keyring.find(kid)) {
    if (event.created_at < clock.now() - REMOVED_WITHIN) await store.recordKeyRevocation({})
    return
  }
  const current_kid = keyring.current().kid
  await store.recordKeyRevocation({ event: { ...event, detail: { ...event.detail, current_kid } } })
}
