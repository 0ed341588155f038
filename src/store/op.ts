// A store operation is a generator that yields statements and returns its result. The driver runs it inside one transaction. It throws
// only to roll back. The SQL is portable: ? placeholders, ON CONFLICT, RETURNING, no functions of one database.

export type Param = string | number | Buffer | null
export interface Statement {
  sql: string
  params: readonly Param[]
  want: 'one' | 'all' | 'run'
  /** SELECT ... FOR UPDATE on databases with concurrent writers: the rows are locked until the commit. */
  forUpdate?: boolean
}
export type Op<R> = Generator<Statement, R, unknown>
export type Row = Record<string, unknown>

/** The first row, or undefined. */
export function* one(sql: string, ...params: Param[]): Op<Row | undefined> {
  return (yield { sql, params, want: 'one' }) as Row | undefined
}
/** The first row, locked: operations that lock or change it wait for the commit of this operation. */
export function* forUpdate(sql: string, ...params: Param[]): Op<Row | undefined> {
  return (yield { sql, params, want: 'one', forUpdate: true }) as Row | undefined
}
/** Operations of one kind, one after another until their commits: what one counts or reads has what the others added. On databases with concurrent writers it locks the row of a migration, which always exists. */
export function* oneAtATime(kind: keyof typeof ROW_OF): Op<void> {
  yield* forUpdate('SELECT version FROM schema_migrations WHERE version = ?', ROW_OF[kind])
}
const ROW_OF = { client_requests: 1, fronting_links: 2, event_receivers: 3 } as const
/** Every row. */
export function* all(sql: string, ...params: Param[]): Op<Row[]> {
  return (yield { sql, params, want: 'all' }) as Row[]
}
/** Runs a change. Returns the number of affected rows. */
export function* change(sql: string, ...params: Param[]): Op<number> {
  return (yield { sql, params, want: 'run' }) as number
}

/** Runs a change of at most one row. Returns whether it changed the row. */
export function* changed(sql: string, ...params: Param[]): Op<boolean> {
  return (yield* change(sql, ...params)) === 1
}
/** Whether there is a row: `users WHERE id = ?`. */
export function* exists(rows: string, ...params: Param[]): Op<boolean> {
  return (yield* one(`SELECT 1 AS found FROM ${rows} LIMIT 1`, ...params)) !== undefined
}
/** The number that a statement selects as `n`. */
export function* selectNumber(sql: string, ...params: Param[]): Op<number> {
  return num((yield* one(sql, ...params))?.n)
}

/** Values of one statement: PostgreSQL allows 65,535, SQLite 32,766. Each statement is a round trip. */
const MAX_VALUES = 4096
/** Divides items, each with this number of values, for statements. Each part has a power of two of items, so that few statements are prepared. */
export function partsOf<T>(items: readonly T[], values = 1): T[][] {
  const powerOf = (count: number) => 2 ** Math.floor(Math.log2(count))
  const most = powerOf(MAX_VALUES / values)
  const parts: T[][] = []
  for (let at = 0; at < items.length; at += parts.at(-1)?.length ?? 0)
    parts.push(items.slice(at, at + Math.min(most, powerOf(items.length - at))))
  return parts
}

/** The places of a number of parameters, as a list. */
export const placesOf = (count: number): string => `(${Array(count).fill('?').join(', ')})`

/** Inserts rows with the values of the named columns. Returns the number of added rows. */
export function* insertRows(into: string, rows: readonly (readonly Param[])[], ending = ''): Op<number> {
  let added = 0
  for (const part of partsOf(rows, rows[0]?.length)) {
    const values = part.map((row) => placesOf(row.length)).join(', ')
    added += yield* change(`INSERT INTO ${into} VALUES ${values} ${ending}`.trimEnd(), ...part.flat())
  }
  return added
}

/** An id or hash (base64url) as it is stored: bytes. */
export const idBytes = (text: string): Buffer => Buffer.from(text, 'base64url')
export const maybeIdBytes = (text: string | undefined): Buffer | null => (text === undefined ? null : idBytes(text))
export const orNull = <T extends string | number>(value: T | undefined): T | null => value ?? null

/** Readers of columns: NULL becomes undefined, and bytes become base64url text. */
export const str = (value: unknown): string => value as string
export const maybeStr = (value: unknown): string | undefined => (value as string | null) ?? undefined
export const num = (value: unknown): number => value as number
export const maybeNum = (value: unknown): number | undefined => (value as number | null) ?? undefined
export const idText = (value: unknown): string => (value as Buffer).toString('base64url')
export const maybeIdText = (value: unknown): string | undefined =>
  value === null || value === undefined ? undefined : idText(value)
export const flag = (value: unknown): boolean => value === 1
export const decoded = <T>(value: unknown): T => JSON.parse(value as string) as T
export const maybeDecoded = <T>(value: unknown): T | undefined => (value === null ? undefined : decoded<T>(value))
export const maybeEncoded = (value: object | undefined): string | null =>
  value === undefined ? null : JSON.stringify(value)

/** Columns qualified by the alias of a table. */
export const columnsOf = (alias: string, columns: string): string =>
  columns
    .split(', ')
    .map((column) => `${alias}.${column}`)
    .join(', ')

/** The last id of the next `rows` rows of a table after an id. Undefined when fewer rows are left. */
export function* windowEnd(table: string, after: Buffer, rows: number): Op<Buffer | undefined> {
  const last = yield* one(`SELECT id FROM ${table} WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?`, after, rows - 1)
  return last?.id as Buffer | undefined
}

export type Condition = readonly [sql: string, ...params: Param[]]
/** The condition that a column has a value. Undefined when no value is given. */
export const is = (column: string, value: Param | undefined): Condition | undefined =>
  value === undefined ? undefined : [`${column} = ?`, value]
/** The condition that one of two conditions holds. */
export const either = ([a, ...ofA]: Condition, [b, ...ofB]: Condition): Condition => [`(${a} OR ${b})`, ...ofA, ...ofB]
/** The condition that one of some columns contains a text. The case is ignored. */
export function containing(text: string, ...columns: readonly string[]): Condition {
  const pattern = `%${text.toLowerCase().replace(/[!%_]/g, '!$&')}%`
  return [
    `(${columns.map((column) => `lower(${column}) LIKE ? ESCAPE '!'`).join(' OR ')})`,
    ...columns.map(() => pattern),
  ]
}
/** Conditions joined by AND, with their parameters; undefined ones are left out. */
export function where(...conditions: readonly (Condition | undefined)[]): { sql: string; params: Param[] } {
  const used = conditions.filter((each) => each !== undefined)
  return {
    sql: used.length ? `WHERE ${used.map(([sql]) => sql).join(' AND ')}` : '',
    params: used.flatMap(([, ...params]) => params),
  }
}
