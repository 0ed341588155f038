// `service purge --only audit-events|issuances --older-than … --export FILE`: the record, which nothing else ever deletes.
import { closeSync, fstatSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { eventJson } from '../admin/audit.ts'
import { issuanceJson } from '../admin/issuances.ts'
import { idFloor } from '../lib/id.ts'
import type { Store } from '../store/index.ts'

const ROWS = 250

export interface Retention {
  /** Seconds. */
  olderThan: number
  /** Where the rows are appended as JSON lines before they are deleted. */
  file: string
  now: number
}

/** What may be let go by age. */
export const RECORDS = {
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
type RecordName = keyof typeof RECORDS

/** Exports and deletes the rows of a record that are older, page by page: nothing goes that is not in the file. Yields how many went. */
export async function* retire(store: Store, name: RecordName, options: Retention): AsyncGenerator<number> {
  const fd = openSync(options.file, 'a', 0o600)
  try {
    const { table, list, shown } = RECORDS[name]
    const before = idFloor(options.now - options.olderThan)
    for (let after = ''; ; ) {
      const rows = await list(store, { after, before, limit: ROWS, now: options.now })
      const ids = rows.map(({ id }) => id)
      writeSync(fd, rows.map((row) => `${JSON.stringify(shown(row as never))}\n`).join(''))
      // A pipe or /dev/null has nothing to keep.
      if (fstatSync(fd).isFile()) fsyncSync(fd)
      yield await store.deleteOldRows({ table, ids })
      if (rows.length < ROWS) return
      after = ids.at(-1) ?? ''
    }
  } finally {
    closeSync(fd)
  }
}
