// Two instances on one PostgreSQL, one of them with several front threads: limits apply to both together.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { register } from '../support/flow.ts'
import { fresh, spread, tally } from '../support/fronts.ts'
import { type Pair, startPair } from '../support/pair.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { startService, type TestService } from '../support/service.ts'
import { pause } from '../support/wire.ts'

const LONG = { timeout: 60_000, interval: 50 }
let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

async function limitedPair(env: Record<string, string>): Promise<Pair> {
  let threads = 0
  return startPair(await server.migrated(), { SERVICE_RATE_LIMIT_ENABLED: 'true', ...env }, (shared) =>
    startService({ ...shared, SERVICE_SERVER_FRONT_THREADS: String(++threads) }),
  )
}
const instances = (at: TestService) => at.app.store.driver.instances()
/** The maximum that a limit with `burst` and `rate` per second admits in the duration of `work`. */
async function within<R>(burst: number, rate: number, work: () => Promise<R>): Promise<{ result: R; most: number }> {
  const startedMs = performance.now()
  const result = await work()
  return { result, most: burst + 1 + ((performance.now() - startedMs) / 1000) * rate }
}

describe('requests per second', () => {
  const [RATE, BURST] = [10, 20]
  let pair: Pair
  let bIsClosed = false
  const closeB = async () => {
    if (!bIsClosed) await pair.b.close()
    bIsClosed = true
  }
  beforeAll(async () => {
    pair = await limitedPair({
      SERVICE_RATE_LIMIT_REQUESTS_PER_SECOND: String(RATE),
      SERVICE_RATE_LIMIT_BURST: String(BURST),
    })
  })
  afterAll(async () => {
    await Promise.all([pair.a.close(), closeB()])
  })
  const ask = async (at: TestService) => (await fresh(at, '/.well-known/jwks.json')).status
  const answered = (statuses: number[]) => tally(statuses)['200'] ?? 0

  test('the rate limit of requests is shared between both instances', async () => {
    const { a, b } = pair
    await expect.poll(() => [instances(a), instances(b)], LONG).toEqual([2, 2])
    const { result, most } = await within(BURST, RATE, () => spread((i) => ask(i % 2 ? a : b), 4 * BURST))
    expect(new Set(result)).toEqual(new Set([200, 429]))
    expect(answered(result)).toBeLessThanOrEqual(most)
    for (const parity of [0, 1])
      expect(answered(result.filter((_, i) => i % 2 === parity))).toBeGreaterThanOrEqual(BURST / 2)
    for (const at of [a, b]) {
      expect((await at.app.scrape()).text).toMatch(/^ext_instances 2$/m)
      expect(await okAdmin(at, 'GET', '/admin/system/status')).toMatchObject({ instances: 2 })
    }
  })

  test('the remaining instance has the whole rate limit when the other has ended', async () => {
    const { a } = pair
    await closeB()
    await expect.poll(() => instances(a), LONG).toBe(1)
    const fromFull = async () => {
      await pause((BURST / RATE) * 1000)
      return answered(await spread(() => ask(a), 2 * BURST))
    }
    await expect.poll(fromFull, LONG).toBeGreaterThanOrEqual(BURST)
  })
})

describe('limits for one address or host', () => {
  const REGISTRATIONS = 10
  let pair: Pair
  beforeAll(async () => {
    pair = await limitedPair({
      SERVICE_RATE_LIMIT_REQUESTS_PER_SECOND: '100000',
      SERVICE_RATE_LIMIT_BURST: '100000',
      SERVICE_DCR_MODE: 'open',
      SERVICE_DCR_RATE_LIMIT: '0.01',
      SERVICE_DCR_RATE_LIMIT_BURST: String(REGISTRATIONS),
      SERVICE_SERVER_TRUSTED_PROXIES: '127.0.0.1,::1',
    })
  })
  afterAll(() => pair.close())
  const at = (i: number) => (i % 2 ? pair.a : pair.b)

  test('concurrent registrations of one address at both instances are limited to one burst; another address has its own', async () => {
    const from = (address: string) => async (i: number) =>
      (await register(at(i), {}, { 'x-forwarded-for': address, connection: 'close' })).status
    const { result, most } = await within(REGISTRATIONS, 0.01, () => spread(from('192.0.2.1'), 4 * REGISTRATIONS))
    expect(tally(result)['201']).toBeGreaterThanOrEqual(REGISTRATIONS)
    expect(tally(result)['201']).toBeLessThan(most)
    expect(new Set(result)).toEqual(new Set([201, 429]))
    expect(await from('192.0.2.2')(0)).toBe(201)
  })

  test('wrong admin keys of an address at both instances are limited together, with one more for each instance', async () => {
    const guess = async (i: number) => {
      const { status } = await callAdmin(at(i), 'GET', '/admin/clients', undefined, { authorization: 'Bearer wrong' })
      const isCounted = () =>
        [pair.a, pair.b]
          .map(({ app }) => app.store.driver.stats)
          .every(({ waiting, running }) => waiting + running === 0)
      await expect.poll(isCounted, { ...LONG, interval: 2 }).toBe(true)
      return status
    }
    const statuses: number[] = []
    const { most } = await within(20, 1, async () => {
      for (let i = 0; i < 60; i++) statuses.push(await guess(i))
    })
    expect(new Set(statuses)).toEqual(new Set([401, 429]))
    expect(tally(statuses)['401']).toBeGreaterThanOrEqual(20)
    expect(tally(statuses)['401']).toBeLessThanOrEqual(most + 2)
  })

  test('fetches of client documents of one host are limited together', async () => {
    const take = (i: number) => at(i).app.documents.hosts.take('victim.example')
    const { result, most } = await within(50, 10, () => spread(take, 200))
    expect(tally(result)['0']).toBeGreaterThanOrEqual(50)
    expect(tally(result)['0']).toBeLessThanOrEqual(most)
  })
})
