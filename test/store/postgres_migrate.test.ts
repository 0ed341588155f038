// Migrations on PostgreSQL: several processes at once, and the same tables as on SQLite.
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Database } from '../../src/store/database.ts'
import { migrateSqlite, readMigrations } from '../../src/store/migrate.ts'
import { preparePostgres } from '../../src/store/postgres_client.ts'
import { runHere } from '../support/cli.ts'
import { tempFolder } from '../support/folder.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { NOW } from '../support/records.ts'
import { CARRIED_OVER, olderClients } from './older_clients.ts'

let server: PostgresServer
let dsn: string
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())
beforeEach(async () => {
  dsn = await server.database()
})

const known = readMigrations('postgres')
const SCHEMA =
  'CREATE TABLE schema_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL)'

test('P11 each migration is applied by one of the processes that start together on an empty database', async () => {
  const applied = await Promise.all([1, 2, 3].map((n) => preparePostgres({ dsn }, NOW + n)))
  expect(applied.flat().length).toBe(known.length)
  expect(await preparePostgres({ dsn }, NOW)).toEqual([])
  const rows = await server.sql(dsn, 'SELECT version::int, checksum FROM schema_migrations ORDER BY version')
  expect(rows).toEqual(known.map(({ version, checksum }) => ({ version, checksum })))
})

test('a command on a database without tables reports that and creates none; serve and migrate create them', async () => {
  const env = {
    SERVICE_STORAGE_DRIVER: 'postgres',
    SERVICE_STORAGE_POSTGRES_DSN: dsn,
    SERVICE_SIGNING_KEY_PATH: path.join(tempFolder(), 'keys'),
    SERVICE_ADMIN_ADDRESS: '127.0.0.1:2',
  }
  const tables = "SELECT 1 FROM information_schema.tables WHERE table_schema = 'public'"
  for (const words of [['purge'], ['admin', 'client', 'list']])
    expect(await runHere(words, env)).toMatchObject({
      code: 1,
      stderr: 'error: no database at storage.postgres.dsn: is the server running, is --config right?\n',
    })
  const doctor = async () =>
    (await runHere(['doctor', '--json'], { ...env, SERVICE_SERVER_ADDRESS: '127.0.0.1:3' })).stdout
  expect(await doctor()).toMatch(
    /"check":"database","result":"warn","message":"PostgreSQL [\d.]+ answers, without tables"/,
  )
  expect(await server.sql(dsn, tables)).toEqual([])
  expect((await runHere(['migrate'], env)).code).toBe(0)
  expect(await doctor()).toMatch(/"check":"database","result":"ok","message":"PostgreSQL [\d.]+ answers"/)
  expect((await runHere(['admin', 'client', 'list'], env)).code).toBe(0)
})

test.each([
  ['CockroachDB CCL v25.3.1 (x86_64-pc-linux-gnu)', 'CockroachDB'],
  ['PostgreSQL 15.2-YB-2025.1.0.1-b0 on x86_64-pc-linux-gnu', 'YugabyteDB'],
  ['PostgreSQL 8.0.2 on i686-pc-linux-gnu, Redshift 1.0.77467', 'Amazon Redshift'],
  ['PostgreSQL 9.5.0 on x86_64-unknown-linux-gnu (Materialize v0.130.0)', 'Materialize'],
  ['QuestDB 9.0', 'not PostgreSQL'],
])('a server that is not PostgreSQL is named, and no table is made: %s', async (version, name) => {
  const database = new URL(dsn).pathname.slice(1)
  await server.sql(
    dsn,
    `CREATE SCHEMA other; CREATE FUNCTION other.version() RETURNS text LANGUAGE sql AS $$ SELECT '${version}' $$;
     ALTER DATABASE ${database} SET search_path = other, pg_catalog, public`,
  )
  const env = {
    SERVICE_STORAGE_DRIVER: 'postgres',
    SERVICE_STORAGE_POSTGRES_DSN: dsn,
    SERVICE_SIGNING_KEY_PATH: path.join(tempFolder(), 'keys'),
  }
  const { code, stderr } = await runHere(['migrate'], env)
  expect(code).toBe(1)
  expect(stderr).toContain(`the server is ${name} (version: ${version}), which is not supported: use PostgreSQL`)
  const tables = "SELECT 1 FROM information_schema.tables WHERE table_name = 'schema_migrations'"
  expect(await server.sql(dsn, tables)).toEqual([])
})

/** Makes the tables as they were up to a migration. */
async function migrateUpTo(last: number): Promise<void> {
  await server.sql(dsn, SCHEMA)
  for (const { version, name, checksum, sql } of known.filter(({ version }) => version <= last))
    await server.sql(dsn, `${sql}; INSERT INTO schema_migrations VALUES (${version}, '${name}', '${checksum}', 1)`)
}

test('a client of 0.2.0 keeps its secret with the time of its last rotation, and a public client has none', async () => {
  await migrateUpTo(31)
  for (const statement of olderClients((hex) => `'\\x${hex}'`)) await server.sql(dsn, statement)
  await preparePostgres({ dsn }, NOW)
  expect(await server.sql(dsn, 'SELECT client_id, secrets FROM clients ORDER BY client_id')).toEqual(CARRIED_OVER)
})

test('a command on a database of an older version changes nothing, and names the setting but never the DSN', async () => {
  await migrateUpTo(22)
  const env = { SERVICE_STORAGE_DRIVER: 'postgres', SERVICE_STORAGE_POSTGRES_DSN: dsn }
  expect(await runHere(['purge'], env)).toMatchObject({
    code: 1,
    stderr:
      'error: the database at storage.postgres.dsn is of an older version: run `service migrate`, or start the server\n',
  })
  expect(await server.sql(dsn, 'SELECT max(version)::int AS newest FROM schema_migrations')).toEqual([{ newest: 22 }])
  expect((await runHere(['migrate'], env)).code).toBe(0)
  expect((await runHere(['purge'], env)).code).toBe(0)
})

test('P11 a database of a newer version is not changed', async () => {
  await preparePostgres({ dsn }, NOW)
  await server.sql(dsn, `INSERT INTO schema_migrations VALUES (999, 'future', 'x', 1)`)
  await expect(preparePostgres({ dsn }, NOW)).rejects.toThrow('it was written by a newer version of the service')
})

test('a failed migration is rolled back', async () => {
  await server.sql(dsn, 'CREATE TABLE sessions (in_the_way TEXT)')
  await expect(preparePostgres({ dsn }, NOW)).rejects.toThrow(
    'storage.postgres.dsn: relation "sessions" already exists',
  )
  expect(await server.sql(dsn, 'SELECT version FROM schema_migrations')).toEqual([])
  expect(await server.sql(dsn, `SELECT 1 FROM pg_tables WHERE tablename = 'clients'`)).toEqual([])
  await server.sql(dsn, 'DROP TABLE sessions')
  expect((await preparePostgres({ dsn }, NOW)).length).toBe(known.length)
})

test('both databases have the same tables, with the same columns', async () => {
  await preparePostgres({ dsn }, NOW)
  const db = new Database(':memory:')
  migrateSqlite(db, NOW)
  const lite = db
    .prepare(
      `SELECT t.name || '.' || c.name || ' ' || c.type || CASE WHEN c."notnull" OR c.pk THEN ' NOT NULL' ELSE '' END AS line
       FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'`,
    )
    .all() as { line: string }[]
  const postgres = await server.sql(
    dsn,
    `SELECT table_name || '.' || column_name || ' ' || upper(data_type) || CASE is_nullable WHEN 'NO' THEN ' NOT NULL' ELSE '' END AS line
     FROM information_schema.columns JOIN pg_class ON oid = to_regclass(table_name) AND NOT relispartition WHERE table_schema = 'public'`,
  )
  expect(postgres.map(({ line }) => line).sort()).toEqual(lite.map(({ line }) => line).sort())
  expect(lite.length).toBeGreaterThan(90)
})
