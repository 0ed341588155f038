// Deleted clients and resources, which can be restored for a while. Each is one JSON value, so that nothing else finds it, and its names are free.
import { newId } from '../../lib/id.ts'
import type { Client } from '../../records/client.ts'
import type { Resource } from '../../records/resource.ts'
import { change, containing, forUpdate, idBytes, is, type Op, part, where } from '../op.ts'
import { column, plainTable } from '../table.ts'

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
const DELETED = {
  id: column.id,
  kind: column.text<keyof Kinds>(),
  name: column.text(),
  label: column.text(),
  deleted_at: column.int,
  deleted_by: column.text(),
  lost: column.json<string[]>(),
}
const RECORDS = plainTable<DeletedRecord>('deleted_records', DELETED)
const KEPT = plainTable<DeletedRecord & { record: Kinds[keyof Kinds] }>('deleted_records', {
  ...DELETED,
  record: column.named('data', column.json()),
})

/** Keeps a record that is being deleted. */
export const keepDeleted = <K extends keyof Kinds>(
  kind: K,
  record: Kinds[K],
  about: Omit<DeletedRecord, 'id' | 'kind'>,
) => KEPT.add({ ...about, id: newId(), kind, record })

export interface DeletedFilter {
  kind?: keyof Kinds
  /** Deleted later than this. */
  after: number
  /** Only those with this text in their name or label, among the last ones. */
  q?: string
  limit: number
  offset?: number
}
/** A text is searched for in this many rows, so that token requests do not wait for it. */
const SEARCHED_ROWS = 5000
/** The deleted records, the last one first. */
export function* listDeleted({ kind, after, q, limit, offset = 0 }: DeletedFilter): Op<DeletedRecord[]> {
  const kept = where(is('kind', kind), ['deleted_at > ?', after])
  const recent = part`id IN (SELECT id FROM deleted_records ${kept} ORDER BY id DESC LIMIT ${SEARCHED_ROWS})`
  const fits = q === undefined ? kept : part`${where(containing(q, 'name', 'label'))} AND ${recent}`
  return yield* RECORDS.list`${fits} ORDER BY id DESC LIMIT ${limit} OFFSET ${offset}`
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
  const last =
    yield* KEPT.find`WHERE kind = ${kind} AND name = ${name} AND deleted_at > ${after} ORDER BY id DESC LIMIT 1`
  return last as Kept<Kinds[K]> | undefined
}

/** The client with this id that was deleted last. */
export const findDeletedClient = (w: Named) => find('client', w)

/** The resource with this id that was deleted. */
export const findDeletedResource = (w: Named) => find('resource', w)

/** Runs what restores a deleted record, and forgets the record when it was created. Undefined when another restore came first. */
export function* restored<R extends string>(deleted_id: string, create: () => Op<R>): Op<R | undefined> {
  if (!(yield* forUpdate`SELECT id FROM deleted_records WHERE id = ${idBytes(deleted_id)}`)) return undefined
  const outcome = yield* create()
  if (outcome === 'created') yield* change`DELETE FROM deleted_records WHERE id = ${idBytes(deleted_id)}`
  return outcome
}
