// Operations of `service purge`: deletion by age of rows that were exported, and the last run of each target.
import { all, change, idBytes, idText, num, type Op, one, raw, where, windowEnd } from './op.ts'
import type { RecordTable } from './partitions.ts'
import { EVENTS, ISSUANCES } from './record.ts'
import { column, plainTable } from './table.ts'

export interface OldRows {
  /** Continue after this id; empty at the beginning. */
  after: string
  /** Only rows with a smaller id. */
  before: string
  limit: number
}

/** Audit events before an id, oldest first. */
export const listOldAudit = ({ after, before, limit }: OldRows) =>
  EVENTS.list`WHERE id > ${idBytes(after)} AND id < ${idBytes(before)} ORDER BY id LIMIT ${limit}`

/** Expired issued tokens before an id, oldest first. Rows of live tokens are kept, because they prove that the token is live. */
export const listOldIssuances = ({ after, before, limit, now }: OldRows & { now: number }) =>
  ISSUANCES.list`WHERE id > ${idBytes(after)} AND id < ${idBytes(before)} AND expires_at <= ${now}
    ORDER BY id LIMIT ${limit}`

/** Deletes rows by their ids. Returns the number of deleted rows. */
export function* deleteOldRows({ table, ids }: { table: RecordTable; ids: readonly string[] }): Op<number> {
  let deleted = 0
  for (const id of ids) deleted += yield* change`DELETE FROM ${raw(table)} WHERE id = ${idBytes(id)}`
  return deleted
}

export interface FamilyWindow {
  /** Continue after this id; empty at the beginning. */
  after: string
  /** Maximum number of rows to examine. */
  rows: number
  /** The smallest id that a live access token can have. */
  liveFrom: string
  now: number
}

/**
 * Families without refresh tokens and without live access tokens. A revoked family is kept as long as the record contains an issuance
 * that it may have ended. Returns the families and where to continue; no `next` at the end.
 */
export function* listEndedFamilies(w: FamilyWindow): Op<{ ids: string[]; next?: string }> {
  const after = idBytes(w.after)
  const end = yield* windowEnd('token_families', after, w.rows)
  const between = (column: string) => [[`${column} > ?`, after] as const, end && ([`${column} <= ?`, end] as const)]
  const oldest = yield* one`SELECT issued_at FROM issuances ORDER BY id LIMIT 1`
  const ended = where(...between('id'), ['(revoked_at IS NULL OR revoked_at < ?)', num(oldest?.issued_at ?? w.now)])
  const refreshed = where(...between('family_id'))
  const live = where(['id >= ?', idBytes(w.liveFrom)], ['expires_at > ?', w.now], ...between('family_id'))
  const rows = yield* all`SELECT id FROM token_families ${ended} EXCEPT
    SELECT family_id FROM refresh_tokens ${refreshed} EXCEPT SELECT family_id FROM issuances ${live}`
  return { ids: rows.map(({ id }) => idText(id)), ...(end ? { next: idText(end) } : {}) }
}

/** Deletes families by their ids. Returns the number of deleted families. */
export function* deleteFamilies({ ids }: { ids: readonly string[] }): Op<number> {
  let deleted = 0
  for (const id of ids) deleted += yield* change`DELETE FROM token_families WHERE id = ${idBytes(id)}`
  return deleted
}

/** The last run of a target. */
export interface PurgeRun {
  target: string
  started_at: number
  finished_at: number
  deleted: number
  ok: boolean
}

const RUNS = plainTable<PurgeRun>('purge_runs', {
  target: column.text(),
  started_at: column.int,
  finished_at: column.int,
  deleted: column.int,
  ok: column.bool,
})

/** Stores the last run; it replaces the one before. */
export const savePurgeRun = (run: PurgeRun) => RUNS.replace(run, 'target')

/** The last run of every target, by name. */
export const listPurgeRuns = () => RUNS.list`ORDER BY target`
