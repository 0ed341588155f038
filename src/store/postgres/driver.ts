// The PostgreSQL driver: an operation is a transaction on a connection of the pool. The operations that tokens depend on are batched.
import { isOverloaded, OAuthError } from '../../lib/error.ts'
import { type BatchListener, Lane, type LaneStats, newStats, type StageListener } from '../../lib/threads/lane.ts'
import { systemClock } from '../../lib/time.ts'
import { withReminders } from '../../lib/timeout.ts'
import type { InstanceAbout } from '../../records/instance.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Invalidation } from '../cache.ts'
import type { Job } from '../database.ts'
import { type Driver, MAX_QUEUE } from '../index.ts'
import { isRead } from '../operations.ts'
import { settled } from './batched.ts'
import { clientSettings } from './client.ts'
import { watchDemand } from './demand.ts'
import { type Groups, openGroups } from './groups.ts'
import { openLink, type PostgresLink, type PostgresSettings } from './link.ts'
import { keepPartitions } from './partitions.ts'
import { Performer } from './perform.ts'
import { isUnsent } from './pool.ts'
import { refuseTransactionPooling } from './pooler.ts'
import { Unsettled } from './unsettled.ts'

interface PostgresOptions {
  /** Whether this is the first driver of this process: it checks for a pooler in between, and creates the partitions of the record. */
  makesPartitions?: boolean
  /** What a server says about itself: it counts as an instance. Undefined in other processes. */
  serves?: InstanceAbout | undefined
  onStage?: StageListener
}

/** Opens the pool on a migrated database. Rejects when it cannot be reached, or is behind a pooler that does not keep sessions. */
export async function openPostgres(
  settings: PostgresSettings,
  log: Logger,
  { makesPartitions = true, serves, onStage }: PostgresOptions = {},
): Promise<Driver> {
  const listeners: ((about?: Invalidation) => void)[] = []
  if (makesPartitions) await refuseTransactionPooling(clientSettings(settings))
  const link = await openLink(settings, {
    log,
    serves,
    onInvalidation: (about) => {
      for (const each of listeners) each(about)
    },
    settle: () => unsettled.settle(),
  })
  const { pool, listener, durability, refusal } = link
  const { perform } = new Performer({ lend: pool.lend, announcement: listener.announcement })
  const unsettled = new Unsettled({ perform, refusal: () => refusal('writing'), onNoted: link.mend })
  if (serves) await firstCommit(link, log)
  const partitions = makesPartitions ? await keepPartitions(settings, systemClock, log) : undefined
  const lane = openStoreLane(settings, perform, onStage)
  const groups = openGroups({ lend: pool.lend, lane, onStage })
  const call = callerOf({ link, unsettled, lane, groups })
  const queues = () => [lane, ...groups.all()].map(({ stats }) => stats)
  const demand = watchDemand(pool, settings.max_conns, queues)

  return {
    name: 'postgres',
    get stats() {
      return sum(queues())
    },
    connections: demand.counts,
    isHealthy: () => listener.isHealthy() && durability.works,
    instances: listener.presence.count,
    unsupported: listener.presence.unsupported,
    differing: listener.presence.differing,
    wentBackAt: listener.wentBackAt,
    unsettled,
    call: (op, input, onBatch) => call({ op, input }, onBatch),
    onForeignWrite: (each) => listeners.push(each),
    async close() {
      demand.close()
      await Promise.all(groups.all().map((each) => each.drained()))
      // Operations that could not be batched are in this lane.
      await lane.drained()
      await Promise.all([link.close(), partitions?.close()])
    },
  }
}

/** Resolves after the first test write, which may take long: without it the server could answer before it can commit. */
const firstCommit = ({ durability }: Pick<PostgresLink, 'durability'>, log: Logger): Promise<unknown> =>
  withReminders(durability.first, () =>
    log.warn('the start waits for the database to commit: is its disk full, or a synchronous standby unavailable?'),
  )

/** The queue of the operations that are not batched. Each of its workers has a connection of the pool. */
const openStoreLane = ({ max_conns }: PostgresSettings, perform: Performer['perform'], onStage?: StageListener) =>
  new Lane<Job, unknown>({
    name: 'store',
    workers: max_conns,
    maxBatch: 1,
    maxQueue: MAX_QUEUE,
    onStage,
    run: (jobs) => Promise.all(jobs.map((job) => settled(perform(job)))),
  })

interface CallerParts {
  link: PostgresLink
  unsettled: Unsettled
  lane: Lane<Job, unknown>
  groups: Groups
}

/** Returns the function that refuses an operation, or puts it into its queue, and notes an unknown outcome. */
function callerOf({ link, unsettled, lane, groups }: CallerParts) {
  const route = (job: Job, onBatch?: BatchListener): Promise<unknown> =>
    groups.push(job, onBatch) ?? lane.push(job, onBatch)
  return async (job: Job, onBatch?: BatchListener): Promise<unknown> => {
    const refused = link.refusal(isRead(job.op) ? 'reading' : 'writing')
    if (refused) throw refused
    if (unsettled.concerns(job.op)) await unsettled.wait(job.op)
    try {
      const value = await route(job, onBatch)
      if (!isRead(job.op)) link.durability.proven()
      return value
    } catch (error) {
      const noted = isUnknown(error) ? unsettled.note(job) : undefined
      link.durability.failed(error)
      await noted
      throw error
    }
  }
}

/** Whether an operation that failed with this error may have been committed. */
const isUnknown = (error: unknown): boolean => error instanceof OAuthError && !isOverloaded(error) && !isUnsent(error)

function sum(all: readonly LaneStats[]): LaneStats {
  const total = newStats()
  for (const stats of all) for (const [name, value] of Object.entries(stats)) total[name as keyof LaneStats] += value
  return total
}
