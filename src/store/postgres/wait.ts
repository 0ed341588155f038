// The wait for a PostgreSQL server that cannot be reached at the start, as after a power failure, when the machines come back in any order.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../telemetry/logger.ts'
import { connectedTo } from './client.ts'
import { isAway, type PostgresPlace } from './connection.ts'

const RETRY_MS = 500
const LOG_EVERY_MS = 10_000

interface WaitOptions {
  /** Seconds. */
  wait: number
  log: Pick<Logger, 'warn' | 'info'>
  /** Called once when the server is away. Returns a function that is called when the wait ends. */
  onAway(): Promise<() => Promise<void>>
}

/** Resolves when the server answers. Rejects with the last error when the time is over, and at once with an error of a server that answers. */
export async function waitForPostgres(place: PostgresPlace, { wait, log, onAway }: WaitOptions): Promise<void> {
  const endMs = performance.now() + wait * 1000
  let loggedMs = Number.NEGATIVE_INFINITY
  let found: (() => Promise<void>) | undefined
  try {
    for (;;) {
      const error = await answerOf(place)
      if (!error) break
      if (!isAway(error) || performance.now() >= endMs) throw error
      found ??= await onAway()
      if (performance.now() - loggedMs >= LOG_EVERY_MS) {
        loggedMs = performance.now()
        const left = Math.ceil((endMs - loggedMs) / 1000)
        log.warn(
          { reason: error.message, seconds_left: left },
          'the start waits for PostgreSQL (storage.postgres.connect_wait)',
        )
      }
      await sleep(RETRY_MS)
    }
    if (found) log.info('PostgreSQL answers, the start continues')
  } finally {
    await found?.()
  }
}

const answerOf = (place: PostgresPlace): Promise<Error | undefined> =>
  connectedTo(place, (query) => query('SELECT 1')).then(
    () => undefined,
    (error: Error) => error,
  )
