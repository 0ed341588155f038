// Operations on signing keys that are stored in the database.
import type { KeyTimes } from '../../records/jwk.ts'
import { change, forUpdate, type Op, one, raw } from '../op.ts'
import { column, plainTable } from '../table.ts'

/** A stored key. Its private part is encrypted. */
export interface SealedKey extends KeyTimes {
  private_key: string
}

const stateOf = (key: KeyTimes): string => (key.next ? 'next' : key.retired_at === undefined ? 'current' : 'previous')

const tableOf = (name: string) =>
  plainTable<SealedKey, 'next'>(
    name,
    {
      kid: column.text(),
      alg: column.text(),
      private_key: column.text(),
      created_at: column.int,
      retired_at: column.maybeInt,
      remove_at: column.maybeInt,
    },
    { state: { read: (state) => ({ next: state === 'next' || undefined }), write: stateOf } },
  )
const TABLES = { signing_keys: tableOf('signing_keys'), id_token_keys: tableOf('id_token_keys') }

/** Every key of a table: the previous keys, oldest first, then the current key, then the next key. */
const keysOf = (name: keyof typeof TABLES) =>
  TABLES[name]
    .list`ORDER BY CASE state WHEN 'previous' THEN 0 WHEN 'current' THEN 1 ELSE 2 END, retired_at, created_at, kid`

interface KeyChange {
  before: SealedKey[]
  after: SealedKey[]
}

function* replaceKeys(name: keyof typeof TABLES, { before, after }: KeyChange): Op<boolean> {
  yield* forUpdate`SELECT version FROM store_versions WHERE name = 'keys-0'`
  if (JSON.stringify(yield* keysOf(name)) !== JSON.stringify(before)) return false
  yield* change`DELETE FROM ${raw(name)}`
  for (const key of after) yield* TABLES[name].add(key)
  return true
}

/** Every signing key: the previous keys, oldest first, then the current key, then the next key. */
export const listSigningKeys = () => keysOf('signing_keys')

/** The same for the keys of ID tokens. */
export const listIdTokenKeys = () => keysOf('id_token_keys')

/** Replaces the signing keys unless they changed since they were read. Only one process at a time does so. */
export const saveSigningKeys = (keys: KeyChange) => replaceKeys('signing_keys', keys)

/** The same for the keys of ID tokens. */
export const saveIdTokenKeys = (keys: KeyChange) => replaceKeys('id_token_keys', keys)

/** Notifies the other processes that keys outside of the database changed. It writes nothing else. */
export function* announceKeys(): Op<void> {
  yield* one`SELECT version FROM store_versions WHERE name = 'keys-0'`
}
