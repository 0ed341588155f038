// `service purge`: deletes what has expired, beside a running server or without one.
import { loadConfig } from '../config/load.ts'
import type { Env } from '../config/rules.ts'
import { parseDuration, systemClock } from '../lib/time.ts'
import { PURGE_TARGETS } from '../store/expiry.ts'
import type { ResultOf, Store } from '../store/index.ts'
import { openStore } from '../store/open.ts'
import { openLogger } from '../telemetry/logger.ts'
import { Metrics } from '../telemetry/metrics.ts'
import { UsageError } from './output.ts'

const ROWS = 1000
/** Only when it is named: registrations that were never used in thirty days. */
const UNUSED_CLIENTS = 'unused-clients'
const UNUSED_SECONDS = 30 * 86_400

/** Everything that --only may name. */
const TARGET_NAMES: readonly string[] = [...Object.keys(PURGE_TARGETS), UNUSED_CLIENTS]

export interface PurgeOptions {
  config: string | undefined
  /** Comma list of targets; all when undefined. */
  only?: string
  /** Go duration; 0 for no limit. */
  timeout: string
}
export interface Purged {
  table: string
  deleted: number
}

/** Purges the targets one after the other. A target that fails is logged; the others still run. Returns what was deleted and whether all went well. */
export async function purge(
  { config: file, only, timeout }: PurgeOptions,
  env: Env,
): Promise<{ purged: Purged[]; ok: boolean }> {
  const targets = readTargets(only)
  const seconds = parseDuration(timeout)
  if (seconds === undefined) throw new UsageError('--timeout must be a duration such as 30s or 10m; 0 for none')
  const { config } = loadConfig(file, env)
  const log = openLogger({ ...config.observability.logging, level: 'error' })
  const store = await openStore(config.storage, { log, metrics: new Metrics(), now: systemClock.now() })
  const deadlineMs = seconds === 0 ? Number.POSITIVE_INFINITY : performance.now() + seconds * 1000
  const purged: Purged[] = []
  try {
    for (const target of targets) {
      try {
        purged.push({ table: target, deleted: await purgeTarget(store, target, deadlineMs) })
      } catch (error) {
        log.error({ table: target, err: error }, 'purge failed')
      }
    }
    return { purged, ok: purged.length === targets.length }
  } finally {
    await store.driver.close()
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

/** Deletes window by window, so that the traffic of a running server goes on in between. Throws at the deadline. */
async function purgeTarget(store: Store, target: string, deadlineMs: number): Promise<number> {
  let deleted = 0
  for await (const rows of windows(store, target)) {
    deleted += rows
    if (performance.now() > deadlineMs) throw new Error(`--timeout was reached; ${deleted} rows are deleted`)
  }
  return deleted
}

async function* windows(store: Store, target: string): AsyncGenerator<number> {
  const now = systemClock.now()
  if (target === UNUSED_CLIENTS) {
    for (let rows = ROWS; rows === ROWS; yield rows)
      rows = await store.reapClients({ before: now - UNUSED_SECONDS, limit: ROWS })
    return
  }
  for (const table of PURGE_TARGETS[target]?.keys() ?? []) {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const window: WindowResult = await store.purgeWindow({ target, table, after, rows: ROWS, now })
      yield window.deleted
      after = window.next
    }
  }
}
type WindowResult = ResultOf<'purgeWindow'>
