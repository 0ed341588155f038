import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { authorize, introspect, machineToken, redeem } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

interface IssuanceJson {
  id: string
  sub: string
  client_id: string
  resource: string
  expires_at: string
}
interface List {
  issuances: IssuanceJson[]
  since: string
  count: number
}
const list = (query: Record<string, string>) =>
  okAdmin<List>(service, 'GET', `/admin/issuances?${new URLSearchParams(query)}`)

const tokenOf = async (client: { client_id: string; client_secret: string }, fields: Record<string, string> = {}) =>
  String((await machineToken(service, client, fields)).body['access_token'])

test('the issuance of a machine token is listed with its attributes', async () => {
  const [client, resource] = [await addClient(service), await addResource(service)]
  const claims = decodeJwt(await tokenOf(client, { resource: resource.uri, scope: 'mcp:read' }))
  const { issuances, count } = await list({ client_id: client.client_id })
  expect(count).toBe(1)
  expect(issuances[0]).toMatchObject({
    id: claims['jti'],
    jti: claims['jti'],
    grant_type: 'client_credentials',
    sub: client.client_id,
    client_id: client.client_id,
    resource: resource.uri,
    scope: 'mcp:read',
    scopes: ['mcp:read'],
    token_type: 'Bearer',
  })
  expect(Date.parse(issuances[0]?.expires_at ?? '') / 1000).toBe(claims['exp'])
  expect(issuances[0]).not.toHaveProperty('subject_user_id')
})

test('issuances can be filtered by user, client and resource, and by all of them together', async () => {
  const [user, client, resource] = [await addUser(service), await addClient(service), await addResource(service)]
  await redeem(service, client, await authorize(service, client, user, { resource: resource.uri }))
  await tokenOf(client)
  const count = async (query: Record<string, string>) => (await list(query)).count
  expect(await count({ user_id: user.id })).toBe(1)
  expect(await count({ client_id: client.client_id })).toBe(2)
  for (const name of [resource.uri, resource.slug, resource.id]) expect(await count({ resource: name })).toBe(1)
  expect(await count({ client_id: client.client_id, resource: resource.uri, user_id: 'somebody-else' })).toBe(0)
})

test('issuances are listed newest first, up to the limit', async () => {
  const client = await addClient(service)
  const made = [await tokenOf(client), await tokenOf(client), await tokenOf(client)].map(decodeJwt)
  const ids = async (limit: string) =>
    (await list({ client_id: client.client_id, limit })).issuances.map(({ id }) => id)
  expect(await ids('5000')).toEqual(made.map(({ jti }) => jti).reverse())
  expect(await ids('2')).toEqual([made[2]?.['jti'], made[1]?.['jti']])
})

test.each([
  'since=31d',
  'since=721h',
  'since=99999d',
  'since=-1h',
  'since=yesterday',
  'since=1h; DROP',
  'limit=many',
  'limit=0',
  'limit=5001',
  'limit=-1',
])('refuses to list with %s', async (query) => {
  expect((await callAdmin(service, 'GET', `/admin/issuances?${encodeURI(query)}`)).status).toBe(400)
})

test.each(['90s', '1h30m', '24h', '7d', '30d', '4w', '720h'])('takes since=%s', async (since) => {
  expect((await list({ since })).since).toMatch(/Z$/)
})

test('the detail of an issuance has every claim of the token, and shows when the token is no longer active', async () => {
  const client = await addClient(service)
  const claims = decodeJwt(await tokenOf(client, { scope: 'mcp:read' }))
  const path = `/admin/issuances/${claims['jti']}`
  const detail = await okAdmin<IssuanceJson>(service, 'GET', path)
  expect(detail).toMatchObject({ id: claims['jti'], active: true, claims })
  service.advance(service.app.config.client_credentials.token_expiry + 1)
  expect(await okAdmin(service, 'GET', path)).toMatchObject({ active: false })
})

test('the claims of an issuance keep the issuer that was in force when the token was issued', async () => {
  const client = await addClient(service)
  const claims = decodeJwt(await tokenOf(client))
  const { store, clock } = service.app
  await store.saveIssuer({ issuer: 'https://moved.example.com', now: clock.now() + 1 })
  const { claims: shown } = await okAdmin<{ claims: { iss: string } }>(
    service,
    'GET',
    `/admin/issuances/${claims['jti']}`,
  )
  expect(shown.iss).toBe(service.issuer)
})

test('a revoked issuance is inactive at introspection; a second revocation records no second event', async () => {
  const client = await addClient(service)
  const token = await tokenOf(client)
  const path = `/admin/issuances/${decodeJwt(token)['jti']}`
  for (const _round of [1, 2]) expect((await callAdmin(service, 'DELETE', path)).status).toBe(204)
  expect(await okAdmin(service, 'GET', path)).toMatchObject({ active: false, revoked_at: expect.stringMatching(/Z$/) })
  expect(await introspect(service, client, token)).toEqual({ active: false })
  const events = (await eventsOf(service, 'issuance_revoked')).filter(({ client_id }) => client_id === client.client_id)
  expect(events).toHaveLength(1)
})

test('a non-canonical encoding of an issuance id is not found', async () => {
  const { jti } = decodeJwt(await tokenOf(await addClient(service)))
  for (const id of [`${jti}A`, `${String(jti).slice(0, -1)}R`, newId()])
    expect((await callAdmin(service, 'GET', `/admin/issuances/${id}`)).status).toBe(404)
})
