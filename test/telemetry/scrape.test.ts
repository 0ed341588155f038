// Where the scrape is, and what it tells when the database does not.
import { afterEach, describe, expect, test, vi } from 'vitest'
import { callAdmin } from '../support/admin.ts'
import { startService, type TestService } from '../support/service.ts'

let service: TestService | undefined
afterEach(async () => {
  vi.restoreAllMocks()
  await service?.close()
  service = undefined
})
const start = async (env: Record<string, string> = {}) => {
  service = await startService(env)
  return service
}
const statuses = async ({ admin, issuer }: TestService, path = '/metrics') => [
  (await fetch(admin + path)).status,
  (await fetch(issuer + path)).status,
]

describe('the scrape', () => {
  test.each([
    ['is on the admin listener, without the key', {}, [200, 404]],
    ['is on the public listener when it is configured there', { SERVICE_METRICS_LISTENER: 'public' }, [404, 200]],
    ['is not served when metrics are only pushed', { SERVICE_METRICS_PROVIDER: 'none' }, [404, 404]],
  ])('%s', async (_, env, expected) => {
    expect(await statuses(await start(env as Record<string, string>))).toEqual(expected)
  })

  test('is not limited by the rate limit', async () => {
    const at = await start({
      SERVICE_METRICS_LISTENER: 'public',
      SERVICE_RATE_LIMIT_ENABLED: 'true',
      SERVICE_RATE_LIMIT_RPS: '1',
      SERVICE_RATE_LIMIT_BURST: '1',
    })
    for (let i = 0; i < 4; i++) expect((await statuses(at))[1]).toBe(200)
  })
})

test('is refused for requests from other sites, and answered for Prometheus and for an address that a user types', async () => {
  const at = await start()
  const as = async (headers: Record<string, string>) => (await fetch(`${at.admin}/metrics`, { headers })).status
  const site = (value: string) => as({ 'sec-fetch-site': value })
  expect([await site('cross-site'), await site('same-site')]).toEqual([403, 403])
  expect([await site('none'), await site('same-origin'), await as({})]).toEqual([200, 200, 200])
})

test('rows of tables are counted at most once in fifteen seconds', async () => {
  const at = await start()
  const counted = vi.spyOn(at.app.store, 'countActiveClients')
  const scrapes = () => Promise.all(Array.from({ length: 5 }, async () => (await fetch(`${at.admin}/metrics`)).text()))
  const active = (text: string | undefined) => /^core_active_clients (\d+)$/m.exec(text ?? '')?.[1]
  expect((await scrapes()).map(active)).toEqual(['0', '0', '0', '0', '0'])
  await scrapes()
  expect(counted).toHaveBeenCalledTimes(1)
  const nowMs = performance.now()
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs + 16_000)
  await scrapes()
  expect(counted).toHaveBeenCalledTimes(2)
})

test('gauges show queues, caches, health and the age of the signing key', async () => {
  const at = await start()
  await callAdmin(at, 'GET', '/admin/resources')
  const text = await (await fetch(`${at.admin}/metrics`)).text()
  for (const lane of ['crypto', 'password', 'store'])
    for (const name of ['waiting', 'running', 'jobs_total', 'batches_total', 'refused_total', 'busy_seconds_total'])
      expect(text).toMatch(new RegExp(`^ext_lane_${name}\\{lane="${lane}"\\} \\d`, 'm'))
  expect(text).toMatch(/^ext_cache_misses_total\{cache="findClient"\} 0$/m)
  expect(text).toMatch(/^ext_storage_healthy 1$/m)
  expect(text).toMatch(/^ext_signing_key_age_seconds \d+$/m)
  expect(text).toMatch(/^ext_build_info\{version="[^"]+"\} 1$/m)
})

test.each([
  ['fails', () => Promise.reject(new Error('away'))],
  ['hangs', () => new Promise<number>(() => {})],
])('when a gauge %s, the scrape contains the other metrics', async (_, count) => {
  const at = await start()
  Object.assign(at.app.store, { countActiveClients: count })
  const response = await fetch(`${at.admin}/metrics`)
  expect(response.status).toBe(200)
  expect(await response.text()).toMatch(/^core_active_token_families 0$/m)
})

test('shows the free space and the size of the disk of the SQLite database, and the time of the instance', async () => {
  const at = await start()
  const text = await (await fetch(`${at.admin}/metrics`)).text()
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
  expect(value('ext_disk_free_bytes')).toBeGreaterThan(0)
  expect(value('ext_disk_size_bytes')).toBeGreaterThanOrEqual(value('ext_disk_free_bytes'))
  expect(Math.abs(value('ext_clock_seconds') - at.app.clock.now())).toBeLessThanOrEqual(60)
})
