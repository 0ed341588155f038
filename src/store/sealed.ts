// Every column with encrypted text, and the two operations that encrypt it again with another key.
import { all, changed, idBytes, idText, type Op, raw, str, where } from './op.ts'

/** The kind of an encrypted value. Encryption at rest authenticates it together with the value. */
export type SealPurpose = 'signing_key' | 'broker_grant' | 'event_receiver' | 'factor' | 'backup'

interface SealedColumn {
  table: string
  column: string
  /** The primary key of the table: a time-ordered id, or a text. */
  key: { name: string; is: 'id' | 'text' }
  purpose: SealPurpose
  /** The columns that the encrypted text is bound to, and the row name that is derived from them. */
  bound: readonly string[]
  row(...values: string[]): string
}

/** The row name to which the private key of a kid is bound. */
export const signingKeyRow = (kid: string): string => `signing-key:${kid}`

/** The row name to which the credential of a connection is bound: it cannot be decrypted in the row of another user or provider. */
export const brokerGrantRow = (user_id: string, broker_provider_id: string): string =>
  `broker:${user_id}:${broker_provider_id}`

/** The row name to which the secrets of a webhook or stream are bound. */
export const eventReceiverRow = (id: string): string => `event-receiver:${id}`

/** The row name to which the secret of an authenticator app is bound. */
export const factorRow = (id: string): string => `factor:${id}`

/** All columns with encrypted text: `service rekey` processes exactly these. */
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
  {
    table: 'event_receivers',
    column: 'secret',
    key: { name: 'id', is: 'text' },
    purpose: 'event_receiver',
    bound: ['id'],
    row: eventReceiverRow,
  },
  {
    table: 'id_token_keys',
    column: 'private_key',
    key: { name: 'kid', is: 'text' },
    purpose: 'signing_key',
    bound: ['kid'],
    row: signingKeyRow,
  },
  {
    table: 'user_factors',
    column: 'secret',
    key: { name: 'id', is: 'id' },
    purpose: 'factor',
    bound: ['id'],
    row: factorRow,
  },
]
const at = (column: number): SealedColumn => SEALED_COLUMNS[column] as SealedColumn
const keyOf = ({ is }: SealedColumn['key'], id: string) => (is === 'id' ? idBytes(id) : id)

export interface SealedText {
  /** Primary key. */
  id: string
  /** The row name that it is bound to. */
  row: string
  sealed: string
}
/** The next encrypted texts after `after`, in the order of their primary keys. `column` is an index in SEALED_COLUMNS. */
export function* listSealed(w: { column: number; after: string | undefined; rows: number }): Op<SealedText[]> {
  const { table, column, key, bound, row } = at(w.column)
  const columns = raw([...new Set([key.name, column, ...bound])].join(', '))
  const behind = w.after === undefined ? undefined : ([`${key.name} > ?`, keyOf(key, w.after)] as const)
  const rest = where([`${column} IS NOT NULL`], behind)
  const found = yield* all`SELECT ${columns} FROM ${raw(table)} ${rest} ORDER BY ${raw(key.name)} LIMIT ${w.rows}`
  return found.map((each) => ({
    id: key.is === 'id' ? idText(each[key.name]) : str(each[key.name]),
    row: row(...bound.map((name) => (key.is === 'id' && name === key.name ? idText(each[name]) : str(each[name])))),
    sealed: str(each[column]),
  }))
}

/** Replaces an encrypted text unless it was changed in the meantime. Returns whether it was replaced. */
export function* replaceSealed(w: { column: number; id: string; before: string; after: string }): Op<boolean> {
  const { table, column, key } = at(w.column)
  return yield* changed`UPDATE ${raw(table)} SET ${raw(column)} = ${w.after}
    WHERE ${raw(key.name)} = ${keyOf(key, w.id)} AND ${raw(column)} = ${w.before}`
}
