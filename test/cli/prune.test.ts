// `admin apply --prune`.
import { PassThrough, type Readable } from 'node:stream'
import { afterAll, afterEach, assert, beforeAll, beforeEach, expect, test } from 'vitest'
import { seed } from '../../src/server/seed.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { envOf, type Ran, runHere } from '../support/cli.ts'
import { authorize, redeem } from '../support/flow.ts'
import { tempFile } from '../support/folder.ts'
import { aUser, NOW } from '../support/records.ts'
import { addClient, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
let env: Record<string, string>
let config: string
beforeAll(async () => {
  config = tempFile(
    'service.yaml',
    "resources: [{ slug: seeded, uri: 'https://seeded.example.com', backend_kind: mint }]",
  )
  service = await startService({}, config)
  await seed(service.app)
  env = envOf(service)
})
afterAll(() => service.close())

const PROVIDER = `
providers:
  - slug: forge
    display_name: Forge
    protocol: oauth
    config_data:
      client_id: us
      client_secret_ref: CONNECTOR_FORGE
      authorize_url: https://forge.example.com/authorize
      token_url: https://forge.example.com/token`
const CLIENT = `
clients:
  - { client_id: robot, client_name: Robot, grant_types: [client_credentials], token_endpoint_auth_method: client_secret_post }`
const RESOURCES = `
resources:
  - { slug: notes, uri: 'https://notes.example.com/mcp', backend_kind: mint, scopes: [{ name: read }] }
  - { slug: repos, backend_kind: broker, broker_provider_slug: forge, scopes: [{ name: read, upstream: repo }] }`
const FRONTING = `
fronting:
  - { source: notes, target: repos, scope_map: { read: [read] } }`
const FEDERATION = `
idps:
  - { issuer: 'https://idp.example.com', jwks_uri: 'https://idp.example.com/keys' }
policies:
  - { idp: 'https://idp.example.com', name: all, client_ids: [robot] }
mappings:
  - { idp: 'https://idp.example.com', federated_subject: ada, local_subject: u_1 }`
const WHOLE = PROVIDER + CLIENT + RESOURCES + FRONTING + FEDERATION

interface Row {
  action?: string
  kind: string
  key: string
}
const apply = (text: string, ...flags: string[]): Promise<Ran> => applyFrom('', text, ...flags)
const applyFrom = (input: string | Readable, text: string, ...flags: string[]): Promise<Ran> =>
  runHere(['--config', config, 'admin', 'apply', '-f', tempFile('setup.yaml', text), '--json', ...flags], env, input)
const done = ({ stdout }: Ran) =>
  (JSON.parse(stdout) as Row[]).filter(({ action }) => action).map(({ action, kind, key }) => [action, kind, key])
const removed = (...rows: [string, string][]) => rows.map((row) => ['delete', ...row])
const exported = async () => (await runHere(['admin', 'export'], env)).stdout
beforeEach(async () => {
  expect((await apply(WHOLE)).code).toBe(0)
})
afterEach(async () => {
  expect((await apply('providers: []\nclients: []\nresources: []\nidps: []', '--prune', '--yes')).code).toBe(0)
})

test('prune deletes the items of an empty list, dependent ones first, and keeps kinds that are not listed', async () => {
  const before = await exported()
  const resources = await apply('resources: []', '--prune', '--yes')
  expect(done(resources)).toEqual(removed(['fronting', 'notes repos'], ['resources', 'notes'], ['resources', 'repos']))
  const left = await exported()
  for (const kept of ['forge', 'robot', 'https://idp.example.com', 'seeded'])
    expect([before, left]).toEqual([expect.stringContaining(kept), expect.stringContaining(kept)])
  expect(left).not.toContain('notes')
  expect(done(await apply('idps: []', '--prune', '--yes'))).toEqual(
    removed(
      ['mappings', 'https://idp.example.com ada'],
      ['policies', 'https://idp.example.com all'],
      ['idps', 'https://idp.example.com'],
    ),
  )
})

test('without --prune an unlisted item is kept', async () => {
  const before = await exported()
  expect(done(await apply('clients: []\nresources: []'))).toEqual([])
  expect(await exported()).toBe(before)
})

test('prune keeps listed items and applies their changes', async () => {
  const next = WHOLE.replace(CLIENT, CLIENT.replaceAll('robot', 'android')).replace('[robot]', '[android]')
  expect(done(await apply(next, '--prune', '--yes'))).toEqual([
    ['create', 'clients', 'android'],
    ['update', 'policies', 'https://idp.example.com all'],
    ['delete', 'clients', 'robot'],
  ])
  expect(JSON.parse((await apply(next, '--prune')).stdout)).toEqual([{ unchanged: 8 }])
})

test('a dry run shows the deletions and deletes nothing', async () => {
  const before = await exported()
  const dry = await apply('providers: []\nclients: []\nresources: []', '--prune', '--dry-run')
  expect([
    dry.code,
    done(dry)
      .map(([action, kind]) => `${action} ${kind}`)
      .sort(),
  ]).toEqual([0, ['delete clients', 'delete fronting', 'delete providers', 'delete resources', 'delete resources']])
  expect(await exported()).toBe(before)
})

test('prune shows the deletions on standard error, and requires --yes without a terminal', async () => {
  const before = await exported()
  const { code, stdout, stderr } = await apply(`${CLIENT.replaceAll('robot', 'android')}`, '--prune')
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain('key=robot')
  expect(stderr).toContain('--yes')
  expect(await exported()).toBe(before)
})

test.each([
  ['y', 0],
  ['n', 2],
  ['', 2],
])('on a terminal prune asks, and the answer %j ends with %i', async (answer, code) => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true })
  terminal.end(`${answer}\n`)
  const ran = await applyFrom(terminal, 'clients: []', '--prune')
  expect([ran.code, ran.stderr.includes('Remove')]).toEqual([code, true])
  expect((await exported()).includes('client_id: robot')).toBe(code !== 0)
})

test('prune keeps clients that registered themselves and resources of the configuration', async () => {
  const { store } = service.app
  const client = await store.findClient({ client_id: 'robot' })
  assert(client)
  for (const registration_source of ['dcr', 'cimd'] as const)
    await store.createClient({ ...client, client_id: `by-${registration_source}`, registration_source })
  expect(done(await apply('clients: []\nresources: []', '--prune', '--yes')).map(([, , key]) => key)).not.toContain(
    'seeded',
  )
  const clients = await okAdmin<{ client_id: string }[]>(service, 'GET', '/admin/clients')
  expect(clients.map(({ client_id }) => client_id).sort()).toEqual(['by-cimd', 'by-dcr'])
  expect((await callAdmin(service, 'GET', '/admin/resources/seeded')).status).toBe(200)
})

test('prune deletes a client and a resource that have live tokens', async () => {
  const [client, user] = [await addClient(service, { scope: 'read' }), await addUser(service)]
  const authorized = await authorize(service, client, user, {
    resource: 'https://notes.example.com/mcp',
    scope: 'read',
  })
  expect((await redeem(service, client, authorized)).status).toBe(200)
  expect((await apply('clients: []\nresources: []', '--prune', '--yes')).code).toBe(0)
  expect(await exported()).not.toContain(client.client_id)
})

test('a list of users clears the groups of unlisted users that operators set, and keeps the accounts', async () => {
  const provider = { provider: 'oidc', provider_issuer: 'https://idp.example.com', password_hash: undefined } as const
  const listed = await addUser(service, { operator_groups: ['staff'] })
  const left = await addUser(service, { operator_groups: ['staff'] })
  const plain = await addUser(service)
  const theirs = await addUser(service, {
    ...provider,
    provider_sub: 'a',
    operator_groups: ['staff'],
    provider_groups: ['ops'],
  })
  const unnamed = await addUser(service, {
    ...provider,
    provider_sub: 'b',
    email: undefined,
    operator_groups: ['staff'],
  })
  const ran = await apply(`users: [{ email: ${listed.email}, groups: [staff] }]`, '--prune', '--yes')
  expect(done(ran)).toEqual([...[left.email, theirs.email].sort().map((email) => ['clear', 'users', email])])
  const groupsOf = async ({ id }: { id: string }) =>
    (await okAdmin<{ groups: string[] }>(service, 'GET', `/admin/users/${id}`)).groups
  expect(await Promise.all([listed, left, plain, theirs, unnamed].map(groupsOf))).toEqual([
    ['staff'],
    [],
    [],
    ['ops'],
    ['staff'],
  ])
})

test('items beyond the first page of a list are found too', async () => {
  const users = Array.from({ length: 1001 }, () => aUser({ operator_groups: ['many'], created_at: NOW }))
  expect(await service.app.store.importUsers({ users, skip: false, dry_run: false })).toMatchObject({ created: 1001 })
  const ran = await apply('users: []', '--prune', '--dry-run')
  const keys = new Set(done(ran).map(([, , key]) => key))
  expect(users.filter(({ email }) => !keys.has(email?.toLowerCase()))).toEqual([])
})

test('a listed item that depends on a deleted one is refused before any change', async () => {
  const before = await exported()
  const { code, stderr } = await apply(
    `idps: []${FEDERATION.slice(FEDERATION.indexOf('\npolicies'))}`,
    '--prune',
    '--yes',
  )
  expect(code).toBe(2)
  expect(stderr).toContain('policies https://idp.example.com all needs idps https://idp.example.com')
  expect(await exported()).toBe(before)
})

test('a listed resource whose policy names a deleted client is refused before any change', async () => {
  const before = await exported()
  const resources = RESOURCES.replace('scopes: [{ name: read }] }', 'policy: { runtime: { client_ids: [robot] } } }')
  const { code, stderr } = await apply(`clients: []${resources}`, '--prune', '--yes')
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('resources notes needs clients robot, which the document'),
  ])
  expect(await exported()).toBe(before)
})
