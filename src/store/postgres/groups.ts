// Which operations are batched on PostgreSQL, and how they are run when a batch fails.
import type pg from 'pg'
import { OAuthError } from '../../lib/error.ts'
import { type BatchListener, Lane, type Outcome, type StageListener } from '../../lib/threads/lane.ts'
import type { Job } from '../database.ts'
import { MAX_QUEUE } from '../index.ts'
import { appendBatched, changeBatched, isCollision, readBatched, recordBatched, runsIndividually } from './batched.ts'
import { type Fused, fuse } from './fused.ts'
import type { Lend } from './pool.ts'

type Outcomes = Outcome<unknown>[]
interface Change {
  job: Job
  fused: Fused
}

interface GroupsOptions {
  lend: Lend
  /** The queue of operations that run individually. */
  lane: Lane<Job, unknown>
  onStage?: StageListener | undefined
}
export type Groups = ReturnType<typeof openGroups>

/** Maximum number of operations in a batch. */
const GROUP = 64
/**
 * While a batch of a kind is in progress, only full ones are sent beside it, up to this number. A fast database gets few large batches, which
 * cost least. A slow one, or one that waits for a locked row, still commits several at the same time.
 */
const FULL_BESIDE = 3

/** Opens the lanes of batched operations. */
export function openGroups(options: GroupsOptions) {
  const batches = batchesOf(options)
  const grouping = <J>(run: (jobs: J[]) => Promise<Outcomes>) =>
    new Lane<J, unknown>({
      name: 'store',
      workers: 1,
      ahead: FULL_BESIDE,
      maxBatch: GROUP,
      maxQueue: MAX_QUEUE,
      onStage: options.onStage,
      run,
    })
  const [reads, issuances, events] = [grouping(batches.read), grouping(batches.append), grouping(batches.append)]
  const exchanges = grouping(batches.record)
  /** The changes, by their SQL. */
  const changes = new Map<string, Lane<Change, unknown>>()

  const laneOf = ({ op, input }: Job): Lane<Job, unknown> | undefined => {
    if (op.startsWith('find')) return reads
    if (op === 'recordAudit') return events
    if (op === 'recordExchange') return exchanges
    // An issuance that consumes a proof or assertion is more than one row.
    return op === 'recordIssuance' && !(input as { uses?: unknown }).uses ? issuances : undefined
  }
  return {
    /** Puts an operation into the queue of its batches. Undefined for operations that are not batched. */
    push(job: Job, onBatch?: BatchListener): Promise<unknown> | undefined {
      const lane = laneOf(job)
      if (lane) return lane.push(job, onBatch)
      const fused = fuse(job)
      if (!fused) return undefined
      let same = changes.get(fused.sql)
      if (!same) {
        same = grouping(batches.change)
        changes.set(fused.sql, same)
      }
      return same.push({ job, fused }, onBatch)
    },
    all: (): readonly Pick<Lane<unknown, unknown>, 'stats' | 'drained'>[] => [
      reads,
      issuances,
      events,
      exchanges,
      ...changes.values(),
    ],
  }
}

/** How each kind of batch is run. */
function batchesOf({ lend, lane }: GroupsOptions) {
  /** Runs an operation individually. The rest of its batch does not wait for it. */
  const individually = (job: Job): Outcome<unknown> => ({ value: lane.push(job) })
  /** Work that succeeds for all operations of a batch or for none. If one operation makes it fail, each of them is run individually. */
  const forAll = async (jobs: Job[], work: (client: pg.PoolClient) => Promise<Outcomes>): Promise<Outcomes> => {
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
    change(changes: Change[]): Promise<Outcomes> {
      const jobs = changes.map(({ job }) => job)
      const work = async (client: pg.PoolClient) => {
        const fused = changes.map((change) => change.fused)
        const made = await changeBatched(client, fused)
        return changes.map(({ job }, i) => (made[i] ? { value: fused[i]?.value } : individually(job)))
      }
      return forAll(jobs, work)
    },
  }
}
