// Attacks on and through events: requests to private networks, redirects, receivers that are slow or endless.
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { RECEIVERS_ALLOWED, TestReceiver } from '../support/receiver.ts'
import { addClient, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ ...RECEIVERS_ALLOWED, SERVICE_CIMD_ALLOW_PRIVATE_ADDRESSES: 'true' })
})
afterAll(() => service.close())

const hookTo = (url: string) =>
  okAdmin<{ id: string }>(service, 'POST', '/admin/webhooks', { url, events: ['client_suspended'] })
const failureOf = async (id: string) =>
  (await okAdmin<{ last_error?: string }>(service, 'GET', `/admin/webhooks/${id}`)).last_error
async function suspend(): Promise<void> {
  const { client_id } = await addClient(service)
  await okAdmin(service, 'PATCH', `/admin/clients/${client_id}/suspend`)
}

test.each([
  'https://10.0.0.1/',
  'https://localhost/',
  'https://a.localhost/',
  'https://169.254.169.254/latest',
  'https://[::1]/',
  'https://[fd00::1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://2130706434/',
  'https://0177.0.0.2/',
  'http://hooks.example.com/',
  'https://user:password@hooks.example.com/',
])('a webhook at %s is refused, also where clients may be at private addresses', async (url) => {
  const answer = await callAdmin(service, 'POST', '/admin/webhooks', { url, events: ['*'] })
  expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request'])
})

test('a redirect is not followed', async () => {
  const [receiver, trap] = [await TestReceiver.start(), await TestReceiver.start()]
  receiver.next.push(307)
  receiver.headers = { location: trap.url }
  const { id } = await hookTo(receiver.url)
  await suspend()
  await vi.waitFor(async () => expect(await failureOf(id)).toMatch(/redirect/), { timeout: 10_000 })
  expect(trap.connections).toBe(0)
  await okAdmin(service, 'DELETE', `/admin/webhooks/${id}`)
})

test('a receiver that never answers, and one that answers without end, delay no other webhook', async () => {
  const [silent, endless, good] = await Promise.all([TestReceiver.start(), TestReceiver.start(), TestReceiver.start()])
  silent.answer = () => {}
  endless.answer = (response) => {
    const write = () => response.write('x'.repeat(16_384), (error) => error || write())
    write()
  }
  const hooks = [await hookTo(silent.url), await hookTo(endless.url), await hookTo(good.url)]
  await suspend()
  await suspend()
  await good.arrived(2)
  expect(silent.got).toHaveLength(1)
  await vi.waitFor(async () => expect(await failureOf(hooks[1]?.id ?? '')).toMatch(/too_large/), { timeout: 10_000 })
  for (const { id } of hooks) await okAdmin(service, 'DELETE', `/admin/webhooks/${id}`)
})
