// Operations on jobs.
import type { AdminJob } from '../records/job.ts'
import { change, decoded, idBytes, type Op } from './op.ts'
import { column, plainTable } from './table.ts'

const JOBS = plainTable<AdminJob, 'outcome'>(
  'jobs',
  {
    id: column.id,
    operation: column.text(),
    actor_id: column.text(),
    status: column.text(),
    rows: column.named('rows_done', column.int),
    percent: column.int,
    created_at: column.int,
    seen_at: column.int,
  },
  {
    outcome: {
      read: (outcome) => (outcome === null ? {} : { outcome: decoded(outcome) }),
      write: ({ outcome }) => (outcome === undefined ? null : JSON.stringify(outcome)),
    },
  },
)

/** Stores a job, or its progress. Jobs from before `keeps` (epoch seconds) are deleted. */
export function* saveJob({ job, keeps }: { job: AdminJob; keeps: number }): Op<void> {
  yield* JOBS.replace(job, 'id')
  yield* change`DELETE FROM jobs WHERE created_at < ${keeps}`
}

/** A job by its id. */
export const findJob = ({ id }: { id: string }) => JOBS.find`WHERE id = ${idBytes(id)}`

/** The jobs, newest first. */
export const listJobs = ({ limit }: { limit: number }) => JOBS.list`ORDER BY id DESC LIMIT ${limit}`
