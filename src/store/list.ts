// Lists by age: a page of one, and a search that looks at so many rows at a time that nobody waits behind it.
import { all, type Condition, num, type Op, one, type Row, str, where } from './op.ts'

/** What a list is of: a table, what is read of it, and the columns that tell the age of a row. */
export interface ListSpec {
  table: string
  columns: string
  at: string
  id: string
}
/** The place of a row in a list, to go on behind it. */
export interface Cursor {
  at: number
  id: string
}
/** Which of two rows comes first: in order of creation, or the other way round. */
export type Order = 'oldest' | 'newest'

export interface ListPage {
  after?: Cursor
  /** In order of creation unless told otherwise. */
  order?: Order
  /** Every row without it. */
  limit?: number
  offset?: number
}
export interface Search {
  q: string
  after?: Cursor
  order: Order
  /** How many rows are looked at. */
  rows: number
}
/** Some rows of a search. */
export interface Found<T> {
  rows: T[]
  /** Where to go on looking; none at the end. */
  next?: Cursor
}

const DIRECTIONS = { oldest: { word: 'ASC', behind: '>' }, newest: { word: 'DESC', behind: '<' } } as const
/** ORDER BY age, and the condition that a row comes behind a place. */
function byAge({ at, id }: ListSpec, order: Order, after: Cursor | undefined) {
  const { word, behind } = DIRECTIONS[order]
  const beyond: Condition | undefined = after && [`(${at}, ${id}) ${behind} (?, ?)`, after.at, after.id]
  return { sql: `ORDER BY ${at} ${word}, ${id} ${word}`, beyond }
}

/** The rows of a page that fit. */
export function* listPage(
  list: ListSpec,
  { after, order = 'oldest', limit, offset = 0 }: ListPage,
  ...fitting: readonly (Condition | undefined)[]
): Op<Row[]> {
  const age = byAge(list, order, after)
  const { sql, params } = where(...fitting, age.beyond)
  const [window, ...bounds] = limit === undefined ? [''] : (['LIMIT ? OFFSET ?', limit, offset] as const)
  return yield* all(`SELECT ${list.columns} FROM ${list.table} ${sql} ${age.sql} ${window}`, ...params, ...bounds)
}

/** Of the next rows of a list those that fit. */
export function* searchRows(
  list: ListSpec,
  { after, order, rows: size }: Search,
  ...fitting: readonly (Condition | undefined)[]
): Op<Found<Row>> {
  const { table, columns, at, id } = list
  const age = byAge(list, order, after)
  const range = where(age.beyond)
  const last = yield* one(
    `SELECT ${at}, ${id} FROM ${table} ${range.sql} ${age.sql} LIMIT 1 OFFSET ?`,
    ...range.params,
    size - 1,
  )
  const { sql, params } = where(...fitting)
  const rows = yield* all(
    `SELECT * FROM (SELECT ${columns} FROM ${table} ${range.sql} ${age.sql} LIMIT ?) page ${sql} ${age.sql}`,
    ...range.params,
    size,
    ...params,
  )
  return { rows, next: last && { at: num(last[at]), id: str(last[id]) } }
}
