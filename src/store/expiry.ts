// Which rows expire, and how they are deleted: in small ranges of the time-ordered keys, so that no lock is held for long.
import { DAY } from '../lib/time.ts'
import { RESTORABLE_DAYS } from '../records/client.ts'
import { change, idBytes, idText, type Op, raw, where, windowEnd } from './op.ts'

/** A deleted client or resource can be restored for this long. */
export const RESTORABLE = RESTORABLE_DAYS * DAY

interface Table {
  name: string
  /** The condition under which a row is deleted. Its one parameter is epoch seconds. */
  expired: string
  /** Seconds that a row is kept after it expired. */
  grace?: number
}

/** Targets of `purge`, in the order of their names. Some targets have no rows: nonces are not stored, and issuances are kept. */
export const PURGE_TARGETS: Readonly<Record<string, readonly Table[]>> = {
  'assertion-jti': [{ name: 'single_uses', expired: "kind IN ('assertion', 'client_assertion') AND expires_at <= ?" }],
  'connect-pending-states': [{ name: 'connect_states', expired: 'expires_at <= ?' }],
  'deleted-records': [{ name: 'deleted_records', expired: 'deleted_at <= ?', grace: RESTORABLE }],
  // Kept for a day, so that a device still learns that its code has expired.
  'device-codes': [{ name: 'device_requests', expired: 'expires_at <= ?', grace: DAY }],
  'dpop-nonces': [],
  jti: [{ name: 'single_uses', expired: "kind = 'dpop' AND expires_at <= ?" }],
  'machine-tokens': [],
  'refresh-tokens': [{ name: 'refresh_tokens', expired: 'expires_at <= ?' }],
  // The time of the row alone does not decide: listEndedFamilies finds them.
  'token-families': [],
  sessions: [
    { name: 'sessions', expired: 'expires_at <= ?' },
    { name: 'admin_sessions', expired: 'expires_at <= ?' },
    { name: 'federated_sessions', expired: 'expires_at <= ?' },
    // A logout that was never sent waits for its first attempt.
    { name: 'application_sessions', expired: 'expires_at <= ? AND (ended = 0 OR attempts > 0)' },
    { name: 'password_links', expired: 'expires_at <= ?' },
    { name: 'pending_values', expired: 'expires_at <= ?' },
    { name: 'pushed_requests', expired: 'expires_at <= ?' },
    // Kept for a day: the replay of a used code still revokes the tokens that were issued for it, and a consent page that was left open still leads back.
    { name: 'authorization_requests', expired: 'expires_at <= ?', grace: DAY },
  ],
}

export interface Window {
  target: string
  /** Index of the table within the target, from 0. */
  table: number
  /** Continue after this id; empty at the beginning. */
  after: string
  /** Maximum number of rows to examine. */
  rows: number
  now: number
}

/** Deletes the expired rows of one range. Returns their number and where to continue; no `next` at the end of the table. */
export function* purgeWindow(w: Window): Op<{ deleted: number; next?: string }> {
  const table = PURGE_TARGETS[w.target]?.[w.table]
  if (!table) return { deleted: 0 }
  const after = idBytes(w.after)
  const end = yield* windowEnd(table.name, after, w.rows)
  const due = w.now - (table.grace ?? 0)
  const range = where(['id > ?', after], end && ['id <= ?', end], [table.expired, due])
  const deleted = yield* change`DELETE FROM ${raw(table.name)} ${range}`
  return end ? { deleted, next: idText(end) } : { deleted }
}
