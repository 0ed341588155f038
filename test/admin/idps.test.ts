import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

interface IdpJson {
  id: string
  name: string
  issuer: string
  audience: string
  jwks_uri: string
  enabled: boolean
  error: string
  error_description: string
}
const anIdp = (fields: object = {}) => {
  const issuer = `https://${newId()}.example.com`
  return { issuer, jwks_uri: `${issuer}/jwks.json`, ...fields }
}
const create = (fields: object, at = service) => callAdmin<IdpJson>(at, 'POST', '/admin/idps', fields)
const created = async (fields: object = {}, at = service) => okAdmin<IdpJson>(at, 'POST', '/admin/idps', anIdp(fields))
const read = (id: string) => callAdmin<IdpJson>(service, 'GET', `/admin/idps/${id}`)
const put = (id: string, body: object) => callAdmin<IdpJson>(service, 'PUT', `/admin/idps/${id}`, body)
const remove = (id: string) => callAdmin(service, 'DELETE', `/admin/idps/${id}`)
const counted = async (operation: string) =>
  (await service.app.metrics.render()).text.includes(`ext_xaa_idp_operations_total{operation="${operation}"}`)

describe('creating', () => {
  test('an identity provider needs only issuer and jwks_uri; audience and name have defaults', async () => {
    const idp = anIdp()
    const { status, body } = await create(idp)
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.stringMatching(/^i_[\w-]{22}$/),
      name: idp.issuer,
      issuer: idp.issuer,
      audience: service.issuer,
      jwks_uri: idp.jwks_uri,
      enabled: true,
      subject_tokens: false,
      audiences: [],
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      updated_at: expect.stringMatching(/Z$/),
    })
    expect((await read(body.id)).body).toEqual(body)
    expect(await counted('create')).toBe(true)
  })

  test('known members are stored, unknown members are ignored', async () => {
    const fields = { name: 'Acme', audience: 'urn:example:as', enabled: false }
    expect(await created({ ...fields, protocol: 'oidc' })).toMatchObject(fields)
  })

  test('an issuer is stored byte for byte, and a second identity provider with it is a conflict', async () => {
    const { issuer } = await created()
    expect((await created({ issuer: `${issuer}/` })).issuer).toBe(`${issuer}/`)
    const twin = await create(anIdp({ issuer }))
    expect([twin.status, twin.body.error]).toEqual([409, 'conflict'])
  })

  test.each([
    ['no issuer', { issuer: undefined }, 'issuer'],
    ['an issuer that is no URL', { issuer: 'idp.example.com' }, 'issuer'],
    ['an issuer with a fragment', { issuer: 'https://idp.example.com/#a' }, 'issuer'],
    ['no jwks_uri', { jwks_uri: undefined }, 'jwks_uri'],
    ['a jwks_uri of another scheme', { jwks_uri: 'file:///etc/passwd' }, 'jwks_uri'],
    ['a jwks_uri over plain http', { jwks_uri: 'http://idp.example.com/jwks.json' }, 'jwks_uri'],
    ['a jwks_uri with a password', { jwks_uri: 'https://a:b@idp.example.com/jwks.json' }, 'jwks_uri'],
    ['an empty audience', { audience: '' }, 'audience'],
    ['a blank name', { name: ' ' }, 'name'],
  ])('refuses %s', async (_what, fields, member) => {
    const { status, body } = await create(anIdp(fields))
    expect([status, body.error]).toEqual([400, 'invalid_request'])
    expect(body.error_description).toContain(member)
  })

  test('the issuer of this server is refused, because only this server may sign for it', async () => {
    expect((await create(anIdp({ issuer: service.issuer }))).status).toBe(400)
  })
})

describe('changing', () => {
  test('a patch changes the given members, keeps the others, and records what was there before', async () => {
    const idp = await created()
    const { body } = await put(idp.id, { name: 'Renamed', enabled: false })
    expect(body).toEqual({ ...idp, name: 'Renamed', enabled: false, updated_at: expect.any(String) })
    expect((await read(idp.id)).body).toEqual(body)
    const [event] = await eventsOf(service, 'idp_updated')
    expect(event?.detail).toEqual({
      idp_id: idp.id,
      issuer: idp.issuer,
      fields: ['name', 'enabled'],
      changes: [{ field: 'enabled', before: 'true', after: 'false' }],
    })
    expect(await counted('update')).toBe(true)
  })

  test('a patch with the current values changes nothing and is not recorded', async () => {
    const idp = await created()
    service.advance(5)
    expect((await put(idp.id, idp)).body).toEqual(idp)
    expect((await eventsOf(service, 'idp_updated')).some(({ detail }) => detail['idp_id'] === idp.id)).toBe(false)
  })

  test.each([
    ['another issuer', { issuer: 'https://other.example.com' }],
    ['a jwks_uri over plain http', { jwks_uri: 'http://idp.example.com/jwks.json' }],
    ['no audience', { audience: null }],
  ])('refuses %s', async (_what, body) => {
    const idp = await created()
    expect((await put(idp.id, { name: 'Other', ...body })).status).toBe(400)
    expect((await read(idp.id)).body).toEqual(idp)
  })

  test('concurrent patches are all applied', async () => {
    const idp = await created()
    const changes = [{ name: 'Both' }, { audience: 'urn:example:both' }, { enabled: false }]
    await Promise.all(changes.map((body) => put(idp.id, body)))
    expect((await read(idp.id)).body).toMatchObject({ name: 'Both', audience: 'urn:example:both', enabled: false })
  })
})

describe('deleting', () => {
  test('deleting an identity provider deletes its policies and subject mappings, and records their numbers', async () => {
    const { id, issuer } = await created()
    await okAdmin(service, 'POST', '/admin/xaa/policies', { idp_id: id })
    const mapping = { idp_id: id, federated_subject: 'a', local_subject: 'b' }
    await okAdmin(service, 'POST', '/admin/xaa/subject-mappings', mapping)
    expect((await remove(id)).status).toBe(204)
    expect((await read(id)).status).toBe(404)
    expect((await remove(id)).status).toBe(404)
    for (const path of ['policies', 'subject-mappings'])
      expect(await okAdmin(service, 'GET', `/admin/xaa/${path}?idp_id=${id}`)).toEqual([])
    const [event] = await eventsOf(service, 'idp_deleted')
    expect(event?.detail).toEqual({ idp_id: id, issuer, policies: 1, subject_mappings: 1 })
    expect(await counted('delete')).toBe(true)
  })

  test('the issuer of a deleted identity provider can be registered again', async () => {
    const { id, issuer } = await created()
    await remove(id)
    expect((await create(anIdp({ issuer }))).status).toBe(201)
  })
})

test('identity providers are listed oldest first', async () => {
  service.advance(1)
  const early = await created()
  service.advance(1)
  const made = [early, await created()]
  expect((await okAdmin<IdpJson[]>(service, 'GET', '/admin/idps')).slice(-2)).toEqual(made)
})

describe('refreshing keys', () => {
  const KEY = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: 'k1' }
  let open: TestService
  let jwks_uri: string
  let hits = 0
  let answer = { status: 200, body: { keys: [KEY] } }
  const server = createServer((_request, response) => {
    hits++
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body))
  })
  beforeAll(async () => {
    open = await startService({ SERVICE_CIMD_ALLOW_PRIVATE_ADDRESSES: 'true' })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    jwks_uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`
  })
  afterAll(async () => {
    server.close()
    await open.close()
  })
  const refresh = (id: string, at = open) => callAdmin<IdpJson>(at, 'POST', `/admin/idps/${id}/refresh-keys`)

  test('refreshing fetches the keys, over plain http when private addresses are allowed, and records their number', async () => {
    const { id, issuer } = await created({ jwks_uri }, open)
    hits = 0
    const { status, body } = await refresh(id)
    expect([status, body, hits]).toEqual([200, { status: 'refreshed' }, 1])
    const [event] = await eventsOf(open, 'idp_keys_refreshed')
    expect(event?.detail).toEqual({ idp_id: id, issuer, keys: 1 })
    const { text } = await open.app.metrics.render()
    expect(text).toContain('ext_xaa_idp_operations_total{operation="refresh_keys"} 1')
  })

  test('refreshing fetches the keys although they are cached', async () => {
    const { id } = await created({ jwks_uri }, open)
    hits = 0
    await refresh(id)
    await refresh(id)
    expect(hits).toBe(2)
  })

  test('a failed refresh returns the reason and is not recorded', async () => {
    const { id } = await created({ jwks_uri }, open)
    answer = { ...answer, status: 404 }
    const { status, body } = await refresh(id)
    expect([status, body.error]).toEqual([503, 'temporarily_unavailable'])
    expect(body.error_description).toContain('status 404')
    expect((await eventsOf(open, 'idp_keys_refreshed')).some(({ detail }) => detail['idp_id'] === id)).toBe(false)
  })

  test('a refresh does not connect to a private address unless private addresses are allowed', async () => {
    const { id } = await created({ jwks_uri: jwks_uri.replace('http:', 'https:') })
    hits = 0
    const { status, body } = await refresh(id, service)
    expect([status, hits]).toEqual([503, 0])
    expect(body.error_description).toContain('blocked_address')
  })
})

test('with xaa.enabled false every path of identity providers is 404 with a valid key, and 401 without', async () => {
  const off = await startService({ SERVICE_XAA_ENABLED: 'false' })
  try {
    for (const path of ['/admin/idps', '/admin/xaa/policies', '/admin/xaa/subject-mappings']) {
      expect((await callAdmin(off, 'GET', path)).status).toBe(404)
      expect((await callAdmin(off, 'POST', path, {})).status).toBe(404)
      expect((await callAdmin(off, 'GET', path, undefined, {})).status).toBe(401)
    }
  } finally {
    await off.close()
  }
})
