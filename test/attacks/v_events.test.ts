// Attacks on and through events: requests to private networks, names that change or hang, redirects, receivers that are slow or endless.
import dns from 'node:dns'
import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { listenOn, serveRaw } from '../net/peers.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { askOnly, NameServer } from '../support/name_server.ts'
import { RECEIVERS_ALLOWED, TestReceiver } from '../support/receiver.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'

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
  'https://0x7f.2/',
  'https://127.2/',
  'https://0/',
  'https://localhost./',
  'https://127.0.0.2./',
  'https://[::]/',
  'https://[::127.0.0.1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[64:ff9b:1::7f00:1]/',
  'https://[2002:7f00:1::]/',
  'https://[fe80::1]/',
  'https://１２７.0.0.2/',
  'https://100.100.100.200/',
  'http://hooks.example.com/',
  'https://user:password@hooks.example.com/',
])('V01 a webhook at %s is refused, also where clients may be at private addresses', async (url) => {
  const answer = await callAdmin(service, 'POST', '/admin/webhooks', { url, events: ['*'] })
  expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request'])
})

test('V02 a redirect is not followed', async () => {
  const [receiver, trap] = [await TestReceiver.start(), await TestReceiver.start()]
  receiver.next.push(307)
  receiver.headers = { location: trap.url }
  const { id } = await hookTo(receiver.url)
  await suspend()
  await vi.waitFor(async () => expect(await failureOf(id)).toMatch(/redirect/), { timeout: 10_000 })
  expect(trap.connections).toBe(0)
  await okAdmin(service, 'DELETE', `/admin/webhooks/${id}`)
})

test('V03 a receiver that never answers, and one that answers without end, delay no other webhook', async () => {
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

/** A name server that is the only one of this test. Returns the names that were given to the resolver of the system. */
async function startNames() {
  const names = await NameServer.start()
  onTestFinished(() => names.close())
  askOnly(names)
  const bySystem: unknown[] = []
  const { lookup } = dns
  const spy = vi.spyOn(dns, 'lookup').mockImplementation(((...args: Parameters<typeof lookup>) => {
    bySystem.push(args[0])
    return lookup(...args)
  }) as typeof lookup)
  onTestFinished(() => spy.mockRestore())
  return { names, bySystem }
}

test.each([
  ['a private address', ['127.0.0.2']],
  ['a public address and a private one', ['8.8.8.8', '127.0.0.2']],
  ['a public address and a mapped one', ['8.8.8.8', '::ffff:7f00:2']],
])('V04 a receiver whose name changes to %s after its registration gets no connection', async (_what, addresses) => {
  const [{ names }, trap] = [await startNames(), await listenOn(createServer(), 'https', '127.0.0.2')]
  const { id } = await hookTo(`https://rebind.test:${trap.port}/`)
  names.names.set('rebind.test', addresses)
  await suspend()
  await vi.waitFor(async () => expect(await failureOf(id)).toMatch(/blocked_address/), { timeout: 10_000 })
  expect(trap.connections).toBe(0)
  await okAdmin(service, 'DELETE', `/admin/webhooks/${id}`)
})

test('V05 a name that a resource server chooses is not given to the resolver of the system', async () => {
  const { names, bySystem } = await startNames()
  const { client_id } = await addClient(service)
  await addResource(service, { policy: { runtime: { client_ids: [client_id] } } })
  const push = { method: 'urn:ietf:rfc:8935', endpoint_url: 'https://hang-1.test/events' }
  const events_requested = ['https://schemas.openid.net/secevent/ssf/event-type/verification']
  const wanted = { client_id, delivery: push, events_requested }
  const { stream_id } = await okAdmin<{ stream_id: string }>(service, 'POST', '/admin/streams', wanted)
  await okAdmin(service, 'POST', `/admin/streams/${stream_id}/verify`, {})
  await vi.waitFor(() => expect(names.asked).toContain('hang-1.test'), { timeout: 10_000 })
  expect(bySystem).not.toContain('hang-1.test')
  await okAdmin(service, 'DELETE', `/admin/streams/${stream_id}`)
})

test.each([
  ['switches to another protocol', 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n'],
  ['answers 100 and nothing else', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ['answers with a protocol that is not HTTP', '+OK ready\r\n'],
  ['answers with two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\ncontent-length: 5\r\n\r\nhello'],
])('V08 an event is not accepted by a receiver that %s', async (_what, lines) => {
  const peer = await serveRaw(lines)
  const { id } = await hookTo(`${peer.url}/`)
  await suspend()
  await vi.waitFor(async () => expect(await failureOf(id)).toMatch(/\w/), { timeout: 10_000 })
  await okAdmin(service, 'DELETE', `/admin/webhooks/${id}`)
})

test.each(['Bearer a\r\nx: y', 'Bearer \u2603', 'Bearer a\tb'])(
  'V09 the authorization header %j of a stream is refused',
  async (authorization_header) => {
    const { client_id } = await addClient(service)
    await addResource(service, { policy: { runtime: { client_ids: [client_id] } } })
    const delivery = { method: 'urn:ietf:rfc:8935', endpoint_url: 'https://hooks.invalid/', authorization_header }
    const answer = await callAdmin(service, 'POST', '/admin/streams', { client_id, delivery })
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request'])
  },
)

test('V17 an event that a webhook does not receive, or of the time before it, is not sent to it once more; and nothing while it is paused', async () => {
  const receiver = await TestReceiver.start()
  await suspend()
  const [early] = await okAdmin<{ id: string }[]>(service, 'GET', '/admin/audit?action=client_suspended&limit=1')
  service.advance(5)
  const { id } = await hookTo(receiver.url)
  const { client_id } = await addClient(service)
  await okAdmin(service, 'PATCH', `/admin/clients/${client_id}`, { client_name: 'Other' })
  const [other] = await okAdmin<{ id: string }[]>(service, 'GET', '/admin/audit?action=client_updated&limit=1')
  const again = async (event_id = '') =>
    (await callAdmin(service, 'POST', `/admin/webhooks/${id}/redeliver/${event_id}`)).status
  expect([early, other].every((event) => event !== undefined)).toBe(true)
  expect([await again(early?.id), await again(other?.id)]).toEqual([404, 404])
  await suspend()
  const [got] = await receiver.arrived(1)
  const event_id = String(got?.headers['webhook-id'])
  expect(await again(event_id)).toBe(200)
  await okAdmin(service, 'PATCH', `/admin/webhooks/${id}`, { paused: true })
  expect(await again(event_id)).toBe(409)
  expect(receiver.got.length).toBe(2)
})
