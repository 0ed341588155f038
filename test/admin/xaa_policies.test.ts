import { afterAll, beforeAll, expect, test } from 'vitest'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { startService, type TestService } from '../support/service.ts'
import { addIdp } from '../support/xaa.ts'

let service: TestService
let idp_id: string
beforeAll(async () => {
  service = await startService()
  idp_id = await addIdp(service)
})
afterAll(() => service.close())

interface PolicyJson {
  id: string
  idp_id: string
  name: string
  client_ids: string[]
  scopes?: string[]
  error: string
  error_description: string
}
const PATH = '/admin/xaa/policies'
const create = (fields: object) => callAdmin<PolicyJson>(service, 'POST', PATH, fields)
const created = (fields: object = {}) => okAdmin<PolicyJson>(service, 'POST', PATH, { idp_id, ...fields })
const read = (id: string) => callAdmin<PolicyJson>(service, 'GET', `${PATH}/${id}`)
const put = (id: string, body: object) => callAdmin<PolicyJson>(service, 'PUT', `${PATH}/${id}`, body)

test('a policy needs only an identity provider, and then applies to everything without a scope limit', async () => {
  const { status, body } = await create({ idp_id })
  expect(status).toBe(201)
  expect(body).toEqual({
    id: expect.stringMatching(/^p_[\w-]{22}$/),
    name: '',
    idp_id,
    client_ids: [],
    resources: [],
    enabled: true,
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    updated_at: expect.stringMatching(/Z$/),
  })
  expect((await read(body.id)).body).toEqual(body)
  const [event] = await eventsOf(service, 'xaa_policy_created')
  expect(event?.detail).toEqual({ policy_id: body.id, idp_id })
})

test('the lists of a policy are stored in order without duplicates, and an empty scope list is kept as empty', async () => {
  const lists = { client_ids: ['b', 'a', 'b'], scopes: ['y', 'x', 'y'], resources: ['https://r.example.com/MCP'] }
  const distinct = { client_ids: ['b', 'a'], scopes: ['y', 'x'], resources: lists.resources }
  const policy = await created({ ...lists, name: 'Some', unknown: 1 })
  expect(policy).toMatchObject({ ...distinct, name: 'Some' })
  expect((await read(policy.id)).body).toEqual(policy)
  expect((await created({ scopes: [] })).scopes).toEqual([])
})

test.each([
  ['no identity provider', { idp_id: undefined }, 400, 'idp_id'],
  ['an unknown identity provider', { idp_id: 'nothing-here' }, 404, 'identity provider'],
  ['clients that are no list', { client_ids: { a: 1 } }, 400, 'client_ids'],
  ['a blank client', { client_ids: ['a', ''] }, 400, 'client_ids[1]'],
  ['two scopes in one', { scopes: ['a b'] }, 400, 'scopes[0]'],
  ['a resource that is no URL', { resources: ['files'] }, 400, 'resources[0]'],
])('refuses %s', async (_what, fields, expected, said) => {
  const { status, body } = await create({ idp_id, ...fields })
  expect(status).toBe(expected)
  expect(body.error_description).toContain(said)
})

test('a patch keeps the members that it does not name, and records what was there before', async () => {
  const policy = await created({ client_ids: ['a'], scopes: ['x'] })
  const { body } = await put(policy.id, { scopes: ['y'], enabled: false })
  expect(body).toEqual({ ...policy, scopes: ['y'], enabled: false, updated_at: expect.any(String) })
  expect((await read(policy.id)).body).toEqual(body)
  const [event] = await eventsOf(service, 'xaa_policy_updated')
  expect(event?.detail).toEqual({
    policy_id: policy.id,
    idp_id,
    fields: ['scopes', 'enabled'],
    changes: [
      { field: 'scopes', before: '["x"]', after: '["y"]' },
      { field: 'enabled', before: 'true', after: 'false' },
    ],
  })
})

test('max_scopes null removes the scope limit, an empty list forbids all scopes', async () => {
  const { id } = await created({ scopes: ['x'] })
  expect((await put(id, { scopes: [] })).body.scopes).toEqual([])
  expect((await put(id, { scopes: null })).body.scopes).toBeUndefined()
  expect((await read(id)).body).not.toHaveProperty('scopes')
})

test.each([
  ['with a limit', { scopes: ['x'] }],
  ['without a limit', {}],
])('writing a policy %s again with the same members changes nothing and is not recorded', async (_what, fields) => {
  const policy = await created(fields)
  service.advance(5)
  expect((await put(policy.id, { scopes: null, ...policy })).body).toEqual(policy)
  const events = await eventsOf(service, 'xaa_policy_updated')
  expect(events.some(({ detail }) => detail['policy_id'] === policy.id)).toBe(false)
})

test('the identity provider of a policy cannot be changed', async () => {
  const policy = await created()
  expect((await put(policy.id, { name: 'Moved', idp_id: await addIdp(service) })).status).toBe(400)
  expect((await read(policy.id)).body).toEqual(policy)
})

test('concurrent patches are all applied', async () => {
  const { id } = await created()
  await Promise.all([{ name: 'Both' }, { scopes: ['x'] }, { client_ids: ['a'] }].map((body) => put(id, body)))
  expect((await read(id)).body).toMatchObject({ name: 'Both', scopes: ['x'], client_ids: ['a'] })
})

test('policies are listed oldest first, of one or of all identity providers; a second delete is 404', async () => {
  const mine = await addIdp(service)
  const [one, two] = [await created({ idp_id: mine }), await created({ idp_id: mine })]
  const other = await created()
  const list = (query = '') => okAdmin<PolicyJson[]>(service, 'GET', PATH + query)
  expect(await list(`?idp_id=${mine}`)).toEqual([one, two])
  expect(await list()).toEqual(expect.arrayContaining([one, two, other]))
  expect(await list('?idp_id=nothing-here')).toEqual([])
  expect((await callAdmin(service, 'DELETE', `${PATH}/${one.id}`)).status).toBe(204)
  expect((await callAdmin(service, 'DELETE', `${PATH}/${one.id}`)).status).toBe(404)
  expect(await list(`?idp_id=${mine}`)).toEqual([two])
  const [event] = await eventsOf(service, 'xaa_policy_deleted')
  expect(event?.detail).toEqual({ policy_id: one.id, idp_id: mine })
})
