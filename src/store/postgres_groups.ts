// Which operations are batched on PostgreSQL, and how they are run when a batch fails.
import type pg from 'pg'
import { OAuthError } from '../lib/error.ts'
import { Lane, type Outcome } from '../lib/lane.ts'
import { withTimeout } from '../lib/timeout.ts'
import type { Job } from './database.ts'
import { MAX_QUEUE } from './index.ts'
import {
  appendBatched,
  changeBatched,
  isCollision,
  LOCK_MS,
  readBatched,
  recordBatched,
  runsIndividually,
  settled,
} from './postgres_batched.ts'
import type { Fused } from './postgres_fused.ts'
import type { Lend } from './postgres_pool.ts'

/** An operation, with its one statement if it has one. */
export type Task = Job & { fused?: Fused }
type Change = Task & { fused: Fused }
type Outcomes = Outcome<unknown>[]

interface GroupsOptions {
  lend: Lend
  /** Runs one operation individually. */
  perform(task: Task): Promise<unknown>
  /** The queue of operations that run individually. */
  lane: Lane<Task, unknown>
}
export interface Groups {
  /** The queue in which an operation is batched. Undefined for operations that are not batched, or only as a change. */
  of(job: Job): Lane<Job, unknown> | undefined
  changes: Lane<Change, unknown>
  all: readonly Pick<Lane<unknown, unknown>, 'stats' | 'drained'>[]
}

/** Maximum number of operations in a batch, and of concurrent batches of each kind. */
const [GROUP, GROUPS] = [64, 4]

/** Opens the lanes of batched operations. */
export function openGroups(options: GroupsOptions): Groups {
  const batches = batchesOf(options)
  const grouping = <J extends Task>(run: (jobs: J[]) => Promise<Outcomes>) =>
    new Lane<J, unknown>({ name: 'store', workers: GROUPS, maxBatch: GROUP, maxQueue: MAX_QUEUE, run })
  const [reads, issuances, events] = [grouping(batches.read), grouping(batches.append), grouping(batches.append)]
  const [exchanges, changes] = [grouping(batches.record), grouping(batches.change)]

  return {
    of({ op, input }) {
      if (op.startsWith('find')) return reads
      if (op === 'recordAudit') return events
      if (op === 'recordExchange') return exchanges
      // An issuance that consumes a proof or assertion is more than one row.
      return op === 'recordIssuance' && !(input as { uses?: unknown }).uses ? issuances : undefined
    },
    changes,
    all: [reads, issuances, events, exchanges, changes],
  }
}

/** How each kind of batch is run. */
function batchesOf({ lend, perform, lane }: GroupsOptions) {
  /** Runs an operation individually. The rest of its batch does not wait for it. */
  const individually = (task: Task): Outcome<unknown> => ({ value: lane.push(task) })
  /** Work that succeeds for all operations of a batch or for none. If one operation makes it fail, each of them is run individually. */
  const forAll = async (jobs: Task[], work: (client: pg.PoolClient) => Promise<Outcomes>): Promise<Outcomes> => {
    try {
      return await lend(work, { use: 'writing' })
    } catch (error) {
      if (error instanceof OAuthError && !runsIndividually(error)) throw error
      return jobs.map(individually)
    }
  }
  return {
    async read(jobs: Job[]): Promise<Outcomes> {
      const isLost = (outcome: Outcome<unknown>) => 'error' in outcome && outcome.error instanceof OAuthError
      const outcomes = await lend((client) => readBatched(client, jobs), {
        use: 'reading',
        isSound: (found) => !found.some(isLost),
      })
      return outcomes.map((outcome, i) =>
        'error' in outcome && (runsIndividually(outcome.error) || isCollision(outcome.error))
          ? individually(jobs[i] as Job)
          : outcome,
      )
    },
    append: (jobs: Job[]): Promise<Outcomes> =>
      forAll(jobs, async (client) => {
        await appendBatched(client, jobs)
        return jobs.map(() => ({ value: undefined }))
      }),
    record: (jobs: Job[]): Promise<Outcomes> =>
      forAll(jobs, async (client) => (await recordBatched(client, jobs)).map((value) => ({ value }))),
    async change(tasks: Change[]): Promise<Outcomes> {
      const [only] = tasks
      if (only && tasks.length === 1) {
        // The next batch waits for it only for this time.
        const value = perform(only)
        await withTimeout(LOCK_MS, settled(value))
        return [{ value }]
      }
      return forAll(tasks, async (client) => {
        const made = await changeBatched(
          client,
          tasks.map(({ fused }) => fused.statement),
        )
        return tasks.map((task, i) => (made[i] ? { value: task.fused.value } : individually(task)))
      })
    },
  }
}
