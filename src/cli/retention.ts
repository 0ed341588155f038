// `service purge --only audit-events|issuances --older-than … --export FILE`: the record, which nothing else ever deletes.
import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventJson } from '../admin/audit.ts'
import { issuanceJson } from '../admin/issuances.ts'
import { syncFolder, writeAll } from '../lib/durable.ts'
import { idFloor } from '../lib/id.ts'
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

/** What may be let go by age. */
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
 * Exports and deletes the rows of a record that are older: nothing goes that is not in the file. Whole partitions go at once,
 * the rest page by page. Yields how many went, also none after each page of a partition.
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
  /** Only ids before this one. */
  before: string
  fd: number
}

async function* deletePages({ store, name, before, now, fd }: Job): AsyncGenerator<number> {
  const { table, list } = RECORD_KINDS[name]
  // Some rows of partitions that could not go are in the file.
  const exported = await exportedRanges(store, table)
  const isExported = (id: string) => exported.some(({ begin, to }) => isBehind(id, begin) && !isBehind(id, to))
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
    if (isBehind(end, before)) return
    const so = known.find((each) => each.partition === partition)
    for (let [after, exported] = [so?.to ?? beginOf(from), so?.rows ?? 0]; ; ) {
      // Also what has not expired: such a row stays, and its partition with it.
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

/** A lock that is not had at once is asked for again: nobody has to wait for it long. */
async function dropSoon(store: Store, partition: InputOf<'dropPartition'>): Promise<void> {
  for (let tries = 1; ; tries++)
    try {
      return await store.dropPartition(partition)
    } catch (error) {
      if (tries === LOCK_TRIES) throw error
      await sleep(LOCK_PAUSE_MS)
    }
}

/** Opens the export at its end. The file and its name survive a power cut from here on; a line that a crash cut short is ended. */
function openExport(file: string): number {
  const fd = openSync(file, 'a', 0o600)
  // A pipe or /dev/null has nothing to keep.
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

/** Returns when every row is on the disk. Throws, and leaves the file as it was, when one is not. */
function append(fd: number, name: RecordName, rows: Rows): void {
  const { shown } = RECORD_KINDS[name]
  const before = fstatSync(fd)
  const done = { bytes: 0 }
  try {
    writeAll(fd, rows.map((row) => `${JSON.stringify(shown(row as never))}\n`).join(''), done)
    if (before.isFile()) fsyncSync(fd)
  } catch (error) {
    // Nothing is taken away that another process has appended meanwhile.
    if (before.isFile() && fstatSync(fd).size === before.size + done.bytes) ftruncateSync(fd, before.size)
    throw error
  }
}

/** Whether an id comes behind another one; every id comes behind none. */
const isBehind = (id: string, other: string): boolean =>
  Buffer.compare(Buffer.from(id, 'base64url'), Buffer.from(other, 'base64url')) > 0
