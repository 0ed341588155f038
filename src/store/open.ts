// Which database keeps the state: chosen here, and nowhere else.
import type { Config } from '../config/schema.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { prepareDatabase } from './database.ts'
import { createStore, type Store } from './index.ts'
import { openSqlite } from './sqlite.ts'

type Storage = Config['storage']

/** Creates or updates the tables. Returns the names of the migrations it applied. Rejects when the database cannot be had. */
export async function migrate({ driver, sqlite, postgres }: Storage, now: number): Promise<string[]> {
  if (driver === 'sqlite') return prepareDatabase(sqlite.path, sqlite.wal, now)
  // Only who uses it loads it.
  const { preparePostgres } = await import('./postgres_client.ts')
  return preparePostgres(postgres.dsn, now)
}

export interface StoreParts {
  log: Logger
  metrics: Metrics
  /** Epoch seconds. */
  now: number
}
/** Migrates the database and opens the store on it. Rejects when it cannot be had. */
export async function openStore(storage: Storage, { log, metrics, now }: StoreParts): Promise<Store> {
  const applied = await migrate(storage, now)
  if (applied.length > 0) log.info({ migrations: applied }, 'database migrated')
  if (storage.driver === 'sqlite') return createStore(openSqlite(storage.sqlite.path, storage.sqlite.wal, log), metrics)
  const { openPostgres } = await import('./postgres.ts')
  return createStore(await openPostgres(storage.postgres, log), metrics)
}
