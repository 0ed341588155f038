// What a store operation is: a generator that yields statements and returns what happened. The driver runs it inside one
// transaction; it throws only to roll back. SQL is portable: ? placeholders, ON CONFLICT, RETURNING, no database functions.

export type Param = string | number | Buffer | null
export interface Statement {
  sql: string
  params: readonly Param[]
  want: 'one' | 'all' | 'run'
  /** The rows that are read may not change until the commit, where others write at the same time. */
  hold?: boolean
}
export type Op<R> = Generator<Statement, R, unknown>
export type Row = Record<string, unknown>

/** The first row, or undefined. */
export function* one(sql: string, ...params: Param[]): Op<Row | undefined> {
  return (yield { sql, params, want: 'one' }) as Row | undefined
}
/** The first row, held: others who hold or change it wait for the commit of this operation. */
export function* forUpdate(sql: string, ...params: Param[]): Op<Row | undefined> {
  return (yield { sql, params, want: 'one', hold: true }) as Row | undefined
}
/** Every row. */
export function* all(sql: string, ...params: Param[]): Op<Row[]> {
  return (yield { sql, params, want: 'all' }) as Row[]
}
/** Runs a change. Returns how many rows it touched. */
export function* change(sql: string, ...params: Param[]): Op<number> {
  return (yield { sql, params, want: 'run' }) as number
}

/** An id or hash (base64url) as it is stored: bytes. */
export const idBytes = (text: string): Buffer => Buffer.from(text, 'base64url')
export const maybeIdBytes = (text: string | undefined): Buffer | null => (text === undefined ? null : idBytes(text))
export const orNull = <T extends string | number>(value: T | undefined): T | null => value ?? null

/** Reading columns: NULL is undefined, bytes are base64url text. */
export const str = (value: unknown): string => value as string
export const maybeStr = (value: unknown): string | undefined => (value as string | null) ?? undefined
export const num = (value: unknown): number => value as number
export const maybeNum = (value: unknown): number | undefined => (value as number | null) ?? undefined
export const idText = (value: unknown): string => (value as Buffer).toString('base64url')
export const maybeIdText = (value: unknown): string | undefined =>
  value === null || value === undefined ? undefined : idText(value)
export const flag = (value: unknown): boolean => value === 1
export const decoded = <T>(value: unknown): T => JSON.parse(value as string) as T

/** Columns of the table that a statement calls `alias`. */
export const columnsOf = (alias: string, columns: string): string =>
  columns
    .split(', ')
    .map((column) => `${alias}.${column}`)
    .join(', ')

/** The last id of the next `rows` rows of a table behind an id; undefined when they reach its end. */
export function* windowEnd(table: string, after: Buffer, rows: number): Op<Buffer | undefined> {
  const last = yield* one(`SELECT id FROM ${table} WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?`, after, rows - 1)
  return last?.id as Buffer | undefined
}

export type Condition = readonly [sql: string, ...params: Param[]]
/** The condition that a column has a value; none where no value is asked for. */
export const is = (column: string, value: Param | undefined): Condition | undefined =>
  value === undefined ? undefined : [`${column} = ?`, value]
/** The condition that a text is anywhere in one of some columns, in capitals or not. */
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
