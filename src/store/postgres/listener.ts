// Receives the invalidations of other instances: one connection that executes LISTEN, and that reads each second the versions which every
// such write increments. So a lost notification, or a server without notifications, costs only a second or two. The same query renews the
// registration of the instance.
import type pg from 'pg'
import { newId } from '../../lib/id.ts'
import { systemClock } from '../../lib/time.ts'
import { withTimeout } from '../../lib/timeout.ts'
import type { InstanceAbout } from '../../records/instance.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { type Invalidation, STALE_MS } from '../cache.ts'
import { UNHEALTHY_MS } from '../index.ts'
import type { Statement } from '../op.ts'
import { type ConnectionSettings, PostgresConnection } from './connection.ts'
import { openPresence, type Presence } from './instances.ts'
import { KnownVersions } from './versions.ts'

const CHANNEL = 'service_store'
/** Milliseconds between two queries, until the next attempt to connect, and until a query or an attempt counts as lost. */
const [POLL_MS, RETRY_MS, LOST_MS] = [1000, 200, 2000]
/** Rows of store_versions for each kind of change. */
const ROWS = { keys: 1, records: 8 } as const
/** The same step back, seen in several versions. */
const AGAIN_SECONDS = 60
/** A notification has less than 8000 bytes. A change that does not fit is announced without its content. */
const MAX_DETAIL = 6000

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

export interface ListenerOptions {
  settings: ConnectionSettings
  /** What this process says about itself as an instance. Undefined when it is not a server. */
  serves: InstanceAbout | undefined
  /** Called when another instance has written, and without an invalidation whenever it may have: at most STALE_MS after the last proof that none has. */
  onInvalidation(about?: Invalidation): void
  /** Called when the connection is lost, or gets no answer: other connections to the server are lost as well. */
  onLost(): void
  /** Called with a new connection before it is used. */
  onFound(on: pg.Client): Promise<void>
  log: Logger
}

/** Starts to listen. Rejects when the database is unreachable. After a first success, a lost connection is replaced. */
export async function openListener(options: ListenerOptions) {
  const self = newId()
  const presence = openPresence(self, options.serves, options.log)
  const connection = new ListeningConnection(options, presence, self)
  await connection.start()
  return {
    /** Whether the database answered within the last seconds. */
    isHealthy: () => connection.silentMs() < UNHEALTHY_MS,
    presence,
    /** When this process noticed that the database is in an earlier state than before, in epoch seconds. */
    wentBackAt: () => connection.wentBackAt,
    /** The connection; undefined while the server is unavailable. */
    connection: () => connection.client,
    /** The last statement of a transaction: it notifies the other instances with the commit. */
    announcement: (about: Invalidation) => announcementOf(about, self, connection.canListen),
    close: () => connection.close(),
  }
}

/** The statement that increments a version, and notifies the other instances if the server can do that. */
function announcementOf(about: Invalidation, self: string, canListen: boolean): Statement {
  const kind = typeof about === 'string' ? about : 'records'
  const name = `${kind}-${Math.floor(Math.random() * ROWS[kind])}`
  if (!canListen) return { sql: COUNT, params: [name], want: 'run' }
  const detail = JSON.stringify(about)
  const fits = Buffer.byteLength(detail) <= MAX_DETAIL
  return { sql: TELL, params: [name, self, fits ? detail : ''], want: 'run' }
}

class ListeningConnection {
  /** Undefined while the server is unavailable. */
  client: pg.Client | undefined
  canListen = true
  wentBackAt: number | undefined
  private readonly options: ListenerOptions
  private readonly presence: Presence
  private readonly self: string
  private readonly versions: KnownVersions
  /** Start time of the last query that was answered. */
  private provenMs = performance.now()
  private asking = false
  private closed = false
  private timers: readonly NodeJS.Timeout[] = []

  constructor(options: ListenerOptions, presence: Presence, self: string) {
    this.options = options
    this.presence = presence
    this.self = self
    this.versions = new KnownVersions(options.onInvalidation, () => this.wentBack())
  }

  silentMs(): number {
    return performance.now() - this.provenMs
  }

  async start(): Promise<void> {
    this.client = await this.connect((work) => work)
    const poll = setInterval(() => void this.ask(), POLL_MS)
    const retry = setInterval(() => {
      if (!this.client) void this.ask()
    }, RETRY_MS)
    this.timers = [poll.unref(), retry.unref()]
  }

  async close(): Promise<void> {
    this.closed = true
    for (const timer of this.timers) clearInterval(timer)
    // The connection may have been lost in the meantime.
    const last = this.client
    if (!last) return
    await withTimeout(LOST_MS, this.presence.leave(last))
    end(last)
  }

  /** A new connection that listens. `limit` rejects work that takes too long; the first connection has no limit. */
  private async connect(limit: (work: Promise<void>) => Promise<void>): Promise<pg.Client> {
    const fresh = new PostgresConnection(this.options.settings)
    fresh.on('error', (error) => this.lost(fresh, error))
    fresh.on('end', () => this.lost(fresh, new Error('the connection ended')))
    fresh.on('notification', ({ payload = '' }) => {
      const [speaker, name = '', version, ...detail] = payload.split(' ')
      const notice = { ours: speaker === this.self, detail: detail.join(' ') }
      this.versions.receive({ name, version: Number(version) }, notice)
    })
    try {
      await fresh.connect()
      await limit(this.enter(fresh))
      await this.options.onFound(fresh)
      return fresh
    } catch (error) {
      end(fresh)
      throw error
    }
  }

  private async enter(fresh: pg.Client): Promise<void> {
    // A server may not support these settings.
    await fresh.query(SESSION).catch(() => {})
    await this.listen(fresh)
    await this.presence.enter(fresh)
    const asked = this.versions.now()
    this.versions.reset(await this.presence.ask(fresh), asked)
  }

  private async listen(on: pg.Client): Promise<void> {
    try {
      if (this.canListen) await on.query(`LISTEN ${CHANNEL}`)
    } catch (error) {
      if (!CANNOT_LISTEN.includes(String((error as pg.DatabaseError).code))) throw error
      this.canListen = false
      this.options.log.warn(
        'the database does not support LISTEN: it is polled every second for changes of other instances',
      )
    }
  }

  private lost(which: pg.Client, error: unknown): void {
    const { onInvalidation, onLost, log } = this.options
    if (which !== this.client) return
    this.client = undefined
    this.provenMs = Number.NEGATIVE_INFINITY
    onInvalidation()
    end(which)
    if (this.closed) return
    log.error({ err: error }, 'the database is unavailable')
    onLost()
    void this.ask()
  }

  /** A restored backup, or a failover that lost commits. Several versions go back at once. */
  private wentBack(): void {
    const now = systemClock.now()
    if (this.wentBackAt !== undefined && now - this.wentBackAt < AGAIN_SECONDS) return
    this.wentBackAt = now
    this.options.log.error(
      'the database is in an earlier state than before (a restored backup, a failover that lost commits): revocations, suspensions and keys of that time are lost; repeat them',
    )
  }

  /** Reads the versions, or connects again. */
  private async ask(): Promise<void> {
    // A process that was suspended for a while detects here first that it may have missed changes.
    if (this.silentMs() > STALE_MS - POLL_MS / 2) this.options.onInvalidation()
    if (this.asking) return
    this.asking = true
    const askedMs = performance.now()
    let failed: unknown
    try {
      if (this.client) await answered(this.readVersions(this.client))
      else await this.reconnect()
      if (this.client) this.provenMs = askedMs
    } catch (error) {
      failed = error
    }
    this.asking = false
    if (failed && this.client) this.lost(this.client, failed)
  }

  private async readVersions(from: pg.Client): Promise<void> {
    const asked = this.versions.now()
    await this.versions.compare(await this.presence.ask(from), asked, this.canListen)
  }

  private async reconnect(): Promise<void> {
    const fresh = await this.connect(answered)
    if (this.closed) return end(fresh)
    this.client = fresh
    this.options.onInvalidation()
    this.options.log.info('the database is available again')
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
