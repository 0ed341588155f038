// Deleted clients and resources, which can be restored for a while. Each is one JSON value, so that nothing else finds it, and its names are free.
import { newId } from '../../lib/id.ts'
import type { Client } from '../../records/client.ts'
import type { Resource } from '../../records/resource.ts'
import { all, change, decoded, forUpdate, idBytes, idText, is, num, type Op, one, type Row, str, where } from '../op.ts'

interface Kinds {
  client: Client
  resource: Resource
}
/** A deleted record without its value. */
export interface DeletedRecord {
  id: string
  kind: keyof Kinds
  /** The client_id, or the id of the resource. */
  name: string
  /** The name of the client, or the slug of the resource. */
  label: string
  deleted_at: number
  deleted_by: string
  /** What a restore does not bring back, besides consents and tokens. */
  lost: string[]
}
const COLUMNS = 'id, kind, name, label, deleted_at, deleted_by, lost'

const read = (row: Row): DeletedRecord => ({
  id: idText(row.id),
  kind: str(row.kind) as DeletedRecord['kind'],
  name: str(row.name),
  label: str(row.label),
  deleted_at: num(row.deleted_at),
  deleted_by: str(row.deleted_by),
  lost: decoded(row.lost),
})

/** Keeps a record that is being deleted. */
export function* keepDeleted<K extends keyof Kinds>(
  kind: K,
  record: Kinds[K],
  { name, label, deleted_at, deleted_by, lost }: Omit<DeletedRecord, 'id' | 'kind'>,
): Op<void> {
  yield* change(
    `INSERT INTO deleted_records (${COLUMNS}, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    idBytes(newId()),
    kind,
    name,
    label,
    deleted_at,
    deleted_by,
    JSON.stringify(lost),
    JSON.stringify(record),
  )
}

export interface DeletedFilter {
  kind?: keyof Kinds
  /** Deleted later than this. */
  after: number
  limit: number
  offset?: number
}
/** The deleted records, the last one first. */
export function* listDeleted({ kind, after, limit, offset = 0 }: DeletedFilter): Op<DeletedRecord[]> {
  const { sql, params } = where(is('kind', kind), ['deleted_at > ?', after])
  const page = `${sql} ORDER BY id DESC LIMIT ? OFFSET ?`
  return (yield* all(`SELECT ${COLUMNS} FROM deleted_records ${page}`, ...params, limit, offset)).map(read)
}

/** A deleted record with its value. */
interface Kept<R> extends Pick<DeletedRecord, 'id' | 'deleted_at'> {
  record: R
}
interface Named {
  name: string
  /** Deleted later than this. */
  after: number
}
/** The last record of this name that was deleted. */
function* find<K extends keyof Kinds>(kind: K, { name, after }: Named): Op<Kept<Kinds[K]> | undefined> {
  const row = yield* one(
    'SELECT id, deleted_at, data FROM deleted_records WHERE kind = ? AND name = ? AND deleted_at > ? ORDER BY id DESC LIMIT 1',
    kind,
    name,
    after,
  )
  return row && { id: idText(row.id), deleted_at: num(row.deleted_at), record: decoded(row.data) }
}

/** The client with this id that was deleted last. */
export const findDeletedClient = (w: Named) => find('client', w)

/** The resource with this id that was deleted. */
export const findDeletedResource = (w: Named) => find('resource', w)

/** Runs what restores a deleted record, and forgets the record when it was created. Undefined when another restore came first. */
export function* restored<R extends string>(deleted_id: string, create: () => Op<R>): Op<R | undefined> {
  if (!(yield* forUpdate('SELECT id FROM deleted_records WHERE id = ?', idBytes(deleted_id)))) return undefined
  const outcome = yield* create()
  if (outcome === 'created') yield* change('DELETE FROM deleted_records WHERE id = ?', idBytes(deleted_id))
  return outcome
}
