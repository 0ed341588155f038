// Keys of the admin API that are created at run time.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { adminResources } from '../../src/admin/index.ts'
import { digest, newBearer } from '../../src/lib/id.ts'
import { CAPABILITIES } from '../../src/records/api_key.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { tempFile } from '../support/folder.ts'
import { addClient, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  const api_keys = [
    { name: 'configured', sha256: Buffer.from(digest('x'), 'base64url').toString('hex'), capability: 'read' },
  ]
  service = await startService({}, tempFile('service.yaml', { admin: { api_keys } }))
})
afterAll(() => service.close())

interface Made {
  id: string
  name: string
  capability: string
  key: string
}
let count = 0
const create = (capability: string, name = `key-${++count}`) =>
  okAdmin<Made>(service, 'POST', '/admin/api-keys', { name, capability })
const as = (key: string, method: string, path: string, body?: object) =>
  callAdmin(service, method, path, body, { authorization: `Bearer ${key}`, 'content-type': 'application/json' })
const listed = async (id: string) =>
  (await okAdmin<(Made & { last_used_at?: string })[]>(service, 'GET', '/admin/api-keys')).find(
    (each) => each.id === id,
  )

test('the key is shown once, and only its hash is stored', async () => {
  const { key, ...made } = await create('viewer')
  expect(key).toMatch(/^sak_[\w-]{64}$/)
  expect((await as(key, 'GET', '/admin/clients')).status).toBe(200)
  const { last_used_at: _, ...shown } = (await listed(made.id)) ?? {}
  expect(shown).toEqual(made)
  expect(await service.app.store.findApiKey(made)).toMatchObject({ hash: digest(key) })
  expect(JSON.stringify(await okAdmin(service, 'GET', '/admin/audit'))).not.toContain(key)
})

test.each([
  ['a name that is taken', 409, 'conflict'],
  ['the name of a key of the configuration', 409, 'conflict'],
  ['a name with an @, which the trail would show like a person', 400, 'invalid_request'],
  ['a name with a colon', 400, 'invalid_request'],
  ['another capability', 400, 'invalid_request'],
  ['no name', 400, 'invalid_request'],
])('refuses %s', async (what, status, error) => {
  const { name } = await create('viewer')
  const body = {
    'a name that is taken': { name, capability: 'admin' },
    'the name of a key of the configuration': { name: 'configured', capability: 'admin' },
    'a name with an @, which the trail would show like a person': { name: 'ada@example.com', capability: 'admin' },
    'a name with a colon': { name: 'a:b', capability: 'admin' },
    'another capability': { name: 'other', capability: 'write' },
    'no name': { capability: 'viewer' },
  }[what]
  const before = await service.app.store.listApiKeys({ limit: 1000, offset: 0 })
  const answer = await callAdmin(service, 'POST', '/admin/api-keys', body)
  expect([answer.status, answer.body['error']]).toEqual([status, error])
  expect(await service.app.store.listApiKeys({ limit: 1000, offset: 0 })).toEqual(before)
})

test('a revoked key is refused from the next request on', async () => {
  const { id, key } = await create('admin')
  expect((await as(key, 'GET', '/admin/clients')).status).toBe(200)
  await okAdmin(service, 'DELETE', `/admin/api-keys/${id}`)
  expect((await as(key, 'GET', '/admin/clients')).status).toBe(401)
  for (const missing of [id, 'x', '..'.padEnd(22, 'A')])
    expect((await callAdmin(service, 'DELETE', `/admin/api-keys/${encodeURIComponent(missing)}`)).status).toBe(404)
})

test.each([
  ['its id with another secret', ({ id }: Made) => newBearer('sak', id).value],
  ['its hash', ({ key }: Made) => digest(key)],
  ['its name', ({ name }: Made) => name],
  ['another prefix', ({ key }: Made) => key.replace('sak_', 'rt_')],
])('%s is not the key', async (_what, wrong) => {
  expect((await as(wrong(await create('admin')), 'GET', '/admin/clients')).status).toBe(401)
})

test('api_key_created and api_key_revoked name the key, and the changes of its holder name it as the actor', async () => {
  const root = await create('admin')
  const { body } = await as(root.key, 'POST', '/admin/api-keys', { name: `key-${++count}`, capability: 'operator' })
  const made = body as unknown as Made
  const { client_id } = await addClient(service)
  expect((await as(made.key, 'PATCH', `/admin/clients/${client_id}/suspend`)).status).toBe(200)
  expect((await as(root.key, 'DELETE', `/admin/api-keys/${made.id}`)).status).toBe(204)
  const detail = { api_key_id: made.id, name: made.name, capability: 'operator' }
  for (const kind of ['api_key_created', 'api_key_revoked'])
    expect((await eventsOf(service, kind))[0]).toMatchObject({ actor_id: `admin:${root.name}`, detail })
  const [suspended] = await eventsOf(service, 'client_suspended')
  expect(suspended).toMatchObject({ actor_id: `admin:${made.name}`, client_id })
})

test('the last use is recorded in the background, once for many requests', async () => {
  const { id, key } = await create('viewer')
  const touched = vi.spyOn(service.app.store, 'touchApiKey')
  try {
    for (let i = 0; i < 5; i++) await as(key, 'GET', '/admin/stats')
    expect(touched).toHaveBeenCalledTimes(1)
    service.advance(10)
    const before = service.app.clock.now()
    await as(key, 'GET', '/admin/stats')
    expect(touched).toHaveBeenCalledTimes(2)
    await touched.mock.results[1]?.value
    const used = Date.parse((await listed(id))?.last_used_at ?? '') / 1000
    expect(used).toBeGreaterThanOrEqual(before)
    expect(used).toBeLessThanOrEqual(service.app.clock.now())
  } finally {
    touched.mockRestore()
  }
})

describe('capabilities', () => {
  /** A path that exists, with ids that do not: an allowed request is then 400, 404 or 409, but not 403. */
  const pathOf = (path: string) => path.replace(/\{\w+\}/g, 'nothing-here')
  const CHANGES = adminResources
    .flatMap(({ actions }) => Object.values(actions))
    .filter(({ method }) => method !== 'GET')
  const READS = ['/admin/auth/verify', '/admin/try/decode', '/admin/try/explain', '/admin/try/id-jag']
  const RESERVED = [
    /^\/admin\/(api-keys|keys|idps|xaa|broker-providers|webhooks|streams)\b(?!.*(refresh-keys|redeliver|\/test$|\/verify))/,
    /^\/admin\/(system\/config\/reload|settings\/dcr|grants\/broker$)/,
  ]
  const isReserved = (method: string, path: string) =>
    RESERVED.some((each) => each.test(path)) && !(method === 'DELETE' && path.startsWith('/admin/grants'))

  test.each(CAPABILITIES)('%s gets 403 for exactly the operations that need more', async (capability) => {
    const { key } = await create(capability)
    const refused: string[] = []
    for (const { method, path } of CHANGES) {
      const { status, body } = await as(key, method, pathOf(path), method === 'DELETE' ? undefined : { nothing: 1 })
      if (status === 403 && body['error'] === 'access_denied') refused.push(`${method} ${path}`)
    }
    const expected = CHANGES.filter(({ method, path }) =>
      capability === 'viewer' ? !READS.includes(path) : capability === 'operator' && isReserved(method, path),
    )
    expect(refused).toEqual(expected.map(({ method, path }) => `${method} ${path}`))
  })

  test('a refusal names what is needed and what the key has', async () => {
    const { key } = await create('operator')
    expect((await as(key, 'POST', '/admin/keys/rotate', {})).body).toMatchObject({
      error_description: 'this needs the capability admin; the caller has operator',
    })
  })

  test('the OpenAPI document has the capability of every operation', async () => {
    const { paths } = await okAdmin<{ paths: Record<string, Record<string, { 'x-capability': string }>> }>(
      service,
      'GET',
      '/admin/openapi.json',
    )
    const of = (path: string, method: string) => paths[path]?.[method]?.['x-capability']
    expect(of('/admin/clients', 'get')).toBe('viewer')
    expect(of('/admin/clients', 'post')).toBe('operator')
    expect(of('/admin/api-keys', 'post')).toBe('admin')
    expect(of('/admin/try/decode', 'post')).toBe('viewer')
  })
})
