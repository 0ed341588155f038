// Stores on real SQLite files.
import path from 'node:path'
import { Database } from '../../src/store/database.ts'
import { createStore } from '../../src/store/index.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { tempFolder } from '../support/folder.ts'
import { silentLog } from '../support/log.ts'
import { createMigratedDatabase } from '../support/migrated_database.ts'
import type { Opened } from './conformance.ts'

/** Opens the store of a database file. */
export function openFile(file: string, wal = true, busyMs?: number): Opened {
  const store = createStore(openSqlite(file, { wal, serves: true, busyMs }, silentLog), new Metrics())
  return {
    store,
    again: async () => openFile(file, wal, busyMs),
    sql: async (text) => {
      const db = new Database(file)
      db.exec(text)
      db.close()
    },
    close: () => store.driver.close(),
  }
}

/** A store on a new, migrated file. */
export async function openSqliteStore(): Promise<Opened> {
  const file = path.join(tempFolder(), 'service.db')
  createMigratedDatabase(file)
  return openFile(file)
}
