// The audience of machine tokens when the request names no resource: golang.org/x/oauth2 and Spring send none.
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { envOf, runHere } from '../support/cli.ts'
import { authorize, claimsOf, machineToken, redeem, refresh, register } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const pathOf = ({ client_id }: { client_id: string }) => `/admin/clients/${client_id}`
const created = (body: object) =>
  okAdmin<{ client_id: string; client_secret: string; default_resource?: string }>(service, 'POST', '/admin/clients', {
    client_name: 'Machine',
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_basic',
    scope: 'mcp:read',
    ...body,
  })

test('a request without a resource uses default_resource; a named resource takes precedence', async () => {
  const [home, other] = [await addResource(service), await addResource(service)]
  const client = await created({ default_resource: home.uri })
  expect(client.default_resource).toBe(home.uri)
  expect(claimsOf(await machineToken(service, client))).toMatchObject({ aud: [home.uri], scope: 'mcp:read' })
  expect(claimsOf(await machineToken(service, client, { resource: other.uri })).aud).toEqual([other.uri])
})

test('an operator sets, shows and removes default_resource by API and command line, and each change is audited', async () => {
  const resource = await addResource(service)
  const client = await created({})
  expect(client).not.toHaveProperty('default_resource')
  expect(await okAdmin(service, 'PATCH', pathOf(client), { default_resource: resource.uri })).toMatchObject({
    default_resource: resource.uri,
  })
  expect(await okAdmin(service, 'GET', pathOf(client))).toMatchObject({ default_resource: resource.uri })
  expect(await okAdmin(service, 'PATCH', pathOf(client), { default_resource: null })).not.toHaveProperty(
    'default_resource',
  )
  expect(claimsOf(await machineToken(service, client))).not.toHaveProperty('aud')
  const update = ['admin', 'client', 'update', '--id', client.client_id, '--default-resource']
  expect((await runHere([...update, resource.uri], envOf(service))).code).toBe(0)
  expect(claimsOf(await machineToken(service, client)).aud).toEqual([resource.uri])
  expect((await runHere([...update, ''], envOf(service))).code).toBe(0)
  expect(await okAdmin(service, 'GET', pathOf(client))).not.toHaveProperty('default_resource')
  const changes = (await eventsOf(service, 'client_updated')).filter(({ client_id }) => client_id === client.client_id)
  expect(changes.map(({ detail }) => detail['fields'])).toEqual(Array.from({ length: 4 }, () => ['default_resource']))
})

test('default_resource must be a registered mint resource', async () => {
  const client = await addClient(service)
  for (const default_resource of ['https://nowhere.example.com/mcp', 'nowhere', 7]) {
    const { status, body } = await callAdmin(service, 'PATCH', pathOf(client), { default_resource })
    expect([status, body['error']]).toEqual([400, 'invalid_request'])
  }
})

test('when the default resource no longer exists the request is refused, and no token without an audience is issued', async () => {
  const resource = await addResource(service)
  const client = await created({ default_resource: resource.uri })
  await okAdmin(service, 'DELETE', `/admin/resources/${resource.id}?cascade=true`)
  expect((await machineToken(service, client)).body).toMatchObject({ error: 'invalid_target' })
})

test('C20 a client cannot set its own default resource', async () => {
  const resource = await addResource(service)
  const { client_id } = (await (await register(service, { default_resource: resource.uri })).json()) as {
    client_id: string
  }
  expect(await okAdmin(service, 'GET', `/admin/clients/${client_id}`)).not.toHaveProperty('default_resource')
})

test('without a default resource the token has no audience; the audit trail, the log and doctor warn about it', async () => {
  const text = 'no resource was named: no resource server will accept this token'
  const lines: [object, string][] = []
  vi.spyOn(service.app.log, 'info').mockImplementation(
    (fields: unknown, line?: string) => void lines.push([fields as object, String(line)]),
  )
  const client = await addClient(service, { grant_types: ['client_credentials'] })
  const { client_id } = client
  for (let i = 0; i < 3; i++) expect(claimsOf(await machineToken(service, client))).not.toHaveProperty('aud')
  vi.restoreAllMocks()
  expect(lines).toEqual([[{ reason: 'no_resource_named', client_id, requests: 1 }, text]])
  const [trail] = await okAdmin<{ failing: boolean; steps: object[] }[]>(
    service,
    'GET',
    `/admin/connections?client_id=${client_id}`,
  )
  expect(trail).toMatchObject({
    failing: false,
    steps: [{ step: 'token', status: 200, reason: 'no_resource_named', detail: text, count: 3 }],
  })
  const found = async () =>
    (JSON.parse((await runHere(['doctor', '--json'], envOf(service))).stdout) as { check: string }[]).filter(
      ({ check }) => check === `client ${client_id}`,
    )
  expect(await found()).toEqual([
    { check: `client ${client_id}`, result: 'warn', message: text, fix: expect.stringContaining('--default-resource') },
  ])
  const resource = await addResource(service)
  await okAdmin(service, 'PATCH', pathOf(client), { default_resource: resource.uri })
  await machineToken(service, client)
  expect(await found()).toEqual([])
})

test('a code and its refresh tokens are for default_resource, unless the request names another or signs in only', async () => {
  const own = await startService({ SERVICE_OAUTH_OPENID: 'true' })
  const [home, other, user] = [await addResource(own), await addResource(own), await addUser(own)]
  const client = await addClient(own, { scope: 'openid profile mcp:read' })
  await okAdmin(own, 'PATCH', pathOf(client), { default_resource: home.uri })
  const audiences = async (params: { scope: string; resource?: string }) => {
    const first = await redeem(own, client, await authorize(own, client, user, { resource: undefined, ...params }))
    const next = await refresh(own, client, String(first.body['refresh_token']))
    return [claimsOf(first).aud, claimsOf(next).aud]
  }
  expect(await audiences({ scope: 'mcp:read' })).toEqual([[home.uri], [home.uri]])
  expect(await audiences({ scope: 'openid mcp:read' })).toEqual([[home.uri], [home.uri]])
  expect(await audiences({ scope: 'mcp:read', resource: other.uri })).toEqual([[other.uri], [other.uri]])
  expect(await audiences({ scope: 'openid profile' })).toEqual([[own.issuer], [own.issuer]])
  await own.close()
})
