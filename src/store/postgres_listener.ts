// Receives the invalidations of other instances: one connection that executes LISTEN, and that reads each second the versions which every
// such write increments. So a lost notification, or a server without notifications, costs only a second or two. The same query renews the
// registration of the instance.
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { newId } from '../lib/id.ts'
import { withTimeout } from '../lib/timeout.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type Drop, type Invalidation, STALE_MS } from './cache.ts'
import { UNHEALTHY_MS } from './index.ts'
import type { Statement } from './op.ts'
import { type ConnectionSettings, PostgresConnection } from './postgres_connection.ts'
import { openPresence } from './postgres_instances.ts'

const CHANNEL = 'service_store'
/** Milliseconds between two queries, until the next attempt to connect, and until a query or an attempt counts as lost. */
const [POLL_MS, RETRY_MS, LOST_MS] = [1000, 200, 2000]
/** Rows of store_versions for each kind of change. */
const ROWS = { keys: 1, records: 8 } as const
/** A notification has less than 8000 bytes. A change that does not fit is announced without its content. */
const MAX_DETAIL = 6000
/** Notifications of changes that a result shows arrive right after the result. */
const NOTIFIED_MS = 20

const COUNT = 'UPDATE store_versions SET version = version + 1 WHERE name = ?'
const TELL = `WITH counted AS (${COUNT} RETURNING name, version)
  SELECT pg_notify('${CHANNEL}', ? || ' ' || name || ' ' || version || ' ' || ?) FROM counted`
/**
 * The writes of this connection do not wait for the disk or a standby: it must receive invalidations even when no commit is
 * possible. Its queries see everything that was committed before them.
 */
const SESSION = "SET synchronous_commit = off; SET default_transaction_isolation = 'read committed'"
/** Servers that speak the protocol but have no LISTEN: feature not supported, syntax error. */
const CANNOT_LISTEN = ['0A000', '42601']

export interface Listener {
  /** Whether the database answered within the last seconds. */
  isHealthy(): boolean
  /** How many instances share the database, this one included. */
  instances(): number
  /** The connection; undefined while the server is unavailable. */
  connection(): pg.Client | undefined
  /** Writes as every operation does, on a connection with the settings of the pool. `wide` also allocates space on the disk. */
  prove(on: pg.ClientBase, wide: boolean): Promise<void>
  /** The last statement of a transaction: it notifies the other instances with the commit. */
  announcement(about: Invalidation): Statement
  close(): Promise<void>
}

export interface ListenerOptions {
  settings: ConnectionSettings
  /** Whether this process is a server and counts as an instance. */
  serves: boolean
  /** Called when another instance has written, and without an invalidation whenever it may have: at most STALE_MS after the last proof that none has. */
  onNews(about?: Invalidation): void
  /** Called when the connection is lost, or gets no answer: other connections to the server are lost as well. */
  onLost(): void
  /** Called with a new connection before it is used. */
  onFound(on: pg.Client): Promise<void>
  log: Logger
}

/** Starts to listen. Rejects when the database is unreachable. After a first success, a lost connection is replaced. */
export async function openListener({
  settings,
  serves,
  onNews,
  onLost,
  onFound,
  log,
}: ListenerOptions): Promise<Listener> {
  const self = newId()
  const presence = openPresence(self, serves)
  /** The last known versions. */
  const heard = new Map<string, number>()
  let client: pg.Client | undefined
  /** Start time of the last query that was answered. */
  let provenMs = performance.now()
  let asking = false
  let closed = false
  let isFirst = true
  let canListen = true

  /**
   * Compares a version with the last one. Every difference is reported. A version is lower after a restored backup or a failover that
   * lost commits; then nothing that was read before is valid.
   */
  const hear = (name: string, version: number, told?: { ours: boolean; detail: string }): void => {
    const before = heard.get(name)
    if (version === before) return
    heard.set(name, version)
    const kind = name.startsWith('keys') ? 'keys' : 'records'
    if (before === undefined || version < before) onNews()
    else if (!told || version !== before + 1) onNews(kind)
    else if (!told.ours) onNews(kind === 'keys' ? kind : dropsIn(told.detail))
  }
  const readVersions = async (from: pg.Client): Promise<void> => {
    const rows = await presence.ask(from)
    const different = rows
      .map(({ name, version }) => ({ name, version, before: heard.get(name) }))
      .filter(({ version, before }) => version !== before)
    if (different.length === 0) return
    // A notification contains what changed; a version shows only that something changed.
    if (canListen) await sleep(NOTIFIED_MS)
    for (const { name, version, before } of different) if (heard.get(name) === before) hear(name, version)
  }
  const listen = async (on: pg.Client): Promise<void> => {
    try {
      if (canListen) await on.query(`LISTEN ${CHANNEL}`)
    } catch (error) {
      if (!CANNOT_LISTEN.includes(String((error as pg.DatabaseError).code))) throw error
      canListen = false
      log.warn('the database does not support LISTEN: it is polled every second for changes of other instances')
    }
  }
  const enter = async (fresh: pg.Client): Promise<void> => {
    // A server may not support these settings.
    await fresh.query(SESSION).catch(() => {})
    await listen(fresh)
    await presence.enter(fresh)
    // It may be another server, or an earlier state of the same server.
    heard.clear()
    for (const { name, version } of await presence.ask(fresh)) heard.set(name, version)
  }
  const connect = async (): Promise<pg.Client> => {
    const fresh = new PostgresConnection(settings)
    fresh.on('error', (error) => lost(fresh, error))
    fresh.on('end', () => lost(fresh, new Error('the connection ended')))
    fresh.on('notification', ({ payload = '' }) => {
      const [speaker, name = '', version, ...detail] = payload.split(' ')
      hear(name, Number(version), { ours: speaker === self, detail: detail.join(' ') })
    })
    try {
      await fresh.connect()
      await (isFirst ? enter(fresh) : answered(enter(fresh)))
      await onFound(fresh)
      return fresh
    } catch (error) {
      end(fresh)
      throw error
    }
  }
  const lost = (which: pg.Client, error: unknown): void => {
    if (which !== client) return
    client = undefined
    provenMs = Number.NEGATIVE_INFINITY
    onNews()
    end(which)
    if (closed) return
    log.error({ err: error }, 'the database is unavailable')
    onLost()
    void ask()
  }
  const ask = async (): Promise<void> => {
    // A process that was suspended for a while detects here first that it may have missed changes.
    if (performance.now() - provenMs > STALE_MS - POLL_MS / 2) onNews()
    if (asking) return
    asking = true
    const askedMs = performance.now()
    let failed: unknown
    try {
      if (client) await answered(readVersions(client))
      else {
        const fresh = await connect()
        if (closed) return end(fresh)
        client = fresh
        onNews()
        log.info('the database is available again')
      }
      provenMs = askedMs
    } catch (error) {
      failed = error
    }
    asking = false
    if (failed && client) lost(client, failed)
  }

  client = await connect()
  isFirst = false
  const poll = setInterval(() => void ask(), POLL_MS)
  poll.unref()
  const retry = setInterval(() => {
    if (!client) void ask()
  }, RETRY_MS)
  retry.unref()
  return {
    isHealthy: () => performance.now() - provenMs < UNHEALTHY_MS,
    instances: presence.count,
    connection: () => client,
    prove: presence.prove,
    announcement(about) {
      const kind = typeof about === 'string' ? about : 'records'
      const name = `${kind}-${Math.floor(Math.random() * ROWS[kind])}`
      if (!canListen) return { sql: COUNT, params: [name], want: 'run' }
      const detail = JSON.stringify(about)
      const fits = Buffer.byteLength(detail) <= MAX_DETAIL
      return { sql: TELL, params: [name, self, fits ? detail : ''], want: 'run' }
    },
    async close() {
      closed = true
      clearInterval(poll)
      clearInterval(retry)
      // The connection may have been lost in the meantime.
      const last = client
      if (!last) return
      await withTimeout(LOST_MS, presence.leave(last))
      end(last)
    },
  }
}

/**
 * Rejects when there is no answer in time. There are two timers, one after the other: a process that was suspended reads an answer that
 * has arrived in the meantime before the second timer ends.
 */
async function answered(work: Promise<unknown>): Promise<void> {
  let isAnswered = false
  const answer = work.then(() => {
    isAnswered = true
  })
  for (let half = 0; half < 2; half++) await withTimeout(LOST_MS / 2, answer)
  if (!isAnswered) throw new Error('the database does not answer')
}

/** Closes a connection in any state. */
function end(client: pg.Client): void {
  client.end().catch(() => {})
  setTimeout(() => client.connection.stream.destroy(), LOST_MS).unref()
}

/** The invalidation in a notification; everything if it contains none. */
function dropsIn(detail: string): readonly Drop[] | 'records' {
  try {
    const drops: unknown = JSON.parse(detail)
    return Array.isArray(drops) ? drops : 'records'
  } catch {
    return 'records'
  }
}
