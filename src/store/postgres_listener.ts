// Hears what other instances write: one connection that listens, and that asks each second for the versions that every
// such write counts up. So a notification that is lost, or a server without them, costs a second or two and nothing else. With the
// same question an instance makes itself known.
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
/** Milliseconds between two questions, to the next attempt to connect, and until a question or an attempt counts as lost. */
const [POLL_MS, RETRY_MS, LOST_MS] = [1000, 200, 2000]
/** Rows of store_versions for each kind of change. */
const ROWS = { keys: 1, records: 8 } as const
/** A notification holds less than 8000 bytes; a change that does not fit is announced without saying what it is. */
const MAX_DETAIL = 6000
/** The notifications of what an answer shows come right behind it. */
const NOTIFIED_MS = 20

const COUNT = 'UPDATE store_versions SET version = version + 1 WHERE name = ?'
const TELL = `WITH counted AS (${COUNT} RETURNING name, version)
  SELECT pg_notify('${CHANNEL}', ? || ' ' || name || ' ' || version || ' ' || ?) FROM counted`
/**
 * Nothing that this connection writes is worth waiting for a disk or a standby: it must hear of others also when no commit is
 * possible. Its questions see what was committed before them.
 */
const SESSION = "SET synchronous_commit = off; SET default_transaction_isolation = 'read committed'"
/** Servers that speak the protocol but have no LISTEN: feature not supported, syntax error. */
const CANNOT_LISTEN = ['0A000', '42601']

export interface Listener {
  /** Whether the database answered within the last seconds. */
  isHealthy(): boolean
  /** How many instances share the database, this one included. */
  instances(): number
  /** The connection; undefined while the server is away. */
  connection(): pg.Client | undefined
  /** Writes the way every operation does, on a connection with the settings of the pool; `wide` takes new room on the disk too. */
  prove(on: pg.ClientBase, wide: boolean): Promise<void>
  /** What a transaction does last, so that the other instances hear of it with its commit. */
  announcement(about: Invalidation): Statement
  close(): Promise<void>
}

export interface ListenerOptions {
  settings: ConnectionSettings
  /** Whether this process is one of the instances: it serves. */
  serves: boolean
  /** Called when another instance has written, and, without a word of what, whenever it may have: at most STALE_MS after the last proof that none has. */
  onNews(about?: Invalidation): void
  /** Called when the connection is lost, or has had no answer: whatever else was connected to the server is lost as well. */
  onLost(): void
  /** Called with a new connection before it counts. */
  onFound(on: pg.Client): Promise<void>
  log: Logger
}

/** Starts to listen. Rejects when the database cannot be reached; once it could, a lost connection is made anew. */
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
  /** The versions that were heard of. */
  const heard = new Map<string, number>()
  let client: pg.Client | undefined
  /** When the last question was asked that was answered. */
  let provenMs = performance.now()
  let asking = false
  let closed = false
  let isFirst = true
  let canListen = true

  /**
   * Compares a version with the last one. Any difference is passed on: versions are lower after the database went back in time,
   * by a restored backup or a failover that lost commits, and nothing that was read from it before holds then.
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
    // A notification says what has changed, the version only that something has.
    if (canListen) await sleep(NOTIFIED_MS)
    for (const { name, version, before } of different) if (heard.get(name) === before) hear(name, version)
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
  const enter = async (fresh: pg.Client): Promise<void> => {
    // A server that does not know these settings does as it likes.
    await fresh.query(SESSION).catch(() => {})
    await listen(fresh)
    await presence.enter(fresh)
    // It may be another server, or another state of this one.
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
    log.error({ err: error }, 'the database is away')
    onLost()
    void ask()
  }
  const ask = async (): Promise<void> => {
    // Also a process that was stopped for a while finds here, before anything else, that it may have missed something.
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
        log.info('the database is back')
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
      // The connection may be lost meanwhile.
      const last = client
      if (!last) return
      await withTimeout(LOST_MS, presence.leave(last))
      end(last)
    },
  }
}

/**
 * Rejects when there is no answer in time. Two timers, one after the other: a process that was stopped for a while finds the answer
 * that has come meanwhile before the second one is over.
 */
async function answered(work: Promise<unknown>): Promise<void> {
  let isAnswered = false
  const answer = work.then(() => {
    isAnswered = true
  })
  for (let half = 0; half < 2; half++) await withTimeout(LOST_MS / 2, answer)
  if (!isAnswered) throw new Error('the database does not answer')
}

/** Ends a connection, however it is. */
function end(client: pg.Client): void {
  client.end().catch(() => {})
  setTimeout(() => client.connection.stream.destroy(), LOST_MS).unref()
}

/** What a notification says was changed; everything when it does not say it. */
function dropsIn(detail: string): readonly Drop[] | 'records' {
  try {
    const drops: unknown = JSON.parse(detail)
    return Array.isArray(drops) ? drops : 'records'
  } catch {
    return 'records'
  }
}
