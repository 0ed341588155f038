import { afterEach, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { startService, type TestService } from '../support/service.ts'

let service: TestService
afterEach(() => service.close())

interface Concern {
  key: string
  severity: string
}
const concerns = async (env: Record<string, string>): Promise<Concern[]> => {
  service = await startService(env)
  return (await okAdmin<{ concerns: Concern[] }>(service, 'GET', '/admin/system/status')).concerns
}
const SOUND = {
  SERVICE_SESSION_SECRET: 's'.repeat(48),
  SERVICE_RATE_LIMIT_ENABLED: 'true',
  SERVICE_DCR_MODE: 'admin_only',
}

test('a well configured service has no findings except those of the test key', async () => {
  expect(await concerns(SOUND)).toEqual([expect.objectContaining({ key: 'admin.api_key', severity: 'warn' })])
})

test.each([
  ['dcr.mode', { SERVICE_DCR_MODE: 'open' }],
  ['device.enabled', { SERVICE_DCR_MODE: 'open', SERVICE_DEVICE_ENABLED: 'true' }],
  ['session.secret', { SERVICE_SESSION_SECRET: '' }],
  ['rate_limit.enabled', { SERVICE_RATE_LIMIT_ENABLED: 'false' }],
  ['cimd.allow_private_addresses', { SERVICE_CIMD_ALLOW_PRIVATE_ADDRESSES: 'true' }],
])('%s is a finding when it is unsafe', async (key, env) => {
  expect((await concerns({ ...SOUND, ...env })).map((each) => each.key)).toContain(key)
})

test('device codes are no finding while operators register the clients', async () => {
  expect((await concerns({ ...SOUND, SERVICE_DEVICE_ENABLED: 'true' })).map(({ key }) => key)).toEqual([
    'admin.api_key',
  ])
})

test('X-Forwarded-For is a finding when a request has it and no proxy is trusted, and is counted', async () => {
  expect((await concerns(SOUND)).map(({ key }) => key)).not.toContain('server.trusted_proxies')
  await (await fetch(`${service.issuer}/health`, { headers: { 'x-forwarded-for': '198.51.100.7' } })).arrayBuffer()
  const { concerns: now } = await okAdmin<{ concerns: Concern[] }>(service, 'GET', '/admin/system/status')
  expect(now.map(({ key }) => key)).toContain('server.trusted_proxies')
  expect(await (await fetch(`${service.admin}/metrics`)).text()).toMatch(/ext_forwarded_for_ignored_total\S* 1\n/)
})

test('an old signing key is a finding until it is rotated', async () => {
  await concerns(SOUND)
  service.advance(91 * 86_400)
  const keys = async () =>
    (await okAdmin<{ concerns: Concern[] }>(service, 'GET', '/admin/system/status')).concerns.map(({ key }) => key)
  expect(await keys()).toContain('signing')
  await okAdmin(service, 'POST', '/admin/keys/rotate')
  expect(await keys()).not.toContain('signing')
})

test('the registration mode that an operator set is assessed instead of the configured one', async () => {
  await concerns(SOUND)
  await okAdmin(service, 'PATCH', '/admin/settings/dcr', { mode: 'open' })
  const { concerns: now } = await okAdmin<{ concerns: Concern[] }>(service, 'GET', '/admin/system/status')
  expect(now.map(({ key }) => key)).toContain('dcr.mode')
})

test('each setting that can be unsafe is a metric: 1 when it is unsafe, otherwise 0', async () => {
  await concerns({ ...SOUND, SERVICE_DCR_MODE: 'open' })
  const unsafe = async (key: string) => {
    const text = await (await fetch(`${service.admin}/metrics`)).text()
    return new RegExp(`^ext_unsafe_settings\\{key="${key}"\\} (\\d)$`, 'm').exec(text)?.[1]
  }
  expect([await unsafe('dcr.mode'), await unsafe('admin.address'), await unsafe('session.secret')]).toEqual([
    '1',
    '0',
    '0',
  ])
  await okAdmin(service, 'PATCH', '/admin/settings/dcr', { mode: 'admin_only' })
  expect(await unsafe('dcr.mode')).toBe('0')
})
