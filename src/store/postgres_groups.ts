// Which operations travel together on PostgreSQL, and what becomes of them when they cannot.
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

/** An operation, with the one statement of one that changes something, where there is one. */
export type Task = Job & { fused?: Fused }
type Change = Task & { fused: Fused }
type Outcomes = Outcome<unknown>[]

interface GroupsOptions {
  lend: Lend
  /** Does one operation by itself. */
  perform(task: Task): Promise<unknown>
  /** Where each waits that is done by itself. */
  lane: Lane<Task, unknown>
}
export interface Groups {
  /** Where an operation waits for others that it travels with; undefined for one that does not, or only as a change. */
  of(job: Job): Lane<Job, unknown> | undefined
  changes: Lane<Change, unknown>
  all: readonly Pick<Lane<unknown, unknown>, 'stats' | 'drained'>[]
}

/** Most operations that travel together, and how many such groups of each kind may be under way. */
const [GROUP, GROUPS] = [64, 4]

/** Opens the lanes of operations that travel together. */
export function openGroups({ lend, perform, lane }: GroupsOptions): Groups {
  /** Done by itself, and answered then: those that it was to travel with do not wait for it. */
  const apart = (task: Task): Outcome<unknown> => ({ value: lane.push(task) })

  const read = async (jobs: Job[]): Promise<Outcomes> => {
    const isLost = (outcome: Outcome<unknown>) => 'error' in outcome && outcome.error instanceof OAuthError
    const outcomes = await lend((client) => readBatched(client, jobs), {
      use: 'reading',
      isSound: (found) => !found.some(isLost),
    })
    return outcomes.map((outcome, i) =>
      'error' in outcome && (runsIndividually(outcome.error) || isCollision(outcome.error))
        ? apart(jobs[i] as Job)
        : outcome,
    )
  }
  /** Work that is done for all or for none, and for each by itself where it fails for what one of them is. */
  const forAll = async (jobs: Task[], work: (client: pg.PoolClient) => Promise<Outcomes>): Promise<Outcomes> => {
    try {
      return await lend(work, { use: 'writing' })
    } catch (error) {
      if (error instanceof OAuthError && !runsIndividually(error)) throw error
      return jobs.map(apart)
    }
  }
  const append = (jobs: Job[]): Promise<Outcomes> =>
    forAll(jobs, async (client) => {
      await appendBatched(client, jobs)
      return jobs.map(() => ({ value: undefined }))
    })
  const record = (jobs: Job[]): Promise<Outcomes> =>
    forAll(jobs, async (client) => (await recordBatched(client, jobs)).map((value) => ({ value })))
  const change = async (tasks: Change[]): Promise<Outcomes> => {
    const [only] = tasks
    if (only && tasks.length === 1) {
      // It answers for itself; only for so long do the next ones wait for it.
      const value = perform(only)
      await withTimeout(LOCK_MS, settled(value))
      return [{ value }]
    }
    return forAll(tasks, async (client) => {
      const statements = tasks.map(({ fused }) => fused.statement)
      const made = await changeBatched(client, statements)
      return tasks.map((task, i) => (made[i] ? { value: task.fused.value } : apart(task)))
    })
  }

  const grouping = <J extends Task>(run: (jobs: J[]) => Promise<Outcomes>) =>
    new Lane<J, unknown>({ name: 'store', workers: GROUPS, maxBatch: GROUP, maxQueue: MAX_QUEUE, run })
  const [reads, issuances, events] = [grouping(read), grouping(append), grouping(append)]
  const [exchanges, changes] = [grouping(record), grouping(change)]

  return {
    of({ op, input }) {
      if (op.startsWith('find')) return reads
      if (op === 'recordAudit') return events
      if (op === 'recordExchange') return exchanges
      // One that uses up a proof is more than a row.
      return op === 'recordIssuance' && !(input as { use?: unknown }).use ? issuances : undefined
    },
    changes,
    all: [reads, issuances, events, exchanges, changes],
  }
}
