// Copies of the SQLite file: made while the server writes, and checked before one replaces the database.
import { closeSync, openSync } from 'node:fs'
import { openDatabase } from './database.ts'
import { pendingMigrations, readMigrations } from './migrate.ts'

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

/** Throws when a copy is damaged, or was written by a newer version of the service. */
export function checkCopy(file: string): void {
  const db = openDatabase(file, false)
  try {
    const result = db.pragma('integrity_check', { simple: true })
    if (result !== 'ok') throw new Error(`the database is damaged: ${String(result)}`)
    const applied = db.prepare('SELECT version, name, checksum FROM schema_migrations ORDER BY version').all()
    pendingMigrations(readMigrations('sqlite'), applied as Parameters<typeof pendingMigrations>[1])
  } finally {
    db.close()
  }
}
