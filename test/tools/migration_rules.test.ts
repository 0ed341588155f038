// The check that a migration leaves the release before it working.
import { describe, expect, test } from 'vitest'
import { readMigrations } from '../../src/store/schema/migrate.ts'
import { contractionsIn, locksOf } from '../../src/store/schema/migration_mark.ts'
import { migrationFaults } from '../../tools/migration_rules.ts'

const expand = (sql: string) => [{ name: '900_x.sql', text: `-- expand: an older instance ignores it.\n${sql}` }]

describe('a migration that expands', () => {
  test.each([
    'ALTER TABLE clients DROP COLUMN scope;',
    'DROP TABLE clients;',
    'drop index clients_by_age;',
    'ALTER TABLE clients RENAME COLUMN scope TO scopes;',
    'ALTER TABLE clients RENAME TO parties;',
    'ALTER TABLE clients ALTER COLUMN version TYPE TEXT;',
    'ALTER TABLE clients ALTER COLUMN version SET DATA TYPE TEXT;',
    'ALTER TABLE clients ALTER COLUMN logo SET NOT NULL;',
    'ALTER TABLE clients ADD COLUMN a TEXT NOT NULL;',
    'ALTER TABLE clients ADD COLUMN a TEXT,\n  ADD COLUMN b TEXT NOT NULL;',
    'ALTER TABLE clients ADD CONSTRAINT c CHECK (version > 0);',
    'CREATE UNIQUE INDEX clients_by_name ON clients (client_name);',
    'TRUNCATE sessions;',
    "DO $$ BEGIN EXECUTE format('ALTER TABLE %I DROP COLUMN scope', 'clients'); END $$;",
  ])('is refused with %s', (sql) => {
    expect(migrationFaults(expand(sql))).toEqual([expect.stringContaining('contracts: the release before must work')])
    expect(migrationFaults([{ name: '900_x.sql', text: `-- contract from 0.3.0: why.\n${sql}` }])).toEqual([])
  })

  test.each([
    'CREATE TABLE a (b TEXT NOT NULL UNIQUE); CREATE UNIQUE INDEX a_by_b ON a (b);',
    'ALTER TABLE clients ADD COLUMN a TEXT;',
    "ALTER TABLE clients ADD COLUMN a TEXT NOT NULL DEFAULT '';",
    'ALTER TABLE clients ADD COLUMN a TEXT; CREATE UNIQUE INDEX clients_by_a ON clients (a) WHERE a IS NOT NULL;',
    'CREATE INDEX clients_by_name ON clients (client_name); -- nothing may DROP COLUMN here',
    'UPDATE users SET email_verified = 1;',
  ])('is accepted with %s', (sql) => {
    expect(migrationFaults(expand(sql))).toEqual([])
  })

  test.each(['', 'ALTER TABLE a ADD COLUMN b TEXT;\n', '-- contract: x\n', '-- expand:\n', '\n-- expand: late\n'])(
    'must have a mark in the first line, and %j is none',
    (text) => {
      expect(migrationFaults([{ name: '900_x.sql', text }])).toEqual([
        expect.stringContaining('migrations/900_x.sql: the first line must be `-- expand: …`'),
      ])
    },
  )
})

test('of the migrations without a mark, the one that dropped a column is known as a contraction', () => {
  const before = readMigrations('postgres').filter(({ version }) => version < 68)
  // 021, which 0.2.0 has, makes a partitioned table of a table, with the same name and columns.
  expect(before.filter(({ sql }) => contractionsIn(sql).length > 0).map(({ version }) => version)).toEqual([21, 41])
  expect(before.filter(({ mark }) => mark.kind === 'contract').map(({ version }) => version)).toEqual([41])
})

test('a migration names the existing tables that it locks, and how', () => {
  expect(
    locksOf(
      'CREATE TABLE a (b TEXT); CREATE INDEX a_by_b ON a (b); ALTER TABLE clients ADD COLUMN c TEXT; CREATE INDEX i ON clients (c); UPDATE users SET d = 1; DROP TABLE e;',
    ),
  ).toEqual([
    'clients: all access',
    'e: all access',
    'clients: writes, while an index is built',
    'users: the rows that it changes',
  ])
})
