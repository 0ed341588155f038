// Migrations on PostgreSQL: several processes at once, and the same tables as on SQLite.
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readBuild } from '../../src/lib/build.ts'
import { Database } from '../../src/store/database.ts'
import { preparePostgres, stepsOnPostgres } from '../../src/store/postgres/client.ts'
import {
  type MigrateHow,
  type Migration,
  migrateSqlite,
  migration,
  readMigrations,
} from '../../src/store/schema/migrate.ts'
import { runHere } from '../support/cli.ts'
import { tempFolder } from '../support/folder.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { NOW } from '../support/records.ts'
import { startService } from '../support/service.ts'
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

test('P11 a database that a newer version expanded is used; one that works only with a newer version is refused', async () => {
  await preparePostgres({ dsn }, NOW)
  await server.sql(dsn, `INSERT INTO schema_migrations VALUES (999, 'future', 'x', 1)`)
  expect(await preparePostgres({ dsn }, NOW)).toEqual([])
  await server.sql(dsn, `UPDATE schema_support SET oldest = '9.1.0'`)
  await expect(preparePostgres({ dsn }, NOW)).rejects.toThrow('the database works with version 9.1.0 and later')
})

describe('a migration that contracts', () => {
  const contracting: Migration = {
    version: 998,
    name: 'without_default',
    checksum: 'x',
    sql: 'ALTER TABLE clients DROP COLUMN default_resource',
    mark: { kind: 'contract', from: '9.1.0', about: 'an older instance reads default_resource.' },
  }
  const run = (how: MigrateHow) => stepsOnPostgres({ dsn }, migration('postgres', NOW, how, [...known, contracting]))
  const seen = (id: string, version: string | null, secondsAgo = 0) =>
    server.sql(
      dsn,
      `INSERT INTO instances (id, seen_at, version, host, address) VALUES ('${id}',
        (extract(epoch FROM now()) * 1000)::bigint - ${secondsAgo * 1000}, ${version ? `'${version}', '${id}.example.com', ':9000'` : 'NULL, NULL, NULL'})`,
    )
  const oldest = async () => (await server.sql(dsn, 'SELECT oldest FROM schema_support'))[0]?.['oldest']
  beforeEach(() => preparePostgres({ dsn }, NOW))

  test('is left out by serve and by migrate, and --contract applies it and records the oldest version that works', async () => {
    expect([await run({}), await oldest()]).toEqual([[], '0.2.1'])
    expect([await run({ contracts: true }), await oldest()]).toEqual([['998_without_default'], '9.1.0'])
  })

  test('waits for older instances, which are named, and --force does not', async () => {
    await seen('old', '9.0.9')
    await seen('ancient', null)
    await seen('new', '9.1.0')
    await seen('gone', '9.0.0', 70)
    await expect(run({ contracts: true })).rejects.toThrow(
      'migration 998_without_default must wait for instances that are older than 9.1.0 and were seen within the last minute: ancient (older than 0.2.1), old.example.com:9000 (9.0.9). An older instance reads default_resource. Stop them',
    )
    expect(await oldest()).toBe('0.2.1')
    expect(await run({ contracts: true, force: true })).toEqual(['998_without_default'])
  })
})

test('a database of 0.2.0 is not migrated while an instance of 0.2.0 uses it', async () => {
  await migrateUpTo(22)
  await server.sql(dsn, `INSERT INTO instances VALUES ('running', (extract(epoch FROM now()) * 1000)::bigint)`)
  const env = { SERVICE_STORAGE_DRIVER: 'postgres', SERVICE_STORAGE_POSTGRES_DSN: dsn }
  expect(await runHere(['migrate'], env)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      'migration 041_client_secrets must wait for instances that are older than 0.2.1 and were seen within the last minute: running (older than 0.2.1)',
    ),
  })
  expect(await server.sql(dsn, 'SELECT max(version)::int AS newest FROM schema_migrations')).toEqual([{ newest: 22 }])
  const plan = JSON.parse((await runHere(['migrate', '--plan', '--json'], env)).stdout) as Record<string, unknown>[]
  expect(plan.filter(({ kind }) => kind === 'contract')).toEqual([
    {
      migration: '041_client_secrets',
      kind: 'contract',
      applied_by: 'serve',
      locks: ['clients: all access', 'clients: the rows that it changes'],
      older_instances: 'an older instance reads the column secret_hash, which is dropped.',
      oldest: '0.2.1',
      waits_for: ['running (older than 0.2.1)'],
    },
  ])
  await server.sql(dsn, 'DELETE FROM instances')
  expect((await runHere(['migrate'], env)).code).toBe(0)
  expect(await runHere(['migrate', '--plan'], env)).toEqual({
    code: 0,
    stdout: '',
    stderr: 'no migration is pending\n',
  })
})

test('an instance that is too old for the database is not ready, and says why, until the database works with it', async () => {
  const service = await startService({ SERVICE_STORAGE_DRIVER: 'postgres', SERVICE_STORAGE_POSTGRES_DSN: dsn })
  const ready = async () => {
    const response = await fetch(`${service.issuer}/ready`)
    return [response.status, ((await response.json()) as { reason?: string }).reason]
  }
  expect(await ready()).toEqual([200, undefined])
  await server.sql(dsn, `UPDATE schema_support SET oldest = '9.1.0'`)
  const reason = `the database works with version 9.1.0 and later, and this is version ${readBuild().version}`
  await expect.poll(ready).toEqual([503, reason])
  expect((await fetch(`${service.issuer}/livez`)).status).toBe(200)
  await server.sql(dsn, `UPDATE schema_support SET oldest = '0.2.1'`)
  await expect.poll(ready).toEqual([200, undefined])
  await service.close()
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
