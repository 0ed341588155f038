// A new database with every migration. The migrations run once, on SQLite in a process, on PostgreSQL in the run: copying their result takes a tenth of their time.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { prepareDatabase } from '../../src/store/database.ts'
import { connectedTo, preparePostgres } from '../../src/store/postgres/client.ts'

let migrated: Buffer | undefined

/** Writes the database to a file that does not exist. */
export function createMigratedDatabase(file: string): void {
  migrated ??= migrate()
  writeFileSync(file, migrated, { mode: 0o600 })
}

function migrate(): Buffer {
  const folder = mkdtempSync(path.join(tmpdir(), 'service-migrated-'))
  try {
    const file = path.join(folder, 'service.db')
    prepareDatabase(file, true, now())
    return readFileSync(file)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const now = () => Math.floor(Date.now() / 1000)

/** The database on the PostgreSQL of the run that others are copies of. */
export const MIGRATED = 'service_migrated'

/** Creates it. */
export async function createTemplate(dsn: string): Promise<void> {
  await connectedTo({ dsn }, (query) => query(`CREATE DATABASE ${MIGRATED}`))
  const url = new URL(dsn)
  url.pathname = `/${MIGRATED}`
  await preparePostgres({ dsn: url.href }, now())
}
