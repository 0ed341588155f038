// The link to a PostgreSQL server: the pool, the connection that listens, and the check that writes are committed. It recovers
// automatically: connections without an answer are terminated before the operations on them are reverted.
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Config } from '../../config/schema.ts'
import type { OAuthError } from '../../lib/error.ts'
import { coalesce } from '../../lib/threads/coalesce.ts'
import type { InstanceAbout } from '../../records/instance.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Invalidation } from '../cache.ts'
import { Backends } from './backends.ts'
import { clientSettings } from './client.ts'
import { type ConnectionSettings, connectMs, PostgresConnection, type PostgresPlace } from './connection.ts'
import { Durability, SILENT_MS } from './durable.ts'
import { openListener } from './listener.ts'
import { openPool, type PoolUse, refusedFor } from './pool.ts'

/** `storage.postgres` of the configuration; tests make their own. */
export type PostgresSettings = Omit<Config['storage']['postgres'], 'dsn' | 'password_file' | 'connect_wait'> &
  PostgresPlace

interface LinkOptions {
  log: Logger
  /** What this process says about itself as an instance. Undefined when it is not a server. */
  serves: InstanceAbout | undefined
  /** Called when another instance has written, and without an invalidation whenever it may have. */
  onInvalidation(about?: Invalidation): void
  /** Reverts operations of unknown outcome. Called when no connection can commit them any more. */
  settle(): Promise<void>
}
export type PostgresLink = Awaited<ReturnType<typeof openLink>>

/** Milliseconds between attempts to resolve connections and operations without an answer. */
const MEND_MS = 100
/** How often the server is asked whether earlier connections are gone. After that it is used although they still exist. */
const GONE_TRIES = 20

/** Connects to the server. Rejects when it cannot be reached. */
export async function openLink(settings: PostgresSettings, options: LinkOptions) {
  const { log, serves, onInvalidation, settle } = options
  const client = clientSettings(settings)
  const backends = new Backends()
  let closed = false
  const listener = await openListener({
    settings: client,
    serves,
    onInvalidation,
    onLost: () => pool.discard(),
    onFound: (on) => waitFor(() => backends.terminate(on)),
    log,
  })
  /** The error for an operation that cannot be run now. */
  const refusal = (use: PoolUse): OAuthError | undefined => {
    if (!listener.connection()) return refusedFor('the database is unavailable')
    return use === 'writing' && !durability.works ? refusedFor('the database takes no writes') : undefined
  }
  const pool = openPool({ config: poolConfig(settings, client), backends, log, refusal, onLeft: () => mend() })
  const durability: Durability = new Durability({
    write: (wide) => pool.lend((on) => listener.presence.prove(on, wide), { use: 'mending' }),
    isReachable: () => listener.connection() !== undefined,
    onSilent: () => pool.giveUp('writing', SILENT_MS),
    onBack: () => mend(),
    log,
  })
  /** Terminates connections without an answer, and then reverts the operations that they may have committed. In this order, so that the outcome is final. */
  const mend = coalesce(
    async () => {
      if (closed) return
      const refused = refusal('reading')
      if (refused) throw refused
      if (!(await backends.terminate(listener.connection() as pg.Client)))
        throw new Error('abandoned connections still exist')
      const unwritable = refusal('writing')
      if (unwritable) throw unwritable
      await settle()
    },
    { retryMs: MEND_MS, onError: () => {} },
  )
  const close = () => {
    closed = true
    durability.close()
    pool.giveUp('mending', 0)
    backends.close()
    return Promise.all([listener.close(), pool.close()])
  }
  return { pool, listener, durability, refusal, mend, close }
}

const poolConfig = (settings: PostgresSettings, client: ConnectionSettings): pg.PoolConfig => ({
  Client: class extends PostgresConnection {
    constructor() {
      // Queries are pipelined: a query is sent before the earlier ones are answered.
      super({ ...client, pipeline: true })
    }
  },
  // Longer than the timeout for opening a connection.
  connectionTimeoutMillis: connectMs(settings) + 500,
  max: settings.max_conns,
  min: settings.min_conns,
  maxLifetimeSeconds: settings.max_conn_lifetime,
  idleTimeoutMillis: settings.max_conn_idle_time * 1000,
  allowExitOnIdle: true,
})

/** Resolves when the check returns true, or after several attempts. */
async function waitFor(check: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < GONE_TRIES && !(await check()); tries++) await sleep(MEND_MS)
}
