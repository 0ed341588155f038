// Whether the storage can commit writes. A successful read does not show that: a database on a full disk can still be read.
// So a small write is committed every two seconds.
import { isOverloaded } from '../lib/error.ts'
import type { Logger } from '../telemetry/logger.ts'
import { UNHEALTHY_MS } from './index.ts'

const WRITE_EVERY_MS = 2000
const LOG_EVERY_MS = 10_000

export interface HealthOptions {
  /** Commits a test write; when unhealthy, as many bytes as a batch of tokens needs. Rejects when the write fails. */
  write(isUnhealthy: boolean): Promise<unknown>
  log: Pick<Logger, 'error' | 'info'>
}

/** Starts the test writes on a storage that works now. */
export function watchHealth({ write, log }: HealthOptions) {
  let answeredMs = performance.now()
  let hasFailed = false
  let isWriting = false
  let loggedMs = Number.NEGATIVE_INFINITY

  const failed = (error: unknown): void => {
    hasFailed = true
    if (performance.now() - loggedMs < LOG_EVERY_MS) return
    loggedMs = performance.now()
    log.error({ err: error }, 'the database cannot be written: not ready until it can')
  }
  const attempt = async (): Promise<void> => {
    // While a test write hangs no other one is started: the storage becomes unhealthy by the lack of an answer.
    if (isWriting) return
    isWriting = true
    const startedMs = performance.now()
    try {
      await write(hasFailed)
      answeredMs = startedMs
      if (hasFailed) log.info('the database can be written again')
      hasFailed = false
    } catch (error) {
      if (!isOverloaded(error)) failed(error)
    } finally {
      isWriting = false
    }
  }
  const timer = setInterval(() => void attempt(), WRITE_EVERY_MS)
  timer.unref()
  return {
    /** Whether the last write was committed, and the storage answered within the last seconds. */
    isHealthy: () => !hasFailed && performance.now() - answeredMs < UNHEALTHY_MS,
    /** The storage answered. This shows that it is reachable, not that it can be written. */
    answered: () => {
      answeredMs = performance.now()
    },
    /** A write failed because the storage is unavailable, full or read-only. The storage is unhealthy until a test write succeeds. */
    failed,
    close: () => clearInterval(timer),
  }
}
