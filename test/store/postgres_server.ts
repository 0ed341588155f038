// Stores on databases of a real PostgreSQL.
import { createStore } from '../../src/store/index.ts'
import { openPostgres } from '../../src/store/postgres/driver.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { atEndOfFile } from '../support/end_of_file.ts'
import { silentLog } from '../support/log.ts'
import { type PostgresServer, sql, startPostgres } from '../support/postgres.ts'
import type { Opened } from './conformance.ts'

export const settingsOf = (dsn: string) => ({
  dsn,
  max_conns: 10,
  min_conns: 1,
  max_conn_lifetime: 3600,
  max_conn_idle_time: 1800,
})

/** A server with a migrated database. It is closed when the test file ends. */
export async function startMigrated(): Promise<{ server: PostgresServer; dsn: string }> {
  const server = await startPostgres()
  atEndOfFile(() => server.close())
  return { server, dsn: await server.migrated() }
}

/** Opens the store of a migrated database. */
export async function openDsn(dsn: string): Promise<Opened> {
  const store = createStore(await openPostgres(settingsOf(dsn), silentLog), new Metrics())
  return { store, again: () => openDsn(dsn), sql: (text) => sql(dsn, text), close: () => store.driver.close() }
}

/** A store on a new, migrated database. */
export const openPostgresStore = async (server: PostgresServer): Promise<Opened> => openDsn(await server.migrated())
