import { afterAll, beforeAll, expect, test } from 'vitest'
import { callAdmin } from '../support/admin.ts'
import { ADMIN_KEY, addClient, startService, type TestService } from '../support/service.ts'
import { Wire } from '../support/wire.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const UNKNOWN = ['/admin', '/admin/', '/admin/nothing', '/admin/clients/', '/admin/clients/x/y/z', '/admin/uix']
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const status = async (method: string, path: string, headers?: Record<string, string>) =>
  (await fetch(service.admin + path, { method, headers })).status

test.each(UNKNOWN)('without a key, %s is 401 with every method, so that paths cannot be probed', async (path) => {
  for (const method of METHODS) expect(await status(method, path), method).toBe(401)
})

test.each(UNKNOWN)('with the key, %s is not found', async (path) => {
  const headers = { authorization: `Bearer ${ADMIN_KEY}` }
  for (const method of METHODS.slice(0, -1)) expect(await status(method, path, headers), method).toBe(404)
})

test('a method that a path does not support is 401 without the key, and 405 with it', async () => {
  expect(await status('PUT', '/admin/clients')).toBe(401)
  const answer = await callAdmin(service, 'PUT', '/admin/clients', {})
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST'])
})

test('TRACE is 405 with the key', async () => {
  const wire = await Wire.open(Number(new URL(service.admin).port))
  const head = ['TRACE /admin/clients HTTP/1.1', 'host: localhost', `authorization: Bearer ${ADMIN_KEY}`, '', '']
  const answer = await wire.send(head.join('\r\n')).answer()
  expect([answer.status, answer.headers['allow']?.[0]]).toEqual([405, 'GET, HEAD, POST'])
  await wire.closed()
})

test('an empty query parameter is refused, so that an empty filter does not list everything', async () => {
  for (const query of [
    'users?email=',
    'users?email',
    'connections?client_id=',
    'connections?address=',
    'resources?broker_provider_id=',
    'issuances?user_id=',
    'audit?actor_id=',
    'clients?limit=',
  ]) {
    const answer = await callAdmin<{ error_description: string }>(service, 'GET', `/admin/${query}`)
    expect([answer.status, answer.body.error_description], query).toEqual([
      400,
      expect.stringMatching(/^[a-z_]+ must not be empty/),
    ])
  }
})

test('a switch in a JSON body is true or false, not a number or a text', async () => {
  const { client_id } = await addClient(service)
  for (const wrong of ['true', 1, 0, 'false']) {
    const body = { dpop_bound_access_tokens: wrong }
    const answer = await callAdmin<{ error_description: string }>(service, 'PATCH', `/admin/clients/${client_id}`, body)
    expect([answer.status, answer.body.error_description]).toEqual([
      400,
      'dpop_bound_access_tokens must be true or false',
    ])
  }
})

test('the key is checked before the body is read', async () => {
  const body = 'x'.repeat(2 * 1024 * 1024)
  expect((await callAdmin(service, 'POST', '/admin/clients', body, { 'content-type': 'text/plain' })).status).toBe(401)
})

test('no answer may be cached, or read by another origin', async () => {
  const headers = { authorization: `Bearer ${ADMIN_KEY}`, origin: 'https://evil.example.com' }
  const answer = await callAdmin(service, 'GET', '/admin/clients', undefined, headers)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.headers.get('access-control-allow-origin')).toBeNull()
})

test('an operation without a body accepts an empty object', async () => {
  expect((await callAdmin(service, 'POST', '/admin/keys/rotate', {})).status).toBe(200)
})

test('an operation without a body accepts a request without a length, as curl -X PATCH sends it', async () => {
  const { client_id } = await addClient(service)
  const send = async (line: string) => {
    const wire = await Wire.open(Number(new URL(service.admin).port))
    const head = [`${line} HTTP/1.1`, 'host: localhost', `authorization: Bearer ${ADMIN_KEY}`, '', '']
    const { status } = await wire.send(head.join('\r\n')).answer()
    await wire.closed()
    return status
  }
  for (const [path, status] of [
    [`/admin/clients/${client_id}/suspend`, 'suspended'],
    [`/admin/clients/${client_id}/reactivate`, 'active'],
  ]) {
    expect(await send(`PATCH ${path}`)).toBe(200)
    expect((await service.app.store.findClient({ client_id }))?.status).toBe(status)
  }
  expect(await send(`PATCH /admin/clients/${client_id}`), 'an update needs a body').toBe(411)
})

test('the metrics need no key', async () => {
  const answer = await fetch(`${service.admin}/metrics`)
  expect(answer.headers.get('content-type')).toContain('text/plain')
  expect(await answer.text()).toContain('core_http_requests_total')
})

test('without a configured key every request is refused, also one with an empty key', async () => {
  const open = await startService({ SERVICE_ADMIN_API_KEY: '' })
  try {
    for (const authorization of ['', 'Bearer ', 'Bearer undefined', `Bearer ${ADMIN_KEY}`])
      expect((await callAdmin(open, 'GET', '/admin/clients', undefined, { authorization })).status).toBe(401)
  } finally {
    await open.close()
  }
})

test.each([
  ['no provider', { SERVICE_METRICS_PROVIDER: 'none' }, '/metrics', 404],
  ['another path', { SERVICE_METRICS_PATH: '/scrape' }, '/scrape', 200],
])('the metrics follow the configuration: %s', async (_what, env, path, expected) => {
  const other = await startService(env)
  try {
    expect((await fetch(other.admin + path)).status).toBe(expected)
  } finally {
    await other.close()
  }
})
