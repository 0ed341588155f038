// Operations on the values that browsers come back for.
import { change, idBytes, num, type Op, one, type Row, str } from '../op.ts'

export interface PendingValue {
  id: string
  /** Encrypted. The key is not stored. */
  sealed: string
  expires_at: number
}

/** Values that a new one removes at most: rows are removed faster than they are added. */
const SWEPT = 10

/** Keeps a value, and removes some values that have expired. */
export function* keepPendingValue({ now, ...value }: PendingValue & { now: number }): Op<void> {
  yield* change(
    `DELETE FROM pending_values WHERE id IN (SELECT id FROM pending_values ORDER BY id LIMIT ${SWEPT}) AND expires_at <= ?`,
    now,
  )
  yield* change(
    'INSERT INTO pending_values (id, sealed, expires_at) VALUES (?, ?, ?)',
    idBytes(value.id),
    value.sealed,
    value.expires_at,
  )
}

const read = (row: Row): Pick<PendingValue, 'sealed' | 'expires_at'> => ({
  sealed: str(row.sealed),
  expires_at: num(row.expires_at),
})

/** The value with this id, unless it has expired. */
export function* findPendingValue({
  id,
  now,
}: {
  id: string
  now: number
}): Op<Pick<PendingValue, 'sealed' | 'expires_at'> | undefined> {
  const row = yield* one(
    'SELECT sealed, expires_at FROM pending_values WHERE id = ? AND expires_at > ?',
    idBytes(id),
    now,
  )
  return row && read(row)
}
