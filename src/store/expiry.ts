// What expires, and how it is deleted: in small windows of the time-ordered keys, so that no lock is held for long.
import { DAY } from '../lib/time.ts'
import { change, idBytes, idText, type Op, where, windowEnd } from './op.ts'

interface Table {
  name: string
  /** What must hold of a row that is to go; the one parameter is epoch seconds. */
  expired: string
  /** Seconds that a row is kept beyond its time. */
  grace?: number
}

/** Targets of `purge`, in the order of the specification. Some have nothing to keep: nonces are not stored, issuances stay. */
export const PURGE_TARGETS: Readonly<Record<string, readonly Table[]>> = {
  'assertion-jti': [{ name: 'single_uses', expired: "kind = 'assertion' AND expires_at <= ?" }],
  'connect-pending-states': [{ name: 'connect_states', expired: 'expires_at <= ?' }],
  'dpop-nonces': [],
  jti: [{ name: 'single_uses', expired: "kind = 'dpop' AND expires_at <= ?" }],
  'machine-tokens': [],
  'refresh-tokens': [{ name: 'refresh_tokens', expired: 'expires_at <= ?' }],
  // Not by the time of the row alone: listEndedFamilies finds them.
  'token-families': [],
  sessions: [
    { name: 'sessions', expired: 'expires_at <= ?' },
    // A used code is remembered for a day, so that its replay still ends what it gave out.
    { name: 'authorization_requests', expired: 'expires_at <= ?', grace: DAY },
  ],
}

export interface Window {
  target: string
  /** Which table of the target, from 0. */
  table: number
  /** The id to go on behind; empty at the beginning. */
  after: string
  /** Rows looked at. */
  rows: number
  now: number
}

/** Deletes what has expired in one window. Returns how many rows, and where to go on; no `next` at the end of the table. */
export function* purgeWindow(w: Window): Op<{ deleted: number; next?: string }> {
  const table = PURGE_TARGETS[w.target]?.[w.table]
  if (!table) return { deleted: 0 }
  const after = idBytes(w.after)
  const end = yield* windowEnd(table.name, after, w.rows)
  const due = w.now - (table.grace ?? 0)
  const { sql, params } = where(['id > ?', after], end && ['id <= ?', end], [table.expired, due])
  const deleted = yield* change(`DELETE FROM ${table.name} ${sql}`, ...params)
  return end ? { deleted, next: idText(end) } : { deleted }
}
