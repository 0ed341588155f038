// How often statements are planned. PostgreSQL would plan a lookup in a partitioned table again for each id, which costs three times
// as much as the lookup. So the few operations that tokens depend on are planned once. For reads of many rows PostgreSQL decides.
import type pg from 'pg'
import type { OpName } from '../operations.ts'
import { command } from './client.ts'

/** Operations that find every row by its id. */
const BY_ID: ReadonlySet<OpName> = new Set(['findIssuance', 'findTokenState', 'recordExchange'])
/** Reads of many rows, by the verbs of their names. Other reads find a row by a key; the setting does not matter for them. */
const OF_MANY = /^(list|count|read)/

/** Connections on which every statement is planned once. */
const once = new WeakSet<pg.ClientBase>()

/** Sets how the statements of an operation are planned, if it matters and the connection has another setting. */
export async function preparePlans(client: pg.ClientBase, op: OpName): Promise<void> {
  if (BY_ID.has(op) && !once.has(client)) await set(client, 'force_generic_plan')
  else if (OF_MANY.test(op) && once.has(client)) await set(client, 'auto')
}

async function set(client: pg.ClientBase, mode: 'auto' | 'force_generic_plan'): Promise<void> {
  // Errors are ignored: a server may lack the setting, and if it is unavailable the next statement fails.
  const isSet = await command(client, `SET plan_cache_mode = ${mode}`).then(
    () => true,
    () => false,
  )
  if (isSet && mode === 'force_generic_plan') once.add(client)
  else once.delete(client)
}

/** Begins the transaction of an operation. */
export const begin = (client: pg.ClientBase, op: OpName): Promise<unknown> =>
  command(client, once.has(client) && !BY_ID.has(op) ? 'BEGIN; SET LOCAL plan_cache_mode = auto' : 'BEGIN')
