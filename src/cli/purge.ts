// `service purge`: deletes expired rows. The server may run.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Env } from '../config/env.ts'
import { longestLife } from '../config/lifetimes.ts'
import { loadConfig } from '../config/load.ts'
import { SKEW_SECONDS } from '../crypto/stored_keys.ts'
import { idFloor } from '../lib/id.ts'
import { DAY, parseDuration, systemClock } from '../lib/time.ts'
import { PURGE_TARGETS } from '../store/expiry.ts'
import type { Store } from '../store/index.ts'
import type { ResultOf } from '../store/operations.ts'
import { withStore } from '../store/work.ts'
import { UsageError } from './output.ts'
import { RECORD_KINDS, type Retention, retire } from './retention.ts'

/** Rows of one window. A running server waits for a window, so it must take only milliseconds. */
const ROWS = 250
/** Pause after a window, as a share of its time within limits: SQLite does not queue writers, so a server needs a pause to get the lock. */
const PAUSE = { share: 2, leastMs: 10, mostMs: 250 }
/** Registrations that were not used within thirty days. Deleted only when --only names them. */
const UNUSED_CLIENTS = 'unused-clients'
const FAMILIES = 'token-families'
/** Families of one query, which reads the refresh tokens and the live access tokens once. */
const FAMILY_ROWS = 10_000
const UNUSED_SECONDS = 30 * DAY

/** Every target that --only accepts. */
const TARGET_NAMES: readonly string[] = [...Object.keys(PURGE_TARGETS), UNUSED_CLIENTS, ...Object.keys(RECORD_KINDS)]

export interface PurgeOptions {
  config: string | undefined
  /** Targets, separated by commas. Default: all. */
  only?: string
  /** A Go duration. 0 means no limit. */
  timeout: string
  /** A Go duration: the minimum age of records to delete. */
  olderThan?: string
  /** File to which the records are appended before they are deleted. */
  export?: string
}
export interface Purged {
  table: string
  deleted: number
}

/** Purges the targets one after the other. A failure is logged and the next target runs. Returns the deleted rows by target, and whether every target succeeded. */
export async function purge(
  { config: file, only, timeout, ...more }: PurgeOptions,
  env: Env,
): Promise<{ purged: Purged[]; ok: boolean }> {
  const targets = readTargets(only)
  const retention = readRetention(targets, more)
  const seconds = parseDuration(timeout)
  if (seconds === undefined) throw new UsageError('--timeout must be a duration such as 30s or 10m, or 0 for no limit')
  const { config } = loadConfig(file, env)
  return withStore(config, async (store, log) => {
    const deadlineMs = seconds === 0 ? Number.POSITIVE_INFINITY : performance.now() + seconds * 1000
    const purged: Purged[] = []
    for (const target of targets) {
      const run = { target, started_at: systemClock.now(), deleted: 0, ok: true }
      try {
        await drain(windows(store, target, { retention, life: longestLife(config) }), run, deadlineMs)
        purged.push({ table: target, deleted: run.deleted })
      } catch (error) {
        run.ok = false
        log.error({ table: target, err: error }, 'purge failed')
      }
      await store.savePurgeRun({ ...run, finished_at: systemClock.now() }).catch((error: unknown) => {
        log.error({ table: target, err: error }, 'the run was not recorded')
      })
    }
    return { purged, ok: purged.length === targets.length }
  })
}

/** Deletes window by window and counts the rows in `run`. Throws at the deadline. */
async function drain(deleting: AsyncGenerator<number>, run: { deleted: number }, deadlineMs: number): Promise<void> {
  let beganMs = performance.now()
  for await (const rows of deleting) {
    run.deleted += rows
    if (performance.now() > deadlineMs) throw new Error(`--timeout was reached after ${run.deleted} rows were deleted`)
    await rest(performance.now() - beganMs)
    beganMs = performance.now()
  }
}

function readTargets(only: string | undefined): string[] {
  if (only === undefined) return Object.keys(PURGE_TARGETS)
  const targets = only
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean)
  const unknown = targets.filter((each) => !TARGET_NAMES.includes(each))
  if (targets.length === 0 || unknown.length > 0)
    throw new UsageError(
      `--only takes some of ${TARGET_NAMES.join(', ')}${unknown.length ? `; not ${unknown.join(', ')}` : ''}`,
    )
  return targets
}

const isRecord = (target: string): target is keyof typeof RECORD_KINDS => Object.hasOwn(RECORD_KINDS, target)

/** Audit events and issuances are deleted alone, by age, and only with an export file. */
function readRetention(targets: readonly string[], { olderThan, export: file }: Partial<PurgeOptions>) {
  if (!targets.some(isRecord)) {
    if (olderThan !== undefined || file !== undefined)
      throw new UsageError(`--older-than and --export are for --only ${Object.keys(RECORD_KINDS).join(' and --only ')}`)
    return undefined
  }
  if (targets.length > 1) throw new UsageError(`${targets.find(isRecord)} cannot be purged together with other targets`)
  const seconds = parseDuration(olderThan ?? '')
  if (seconds === undefined || seconds < DAY)
    throw new UsageError('--older-than must be a duration of a day or more, such as 365d')
  if (file === undefined)
    throw new UsageError('--export must name the file to append the rows to; /dev/null discards them')
  return { olderThan: seconds, file, now: systemClock.now() }
}

interface Bounds {
  retention: Retention | undefined
  /** Maximum lifetime of an access token, in seconds. */
  life: number
}

/** Deletes window by window, so that a running server can write between them. Yields the number of deleted rows. */
async function* windows(store: Store, target: string, { retention, life }: Bounds): AsyncGenerator<number> {
  const now = systemClock.now()
  if (retention && isRecord(target)) return yield* retire(store, target, retention)
  if (target === UNUSED_CLIENTS) {
    for (let rows = ROWS; rows === ROWS; yield rows)
      rows = await store.reapClients({ before: now - UNUSED_SECONDS, limit: ROWS })
    return
  }
  if (target === FAMILIES) return yield* endedFamilies(store, now, life)
  for (const table of PURGE_TARGETS[target]?.keys() ?? []) {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const window: WindowResult = await store.purgeWindow({ target, table, after, rows: ROWS, now })
      yield window.deleted
      after = window.next
    }
  }
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

/** Pauses after a window, in proportion to its time, so that others can use the database. */
const rest = (tookMs: number): Promise<void> =>
  sleep(Math.min(PAUSE.mostMs, Math.max(PAUSE.leastMs, tookMs * PAUSE.share)))
type WindowResult = ResultOf<'purgeWindow'>
