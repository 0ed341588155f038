// Lists ordered by age: one page of a list, and a search that examines a limited number of rows at a time, so that other operations do not
// wait long for it.
import { all, type Condition, num, type Op, one, part, type Row, raw, type Sql, str, where } from './op.ts'

/** The specification of a list: its table, the columns that are read, and the columns that determine the age of a row. */
export interface ListSpec {
  /** The table with the columns that determine the age. */
  table: string
  /** Another table with the columns that are read. Then `table` has an alias, and names of columns begin with the alias of their table. */
  join?: string
  columns: string
  at: string
  id: string
  /** The condition of every row of the list. */
  only?: Condition
}
/** The position of a row in a list. The next page continues after it. */
export interface Cursor {
  at: number
  id: string
}
/** The direction: in order of creation, or in reverse. */
export type Order = 'oldest' | 'newest'

export interface ListPage {
  after?: Cursor
  /** In order of creation by default. */
  order?: Order
  /** Without a limit every row is returned. */
  limit?: number
  offset?: number
}
export interface Search {
  q: string
  after?: Cursor
  order: Order
  /** Maximum number of rows to examine. */
  rows: number
  /** Maximum number of rows to return. Default: all that match. */
  limit?: number
}
/** One step of a search. */
export interface Found<T> {
  rows: T[]
  /** Where to continue; undefined at the end. */
  next?: Cursor
}

const DIRECTIONS = { oldest: { word: 'ASC', behind: '>' }, newest: { word: 'DESC', behind: '<' } } as const
/** ORDER BY age, and the condition that a row comes after a cursor. */
function byAge({ at, id }: Pick<ListSpec, 'at' | 'id'>, order: Order, after: Cursor | undefined) {
  const { word, behind } = DIRECTIONS[order]
  const beyond: Condition | undefined = after && [`(${at}, ${id}) ${behind} (?, ?)`, after.at, after.id]
  return { order: raw(`ORDER BY ${at} ${word}, ${id} ${word}`), beyond }
}

/** The condition that a row comes after a cursor and is not past another one. */
const within = (list: ListSpec, { after, order }: Pick<Search, 'after' | 'order'>, last: Cursor): Condition[] => [
  ...(after ? [byAge(list, order, after).beyond as Condition] : []),
  [`(${list.at}, ${list.id}) ${order === 'oldest' ? '<=' : '>='} (?, ?)`, last.at, last.id],
]

/** Whether a list has at least `rows` rows after a cursor and not past another one. */
export function* hasRowsWithin(
  list: ListSpec,
  { rows, ...range }: Pick<Search, 'after' | 'order' | 'rows'>,
  last: Cursor,
): Op<boolean> {
  const rest = where(list.only, ...within(list, range, last))
  return (yield* one`SELECT 1 AS found FROM ${raw(list.table)} ${rest} LIMIT 1 OFFSET ${rows - 1}`) !== undefined
}

/** The last of the next rows of a list. Undefined when fewer rows are left. */
export function* lastOfWindow(
  list: ListSpec,
  { after, order, rows }: Pick<Search, 'after' | 'order' | 'rows'>,
): Op<Cursor | undefined> {
  const { at, id, table } = list
  const age = byAge(list, order, after)
  const place = raw(`${at}, ${id} FROM ${table}`)
  const last = yield* one`SELECT ${place} ${where(list.only, age.beyond)} ${age.order} LIMIT 1 OFFSET ${rows - 1}`
  return last && placeOf(list, last)
}

const placeOf = ({ at, id }: ListSpec, row: Row): Cursor => ({
  at: num(row[withoutAlias(at)]),
  id: str(row[withoutAlias(id)]),
})

/** The rows of a page that match the conditions. */
export function* listPage(
  list: ListSpec,
  { after, order = 'oldest', limit, offset = 0 }: ListPage,
  ...fitting: readonly (Condition | undefined)[]
): Op<Row[]> {
  const age = byAge(list, order, after)
  const window = limit === undefined ? raw('') : part`LIMIT ${limit} OFFSET ${offset}`
  const rows = part`${where(list.only, ...fitting, age.beyond)} ${age.order} ${window}`
  const { table, join = '', columns } = list
  const isFiltered = fitting.some((each) => each !== undefined)
  const page = isFiltered ? part`${raw(`${table} ${join}`)} ${rows}` : cut(list, rows, age.order)
  return yield* all`SELECT ${raw(columns)} FROM ${page}`
}

/** The rows of a page, joined after the page is cut: rows that are skipped are read from the index only. */
const cut = ({ table, join, at }: ListSpec, rows: Sql, order: Sql): Sql =>
  join === undefined
    ? part`${raw(table)} ${rows}`
    : part`(SELECT * FROM ${raw(table)} ${rows}) ${raw(`${aliasOf(at)} ${join}`)} ${order}`
const aliasOf = (column: string) => column.slice(0, column.indexOf('.'))

/** The rows among the next rows of a list that match the conditions. */
export function* searchRows(
  list: ListSpec,
  { after, order, rows: size, limit }: Search,
  ...fitting: readonly (Condition | undefined)[]
): Op<Found<Row>> {
  const { columns, at, id } = list
  const age = byAge(list, order, after)
  const window = cut(list, part`${where(list.only, age.beyond)} ${age.order} LIMIT ${size}`, age.order)
  /** The columns as the page below names them. */
  const named = { at: withoutAlias(at), id: withoutAlias(id) }
  const next = yield* lastOfWindow(list, { after, order, rows: size })
  const rows = yield* all`SELECT * FROM (SELECT ${raw(columns)} FROM ${window}) page
    ${where(...fitting)} ${byAge(named, order, after).order} LIMIT ${limit ?? size}`
  const last = rows.length === limit ? rows.at(-1) : undefined
  return { rows, next: last ? placeOf(list, last) : next }
}

const withoutAlias = (column: string) => column.slice(column.indexOf('.') + 1)
