// `service purge`: deletes expired rows. The server may run.
import type { Env } from '../config/env.ts'
import { longestLife } from '../config/lifetimes.ts'
import { loadConfig } from '../config/load.ts'
import { DAY, parseDuration, systemClock } from '../lib/time.ts'
import { expiredRows, purgeTarget, unusedClients } from '../server/purge.ts'
import { PURGE_TARGETS } from '../store/expiry.ts'
import type { Store } from '../store/index.ts'
import { withStore } from '../store/work.ts'
import { faultsOf, UsageError } from './output.ts'
import { CommandProgress } from './progress.ts'
import { RECORD_KINDS, type Retention, retire } from './retention.ts'

/** Registrations that were not used within thirty days. Deleted only when --only names them. */
const UNUSED_CLIENTS = 'unused-clients'

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

/** Purges the targets one after the other. A failure is logged and the next target runs. Returns the deleted rows by target, and an error that names the targets that failed. */
export async function purge(
  { config: file, only, timeout, ...more }: PurgeOptions,
  env: Env,
): Promise<{ purged: Purged[]; error: Error | undefined }> {
  const targets = readTargets(only)
  const retention = readRetention(targets, more)
  const seconds = parseDuration(timeout)
  if (seconds === undefined) throw new UsageError('--timeout must be a duration such as 30s or 10m, or 0 for no limit')
  const { config } = loadConfig(file, env)
  return withStore(config, async (store, log) => {
    const deadlineMs = seconds === 0 ? Number.POSITIVE_INFINITY : performance.now() + seconds * 1000
    const purged: Purged[] = []
    const failures = new Map<string, unknown>()
    const goOn = (deleted: number) => {
      if (performance.now() <= deadlineMs) return true
      throw new Error(`--timeout was reached after ${deleted} rows were deleted`)
    }
    for (const target of targets) {
      const rows = deleting(store, target, retention, longestLife(config))
      const progress = new CommandProgress(`purge of ${target}`)
      const { deleted, error } = await purgeTarget({ store, log, clock: systemClock }, target, rows, (count) => {
        progress.show(count)
        return goOn(count)
      })
      progress.end()
      if (error === undefined) purged.push({ table: target, deleted })
      else failures.set(target, error)
    }
    return { purged, error: failureOf(failures) }
  })
}

/** One error for all targets that failed, with each reason once. */
function failureOf(failures: ReadonlyMap<string, unknown>): Error | undefined {
  if (failures.size === 0) return undefined
  const reasons = new Set([...failures.values()].flatMap(faultsOf))
  return new Error(`purge failed for ${[...failures.keys()].join(', ')}: ${[...reasons].join('; ')}`)
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

/** Deletes the rows of a target. `life` is the longest lifetime of an access token. Yields the number of deleted rows after each window. */
function deleting(
  store: Store,
  target: string,
  retention: Retention | undefined,
  life: number,
): AsyncGenerator<number> {
  if (retention && isRecord(target)) return retire(store, target, retention)
  const now = systemClock.now()
  return target === UNUSED_CLIENTS ? unusedClients(store, now) : expiredRows(store, target, { now, life })
}
