// Every column that holds sealed text, and the two operations that seal it again under another key.
import type { SealPurpose } from '../records/seal_purpose.ts'
import { all, change, idBytes, idText, type Op, str } from './op.ts'

interface SealedColumn {
  table: string
  column: string
  /** Its primary key; a time-ordered id, or a text. */
  key: { name: string; is: 'id' | 'text' }
  purpose: SealPurpose
  /** Columns whose values the text is bound to, and the name of the row that follows from them. */
  bound: readonly string[]
  row(...values: string[]): string
}

/** What the private key of a kid is bound to. */
export const signingKeyRow = (kid: string): string => `signing-key:${kid}`

/** What the credential of a connection is bound to: in the row of another user or provider it does not open. */
export const brokerGrantRow = (user_id: string, broker_provider_id: string): string =>
  `broker:${user_id}:${broker_provider_id}`

/** The table of them: `service rekey` knows no other. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  {
    table: 'signing_keys',
    column: 'private_key',
    key: { name: 'kid', is: 'text' },
    purpose: 'signing_key',
    bound: ['kid'],
    row: signingKeyRow,
  },
  {
    table: 'broker_grants',
    column: 'credential',
    key: { name: 'id', is: 'id' },
    purpose: 'broker_grant',
    bound: ['user_id', 'broker_provider_id'],
    row: brokerGrantRow,
  },
]
const at = (column: number): SealedColumn => SEALED_COLUMNS[column] as SealedColumn

export interface SealedText {
  /** Primary key. */
  id: string
  /** What it is bound to. */
  row: string
  sealed: string
}
/** Sealed texts in the order of their primary keys: the first ones behind `after`. `column` is its place in SEALED_COLUMNS. */
export function* listSealed(w: { column: number; after: string | undefined; rows: number }): Op<SealedText[]> {
  const { table, column, key, bound, row } = at(w.column)
  const behind = w.after === undefined ? [] : [key.is === 'id' ? idBytes(w.after) : w.after]
  const found = yield* all(
    `SELECT ${[...new Set([key.name, column, ...bound])].join(', ')} FROM ${table}
     WHERE ${column} IS NOT NULL ${behind.length ? `AND ${key.name} > ?` : ''} ORDER BY ${key.name} LIMIT ?`,
    ...behind,
    w.rows,
  )
  return found.map((each) => ({
    id: key.is === 'id' ? idText(each[key.name]) : str(each[key.name]),
    row: row(...bound.map((name) => str(each[name]))),
    sealed: str(each[column]),
  }))
}

/** Replaces a sealed text, unless somebody else has changed it meanwhile. Returns whether it did. */
export function* replaceSealed(w: { column: number; id: string; before: string; after: string }): Op<boolean> {
  const { table, column, key } = at(w.column)
  const id = key.is === 'id' ? idBytes(w.id) : w.id
  return (
    (yield* change(
      `UPDATE ${table} SET ${column} = ? WHERE ${key.name} = ? AND ${column} = ?`,
      w.after,
      id,
      w.before,
    )) > 0
  )
}
