import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { rfc3339 } from '../../src/lib/time.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { machineToken } from '../support/flow.ts'
import { ADMIN_KEY, addClient, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

interface Event {
  request_id: string
  id: string
  action: string
  actor_id: string
  client_id: string
  ip: string
  created_at: string
}
const list = (query: Record<string, string>) =>
  okAdmin<Event[]>(service, 'GET', `/admin/audit?${new URLSearchParams(query)}`)
const create = () =>
  okAdmin<{ client_id: string; client_secret: string }>(service, 'POST', '/admin/clients', {
    client_name: 'Audited',
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_post',
  })

test('an admin write is recorded with actor, address and request, without any secret', async () => {
  const { client_id, client_secret } = await create()
  const [event] = await list({ action: 'client_created', client_id })
  expect(event).toEqual({
    id: expect.any(String),
    action: 'client_created',
    kind: 'client_created',
    actor_id: 'admin',
    client_id,
    ip: '127.0.0.1',
    request_id: expect.stringMatching(/^[\w-]{22}$/),
    detail: { client_name: 'Audited', grant_types: ['client_credentials'] },
    created_at: expect.stringMatching(/Z$/),
    timestamp: event?.created_at,
  })
  const everything = JSON.stringify(await list({ limit: '1000' }))
  for (const secret of [client_secret, ADMIN_KEY]) expect(everything).not.toContain(secret)
})

test('a refused write is not recorded in the audit trail', async () => {
  const before = (await list({ limit: '1000' })).length
  expect((await callAdmin(service, 'POST', '/admin/clients', { client_name: 'X' })).status).toBe(400)
  expect((await callAdmin(service, 'DELETE', '/admin/clients/nobody')).status).toBe(404)
  expect(await list({ limit: '1000' })).toHaveLength(before)
})

test('every issued token is an audit event', async () => {
  const client = await addClient(service)
  for (const _round of [1, 2]) await machineToken(service, client)
  const events = await list({ action: 'token_issued', client_id: client.client_id })
  expect(events.map(({ actor_id }) => actor_id)).toEqual([client.client_id, client.client_id])
  expect(await list({ actor_id: client.client_id })).toEqual(events)
})

test('the audit trail lists the newest events first, in pages', async () => {
  for (const _round of [1, 2, 3]) await create()
  const all = await list({ limit: '1000' })
  expect(all.map(({ created_at }) => created_at)).toEqual(
    all
      .map(({ created_at }) => created_at)
      .sort()
      .reverse(),
  )
  expect(await list({ limit: '2', offset: '1' })).toEqual(all.slice(1, 3))
})

test('since and until limit the time range of the audit trail', async () => {
  const { client_id } = await create()
  const now = service.app.clock.now()
  const within = async (query: Record<string, string>) => (await list({ client_id, ...query })).length
  expect(await within({ since: rfc3339(now - 600), until: rfc3339(now + 600) })).toBe(1)
  expect(await within({ since: rfc3339(now - 1200), until: rfc3339(now - 600) })).toBe(0)
})

test('the audit trail covers the last 24 hours by default, and up to 720 hours on request', async () => {
  const { client_id } = await create()
  service.advance(25 * 3600)
  const now = service.app.clock.now()
  expect(await list({ client_id })).toEqual([])
  expect(await list({ client_id, since: rfc3339(now - 719 * 3600) })).toHaveLength(1)
  const tooOld = `/admin/audit?since=${rfc3339(now - 720 * 3600 - 60)}`
  expect((await callAdmin(service, 'GET', tooOld)).status).toBe(400)
})

test('request_id finds the events of one request, those of issued tokens too, however long ago', async () => {
  const { client_id } = await create()
  const client = await addClient(service)
  await machineToken(service, client)
  const since = rfc3339(service.app.clock.now() - 700 * 3600)
  const of = async (filter: Record<string, string>) => (await list({ since, ...filter }))[0]
  const events = [await of({ client_id }), await of({ action: 'token_issued', client_id: client.client_id })]
  service.advance(26 * 3600)
  for (const event of events) expect(await list({ request_id: String(event?.request_id) })).toEqual([event])
  expect(await list({ request_id: newId() })).toEqual([])
  expect(await list({ request_id: `${'_'.repeat(21)}w` })).toEqual([])
})

test.each([
  'since=yesterday',
  'until=2026-02-30T00:00:00Z',
  'since=2999-01-01T00:00:00Z&until=2999-01-01T00:00:00Z',
  'action=token.issued',
  'request_id=nothing',
  'limit=1001',
  'limit=0',
  'offset=100001',
])('refuses %s', async (query) => {
  expect((await callAdmin(service, 'GET', `/admin/audit?${query}`)).status).toBe(400)
})
