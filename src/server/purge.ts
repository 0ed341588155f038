// Deletes expired rows in small steps, so that requests are served between them: `service purge`, and `serve` with retention.enabled.
import { setTimeout as sleep } from 'node:timers/promises'
import { SKEW_SECONDS } from '../crypto/stored_keys.ts'
import { idFloor } from '../lib/id.ts'
import { type Clock, DAY } from '../lib/time.ts'
import { PURGE_TARGETS } from '../store/expiry.ts'
import type { Store } from '../store/index.ts'
import type { ResultOf } from '../store/operations.ts'
import type { Logger } from '../telemetry/logger.ts'

/** Rows of one window. A running server waits for a window, so it must take only milliseconds. */
const ROWS = 250
/** Pause after a window, as a share of its time within limits: SQLite does not queue writers, so a server needs a pause to get the lock. */
const PAUSE = { share: 2, leastMs: 10, mostMs: 250 }
const FAMILIES = 'token-families'
/** Families of one query, which reads the refresh tokens and the live access tokens once. */
const FAMILY_ROWS = 10_000
const UNUSED_SECONDS = 30 * DAY

interface Parts {
  store: Store
  log: Logger
  clock: Clock
}

/** The number of rows that were deleted, and the error that ended the run or kept it from being stored. */
export interface PurgedTarget {
  deleted: number
  error: unknown
}

/**
 * Deletes the rows of a target window by window, and stores the run. `goOn` is called after each window: false ends the run, and an error
 * fails it. A failure is logged. A run that could not be stored has failed too: with no row to delete, it is the only write that a full disk refuses.
 */
export async function purgeTarget(
  { store, log, clock }: Parts,
  target: string,
  deleting: AsyncIterable<number>,
  goOn: (deleted: number) => boolean | Promise<boolean>,
): Promise<PurgedTarget> {
  const started_at = clock.now()
  const purged: PurgedTarget = { deleted: 0, error: undefined }
  try {
    await drain(deleting, purged, goOn)
  } catch (error) {
    purged.error = error
    log.error({ table: target, err: error }, 'purge failed')
  }
  const { deleted, error } = purged
  try {
    await store.savePurgeRun({ target, started_at, finished_at: clock.now(), deleted, ok: error === undefined })
  } catch (error) {
    purged.error ??= error
    log.error({ table: target, err: error }, 'the purge run was not recorded')
  }
  return purged
}

async function drain(
  deleting: AsyncIterable<number>,
  purged: PurgedTarget,
  goOn: (deleted: number) => boolean | Promise<boolean>,
): Promise<void> {
  let beganMs = performance.now()
  for await (const rows of deleting) {
    purged.deleted += rows
    if (!(await goOn(purged.deleted))) return
    await rest(performance.now() - beganMs)
    beganMs = performance.now()
  }
}

/** Pauses after a window, in proportion to its time, so that others can use the database. */
const rest = (tookMs: number): Promise<void> =>
  sleep(Math.min(PAUSE.mostMs, Math.max(PAUSE.leastMs, tookMs * PAUSE.share)))

interface Bounds {
  now: number
  /** Maximum lifetime of an access token, in seconds. */
  life: number
}

/** Deletes the expired rows of a target. Yields the number of deleted rows after each window. */
export async function* expiredRows(store: Store, target: string, { now, life }: Bounds): AsyncGenerator<number> {
  if (target === FAMILIES) return yield* endedFamilies(store, now, life)
  for (const table of PURGE_TARGETS[target]?.keys() ?? []) {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const window: ResultOf<'purgeWindow'> = await store.purgeWindow({ target, table, after, rows: ROWS, now })
      yield window.deleted
      after = window.next
    }
  }
}

/** Deletes the registrations that were not used within thirty days. */
export async function* unusedClients(store: Store, now: number): AsyncGenerator<number> {
  for (let rows = ROWS; rows === ROWS; yield rows)
    rows = await store.reapClients({ before: now - UNUSED_SECONDS, limit: ROWS })
}

/** Deletes the token families that cannot issue tokens any more, a few at a time. */
async function* endedFamilies(store: Store, now: number, life: number): AsyncGenerator<number> {
  const liveFrom = idFloor(now - life - SKEW_SECONDS)
  for (let after: string | undefined = ''; after !== undefined; ) {
    const found: ResultOf<'listEndedFamilies'> = await store.listEndedFamilies({
      after,
      rows: FAMILY_ROWS,
      liveFrom,
      now,
    })
    yield 0
    for (let from = 0; from < found.ids.length; from += ROWS)
      yield await store.deleteFamilies({ ids: found.ids.slice(from, from + ROWS) })
    after = found.next
  }
}
