// Migrations: applied once, in order, from the files they were applied from.
import { copyFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type Sqlite from 'better-sqlite3'
import { beforeEach, describe, expect, test } from 'vitest'
import { readBuild } from '../../src/lib/build.ts'
import { migrationsFolder } from '../../src/lib/paths.ts'
import { Database } from '../../src/store/database.ts'
import {
  type Migration,
  migrateSqlite,
  migration,
  pendingMigrations,
  readMigrations,
  runSteps,
} from '../../src/store/schema/migrate.ts'
import { tempFolder } from '../support/folder.ts'
import { NOW } from '../support/records.ts'
import { CARRIED_OVER, olderClients } from './older_clients.ts'

const real = readMigrations('sqlite')
const tables = (db: Sqlite.Database) =>
  db
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`)
    .all()
    .map((row) => (row as { name: string }).name)
const applied = (db: Sqlite.Database) =>
  db.prepare('SELECT version, name, checksum, applied_at FROM schema_migrations ORDER BY version').all()

const made = (version: number, name: string, sql: string): Migration => ({
  version,
  name,
  checksum: 'x',
  sql,
  mark: { kind: 'expand', about: 'an older instance ignores it' },
})

let db: Sqlite.Database
beforeEach(() => {
  db = new Database(':memory:')
})

describe('a migration of a database', () => {
  test('that is empty applies all migrations and stores their checksums and times', () => {
    const names = migrateSqlite(db, NOW)
    expect(names.slice(0, 4)).toEqual([
      '001_clients_users',
      '002_tokens',
      '003_resources_consents',
      '004_client_application_type',
    ])
    expect(names.length).toBe(real.length)
    expect(applied(db)).toEqual(
      real.map(({ version, name, checksum }) => ({ version, name, checksum, applied_at: NOW })),
    )
    expect(tables(db)).toEqual(expect.arrayContaining(['clients', 'users', 'issuances', 'audit_events', 'resources']))
  })

  test('P11 that is up to date changes nothing', () => {
    migrateSqlite(db, NOW)
    expect(migrateSqlite(db, NOW + 1)).toEqual([])
    expect(applied(db)).toEqual(
      real.map(({ version, name, checksum }) => ({ version, name, checksum, applied_at: NOW })),
    )
  })

  test('of an older version applies the missing migrations and keeps the rows', () => {
    migrateSqlite(db, NOW, real.slice(0, 3))
    db.exec(
      `INSERT INTO clients VALUES ('c', NULL, 'Old', '[]', '[]', '[]', 'none', '', 'active', 'admin', 0, '', 0, 1, 1, 1)`,
    )
    expect(migrateSqlite(db, NOW + 1)[0]).toBe('004_client_application_type')
    expect(db.prepare('SELECT client_name, application_type FROM clients').get()).toEqual({
      client_name: 'Old',
      application_type: null,
    })
  })

  test('A30 of 0.2.0 keeps a scope that an operator set as a limit, and makes the scope that a client registered a default', () => {
    const before = real.filter(({ version }) => version < 30)
    migrateSqlite(db, NOW, before)
    const add = db.prepare(
      `INSERT INTO clients (client_id, client_name, redirect_uris, grant_types, response_types, token_endpoint_auth_method, scope, status, registration_source, is_agent, agent_description, dpop_bound_access_tokens, version, issued_at, updated_at)
       VALUES (?, '', '[]', '[]', '[]', 'none', 'a b', 'active', ?, 0, '', 0, 1, 1, 1)`,
    )
    const note = db.prepare(
      `INSERT INTO audit_events (id, action, actor_id, client_id, ip, detail, created_at) VALUES (?, 'client_updated', 'admin', ?, '', ?, 1)`,
    )
    for (const [client_id, source, fields] of [
      ['limited', 'dcr', ['scope']],
      ['renamed', 'dcr', ['client_name']],
      ['untouched', 'dcr', undefined],
      ['made', 'admin', ['scope']],
    ] as const) {
      add.run(client_id, source)
      if (fields) note.run(Buffer.from(client_id.padEnd(16)), client_id, JSON.stringify({ fields }))
    }
    migrateSqlite(db, NOW + 1)
    expect(db.prepare('SELECT client_id, operator_set FROM clients WHERE operator_set IS NOT NULL').all()).toEqual([
      { client_id: 'limited', operator_set: '{"scope":"a b"}' },
    ])
  })

  test('of 0.2.0 keeps the secret of a client with the time of its last rotation, and adds none to a public client', () => {
    migrateSqlite(
      db,
      NOW,
      real.filter(({ version }) => version < 41),
    )
    for (const statement of olderClients((hex) => `x'${hex}'`)) db.exec(statement)
    migrateSqlite(db, NOW + 1)
    expect(db.prepare('SELECT client_id, secrets FROM clients ORDER BY client_id').all()).toEqual(CARRIED_OVER)
  })

  test('P11 of a newer version that only expanded it is used as it is', () => {
    migrateSqlite(db, NOW, [...real, made(999, 'future', 'CREATE TABLE future (x)')])
    expect(migrateSqlite(db, NOW)).toEqual([])
    expect(applied(db).length).toBe(real.length + 1)
  })

  test('P11 that works only with a newer version is refused and changes nothing', () => {
    const mark = { kind: 'contract' as const, from: '9.1.0', about: 'it fails' }
    migrateSqlite(db, NOW)
    runSteps(db, migration('sqlite', NOW, {}, [...real, { ...made(999, 'future', 'CREATE TABLE future (x)'), mark }]))
    expect(tables(db)).not.toContain('future')
    runSteps(db, migration('sqlite', NOW, { contracts: true }, [...real, { ...made(999, 'future', 'SELECT 1'), mark }]))
    const { version } = readBuild()
    expect(() => migrateSqlite(db, NOW)).toThrow(
      `the database works with version 9.1.0 and later, and this is version ${version}: start a newer version, or restore a backup`,
    )
  })

  test('P11 of a newer version from before the rule is refused and changes nothing', () => {
    const before = real.filter(({ version }) => version < 68)
    migrateSqlite(db, NOW, [...before, made(69, 'future', 'CREATE TABLE future (x)')])
    expect(() => migrateSqlite(db, NOW)).toThrow(
      'the database has migration 69 (future), this version does not: it was written by a newer version',
    )
  })

  test('that was created from other migration files is refused and changes nothing', () => {
    migrateSqlite(db, NOW, real.slice(0, 2))
    const changed = real.map((each) => (each.version === 2 ? { ...each, checksum: 'changed' } : each))
    expect(() => migrateSqlite(db, NOW, changed)).toThrow('migration 2 (tokens) was applied from another file')
    expect(applied(db).length).toBe(2)
  })

  test('that fails is rolled back, and the migrations before it stay', () => {
    const bad = made(2, 'bad', 'CREATE TABLE half (x); CREATE TABL')
    expect(() => migrateSqlite(db, NOW, [real[0] as Migration, bad])).toThrow()
    expect(tables(db)).not.toContain('half')
    expect(applied(db).length).toBe(1)
    expect(migrateSqlite(db, NOW).length).toBe(real.length - 1)
  })

  test('P11 that another process migrated in the meantime applies nothing twice', () => {
    const file = path.join(tempFolder(), 'x.db')
    const [mine, theirs] = [new Database(file), new Database(file)]
    // The other process is done between the look of this one and its turn.
    const prepare = mine.prepare.bind(mine)
    let looks = 0
    mine.prepare = ((sql: string) => {
      const statement = prepare(sql)
      if (sql.startsWith('SELECT version') && looks++ === 0) {
        const rows = statement.all()
        migrateSqlite(theirs, NOW)
        return { all: () => rows }
      }
      return statement
    }) as typeof mine.prepare
    expect(migrateSqlite(mine, NOW + 1)).toEqual([])
    expect(applied(theirs)).toEqual(
      real.map(({ version, name, checksum }) => ({ version, name, checksum, applied_at: NOW })),
    )
    mine.close()
    theirs.close()
  })

  test('that lacks a migration in the middle applies that migration', () => {
    const [first, , third] = real as [Migration, Migration, Migration]
    expect(pendingMigrations(real.slice(0, 3), { applied: [first, third] }).map(({ version }) => version)).toEqual([2])
  })
})

describe('the migration files', () => {
  const copy = () => {
    const folder = tempFolder()
    for (const file of readdirSync(migrationsFolder))
      copyFileSync(path.join(migrationsFolder, file), path.join(folder, file))
    return folder
  }

  test.each([
    ['use a number twice', (folder: string) => writeFileSync(path.join(folder, '002_again.sql'), '')],
    ['have another form of name', (folder: string) => writeFileSync(path.join(folder, 'fix.sql'), '')],
  ])('must not %s', (_what, change) => {
    const folder = copy()
    expect(readMigrations('sqlite', folder).length).toBe(real.length)
    change(folder)
    expect(() => readMigrations('sqlite', folder)).toThrow('names must be NNN_name.sql, each with a unique number')
  })

  test('may leave numbers out', () => {
    const folder = copy()
    renameSync(path.join(folder, '004_client_application_type.sql'), path.join(folder, '015_x.sql'))
    expect(readMigrations('sqlite', folder).map(({ version }) => version)).toEqual([
      ...[...real.map(({ version }) => version).filter((version) => version !== 4), 15].sort((a, b) => a - b),
    ])
  })

  test('have one checksum for both databases, which changes with any byte', () => {
    const postgres = readMigrations('postgres')
    expect(postgres.map(({ checksum }) => checksum)).toEqual(real.map(({ checksum }) => checksum))
    const folder = copy()
    writeFileSync(path.join(folder, '001_clients_users.sql'), '-- other\n')
    expect(readMigrations('sqlite', folder)[0]?.checksum).not.toBe(real[0]?.checksum)
  })

  test('keep lines that are marked for one database from the other', () => {
    const folder = tempFolder()
    writeFileSync(path.join(folder, '001_x.sql'), 'a\nb -- sqlite only\nc -- postgres only\n')
    expect(readMigrations('sqlite', folder)[0]?.sql).toBe('a\nb -- sqlite only\n')
    expect(readMigrations('postgres', folder)[0]?.sql).toBe('a\nc -- postgres only\n')
  })
})
