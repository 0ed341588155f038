// Requests at a steady rate during other work, to measure their latency meanwhile.
import { type LoadAnswer, LoadConnection } from './connection.ts'
import { type LoadTally, newTally, openLoop, realPace } from './loops.ts'
import type { BenchTarget } from './target.ts'

const CONNECTIONS = 32
/** Maximum duration. */
const MOST_SECONDS = 600

/** Sends the next request on a connection. */
type Send = (connection: LoadConnection, count: number) => Promise<LoadAnswer>

/** Starts sending `rate` requests per second (open loop). The returned function stops and returns the tally. Answers other than 200 are errors. */
export function beginTraffic(target: Pick<BenchTarget, 'base'>, rate: number, send: Send): () => Promise<LoadTally> {
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

/** Requests client_credentials tokens, for the clients in rotation. */
export const tokenRequest =
  ({ machines, paths }: Pick<BenchTarget, 'machines' | 'paths'>): Send =>
  (connection, count) => {
    const { client_id = '', client_secret = '' } = machines[count % machines.length] ?? {}
    return connection.post(
      paths.token,
      new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret }).toString(),
    )
  }
