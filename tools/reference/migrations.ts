// Generates docs/reference/migrations.md: what each migration since the rule means for instances of an older version.
import { migrationName, readMigrations } from '../../src/store/schema/migrate.ts'
import { locksOf } from '../../src/store/schema/migration_mark.ts'
import { code, page, table } from './markdown.ts'

const INTRO = `Migrations since 0.2.1, and the last one before. A migration that expands leaves older instances working, and \`serve\` applies it. One that contracts
breaks instances that are older than the version in the table: \`service migrate --contract\` applies it after the roll-out ([upgrade](../operate/upgrade.md)). Migrations
001 to 067 came before this rule. \`service migrate --plan\` shows those that a database lacks. Locks are those of PostgreSQL; SQLite locks the whole file.`

const FIRST = 68

/** The table of migrations, in their order. */
export const renderMigrations = (): string =>
  page(
    'Migrations',
    'the first lines of migrations/*.sql',
    INTRO,
    table(
      ['Migration', 'Kind', 'An older instance', 'Locks'],
      readMigrations('postgres')
        .filter(({ version, mark }) => version >= FIRST || mark.kind === 'contract')
        .map((each) => [
          code(migrationName(each)),
          each.mark.kind === 'contract' ? `contracts: needs ${each.mark.from}` : 'expands',
          each.mark.about,
          locksOf(each.sql).join('; '),
        ]),
    ),
  )
