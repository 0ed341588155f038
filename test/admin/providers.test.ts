// Broker providers in the admin API.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { aBrokerGrant, aProvider, aResource, aSlug, oauthConfigData } from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

interface ProviderJson {
  id: string
  slug: string
  config_data: Record<string, unknown>
  error: string
  error_description: string
}
const PATH = '/admin/broker-providers'
const written = (fields: object = {}) => ({
  slug: aSlug(),
  display_name: 'Drive',
  protocol: 'oauth',
  config_data: oauthConfigData(),
  ...fields,
})
const create = (fields: object) => callAdmin<ProviderJson>(service, 'POST', PATH, fields)
const created = async (fields: object = {}) => okAdmin<ProviderJson>(service, 'POST', PATH, written(fields))
const read = (name: string) => callAdmin<ProviderJson>(service, 'GET', `${PATH}/${name}`)
const patch = (id: string, body: object) => callAdmin<ProviderJson>(service, 'PATCH', `${PATH}/${id}`, body)
const remove = (id: string, query = '') => callAdmin<ProviderJson>(service, 'DELETE', `${PATH}/${id}${query}`)
const resourceOf = async ({ slug }: ProviderJson) => {
  const resource = aResource({ backend_kind: 'broker', broker_provider_slug: slug })
  expect(await service.app.store.createResource(resource)).toBe('created')
  return resource
}

test('creating a provider shows it by id, by slug and in the list, as it was written', async () => {
  const fields = written()
  const { status, body } = await create(fields)
  expect([status, body]).toEqual([
    201,
    { ...fields, id: expect.stringMatching(/^bp_/), created_at: expect.any(String), updated_at: expect.any(String) },
  ])
  for (const name of [body.id, body.slug]) expect((await read(name)).body).toEqual(body)
  expect(await okAdmin(service, 'GET', `${PATH}?slug=${body.slug}`)).toEqual(body)
  expect(await okAdmin<ProviderJson[]>(service, 'GET', PATH)).toContainEqual(body)
  expect(await eventsOf(service, 'broker_provider_created')).toContainEqual(
    expect.objectContaining({ detail: { broker_provider_id: body.id, slug: body.slug, protocol: 'oauth' } }),
  )
})

test.each([
  ['an id of its own', { id: 'bp_mine' }],
  ['a bad slug', { slug: '../admin' }],
  ['another protocol', { protocol: 'carrier-pigeon' }],
  ['a secret', { config_data: oauthConfigData({ client_secret: 'hush' }) }],
  ['the name of any variable', { config_data: oauthConfigData({ client_secret_ref: 'SERVICE_ADMIN_API_KEY' }) }],
  ['an endpoint without TLS', { config_data: oauthConfigData({ token_url: 'http://upstream.example.com' }) }],
])('refuses %s', async (_what, fields) => {
  const { status, body } = await create(written(fields))
  expect([status, body.error]).toEqual([400, 'invalid_request'])
  expect(body.error_description).not.toContain('hush')
})

test('creating or renaming a provider to a slug in use is a conflict', async () => {
  const [one, two] = [await created(), await created()]
  expect((await create(written({ slug: one.slug }))).status).toBe(409)
  expect((await patch(two.id, { slug: one.slug })).status).toBe(409)
  expect((await read(two.id)).body).toEqual(two)
})

test('a patch changes the given members, and the resulting provider is validated as a whole', async () => {
  const provider = await created()
  const config_data = oauthConfigData({ response_format: 'form' })
  expect((await patch(provider.id, { config_data })).body).toMatchObject({ slug: provider.slug, config_data })
  const refused = await patch(provider.id, { protocol: 'apikey' })
  expect([refused.status, refused.body.error_description]).toMatchObject([400, expect.stringContaining('header_name')])
  expect((await patch(provider.id, { protocol: 'apikey', config_data: { header_name: 'X-Key' } })).status).toBe(200)
})

test('an empty patch changes nothing and is not recorded', async () => {
  const provider = await created()
  service.advance(5)
  expect((await patch(provider.id, {})).body).toEqual(provider)
  const events = await eventsOf(service, 'broker_provider_updated')
  expect(events.some(({ detail }) => detail['broker_provider_id'] === provider.id)).toBe(false)
})

test('resources follow their provider when its slug changes', async () => {
  const provider = await created()
  const { id } = await resourceOf(provider)
  const slug = aSlug()
  expect((await patch(provider.id, { slug })).status).toBe(200)
  expect(await okAdmin(service, 'GET', `/admin/resources/${id}`)).toMatchObject({
    broker_provider_id: provider.id,
    broker_provider_slug: slug,
  })
})

test('a provider that a resource uses cannot be deleted', async () => {
  const provider = await created()
  const { id } = await resourceOf(provider)
  for (const query of ['', '?cascade=true']) expect((await remove(provider.id, query)).status).toBe(409)
  expect((await read(provider.id)).status).toBe(200)
  await okAdmin(service, 'DELETE', `/admin/resources/${id}`)
  expect((await remove(provider.id)).status).toBe(204)
  expect((await read(provider.id)).status).toBe(404)
  expect((await remove(provider.id)).status).toBe(404)
})

test('a provider with connected users is deleted only with cascade, which deletes their credentials', async () => {
  const provider = await created()
  const { store } = service.app
  const grant = aBrokerGrant(aProvider({ id: provider.id }))
  await store.connectBrokerGrant(grant)
  expect((await remove(provider.id)).status).toBe(409)
  expect((await remove(provider.id, '?cascade=true')).status).toBe(204)
  const [left] = await store.listBrokerGrants(grant)
  expect([left?.credential, typeof left?.revoked_at]).toEqual([undefined, 'number'])
})
