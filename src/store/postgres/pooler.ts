// Detects a pooler that gives every transaction another session of the server. LISTEN, prepared statements and session settings would
// be lost at random behind it, so the service does not start.
import { type ConnectionSettings, PostgresConnection } from './connection.ts'

/** Number of transactions on each of two connections. The one that ends first alternates, whichever session the pooler assigns next. */
const ROUNDS = 4

/** Rejects when sessions are not kept. On a direct connection this takes one query. */
export async function refuseTransactionPooling(settings: ConnectionSettings): Promise<void> {
  const connections = [new PostgresConnection(settings), new PostgresConnection(settings)] as const
  const [a, b] = connections
  const opened: PostgresConnection[] = []
  try {
    opened.push(await a.connect())
    const first = await sessionOf(a)
    // The server sends its process id when a connection is opened; a pooler sends an invented number.
    if (first === Reflect.get(a, 'processID')) return
    opened.push(await b.connect())
    const sessions = new Map([
      [a, first],
      [b, await sessionOf(b)],
    ])
    let isKept = sessions.get(a) !== sessions.get(b)
    for (let round = 0; isKept && round < ROUNDS; round++) {
      for (const each of connections) {
        await each.query('BEGIN')
        isKept &&= (await sessionOf(each)) === sessions.get(each)
      }
      for (const each of round % 2 ? [a, b] : [b, a]) await each.query('COMMIT')
    }
    if (!isKept)
      throw new Error(
        'storage.postgres.dsn leads to a pooler that gives each transaction another session (pool_mode = transaction or statement): set pool_mode = session, or name the server itself',
      )
  } finally {
    await Promise.all(opened.map((each) => each.end()))
  }
}

/** The process of the server that answers. */
async function sessionOf(client: PostgresConnection): Promise<unknown> {
  return (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid
}
