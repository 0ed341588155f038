// What a migration means for instances of an older version, which its first line says, and what it locks.
// `-- expand: …` only adds: older instances work with the tables afterwards. `-- contract from 0.3.0: …` also removes or changes:
// instances that are older than this version do not.

export type MigrationMark =
  | { kind: 'expand'; about: string }
  /** `from` is the oldest version that works with the tables afterwards. This version does not work without a migration that is required. */
  | { kind: 'contract'; from: string; about: string; isRequired?: true }

/** The last migration without a mark. The files of these cannot change any more. */
const LAST_UNMARKED = 67
const MARKED_LATER: Readonly<Record<number, MigrationMark>> = {
  41: {
    kind: 'contract',
    from: '0.2.1',
    about: 'an older instance reads the column secret_hash, which is dropped.',
    isRequired: true,
  },
}
const UNMARKED: MigrationMark = { kind: 'expand', about: 'an older instance ignores what is added.' }

const EXPAND = /^-- expand: (.+)$/m
const CONTRACT = /^-- contract from (\d+\.\d+\.\d+): (.+)$/m

/** The mark of a migration. Throws when its first line is not a mark. */
export function markOf(version: number, text: string): MigrationMark {
  if (version <= LAST_UNMARKED) return MARKED_LATER[version] ?? UNMARKED
  const line = text.slice(0, text.indexOf('\n'))
  const [, about] = EXPAND.exec(line) ?? []
  if (about !== undefined) return { kind: 'expand', about }
  const [, from, what] = CONTRACT.exec(line) ?? []
  if (from !== undefined && what !== undefined) return { kind: 'contract', from, about: what }
  throw new Error(
    'the first line must be `-- expand: …` or `-- contract from VERSION: …`, and say what an older instance does',
  )
}

const withoutComments = (sql: string): string => sql.replace(/--.*$/gm, '')

const NAME = '(?:ONLY\\s+|IF\\s+(?:NOT\\s+)?EXISTS\\s+)*"?(\\w+)"?'
const found = (sql: string, pattern: string): string[] =>
  [...sql.matchAll(new RegExp(pattern.replaceAll('NAME', NAME), 'gi'))].map((match) => match[1] as string)

/** The statements of a migration that an older instance may not survive: it removes, renames, retypes, or refuses what was accepted. */
export function contractionsIn(text: string): string[] {
  const sql = withoutComments(text)
  const patterns = [
    /\bDROP\s+\w+(\s+\w+){0,3}/gi,
    /\bRENAME\s+(COLUMN\s+\w+\s+|CONSTRAINT\s+\w+\s+)?TO\b/gi,
    /\bALTER\s+COLUMN\s+\w+\s+(SET\s+DATA\s+)?TYPE\b/gi,
    /\bSET\s+NOT\s+NULL\b/gi,
    /\bADD\s+(CONSTRAINT\s+\w+|CHECK|UNIQUE|PRIMARY|FOREIGN|EXCLUDE)\b/gi,
    /\bADD\s+COLUMN\s+(?![^,;]*\bDEFAULT\b)[^,;]*\b(NOT\s+NULL|UNIQUE|CHECK|REFERENCES)\b/gi,
    /\bTRUNCATE\b/gi,
  ]
  const statements = patterns.flatMap((pattern) => [...sql.matchAll(pattern)].map(([statement]) => statement))
  return [...statements, ...uniqueIndexes(sql)].map((statement) => statement.replace(/\s+/g, ' ').trim())
}

/** Unique indexes over columns that older instances write. Older instances leave a new column empty. */
function uniqueIndexes(sql: string): string[] {
  const tables = createdTables(sql)
  const added = new Set(found(sql, '\\bADD\\s+COLUMN\\s+NAME'))
  return [...sql.matchAll(/\bCREATE\s+UNIQUE\s+INDEX\s+[\w\s]*?\bON\s+(\w+)\s*\(([^)]*)\)/gi)]
    .filter(([, table = '', columns = '']) => {
      const isNew = columns.split(',').some((column) => added.has(column.trim().split(/\s/)[0] ?? ''))
      return !tables.has(table) && !isNew
    })
    .map(([statement]) => statement)
}

const createdTables = (sql: string): Set<string> => new Set(found(sql, '\\bCREATE\\s+TABLE\\s+NAME'))

/** What a migration locks in tables that exist already, on PostgreSQL. SQLite locks the whole file. */
export function locksOf(text: string): string[] {
  const sql = withoutComments(text)
  const created = createdTables(sql)
  const locks = [
    ...found(sql, '\\bALTER\\s+TABLE\\s+NAME').map((table) => [table, 'all access'] as const),
    ...found(sql, '\\bDROP\\s+TABLE\\s+NAME').map((table) => [table, 'all access'] as const),
    ...found(sql, '\\bCREATE\\s+(?:UNIQUE\\s+)?INDEX\\s+[\\w\\s]*?\\bON\\s+NAME').map(
      (table) => [table, 'writes, while an index is built'] as const,
    ),
    ...found(sql, '\\b(?:UPDATE|DELETE\\s+FROM)\\s+NAME').map((table) => [table, 'the rows that it changes'] as const),
  ]
  const lines = locks.filter(([table]) => !created.has(table)).map(([table, what]) => `${table}: ${what}`)
  return [...new Set(lines)]
}
