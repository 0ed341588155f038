// The database of a measurement: created before it and removed after it, unless the caller names one.
import path from 'node:path'
import type { Env } from '../../src/config/env.ts'
import { temporaryDatabase } from '../../src/store/postgres/usage.ts'
import { loopbackUrl } from '../load/loopback.ts'
import type { PostgresPlan } from '../peers/postgres.ts'
import { hasFile, inChild, nextMessage, startFile, stop, tempDir } from './children.ts'
import type { BenchDatabase } from './probe.ts'
import type { Settings, StoreName } from './settings.ts'

export interface OpenDatabase {
  database: BenchDatabase
  remove(): Promise<void>
}
const FILL_SECONDS = 3600
const START_SECONDS = 60

const TEST_DSN = 'SERVICE_TEST_POSTGRES_DSN'
const isDsn = (text: string) => /^postgres(ql)?:\/\//.test(text)

/** Returns the DSN. Throws unless it is the DSN of a server on this machine; the error does not contain the DSN, which may have a password. */
function onLoopback(dsn: string): string {
  if (!isDsn(dsn) || !URL.canParse(dsn)) throw new Error('not a DSN such as postgres://user@127.0.0.1:5432/postgres')
  const url = loopbackUrl(dsn)
  // In PostgreSQL, a host in the query takes precedence. A host that is a path is a socket on this machine.
  for (const host of url.searchParams.getAll('host')) if (!host.startsWith('/')) loopbackUrl(`http://${host}`)
  return dsn
}

/**
 * Checks the databases that the flags of a run name, and returns a sentence for each fault. A run uses only databases that were
 * named, and all of them.
 */
export function databaseFaults({ database, postgres, stores, env }: Settings): string[] {
  const faults: string[] = []
  const check = (isRight: boolean, fault: string) => void (isRight || faults.push(fault))
  const checkDsn = (name: string, dsn: string) => {
    try {
      onLoopback(dsn)
    } catch (error) {
      faults.push(`${name}: ${(error as Error).message}`)
    }
  }
  const onServer = stores.includes('postgres')
  const named = database === undefined ? undefined : /^\w+:\/\//.test(database) ? 'server' : 'file'
  if (named === 'server') {
    checkDsn('--database', database as string)
    check(onServer, '--database names a PostgreSQL server: add --store postgres')
  }
  check(database !== '', '--database is empty')
  if (named === 'file')
    check(stores.includes('sqlite'), '--database names a file: use --store sqlite, or the DSN of a PostgreSQL server')
  if (postgres !== undefined) {
    checkDsn('--postgres', postgres)
    check(onServer, '--postgres names a PostgreSQL server: add --store postgres')
    check(named !== 'server', 'use only one of --postgres (a temporary database) and --database (an existing database)')
  } else if (onServer && named !== 'server') {
    if (env[TEST_DSN]) checkDsn(TEST_DSN, env[TEST_DSN])
    else check(hasFile('postgres'), '--store postgres needs --postgres with the DSN of a server on loopback')
  }
  return faults
}

/** Opens the database for a part of a run, filled with the given number of issuances. Rejects when it cannot be opened. */
export async function openBenchDatabase(settings: Settings, store: StoreName, fill: number): Promise<OpenDatabase> {
  const opened = await emptyDatabase(settings, store)
  try {
    if (fill > 0) await inChild('fill', { database: opened.database, rows: fill }, FILL_SECONDS)
    return opened
  } catch (error) {
    await opened.remove()
    throw error
  }
}

async function emptyDatabase({ database, postgres, env }: Settings, store: StoreName): Promise<OpenDatabase> {
  const keep = async () => {}
  if (database && isDsn(database) === (store === 'postgres'))
    return {
      database: isDsn(database)
        ? { driver: 'postgres', dsn: onLoopback(database) }
        : { driver: 'sqlite', file: path.resolve(database) },
      remove: keep,
    }
  if (store === 'sqlite')
    return { database: { driver: 'sqlite', file: path.join(tempDir(), 'service.db') }, remove: keep }
  const named = postgres ?? env[TEST_DSN]
  if (named) {
    const { dsn, drop } = await temporaryDatabase(onLoopback(named))
    return { database: { driver: 'postgres', dsn }, remove: drop }
  }
  const plan: PostgresPlan = { folder: tempDir() }
  const server = startFile('postgres', plan)
  const { dsn } = (await nextMessage(server, START_SECONDS)) as { dsn: string }
  return { database: { driver: 'postgres', dsn }, remove: () => stop(server) }
}

/** The environment variables that select a database for the service. */
export const storageEnv = (database: BenchDatabase): Record<string, string> => ({
  SERVICE_STORAGE_DRIVER: database.driver,
  ...(database.driver === 'sqlite'
    ? { SERVICE_STORAGE_SQLITE_PATH: database.file }
    : { SERVICE_STORAGE_POSTGRES_DSN: database.dsn }),
})

/** Removes the variables of the caller that select a database: they are for another database. */
export const withoutDatabase = (env: Env): Env =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^SERVICE_(STORAGE|DATABASE|TEST)_/.test(name)))
