// The SQLite driver: one thread owns the database. All operations that arrived since its last commit form the next transaction.
import { unavailable } from '../lib/error.ts'
import { newId } from '../lib/id.ts'
import { jsonOf } from '../lib/json.ts'
import { programFile } from '../lib/paths.ts'
import { Lane, type StageListener } from '../lib/threads/lane.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { BatchResult, Failure, Job } from './database.ts'
import { watchHealth } from './health.ts'
import { type Driver, MAX_QUEUE } from './index.ts'
import { isRead } from './operations.ts'
import { type ReplacedThread, startThread } from './thread.ts'

interface SqliteOptions {
  wal: boolean
  /** Whether this process is a server: then the health check writes to the database, otherwise it only reads. */
  serves: boolean
  /** Milliseconds that an operation waits while another process has locked the database. */
  busyMs?: number | undefined
  /** Called when the storage thread has ended. */
  unlock?: () => void
  onStage?: StageListener
}

/** Starts the storage thread on a migrated database. */
export function openSqlite(
  file: string,
  { wal, serves, busyMs, unlock = () => {}, onStage }: SqliteOptions,
  log: Logger,
): Driver {
  const thread = startThread(programFile('store'), { file, wal, busyMs }, log)
  const listeners: (() => void)[] = []

  const lane = new Lane<Job, unknown>({
    name: 'store',
    workers: 1,
    ahead: 1,
    maxBatch: 256,
    maxQueue: MAX_QUEUE,
    onStage,
    async run(jobs, worked) {
      if (jobs.some(({ op }) => !isRead(op))) stats.commits++
      const { outcomes = jobs.map(() => ({ value: undefined })), ms, foreign } = await runBatch(thread, jobs)
      worked(ms)
      // Every answer shows that the storage is reachable: under overload the health check itself may be refused.
      if (outcomes.some((outcome) => 'value' in outcome)) health.answered()
      if (foreign) for (const listener of listeners) listener()
      return outcomes.map((outcome, i) => ('failed' in outcome ? failed(jobs[i] as Job, outcome.failed) : outcome))
    },
  })
  const failed = ({ op }: Job, failure: Failure) => {
    const error = failureOf(failure)
    if (isUnavailable(failure) && !isRead(op)) health.failed(error.cause)
    return { error }
  }
  /** With the number of write transactions; each waits for the disk once. */
  const stats = Object.assign(lane.stats, { commits: 0 })
  const health = watchHealth({
    write: (isUnhealthy) =>
      lane.push(
        serves
          ? { op: 'proveWrite', input: { mark: newId(), inDoubt: isUnhealthy } }
          : { op: 'readHealth', input: undefined },
      ),
    log,
  })

  return {
    name: 'sqlite',
    stats,
    isHealthy: health.isHealthy,
    instances: () => 1,
    call: (op, input, onBatch) => lane.push({ op, input }, onBatch),
    onForeignWrite: (listener) => listeners.push(listener),
    async close() {
      health.close()
      await lane.drained()
      await thread.close()
      unlock()
    },
  }
}

function textOf({ op, input }: Job): string {
  const text = jsonOf(input)
  return text === undefined ? `{"op":"${op}"}` : `{"op":"${op}","input":${text}}`
}

async function runBatch(thread: ReplacedThread, jobs: readonly Job[]): Promise<BatchResult> {
  try {
    // One JSON text is transferred to the thread several times faster than a list of objects.
    return (await thread.call(`[${jobs.map(textOf).join()}]`)) as BatchResult
  } catch (error) {
    // The batch may have been committed or not: the caller must retry.
    throw unavailable('the storage is not available', { reason: 'storage_thread_failed', cause: error })
  }
}

const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|FULL|READONLY|IOERR|CANTOPEN|CORRUPT|NOTADB|PROTOCOL)/
const isUnavailable = ({ code }: Failure): boolean => UNAVAILABLE.test(code)
/** Unavailable storage is 503; every other error is a bug of this program. */
function failureOf(failure: Failure): Error {
  const { code, message } = failure
  const error = Object.assign(new Error(message), { code })
  return isUnavailable(failure)
    ? unavailable('the storage is not available', { reason: 'storage_unavailable', cause: error })
    : error
}
