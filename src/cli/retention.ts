// `service purge --only audit-events|issuances --older-than … --export FILE`. No other command deletes these records.
import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { issuanceJson } from '../admin/issuances.ts'
import { eventJson } from '../events/event_json.ts'
import { syncFolder, writeAll } from '../lib/durable.ts'
import { compareIds, idFloor } from '../lib/id.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { Issuance } from '../records/issuance.ts'
import type { Store } from '../store/index.ts'
import type { InputOf } from '../store/operations.ts'
import type { RecordTable } from '../store/partitions.ts'

const ROWS = 250
const LOCK_TRIES = 20
const LOCK_PAUSE_MS = 1000

export interface Retention {
  /** Seconds. */
  olderThan: number
  /** Where the rows are appended as JSON lines before they are deleted. */
  file: string
  now: number
}

/** Records that may be deleted by age. */
export const RECORD_KINDS = {
  'audit-events': {
    table: 'audit_events',
    list: (store: Store, page: { after: string; before: string; limit: number }) => store.listOldAudit(page),
    shown: eventJson,
  },
  issuances: {
    table: 'issuances',
    list: (store: Store, page: { after: string; before: string; limit: number; now: number }) =>
      store.listOldIssuances(page),
    shown: issuanceJson,
  },
} as const
type RecordName = keyof typeof RECORD_KINDS

/**
 * Exports and then deletes the older rows of a record. Every deleted row is in the file. Whole partitions are dropped, other
 * rows are deleted page by page. Yields the number of deleted rows; 0 after each exported page of a partition.
 */
export async function* retire(store: Store, name: RecordName, options: Retention): AsyncGenerator<number> {
  const fd = openExport(options.file)
  const before = idFloor(options.now - options.olderThan)
  const job: Job = { store, name, before, now: options.now, fd }
  try {
    if (store.driver.name === 'postgres') yield* dropPartitions(job)
    yield* deletePages(job)
  } finally {
    closeSync(fd)
  }
}

interface Job extends Pick<Retention, 'now'> {
  store: Store
  name: RecordName
  /** Exclusive upper bound of the ids. */
  before: string
  fd: number
}

async function* deletePages({ store, name, before, now, fd }: Job): AsyncGenerator<number> {
  const { table, list } = RECORD_KINDS[name]
  // Rows of a partition that could not be dropped are in the file already.
  const exported = await exportedRanges(store, table)
  const isExported = (id: string) =>
    exported.some(({ begin, to }) => compareIds(id, begin) > 0 && compareIds(id, to) <= 0)
  for (let after = ''; ; ) {
    const rows = await list(store, { after, before, limit: ROWS, now })
    const isNew = ({ id }: { id: string }) => !isExported(id)
    append(fd, name, rows.filter(isNew))
    yield await store.deleteOldRows({ table, ids: rows.map(({ id }) => id) })
    if (rows.length < ROWS) break
    after = rows.at(-1)?.id ?? ''
  }
  for (const each of exported) await store.saveExported({ ...each, rows: 0 })
}

async function* dropPartitions({ store, name, before, now, fd }: Job): AsyncGenerator<number> {
  const { table, list } = RECORD_KINDS[name]
  const known = await exportedRanges(store, table)
  for (const { name: partition, from, to } of await store.listPartitions({ table })) {
    const end = idFloor(to / 1000)
    if (compareIds(end, before) > 0) return
    const range = known.find((each) => each.partition === partition)
    for (let [after, exported] = [range?.to ?? beginOf(from), range?.rows ?? 0]; ; ) {
      // A row that has not expired keeps its whole partition.
      const rows = await list(store, { after, before: end, limit: ROWS, now: Number.MAX_SAFE_INTEGER })
      if (rows.some((row) => 'expires_at' in row && row.expires_at > now)) break
      append(fd, name, rows)
      after = rows.at(-1)?.id ?? after
      exported += rows.length
      if (rows.length < ROWS) {
        await dropSoon(store, { table, name: partition })
        yield exported
        break
      }
      await store.saveExported({ partition, to: after, rows: exported })
      yield 0
    }
  }
}

async function exportedRanges(store: Store, table: RecordTable) {
  const partitions = store.driver.name === 'postgres' ? await store.listPartitions({ table }) : []
  const exported = await store.listExported()
  return partitions.flatMap(({ name, from }) =>
    exported.filter(({ partition }) => partition === name).map((each) => ({ ...each, begin: beginOf(from) })),
  )
}
const beginOf = (ms: number): string => (Number.isFinite(ms) ? idFloor(ms / 1000) : '')

type Rows = readonly (AuditEvent | Issuance)[]

/** Retries the lock after a short wait, so that other transactions do not wait behind it for long. */
async function dropSoon(store: Store, partition: InputOf<'dropPartition'>): Promise<void> {
  for (let tries = 1; ; tries++)
    try {
      return await store.dropPartition(partition)
    } catch (error) {
      if (tries === LOCK_TRIES) throw error
      await sleep(LOCK_PAUSE_MS)
    }
}

/** Opens the export for appending. The file and its name are synced to disk. A line that a crash truncated is ended with a newline. */
function openExport(file: string): number {
  const fd = openSync(file, 'a', 0o600)
  // A pipe or /dev/null cannot be synced.
  if (!fstatSync(fd).isFile()) return fd
  try {
    syncFolder(path.dirname(realpathSync(file)))
    if (!endsWithNewline(file)) writeAll(fd, '\n')
    return fd
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

function endsWithNewline(file: string): boolean {
  const fd = openSync(file, 'r')
  try {
    const { size } = fstatSync(fd)
    const last = Buffer.alloc(1)
    return size === 0 || (readSync(fd, last, 0, 1, size - 1) === 1 && last.toString() === '\n')
  } finally {
    closeSync(fd)
  }
}

/** Appends the rows and syncs them to disk. On failure it throws and truncates the file to its former length. */
function append(fd: number, name: RecordName, rows: Rows): void {
  const { shown } = RECORD_KINDS[name]
  const before = fstatSync(fd)
  const done = { bytes: 0 }
  try {
    writeAll(fd, rows.map((row) => `${JSON.stringify(shown(row as never))}\n`).join(''), done)
    if (before.isFile()) fsyncSync(fd)
  } catch (error) {
    // Rows that another process appended meanwhile are not truncated.
    if (before.isFile() && fstatSync(fd).size === before.size + done.bytes) ftruncateSync(fd, before.size)
    throw error
  }
}
