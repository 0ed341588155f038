// Finds out whether a pooler between here and PostgreSQL gives every transaction another session of the server. LISTEN,
// prepared statements and the settings of a session would be lost there at random, so it is refused when the service starts.
import { type ConnectionSettings, PostgresConnection } from './postgres_connection.ts'

/** Transactions on each of two connections; whoever ends first changes every time, whichever session the pooler hands out next. */
const ROUNDS = 4

/** Rejects when sessions are not kept. A server that is reached directly is asked one question. */
export async function refuseTransactionPooling(settings: ConnectionSettings): Promise<void> {
  const connections = [new PostgresConnection(settings), new PostgresConnection(settings)] as const
  const [a, b] = connections
  const opened: PostgresConnection[] = []
  try {
    opened.push(await a.connect())
    const first = await sessionOf(a)
    // The server names its process when a connection is opened; a pooler makes up a number.
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
