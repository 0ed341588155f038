// A store operation is a generator that yields statements and returns its result. The driver runs it inside one transaction. It throws
// only to roll back. The SQL is portable: ? placeholders, ON CONFLICT, RETURNING, no functions of one database.

export type Param = string | number | Buffer | null

/** A part of a statement: SQL with a `?` for each of its parameters. */
export interface Sql {
  sql: string
  params: readonly Param[]
}
/** A template with the values in their places, as in change`DELETE FROM jobs WHERE id = ${id}`, or a text that was put together. A text alone does not compile: with parentheses around a template, its values would be SQL. */
export type SqlText = TemplateStringsArray | Sql
/** A value in a place: a parameter, or a part with parameters of its own. */
export type SqlValue = Param | Sql

/** The texts of templates that contain no parts, so that each is joined once. */
const texts = new Map<TemplateStringsArray, string>()

/** The SQL of a text with its values. */
export function sqlOf(text: SqlText, values: readonly SqlValue[]): Sql {
  if ('sql' in text) return text
  if (values.some(isPart)) {
    const sql = text.reduce((before, after, i) => before + placeOf(values[i - 1] as SqlValue) + after)
    return { sql, params: values.flatMap((value) => (isPart(value) ? value.params : [value])) }
  }
  let sql = texts.get(text)
  if (sql === undefined) {
    sql = text.join('?')
    texts.set(text, sql)
  }
  return { sql, params: values as readonly Param[] }
}
const isPart = (value: SqlValue): value is Sql =>
  typeof value === 'object' && value !== null && !(value instanceof Buffer)
const placeOf = (value: SqlValue): string => (isPart(value) ? value.sql : '?')

/** A part with its values in their places. */
export const part = (text: TemplateStringsArray, ...values: SqlValue[]): Sql => sqlOf(text, values)

/** A part without parameters: a name, columns, a constant condition, or a number that the planner must know. It must not be a text of a caller. */
export const raw = (sql: string | number): Sql => ({ sql: String(sql), params: [] })

export interface Statement extends Sql {
  want: 'one' | 'all' | 'run'
  /** SELECT ... FOR UPDATE on databases with concurrent writers: the rows are locked until the commit. */
  forUpdate?: boolean
}
export type Op<R> = Generator<Statement, R, unknown>
export type Row = Record<string, unknown>

function statementOf(want: Statement['want'], text: SqlText, values: readonly SqlValue[]): Statement {
  const { sql, params } = sqlOf(text, values)
  return { sql, params, want }
}

/** The first row, or undefined. */
export function* one(text: SqlText, ...values: SqlValue[]): Op<Row | undefined> {
  return (yield statementOf('one', text, values)) as Row | undefined
}
/** The first row, locked: operations that lock or change it wait for the commit of this operation. */
export function* forUpdate(text: SqlText, ...values: SqlValue[]): Op<Row | undefined> {
  const { sql, params } = sqlOf(text, values)
  return (yield { sql, params, want: 'one', forUpdate: true }) as Row | undefined
}
/** Operations of one kind, one after another until their commits: what one counts or reads has what the others added. On databases with concurrent writers it locks the row of a migration, which always exists. */
export function* oneAtATime(kind: keyof typeof ROW_OF): Op<void> {
  yield* forUpdate`SELECT version FROM schema_migrations WHERE version = ${ROW_OF[kind]}`
}
const ROW_OF = { client_requests: 1, fronting_links: 2, event_receivers: 3 } as const
/** Every row. */
export function* all(text: SqlText, ...values: SqlValue[]): Op<Row[]> {
  return (yield statementOf('all', text, values)) as Row[]
}
/** Runs a change. Returns the number of affected rows. */
export function* change(text: SqlText, ...values: SqlValue[]): Op<number> {
  return (yield statementOf('run', text, values)) as number
}

/** Runs a change of at most one row. Returns whether it changed the row. */
export function* changed(text: SqlText, ...values: SqlValue[]): Op<boolean> {
  return (yield* change(text, ...values)) === 1
}
/** Whether there is a row: exists`users WHERE id = ${id}`. */
export function* exists(rows: SqlText, ...values: SqlValue[]): Op<boolean> {
  return (yield* one`SELECT 1 AS found FROM ${sqlOf(rows, values)} LIMIT 1`) !== undefined
}
/** The number that a statement selects as `n`. */
export function* selectNumber(text: SqlText, ...values: SqlValue[]): Op<number> {
  return num((yield* one(text, ...values))?.n)
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

/** A list of parameters, as after IN. */
export const listed = (params: readonly Param[]): Sql => ({ sql: placesOf(params.length), params })

/** The values of rows, of which each has as many as the others. */
export const valuesOf = (rows: readonly (readonly Param[])[]): Sql => ({
  sql: `VALUES ${rows.map((row) => placesOf(row.length)).join(', ')}`,
  params: rows.flat(),
})

/** Inserts rows with the values of the named columns. Returns the number of added rows. */
export function* insertRows(into: string, rows: readonly (readonly Param[])[], ending = ''): Op<number> {
  let added = 0
  for (const some of partsOf(rows, rows[0]?.length)) {
    const { sql, params } = valuesOf(some)
    added += yield* change({ sql: `INSERT INTO ${into} ${sql} ${ending}`.trimEnd(), params })
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

/** The last id of the next `rows` rows of a table after an id. Undefined when fewer rows are left. */
export function* windowEnd(table: string, after: Buffer, rows: number): Op<Buffer | undefined> {
  const last = yield* one`SELECT id FROM ${raw(table)} WHERE id > ${after} ORDER BY id LIMIT 1 OFFSET ${rows - 1}`
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
export function where(...conditions: readonly (Condition | undefined)[]): Sql {
  const used = conditions.filter((each) => each !== undefined)
  return {
    sql: used.length ? `WHERE ${used.map(([sql]) => sql).join(' AND ')}` : '',
    params: used.flatMap(([, ...params]) => params),
  }
}
