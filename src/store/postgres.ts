// The PostgreSQL driver: an operation is a transaction on a connection of the pool; rows that are only appended travel together.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Config } from '../config/schema.ts'
import { codeOf, OAuthError } from '../lib/error.ts'
import { Lane, type LaneStats, newStats, type Outcome } from '../lib/lane.ts'
import { systemClock } from '../lib/time.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type News, newsOf } from './cache.ts'
import type { Job } from './database.ts'
import { type Driver, isRead, MAX_QUEUE, ops } from './index.ts'
import type { Op, Statement } from './op.ts'
import { awayFor, clientSettings, command, execute, failureOf } from './postgres_client.ts'
import { fuse } from './postgres_fused.ts'
import { openListener } from './postgres_listener.ts'
import { keepPartitions } from './postgres_partitions.ts'
import { begin, preparePlans } from './postgres_plans.ts'

/** `storage.postgres` of the configuration; tests make their own. */
type PostgresSettings = Omit<Config['storage']['postgres'], 'dsn'> & { dsn: string }

interface PostgresOptions {
  /** Whether the partitions of the record are made from here: once in a process. */
  makesPartitions?: boolean
  /** Whether this is an instance that serves, and is counted as such. */
  serves?: boolean
}

/** Most rows of one INSERT, and how many of these may be under way. */
const MAX_ROWS = 64
const APPENDERS = 4
/** Serialization failures and deadlocks. */
const COLLISION = /^40(001|P01)$/
const COLLISION_MS = 20
const TRIES = 4
/** What other servers that speak the protocol of PostgreSQL say to SQL that they do not know. */
const UNKNOWN_SQL = /^42/
/** A row that another transaction was first to insert: whoever looks again sees it. */
const DUPLICATE = '23505'

/** Opens the pool on a migrated database. Rejects when it cannot be reached. */
export async function openPostgres(
  settings: PostgresSettings,
  log: Logger,
  { makesPartitions = true, serves = false }: PostgresOptions = {},
): Promise<Driver> {
  const listeners: ((about?: News) => void)[] = []
  const client = clientSettings(settings.dsn)
  const listener = await openListener({
    settings: client,
    serves,
    onNews: (about) => {
      for (const each of listeners) each(about)
    },
    log,
  })
  const partitions = makesPartitions ? await keepPartitions(settings.dsn, systemClock, log) : undefined
  const pool = new pg.Pool({
    ...client,
    max: settings.max_conns,
    min: settings.min_conns,
    maxLifetimeSeconds: settings.max_conn_lifetime,
    idleTimeoutMillis: settings.max_conn_idle_time * 1000,
    allowExitOnIdle: true,
  })
  // Only the message: the pool hangs the whole connection on the error.
  pool.on('error', ({ message }) => log.warn({ reason: message }, 'an idle database connection was lost'))
  // One that is lost while it is lent fails what runs on it; without a listener it would end the process too.
  pool.on('connect', (client) => client.on('error', () => {}))

  /** Lends a connection. One that is in doubt afterwards is closed, which rolls back; any other one is rolled back and kept. */
  const connected = async <R>(work: (client: pg.PoolClient) => Promise<R>): Promise<R> => {
    const client = await pool.connect().catch((error: unknown) => {
      throw failureOf(error)
    })
    try {
      const result = await work(client)
      client.release()
      return result
    } catch (error) {
      const rolledBack = !(error instanceof OAuthError) && (await command(client, 'ROLLBACK').then(yes, no))
      client.release(!rolledBack)
      throw error
    }
  }
  const perform = async (job: Job): Promise<unknown> => {
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
    const news = newsOf(job.op)
    if (news) await execute(client, listener.announcement(news))
    await command(client, 'COMMIT')
    return value
  }
  let canFuse = true
  const change = async (client: pg.PoolClient, job: Job): Promise<unknown> => {
    const fused = canFuse ? fuse(job) : undefined
    if (!fused) return transaction(client, job)
    try {
      return (await execute(client, fused.statement)) ? fused.value : await transaction(client, job)
    } catch (error) {
      if (!UNKNOWN_SQL.test(codeOf(error) ?? '')) throw error
      canFuse = false
      log.info({ reason: (error as Error).message }, 'the database does not take several changes as one statement')
      return transaction(client, job)
    }
  }
  const append = async (jobs: Job[]): Promise<Outcome<unknown>[]> => {
    try {
      const rows = jobs.map(firstStatement)
      await connected((client) => insert(client, rows))
      return jobs.map(() => ({ value: undefined }))
    } catch (error) {
      // None of them is recorded: each again by itself says which one is at fault.
      if (error instanceof OAuthError) throw error
      return Promise.all(jobs.map((job) => settled(perform(job))))
    }
  }
  const lane = new Lane<Job, unknown>({
    name: 'store',
    workers: settings.max_conns,
    maxBatch: 1,
    maxQueue: MAX_QUEUE,
    run: (jobs) => Promise.all(jobs.map((job) => settled(perform(job)))),
  })
  const appending = () =>
    new Lane<Job, unknown>({ name: 'store', workers: APPENDERS, maxBatch: MAX_ROWS, maxQueue: MAX_QUEUE, run: append })
  const [issuances, events] = [appending(), appending()]
  const laneOf = ({ op, input }: Job) => {
    if (op === 'recordAudit') return events
    // One that uses up a proof is more than a row.
    return op === 'recordIssuance' && !(input as { use?: unknown }).use ? issuances : lane
  }
  const lanes = [lane, issuances, events]

  return {
    name: 'postgres',
    get stats() {
      return sum(lanes.map(({ stats }) => stats))
    },
    connections: () => ({ open: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    isHealthy: listener.isHealthy,
    instances: listener.instances,
    call: (op, input, onBatch) => laneOf({ op, input }).push({ op, input }, onBatch),
    onForeignWrite: (each) => listeners.push(each),
    async close() {
      await Promise.all(lanes.map((each) => each.drained()))
      await Promise.all([listener.close(), partitions?.close(), pool.end()])
    },
  }
}

const start = ({ op, input }: Job) => (ops[op] as (input: unknown) => Op<unknown>)(input)

async function steps(client: pg.PoolClient, job: Job): Promise<unknown> {
  const operation = start(job)
  let step = operation.next()
  while (!step.done) step = operation.next(await execute(client, step.value))
  return step.value
}

/** The one statement of an operation that only appends. */
function firstStatement(job: Job): Statement {
  const { value } = start(job).next()
  return value as Statement
}

/** Inserts rows of one table, all or none. Powers of two, so that few statements have to be prepared. */
async function insert(client: pg.PoolClient, rows: readonly Statement[]): Promise<void> {
  const parts: Statement[] = []
  for (let rest = rows; rest.length > 0; ) {
    const size = 2 ** Math.floor(Math.log2(rest.length))
    parts.push(together(rest.slice(0, size)))
    rest = rest.slice(size)
  }
  if (parts.length > 1) await command(client, 'BEGIN')
  for (const part of parts) await execute(client, part)
  if (parts.length > 1) await command(client, 'COMMIT')
}

/** One INSERT that does what several of the same SQL do. */
function together(rows: readonly Statement[]): Statement {
  const [{ sql } = { sql: '' }] = rows
  return {
    sql: sql.replace(/VALUES (\([^)]*\))$/, (_, row: string) => `VALUES ${rows.map(() => row).join(', ')}`),
    params: rows.flatMap(({ params }) => params),
    want: 'run',
  }
}

const settled = (result: Promise<unknown>): Promise<Outcome<unknown>> =>
  result.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
const yes = () => true
const no = () => false

function sum(all: readonly LaneStats[]): LaneStats {
  const total = newStats()
  for (const stats of all) for (const [name, value] of Object.entries(stats)) total[name as keyof LaneStats] += value
  return total
}
