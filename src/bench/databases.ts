// The database under a measurement: made for it and removed after it, unless the caller names one.
import path from 'node:path'
import type { PostgresPlan } from '../../bench/postgres.ts'
import type { Env } from '../config/rules.ts'
import { temporaryDatabase } from '../store/postgres_usage.ts'
import { hasFile, inChild, nextMessage, startFile, stop, tempDir } from './children.ts'
import { loopbackUrl } from './loopback.ts'
import type { Database } from './probe.ts'
import type { Settings, StoreName } from './settings.ts'

export interface OpenDatabase {
  database: Database
  remove(): Promise<void>
}
const FILL_SECONDS = 3600
const START_SECONDS = 60

const isDsn = (text: string) => /^postgres(ql)?:\/\//.test(text)
const onLoopback = (dsn: string) => {
  loopbackUrl(dsn)
  return dsn
}

/** Where the server of PostgreSQL comes from: the caller's, that of the tests, or the private one of the checkout. */
export const hasPostgres = ({ postgres, env }: Settings): boolean =>
  Boolean(postgres ?? env['SERVICE_TEST_POSTGRES_DSN']) || hasFile('postgres')

/** Opens the database for a part of a run, filled with so many issuances. Rejects when none can be had. */
export async function openDatabase(settings: Settings, store: StoreName, fill: number): Promise<OpenDatabase> {
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
  const named = postgres ?? env['SERVICE_TEST_POSTGRES_DSN']
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
export const storageEnv = (database: Database): Record<string, string> => ({
  SERVICE_STORAGE_DRIVER: database.driver,
  ...(database.driver === 'sqlite'
    ? { SERVICE_STORAGE_SQLITE_PATH: database.file }
    : { SERVICE_STORAGE_POSTGRES_DSN: database.dsn }),
})

/** SERVICE_ variables of a caller that name a database are for another one. */
export const withoutDatabase = (env: Env): Env =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^SERVICE_(STORAGE|DATABASE|TEST)_/.test(name)))
