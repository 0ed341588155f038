// Tables as literals: the kind of each column gives the statements that read and write its records. Kysely was not taken: it builds each
// statement when it runs, and these are built once (docs/decisions/0020-columns-as-literals.md).
import {
  change,
  decoded,
  flag,
  insertRows,
  maybeDecoded,
  maybeEncoded,
  maybeNum,
  maybeStr,
  num,
  type Op,
  orNull,
  type Param,
  type Row,
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
  read?(value: unknown): Partial<R> | undefined
  write?(record: R): Param
}

/** The kinds of columns. */
export const column = {
  text: <T extends string>(): Column<T> => ({ read: (value) => str(value) as T, write: (value) => value }),
  maybeText: <T extends string>(): Column<T | undefined> => ({
    read: (value) => maybeStr(value) as T | undefined,
    write: orNull,
  }),
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

/**
 * The statements of a table with a version. `R` are the members, `InParts` those of them that `parts` stores. `id` names the key. The version is
 * incremented by each update.
 */
export function recordTable<R extends { version: number }, InParts extends keyof R = never>(
  into: string,
  id: keyof R & string,
  members: Columns<Omit<R, InParts>>,
  parts: Readonly<Record<string, Part<R>>> = {},
) {
  const columns = Object.entries<Column<unknown>>({ ...(members as object) }).map(([member, column]) => ({
    member,
    name: member,
    ...column,
  }))
  const extras = Object.entries(parts).map(([name, part]) => ({ name, ...part }))
  const selected = [...columns, ...extras.filter(({ read, write }) => read || !write)]
    .map(({ name }) => name)
    .join(', ')
  const writes: { name: string; isFixed: boolean; write(record: R): Param }[] = [
    ...columns
      .filter(({ written }) => written !== 'none')
      .map(({ name, member, written, write }) => ({
        name,
        isFixed: written === 'insert' || member === id || member === 'version',
        write: (record: R) => write(record[member as keyof R]),
      })),
    ...extras.flatMap(({ name, write }) => (write ? [{ name, isFixed: false, write }] : [])),
  ]
  const changing = writes.filter(({ isFixed }) => !isFixed)
  const INSERT = `${into} (${writes.map(({ name }) => name).join(', ')})`
  const UPDATE = `UPDATE ${into} SET ${changing.map(({ name }) => `${name} = ?`).join(', ')}, version = version + 1 WHERE ${id} = ? AND version = ?`
  const spread = extras.flatMap(({ name, read }) => (read ? [{ name, read }] : []))
  // V8 keeps the copy of a parsed object fast. An object that gets more than twelve members by computed names is a slow dictionary, for ever.
  const EMPTY: Record<string, unknown> = JSON.parse(
    JSON.stringify(Object.fromEntries(columns.map(({ member }) => [member, null]))),
  )
  return {
    /** The columns that `read` needs. */
    columns: selected,
    /** A record from its row. */
    read(row: Row): R {
      const record = { ...EMPTY }
      for (const { member, name, read } of columns) record[member] = read(row[name], row)
      for (const { name, read } of spread) Object.assign(record, read(row[name]))
      return record as R
    },
    /** Adds records that conflict with no row. Returns their number. */
    insert: (...records: readonly R[]): Op<number> =>
      insertRows(
        INSERT,
        records.map((record) => writes.map(({ write }) => write(record))),
        'ON CONFLICT DO NOTHING',
      ),
    /** Writes a record that was read at its version, with other values for some columns. Returns the number of changed rows. */
    update: (record: R, instead: Readonly<Record<string, Param>> = {}): Op<number> =>
      change(
        UPDATE,
        ...changing.map(({ name, write }) => instead[name] ?? write(record)),
        record[id] as Param,
        record.version,
      ),
  }
}
