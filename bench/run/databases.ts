// The database under a measurement: made for it and removed after it, unless the caller names one.
import path from 'node:path'
import type { Env } from '../../src/config/env.ts'
import { temporaryDatabase } from '../../src/store/postgres_usage.ts'
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

/** The DSN again. Throws, without what is in it, unless it is one of a server on this machine. */
function onLoopback(dsn: string): string {
  if (!isDsn(dsn) || !URL.canParse(dsn)) throw new Error('it is no DSN such as postgres://user@127.0.0.1:5432/postgres')
  const url = loopbackUrl(dsn)
  // For PostgreSQL a host in the query wins; one that is a path is a socket of this machine.
  for (const host of url.searchParams.getAll('host')) if (!host.startsWith('/')) loopbackUrl(`http://${host}`)
  return dsn
}

/**
 * What speaks against the databases that a run is told to use, a sentence for each fault. None is used that was not asked
 * for, and none that was asked for is passed over.
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
    check(onServer, '--database names a server of PostgreSQL: that goes with --store postgres')
  }
  check(database !== '', '--database names nothing')
  if (named === 'file')
    check(stores.includes('sqlite'), '--database names a file: that goes with --store sqlite, PostgreSQL wants a DSN')
  if (postgres !== undefined) {
    checkDsn('--postgres', postgres)
    check(onServer, '--postgres names a server of PostgreSQL: that goes with --store postgres')
    check(
      named !== 'server',
      '--postgres is for a temporary database, --database names the one to use: only one of them',
    )
  } else if (onServer && named !== 'server') {
    if (env[TEST_DSN]) checkDsn(TEST_DSN, env[TEST_DSN])
    else check(hasFile('postgres'), '--store postgres needs --postgres with the DSN of a server on loopback')
  }
  return faults
}

/** Opens the database for a part of a run, filled with so many issuances. Rejects when none can be had. */
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

/** The variables with which the service, or a part of it, works on a database. */
export const storageEnv = (database: BenchDatabase): Record<string, string> => ({
  SERVICE_STORAGE_DRIVER: database.driver,
  ...(database.driver === 'sqlite'
    ? { SERVICE_STORAGE_SQLITE_PATH: database.file }
    : { SERVICE_STORAGE_POSTGRES_DSN: database.dsn }),
})

/** SERVICE_ variables of a caller that name a database are for another one. */
export const withoutDatabase = (env: Env): Env =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^SERVICE_(STORAGE|DATABASE|TEST)_/.test(name)))
