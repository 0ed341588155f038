// What others keep and the scrape asks for: queues, caches, connections, health, the age of the key.
import type { App } from '../app.ts'
import type { LaneStats } from '../lib/lane.ts'
import type { GaugeName, ReadingName } from './metrics.ts'

type Lanes = Readonly<Record<string, LaneStats>>

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

/** Registers the gauges of an app. */
export function addGauges({ metrics, store, lanes, keyring, clock, build, headroom }: App): void {
  metrics.gauge('core_active_clients', () => store.countActiveClients())
  metrics.gauge('core_active_token_families', () => store.countActiveFamilies())
  metrics.gauge('ext_storage_healthy', () => Number(store.driver.isHealthy()))
  metrics.gauge('ext_db_pool_connections', () => store.driver.connections?.() ?? {}, 'state')
  metrics.gauge('ext_signing_key_age_seconds', () => clock.now() - (keyring.published()[0]?.created_at ?? clock.now()))
  metrics.gauge('ext_build_info', () => ({ [build.version]: 1 }), 'version')
  metrics.gauge('ext_capacity_use', () => headroom.show().use ?? 0)
  metrics.gauge('ext_capacity_ceiling', () => headroom.show().ceiling_per_s ?? 0)
  metrics.gauge('ext_part_busy', () => headroom.show().parts, 'part')
  for (const [name, field] of LANE_GAUGES) metrics.gauge(name, () => ofLanes(lanes, field), 'lane')
  for (const [name, field, scale] of LANE_COUNTERS) metrics.reading(name, () => ofLanes(lanes, field, scale), 'lane')
  metrics.reading('ext_cache_hits_total', () => mapped(store.caches, ({ hits }) => hits), 'cache')
  metrics.reading('ext_cache_misses_total', () => mapped(store.caches, ({ misses }) => misses), 'cache')
}

/** How many jobs wait, by lane. */
export const waitingIn = (lanes: Lanes): Record<string, number> => ofLanes(lanes, 'waiting')

const ofLanes = (lanes: Lanes, field: keyof LaneStats, scale = 1) => mapped(lanes, (stats) => stats[field] * scale)
const mapped = <T>(record: Readonly<Record<string, T>>, value: (each: T) => number): Record<string, number> =>
  Object.fromEntries(Object.entries(record).map(([name, each]) => [name, value(each)]))
