// What `service migrate --plan` shows: the migrations that a database lacks, what they lock, and what they mean for older instances.

import type { Op } from '../op.ts'
import {
  type Dialect,
  isAppliedByServe,
  type Migration,
  type MigrationSteps,
  migrationName,
  pendingMigrations,
  readMigrations,
} from './migrate.ts'
import { locksOf } from './migration_mark.ts'
import { olderInstances, readSchema } from './schema_support.ts'

export interface PlannedMigration {
  migration: string
  kind: 'expand' | 'contract'
  /** The command that applies it. */
  applied_by: 'serve' | 'service migrate --contract'
  /** Locked tables, and how. */
  locks: string[]
  /** What an instance of an older version does with it. */
  older_instances: string
  /** The oldest version that works with the tables afterwards, of a migration that contracts. */
  oldest?: string
  /** Instances that are older than this and run now. */
  waits_for?: string[]
}

/** The missing migrations of a database. */
export function* plannedMigrations(dialect: Dialect): MigrationSteps<PlannedMigration[]> {
  const schema = yield* readSchema()
  const planned: PlannedMigration[] = []
  for (const each of pendingMigrations(readMigrations(dialect), schema)) {
    const { mark } = each
    const older: Op<string[]> | undefined =
      mark.kind === 'contract' && dialect === 'postgres' ? olderInstances(schema, mark.from) : undefined
    planned.push({ ...planOf(each, dialect), ...(older ? { waits_for: yield* older } : {}) })
  }
  return planned
}

/** The migrations of a database that does not exist yet: `serve` applies all. */
export const planOfNew = (dialect: Dialect): PlannedMigration[] =>
  readMigrations(dialect).map((each) => ({ ...planOf(each, dialect), applied_by: 'serve', locks: [] }))

function planOf(each: Migration, dialect: Dialect): PlannedMigration {
  const { mark, sql } = each
  return {
    migration: migrationName(each),
    kind: mark.kind,
    applied_by: isAppliedByServe(each) ? 'serve' : 'service migrate --contract',
    locks: dialect === 'sqlite' ? ['the whole file'] : locksOf(sql),
    older_instances: mark.about,
    ...(mark.kind === 'contract' ? { oldest: mark.from } : {}),
  }
}
