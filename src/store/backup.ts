// Copies of the SQLite file: made while the server writes, and checked before one replaces the database.
import { closeSync, openSync, writeFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { openDatabase } from './database.ts'
import { pendingMigrations, readMigrations, runSteps } from './schema/migrate.ts'
import { readSchema, type Schema } from './schema/schema_support.ts'

/** Writes the current state to a new file that only its owner can read. The server continues to read and write. */
export function copyDatabase(file: string, to: string): void {
  closeSync(openSync(to, 'wx', 0o600))
  const db = openDatabase(file, true)
  try {
    db.prepare('VACUUM INTO ?').run(to)
  } finally {
    db.close()
  }
}

/** Beside the database, because only the server may write to that. */
const markOf = (file: string): string => `${file}.last-backup`

/** Notes that a backup of a database was written now. */
export const noteBackup = (file: string): void => writeFileSync(markOf(file), '', { mode: 0o600 })

/** When the last backup of a database was written, in epoch seconds. Undefined if there was none. */
export async function lastBackup(file: string): Promise<number | undefined> {
  try {
    return Math.floor((await stat(markOf(file))).mtimeMs / 1000)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Throws when a copy is damaged, or needs a newer version of the service. */
export function checkCopy(file: string): void {
  const db = openDatabase(file, false)
  try {
    const result = db.pragma('integrity_check', { simple: true })
    if (result !== 'ok') throw new Error(`the database is damaged: ${String(result)}`)
    pendingMigrations(readMigrations('sqlite'), runSteps<Schema>(db, readSchema()))
  } finally {
    db.close()
  }
}
