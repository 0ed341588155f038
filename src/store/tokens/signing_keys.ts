// Operations on signing keys that are stored in the database.
import type { KeyTimes } from '../../records/jwk.ts'
import { all, change, forUpdate, maybeNum, num, type Op, one, orNull, str } from '../op.ts'

/** A stored key. Its private part is encrypted. */
export interface SealedKey extends KeyTimes {
  private_key: string
}

const stateOf = (key: KeyTimes): string => (key.next ? 'next' : key.retired_at === undefined ? 'current' : 'previous')

type KeyTableName = 'signing_keys' | 'id_token_keys'

/** Every key of a table: the previous keys, oldest first, then the current key, then the next key. */
function* keysOf(table: KeyTableName): Op<SealedKey[]> {
  const rows = yield* all(
    `SELECT kid, alg, private_key, state, created_at, retired_at, remove_at FROM ${table}
     ORDER BY CASE state WHEN 'previous' THEN 0 WHEN 'current' THEN 1 ELSE 2 END, retired_at, created_at, kid`,
  )
  return rows.map((row) => ({
    kid: str(row.kid),
    alg: str(row.alg) as SealedKey['alg'],
    created_at: num(row.created_at),
    next: row.state === 'next' || undefined,
    retired_at: maybeNum(row.retired_at),
    remove_at: maybeNum(row.remove_at),
    private_key: str(row.private_key),
  }))
}

interface KeyChange {
  before: SealedKey[]
  after: SealedKey[]
}

function* replaceKeys(table: KeyTableName, { before, after }: KeyChange): Op<boolean> {
  yield* forUpdate("SELECT version FROM store_versions WHERE name = 'keys-0'")
  if (JSON.stringify(yield* keysOf(table)) !== JSON.stringify(before)) return false
  yield* change(`DELETE FROM ${table}`)
  for (const key of after)
    yield* change(
      `INSERT INTO ${table} (kid, alg, private_key, state, created_at, retired_at, remove_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
      key.kid,
      key.alg,
      key.private_key,
      stateOf(key),
      key.created_at,
      orNull(key.retired_at),
      orNull(key.remove_at),
    )
  return true
}

/** Every signing key: the previous keys, oldest first, then the current key, then the next key. */
export function* listSigningKeys(): Op<SealedKey[]> {
  return yield* keysOf('signing_keys')
}

/** The same for the keys of ID tokens. */
export function* listIdTokenKeys(): Op<SealedKey[]> {
  return yield* keysOf('id_token_keys')
}

/** Replaces the signing keys unless they changed since they were read. Only one process at a time does so. */
export function* saveSigningKeys(keys: KeyChange): Op<boolean> {
  return yield* replaceKeys('signing_keys', keys)
}

/** The same for the keys of ID tokens. */
export function* saveIdTokenKeys(keys: KeyChange): Op<boolean> {
  return yield* replaceKeys('id_token_keys', keys)
}

/** Notifies the other processes that keys outside of the database changed. It writes nothing else. */
export function* announceKeys(): Op<void> {
  yield* one("SELECT version FROM store_versions WHERE name = 'keys-0'")
}
