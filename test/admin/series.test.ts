// GET /admin/stats/series: the data of the charts in the admin page.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Point } from '../../src/telemetry/series.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { post } from '../support/flow.ts'
import { addClient, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service?.close())

const shown = (query = '') =>
  okAdmin<{ period: number; points: Point[] }>(service, 'GET', `/admin/stats/series${query}`)

test('the series has tokens, refusals and durations of the token endpoint when their period has ended', async () => {
  const { client_id, client_secret } = await addClient(service)
  const ask = (client_secret: string) =>
    post(`${service.issuer}/oauth/token`, { client_id, client_secret }, { grant_type: 'client_credentials' })
  expect((await ask(client_secret)).status).toBe(200)
  expect((await ask('wrong')).status).toBe(401)
  service.advance(10)
  service.app.series.sample()
  const { period, points } = await shown()
  expect(period).toBe(10)
  const sum = (of: (point: Point) => number) => points.reduce((total, point) => total + of(point), 0)
  expect(sum(({ answers }) => answers)).toBe(2)
  expect(sum(({ tokens }) => tokens['client_credentials'] ?? 0)).toBe(1)
  expect(sum(({ errors }) => errors['wrong_secret'] ?? 0)).toBe(1)
  const last = points.find(({ answers }) => answers > 0)
  expect(last?.p99).toBeGreaterThan(0)
  expect(Object.keys(last?.queues ?? {}).sort()).toEqual(['crypto', 'password', 'store'])
})

test('since excludes earlier periods, and a malformed time is refused', async () => {
  const { points } = await shown()
  expect((await shown('?since=2100-01-01T00:00:00Z')).points).toEqual([])
  expect((await shown('?since=2000-01-01T00:00:00Z')).points.length).toBeGreaterThanOrEqual(points.length)
  expect((await callAdmin(service, 'GET', '/admin/stats/series?since=yesterday')).status).toBe(400)
})
