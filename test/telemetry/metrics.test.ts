// The scrape: names, labels and buckets of the specification.
import { describe, expect, test } from 'vitest'
import { Metrics } from '../../src/telemetry/metrics.ts'

/** Labels by counter, as the specification and its notes have them. */
const COUNTERS: Record<string, string[]> = {
  core_tokens_issued_total: ['grant_type'],
  core_tokens_refreshed_total: [],
  core_tokens_revoked_total: ['reason'],
  core_auth_denied_total: ['reason'],
  core_clients_registered_total: ['source'],
  core_consent_decisions_total: ['decision'],
  core_login_attempts_total: ['result'],
  core_refresh_token_reuse_total: [],
  core_introspection_total: ['result'],
  core_oidc_jwks_cache_hits_total: [],
  core_oidc_jwks_cache_misses_total: [],
  core_key_rotation_total: [],
  core_upstream_token_issued_total: ['provider'],
  core_connection_connect_total: ['provider'],
  core_connection_disconnect_total: ['provider'],
  core_http_requests_total: ['method', 'path', 'status'],
  ext_client_credentials_issued_total: [],
  ext_client_credentials_denied_total: ['reason'],
  ext_dpop_proofs_validated_total: [],
  ext_dpop_proofs_rejected_total: ['reason'],
  ext_token_exchange_total: ['kind'],
  ext_token_exchange_denied_total: ['reason'],
  ext_agent_tokens_issued_total: ['has_chain'],
  ext_xaa_policy_evaluation_total: ['result'],
  ext_xaa_idp_operations_total: ['operation'],
  ext_xaa_subject_resolutions_total: ['result'],
  ext_resource_server_ops_total: ['op'],
  ext_allowlist_ops_total: ['op'],
}
const HISTOGRAMS: Record<string, string[]> = {
  core_token_issuance_duration_seconds: [],
  core_auth_flow_duration_seconds: [],
  core_cimd_fetch_duration_seconds: [],
  core_db_operation_duration_seconds: ['op'],
  core_oidc_exchange_duration_seconds: [],
  core_introspection_duration_seconds: [],
  core_key_reload_duration_seconds: [],
  core_upstream_token_issuance_duration_seconds: ['provider'],
  core_http_request_duration_seconds: ['method', 'path', 'status'],
}
const BUCKETS = ['0.001', '0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '1', '2.5', '5', '10', '+Inf']

const labelled = (names: string[]) => Object.fromEntries(names.map((name) => [name, `a-${name}`]))
const written = (names: string[], more = '') => {
  const pairs = [...names.map((name) => `${name}="a-${name}"`), more].filter(Boolean)
  return pairs.length ? `{${pairs.join(',')}}` : ''
}
const scrape = async (metrics: Metrics) => (await metrics.render()).text.split('\n')

describe('at the first scrape', () => {
  test.each([
    ...Object.keys(COUNTERS).map((name) => [name, 'counter']),
    ...Object.keys(HISTOGRAMS).map((name) => [name, 'histogram']),
  ])('%s exists as a %s', async (name, type) => {
    const lines = await scrape(new Metrics())
    expect(lines).toContain(`# TYPE ${name} ${type}`)
    expect(lines.some((line) => line.startsWith(`# HELP ${name} `))).toBe(true)
  })

  test.each(Object.keys(COUNTERS).filter((name) => COUNTERS[name]?.length === 0))('%s is 0', async (name) => {
    expect(await scrape(new Metrics())).toContain(`${name} 0`)
  })

  test('no metric of the service has another prefix', async () => {
    const names = (await scrape(new Metrics()))
      .filter((line) => line.startsWith('# TYPE'))
      .map((line) => line.split(' ')[2])
    expect(names.filter((name) => !/^(core|ext)_/.test(name ?? ''))).toEqual([])
  })
})

test.each(Object.entries(COUNTERS))('%s counts with the labels %j', async (name, labels) => {
  const metrics = new Metrics()
  const count = (by?: number) =>
    metrics.count(name as Parameters<Metrics['count']>[0], labels.length ? labelled(labels) : undefined, by)
  count()
  count(2)
  expect(await scrape(metrics)).toContain(`${name}${written(labels)} 3`)
})

test.each(Object.entries(HISTOGRAMS))(
  '%s observes seconds with the labels %j in the specified buckets',
  async (name, labels) => {
    const metrics = new Metrics()
    const observe = (seconds: number) =>
      metrics.observe(name as Parameters<Metrics['observe']>[0], seconds, labels.length ? labelled(labels) : undefined)
    observe(0.03)
    observe(20)
    const lines = await scrape(metrics)
    const buckets = lines.filter((line) => line.startsWith(`${name}_bucket`))
    expect(buckets.map((line) => /le="([^"]+)"/.exec(line)?.[1])).toEqual(BUCKETS)
    expect(buckets.map((line) => Number(line.split(' ').at(-1)))).toEqual([0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2])
    expect(lines).toContain(`${name}_sum${written(labels)} 20.03`)
    expect(lines).toContain(`${name}_count${written(labels)} 2`)
  },
)

test('different label values are counted separately', async () => {
  const metrics = new Metrics()
  metrics.count('core_login_attempts_total', { result: 'success' })
  metrics.count('core_login_attempts_total', { result: 'failure' })
  metrics.count('core_login_attempts_total', { result: 'failure' })
  const lines = await scrape(metrics)
  expect(lines).toContain('core_login_attempts_total{result="success"} 1')
  expect(lines).toContain('core_login_attempts_total{result="failure"} 2')
})

describe('gauges', () => {
  test('are read at every scrape', async () => {
    const metrics = new Metrics()
    let clients = 3
    metrics.gauge('core_active_clients', async () => clients)
    metrics.gauge('core_active_token_families', () => 7)
    expect(await scrape(metrics)).toEqual(
      expect.arrayContaining([
        '# TYPE core_active_clients gauge',
        'core_active_clients 3',
        'core_active_token_families 7',
      ]),
    )
    clients = 4
    expect(await scrape(metrics)).toContain('core_active_clients 4')
  })

  test('are omitted while their source fails, also if they had a value before', async () => {
    const metrics = new Metrics()
    let isAway = true
    const ask = () => (isAway ? Promise.reject(new Error('away')) : Promise.resolve(3))
    const lanes = () => (isAway ? Promise.reject(new Error('away')) : Promise.resolve({ store: 2 }))
    metrics.gauge('core_active_clients', ask)
    metrics.gauge('ext_lane_waiting', lanes, 'lane')
    const shown = async () =>
      (await scrape(metrics)).filter((line) => /^(core_active_clients|ext_lane_waiting)/.test(line))
    expect(await shown()).toEqual([])
    isAway = false
    expect(await shown()).toEqual(['core_active_clients 3', 'ext_lane_waiting{lane="store"} 2'])
    isAway = true
    expect(await shown()).toEqual([])
  })

  test('may have labels', async () => {
    const metrics = new Metrics()
    metrics.gauge('ext_lane_waiting', () => ({ store: 2, crypto: 0 }), 'lane')
    expect(await scrape(metrics)).toEqual(
      expect.arrayContaining(['ext_lane_waiting{lane="store"} 2', 'ext_lane_waiting{lane="crypto"} 0']),
    )
  })
})

test('the scrape is in the Prometheus text format, and contains the process metrics on request', async () => {
  const metrics = new Metrics()
  metrics.addProcessMetrics()
  const { type, text } = await metrics.render()
  expect(type).toContain('text/plain; version=0.0.4')
  expect(text).toContain('process_resident_memory_bytes')
  expect(text).toContain('nodejs_eventloop_lag_seconds')
})

test('a counter with known label values is 0 for each of them from the start', async () => {
  const lines = await scrape(new Metrics())
  expect(lines).toEqual(
    expect.arrayContaining([
      'core_tokens_issued_total{grant_type="client_credentials"} 0',
      'core_login_attempts_total{result="failure"} 0',
      'ext_token_exchange_total{kind="delegation"} 0',
      'ext_telemetry_dropped_total{signal="traces"} 0',
    ]),
  )
})
