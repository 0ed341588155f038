// Operations on signing keys that are kept in the database.
import type { KeyTimes } from '../records/key_times.ts'
import { all, change, forUpdate, maybeNum, num, type Op, one, orNull, str } from './op.ts'

/** A key as it is kept: its private part is sealed. */
export interface SealedKey extends KeyTimes {
  private_key: string
}

const stateOf = (key: KeyTimes): string => (key.next ? 'next' : key.retired_at === undefined ? 'current' : 'previous')

/** Every key: the ones before the current one, oldest first, the current one, the next one. */
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

/** Replaces the keys, unless they are no longer what was read before. One at a time, over all processes. */
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

/** Tells the other processes that keys changed which are kept elsewhere; writes nothing else. */
export function* announceKeys(): Op<void> {
  yield* one("SELECT version FROM store_versions WHERE name = 'keys-0'")
}
