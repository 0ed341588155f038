// Tables as literals: the kind of each column gives the statements that read and write its records. Kysely was not taken: it builds each
// statement when it runs, and these are built once (docs/decisions/0020-columns-as-literals.md).
import {
  all,
  change,
  decoded,
  flag,
  forUpdate,
  idBytes,
  idText,
  insertRows,
  maybeDecoded,
  maybeEncoded,
  maybeIdBytes,
  maybeIdText,
  maybeNum,
  maybeStr,
  num,
  type Op,
  one,
  orNull,
  type Param,
  placesOf,
  type Row,
  type SqlText,
  type SqlValue,
  sqlOf,
  str,
} from './op.ts'

/** How a member of a record is stored. */
interface Column<T> {
  /** The name of the column, if it differs from that of the member. */
  readonly name?: string
  /** `insert`: it never changes. `none`: other operations write it. */
  readonly written?: 'insert' | 'none'
  read(value: unknown, row: Row): T
  write(value: T): Param
}
/** A column that is no member: of several members, or only for statements. */
interface Part<R> {
  read?(value: unknown, row: Row): Partial<R> | undefined
  write?(record: R): Param
}

/** The kinds of columns. */
export const column = {
  text: <T extends string>(): Column<T> => ({ read: (value) => str(value) as T, write: (value) => value }),
  maybeText: <T extends string>(): Column<T | undefined> => ({
    read: (value) => maybeStr(value) as T | undefined,
    write: orNull,
  }),
  /** An id or a hash: base64url, stored as bytes. */
  id: { read: idText, write: idBytes } as Column<string>,
  maybeId: { read: maybeIdText, write: maybeIdBytes } as Column<string | undefined>,
  int: { read: num, write: (value) => value } as Column<number>,
  maybeInt: { read: maybeNum, write: orNull } as Column<number | undefined>,
  bool: { read: flag, write: Number } as Column<boolean>,
  json: <T>(): Column<T> => ({ read: decoded<T>, write: (value) => JSON.stringify(value) }),
  maybeJson: <T extends object>(): Column<T | undefined> => ({ read: maybeDecoded<T>, write: maybeEncoded }),
  /** The same column under another name. */
  named: <T>(name: string, kind: Column<T>): Column<T> => ({ ...kind, name }),
  /** It keeps the value with which its row was added. */
  fixed: <T>(kind: Column<T>): Column<T> => ({ ...kind, written: 'insert' }),
  /** Only other operations write it. */
  readOnly: <T>(kind: Column<T>): Column<T> => ({ ...kind, written: 'none' }),
}

/** One column for each member that has one of its own. */
type Columns<R> = { readonly [Name in keyof R]-?: Column<R[Name]> }

/** A column that is written: with a member of a record, or of the whole record. */
interface Write<R> {
  name: string
  member?: keyof R
  isFixed: boolean
  write(value: unknown): Param
}
const valueIn = <R>({ member, write }: Write<R>, record: R): Param =>
  write(member === undefined ? record : record[member])

/** A text that is fast as a key. A joined one would be looked up each time. */
const keyOf = (text: string): string => Object.keys({ [text]: 0 })[0] ?? text

/** The statements of a table. `R` are the members, `InParts` those of them that `parts` stores. */
export function plainTable<R extends object, InParts extends keyof R = never>(
  into: string,
  members: Columns<Omit<R, InParts>>,
  parts: Readonly<Record<string, Part<R>>> = {},
) {
  const columns = Object.entries<Column<unknown>>({ ...(members as object) }).map(([member, column]) => ({
    member,
    name: member,
    ...column,
  }))
  const extras = Object.entries(parts).map(([name, part]) => ({ name, ...part }))
  const selected = [...columns, ...extras.filter(({ read, write }) => read || !write)].map(({ name }) => name)
  const writes: Write<R>[] = [
    ...columns
      .filter(({ written }) => written !== 'none')
      .map(({ name, member, written, write }) => ({
        name,
        member: member as keyof R,
        isFixed: written === 'insert',
        write,
      })),
    ...extras.flatMap(({ name, write }) =>
      write ? [{ name, isFixed: false, write: write as Write<R>['write'] }] : [],
    ),
  ]
  const spread = extras.flatMap(({ name, read }) => (read ? [{ name, read }] : []))
  // V8 keeps the copy of a parsed object fast. An object that gets more than twelve members by computed names is a slow dictionary, for ever.
  const EMPTY: Record<string, unknown> = JSON.parse(
    JSON.stringify(Object.fromEntries(columns.map(({ member }) => [member, null]))),
  )
  /** Reads rows in which the names of the columns begin with a prefix. */
  const reader = (prefix: string) => {
    const named = columns.map(({ member, name, read }) => ({ member, key: keyOf(prefix + name), read }))
    return (row: Row): R => {
      const record = { ...EMPTY }
      for (const { member, key, read } of named) record[member] = read(row[key], row)
      for (const { name, read } of spread) Object.assign(record, read(row[prefix + name], row))
      return record as R
    }
  }
  const read = reader('')
  const SELECTED = selected.join(', ')
  const SELECT = `SELECT ${SELECTED} FROM ${into}`
  const INTO = `${into} (${writes.map(({ name }) => name).join(', ')})`
  const ADD = `INSERT INTO ${INTO} VALUES ${placesOf(writes.length)}`
  const CREATE = `${ADD} ON CONFLICT DO NOTHING`
  const values = (record: R): Param[] => writes.map((each) => valueIn(each, record))
  return {
    /** The columns that `read` needs. */
    columns: SELECTED,
    /** A record from its row. */
    read,
    /** The columns of the table as `alias` in a join, and their reader: their names in the row begin with `prefix`, unlike those of other tables. */
    as: (alias: string, prefix = '') => ({
      columns: selected.map((name) => `${alias}.${name} AS ${prefix}${name}`).join(', '),
      read: reader(prefix),
    }),
    /** The first record of a SELECT that ends so. */
    *find(ending: SqlText, ...values: SqlValue[]): Op<R | undefined> {
      const { sql, params } = sqlOf(ending, values)
      const row = yield* one({ sql: `${SELECT} ${sql}`, params })
      return row && read(row)
    },
    /** As find(), and locks the row. */
    *lock(ending: SqlText, ...values: SqlValue[]): Op<R | undefined> {
      const { sql, params } = sqlOf(ending, values)
      const row = yield* forUpdate({ sql: `${SELECT} ${sql}`, params })
      return row && read(row)
    },
    /** The records of a SELECT that ends so. */
    *list(ending: SqlText, ...values: SqlValue[]): Op<R[]> {
      const { sql, params } = sqlOf(ending, values)
      return (yield* all({ sql: `${SELECT} ${sql}`, params })).map(read)
    },
    /** Deletes the record of a condition. Returns it. */
    *remove(condition: SqlText, ...values: SqlValue[]): Op<R | undefined> {
      const { sql, params } = sqlOf(condition, values)
      const row = yield* one({ sql: `DELETE FROM ${into} WHERE ${sql} RETURNING ${SELECTED}`, params })
      return row && read(row)
    },
    /** Adds a record. Throws when it conflicts with a row. */
    *add(record: R): Op<void> {
      yield { sql: ADD, params: values(record), want: 'run' }
    },
    /** Adds a record that conflicts with no row. */
    *create(record: R): Op<'created' | 'exists'> {
      return (yield { sql: CREATE, params: values(record), want: 'run' }) === 1 ? 'created' : 'exists'
    },
    /** Adds a record; `ending` says what happens if it conflicts with a row, and which columns are returned. */
    save: (record: R, ending: string): Op<Row | undefined> => one({ sql: `${ADD} ${ending}`, params: values(record) }),
    /** Adds a record. It replaces the one with the same key, one of its columns. */
    *replace(record: R, key: keyof R & string): Op<void> {
      const others = writes.filter(({ member }) => member !== key).map(({ name }) => `${name} = excluded.${name}`)
      const sql = `${ADD} ON CONFLICT (${key}) DO UPDATE SET ${others.join(', ')}`
      yield* change({ sql, params: values(record) })
    },
    /** Adds records. `ending` says what happens to those that conflict with a row. Returns the number of written rows. */
    insert: (records: readonly R[], ending = ''): Op<number> => insertRows(INTO, records.map(values), ending),
    writes,
  }
}

/** The statements of a table with a version, which is incremented by each update. `id` is the member that is the key. */
export function recordTable<R extends { version: number }, InParts extends keyof R = never>(
  into: string,
  id: keyof R & string,
  members: Columns<Omit<R, InParts>>,
  parts: Readonly<Record<string, Part<R>>> = {},
) {
  const { writes, ...statements } = plainTable<R, InParts>(into, members, parts)
  const changing = writes.filter(({ name, member, isFixed }) => !isFixed && member !== id && name !== 'version')
  const key = writes.find(({ member }) => member === id)?.name
  const UPDATE = `UPDATE ${into} SET ${changing.map(({ name }) => `${name} = ?`).join(', ')}, version = version + 1 WHERE ${key} = ? AND version = ?`
  return {
    ...statements,
    /** Writes a record that was read at its version, with other values for some columns. */
    *update(record: R, instead: Readonly<Record<string, Param>> = {}): Op<'updated' | 'stale'> {
      const values = changing.map((each) => instead[each.name] ?? valueIn(each, record))
      const params = [...values, record[id] as Param, record.version]
      return (yield* change({ sql: UPDATE, params })) === 1 ? 'updated' : 'stale'
    },
  }
}
