// The only place that chooses between SQLite and PostgreSQL.
import path from 'node:path'
import type { Config } from '../config/schema.ts'
import { withReminders } from '../lib/timeout.ts'
import type { InstanceAbout } from '../records/instance.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type Metrics, stagesIn } from '../telemetry/metrics.ts'
import { isMigrated, stepsOnFile } from './database.ts'
import { createStore, type Store } from './index.ts'
import { type Linked, linkedDriver } from './linked.ts'
import { lockDatabase, type ServeLock } from './lock.ts'
import type { OpName } from './operations.ts'
import { type Dialect, type MigrateHow, type MigrationSteps, migration, missingMigrations } from './schema/migrate.ts'
import { type PlannedMigration, plannedMigrations, planOfNew } from './schema/migration_plan.ts'
import { openSqlite } from './sqlite.ts'

type Storage = Config['storage']

/** Creates or updates the tables. Returns the names of the applied migrations. Rejects when the database is unavailable. */
export const migrate = (storage: Storage, now: number, how?: MigrateHow): Promise<string[]> =>
  onStorage(storage, (dialect) => migration(dialect, now, how))

/** As migrate(), with the migrations that contract. On SQLite no server may run. */
export async function contract(storage: Storage, now: number, force: boolean): Promise<string[]> {
  const { driver, sqlite } = storage
  const unlock = driver === 'sqlite' ? await lockDatabase(sqlite.path, { as: 'service migrate --contract' }) : () => {}
  try {
    return await migrate(storage, now, { contracts: true, force })
  } finally {
    unlock()
  }
}

/** The missing migrations, and what each means. Creates no database. */
export async function planMigrations(storage: Storage): Promise<PlannedMigration[]> {
  if (await hasDatabase(storage)) return onStorage(storage, plannedMigrations)
  return planOfNew(storage.driver)
}

async function onStorage<R>(
  { driver, sqlite, postgres }: Storage,
  steps: (dialect: Dialect) => MigrationSteps<R>,
): Promise<R> {
  if (driver === 'sqlite') return stepsOnFile(sqlite.path, sqlite.wal, steps('sqlite'))
  // Loaded only when PostgreSQL is used.
  const { stepsOnPostgres } = await import('./postgres/client.ts')
  return stepsOnPostgres(postgres, steps('postgres'))
}

/** Whether there is a migrated database. Also true when this cannot be determined: opening the database reports the reason. */
export async function hasDatabase({ driver, sqlite, postgres }: Storage): Promise<boolean> {
  if (driver === 'sqlite') return isMigrated(sqlite.path)
  const { isPostgresMigrated } = await import('./postgres/client.ts')
  return isPostgresMigrated(postgres)
}

/** The location of the database for operators. It never contains the password of a DSN. */
export const describeStorage = ({ driver, sqlite }: Storage): string =>
  driver === 'sqlite' ? path.resolve(sqlite.path) : 'storage.postgres.dsn'

/** The error of a command when its database does not exist. */
export const noDatabase = (storage: Storage): Error =>
  new Error(`no database at ${describeStorage(storage)}: is the server running, is --config right?`)

/**
 * Refuses a database of an older version. A command must not migrate it, because a server of the older version may still run, and
 * could not start again on newer tables.
 */
async function checkCurrent(storage: Storage): Promise<void> {
  if ((await onStorage(storage, missingMigrations)).length > 0)
    throw new Error(
      `the database at ${describeStorage(storage)} is of an older version: run \`service migrate\`, or start the server`,
    )
}

export interface StoreParts {
  log: Logger
  metrics: Metrics
  /** Epoch seconds. */
  now: number
  /** Whether a missing database is created. A command with the wrong configuration must not create an empty one. */
  creates: boolean
  /** Set when this process is a server: no other server may use the same SQLite file, and the process counts as an instance, which says this about itself. */
  serves?: (ServeLock & { about: InstanceAbout }) | undefined
  /** The busy timeout of SQLite, if it differs from the default. */
  busyMs?: number | undefined
}
/** Opens the store. A server migrates the database, and so does a process that creates it. Rejects when the database is unavailable or of an older version. */
export async function openStore(storage: Storage, parts: StoreParts): Promise<Store> {
  const { log, metrics, now, creates, serves, busyMs } = parts
  const onStage = stagesIn(metrics)
  if (!serves) {
    if (await hasDatabase(storage)) await checkCurrent(storage)
    else if (!creates) throw noDatabase(storage)
  }
  const { driver, sqlite, postgres } = storage
  const unlock = serves && driver === 'sqlite' ? await lockDatabase(sqlite.path, serves) : () => {}
  try {
    await serves?.check?.()
    if (driver === 'postgres' && serves?.onAway) {
      const { waitForPostgres } = await import('./postgres/wait.ts')
      await waitForPostgres(postgres, { wait: postgres.connect_wait, log, onAway: serves.onAway })
    }
    const applied = await withReminders(migrate(storage, now), () =>
      log.warn('the start waits for the tables: another process changes them, or the database cannot commit'),
    )
    if (applied.length > 0) log.info({ migrations: applied }, 'database migrated')
    if (driver === 'sqlite')
      return createStore(
        openSqlite(sqlite.path, { wal: sqlite.wal, serves: serves !== undefined, busyMs, unlock, onStage }, log),
        metrics,
      )
    const { openPostgres } = await import('./postgres/driver.ts')
    return createStore(await openPostgres(postgres, log, { serves: serves?.about, onStage }), metrics)
  } catch (error) {
    unlock()
    throw error
  }
}

/**
 * The store of a front thread, and `note`, which takes the health of the storage as the main thread reports it. On SQLite the main thread runs
 * every operation by `call`. On PostgreSQL the front thread has its own share of the connections, as another instance would.
 */
export async function openFrontStore(
  { storage, server }: Pick<Config, 'storage' | 'server'>,
  { log, metrics }: Pick<StoreParts, 'log' | 'metrics'>,
  call: (op: OpName, input: unknown) => Promise<unknown>,
): Promise<{ store: Store; note: Linked['note'] }> {
  if (storage.driver === 'sqlite') {
    const driver = linkedDriver('sqlite', call)
    return { store: createStore(driver, metrics), note: driver.note }
  }
  const { openPostgres } = await import('./postgres/driver.ts')
  const { postgres } = storage
  // The main thread serves the admin listener and has a share, too.
  const share = (connections: number, least: number) =>
    Math.max(least, Math.floor(connections / (server.front_threads + 1)))
  const max_conns = share(postgres.max_conns, 2)
  const settings = { ...postgres, dsn: postgres.dsn, max_conns, min_conns: share(postgres.min_conns, 0) }
  const driver = await openPostgres(settings, log, { makesPartitions: false, onStage: stagesIn(metrics) })
  return { store: createStore(driver, metrics), note: () => {} }
}
