// Migrations on PostgreSQL: several processes at once, and the same tables as on SQLite.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Database } from '../../src/store/database.ts'
import { migrateSqlite, readMigrations } from '../../src/store/migrate.ts'
import { preparePostgres } from '../../src/store/postgres_client.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { NOW } from '../support/records.ts'

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

test('P11 of processes that start together on an empty database each migration is applied by one', async () => {
  const applied = await Promise.all([1, 2, 3].map((n) => preparePostgres({ dsn }, NOW + n)))
  expect(applied.flat().length).toBe(known.length)
  expect(await preparePostgres({ dsn }, NOW)).toEqual([])
  const rows = await server.sql(dsn, 'SELECT version::int, checksum FROM schema_migrations ORDER BY version')
  expect(rows).toEqual(known.map(({ version, checksum }) => ({ version, checksum })))
})

test('P11 a database of a newer version is left alone', async () => {
  await preparePostgres({ dsn }, NOW)
  await server.sql(dsn, `INSERT INTO schema_migrations VALUES (999, 'future', 'x', 1)`)
  await expect(preparePostgres({ dsn }, NOW)).rejects.toThrow('it was written by a newer version of the service')
})

test('a migration that fails leaves nothing of itself', async () => {
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
