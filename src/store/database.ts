// The SQLite file: how it is opened and prepared, and the messages between the driver and the storage thread.
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import type Sqlite from 'better-sqlite3'
import type { Outcome } from '../lib/threads/lane.ts'
import type { OpName } from './operations.ts'
import { type MigrateHow, type MigrationSteps, migration, runSteps } from './schema/migrate.ts'

export interface Job {
  op: OpName
  input: unknown
}
/** The answer of the storage thread: an outcome per job, and whether another process wrote in the meantime. */
export interface BatchResult {
  /** In the order of the jobs. Missing when every job succeeded and returned nothing. */
  outcomes?: (Outcome<unknown> | { failed: Failure })[]
  /** Whether another connection wrote since the last batch. */
  foreign: boolean
  /** Milliseconds that the thread needed, including the disk. */
  ms: number
}
export interface Failure {
  code: string
  message: string
}

const require = createRequire(import.meta.url)
const hasNodeApi10 = Number(process.versions['napi']) >= 10
/** SQLite. From Node 24.19 on the process may crash when a statement of better-sqlite3 12 is garbage collected. Node 20 cannot load version 13. */
export const Database: typeof Sqlite = hasNodeApi10 ? require('better-sqlite3-napi') : require('better-sqlite3')

/** How long a statement waits for another connection that holds the lock of the database. */
const BUSY_TIMEOUT_MS = 5000
const CHECKPOINT_PAGES = 4000

/** Opens a connection with the settings that every part of the service uses. A busy timeout may be given. */
export function openDatabase(file: string, wal: boolean, busyMs = BUSY_TIMEOUT_MS): Sqlite.Database {
  try {
    mkdirSync(path.dirname(path.resolve(file)), { recursive: true, mode: 0o700 })
    // Created here with its mode, because it contains hashes. SQLite gives the WAL and shared-memory files the same mode.
    closeSync(openSync(file, 'a', 0o600))
    const db = new Database(file, { timeout: busyMs })
    db.pragma(`journal_mode = ${wal ? 'WAL' : 'DELETE'}`)
    // A committed row must survive a power failure.
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

/** Whether a file is a migrated database. True for a file that cannot be read: opening it reports the reason. */
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

/** Bytes of a database including its write-ahead log, also while another process has it open. */
export function databaseBytes(file: string): number {
  const db = new Database(file, { readonly: true, timeout: BUSY_TIMEOUT_MS })
  try {
    return Number(db.pragma('page_count', { simple: true })) * Number(db.pragma('page_size', { simple: true }))
  } finally {
    db.close()
  }
}

/** Creates or updates the tables. Returns the names of the migrations it applied. */
export const prepareDatabase = (file: string, wal: boolean, now: number, how?: MigrateHow): string[] =>
  stepsOnFile(file, wal, migration('sqlite', now, how))

/** Runs steps on a connection of their own. */
export function stepsOnFile<R>(file: string, wal: boolean, steps: MigrationSteps<R>): R {
  const db = openDatabase(file, wal)
  try {
    return runSteps(db, steps)
  } finally {
    db.close()
  }
}
