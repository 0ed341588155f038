// Only one server at a time may use a SQLite file. The lock is a SQLite transaction on an empty file beside the database: the operating
// system releases it when the process ends for any reason, and it works wherever SQLite works. Another file beside it describes the holder.
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/schema.ts'
import { replaceFile } from '../lib/durable.ts'
import { codeOf } from '../lib/error.ts'
import type { Logger } from '../telemetry/logger.ts'
import { cannotOpen, Database } from './database.ts'

/** Milliseconds. A process that only checks whether the lock is held keeps it for less than this. */
const LOOK_MS = 500
const RETRY_MS = 200

export interface LockOptions {
  /** Description of the holder for processes that are refused: `service serve, listening on :9000`. */
  as: string
  /** With this function the process waits for the lock; it is called once with a description of the holder. Without it a lock that is held is an error. */
  onWait?: ((holder: string) => void) | undefined
}

export interface ServeLock extends LockOptions {
  /** Called when the lock is held and before the tables are changed. */
  check?: () => Promise<void>
  /** Called once when PostgreSQL is away at the start. Returns a function that is called when it answers. */
  onAway?: () => Promise<() => Promise<void>>
}

/** How a server locks its SQLite file. With `waits` it waits until another server has ended, and logs that it waits. */
export const lockOfServer = ({ server }: Config, log: Logger, { waits }: { waits?: boolean }): LockOptions => ({
  as: `service serve, listening on ${server.address}`,
  onWait: waits ? (inUse) => log.info({ reason: inUse }, 'waiting for another server to end') : undefined,
})

/** Acquires the lock of a database for this process. Returns a function that releases it. Rejects with an error that names the holder. */
export async function lockDatabase(database: string, { as, onWait }: LockOptions): Promise<() => void> {
  for (let told = false; ; told = true) {
    const taken = tryToTake(database, as)
    if (typeof taken === 'function') return taken
    const inUse = `the database ${database} is in use by ${taken}`
    if (!onWait) throw new Error(`${inUse}: stop it first, or start with --wait to take over when it has ended`)
    if (!told) onWait(inUse)
    await sleep(RETRY_MS)
  }
}

/** Returns a function that releases the lock, or a description of the holder. */
function tryToTake(database: string, as: string): (() => void) | string {
  try {
    mkdirSync(path.dirname(path.resolve(database)), { recursive: true, mode: 0o700 })
    const file = lockFileOf(database)
    return take(file, as) ?? readHolder(file)
  } catch (error) {
    throw cannotOpen(database, error)
  }
}

/** The holder of the lock of a database. Undefined when the lock is free. */
export function lockHolder(database: string): string | undefined {
  if (!existsSync(path.dirname(path.resolve(database)))) return undefined
  const file = lockFileOf(database)
  if (!existsSync(file)) return undefined
  const db = new Database(file, { readonly: true, timeout: 0 })
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get()
    return undefined
  } catch (error) {
    if (isBusy(error)) return readHolder(file)
    throw error
  } finally {
    db.close()
  }
}

/** The same path for every path that leads to the database. */
function lockFileOf(database: string): string {
  try {
    return `${realpathSync(database)}.lock`
  } catch {
    return `${path.join(realpathSync(path.dirname(path.resolve(database))), path.basename(database))}.lock`
  }
}

function take(file: string, as: string): (() => void) | undefined {
  make(file)
  const db = new Database(file, { timeout: LOOK_MS })
  try {
    db.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    if (isBusy(error)) return undefined
    throw error
  }
  noteHolder(file, `${as}, process ${process.pid} on ${hostname()}`)
  return () => {
    rmSync(holderFileOf(file), { force: true })
    db.close()
  }
}

/** Creates the file with its mode. An existing file is not opened: closing it would release the lock of this process. */
function make(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

const holderFileOf = (file: string) => `${file}.holder`

/** A full disk does not prevent the start of a server. The holder is then unknown. */
function noteHolder(file: string, holder: string): void {
  try {
    rmSync(holderFileOf(file), { force: true })
    replaceFile(holderFileOf(file), `${holder}\n`)
  } catch (error) {
    if (codeOf(error) !== 'ENOSPC') throw error
  }
}

function readHolder(file: string): string {
  try {
    return readFileSync(holderFileOf(file), 'utf8').trim()
  } catch {
    return 'another process'
  }
}

const isBusy = (error: unknown): boolean => /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error) ?? '')
