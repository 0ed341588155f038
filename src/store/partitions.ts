// Operations on the partitions of the record on PostgreSQL: a whole month is dropped at once, after it was exported.
import { all, change, type Op, one, type Row, raw, str } from './op.ts'
import { column, plainTable } from './table.ts'

/** The tables of the record, each of them partitioned. */
export const RECORD_TABLES = ['issuances', 'audit_events'] as const
export type RecordTable = (typeof RECORD_TABLES)[number]

/** The partitions of a table that have bounds, for readPartition(). */
export const PARTITIONS = `SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass(?) AND pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT'`

/** A partition contains ids that were generated from `from` on and before `to` (epoch milliseconds). */
export interface Partition {
  name: string
  from: number
  to: number
}
/** A partition from its row. */
export const readPartition = (row: Row): Partition => {
  const [from, to] = /FROM \((.*)\) TO \((.*)\)/.exec(str(row.bounds))?.slice(1).map(milliseconds) ?? []
  return { name: str(row.name), from: from ?? Number.NaN, to: to ?? Number.NaN }
}
const milliseconds = (bound: string) =>
  bound === 'MINVALUE' ? Number.NEGATIVE_INFINITY : Number.parseInt(/\\x([0-9a-f]{12})/.exec(bound)?.[1] ?? '', 16)

/** The partitions of a table, oldest first. */
export function* listPartitions({ table }: { table: RecordTable }): Op<Partition[]> {
  return (yield* all({ sql: PARTITIONS, params: [table] })).map(readPartition).sort((a, b) => a.from - b.from)
}

/** How much of a partition was exported; none of its rows is deleted yet. */
export interface Exported {
  partition: string
  /** The last id. */
  to: string
  rows: number
}
const EXPORTED = plainTable<Exported>('exported_partitions', {
  partition: column.text(),
  to: column.named('exported_to', column.id),
  rows: column.named('exported', column.int),
})
/** The partitions that are partly exported, or that are about to be dropped. */
export const listExported = () => EXPORTED.list``

/** Stores how much was exported. */
export const saveExported = (exported: Exported) => EXPORTED.replace(exported, 'partition')

/** How long writers may have to wait while a partition is dropped. */
const LOCK_MS = '500'

/** Drops a partition with all its rows. Throws when it cannot be locked soon, because other transactions use it for longer. */
export function* dropPartition({ table, name }: { table: RecordTable; name: string }): Op<void> {
  const { name: known } = (yield* listPartitions({ table })).find((each) => each.name === name) ?? {}
  if (known === undefined) return
  yield* one`SELECT set_config('lock_timeout', ${LOCK_MS}, true)`
  yield* change`DROP TABLE ${raw(known)}`
  yield* change`DELETE FROM exported_partitions WHERE partition = ${known}`
}
