// Operations on the values that browsers come back for.
import { change, idBytes, type Op, raw } from '../op.ts'
import { column, plainTable } from '../table.ts'

export interface PendingValue {
  id: string
  /** Encrypted. The key is not stored. */
  sealed: string
  expires_at: number
}

const VALUES = plainTable<PendingValue>('pending_values', {
  id: column.id,
  sealed: column.text(),
  expires_at: column.int,
})

/** Values that a new one removes at most: rows are removed faster than they are added. */
const SWEPT = 10

/** Keeps a value, and removes some values that have expired. */
export function* keepPendingValue({ now, ...value }: PendingValue & { now: number }): Op<void> {
  yield* change`DELETE FROM pending_values
    WHERE id IN (SELECT id FROM pending_values ORDER BY id LIMIT ${raw(SWEPT)}) AND expires_at <= ${now}`
  yield* VALUES.add(value)
}

/** The value with this id, unless it has expired. */
export const findPendingValue = ({ id, now }: { id: string; now: number }) =>
  VALUES.find`WHERE id = ${idBytes(id)} AND expires_at > ${now}`
