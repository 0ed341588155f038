// Forward-only migrations: migrations/NNN_name.sql in the order of their numbers, which may have gaps. Each runs in its own transaction
// and is recorded with its checksum. The first line says what it means for instances of an older version (migration_mark.ts).
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type Database from 'better-sqlite3'
import { migrationsFolder } from '../../lib/paths.ts'
import { change, type Op, type Statement } from '../op.ts'
import { type MigrationMark, markOf } from './migration_mark.ts'
import { olderInstances, raiseOldest, readSchema, type Schema, unsupportedBy } from './schema_support.ts'

export interface Migration {
  version: number
  name: string
  checksum: string
  sql: string
  mark: MigrationMark
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
      mark: markIn(file, version, text),
    }
  })
}

function markIn(file: string, version: number, text: string): MigrationMark {
  try {
    return markOf(version, text)
  } catch (error) {
    throw new Error(`migrations/${file}: ${(error as Error).message}`)
  }
}

/**
 * The migrations that are missing. Throws when this version does not work with the database, or when it was created from other files.
 * A newer version may have expanded it.
 */
export function pendingMigrations(
  known: readonly Migration[],
  { applied, oldest }: Schema,
  version?: string,
): Migration[] {
  const unsupported = oldest && unsupportedBy(oldest, version)
  if (unsupported) throw new Error(`${unsupported}: start a newer version, or restore a backup`)
  for (const done of applied) {
    const mine = known.find((each) => each.version === done.version)
    if (!mine && oldest === undefined)
      throw new Error(
        `the database has migration ${done.version} (${done.name}), this version does not: it was written by a newer version of the service`,
      )
    if (mine && mine.checksum !== done.checksum)
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

/** Steps on one connection. By default they return names of migrations. */
export type MigrationSteps<R = string[]> = Generator<MigrationStep, R, unknown>

/** `007_name`. */
export const migrationName = ({ version, name }: Pick<Migration, 'version' | 'name'>): string =>
  `${String(version).padStart(3, '0')}_${name}`

/** Whether `serve` applies a migration: it expands, or this version does not work without it. */
export const isAppliedByServe = ({ mark }: Migration): boolean => mark.kind === 'expand' || mark.isRequired === true

/** The names of the missing migrations that this version needs. Changes nothing. */
export function* missingMigrations(dialect: Dialect): MigrationSteps {
  return pendingMigrations(readMigrations(dialect), yield* readSchema())
    .filter(isAppliedByServe)
    .map(migrationName)
}

/** What `service migrate` does beyond what `serve` does. */
export interface MigrateHow {
  /** Applies also the migrations that contract. */
  contracts?: boolean
  /** Contracts while older instances run. */
  force?: boolean
}

/**
 * Applies the missing migrations, each in a transaction that excludes other processes: all in a new database, otherwise those that
 * expand. Returns their names. Throws before the first one when one contracts and older instances run.
 */
export function* migration(
  dialect: Dialect,
  now: number,
  { contracts = false, force = false }: MigrateHow = {},
  migrations: readonly Migration[] = readMigrations(dialect),
): MigrationSteps {
  const { table, begin } = DIALECTS[dialect]
  yield table
  const schema = yield* readSchema()
  const appliesAll = contracts || schema.applied.length === 0
  const due = pendingMigrations(migrations, schema).filter((each) => appliesAll || isAppliedByServe(each))
  if (dialect === 'postgres' && !force) yield* refuseWhileUsed(schema, due)
  const names: string[] = []
  for (const each of due) {
    yield begin
    if (yield* applied(each, now)) names.push(migrationName(each))
    yield 'COMMIT'
  }
  return names
}

/** Applies a migration in the open transaction, unless another process applied it while this process waited for the lock. */
function* applied({ version, name, checksum, sql, mark }: Migration, now: number): MigrationSteps<boolean> {
  const schema = yield* readSchema()
  if (schema.applied.some((done) => done.version === version)) return false
  yield sql
  yield* change`INSERT INTO schema_migrations (version, name, checksum, applied_at)
    VALUES (${version}, ${name}, ${checksum}, ${now})`
  if (mark.kind === 'contract') yield* raiseOldest(schema, mark.from)
  return true
}

function* refuseWhileUsed(schema: Schema, due: readonly Migration[]): Op<void> {
  for (const { mark, ...each } of due) {
    if (mark.kind === 'expand') continue
    const older = yield* olderInstances(schema, mark.from)
    if (older.length > 0)
      throw new Error(
        `migration ${migrationName(each)} must wait for instances that are older than ${mark.from} and were seen within the last minute: ${older.join(', ')}. ${sentence(mark.about)} Stop them, or use \`service migrate --contract --force\``,
      )
  }
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** Applies the missing migrations to a SQLite database. Returns their names. */
export const migrateSqlite = (db: Database.Database, now: number, migrations?: readonly Migration[]): string[] =>
  runSteps(db, migration('sqlite', now, {}, migrations))

/** Runs the steps on a SQLite database. When a step fails, the open transaction is rolled back and the error is thrown. */
export function runSteps<R>(db: Database.Database, steps: MigrationSteps<R>): R {
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
