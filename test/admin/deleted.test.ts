// Deleted clients and resources, and their restore.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deletedRecord } from '../../src/admin/answers/people.ts'
import { RESTORABLE } from '../../src/store/expiry.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { authorize, introspect, machineToken, redeem, refresh } from '../support/flow.ts'
import { aProvider, aResource } from '../support/records.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const remove = (path: string) => okAdmin(service, 'DELETE', `/admin/${path}`)
const restore = (path: string, headers?: Record<string, string>) =>
  callAdmin(service, 'POST', `/admin/${path}/restore`, undefined, headers)
const listed = async (name: string, query = '') =>
  (await okAdmin<{ name: string }[]>(service, 'GET', `/admin/deleted${query}`)).filter((each) => each.name === name)

test('a deleted client is unknown everywhere; a restored one has its secret, and what was ended stays ended', async () => {
  const [client, server, user] = [await addClient(service), await addClient(service), await addUser(service)]
  const at = `clients/${client.client_id}`
  const granted = await redeem(service, client, await authorize(service, client, user))
  const waiting = await authorize(service, client, user)
  await remove(`${at}?force=true`)
  expect((await callAdmin(service, 'GET', `/admin/${at}`)).status).toBe(404)
  const unknown = await machineToken(service, { client_id: 'none', client_secret: client.client_secret })
  const { request_id: _, ...refusal } = (await machineToken(service, client)).body
  expect(unknown.body).toMatchObject(refusal)
  const [entry] = await listed(client.client_id, '?kind=client')
  expect(deletedRecord.parse(entry)).toMatchObject({ kind: 'client', deleted_by: 'admin', lost: [] })
  expect(await listed(client.client_id, '?kind=resource')).toEqual([])

  const { status, body } = await restore(at)
  expect([status, body['client_id']]).toEqual([200, client.client_id])
  expect((await machineToken(service, client)).status).toBe(200)
  expect(await introspect(service, server, granted.body['access_token'])).toEqual({ active: false })
  expect((await refresh(service, client, granted.body['refresh_token'])).body['error']).toBe('invalid_grant')
  expect((await redeem(service, client, waiting)).body['error']).toBe('invalid_grant')
  expect((await restore(at)).status).toBe(404)
  expect(await listed(client.client_id)).toEqual([])
  const events = await eventsOf(service, 'client_restored')
  expect(events.filter(({ client_id }) => client_id === client.client_id)).toHaveLength(1)
})

test('names are free at once, and a restore is refused while they are taken', async () => {
  const [client, resource] = [await addClient(service), await addResource(service)]
  await remove(`clients/${client.client_id}`)
  await remove(`resources/${resource.id}`)
  const { slug, uri = '' } = resource
  await okAdmin(service, 'POST', '/admin/clients', {
    client_id: client.client_id,
    client_name: 'Taker',
    redirect_uris: ['https://a.example/b'],
  })
  const taker = await okAdmin<{ id: string }>(service, 'POST', '/admin/resources', { slug, uri, backend_kind: 'mint' })
  const [first, second] = [await restore(`clients/${client.client_id}`), await restore(`resources/${resource.id}`)]
  expect([first.status, first.body['error']]).toEqual([409, 'conflict'])
  expect([second.status, second.body['error']]).toEqual([409, 'conflict'])
  await remove(`resources/${taker.id}`)
  expect((await restore(`resources/${resource.id}`)).body).toMatchObject({ id: resource.id, slug, uri })
  expect(await eventsOf(service, 'resource_restored')).toMatchObject([{ detail: { resource_id: resource.id, slug } }])
})

test('tokens that an interrupted deletion left are ended before the resource is there again', async () => {
  const [client, resource] = [await addClient(service), await addResource(service)]
  const { access_token } = (await machineToken(service, client, { resource: resource.uri })).body
  expect(await introspect(service, client, access_token)).toMatchObject({ active: true })
  const { store, clock } = service.app
  await store.deleteResource({ id: resource.id, cascade: true, now: clock.now(), by: 'admin' })
  expect((await restore(`resources/${resource.id}`)).status).toBe(200)
  expect(await introspect(service, client, access_token)).toEqual({ active: false })
})

test('after 7 days nothing can be restored, whether it was purged or not', async () => {
  const [client, resource] = [await addClient(service), await addResource(service)]
  const paths = [`clients/${client.client_id}`, `resources/${resource.id}`]
  for (const path of paths) await remove(path)
  service.advance(RESTORABLE)
  for (const path of paths) expect((await restore(path)).status).toBe(404)
  expect(await listed(client.client_id)).toEqual([])
})

test('a resource that leads to tokens of a provider is restored by an admin only', async () => {
  const provider = aProvider()
  await service.app.store.createProvider(provider)
  const broker = aResource({ backend_kind: 'broker', broker_provider_slug: provider.slug })
  await service.app.store.createResource(broker)
  await remove(`resources/${broker.id}`)
  const made = { name: 'desk', capability: 'operator' }
  const { key } = await okAdmin<{ key: string }>(service, 'POST', '/admin/api-keys', made)
  expect((await restore(`resources/${broker.id}`, { authorization: `Bearer ${key}` })).status).toBe(403)
  expect((await restore(`resources/${broker.id}`)).status).toBe(200)
})
