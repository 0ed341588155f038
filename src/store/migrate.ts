// Forward-only migrations: migrations/NNN_name.sql in the order of their numbers, which may have gaps. Each runs in its own transaction
// and is recorded with its checksum.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type Database from 'better-sqlite3'
import { migrationsFolder } from '../lib/paths.ts'
import { all, change, num, type Op, type Statement, str } from './op.ts'

export interface Migration {
  version: number
  name: string
  checksum: string
  sql: string
}

export type Dialect = 'sqlite' | 'postgres'
const LEFT_OUT: Readonly<Record<Dialect, RegExp>> = {
  sqlite: /^.*-- postgres only *\n|^-- Only where there are partitions, to the end\.\n[\s\S]*/gm,
  postgres: /^.*-- sqlite only *\n/gm,
}

/** The migrations of this build for one database. Sections that are marked for other databases are left out. */
export function readMigrations(dialect: Dialect, folder = migrationsFolder): Migration[] {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .sort()
  const numbers = new Set<number>()
  return files.map((file) => {
    const match = /^(\d{3})_([a-z0-9_]+)\.sql$/.exec(file)
    const version = Number(match?.[1])
    if (!match || numbers.has(version))
      throw new Error(`migrations/${file}: names must be NNN_name.sql, each with a unique number`)
    numbers.add(version)
    const text = readFileSync(path.join(folder, file), 'utf8')
    return {
      version,
      name: match[2] as string,
      checksum: createHash('sha256').update(text).digest('hex'),
      sql: text.replace(LEFT_OUT[dialect], ''),
    }
  })
}

interface Applied {
  version: number
  name: string
  checksum: string
}

/** The migrations that are missing. Throws when the database was created by a newer version or from other files. */
export function pendingMigrations(known: readonly Migration[], applied: readonly Applied[]): Migration[] {
  for (const done of applied) {
    const mine = known.find((each) => each.version === done.version)
    if (!mine)
      throw new Error(
        `the database has migration ${done.version} (${done.name}), this version does not: it was written by a newer version of the service`,
      )
    if (mine.checksum !== done.checksum)
      throw new Error(`migration ${done.version} (${done.name}) was applied from another file than this version has`)
  }
  const done = new Set(applied.map((each) => each.version))
  return known.filter((each) => !done.has(each.version))
}

const TABLE =
  'CREATE TABLE IF NOT EXISTS schema_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL)'
/** The key of an advisory lock. Any number that nothing else locks in this database. It is held until the transaction ends. */
const LOCK = 'SELECT pg_advisory_xact_lock(7305818041)'
const DIALECTS: Readonly<Record<Dialect, { table: string; begin: string }>> = {
  sqlite: { table: TABLE, begin: 'BEGIN EXCLUSIVE' },
  postgres: { table: `${LOCK}; ${TABLE}`, begin: `BEGIN; ${LOCK}` },
}

/** Work on one connection: single statements, and scripts of several statements. */
export type MigrationStep = Statement | string

/** Steps on one connection that return names of migrations. */
export type MigrationSteps = Generator<MigrationStep, string[], unknown>

const nameOf = ({ version, name }: Migration): string => `${String(version).padStart(3, '0')}_${name}`

/** The names of the migrations that are missing. Changes nothing. */
export function* missingMigrations(dialect: Dialect): MigrationSteps {
  return pendingMigrations(readMigrations(dialect), yield* readApplied()).map(nameOf)
}

/** Applies the missing migrations, each in a transaction that excludes other processes. Returns the names of the applied migrations. */
export function* migration(
  dialect: Dialect,
  now: number,
  migrations: readonly Migration[] = readMigrations(dialect),
): MigrationSteps {
  const { table, begin } = DIALECTS[dialect]
  yield table
  const names: string[] = []
  for (const each of pendingMigrations(migrations, yield* readApplied())) {
    const { version, name, checksum, sql } = each
    yield begin
    // Another process may have applied it while this process waited for the lock.
    if (!(yield* readApplied()).some((done) => done.version === version)) {
      yield sql
      yield* change(
        'INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)',
        version,
        name,
        checksum,
        now,
      )
      names.push(nameOf(each))
    }
    yield 'COMMIT'
  }
  return names
}

function* readApplied(): Op<Applied[]> {
  const rows = yield* all('SELECT version, name, checksum FROM schema_migrations ORDER BY version')
  return rows.map((row) => ({ version: num(row.version), name: str(row.name), checksum: str(row.checksum) }))
}

/** Applies the missing migrations to a SQLite database. Returns their names. */
export const migrateSqlite = (db: Database.Database, now: number, migrations?: readonly Migration[]): string[] =>
  runSteps(db, migration('sqlite', now, migrations))

/** Runs the steps on a SQLite database. When a step fails, the open transaction is rolled back and the error is thrown. */
export function runSteps(db: Database.Database, steps: MigrationSteps): string[] {
  const execute = (step: MigrationStep): unknown => {
    if (typeof step === 'string') return db.exec(step)
    const statement = db.prepare(step.sql)
    return step.want === 'run' ? statement.run(step.params).changes : statement.all(step.params)
  }
  try {
    let next = steps.next()
    while (!next.done) next = steps.next(execute(next.value))
    return next.value
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK')
    throw error
  }
}
