// `admin apply`, `admin diff` and `admin export`.
import path from 'node:path'
import { afterAll, assert, beforeAll, expect, test } from 'vitest'
import { parseYaml } from '../../src/config/yaml.ts'
import { okAdmin } from '../support/admin.ts'
import { envOf, runCli, runHere } from '../support/cli.ts'
import { post } from '../support/flow.ts'
import { tempFile, tempFolder } from '../support/folder.ts'
import { basic } from '../support/fronts.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

const SETUP = `
providers:
  - slug: forge
    display_name: Forge
    protocol: oauth
    config_data:
      client_id: us
      client_secret_ref: CONNECTOR_FORGE
      authorize_url: https://forge.example.com/authorize
      token_url: https://forge.example.com/token
clients:
  - client_id: robot
    client_name: Robot
    grant_types: [client_credentials]
    token_endpoint_auth_method: client_secret_post
    scope: notes:read
    default_resource: https://notes.example.com/mcp
    limits: { requests_per_second: 0.5, tokens_per_day: 1000 }
resources:
  - slug: notes
    uri: https://notes.example.com/mcp
    backend_kind: mint
    scopes: [{ name: notes:read, description: Read }]
    policy: { exchange: { allowed_client_ids: [robot] }, runtime: { client_ids: [robot] } }
  - slug: repos
    backend_kind: broker
    broker_provider_slug: forge
    scopes: [{ name: repo:read, upstream: repo }]
fronting:
  - { source: notes, target: repos, scope_map: { 'notes:read': ['repo:read'] } }
idps:
  - issuer: https://idp.example.com
    jwks_uri: https://idp.example.com/keys
policies:
  - { idp: 'https://idp.example.com', name: all, client_ids: [robot] }
mappings:
  - { idp: 'https://idp.example.com', federated_subject: ada, local_subject: u_1 }
webhooks:
  - { url: 'https://hooks.example.com/service', events: [client_suspended, token_issued], paused: true }
streams:
  - client_id: robot
    events_requested: ['https://schemas.openid.net/secevent/oauth/event-type/token-revoked']
  - client_id: robot
    description: Pushed
    delivery: { method: 'urn:ietf:rfc:8935', endpoint_url: 'https://notes.example.com/events' }
`
const KEYS = [
  ['providers', 'forge'],
  ['clients', 'robot'],
  ['resources', 'notes'],
  ['resources', 'repos'],
  ['fronting', 'notes repos'],
  ['idps', 'https://idp.example.com'],
  ['policies', 'https://idp.example.com all'],
  ['mappings', 'https://idp.example.com ada'],
  ['webhooks', 'https://hooks.example.com/service'],
  ['streams', 'robot'],
  ['streams', 'robot Pushed'],
]

let service: TestService
let env: Record<string, string>
beforeAll(async () => {
  service = await startService()
  env = envOf(service)
})
afterAll(() => service.close())

const written = (text: string) => tempFile('setup.yaml', text)
type Row = Record<string, unknown>
async function setup(command: string, text: string, ...flags: string[]): Promise<{ code: number | null; rows: Row[] }> {
  const { code, stdout } = await runHere(['admin', command, '-f', written(text), '--json', ...flags], env)
  return { code, rows: JSON.parse(stdout) }
}
const done = (rows: Row[]) => rows.filter(({ action }) => action).map(({ action, kind, key }) => [action, kind, key])

test('apply creates missing items in order of dependence, shows secrets once, and changes nothing the second time', async () => {
  const create = KEYS.map((key) => ['create', ...key])
  const dry = await setup('apply', SETUP, '--dry-run')
  expect(done(dry.rows)).toEqual(create)
  expect(dry.rows[1]).not.toHaveProperty('client_secret')

  const { rows } = await setup('apply', SETUP)
  expect(done(rows)).toEqual(create)
  expect(rows.find(({ kind }) => kind === 'webhooks')?.['secret']).toMatch(/^whsec_/)
  const { client_secret } = rows[1] as { client_secret: string }
  const asked = { grant_type: 'client_credentials', resource: 'https://notes.example.com/mcp' }
  const answer = await post(`${service.issuer}/oauth/token`, { client_id: 'robot', client_secret }, asked)
  expect(answer.status).toBe(200)

  expect(await setup('apply', SETUP)).toEqual({ code: 0, rows: [{ unchanged: 11 }] })
  expect(await setup('diff', SETUP)).toEqual({ code: 0, rows: [] })
})

test('apply changes only the members that differ, and recreates items that cannot be changed', async () => {
  const next = SETUP.replace('description: Read', 'description: Write')
    .replace('u_1', 'u_2')
    .replace('client_id: us', 'client_id: them')
  const differs = await setup('diff', next)
  expect(differs.code).toBe(2)
  expect(differs.rows).toMatchObject([
    { action: 'update', kind: 'providers', fields: ['config_data'] },
    {
      action: 'update',
      kind: 'resources',
      fields: ['scopes'],
      changes: [{ member: 'scopes', from: [{ description: 'Read' }], to: [{ description: 'Write' }] }],
    },
    { action: 'replace', kind: 'mappings', changes: [{ member: 'local_subject', from: 'u_1', to: 'u_2' }] },
  ])
  const { rows } = await setup('apply', next)
  expect(done(rows)).toEqual([
    ['update', 'providers', 'forge'],
    ['update', 'resources', 'notes'],
    ['replace', 'mappings', 'https://idp.example.com ada'],
  ])
  const resource = await service.app.store.findResourceByName({ name: 'notes' })
  expect(resource?.policy.exchange).toEqual({ allowed_client_ids: ['robot'] })
  expect((await setup('diff', next)).code).toBe(0)
})

test('apply sets, changes and clears the limits of a client', async () => {
  const limits = '{ requests_per_second: 0.5, tokens_per_day: 1000 }'
  const stored = async () => (await service.app.store.findClient({ client_id: 'robot' }))?.limits
  expect(await stored()).toEqual({ requests_per_second: 0.5, tokens_per_day: 1000 })
  const next = SETUP.replace(limits, '{ tokens_per_day: 7, requests_per_second: null }')
  const only = (text: string) => text.slice(text.indexOf('clients:'), text.indexOf('resources:'))
  expect((await setup('diff', only(next))).rows).toMatchObject([{ action: 'update', fields: ['limits'] }])
  await setup('apply', only(next))
  expect(await stored()).toEqual({ tokens_per_day: 7 })
  await setup('apply', only(SETUP.replace(limits, 'null')))
  expect(await stored()).toBeUndefined()
  await setup('apply', only(SETUP))
})

test('diff exits with 1 for every failure, because 2 means that something differs', async () => {
  for (const args of [
    ['-f', '/nowhere.yaml'],
    ['-f', written('clents: []')],
    [],
    ['--nonsense'],
    ['-f', written('clients: []'), '--profile', 'none'],
  ])
    expect([args, (await runHere(['admin', 'diff', ...args], env)).code]).toEqual([args, 1])
})

test('an exported identity provider names no audience that is the issuer of this server', async () => {
  const make = (more: object) =>
    okAdmin(service, 'POST', '/admin/idps', { jwks_uri: 'https://idp.example.com/keys', ...more })
  await make({ issuer: 'https://own.example.com' })
  await make({ issuer: 'https://other.example.com', audience: 'https://elsewhere.example.com' })
  const { stdout } = await runHere(['admin', 'export', '--only', 'idps', '--json'], env)
  const { idps } = JSON.parse(stdout) as { idps: Row[] }
  expect(idps.map(({ issuer, audience }) => [issuer, audience])).toEqual(
    expect.arrayContaining([
      ['https://own.example.com', undefined],
      ['https://other.example.com', 'https://elsewhere.example.com'],
    ]),
  )
  expect((await setup('diff', stdout)).rows).toEqual([])
  for (const { id } of (await service.app.store.listIdps()).filter(({ issuer }) => /own|other/.test(issuer)))
    await okAdmin(service, 'DELETE', `/admin/idps/${id}`)
})

test('diff does not print the authorization header of a stream', async () => {
  const header = 'Bearer of-the-receiver'
  const delivery = `{ method: 'urn:ietf:rfc:8935', endpoint_url: 'https://notes.example.com/new', authorization_header: '${header}' }`
  const { stdout } = await runHere(
    ['admin', 'diff', '-f', written(`streams: [{ client_id: robot, description: Pushed, delivery: ${delivery} }]`)],
    env,
  )
  expect(stdout).toContain('"authorization_header":"***"')
  expect(stdout).not.toContain(header)
})

test('diff and prune leave streams that clients created themselves', async () => {
  const server = await addClient(service)
  const resource = await addResource(service, { policy: { runtime: { client_ids: [server.client_id] } } })
  const made = await fetch(`${service.issuer}/ssf/streams`, {
    method: 'POST',
    headers: { ...basic(server), 'content-type': 'application/json' },
    body: '{}',
  })
  expect(made.status).toBe(201)
  const streams = SETUP.slice(SETUP.indexOf('streams:'))
  expect(await setup('apply', streams, '--prune', '--yes')).toMatchObject({ code: 0, rows: [{ unchanged: 2 }] })
  expect((await okAdmin<unknown[]>(service, 'GET', '/admin/streams')).length).toBe(3)
  await okAdmin(service, 'DELETE', `/admin/clients/${server.client_id}?force=true`)
  await okAdmin(service, 'DELETE', `/admin/resources/${resource.id}`)
  expect((await okAdmin<unknown[]>(service, 'GET', '/admin/streams')).length).toBe(2)
})

test('diff names unlisted items of the listed kinds; self-registered clients are no difference', async () => {
  const { client_id: byhand } = await addClient(service)
  const { store } = service.app
  const client = await store.findClient({ client_id: byhand })
  assert(client)
  await store.createClient({ ...client, client_id: 'stranger', registration_source: 'dcr' })
  const { rows } = await setup('diff', SETUP.slice(SETUP.indexOf('clients:'), SETUP.indexOf('resources:')))
  expect(done(rows)).toEqual([['not in the document', 'clients', byhand]])
})

test('applying an export changes nothing here, and creates the same items elsewhere', async () => {
  const { stdout } = await runHere(['admin', 'export'], env)
  expect(stdout).not.toMatch(/cs_|whsec_/)
  expect(await setup('apply', stdout)).toMatchObject({ rows: [{ unchanged: 12 }] })
  const folder = tempFolder()
  const elsewhere = {
    ...env,
    SERVICE_ADMIN_ADDRESS: '127.0.0.1:2',
    SERVICE_STORAGE_SQLITE_PATH: path.join(folder, 'other.db'),
    SERVICE_SIGNING_KEY_PATH: path.join(folder, 'keys'),
  }
  expect((await runHere(['migrate'], elsewhere)).code).toBe(0)
  const applied = await runHere(['admin', 'apply', '-f', written(stdout), '--json'], elsewhere)
  expect(applied.stderr).toBe('')
  expect(JSON.parse(applied.stdout)).toHaveLength(13)
  expect((await runHere(['admin', 'export'], elsewhere)).stdout).toBe(stdout)
})

test('a document that names an item which does not exist is refused as a whole', async () => {
  const text = `
clients: [{ client_id: lost, client_name: Lost, default_resource: 'https://nowhere.example.com' }]
resources:
  - { slug: lost, uri: 'https://lost.example.com', backend_kind: mint, policy: { runtime: { client_ids: [lost, nobody] } } }
  - { slug: broken, backend_kind: broker, broker_provider_slug: nowhere }
fronting: [{ source: lost, target: nowhere, scope_map: { a: [b] } }]
streams: [{ client_id: nobody }]`
  const { code, stderr } = await runHere(['admin', 'apply', '-f', written(text)], env)
  expect([code, stderr.trimEnd().split('\n')]).toEqual([
    2,
    [
      'error: clients lost: default_resource https://nowhere.example.com does not exist',
      'error: resources lost: policy.runtime.client_ids nobody does not exist',
      'error: resources broken: broker_provider_slug nowhere does not exist',
      'error: fronting lost nowhere: target nowhere does not exist',
      'error: streams nobody: client_id nobody does not exist',
    ],
  ])
  expect(await service.app.store.findClient({ client_id: 'lost' })).toBeUndefined()
})

test('export notes each client that registered itself and that a resource names; the document is applied here without a change', async () => {
  const stranger = await addClient(service, {}, { registration_source: 'dcr' })
  const policy = { runtime: { client_ids: [stranger.client_id] } }
  const { slug } = await addResource(service, { policy })
  const { stdout, stderr } = await runHere(['admin', 'export'], env)
  expect(stderr).toBe(
    `note: resources ${slug}: policy.runtime.client_ids names ${stranger.client_id}, which is not in the document, because it registered itself or was deleted; remove it before you apply the document at another installation\n`,
  )
  expect((await setup('diff', stdout)).rows).toEqual([])
  await okAdmin(service, 'DELETE', `/admin/resources/${slug}`)
})

test('export notes a client whose default resource was deleted', async () => {
  const { uri, slug } = await addResource(service)
  const { client_id } = await addClient(service, { grant_types: ['client_credentials'] }, { default_resource: uri })
  await okAdmin(service, 'DELETE', `/admin/resources/${slug}?cascade=true`)
  const { stderr } = await runHere(['admin', 'export'], env)
  expect(stderr).toBe(
    `note: clients ${client_id}: default_resource names ${uri}, which was deleted; name another one before you apply the document at another installation\n`,
  )
  await okAdmin(service, 'DELETE', `/admin/clients/${client_id}?force=true`)
})

test('groups of users are applied and exported; users are neither created nor listed without groups', async () => {
  const user = await addUser(service, { email: 'Ada@example.com', operator_groups: ['staff'] })
  await addUser(service)
  const text = 'users: [{ email: ADA@example.com, groups: [ops, night] }]'
  const { rows } = await setup('apply', text)
  expect(done(rows)).toEqual([['update', 'users', 'ada@example.com']])
  expect((await service.app.store.findUser({ id: user.id }))?.operator_groups).toEqual(['night', 'ops'])
  const { stdout } = await runHere(['admin', 'export', '--only', 'users', '--json'], env)
  expect(JSON.parse(stdout)).toEqual({ users: [{ email: 'ada@example.com', groups: ['night', 'ops'] }] })
  expect(await setup('diff', text)).toEqual({ code: 0, rows: [] })
  const { rows: pruned } = await setup('apply', 'users: []', '--prune', '--yes')
  expect(done(pruned)).toEqual([['clear', 'users', 'ada@example.com']])
  expect((await service.app.store.findUser({ id: user.id }))?.operator_groups).toEqual([])
})

test('only the requested kinds are exported, as JSON too', async () => {
  const { stdout } = await runHere(['admin', 'export', '--only', 'idps', '--json'], env)
  expect(JSON.parse(stdout)).toMatchObject({ idps: [{ issuer: 'https://idp.example.com' }] })
  expect(Object.keys(JSON.parse(stdout))).toEqual(['idps'])
})

test.each([
  ['a kind that does not exist', 'polices: []', 'polices is not a member; did you mean policies?'],
  [
    'a member that does not exist',
    'clients: [{client_id: a, client_nam: b}]',
    'clients[0].client_nam is not a member; did you mean client_name?',
  ],
  ['no key', 'clients: [{client_name: b}]', 'clients[0].client_id is required'],
  ['a wrong value', 'resources: [{slug: a, uri: x, backend_kind: mint}]', 'resources[0].uri must be'],
  [
    'the same twice',
    'clients: [{client_id: a, client_name: A}, {client_id: a, client_name: B}]',
    'clients[1] is the same as clients[0]: a',
  ],
  [
    'a reference to nothing',
    'mappings: [{idp: https://no.example, federated_subject: a, local_subject: b}]',
    'idp https://no.example does not exist',
  ],
  [
    'a user that does not exist',
    'users: [{email: no@example.com, groups: [a]}]',
    'users no@example.com does not exist',
  ],
  ['broken YAML', 'clients: [', ':1:11'],
  ['no members', '- a', 'must hold providers, clients, '],
])('a document with %s is refused before anything is done', async (_what, text, message) => {
  const before = await runHere(['admin', 'export'], env)
  const { code, stderr } = await runHere(['admin', 'apply', '-f', written(text)], env)
  expect([code, stderr.startsWith('error: ')]).toEqual([2, true])
  expect(stderr).toContain(message)
  expect(await runHere(['admin', 'export'], env)).toEqual(before)
})

test('apply that is refused half-way prints the completed changes and their secrets', async () => {
  const text = `
clients: [{ client_id: second, client_name: B, grant_types: [client_credentials], token_endpoint_auth_method: client_secret_basic }]
resources: [{ slug: taken, uri: 'https://notes.example.com/mcp', backend_kind: mint }]
`
  const { code, stdout, stderr } = await runHere(['admin', 'apply', '-f', written(text), '--json'], env)
  expect([code, stderr]).toEqual([4, expect.stringContaining('"error":"conflict"')])
  expect(JSON.parse(stdout)[0]).toMatchObject({ key: 'second', client_secret: expect.stringMatching(/^cs_/) })
})

test('a document is read from standard input', async () => {
  const { code, stdout } = await runCli(['admin', 'apply', '-f', '-', '--dry-run'], env, SETUP)
  expect([code, stdout]).toEqual([0, expect.stringContaining('kind=mappings')])
})

test('YAML with a circular alias is refused', () => {
  expect(parseYaml('a: &a [*a]', 'x')).toEqual({ faults: [{ at: 'x', message: expect.any(String) }] })
})

test('apply sets the URIs after a logout of a client, changes them, exports them, and changes nothing the second time', async () => {
  const uris = ['https://app.example.com/signed-out', 'https://app.example.com/bye?kept=1']
  const client = (list: string[]) => `
clients:
  - client_id: portal
    client_name: Portal
    redirect_uris: [https://app.example.com/callback]
    post_logout_redirect_uris: ${JSON.stringify(list)}
`
  const stored = async () => (await service.app.store.findClient({ client_id: 'portal' }))?.post_logout_redirect_uris
  expect(done((await setup('apply', client(uris.slice(0, 1)))).rows)).toEqual([['create', 'clients', 'portal']])
  expect(await stored()).toEqual(uris.slice(0, 1))
  const { rows } = await setup('apply', client(uris))
  expect(rows[0]).toMatchObject({ action: 'update', kind: 'clients', fields: ['post_logout_redirect_uris'] })
  expect(await stored()).toEqual(uris)
  expect(await setup('apply', client(uris))).toEqual({ code: 0, rows: [{ unchanged: 1 }] })
  const { stdout } = await runHere(['admin', 'export'], env)
  const exported = parseYaml(stdout, 'export') as { value: { clients: Row[] } }
  const portal = exported.value.clients.find(({ client_id }) => client_id === 'portal')
  expect(portal).toMatchObject({ post_logout_redirect_uris: uris })
  const refused = await runHere(['admin', 'apply', '-f', written(client(['http://evil.example/']))], env)
  expect([refused.code === 0, refused.stderr]).toEqual([false, expect.stringContaining('post_logout_redirect_uris')])
  expect(await stored()).toEqual(uris)
})
