// Operations on jobs.
import type { AdminJob } from '../records/job.ts'
import { all, change, idBytes, idText, num, type Op, one, type Row, str } from './op.ts'

const COLUMNS = 'id, operation, actor_id, status, rows_done, percent, outcome, created_at, seen_at'

const read = (row: Row): AdminJob => ({
  id: idText(row.id),
  operation: str(row.operation),
  actor_id: str(row.actor_id),
  status: str(row.status) as AdminJob['status'],
  rows: num(row.rows_done),
  percent: num(row.percent),
  ...(row.outcome === null ? {} : { outcome: JSON.parse(str(row.outcome)) as unknown }),
  created_at: num(row.created_at),
  seen_at: num(row.seen_at),
})

/** Stores a job, or its progress. Jobs from before `keeps` (epoch seconds) are deleted. */
export function* saveJob({ job, keeps }: { job: AdminJob; keeps: number }): Op<void> {
  yield* change(
    `INSERT INTO jobs (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
       status = excluded.status, rows_done = excluded.rows_done, percent = excluded.percent, outcome = excluded.outcome, seen_at = excluded.seen_at`,
    idBytes(job.id),
    job.operation,
    job.actor_id,
    job.status,
    job.rows,
    job.percent,
    job.outcome === undefined ? null : JSON.stringify(job.outcome),
    job.created_at,
    job.seen_at,
  )
  yield* change('DELETE FROM jobs WHERE created_at < ?', keeps)
}

/** A job by its id. */
export function* findJob({ id }: { id: string }): Op<AdminJob | undefined> {
  const row = yield* one(`SELECT ${COLUMNS} FROM jobs WHERE id = ?`, idBytes(id))
  return row && read(row)
}

/** The jobs, newest first. */
export function* listJobs({ limit }: { limit: number }): Op<AdminJob[]> {
  return (yield* all(`SELECT ${COLUMNS} FROM jobs ORDER BY id DESC LIMIT ?`, limit)).map(read)
}
