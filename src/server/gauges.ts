// Metrics read at scrape time: queues, caches, connection pool, health, key age.
import { statfs } from 'node:fs/promises'
import path from 'node:path'
import { wentBackLately } from '../admin/attention.ts'
import { wasteOf } from '../admin/clients/token_waste.ts'
import { unsafeSettings } from '../admin/posture.ts'
import { certificateEnds, lastBackupOf } from '../admin/upkeep.ts'
import type { App } from '../context.ts'
import { lagByWay } from '../events/lag.ts'
import type { LaneStats } from '../lib/threads/lane.ts'
import { sharedRead } from '../lib/threads/single_flight.ts'
import { SHARED_SETTING_NAMES } from '../records/instance.ts'
import type { ScimState } from '../store/people/scim_providers.ts'
import type { PurgeRun } from '../store/retention.ts'
import { addedUp, allLanes, mapValues, ofLanes } from '../telemetry/lanes.ts'
import type { GaugeName, ReadingName } from '../telemetry/metric_names.ts'
import { expectSeries } from './expected_series.ts'

const LANE_GAUGES: readonly (readonly [GaugeName, keyof LaneStats])[] = [
  ['ext_lane_waiting', 'waiting'],
  ['ext_lane_running', 'running'],
]
const LANE_COUNTERS: readonly (readonly [ReadingName, keyof LaneStats, scale?: number])[] = [
  ['ext_lane_jobs_total', 'jobs'],
  ['ext_lane_batches_total', 'batches'],
  ['ext_lane_refused_total', 'refused'],
  ['ext_lane_busy_seconds_total', 'busy_ms', 0.001],
]

/** Counting a table is slow: the result is reused for this time, whatever the scrape rate. */
const RECOUNT_MS = 15_000

/** The report of wasted tokens reads up to 100,000 rows. */
const WASTE_MS = 900_000

const cached = <R>(count: () => Promise<R>) => sharedRead(RECOUNT_MS, count)

/** Registers the gauges of an app, and the counters that its parts keep. */
export function addGauges(app: App): void {
  const { metrics, store, keyring, clock, build, headroom } = app
  expectSeries(app)
  const counts: readonly (readonly [GaugeName, () => Promise<number>])[] = [
    ['core_active_clients', () => store.countActiveClients()],
    ['ext_cimd_stale_clients', () => store.countStaleDocuments()],
    ['core_active_token_families', () => store.countActiveFamilies()],
    ['ext_lockouts', () => store.countLockouts({ now: clock.now() })],
  ]
  for (const [name, count] of counts) metrics.gauge(name, cached(count))
  const waste = sharedRead(WASTE_MS, () => wasteOf(app, 0))
  metrics.gauge('ext_wasteful_clients', async () => (await waste()).wasteful_clients)
  metrics.gauge('ext_avoidable_tokens_per_second', async () => (await waste()).avoidable_per_second)
  metrics.gauge('ext_events_failing_seconds', () => failingReceivers(app), 'receiver')
  const lag = cached(() => lagByWay(app))
  metrics.gauge('ext_events_pending', async () => (await lag()).pending, 'kind')
  metrics.gauge('ext_events_lag_seconds', async () => (await lag()).seconds, 'kind')
  metrics.gauge('ext_unsafe_settings', () => unsafeSettings(app), 'key')
  metrics.gauge('ext_storage_healthy', () => Number(store.driver.isHealthy()))
  metrics.gauge('ext_clock_seconds', () => clock.now())
  if (app.config.storage.driver === 'sqlite') addDiskGauges(app)
  metrics.gauge('ext_instances', () => store.driver.instances())
  metrics.gauge('ext_instances_differ', () => differing(store), 'setting')
  metrics.gauge('ext_database_went_back', () => Number(wentBackLately(app) !== undefined))
  addUpkeepGauges(app)
  metrics.gauge('ext_db_pool_connections', () => connectionsOf(app), 'state')
  metrics.gauge('ext_signing_key_age_seconds', () => clock.now() - (keyring.published()[0]?.created_at ?? clock.now()))
  metrics.gauge('ext_build_info', () => ({ [build.version]: 1 }), 'version')
  metrics.gauge('ext_capacity_use', () => headroom.show().use ?? 0)
  metrics.gauge('ext_capacity_ceiling', () => headroom.show().ceiling_per_s ?? 0)
  metrics.gauge('ext_part_busy', () => headroom.show().parts, 'part')
  for (const [name, field] of LANE_GAUGES) metrics.gauge(name, () => ofLanes(allLanes(app), field), 'lane')
  for (const [name, field, scale] of LANE_COUNTERS)
    metrics.reading(name, () => ofLanes(allLanes(app), field, scale), 'lane')
  const caches = () => addedUp([store.caches, ...reportsOf(app).map((each) => each.caches)])
  metrics.reading('ext_cache_hits_total', () => mapValues(caches(), ({ hits }) => hits), 'cache')
  metrics.reading('ext_cache_misses_total', () => mapValues(caches(), ({ misses }) => misses), 'cache')
  const requests = () => Object.fromEntries(reportsOf(app).map(({ thread, requests }) => [thread, requests]))
  metrics.reading('ext_front_requests_total', requests, 'thread')
}

function addDiskGauges({ metrics, config }: Pick<App, 'metrics' | 'config'>): void {
  const folder = path.dirname(config.storage.sqlite.path)
  const disk = async (part: 'bavail' | 'blocks') => {
    const stats = await statfs(folder)
    return stats[part] * stats.bsize
  }
  metrics.gauge('ext_disk_free_bytes', () => disk('bavail'))
  metrics.gauge('ext_disk_size_bytes', () => disk('blocks'))
}

function addUpkeepGauges(app: App): void {
  const { metrics, store, clock } = app
  const purges = cached(() => store.listPurgeRuns())
  const ofPurges = async (read: (run: PurgeRun) => number) =>
    Object.fromEntries((await purges()).map((run) => [run.target, read(run)]))
  metrics.gauge('ext_purge_age_seconds', () => ofPurges(({ finished_at }) => clock.now() - finished_at), 'target')
  metrics.gauge('ext_purge_failed', () => ofPurges(({ ok }) => Number(!ok)), 'target')
  metrics.gauge('ext_backup_age_seconds', async () => {
    const at = await lastBackupOf(app)
    return at === undefined ? undefined : clock.now() - at
  })
  const ends = cached(() => certificateEnds(app))
  const left = async () => mapValues(await ends(), (end) => end - clock.now())
  metrics.gauge('ext_provider_certificate_seconds', left, 'provider')
  const providers = cached(async () => (app.config.scim.enabled ? store.listScimStates({}) : []))
  const ofProviders = async (read: (state: ScimState) => number | undefined) =>
    Object.fromEntries(
      (await providers()).flatMap((state): [string, number][] => {
        const value = read(state)
        return value === undefined ? [] : [[state.provider, value]]
      }),
    )
  const ageOf = ({ last_call_at }: ScimState) => (last_call_at === undefined ? undefined : clock.now() - last_call_at)
  metrics.gauge('ext_scim_call_age_seconds', () => ofProviders(ageOf), 'provider')
  metrics.gauge('ext_scim_people', () => ofProviders(({ people }) => people), 'provider')
  metrics.gauge('ext_scim_groups', () => ofProviders(({ groups }) => groups), 'provider')
}

/** For each setting that instances must share: 1 when they differ in it. */
function differing({ driver }: App['store']): Record<string, number> {
  const found = driver.differing?.() ?? []
  return Object.fromEntries(SHARED_SETTING_NAMES.map((name) => [name, Number(found.includes(name))]))
}

/** The connections of all threads by state. None with SQLite. */
function connectionsOf(app: App): Record<string, number> {
  const pools = [app.store.driver, ...reportsOf(app).map(({ connections }) => ({ connections: () => connections }))]
  const all = pools.flatMap((pool) => pool.connections?.() ?? [])
  return addedUp(all.map((connections) => ({ connections })))['connections'] ?? {}
}

/** The receivers of events that refuse them, with the seconds since then. */
async function failingReceivers({ store, clock }: App): Promise<Record<string, number>> {
  const failing = (await store.listEventCursors()).filter(({ failing_since }) => failing_since !== undefined)
  return Object.fromEntries(failing.map((each) => [each.receiver_id, clock.now() - (each.failing_since ?? 0)]))
}

const reportsOf = ({ frontPool }: Pick<App, 'frontPool'>) => frontPool?.reports() ?? []
