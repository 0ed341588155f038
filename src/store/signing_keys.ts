// Operations on signing keys that are stored in the database.
import type { KeyTimes } from '../records/key_times.ts'
import { all, change, forUpdate, maybeNum, num, type Op, one, orNull, str } from './op.ts'

/** A stored key. Its private part is encrypted. */
export interface SealedKey extends KeyTimes {
  private_key: string
}

const stateOf = (key: KeyTimes): string => (key.next ? 'next' : key.retired_at === undefined ? 'current' : 'previous')

/** Every key: the previous keys, oldest first, then the current key, then the next key. */
export function* listSigningKeys(): Op<SealedKey[]> {
  const rows = yield* all(
    `SELECT kid, alg, private_key, state, created_at, retired_at, remove_at FROM signing_keys
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

/** Replaces the keys unless they changed since they were read. Only one process at a time does so. */
export function* saveSigningKeys({ before, after }: { before: SealedKey[]; after: SealedKey[] }): Op<boolean> {
  yield* forUpdate("SELECT version FROM store_versions WHERE name = 'keys-0'")
  if (JSON.stringify(yield* listSigningKeys()) !== JSON.stringify(before)) return false
  yield* change('DELETE FROM signing_keys')
  for (const key of after)
    yield* change(
      'INSERT INTO signing_keys (kid, alg, private_key, state, created_at, retired_at, remove_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
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

/** Notifies the other processes that keys outside of the database changed. It writes nothing else. */
export function* announceKeys(): Op<void> {
  yield* one("SELECT version FROM store_versions WHERE name = 'keys-0'")
}
