// The token for the secret store: how it is obtained, renewed, and replaced after a refusal.
import { afterEach, describe, expect, test } from 'vitest'
import { createTransitClient, type TransitAccess } from '../../src/crypto/transit/client.ts'
import { createFetcher } from '../../src/net/fetch.ts'
import { testClock } from '../support/clock.ts'
import { recordingLog } from '../support/log.ts'
import { failureOf } from '../support/thrown.ts'
import { ROOT, startTransit, type TransitServer } from '../support/transit_server.ts'

const stores: TransitServer[] = []
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
})

async function setUp(access: Partial<TransitAccess> = {}) {
  const clock = testClock()
  const store = await startTransit({ now: clock.now })
  stores.push(store)
  const { log, lines } = recordingLog()
  const client = createTransitClient(
    { setting: 'the.setting', address: store.address, credentials: store.role, timeout: 5, ...access },
    { fetcher: createFetcher({ allowPrivate: true, userAgent: 'service-test' }), clock, log },
  )
  return { clock, store, lines, client, call: () => client.call('GET', 'transit/keys/x') }
}
const LOGIN = 'POST auth/approle/login'
const RENEW = 'POST auth/token/renew-self'
const LOOKUP = 'GET auth/token/lookup-self'

describe('an AppRole', () => {
  test('an AppRole logs in with the first call, once for concurrent calls', async () => {
    const { store, call } = await setUp()
    expect(store.calls).toEqual([])
    await Promise.all([call(), call(), call()])
    await call()
    expect(store.count(LOGIN)).toBe(1)
  })

  test('an AppRole renews its lease at half of its lifetime, in the background', async () => {
    const { clock, store, call } = await setUp()
    await call()
    clock.advance(599)
    await call()
    expect(store.count(RENEW)).toBe(0)
    clock.advance(1)
    await call()
    await expect.poll(() => store.count(RENEW)).toBe(1)
    clock.advance(1190)
    await call()
    expect(store.count(LOGIN)).toBe(1)
  })

  test('an AppRole logs in again when renewals extend the lease by less than half of its lifetime', async () => {
    const { clock, store, call } = await setUp()
    store.lease = { seconds: 1200, max: 1500, renewable: true }
    await call()
    clock.advance(1000)
    await call()
    await expect.poll(() => store.count(LOGIN)).toBe(2)
  })

  test('an AppRole logs in again at half of its lifetime when the lease cannot be renewed', async () => {
    const { clock, store, call } = await setUp()
    store.lease = { seconds: 60, max: 60, renewable: false }
    await call()
    clock.advance(30)
    await call()
    await expect.poll(() => store.count(LOGIN)).toBe(2)
    expect(store.count(RENEW)).toBe(0)
  })

  test('an AppRole logs in before the call when the lease has expired', async () => {
    const { clock, store, call } = await setUp()
    store.lease = { seconds: 4, max: 4, renewable: true }
    await call()
    clock.advance(5)
    await call()
    expect(store.count(LOGIN)).toBe(2)
  })

  test('an AppRole logs in again when its token was revoked, and the call succeeds', async () => {
    const { clock, store, call } = await setUp()
    await call()
    store.tokens.clear()
    clock.advance(10)
    await call()
    expect(store.count(LOGIN)).toBe(2)
  })

  test('an AppRole logs in once for calls that are refused together, and all of them succeed', async () => {
    const { clock, store, call } = await setUp()
    await call()
    store.tokens.clear()
    clock.advance(10)
    await Promise.all([call(), call(), call()])
    expect(store.count(LOGIN)).toBe(2)
  })

  test('a token that was revoked before its renewal fails no call', async () => {
    const { clock, store, call } = await setUp()
    await call()
    store.tokens.clear()
    clock.advance(600)
    await Promise.all([call(), call()])
    expect(store.count(LOGIN)).toBe(2)
  })

  test('the lifetime of a lease counts from the time of the request', async () => {
    const { clock, store, call } = await setUp()
    const slow = call()
    clock.advance(600)
    await slow
    await expect.poll(() => store.count(RENEW)).toBe(1)
  })

  test('an AppRole that a policy refuses does not log in with every call', async () => {
    const { store, call } = await setUp()
    store.allowed = []
    for (let i = 0; i < 5; i++)
      expect((await failureOf(call()))?.message).toBe('transit/keys/x: 403 (permission denied)')
    expect(store.count(LOGIN)).toBe(1)
  })

  test('an AppRole whose renewal fails logs a warning, uses its token until it expires, and retries', async () => {
    const { clock, store, lines, call } = await setUp()
    await call()
    clock.advance(600)
    store.fault = 'sealed'
    await failureOf(call())
    await expect
      .poll(() => lines.map(({ msg }) => msg))
      .toContain('the.setting: the lease could not be renewed; the renewal is retried')
    store.fault = undefined
    clock.advance(10)
    await call()
    await expect.poll(() => store.count(RENEW)).toBe(2)
    expect(store.count(LOGIN)).toBe(1)
  })

  test('the secret of an AppRole is in no error and no log line', async () => {
    const { store, lines, call, client } = await setUp({
      credentials: { role_id: 'role-1', secret_id: 'a-wrong-secret', mount: 'approle' },
    })
    const error = await failureOf(call())
    store.fault = 'sealed'
    const other = await failureOf(client.call('POST', 'transit/sign/x', {}))
    const cause = other?.cause as Error
    expect(JSON.stringify([error?.message, other?.message, cause.message, lines])).not.toMatch(/a-wrong-secret|hvs\./)
  })
})

describe('a token', () => {
  test('a token that does not expire is looked up once and never renewed', async () => {
    const { clock, store, call } = await setUp({ credentials: { token: ROOT } })
    await call()
    clock.advance(1e7)
    await call()
    expect([store.count(LOOKUP), store.count(RENEW)]).toEqual([1, 0])
  })

  test('a token that expires is renewed at half of its lifetime', async () => {
    const { clock, store, call } = await setUp({ credentials: { token: 'periodic' } })
    store.tokens.set('periodic', { expiresAt: clock.now() + 1200, renewable: true, allowed: [/./] })
    await call()
    clock.advance(600)
    await call()
    await expect.poll(() => store.count(RENEW)).toBe(1)
    clock.advance(1100)
    await call()
  })

  test('a token that cannot be renewed causes a warning, and is used until it expires', async () => {
    const { clock, store, lines, call } = await setUp({ credentials: { token: 'short' } })
    store.tokens.set('short', { expiresAt: clock.now() + 1200, renewable: false, allowed: [/./] })
    await call()
    expect(lines).toEqual([
      expect.objectContaining({ msg: 'the.setting: the token expires and cannot be renewed', ttl: 1200 }),
    ])
    clock.advance(1199)
    await call()
    clock.advance(1)
    expect((await failureOf(call()))?.message).toContain('403')
    expect(store.count(RENEW)).toBe(0)
  })
})

describe('a redirect', () => {
  test('a redirect from a standby is followed once', async () => {
    const { store, call } = await setUp({ credentials: { token: ROOT } })
    const active = await startTransit()
    stores.push(active)
    store.fault = { redirect: active.address }
    await call()
    expect(active.calls).toEqual([LOOKUP, 'GET transit/keys/x'])
    active.fault = { redirect: store.address }
    expect((await failureOf(call()))?.cause).toMatchObject({ reason: 'redirect' })
  })

  test('a redirect from https to http is not followed', async () => {
    const real = createFetcher({ allowPrivate: true, userAgent: 'service-test' })
    const store = await startTransit()
    stores.push(store)
    const headers = { location: `${store.address}/v1/x` }
    const client = createTransitClient(
      { setting: 's', address: 'https://vault.example.com', credentials: { token: ROOT }, timeout: 5 },
      {
        clock: testClock(),
        log: recordingLog().log,
        fetcher: {
          fetch: async (url, request) =>
            url.startsWith('https:') ? { status: 307, headers, body: Buffer.alloc(0) } : real.fetch(url, request),
        },
      },
    )
    expect((await failureOf(client.call('GET', 'x')))?.cause).toMatchObject({ reason: 'bad_url' })
    expect(store.calls).toEqual([])
  })
})
