// The SQLite file: how it is opened and prepared, and what travels between the driver and the storage thread.
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import type Sqlite from 'better-sqlite3'
import type { Outcome } from '../lib/lane.ts'
import { type MigrationSteps, migration, missingMigrations, runSteps } from './migrate.ts'
import type { OpName } from './operations.ts'

export interface Job {
  op: OpName
  input: unknown
}
/** What the storage thread answers: an outcome per job, and whether another process has written meanwhile. */
export interface BatchResult {
  /** In the order of the jobs; missing when all were done and have nothing to say. */
  outcomes?: (Outcome<unknown> | { failed: Failure })[]
  /** Whether another connection wrote since. */
  foreign: boolean
  /** Milliseconds of the thread, the disk included. */
  ms: number
}
export interface Failure {
  code: string
  message: string
}

const require = createRequire(import.meta.url)
const hasNodeApi10 = Number(process.versions['napi']) >= 10
/** SQLite. From Node 24.19 on the collector may end the process when it frees a statement of better-sqlite3 12; Node 20 cannot load 13. */
export const Database: typeof Sqlite = hasNodeApi10 ? require('better-sqlite3-napi') : require('better-sqlite3')

/** How long a statement waits for another connection that holds the lock of the database. */
const BUSY_TIMEOUT_MS = 5000
const CHECKPOINT_PAGES = 4000

/** Opens a connection with the settings that every part of the service uses; with a busy timeout of its own, if one is given. */
export function openDatabase(file: string, wal: boolean, busyMs = BUSY_TIMEOUT_MS): Sqlite.Database {
  try {
    mkdirSync(path.dirname(path.resolve(file)), { recursive: true, mode: 0o700 })
    // Created here with its mode: it holds hashes, and its companions take the mode over.
    closeSync(openSync(file, 'a', 0o600))
    const db = new Database(file, { timeout: busyMs })
    db.pragma(`journal_mode = ${wal ? 'WAL' : 'DELETE'}`)
    // Every answer promises that its rows survive a power cut.
    db.pragma('synchronous = FULL')
    db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
    return db
  } catch (error) {
    throw cannotOpen(file, error)
  }
}

/** The error of a database that cannot be opened. */
export const cannotOpen = (file: string, cause: unknown): Error =>
  new Error(`cannot open the database ${file}: ${(cause as Error).message}`, { cause })

/** Whether a file is a database that was migrated. One that cannot be read counts: opening it says why. */
export function isMigrated(file: string): boolean {
  if (!existsSync(file)) return false
  try {
    const db = new Database(file, { readonly: true, timeout: BUSY_TIMEOUT_MS })
    try {
      return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'").get() !== undefined
    } finally {
      db.close()
    }
  } catch {
    return true
  }
}

/** Bytes of a database with everything in its log, whoever has it open. */
export function databaseBytes(file: string): number {
  const db = new Database(file, { readonly: true, timeout: BUSY_TIMEOUT_MS })
  try {
    return Number(db.pragma('page_count', { simple: true })) * Number(db.pragma('page_size', { simple: true }))
  } finally {
    db.close()
  }
}

/** Creates or updates the tables. Returns the names of the migrations it applied. */
export const prepareDatabase = (file: string, wal: boolean, now: number): string[] =>
  withSteps(file, wal, migration('sqlite', now))

/** The names of the migrations that a migrated file lacks. */
export const missingInDatabase = (file: string, wal: boolean): string[] =>
  withSteps(file, wal, missingMigrations('sqlite'))

function withSteps(file: string, wal: boolean, steps: MigrationSteps): string[] {
  const db = openDatabase(file, wal)
  try {
    return runSteps(db, steps)
  } finally {
    db.close()
  }
}
