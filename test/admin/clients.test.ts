import { afterAll, beforeAll, expect, test } from 'vitest'
import { digest } from '../../src/lib/id.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { introspect, machineToken } from '../support/flow.ts'
import { addClient, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

interface ClientJson {
  client_id: string
  client_secret?: string
  client_name: string
  grant_types: string[]
  status: string
  error?: string
  error_description?: string
}
const create = (fields: object) => callAdmin<ClientJson>(service, 'POST', '/admin/clients', fields)
const read = (client_id: string) =>
  callAdmin<ClientJson>(service, 'GET', `/admin/clients/${encodeURIComponent(client_id)}`)
const patch = (client_id: string, body: object) =>
  callAdmin<ClientJson>(service, 'PATCH', `/admin/clients/${client_id}`, body)
const token = (client: { client_id: string; client_secret?: string }) => machineToken(service, client)
const machine = {
  client_name: 'Job',
  grant_types: ['client_credentials'],
  token_endpoint_auth_method: 'client_secret_post',
}
const web = { client_name: 'Web', redirect_uris: [REDIRECT_URI] }

test('creating a confidential client shows its secret once, and stores only a hash', async () => {
  const { status, body } = await create(machine)
  expect(status).toBe(201)
  expect((await token(body)).status).toBe(200)
  const shown = JSON.stringify([
    (await read(body.client_id)).body,
    (await patch(body.client_id, { client_name: 'J' })).body,
  ])
  const stored = await service.app.store.findClient({ client_id: body.client_id })
  expect(stored?.secrets).toMatchObject([{ hash: digest(body.client_secret ?? '') }])
  expect(shown).not.toContain(body.client_secret)
  expect(shown).not.toContain(stored?.secrets?.[0]?.hash)
})

test('creating a public client creates no secret, and applies the defaults of a registration', async () => {
  const { status, body } = await create(web)
  expect(status).toBe(201)
  expect(body.client_secret).toBeUndefined()
  expect((await read(body.client_id)).body).toEqual({
    client_id: body.client_id,
    client_name: 'Web',
    redirect_uris: [REDIRECT_URI],
    grant_types: ['authorization_code'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'web',
    scope: '',
    dpop_bound_access_tokens: false,
    agent: false,
    is_agent: false,
    agent_description: '',
    status: 'active',
    registration_source: 'admin',
    issued_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    updated_at: expect.stringMatching(/Z$/),
    tokens_24h: 0,
    id: body.client_id,
    name: 'Web',
  })
})

test('a chosen client_id is accepted once; a second use is a conflict', async () => {
  expect((await create({ ...web, client_id: 'my-app' })).body.client_id).toBe('my-app')
  const twin = await create({ ...web, client_id: 'my-app' })
  expect([twin.status, twin.body.error]).toEqual([409, 'conflict'])
})

test.each([
  ['the id of a user', 'u_AaH8_nLzcACrgBejrpDncA'],
  ['a URL, beside members that its metadata document decides', 'https://client.example.com/metadata'],
  ['a plain http URL, beside the same', 'http://client.example.com/metadata'],
  ['a path segment that means something', '..'],
  ['the actor of what operators do', 'admin'],
  ['that of an operator with a name', 'admin:alice'],
  ['text with a space', 'my app'],
  ['text beyond ASCII', 'äpp'],
  ['nothing', ''],
  ['too much', 'x'.repeat(2049)],
])('refuses a chosen client_id that is %s', async (_what, client_id) => {
  const { status, body } = await create({ ...web, client_id })
  expect([status, body.error]).toEqual([400, 'invalid_request'])
  expect(body.error_description).toContain('client_id')
})

test('only a client with a metadata document shows where the document comes from', async () => {
  const client_id = 'https://client.invalid/kept.json'
  const document = { client_id, client_name: 'Kept', redirect_uris: [REDIRECT_URI] }
  const { status, body } = await callAdmin(service, 'POST', '/admin/clients', { client_id, document })
  const kept = { client_name: 'Kept', registration_source: 'cimd', document_source: 'stored', document_error: null }
  expect([status, body]).toEqual([201, expect.objectContaining({ ...kept, token_endpoint_auth_method: 'none' })])
  expect(await okAdmin(service, 'GET', `/admin/clients?q=${encodeURIComponent(client_id)}`)).toEqual([
    expect.objectContaining(kept),
  ])
  const { body: other } = await create(web)
  for (const member of ['document_source', 'document_fetched_at', 'document_error'])
    expect(other).not.toHaveProperty(member)
  expect((await callAdmin(service, 'DELETE', `/admin/clients/${encodeURIComponent(client_id)}`)).status).toBe(204)
})

test('a client whose id has every allowed character is found', async () => {
  const client_id = String.fromCharCode(...Array.from({ length: 94 }, (_, i) => 0x21 + i))
  expect((await create({ ...web, client_id })).status).toBe(201)
  expect((await read(client_id)).body.client_id).toBe(client_id)
})

test.each([
  ['no name', { client_name: undefined }],
  ['a blank name', { client_name: ' ' }],
  ['a grant type that is not offered', { grant_types: ['password'] }],
  ['no redirect URI for the code grant', { redirect_uris: [] }],
  ['a redirect URI with a fragment', { redirect_uris: ['https://client.example.com/cb#x'] }],
  ['an unknown authentication method', { token_endpoint_auth_method: 'magic' }],
  ['an unknown application type', { application_type: 'toaster' }],
  ['an agent description of 256 characters', { agent_description: 'x'.repeat(256) }],
  ['client_credentials for a public client', { grant_types: ['client_credentials'] }],
])('refuses %s', async (_what, fields) => {
  expect((await create({ ...web, ...fields })).status).toBe(400)
})

test('the error names every problem at once', async () => {
  const { body } = await create({ redirect_uris: ['nonsense'], application_type: 'toaster', agent: 'maybe' })
  for (const member of ['client_name', 'redirect_uris[0]', 'application_type', 'agent'])
    expect(body.error_description).toContain(member)
})

test('a patch changes the given members, keeps the others, and records what was there before', async () => {
  const client = await addClient(service)
  const { body } = await patch(client.client_id, { client_name: 'Patched', scope: 'a b a' })
  expect(body).toMatchObject({ client_name: 'Patched', scope: 'a b', grant_types: client.grant_types })
  const [event] = await eventsOf(service, 'client_updated')
  const changes = [
    { field: 'client_name', before: client.client_name, after: 'Patched' },
    { field: 'scope', before: client.scope ?? '', after: 'a b' },
  ]
  expect(event).toMatchObject({ client_id: client.client_id, detail: { fields: ['client_name', 'scope'], changes } })
})

test.each([
  ['nothing', {}],
  ['what is there already', { client_name: 'Same', agent: false }],
])('a patch with %s changes nothing and is not recorded', async (_what, body) => {
  const client = await addClient(service, { client_name: 'Same' })
  const before = (await read(client.client_id)).body
  service.advance(5)
  expect((await patch(client.client_id, body)).body).toEqual(before)
  expect((await eventsOf(service, 'client_updated')).some((event) => event.client_id === client.client_id)).toBe(false)
})

test.each([
  ['agent', { agent: true }],
  ['token_endpoint_auth_method', { token_endpoint_auth_method: 'none' }],
])('a patch cannot change %s', async (_what, body) => {
  const client = await addClient(service)
  expect((await patch(client.client_id, { client_name: 'Other', ...body })).status).toBe(400)
  expect((await read(client.client_id)).body.client_name).toBe(client.client_name)
})

test('a patch to a state that could not be created is refused', async () => {
  const { client_id } = await addClient(service, { token_endpoint_auth_method: 'none' })
  for (const body of [{ grant_types: ['client_credentials'] }, { redirect_uris: [] }, { grant_types: ['password'] }])
    expect((await patch(client_id, body)).status).toBe(400)
})

test('a patch keeps a registered grant type that the server no longer offers', async () => {
  const { client_id } = await addClient(service, {}, { grant_types: ['authorization_code', 'urn:example:gone'] })
  expect((await patch(client_id, { client_name: 'Still here' })).status).toBe(200)
})

test('concurrent patches are all applied', async () => {
  const { client_id } = await addClient(service)
  const patches = [{ client_name: 'Both' }, { scope: 'x' }, { agent_description: 'kept' }]
  const answers = await Promise.all(patches.map((body) => patch(client_id, body)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect((await read(client_id)).body).toMatchObject({ client_name: 'Both', scope: 'x', agent_description: 'kept' })
})

test('a suspended client gets no tokens until it is reactivated; suspending it again is a conflict', async () => {
  const client = await addClient(service)
  const change = (to: string) => callAdmin(service, 'PATCH', `/admin/clients/${client.client_id}/${to}`)
  expect((await change('reactivate')).status).toBe(409)
  expect((await change('suspend')).body).toEqual({ status: 'suspended' })
  expect((await change('suspend')).status).toBe(409)
  expect((await token(client)).status).toBe(401)
  expect((await change('reactivate')).body).toEqual({ status: 'active' })
  expect((await token(client)).status).toBe(200)
})

test('a rotated secret replaces the old one at once', async () => {
  const client = await addClient(service)
  const path = `/admin/clients/${client.client_id}/rotate-secret`
  const { client_secret } = await okAdmin<ClientJson>(service, 'POST', path)
  expect((await token(client)).status).toBe(401)
  expect((await token({ ...client, client_secret })).status).toBe(200)
  expect(JSON.stringify(await eventsOf(service, 'client_secret_rotated'))).not.toContain(client_secret)
})

test('rotating the secret of a public client is refused', async () => {
  const { client_id } = await addClient(service, { token_endpoint_auth_method: 'none' })
  const answer = await callAdmin(service, 'POST', `/admin/clients/${client_id}/rotate-secret`)
  expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request'])
})

test('a client with live tokens is deleted only with force, which invalidates its tokens', async () => {
  const [client, server] = [await addClient(service), await addClient(service)]
  const access_token = String((await token(client)).body['access_token'])
  const remove = (query = '') => callAdmin(service, 'DELETE', `/admin/clients/${client.client_id}${query}`)
  expect((await remove()).status).toBe(409)
  expect((await remove('?force=true')).status).toBe(204)
  expect((await remove()).status).toBe(404)
  expect((await token(client)).status).toBe(401)
  expect(await introspect(service, server, access_token)).toEqual({ active: false })
})

test('a client whose tokens have expired is deleted without force', async () => {
  const client = await addClient(service)
  await token(client)
  service.advance(service.app.config.client_credentials.token_expiry + 1)
  expect((await callAdmin(service, 'DELETE', `/admin/clients/${client.client_id}`)).status).toBe(204)
})

test('clients are listed by status and source, in pages, in order of creation', async () => {
  const made = []
  for (const status of ['active', 'active', 'suspended'] as const) {
    service.advance(1)
    made.push(await addClient(service, {}, { status }))
  }
  const list = async (query: string) =>
    (await okAdmin<ClientJson[]>(service, 'GET', `/admin/clients?${query}`)).map(({ client_id }) => client_id)
  const all = await list('limit=1000')
  expect(all.slice(-3)).toEqual(made.map(({ client_id }) => client_id))
  expect(await list(`limit=1&offset=${all.length - 2}`)).toEqual([made[1]?.client_id])
  expect(await list('status=suspended')).toContain(made[2]?.client_id)
  expect(await list('status=suspended')).not.toContain(made[0]?.client_id)
  expect(await list('source=dcr')).toEqual([])
})

test.each(['status=dead', 'source=mars', 'limit=0', 'limit=many', 'limit=1e9', 'offset=-1', 'limit=1&limit=2'])(
  'refuses to list with %s',
  async (query) => {
    expect((await callAdmin(service, 'GET', `/admin/clients?${query}`)).status).toBe(400)
  },
)

test('a private-use redirect URI is accepted only for public clients and only with a listed scheme; a stored one stays valid', async () => {
  const cursor = { client_name: 'Cursor', redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback'] }
  const { status, body } = await create(cursor)
  expect(status).toBe(201)
  expect(body).toMatchObject({ ...cursor, token_endpoint_auth_method: 'none' })
  for (const [fields, said] of [
    [{ ...cursor, token_endpoint_auth_method: 'client_secret_basic' }, 'is for public clients only'],
    [{ ...web, redirect_uris: [REDIRECT_URI, 'unlisted://cb'] }, 'redirect_uris[1] has the scheme unlisted'],
    [{ ...web, redirect_uris: [REDIRECT_URI, 'javascript:alert(1)'] }, 'redirect_uris[1] must be an https URL'],
  ] as const) {
    const refused = await create(fields)
    expect(refused.status).toBe(400)
    expect(refused.body.error_description).toContain(said)
  }
  const { dcr } = service.app.config
  const listed = dcr.redirect_schemes
  dcr.redirect_schemes = []
  try {
    expect((await patch(body.client_id, { client_name: 'Cursor 2' })).status).toBe(200)
    const more = { redirect_uris: [...cursor.redirect_uris, 'cursor://other/cb'] }
    expect((await patch(body.client_id, more)).status).toBe(400)
  } finally {
    dcr.redirect_schemes = listed
  }
})

test('unusable members that a registration would ignore are refused here', async () => {
  for (const fields of [
    { ...web, client_name: undefined },
    { ...web, client_name: null },
    { ...web, grant_types: ['authorization_code', 'implicit'] },
    { ...web, response_types: ['code', 'token'] },
    { ...web, redirect_uris: [REDIRECT_URI, 'http://client.example.com/cb'] },
    { ...web, scope: null },
  ])
    expect((await create(fields)).status, JSON.stringify(fields)).toBe(400)
})
