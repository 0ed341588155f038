import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as answers from '../../src/admin/answers/answers.ts'
import type { Resource } from '../../src/records/resource.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { authorize, machineToken } from '../support/flow.ts'
import { aProvider } from '../support/records.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

interface ResourceJson {
  id: string
  slug: string
  uri: string
  display_name: string
  scopes: { name: string; description: string; upstream: string }[]
  policy: { exchange: { allowed_client_ids: string[] }; runtime: { client_ids: string[] }; connect?: object }
  error?: string
  error_description?: string
}
const create = (fields: object) => callAdmin<ResourceJson>(service, 'POST', '/admin/resources', fields)
const patch = (id: string, body: object) => callAdmin<ResourceJson>(service, 'PATCH', `/admin/resources/${id}`, body)
const read = (id: string) => okAdmin<ResourceJson>(service, 'GET', `/admin/resources/${id}`)

let count = 0
const mint = (fields: object = {}) => ({
  slug: `made-${++count}`,
  uri: `https://made-${count}.example.com/mcp`,
  backend_kind: 'mint',
  display_name: 'Made',
  scopes: [{ name: 'a', description: 'About a' }],
  ...fields,
})

test('creating a resource shows it by id, by slug and in the list', async () => {
  const fields = mint({ uri: 'https://Bytes.example.com:443/mcp/' })
  const { status, body } = await create(fields)
  expect(status).toBe(201)
  expect(body).toEqual({
    ...fields,
    id: expect.stringMatching(/^r_/),
    broker_provider_id: '',
    broker_provider_slug: '',
    scopes: [{ name: 'a', description: 'About a', upstream: '' }],
    access: { mode: 'everyone', groups: [], users: [], email_domains: [] },
    token_claims: [],
    authorization_details_types: [],
    access_token_typ: 'at+jwt',
    policy: { exchange: { allowed_client_ids: [] }, runtime: { client_ids: [] } },
    warning: 'clients cannot send this URI: they send https://bytes.example.com/mcp/ instead; register that form',
    created_at: expect.stringMatching(/Z$/),
    updated_at: expect.stringMatching(/Z$/),
  })
  expect(await read(body.id)).toEqual(body)
  expect(await read(fields.slug)).toEqual(body)
  expect(await okAdmin(service, 'GET', `/admin/resources?slug=${fields.slug}`)).toEqual(body)
  expect(await okAdmin<ResourceJson[]>(service, 'GET', '/admin/resources?limit=500')).toContainEqual(body)
})

test.each([
  ['no slug', { slug: undefined }],
  ['a slug with a space', { slug: 'has space' }],
  ['a slug that looks like an id', { slug: 'r_abc' }],
  ['a slug of 65 characters', { slug: 'x'.repeat(65) }],
  ['no uri', { uri: undefined }],
  ['a uri that is none', { uri: 'not a url' }],
  ['a relative uri', { uri: '/mcp' }],
  ['a uri with a user', { uri: 'https://user:secret@made.example.com/mcp' }],
  ['an unknown kind', { backend_kind: 'magic' }],
  ['an empty scope name', { scopes: [{ name: '' }] }],
  ['a scope name with a space', { scopes: [{ name: 'a b' }] }],
  ['a scope twice', { scopes: [{ name: 'a' }, { name: 'a' }] }],
  ['a member that does not exist', { scope: 'a' }],
  ['a provider for a mint resource', { broker_provider_slug: 'github' }],
  ['a broker resource without a provider', { backend_kind: 'broker' }],
  ['a policy that names an unknown client', { policy: { runtime: { client_ids: ['nobody'] } } }],
])('refuses %s', async (_what, fields) => {
  const { status, body } = await create(mint(fields))
  expect([status, body.error]).toEqual([400, 'invalid_request'])
})

describe('a broker resource', () => {
  const provided = async () => {
    const provider = aProvider()
    await service.app.store.createProvider(provider)
    return provider
  }

  test('a broker resource names its provider by slug or id, shows both, and needs no uri', async () => {
    const { id, slug } = await provided()
    const shown = { backend_kind: 'broker', broker_provider_id: id, broker_provider_slug: slug, uri: '' }
    for (const named of [{ broker_provider_id: id }, { broker_provider_slug: slug }]) {
      const { status, body } = await create(mint({ backend_kind: 'broker', uri: undefined, ...named }))
      expect([status, body]).toMatchObject([201, { ...shown, policy: { connect: { allowed_return_urls: [] } } }])
      const found = await okAdmin<ResourceJson[]>(service, 'GET', `/admin/resources?broker_provider_id=${id}`)
      expect(found).toContainEqual(body)
    }
  })

  test('a broker resource with an unknown provider, or with two providers, is refused', async () => {
    const [one, two] = [await provided(), await provided()]
    const unknown = await create(mint({ backend_kind: 'broker', broker_provider_slug: 'nobody' }))
    expect([unknown.status, unknown.body.error]).toEqual([404, 'not_found'])
    const both = { broker_provider_id: one.id, broker_provider_slug: two.slug }
    expect((await create(mint({ backend_kind: 'broker', ...both }))).status).toBe(400)
  })

  test('changing a broker resource to a mint resource removes its provider', async () => {
    const { slug } = await provided()
    const { body } = await create(mint({ backend_kind: 'broker', broker_provider_slug: slug }))
    expect((await patch(body.id, { backend_kind: 'mint' })).body).toMatchObject({
      backend_kind: 'mint',
      broker_provider_id: '',
      broker_provider_slug: '',
    })
  })
})

test('creating or changing to a slug or uri that is in use is a conflict', async () => {
  const [one, two] = [await addResource(service), await addResource(service)]
  for (const fields of [{ slug: one.slug }, { uri: one.uri }]) {
    expect((await create(mint(fields))).status).toBe(409)
    expect((await patch(two.id, fields)).status).toBe(409)
  }
})

test('a slug is stored in lower case', async () => {
  expect((await create(mint({ slug: 'LOUD' }))).body.slug).toBe('loud')
})

test('a patch replaces the scopes, keeps the other members, and applies to tokens at once', async () => {
  const [resource, client] = [await addResource(service), await addClient(service, { scope: 'mcp:read new:one' })]
  const { body } = await patch(resource.id, { scopes: [{ name: 'new:one' }] })
  expect(body).toMatchObject({ uri: resource.uri, scopes: [{ name: 'new:one', description: '', upstream: '' }] })
  const token = (scope: string) => machineToken(service, client, { resource: resource.uri, scope })
  expect((await token('mcp:read')).body['error']).toBe('invalid_scope')
  expect((await token('new:one')).status).toBe(200)
})

test('a patch without scopes keeps the scopes', async () => {
  const resource = await addResource(service)
  expect((await patch(resource.id, { display_name: 'Other' })).body).toMatchObject({
    display_name: 'Other',
    scopes: resource.scopes,
  })
})

test('a patch replaces the given parts of the policy and keeps the others', async () => {
  const [resource, one, two] = [await addResource(service), await addClient(service), await addClient(service)]
  await patch(resource.id, { policy: { runtime: { client_ids: [one.client_id] } } })
  const { body } = await patch(resource.id, {
    policy: { exchange: { allowed_client_ids: [two.client_id, two.client_id] } },
  })
  expect(body.policy).toEqual({
    runtime: { client_ids: [one.client_id] },
    exchange: { allowed_client_ids: [two.client_id] },
  })
})

test('a policy may keep an unknown client of an earlier version, but adding one is refused', async () => {
  const resource = await addResource(service, { policy: { runtime: { client_ids: ['gone'] } } })
  expect((await patch(resource.id, { display_name: 'Still' })).status).toBe(200)
  const unknown = await patch(resource.id, { policy: { runtime: { client_ids: ['gone', 'nobody'] } } })
  expect([unknown.status, unknown.body.error_description]).toEqual([400, 'policy names unknown clients: nobody'])
})

test('a deleted client leaves the policies, unless an empty exchange list would allow other clients', async () => {
  const [{ client_id }, source] = [await addClient(service), await addResource(service)]
  const target = await addResource(service, { policy: { exchange: { allowed_client_ids: [client_id] } } })
  const link = { source: source.slug, target: target.slug, scope_map: { 'mcp:read': ['mcp:read'] } }
  await okAdmin(service, 'POST', '/admin/fronting', link)
  const refused = await callAdmin(service, 'DELETE', `/admin/clients/${client_id}?force=true`)
  expect([refused.status, refused.body['error_description']]).toEqual([
    409,
    `the exchange list of ${target.slug} contains only this client, and an empty list would allow other clients; change the list first`,
  ])
  await okAdmin(service, 'DELETE', `/admin/fronting/${source.slug}/${target.slug}`)
  await okAdmin(service, 'DELETE', `/admin/clients/${client_id}?force=true`)
  const { policy } = await okAdmin<Resource>(service, 'GET', `/admin/resources/${target.slug}`)
  expect(policy.exchange.allowed_client_ids).toEqual([])
})

test('the default resource of a client follows a new URI; after a deletion with cascade the client keeps its name', async () => {
  const resource = await addResource(service)
  const { client_id } = await addClient(service)
  const at = `/admin/clients/${client_id}`
  await okAdmin(service, 'PATCH', at, { default_resource: resource.uri })
  const moved = `${resource.uri}/v2`
  expect((await patch(resource.id, { uri: moved })).status).toBe(200)
  expect(await okAdmin(service, 'GET', at)).toMatchObject({ default_resource: moved })
  const refused = await callAdmin(service, 'DELETE', `/admin/resources/${resource.slug}`)
  expect([refused.status, refused.body['error_description']]).toEqual([
    409,
    'it is the default_resource of a client; with cascade, its requests without a resource are refused',
  ])
  await okAdmin(service, 'DELETE', `/admin/resources/${resource.slug}?cascade=true`)
  expect(await okAdmin(service, 'GET', at)).toMatchObject({ default_resource: moved })
})

test.each([
  ['a bad uri', { uri: 'nonsense' }],
  ['a scope twice', { scopes: [{ name: 'a' }, { name: 'a' }] }],
  ['a blank name', { display_name: ' ' }],
  ['the broker kind', { backend_kind: 'broker' }],
  ['a member that does not exist', { audience: 'x' }],
  ['an unknown part of the policy', { policy: { magic: {} } }],
  ['access that is one word', { access: 'restricted' }],
  ['an unknown mode of access', { access: { mode: 'sometimes' } }],
  ['access without a mode', { access: { groups: ['staff'] } }],
  ['groups that are one text', { access: { mode: 'restricted', groups: 'staff' } }],
  ['an unknown list of access', { access: { mode: 'restricted', roles: ['staff'] } }],
  ['an email domain with an at sign', { access: { mode: 'restricted', email_domains: ['@example.com'] } }],
  ['a scope with an empty list of groups', { scopes: [{ name: 'a', groups: [] }] }],
  ['token_claims that are one text', { token_claims: 'email' }],
  ['an unknown token claim', { token_claims: ['password'] }],
])('refuses a patch with %s, and changes nothing', async (_what, body) => {
  const { id } = await addResource(service)
  const before = await read(id)
  expect((await patch(id, { scopes: [{ name: 'other' }], ...body })).status).toBe(400)
  expect(await read(id)).toEqual(before)
})

test('access, groups of scopes and token_claims are stored as written without duplicates, and a patch of access replaces it as a whole', async () => {
  const access = { mode: 'restricted', groups: ['staff', 'ops', 'staff'], email_domains: ['Corp.Example.com'] }
  const scopes = [{ name: 'a', groups: ['editors'] }, { name: 'b' }]
  const { body } = await create(mint({ access, scopes, token_claims: ['name', 'groups', 'name'] }))
  expect(answers.resource.safeParse(body).error).toBeUndefined()
  expect(body).toMatchObject({
    access: { mode: 'restricted', groups: ['ops', 'staff'], users: [], email_domains: ['corp.example.com'] },
    scopes: [{ name: 'a', groups: ['editors'] }, { name: 'b' }],
    token_claims: ['groups', 'name'],
  })
  expect(body.scopes[1]).not.toHaveProperty('groups')
  const patched = { access: { mode: 'restricted', users: ['u_1'] }, token_claims: [] }
  expect((await patch(body.id, patched)).body).toMatchObject({
    access: { mode: 'restricted', groups: [], users: ['u_1'], email_domains: [] },
    token_claims: [],
    scopes: [{ groups: ['editors'] }, {}],
  })
  expect((await patch(body.id, { access: { mode: 'everyone' } })).body).toMatchObject({
    access: { mode: 'everyone', groups: [], users: [], email_domains: [] },
  })
})

test('a patch that changes nothing is not recorded', async () => {
  const resource = await addResource(service)
  const before = await read(resource.id)
  service.advance(5)
  for (const body of [{}, { scopes: resource.scopes }, { policy: {} }])
    expect((await patch(resource.id, body)).body).toEqual(before)
  const events = await eventsOf(service, 'resource_updated')
  expect(events.some(({ detail }) => detail['resource_id'] === resource.id)).toBe(false)
})

test('a resource with consents is deleted only with cascade', async () => {
  const [user, client, resource] = [await addUser(service), await addClient(service), await addResource(service)]
  await authorize(service, client, user, { resource: resource.uri })
  const remove = (query = '') => callAdmin(service, 'DELETE', `/admin/resources/${resource.slug}${query}`)
  expect((await remove()).status).toBe(409)
  expect((await remove('?cascade=true')).status).toBe(204)
  expect((await remove()).status).toBe(404)
})

test.each(['slug=x&limit=1', 'slug=x&backend_kind=mint', 'backend_kind=magic', 'limit=501', 'limit=0', 'offset=x'])(
  'refuses to list with %s',
  async (query) => {
    expect((await callAdmin(service, 'GET', `/admin/resources?${query}`)).status).toBe(400)
  },
)

test('resources can be filtered by kind, and an unknown slug is 404', async () => {
  const { id } = await addResource(service)
  const ids = async (query: string) =>
    (await okAdmin<ResourceJson[]>(service, 'GET', `/admin/resources?${query}`)).map((each) => each.id)
  expect(await ids('backend_kind=mint&limit=500')).toContain(id)
  expect(await ids('backend_kind=broker&limit=500')).not.toContain(id)
  expect((await callAdmin(service, 'GET', '/admin/resources?slug=nothing-here')).status).toBe(404)
})

test('operations on resources are counted', async () => {
  const { id } = (await create(mint())).body
  await patch(id, { display_name: 'Counted' })
  await patch(id, {})
  await okAdmin(service, 'DELETE', `/admin/resources/${id}`)
  const { text } = await service.app.metrics.render()
  for (const op of ['create', 'update', 'delete']) expect(text).toContain(`ext_resource_server_ops_total{op="${op}"}`)
})
