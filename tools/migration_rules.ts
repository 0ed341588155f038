// The rule of migrations: the first line says whether a migration only expands, and one that expands removes nothing that an older
// instance uses.
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
