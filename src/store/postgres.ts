// The PostgreSQL driver: an operation is a transaction on a connection of the pool; those that tokens depend on travel together.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Config } from '../config/schema.ts'
import { codeOf, OAuthError } from '../lib/error.ts'
import { type BatchListener, Lane, type LaneStats, newStats } from '../lib/lane.ts'
import { systemClock } from '../lib/time.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type News, newsOf } from './cache.ts'
import type { Job } from './database.ts'
import { type Driver, isRead, MAX_QUEUE } from './index.ts'
import { awayFor, clientSettings, command, execute, failureOf } from './postgres_client.ts'
import { connectMs, PostgresConnection, type PostgresPlace } from './postgres_connection.ts'
import { type Fused, fuse } from './postgres_fused.ts'
import { type Lend, openGroups, type Task } from './postgres_groups.ts'
import { openListener } from './postgres_listener.ts'
import { keepPartitions } from './postgres_partitions.ts'
import { begin, preparePlans } from './postgres_plans.ts'
import { refuseTransactionPooling } from './postgres_pooler.ts'
import { settled, steps } from './postgres_together.ts'

/** `storage.postgres` of the configuration; tests make their own. */
type PostgresSettings = Omit<Config['storage']['postgres'], 'dsn' | 'password_file'> & PostgresPlace

interface PostgresOptions {
  /** Whether this is the first to open it in this process: it looks at what is in between, and makes the partitions of the record. */
  makesPartitions?: boolean
  /** Whether this is an instance that serves, and is counted as such. */
  serves?: boolean
}

/** Serialization failures and deadlocks. */
const COLLISION = /^40(001|P01)$/
const COLLISION_MS = 20
const TRIES = 4
/** What other servers that speak the protocol of PostgreSQL say to SQL that they do not know. */
const UNKNOWN_SQL = /^42/
/** A row that another transaction was first to insert: whoever looks again sees it. */
const DUPLICATE = '23505'

/** Opens the pool on a migrated database. Rejects when it cannot be reached, or is behind a pooler that does not keep sessions. */
export async function openPostgres(
  settings: PostgresSettings,
  log: Logger,
  { makesPartitions = true, serves = false }: PostgresOptions = {},
): Promise<Driver> {
  const listeners: ((about?: News) => void)[] = []
  const client = clientSettings(settings)
  if (makesPartitions) await refuseTransactionPooling(client)
  const listener = await openListener({
    settings: client,
    serves,
    onNews: (about) => {
      for (const each of listeners) each(about)
    },
    log,
  })
  const partitions = makesPartitions ? await keepPartitions(settings, systemClock, log) : undefined
  const pool = new pg.Pool({
    Client: class extends PostgresConnection {
      constructor() {
        // A query is sent before those that were sent before it are answered.
        super({ ...client, pipeline: true })
      }
    },
    // Longer than a connection may take to be opened, which ends by itself.
    connectionTimeoutMillis: connectMs(settings) + 1000,
    max: settings.max_conns,
    min: settings.min_conns,
    maxLifetimeSeconds: settings.max_conn_lifetime,
    idleTimeoutMillis: settings.max_conn_idle_time * 1000,
    allowExitOnIdle: true,
  })
  // Only the message: the pool hangs the whole connection on the error.
  pool.on('error', ({ message }) => log.warn({ reason: message }, 'an idle database connection was lost'))

  /** Lends a connection. One that is in doubt afterwards is closed, which rolls back; any other one is rolled back and kept. */
  const connected: Lend = async (work, isSound = yes) => {
    const client = await pool.connect().catch((error: unknown) => {
      throw failureOf(error)
    })
    try {
      const result = await work(client)
      client.release(!isSound(result))
      return result
    } catch (error) {
      const rolledBack = !(error instanceof OAuthError) && (await command(client, 'ROLLBACK').then(yes, no))
      client.release(!rolledBack)
      throw error
    }
  }
  const perform = async (job: Task): Promise<unknown> => {
    // Each statement of a read sees what is committed, in a transaction or not.
    const work = isRead(job.op) ? steps : change
    for (let tries = 1; ; tries++) {
      try {
        return await connected(async (client) => {
          await preparePlans(client, job.op)
          return work(client, job)
        })
      } catch (error) {
        const code = codeOf(error) ?? ''
        const collided = COLLISION.test(code)
        if (!collided && (code !== DUPLICATE || tries > 1)) throw error
        if (tries === TRIES) throw awayFor(error)
        // Whoever collided with it goes first.
        if (collided) await sleep(Math.random() * tries * COLLISION_MS)
      }
    }
  }
  const transaction = async (client: pg.PoolClient, job: Job): Promise<unknown> => {
    await begin(client, job.op)
    const value = await steps(client, job)
    const news = newsOf(job.op, job.input)
    if (news) await execute(client, listener.announcement(news))
    await command(client, 'COMMIT')
    return value
  }
  /** Whether the database takes several changes as one statement. */
  let canFuse = true
  /** Whether the one statement of an operation made it; if not, the operation itself says why. */
  const isMadeAtOnce = async (client: pg.PoolClient, { statement }: Fused): Promise<boolean> => {
    if (!canFuse) return false
    try {
      return (await execute(client, statement)) !== undefined
    } catch (error) {
      const code = codeOf(error) ?? ''
      // Something is there already.
      if (code === DUPLICATE) return false
      if (!UNKNOWN_SQL.test(code)) throw error
      canFuse = false
      log.info({ reason: (error as Error).message }, 'the database does not take several changes as one statement')
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
  const groups = openGroups({ connected, perform, lane })
  const call = (job: Job, onBatch?: BatchListener): Promise<unknown> => {
    const group = groups.of(job)
    if (group) return group.push(job, onBatch)
    const fused = canFuse ? fuse(job) : undefined
    return fused ? groups.changes.push({ ...job, fused }, onBatch) : lane.push(job, onBatch)
  }

  return {
    name: 'postgres',
    get stats() {
      return sum([lane, ...groups.all].map(({ stats }) => stats))
    },
    connections: () => ({ open: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    isHealthy: listener.isHealthy,
    instances: listener.instances,
    call: (op, input, onBatch) => call({ op, input }, onBatch),
    onForeignWrite: (each) => listeners.push(each),
    async close() {
      await Promise.all(groups.all.map((each) => each.drained()))
      // What could not travel is here.
      await lane.drained()
      await Promise.all([listener.close(), partitions?.close(), pool.end()])
    },
  }
}

const yes = () => true
const no = () => false

function sum(all: readonly LaneStats[]): LaneStats {
  const total = newStats()
  for (const stats of all) for (const [name, value] of Object.entries(stats)) total[name as keyof LaneStats] += value
  return total
}
