// The database under a measurement: made for it and removed after it, unless the caller names one.
import path from 'node:path'
import type { Env } from '../config/rules.ts'
import { migrate } from '../store/open.ts'
import { temporaryDatabase } from '../store/postgres_usage.ts'
import { hasFile, inChild, nextMessage, startFile, stop, tempDir } from './children.ts'
import { loopbackUrl } from './loopback.ts'
import type { Database } from './service.ts'
import type { Settings } from './settings.ts'

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
export async function openDatabase(
  settings: Settings,
  store: 'sqlite' | 'postgres',
  fill: number,
): Promise<OpenDatabase> {
  const opened = await emptyDatabase(settings, store)
  if (fill > 0) await fillDatabase(opened.database, fill)
  return opened
}

async function emptyDatabase(
  { database, postgres, env }: Settings,
  store: 'sqlite' | 'postgres',
): Promise<OpenDatabase> {
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
  const server = startFile('postgres', {})
  const { dsn } = (await nextMessage(server, START_SECONDS)) as { dsn: string }
  return { database: { driver: 'postgres', dsn }, remove: () => stop(server) }
}

/** Writes that many issuances and what belongs to them, as a service that has run for long would have. */
async function fillDatabase(database: Database, rows: number): Promise<void> {
  const { driver } = database
  const [sqlite, dsn] = driver === 'sqlite' ? [database.file, ''] : ['', database.dsn]
  const storage = { driver, sqlite: { path: sqlite, wal: true }, postgres: { dsn } }
  await migrate(storage as Parameters<typeof migrate>[0], Math.floor(Date.now() / 1000))
  await inChild('fill', { database, rows }, FILL_SECONDS)
}

/** SERVICE_ variables of a caller that name a database are for another one. */
export const withoutDatabase = (env: Env): Env =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^SERVICE_(STORAGE|DATABASE|TEST)_/.test(name)))
