// GET /admin/find: what names a record, and a storage that fails.
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const find = (query: string) => `/admin/find?query=${encodeURIComponent(query)}`

test('a client, a user and a resource are found by id, by email and by slug', async () => {
  const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
  for (const [query, kind] of [
    [client.client_id, 'client'],
    [user.id, 'user'],
    [user.email, 'user'],
    [resource.slug, 'resource'],
  ] as const) {
    const { matches } = await okAdmin<{ matches: { kind: string }[] }>(service, 'GET', find(query))
    expect(
      matches.map((each) => each.kind),
      query,
    ).toContain(kind)
  }
  expect(await okAdmin(service, 'GET', find('no-such-thing'))).toEqual({ matches: [] })
})

test('a deleted client and a deleted resource are found by name and by id, until they are restored', async () => {
  const [client, resource] = [await addClient(service, { client_name: 'Gone robot' }), await addResource(service)]
  await okAdmin(service, 'DELETE', `/admin/clients/${client.client_id}`)
  await okAdmin(service, 'DELETE', `/admin/resources/${resource.id}`)
  const matching = async (query: string) =>
    (await okAdmin<{ matches: object[] }>(service, 'GET', find(query))).matches as Record<string, unknown>[]
  const [found, ...more] = await matching('gone ROB')
  expect([found, more]).toMatchObject([{ kind: 'deleted', what: 'client', name: client.client_id }, []])
  expect(await matching(client.client_id)).toEqual([found])
  for (const query of [resource.slug, resource.id])
    expect(await matching(query)).toMatchObject([{ kind: 'deleted', what: 'resource', label: resource.slug }])
  await okAdmin(service, 'POST', `/admin/clients/${client.client_id}/restore`)
  expect(await matching(client.client_id)).toMatchObject([{ kind: 'client' }])
})

test('a storage that fails is an error, not a search without matches', async () => {
  const spy = vi.spyOn(service.app.store, 'findClient').mockRejectedValue(new Error('the storage failed'))
  expect((await callAdmin(service, 'GET', find('c_some'))).status).toBe(500)
  spy.mockRestore()
})

test('an address, the kid of a key and a request are found, with what the record has of them', async () => {
  const client = await addClient(service)
  await okAdmin(service, 'PATCH', `/admin/clients/${client.client_id}/suspend`)
  const [event] = await okAdmin<{ request_id: string; ip: string }[]>(
    service,
    'GET',
    `/admin/audit?client_id=${client.client_id}`,
  )
  const { current_kid } = await okAdmin<{ current_kid: string }>(service, 'GET', '/admin/keys')
  const matching = async (query = '') =>
    (await okAdmin<{ matches: Record<string, unknown>[] }>(service, 'GET', find(query))).matches
  expect(await matching(current_kid)).toMatchObject([{ kind: 'key', status: 'current' }])
  const [address] = await matching(event?.ip)
  expect(address).toMatchObject({ kind: 'address', events: expect.arrayContaining([expect.objectContaining(event)]) })
  expect(await matching(event?.request_id)).toMatchObject([{ kind: 'request', events: [event] }])
  expect(await matching('198.51.100.77')).toEqual([])
})
