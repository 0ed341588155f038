// Operations on the keys of the admin API that operators created. They are not cached, so that a revocation is effective at once.
import type { ApiKey } from '../../records/api_key.ts'
import { all, change, idBytes, idText, maybeNum, maybeStr, num, type Op, one, orNull, type Row, str } from '../op.ts'

const COLUMNS = 'id, name, capability, provider, hash, created_at, last_used_at'

const read = (row: Row): ApiKey => ({
  id: idText(row.id),
  name: str(row.name),
  capability: str(row.capability) as ApiKey['capability'],
  provider: maybeStr(row.provider),
  hash: idText(row.hash),
  created_at: num(row.created_at),
  last_used_at: maybeNum(row.last_used_at),
})

/** Records a key, unless another key has its name. */
export function* createApiKey(key: ApiKey): Op<'created' | 'exists'> {
  const added = yield* change(
    'INSERT INTO api_keys (id, name, capability, provider, hash, created_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING',
    idBytes(key.id),
    key.name,
    key.capability,
    orNull(key.provider),
    idBytes(key.hash),
    key.created_at,
  )
  return added === 1 ? 'created' : 'exists'
}

/** A key by its id. */
export function* findApiKey({ id }: { id: string }): Op<ApiKey | undefined> {
  const row = yield* one(`SELECT ${COLUMNS} FROM api_keys WHERE id = ?`, idBytes(id))
  return row && read(row)
}

/** The keys, oldest first. */
export function* listApiKeys({ limit, offset }: { limit: number; offset: number }): Op<ApiKey[]> {
  const rows = yield* all(`SELECT ${COLUMNS} FROM api_keys ORDER BY id LIMIT ? OFFSET ?`, limit, offset)
  return rows.map(read)
}

/** Records that a key is in use. */
export function* touchApiKey({ id, now }: { id: string; now: number }): Op<void> {
  yield* change('UPDATE api_keys SET last_used_at = ? WHERE id = ?', now, idBytes(id))
}

/** Revokes a key. Returns it, or undefined when there is no such key. */
export function* deleteApiKey({ id }: { id: string }): Op<ApiKey | undefined> {
  const row = yield* one(`DELETE FROM api_keys WHERE id = ? RETURNING ${COLUMNS}`, idBytes(id))
  return row && read(row)
}
