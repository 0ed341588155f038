// Hears what other instances write: one connection that listens, and that proves each second that the database answers.
import pg from 'pg'
import type { Logger } from '../telemetry/logger.ts'

const CHANNEL = 'service_store'
const POLL_MS = 1000
/** Without an answer for this long the storage counts as away. */
const UNHEALTHY_MS = 5000

/** Says it to the other instances, at the commit; the one parameter is the name of the speaker. */
export const NOTIFY = `SELECT pg_notify('${CHANNEL}', ?)`

export interface Listener {
  /** Whether the database answered within the last seconds. */
  isHealthy(): boolean
  close(): Promise<void>
}

export interface ListenerOptions {
  settings: pg.ClientConfig
  /** Our own name, to leave out what we said ourselves. */
  self: string
  /** Called when another instance has written, and whenever it may have: at most two seconds after the last proof that none has. */
  onNews(): void
  log: Logger
}

/** Starts to listen. Rejects when the database cannot be reached; once it could, a lost connection is made anew. */
export async function openListener({ settings, self, onNews, log }: ListenerOptions): Promise<Listener> {
  let client: pg.Client | undefined
  let answeredMs = performance.now()
  let asking = false
  let closed = false

  const connect = async (): Promise<pg.Client> => {
    const fresh = new pg.Client({ ...settings, query_timeout: UNHEALTHY_MS })
    fresh.on('error', (error) => lost(fresh, error))
    fresh.on('end', () => lost(fresh, new Error('the connection ended')))
    fresh.on('notification', ({ payload }) => payload !== self && onNews())
    try {
      await fresh.connect()
      await fresh.query(`LISTEN ${CHANNEL}`)
    } catch (error) {
      void fresh.end().catch(() => {})
      throw error
    }
    return fresh
  }
  const lost = (which: pg.Client, error: unknown): void => {
    if (which !== client) return
    client = undefined
    answeredMs = Number.NEGATIVE_INFINITY
    onNews()
    void which.end().catch(() => {})
    if (!closed) log.error({ err: error }, 'the database is away')
  }
  const ask = async (): Promise<void> => {
    // Nobody answered since the last time: what was said meanwhile may not have been heard.
    if (asking || !client) onNews()
    if (asking) return
    asking = true
    try {
      if (client) await client.query('SELECT 1')
      else {
        const fresh = await connect()
        if (closed) return await fresh.end()
        client = fresh
        onNews()
        log.info('the database is back')
      }
      answeredMs = performance.now()
    } catch (error) {
      if (client) lost(client, error)
    } finally {
      asking = false
    }
  }

  client = await connect()
  const poll = setInterval(() => void ask(), POLL_MS)
  poll.unref()
  return {
    isHealthy: () => performance.now() - answeredMs < UNHEALTHY_MS,
    async close() {
      closed = true
      clearInterval(poll)
      await client?.end()
    },
  }
}
