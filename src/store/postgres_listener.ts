// Hears what other instances write: one connection that listens, and that asks each second for the versions that every
// such write counts up. So a notification that is lost, or a server without them, costs a second or two and nothing else. With the
// same question an instance makes itself known.
import pg from 'pg'
import { newId } from '../lib/id.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type News, STALE_MS } from './cache.ts'
import { UNHEALTHY_MS } from './index.ts'
import type { Statement } from './op.ts'
import { openPresence } from './postgres_instances.ts'

const CHANNEL = 'service_store'
const POLL_MS = 1000
/** Rows of store_versions for each kind of news. */
const ROWS: Readonly<Record<News, number>> = { keys: 1, records: 8 }

const COUNT = 'UPDATE store_versions SET version = version + 1 WHERE name = ?'
const TELL = `WITH counted AS (${COUNT} RETURNING name, version)
  SELECT pg_notify('${CHANNEL}', ? || ' ' || name || ' ' || version) FROM counted`
/** Servers that speak the protocol but have no LISTEN: feature not supported, syntax error. */
const CANNOT_LISTEN = ['0A000', '42601']

export interface Listener {
  /** Whether the database answered within the last seconds. */
  isHealthy(): boolean
  /** How many instances share the database, this one included. */
  instances(): number
  /** What a transaction does last, so that the other instances hear of it with its commit. */
  announcement(about: News): Statement
  close(): Promise<void>
}

export interface ListenerOptions {
  settings: pg.ClientConfig
  /** Whether this process is one of the instances: it serves. */
  serves: boolean
  /** Called when another instance has written, and, without a word of what, whenever it may have: at most STALE_MS after the last proof that none has. */
  onNews(about?: News): void
  log: Logger
}

/** Starts to listen. Rejects when the database cannot be reached; once it could, a lost connection is made anew. */
export async function openListener({ settings, serves, onNews, log }: ListenerOptions): Promise<Listener> {
  const self = newId()
  const presence = openPresence(self, serves)
  /** The versions that were heard of. */
  const heard = new Map<string, number>()
  let client: pg.Client | undefined
  /** When the last question was asked that was answered. */
  let provenMs = performance.now()
  let asking = false
  let closed = false
  let canListen = true

  /** What others wrote is passed on. What this instance wrote itself is only noted, if nobody else wrote in between. */
  const hear = (name: string, version: number, ours: boolean): void => {
    const before = heard.get(name) ?? 0
    if (version <= before) return
    const isOnlyOurs = ours && version === before + 1
    if (ours && !isOnlyOurs) return
    heard.set(name, version)
    if (!isOnlyOurs) onNews(name.split('-')[0] as News)
  }
  const readVersions = async (from: pg.Client): Promise<void> => {
    for (const { name, version } of await presence.ask(from)) hear(name, version, false)
  }
  const listen = async (on: pg.Client): Promise<void> => {
    try {
      if (canListen) await on.query(`LISTEN ${CHANNEL}`)
    } catch (error) {
      if (!CANNOT_LISTEN.includes(String((error as pg.DatabaseError).code))) throw error
      canListen = false
      log.warn('the database has no LISTEN: what other instances change is asked for every second')
    }
  }
  const connect = async (): Promise<pg.Client> => {
    const fresh = new pg.Client({ ...settings, query_timeout: UNHEALTHY_MS })
    fresh.on('error', (error) => lost(fresh, error))
    fresh.on('end', () => lost(fresh, new Error('the connection ended')))
    fresh.on('notification', ({ payload = '' }) => {
      const [speaker, name = '', version] = payload.split(' ')
      hear(name, Number(version), speaker === self)
    })
    try {
      await fresh.connect()
      await listen(fresh)
      await presence.enter(fresh)
      await readVersions(fresh)
    } catch (error) {
      void fresh.end().catch(() => {})
      throw error
    }
    return fresh
  }
  const lost = (which: pg.Client, error: unknown): void => {
    if (which !== client) return
    client = undefined
    provenMs = Number.NEGATIVE_INFINITY
    onNews()
    void which.end().catch(() => {})
    if (!closed) log.error({ err: error }, 'the database is away')
  }
  const ask = async (): Promise<void> => {
    // Also a process that was stopped for a while finds here, before anything else, that it may have missed something.
    if (performance.now() - provenMs > STALE_MS - POLL_MS / 2) onNews()
    if (asking) return
    asking = true
    const askedMs = performance.now()
    try {
      if (client) await readVersions(client)
      else {
        const fresh = await connect()
        if (closed) return await fresh.end()
        client = fresh
        onNews()
        log.info('the database is back')
      }
      provenMs = askedMs
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
    isHealthy: () => performance.now() - provenMs < UNHEALTHY_MS,
    instances: presence.count,
    announcement(about) {
      const name = `${about}-${Math.floor(Math.random() * ROWS[about])}`
      return canListen ? { sql: TELL, params: [name, self], want: 'run' } : { sql: COUNT, params: [name], want: 'run' }
    },
    async close() {
      closed = true
      clearInterval(poll)
      if (client) await presence.leave(client)
      await client?.end()
    },
  }
}
