// Operations on the keys of the admin API that operators created. They are not cached, so that a revocation is effective at once.
import type { ApiKey } from '../../records/api_key.ts'
import { change, idBytes, type Op } from '../op.ts'
import { column, plainTable } from '../table.ts'

const KEYS = plainTable<ApiKey>('api_keys', {
  id: column.id,
  name: column.text(),
  capability: column.text(),
  provider: column.maybeText(),
  hash: column.id,
  created_at: column.int,
  last_used_at: column.readOnly(column.maybeInt),
})

/** Records a key, unless another key has its name. */
export const createApiKey = (key: ApiKey) => KEYS.create(key)

/** A key by its id. */
export const findApiKey = ({ id }: { id: string }) => KEYS.find`WHERE id = ${idBytes(id)}`

/** The keys, oldest first. */
export const listApiKeys = ({ limit, offset }: { limit: number; offset: number }) =>
  KEYS.list`ORDER BY id LIMIT ${limit} OFFSET ${offset}`

/** Records that a key is in use. */
export function* touchApiKey({ id, now }: { id: string; now: number }): Op<void> {
  yield* change`UPDATE api_keys SET last_used_at = ${now} WHERE id = ${idBytes(id)}`
}

/** Revokes a key. Returns it, or undefined when there is no such key. */
export const deleteApiKey = ({ id }: { id: string }) => KEYS.remove`id = ${idBytes(id)}`
