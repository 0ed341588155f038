// The alerts, both ways: none fires on an idle pair, and each fires on what it is about. promtool reads scrapes of running instances, or
// series for what a test cannot bring about in seconds.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { packageRoot } from '../../src/lib/paths.ts'
import { authorize, machineToken, redeem, refresh } from '../support/flow.ts'
import { startPair } from '../support/pair.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import {
  ALERT_EXPRESSIONS,
  ALERTS,
  firing,
  hasPromtool,
  type Scrape,
  type Series,
  scrape,
  seriesOf,
} from '../support/promtool.ts'
import { openProxy } from '../support/proxy.ts'
import { ADMIN_KEY, addClient, addUser, SEALED, startService, type TestService } from '../support/service.ts'
import { eventually, pause } from '../support/wire.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

const provoked = new Set<string>()
/** Notes that these alerts fire. */
const expectFiring = (fired: readonly string[], ...alerts: readonly string[]) => {
  expect(fired).toEqual(expect.arrayContaining([...alerts]))
  for (const alert of alerts) provoked.add(alert)
}
const repeated = (times: number, work: () => Promise<unknown>) => Promise.all(Array.from({ length: times }, work))

describe.skipIf(!hasPromtool)('promtool (not run where it is not installed: apt-get install prometheus)', () => {
  test('no alert fires on an idle pair, whose pool has two connections', async () => {
    const pair = await startPair(await server.migrated(), {
      ...SEALED,
      SERVICE_SIGNING_KEY_STORE: 'postgres_key',
      SERVICE_STORAGE_POSTGRES_MAX_CONNS: '2',
      SERVICE_STORAGE_POSTGRES_MIN_CONNS: '0',
      SERVICE_RATE_LIMIT_ENABLED: 'true',
      SERVICE_DCR_MODE: 'admin_only',
      SERVICE_ADMIN_API_KEY: ADMIN_KEY.padEnd(40, 'x'),
    })
    for (const { app } of [pair.a, pair.b]) app.metrics.addProcessMetrics()
    const watched = async () => {
      const scrapes: Scrape[][] = [[], []]
      for (let n = 0; n < 4; n++) {
        for (const [i, at] of [pair.a, pair.b].entries()) scrapes[i]?.push(await scrape(at))
        await pause(1100)
      }
      const series = scrapes.flatMap((each, i) => seriesOf(`${i}`, each))
      return firing([...series, { series: 'up{job="service",instance="0"}', values: '1x320' }])
    }
    let fired = await watched()
    // Other tests keep the processors busy at the same time. An alert that is wrong fires each time.
    for (let left = 5; left > 0 && fired.includes('EventLoopBlocked'); left--) fired = await watched()
    expect(fired).toEqual([])
    await pair.close()
  })

  /** A scrape, what happens, and another scrape. With `goesOn` it happens again and again. */
  const during = async (at: TestService, work: () => Promise<unknown>, goesOn = true) => {
    const before = await scrape(at)
    await work()
    return firing(seriesOf('a', [before, await scrape(at)], goesOn))
  }

  test('operations that wait for one of the connections in use', async () => {
    const dsn = await server.migrated()
    const service = await startService({
      SERVICE_STORAGE_DRIVER: 'postgres',
      SERVICE_STORAGE_POSTGRES_DSN: dsn,
      SERVICE_STORAGE_POSTGRES_MAX_CONNS: '2',
      SERVICE_STORAGE_POSTGRES_MIN_CONNS: '0',
    })
    const locking = new pg.Client({ connectionString: dsn })
    await locking.connect()
    await locking.query('BEGIN; LOCK TABLE clients')
    const waiting = repeated(20, () => service.app.store.countActiveClients().catch(() => {}))
    await eventually(async () => /connections\{state="waiting"\} [1-9]/.test((await scrape(service)).text))
    expectFiring(firing(seriesOf('a', [await scrape(service)])), 'DatabasePoolExhausted')
    await locking.end()
    await waiting
    await eventually(async () => /connections\{state="waiting"\} 0/.test((await scrape(service)).text))
    await service.close()
  })

  test('the first audit event that is lost, a database that is away, and answers that fail', async () => {
    const dsn = await server.migrated()
    const proxy = await openProxy(dsn)
    const service = await startService({
      SERVICE_STORAGE_DRIVER: 'postgres',
      SERVICE_STORAGE_POSTGRES_DSN: proxy.dsn,
      SERVICE_STORAGE_POSTGRES_MAX_CONNS: '4',
      SERVICE_STORAGE_POSTGRES_MIN_CONNS: '0',
    })
    const client = await addClient(service)
    await server.sql(dsn, 'ALTER TABLE audit_events RENAME TO audit_events_away')
    const lost = await during(
      service,
      async () => {
        expect((await machineToken(service, client, { resource: 'https://none.example.com' })).status).toBe(400)
        await eventually(() =>
          service.app.metrics.counted('ext_audit_events_dropped_total').some(({ held }) => held.value > 0),
        )
      },
      false,
    )
    expectFiring(lost, 'AuditEventsLost')
    await server.sql(dsn, 'ALTER TABLE audit_events_away RENAME TO audit_events')
    proxy.stall()
    proxy.cut()
    await eventually(() => !service.app.store.driver.isHealthy(), 30_000)
    expectFiring(
      await during(service, () => repeated(20, () => machineToken(service, client))),
      'StorageAway',
      'ServerErrors',
    )
    proxy.resume()
    await service.close()
    proxy.close()
  })

  test('refusals of one client and of secrets, and reuse of tokens', async () => {
    const service = await startService({
      SERVICE_RATE_LIMIT_ENABLED: 'true',
      SERVICE_RATE_LIMIT_PER_CLIENT_REQUESTS_PER_SECOND: '5',
    })
    const [client, other, user] = [await addClient(service), await addClient(service), await addUser(service)]
    const stranger = { client_id: 'nobody', client_secret: 'wrong' }
    const rotated = await redeem(service, other, await authorize(service, other, user))
    const fired = await during(service, async () => {
      await repeated(40, () => machineToken(service, client))
      await repeated(20, () => machineToken(service, stranger))
      for (let n = 0; n < 2; n++) await refresh(service, other, rotated.body['refresh_token'])
    })
    expectFiring(fired, 'ClientLimited', 'ClientsRefused', 'RefreshTokenReuse')
    await service.close()
  })

  test('refusals of all requests', async () => {
    const service = await startService({
      SERVICE_RATE_LIMIT_ENABLED: 'true',
      SERVICE_RATE_LIMIT_REQUESTS_PER_SECOND: '5',
      SERVICE_RATE_LIMIT_BURST: '5',
    })
    const client = await addClient(service)
    expectFiring(await during(service, () => repeated(60, () => machineToken(service, client))), 'RateLimited')
    await service.close()
  })

  test('instances that differ, and a database that went back', async () => {
    const dsn = await server.migrated()
    let started = 0
    const pair = await startPair(dsn, {}, (env) =>
      startService({ ...env, ...(started++ === 1 ? { SERVICE_SESSION_SECRET: 'another-secret-'.repeat(3) } : {}) }),
    )
    const told = /instances_differ\{setting="session_secret"\} 1[\s\S]*\next_database_went_back 1/
    await server.sql(dsn, 'UPDATE store_versions SET version = version + 9')
    await pause(2500)
    await server.sql(dsn, 'UPDATE store_versions SET version = version - 9')
    await eventually(async () => told.test((await scrape(pair.a)).text))
    expectFiring(firing(seriesOf('a', [await scrape(pair.a)])), 'InstancesDiffer', 'DatabaseWentBack')
    await pair.close()
  })

  test('a wrong clock and an old key', async () => {
    const service = await startService()
    service.advance(91 * 86_400)
    expectFiring(firing(seriesOf('a', [await scrape(service)])), 'ClockWrong', 'SigningKeyOld')
    await service.close()
  })

  // What takes minutes, a machine of its own, or a defect to bring about. No two alerts here read the same series, so promtool, which starts
  // slowly, gets all of them at once.
  const series: [string, ...Series[]][] = [
    ['ServiceDown', { series: 'up{job="service",instance="a"}', values: '1 0x320' }],
    [
      'TokensSlow',
      {
        series: 'core_http_request_duration_seconds_bucket{job="service",path="/oauth/token",le="0.25"}',
        values: '0+10x320',
      },
      {
        series: 'core_http_request_duration_seconds_bucket{job="service",path="/oauth/token",le="0.5"}',
        values: '0+100x320',
      },
      {
        series: 'core_http_request_duration_seconds_bucket{job="service",path="/oauth/token",le="+Inf"}',
        values: '0+100x320',
      },
    ],
    ['CapacityUsed', { series: 'ext_capacity_use{job="service",instance="a"}', values: '0.71x320' }],
    [
      'QueueFull',
      {
        series: 'ext_refusals_total{job="service",error="temporarily_unavailable",reason="store_lane_full"}',
        values: '0+1x320',
      },
    ],
    ['EventLoopBlocked', { series: 'nodejs_eventloop_lag_p99_seconds{job="service",instance="a"}', values: '0.2x320' }],
    ['MemoryHigh', { series: 'process_resident_memory_bytes{job="service",instance="a"}', values: '2000000000x320' }],
    [
      'FileDescriptorsLow',
      { series: 'process_open_fds{job="service",instance="a"}', values: '900x320' },
      { series: 'process_max_fds{job="service",instance="a"}', values: '1000x320' },
    ],
    [
      'ProofsRejected',
      { series: 'ext_dpop_proofs_rejected_total{job="service",reason="iat"}', values: '0+30x320' },
      { series: 'ext_dpop_proofs_validated_total{job="service"}', values: '0x320' },
    ],
    [
      'UpstreamKeysAway',
      {
        series: 'ext_refusals_total{job="service",error="temporarily_unavailable",reason="jwks_timeout"}',
        values: '0+1x320',
      },
    ],
    ['PurgeLate', { series: 'ext_purge_age_seconds{job="service",target="tokens"}', values: '172801+15x320' }],
    ['BackupLate', { series: 'ext_backup_age_seconds{job="service",instance="a"}', values: '172801+15x320' }],
    [
      'ProviderCertificateEnds',
      { series: 'ext_provider_certificate_seconds{job="service",provider="drive"}', values: '86400-15x320' },
    ],
    ['EventsFailing', { series: 'ext_events_failing_seconds{job="service",receiver="a"}', values: '901+15x320' }],
    ['TelemetryDropped', { series: 'ext_telemetry_dropped_total{job="service",signal="traces"}', values: '0+1x320' }],
  ]
  test('each alert on its series', () => {
    expectFiring(firing(series.flatMap(([, ...its]) => its)), ...series.map(([alert]) => alert))
  })

  test('every alert fires in a test, here or in alerts.test.yml and alerts-days.test.yml', () => {
    const tests = ['alerts.test.yml', 'alerts-days.test.yml'].flatMap((file) => {
      const written = readFileSync(path.join(packageRoot, 'deploy/observability', file), 'utf8')
      return (parse(written) as { tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[] }).tests
    })
    const fires = tests.flatMap((each) => each.alert_rule_test).filter(({ exp_alerts = [] }) => exp_alerts.length > 0)
    expect(
      ALERTS.filter((alert) => !provoked.has(alert) && !fires.some(({ alertname }) => alertname === alert)),
    ).toEqual([])
  })

  test('every selector of a counter in an alert has a series from the start, so that its first increase is seen', async () => {
    const service = await startService()
    const scraped = seriesOf('a', [await scrape(service)])
    const expressions = ALERT_EXPRESSIONS.flatMap((expr) => [
      ...expr.matchAll(/\b((?:core|ext)_\w+_total)\b(\{[^}]*\})?/g),
    ])
    for (const [, name = '', selector = ''] of expressions) {
      const wanted = [...selector.matchAll(/(\w+)(=~|!~|=)"([^"]*)"/g)].filter(([, , sign]) => sign !== '!~')
      const found = scraped.filter(
        ({ series }) =>
          series.startsWith(`${name}{`) &&
          wanted.every(([, label, , value]) => new RegExp(`\\b${label}="(${value})"`).test(series)),
      )
      expect([name, selector, found.length > 0]).toEqual([name, selector, true])
    }
    await service.close()
  })
})
