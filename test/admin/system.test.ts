import { decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { idFloor, newId } from '../../src/lib/id.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { post } from '../support/flow.ts'
import { anIssuance } from '../support/records.ts'
import { ADMIN_KEY, addClient, addUser, SEALED, startService, type TestService } from '../support/service.ts'

const SESSION_SECRET = 'a-session-secret-of-more-than-32-bytes'
let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_SESSION_SECRET: SESSION_SECRET })
})
afterAll(() => service.close())

interface Keys {
  keys: { kid: string; status: string; remove_at?: string }[]
  current_kid: string
  previous_kid?: string
}
const keys = () => okAdmin<Keys>(service, 'GET', '/admin/keys')
const rotate = () =>
  okAdmin<{ current_kid: string; previous_kid: string; rotated_at: string; warning?: string }>(
    service,
    'POST',
    '/admin/keys/rotate',
  )

test('a rotation signs the next token with the next key, and keeps the previous key published', async () => {
  const before = await keys()
  expect(before.keys.map(({ status }) => status)).toEqual(['current', 'next'])
  expect(before.previous_kid).toBeUndefined()
  const rotated = await rotate()
  expect(rotated.previous_kid).toBe(before.current_kid)
  expect(rotated.current_kid).toBe(before.keys[1]?.kid)
  expect(rotated.rotated_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  const after = await keys()
  expect([after.current_kid, after.previous_kid]).toEqual([rotated.current_kid, rotated.previous_kid])
  expect(after.keys.map(({ status }) => status)).toEqual(['current', 'previous', 'next'])
  expect(after.keys.map(({ remove_at }) => remove_at !== undefined)).toEqual([false, true, false])
  const answer = await post(`${service.issuer}/oauth/token`, await addClient(service), {
    grant_type: 'client_credentials',
  })
  expect(decodeProtectedHeader(String(answer.body['access_token'])).kid).toBe(rotated.current_kid)
})

test('a rotation is recorded and counted, and no private member of a key is shown', async () => {
  const { current_kid, previous_kid } = await rotate()
  expect((await eventsOf(service, 'key_rotated'))[0]?.detail).toEqual({ current_kid, previous_kid })
  expect((await service.app.metrics.render()).text).toMatch(/core_key_rotation_total [1-9]/)
  expect(JSON.stringify(await keys())).not.toMatch(/"d"|PRIVATE/)
})

test('concurrent rotations leave exactly one current key', async () => {
  const rotations = await Promise.all([rotate(), rotate(), rotate()])
  const { keys: published, current_kid } = await keys()
  expect(published.filter(({ status }) => status === 'current')).toHaveLength(1)
  const kids = published.map(({ kid }) => kid)
  for (const rotation of rotations) expect(kids).toContain(rotation.current_kid)
  expect(rotations.map((rotation) => rotation.current_kid)).toContain(current_kid)
})

test('the registration mode is the configured one until an operator sets it, then the set mode persists', async () => {
  const path = '/admin/settings/dcr'
  expect(await okAdmin(service, 'GET', path)).toEqual({ mode: 'open' })
  for (const [method, mode] of [
    ['PATCH', 'admin_only'],
    ['PUT', 'approved_redirects'],
  ] as const) {
    expect(await okAdmin(service, method, path, { mode })).toEqual({ mode })
    expect(await okAdmin(service, 'GET', path)).toEqual({ mode })
    expect(await okAdmin(service, method, path, { mode })).toEqual({ mode })
  }
  expect((await eventsOf(service, 'dcr_mode_updated')).map(({ detail }) => detail)).toEqual([
    { mode: 'approved_redirects', before: 'admin_only' },
    { mode: 'admin_only', before: 'open' },
  ])
})

test.each([{ mode: 'closed' }, { mode: 'OPEN' }, {}])('refuses the registration mode %o', async (body) => {
  const before = await okAdmin(service, 'GET', '/admin/settings/dcr')
  expect((await callAdmin(service, 'PATCH', '/admin/settings/dcr', body)).status).toBe(400)
  expect(await okAdmin(service, 'GET', '/admin/settings/dcr')).toEqual(before)
})

test('the status has version, uptime, parts, features, engines and queues', async () => {
  service.advance(3_723)
  const status = await okAdmin(service, 'GET', '/admin/system/status')
  expect(status).toMatchObject({
    version: service.app.build.version,
    commit: service.app.build.commit,
    uptime: expect.stringMatching(/^1h2m\d+s$/),
    uptime_secs: expect.any(Number),
    subsystems: [
      { name: 'storage', status: 'healthy', driver: 'sqlite' },
      { name: 'signing', status: 'healthy', driver: 'keyfile' },
      { name: 'encryption', status: 'not_configured' },
    ],
    features: { client_credentials: true },
    engines: { public: service.app.engines.public, admin: 'node:http' },
    lanes: { crypto: { waiting: 0 }, password: { waiting: 0 }, store: { jobs: expect.any(Number) } },
  })
  const { lanes } = status as { lanes: Record<string, { busy_ms: number }> }
  for (const { busy_ms } of Object.values(lanes)) expect(String(busy_ms)).toMatch(/^\d+(\.\d)?$/)
})

test('the status of encryption is that of its driver', async () => {
  const sealed = await startService(SEALED)
  const { subsystems } = await okAdmin<{ subsystems: object[] }>(sealed, 'GET', '/admin/system/status')
  expect(subsystems).toContainEqual({ name: 'encryption', status: 'healthy', driver: 'aes_master' })
  await sealed.close()
})

test('a feature that is switched off is reported as off', async () => {
  const other = await startService({ SERVICE_CLIENT_CREDENTIALS_ENABLED: 'false' })
  try {
    expect(await okAdmin(other, 'GET', '/admin/system/status')).toMatchObject({
      features: { client_credentials: false },
    })
  } finally {
    await other.close()
  }
})

test('the effective configuration is shown without its secrets', async () => {
  const config = await okAdmin(service, 'GET', '/admin/system/config')
  expect(config).toMatchObject({
    server: { issuer: service.issuer },
    storage: { driver: 'sqlite' },
    session: { secret: '***', max_age: 86_400 },
    admin: { api_key: '***' },
    oidc: { client_secret: '' },
  })
  const everything = JSON.stringify([config, await okAdmin(service, 'GET', '/admin/system/status')])
  for (const secret of [ADMIN_KEY, SESSION_SECRET]) expect(everything).not.toContain(secret)
})

test('the configuration is shown with durations as text on request', async () => {
  const config = await okAdmin(service, 'GET', '/admin/system/config?durations=text')
  expect(config).toMatchObject({
    session: { secret: '***', max_age: '24h' },
  })
})

test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('the configuration cannot be changed with %s', async (method) => {
  expect((await callAdmin(service, method, '/admin/system/config', { dcr: { mode: 'open' } })).status).toBe(405)
})

test('the statistics count accounts, and the live and revoked tokens of a day', async () => {
  interface Stats {
    clients: number
    users: number
    active_tokens_24h: number
    revoked_tokens: number
    connections: number
  }
  const stats = () => okAdmin<Stats>(service, 'GET', '/admin/stats')
  const before = await stats()
  const now = service.app.clock.now()
  await addClient(service)
  await addUser(service)
  const issue = async (more: object = {}) => {
    // The clock of the service is ahead of the clock of the ids.
    const id = idFloor(now).slice(0, 8) + newId().slice(8)
    const issuance = anIssuance({ id, issued_at: now, expires_at: now + 900, ...more })
    await service.app.store.recordIssuance(issuance)
    return issuance
  }
  await issue()
  await issue({ expires_at: now })
  await service.app.store.revokeIssuance({ id: (await issue()).id, now })
  expect(await stats()).toEqual({
    clients: before.clients + 1,
    users: before.users + 1,
    active_tokens_24h: before.active_tokens_24h + 1,
    revoked_tokens: before.revoked_tokens + 1,
    connections: 0,
  })
})

test('the statistics count a completed hour whose tokens are dead or expired once, and then use the cached count', async () => {
  const { store, clock } = service.app
  const stats = () => okAdmin<{ revoked_tokens: number }>(service, 'GET', '/admin/stats')
  // Half a minute into an hour: operations that began in the previous hour may still commit.
  service.advance(3630 - (clock.now() % 3600))
  const before = (await stats()).revoked_tokens
  const hour = Math.floor(clock.now() / 3600 - 5) * 3600
  const counted = vi.spyOn(store, 'countTokens')
  const isAsked = () => counted.mock.calls.some(([{ after }]) => after === idFloor(hour))
  expect((await stats()).revoked_tokens).toBe(before)
  expect(isAsked()).toBe(false)
  const live = anIssuance({
    id: idFloor(clock.now() - 60).slice(0, 8) + newId().slice(8),
    expires_at: clock.now() + 60,
  })
  await store.recordIssuance(live)
  await store.revokeIssuance({ id: live.id, now: clock.now() })
  expect((await stats()).revoked_tokens).toBe(before + 1)
  counted.mockRestore()
})

test('a rotation to a key that verifiers may not have cached yet returns a warning', async () => {
  await rotate()
  expect((await rotate()).warning).toMatch(/published only \d+ seconds ago; resource servers keep the JWKS/)
  service.advance(300)
  expect((await rotate()).warning).toBeUndefined()
})
