// Requests at a steady rate beside something else: how long those take that are served meanwhile.
import { type LoadAnswer, LoadConnection } from './connection.ts'
import { type LoadTally, newTally, openLoop, realPace } from './loops.ts'
import type { BenchTarget } from './target.ts'

const CONNECTIONS = 32
/** Nobody watches for longer. */
const MOST_SECONDS = 600

/** Sends the next request on a connection. */
type Send = (connection: LoadConnection, count: number) => Promise<LoadAnswer>

/** Begins to send `rate` requests a second (open loop). The function that it returns ends it and says what became of them; other answers than 200 are errors. */
export function beginTraffic(target: BenchTarget, rate: number, send: Send): () => Promise<LoadTally> {
  const connections = Array.from({ length: CONNECTIONS }, () => new LoadConnection(target.base))
  const tally = newTally()
  let sent = 0
  let over = false
  const next = async (connection: LoadConnection) => {
    const { status, body } = await send(connection, sent++)
    if (status !== 200) throw new Error(`${status} ${body}`)
  }
  const sender = {
    connections: CONNECTIONS,
    send: (number: number) => (over ? undefined : next(connections[number] as LoadConnection)),
  }
  const traffic = openLoop(sender, { rate, seconds: MOST_SECONDS }, realPace, tally)
  return async () => {
    over = true
    await traffic
    for (const each of connections) each.close()
    return tally
  }
}

/** Asks for a machine token, of one client after the other. */
export const tokenRequest =
  ({ machines, paths }: BenchTarget): Send =>
  (connection, count) => {
    const { client_id = '', client_secret = '' } = machines[count % machines.length] ?? {}
    return connection.post(
      paths.token,
      new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret }).toString(),
    )
  }
