// When statements are planned. PostgreSQL would plan a look-up in a partitioned table anew for each id, which costs three times
// as much as the look-up: the few operations that tokens depend on are planned once. What looks at many rows is left to it.
import type pg from 'pg'
import type { OpName } from './operations.ts'
import { command } from './postgres_client.ts'

/** Operations that find every row by its id. */
const BY_ID: ReadonlySet<OpName> = new Set(['findIssuance', 'findTokenState', 'recordExchange'])
/** Reads of many rows, by the verbs of their names; other reads find a row by a key and do not care. */
const OF_MANY = /^(list|count|read)/

/** Connections on which every statement is planned once. */
const once = new WeakSet<pg.ClientBase>()

/** Sets how statements of an operation are planned, where it matters and the connection is not set so already. */
export async function preparePlans(client: pg.ClientBase, op: OpName): Promise<void> {
  if (BY_ID.has(op) && !once.has(client)) await set(client, 'force_generic_plan')
  else if (OF_MANY.test(op) && once.has(client)) await set(client, 'auto')
}

async function set(client: pg.ClientBase, mode: 'auto' | 'force_generic_plan'): Promise<void> {
  // A server that has no such setting plans as it likes; one that is away says so to the statement that follows.
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
