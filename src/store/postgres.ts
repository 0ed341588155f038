// The PostgreSQL driver: an operation is a transaction on a connection of the pool. The operations that tokens depend on are batched.
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Config } from '../config/schema.ts'
import { coalesce } from '../lib/coalesce.ts'
import { codeOf, isOverloaded, OAuthError } from '../lib/error.ts'
import { type BatchListener, Lane, type LaneStats, newStats } from '../lib/lane.ts'
import { systemClock } from '../lib/time.ts'
import { withReminders } from '../lib/timeout.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type Invalidation, invalidationOf } from './cache.ts'
import type { Job } from './database.ts'
import { type Driver, MAX_QUEUE } from './index.ts'
import { isRead } from './operations.ts'
import { Backends } from './postgres_backends.ts'
import { isCollision, settled, steps } from './postgres_batched.ts'
import { clientSettings, command, databaseUnavailable, execute } from './postgres_client.ts'
import { connectMs, PostgresConnection, type PostgresPlace } from './postgres_connection.ts'
import { SILENT_MS, watchDurability } from './postgres_durable.ts'
import { type Fused, fuse } from './postgres_fused.ts'
import { openGroups, type Task } from './postgres_groups.ts'
import { openListener } from './postgres_listener.ts'
import { keepPartitions } from './postgres_partitions.ts'
import { begin, preparePlans } from './postgres_plans.ts'
import { isUnsent, openPool, type PoolUse, refusedFor } from './postgres_pool.ts'
import { refuseTransactionPooling } from './postgres_pooler.ts'
import { Unsettled } from './postgres_unsettled.ts'

/** `storage.postgres` of the configuration; tests make their own. */
type PostgresSettings = Omit<Config['storage']['postgres'], 'dsn' | 'password_file'> & PostgresPlace

interface PostgresOptions {
  /** Whether this is the first driver of this process: it checks for a pooler in between, and creates the partitions of the record. */
  makesPartitions?: boolean
  /** Whether this process is a server, and counts as an instance. */
  serves?: boolean
}

const COLLISION_MS = 20
const TRIES = 4
/** Error codes of other servers with the PostgreSQL protocol for SQL that they do not support. */
const UNKNOWN_SQL = /^42/
/** Another transaction inserted the row first. A retry of the operation sees that row. */
const DUPLICATE = '23505'
/** Milliseconds between attempts to resolve connections and operations without an answer. */
const MEND_MS = 100
/** How often the server is asked whether earlier connections are gone. After that it is used although they still exist. */
const GONE_TRIES = 20

/** Opens the pool on a migrated database. Rejects when it cannot be reached, or is behind a pooler that does not keep sessions. */
export async function openPostgres(
  settings: PostgresSettings,
  log: Logger,
  { makesPartitions = true, serves = false }: PostgresOptions = {},
): Promise<Driver> {
  const listeners: ((about?: Invalidation) => void)[] = []
  const client = clientSettings(settings)
  if (makesPartitions) await refuseTransactionPooling(client)
  const backends = new Backends()
  let closed = false
  const listener = await openListener({
    settings: client,
    serves,
    onNews: (about) => {
      for (const each of listeners) each(about)
    },
    onLost: () => pool.discard(),
    onFound: (on) => waitFor(() => backends.terminate(on)),
    log,
  })
  const refusal = (use: PoolUse) => {
    if (!listener.connection()) return refusedFor('the database is unavailable')
    return use === 'writing' && !durability.works() ? refusedFor('the database takes no writes') : undefined
  }
  const pool = openPool({
    config: {
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
    },
    backends,
    log,
    refusal,
    onLeft: () => mend(),
  })
  const durability = watchDurability({
    write: (wide) => pool.lend((on) => listener.prove(on, wide), { use: 'mending' }),
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
      await unsettled.settle()
    },
    { retryMs: MEND_MS, onError: () => {} },
  )
  if (serves)
    await withReminders(durability.first, () =>
      log.warn('the start waits for the database to commit: is its disk full, or a synchronous standby unavailable?'),
    )
  const partitions = makesPartitions ? await keepPartitions(settings, systemClock, log) : undefined

  const perform = async (job: Task): Promise<unknown> => {
    // A read needs no transaction: each of its statements sees the committed rows in either case.
    const work = isRead(job.op) ? steps : change
    for (let tries = 1; ; tries++) {
      try {
        return await pool.lend(
          async (client) => {
            await preparePlans(client, job.op)
            return work(client, job)
          },
          { use: work === change ? 'writing' : 'reading' },
        )
      } catch (error) {
        const code = codeOf(error) ?? ''
        const collided = isCollision(error)
        if (!collided && (code !== DUPLICATE || tries > 1)) throw error
        if (tries === TRIES) throw databaseUnavailable(error)
        // The other transaction gets the time to commit.
        if (collided) await sleep(Math.random() * tries * COLLISION_MS)
      }
    }
  }
  const transaction = async (client: pg.PoolClient, job: Job): Promise<unknown> => {
    await begin(client, job.op)
    const value = await steps(client, job)
    const invalidation = invalidationOf(job.op, job.input)
    if (invalidation) await execute(client, listener.announcement(invalidation))
    await command(client, 'COMMIT')
    return value
  }
  /** Whether the database supports several changes in one statement. */
  let canFuse = true
  /** Whether the one statement of an operation made its changes. If not, the operation itself is run and finds the reason. */
  const isMadeAtOnce = async (client: pg.PoolClient, { statement }: Fused): Promise<boolean> => {
    if (!canFuse) return false
    try {
      return (await execute(client, statement)) !== undefined
    } catch (error) {
      const code = codeOf(error) ?? ''
      // One of the rows exists already.
      if (code === DUPLICATE) return false
      if (!UNKNOWN_SQL.test(code)) throw error
      canFuse = false
      log.info({ reason: (error as Error).message }, 'the database does not support several changes as one statement')
      return false
    }
  }
  const change = async (client: pg.PoolClient, job: Task): Promise<unknown> =>
    job.fused && (await isMadeAtOnce(client, job.fused)) ? job.fused.value : transaction(client, job)

  const lane = new Lane<Task, unknown>({
    name: 'store',
    workers: settings.max_conns,
    maxBatch: 1,
    maxQueue: MAX_QUEUE,
    run: (jobs) => Promise.all(jobs.map((job) => settled(perform(job)))),
  })
  const groups = openGroups({ lend: pool.lend, perform, lane })
  const unsettled = new Unsettled({ perform, refusal: () => refusal('writing'), onNoted: () => mend() })
  const route = (job: Job, onBatch?: BatchListener): Promise<unknown> => {
    const group = groups.of(job)
    if (group) return group.push(job, onBatch)
    const fused = canFuse ? fuse(job) : undefined
    return fused ? groups.changes.push({ ...job, fused }, onBatch) : lane.push(job, onBatch)
  }
  const call = async (job: Job, onBatch?: BatchListener): Promise<unknown> => {
    const refused = refusal(isRead(job.op) ? 'reading' : 'writing')
    if (refused) throw refused
    if (unsettled.concerns(job.op)) await unsettled.wait(job.op)
    try {
      const value = await route(job, onBatch)
      if (!isRead(job.op)) durability.proven()
      return value
    } catch (error) {
      const noted = isUnknown(error) ? unsettled.note(job) : undefined
      durability.failed(error)
      await noted
      throw error
    }
  }

  return {
    name: 'postgres',
    get stats() {
      return sum([lane, ...groups.all].map(({ stats }) => stats))
    },
    connections: pool.counts,
    isHealthy: () => listener.isHealthy() && durability.works(),
    instances: listener.instances,
    unsettled,
    call: (op, input, onBatch) => call({ op, input }, onBatch),
    onForeignWrite: (each) => listeners.push(each),
    async close() {
      await Promise.all(groups.all.map((each) => each.drained()))
      // Operations that could not be batched are in this lane.
      await lane.drained()
      closed = true
      durability.close()
      pool.giveUp('mending', 0)
      backends.close()
      await Promise.all([listener.close(), partitions?.close(), pool.close()])
    },
  }
}

/** Resolves when the check returns true, or after several attempts. */
async function waitFor(check: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < GONE_TRIES && !(await check()); tries++) await sleep(MEND_MS)
}

/** Whether an operation that failed with this error may have been committed. */
const isUnknown = (error: unknown): boolean => error instanceof OAuthError && !isOverloaded(error) && !isUnsent(error)

function sum(all: readonly LaneStats[]): LaneStats {
  const total = newStats()
  for (const stats of all) for (const [name, value] of Object.entries(stats)) total[name as keyof LaneStats] += value
  return total
}
