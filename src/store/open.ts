// Which database keeps the state: chosen here, and nowhere else.
import type { Config } from '../config/schema.ts'
import { reminding } from '../lib/patience.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { prepareDatabase } from './database.ts'
import { createStore, type OpName, type Store } from './index.ts'
import { type Linked, linkedDriver } from './linked.ts'
import { openSqlite } from './sqlite.ts'

type Storage = Config['storage']

/** Creates or updates the tables. Returns the names of the migrations it applied. Rejects when the database cannot be had. */
export async function migrate({ driver, sqlite, postgres }: Storage, now: number): Promise<string[]> {
  if (driver === 'sqlite') return prepareDatabase(sqlite.path, sqlite.wal, now)
  // Only who uses it loads it.
  const { preparePostgres } = await import('./postgres_client.ts')
  return preparePostgres(postgres, now)
}

export interface StoreParts {
  log: Logger
  metrics: Metrics
  /** Epoch seconds. */
  now: number
  /** Whether this process serves, and is counted among the instances on one database. */
  serves?: boolean
}
/** Migrates the database and opens the store on it. Rejects when it cannot be had. */
export async function openStore(storage: Storage, { log, metrics, now, serves = false }: StoreParts): Promise<Store> {
  const applied = await reminding(migrate(storage, now), () =>
    log.warn('the start waits for the tables: another process changes them, or the database cannot commit'),
  )
  if (applied.length > 0) log.info({ migrations: applied }, 'database migrated')
  if (storage.driver === 'sqlite')
    return createStore(openSqlite(storage.sqlite.path, { wal: storage.sqlite.wal, serves }, log), metrics)
  const { openPostgres } = await import('./postgres.ts')
  return createStore(await openPostgres(storage.postgres, log, { serves }), metrics)
}

interface FrontStore {
  store: Store
  /** What the main thread says about the health of its storage. */
  note: Linked['note']
}
/**
 * The store of a front thread. On SQLite the main thread does every operation by `call`; PostgreSQL is reached from here, with a share
 * of the connections, as from one more instance.
 */
export async function openFrontStore(
  { storage, server }: Pick<Config, 'storage' | 'server'>,
  { log, metrics }: Pick<StoreParts, 'log' | 'metrics'>,
  call: (op: OpName, input: unknown) => Promise<unknown>,
): Promise<FrontStore> {
  if (storage.driver === 'sqlite') {
    const driver = linkedDriver('sqlite', call)
    return { store: createStore(driver, metrics), note: driver.note }
  }
  const { openPostgres } = await import('./postgres.ts')
  const { postgres } = storage
  // The main thread, which serves the admin listener, has a share too.
  const share = (connections: number, least: number) =>
    Math.max(least, Math.floor(connections / (server.front_threads + 1)))
  const max_conns = share(postgres.max_conns, 2)
  const settings = { ...postgres, dsn: postgres.dsn, max_conns, min_conns: share(postgres.min_conns, 0) }
  const driver = await openPostgres(settings, log, { makesPartitions: false })
  return { store: createStore(driver, metrics), note: () => {} }
}
