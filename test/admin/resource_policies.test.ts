import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

describe.each([
  ['exchange/allowed-clients', 'allowed_client_ids'],
  ['runtime/client-ids', 'client_ids'],
])('%s', (path, member) => {
  const listOf = (slug: string) => `/admin/resources/${slug}/policy/${path}`

  test('clients can be added and removed repeatedly, and the answer has the resulting list', async () => {
    const [{ slug }, one, two] = [await addResource(service), await addClient(service), await addClient(service)]
    const add = (client_id: string) => okAdmin(service, 'POST', listOf(slug), { client_id })
    const remove = (client_id: string) => okAdmin(service, 'DELETE', `${listOf(slug)}/${client_id}`)
    expect(await okAdmin(service, 'GET', listOf(slug))).toEqual({ [member]: [] })
    for (const _round of [1, 2]) expect(await add(one.client_id)).toEqual({ [member]: [one.client_id] })
    expect(await add(two.client_id)).toEqual({ [member]: [one.client_id, two.client_id] })
    for (const _round of [1, 2]) expect(await remove(one.client_id)).toEqual({ [member]: [two.client_id] })
    expect(await okAdmin(service, 'GET', listOf(slug))).toEqual({ [member]: [two.client_id] })
  })

  test('adding a client that does not exist is refused', async () => {
    const { slug } = await addResource(service)
    expect((await callAdmin(service, 'POST', listOf(slug), { client_id: 'nobody' })).status).toBe(400)
  })

  test('clients that are added concurrently are all kept', async () => {
    const [{ slug }, one, two] = [await addResource(service), await addClient(service), await addClient(service)]
    await Promise.all([one, two].map(({ client_id }) => okAdmin(service, 'POST', listOf(slug), { client_id })))
    const { [member]: ids } = await okAdmin<Record<string, string[]>>(service, 'GET', listOf(slug))
    expect(ids?.sort()).toEqual([one.client_id, two.client_id].sort())
  })

  test('only actual changes are recorded and counted', async () => {
    const [{ slug }, { client_id }] = [await addResource(service), await addClient(service)]
    for (const _round of [1, 2]) await okAdmin(service, 'POST', listOf(slug), { client_id })
    const events = (await eventsOf(service, 'resource_updated')).filter(({ detail }) => detail['slug'] === slug)
    expect(events.map(({ detail }) => detail['added'])).toEqual([client_id])
    expect((await service.app.metrics.render()).text).toContain('ext_allowlist_ops_total{op="add"}')
  })
})

test('a client id with a slash is accepted percent-encoded in the path', async () => {
  const { slug } = await addResource(service)
  await addClient(service, {}, { client_id: 'team/app?x=1' })
  const path = `/admin/resources/${slug}/policy/runtime/client-ids`
  expect(await okAdmin(service, 'POST', path, { client_id: 'team/app?x=1' })).toEqual({ client_ids: ['team/app?x=1'] })
  expect(await okAdmin(service, 'DELETE', `${path}/${encodeURIComponent('team/app?x=1')}`)).toEqual({ client_ids: [] })
})

test('return URLs of a mint resource are refused', async () => {
  const { slug } = await addResource(service)
  const path = `/admin/resources/${slug}/policy/connect/allowed-return-urls`
  const url = 'https://app.example.com/done'
  expect((await callAdmin(service, 'GET', path)).status).toBe(400)
  expect((await callAdmin(service, 'POST', path, { url })).status).toBe(400)
  expect((await callAdmin(service, 'DELETE', `${path}?url=${encodeURIComponent(url)}`)).status).toBe(400)
})
