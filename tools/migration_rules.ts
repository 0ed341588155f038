// The rule of migrations: the first line says whether a migration only expands, and one that expands removes nothing that an older
// instance uses. `node dist/tools/migration_rules.js` fails with a list of faults.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { migrationsFolder } from '../src/lib/paths.ts'
import { contractionsIn, type MigrationMark, markOf } from '../src/store/schema/migration_mark.ts'

/** A file in `migrations`. */
export interface MigrationFile {
  name: string
  text: string
}

/** Every fault of these migrations, as human-readable lines. */
export function migrationFaults(files: readonly MigrationFile[]): string[] {
  return files.flatMap(({ name, text }) => {
    const version = Number.parseInt(name, 10)
    let mark: MigrationMark
    try {
      mark = markOf(version, text)
    } catch (error) {
      return [`migrations/${name}: ${(error as Error).message}`]
    }
    // Released files cannot change, and were looked through when the rule was made.
    if (mark.kind === 'contract' || version < FIRST_CHECKED) return []
    return contractionsIn(text).map(
      (statement) =>
        `migrations/${name}: \`${statement}\` contracts: the release before must work afterwards. Expand now, and contract a release later with \`-- contract from VERSION: …\``,
    )
  })
}

const FIRST_CHECKED = 68

const readFiles = (): MigrationFile[] =>
  readdirSync(migrationsFolder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => ({ name, text: readFileSync(path.join(migrationsFolder, name), 'utf8') }))

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const faults = migrationFaults(readFiles())
  for (const fault of faults) console.error(fault)
  if (faults.length > 0) process.exitCode = 1
}
