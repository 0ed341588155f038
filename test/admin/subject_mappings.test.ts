import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
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

interface MappingJson {
  id: string
  error: string
  error_description: string
}
const PATH = '/admin/xaa/subject-mappings'
const aMapping = (fields: object = {}) => ({
  idp_id,
  federated_subject: `employee-${newId()}`,
  local_subject: 'u_1',
  ...fields,
})
const create = (fields: object) => callAdmin<MappingJson>(service, 'POST', PATH, fields)
const list = (query = '') => okAdmin<MappingJson[]>(service, 'GET', PATH + query)

test('creating a subject mapping shows it as created and records it', async () => {
  const mapping = aMapping()
  const { status, body } = await create({ ...mapping, note: 'ignored' })
  expect(status).toBe(201)
  expect(body).toEqual({
    id: expect.stringMatching(/^m_[\w-]{22}$/),
    mode: 'explicit',
    ...mapping,
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
  })
  expect(await list()).toContainEqual(body)
  const [event] = await eventsOf(service, 'subject_mapping_created')
  expect(event?.detail).toEqual({ mapping_id: body.id, ...mapping })
})

test.each([
  ['no identity provider', { idp_id: undefined }, 400, 'idp_id'],
  ['an unknown identity provider', { idp_id: 'nothing-here' }, 404, 'identity provider'],
  ['no federated subject', { federated_subject: undefined }, 400, 'federated_subject'],
  ['a blank federated subject', { federated_subject: '' }, 400, 'federated_subject'],
  ['no local subject', { local_subject: undefined }, 400, 'local_subject'],
  ['a mode that does not exist', { mode: 'by_email' }, 400, 'mode'],
])('refuses %s', async (_what, fields, expected, said) => {
  const { status, body } = await create(aMapping(fields))
  expect(status).toBe(expected)
  expect(body.error_description).toContain(said)
})

test('a subject can be mapped once per identity provider', async () => {
  const mapping = aMapping()
  expect((await create(mapping)).status).toBe(201)
  const twin = await create({ ...mapping, local_subject: 'u_2' })
  expect([twin.status, twin.body.error]).toEqual([409, 'conflict'])
  expect((await create({ ...mapping, idp_id: await addIdp(service) })).status).toBe(201)
})

test('mappings are listed by identity provider; a deleted mapping is 404 on a second delete, and its subject can be mapped again', async () => {
  const mapping = aMapping({ idp_id: await addIdp(service) })
  const { body } = await create(mapping)
  expect(await list(`?idp_id=${mapping.idp_id}`)).toEqual([body])
  const remove = () => callAdmin(service, 'DELETE', `${PATH}/${body.id}`)
  expect([(await remove()).status, (await remove()).status]).toEqual([204, 404])
  expect(await list(`?idp_id=${mapping.idp_id}`)).toEqual([])
  const [event] = await eventsOf(service, 'subject_mapping_deleted')
  expect(event?.detail).toEqual({ mapping_id: body.id, ...mapping })
  expect((await create(mapping)).status).toBe(201)
})
