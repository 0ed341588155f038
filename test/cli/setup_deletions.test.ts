// After any sequence of changes and deletions, the export of a service can be applied to an empty one, which then has the same export.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { callAdmin } from '../support/admin.ts'
import { envOf, runHere } from '../support/cli.ts'
import { tempFile } from '../support/folder.ts'
import { addClient, addUser, startService, type TestService } from '../support/service.ts'

const RUNS = 6
const KINDS = [
  'client',
  'registration',
  'user',
  'provider',
  'mint',
  'broker',
  'link',
  'idp',
  'policy',
  'stream',
] as const
type Kind = (typeof KINDS)[number]
const aStep = fc.record({
  does: fc.constantFrom('create' as const, 'create' as const, 'name' as const, 'move' as const, 'delete' as const),
  kind: fc.constantFrom(...KINDS),
  /** Chooses items among those that exist. */
  picks: fc.array(fc.nat(1000), { minLength: 3, maxLength: 3 }),
  cascade: fc.boolean(),
})
type Step = typeof aStep extends fc.Arbitrary<infer T> ? T : never

const LISTS: Readonly<Partial<Record<Kind, string>>> = {
  client: '/admin/clients?source=admin&limit=1000',
  registration: '/admin/clients?source=dcr&limit=1000',
  user: '/admin/users',
  provider: '/admin/providers',
  mint: '/admin/resources?backend_kind=mint',
  broker: '/admin/resources?backend_kind=broker',
  link: '/admin/fronting',
  idp: '/admin/idps',
  policy: '/admin/xaa/policies',
  stream: '/admin/streams',
}
type Row = Record<string, string>

/** One installation, and the steps on it. Steps that are refused change nothing. */
class Installation {
  private readonly service: TestService
  private made = 0
  constructor(service: TestService) {
    this.service = service
  }

  private async call(method: string, path: string, body?: unknown): Promise<void> {
    const { status, body: answer } = await callAdmin(this.service, method, path, body)
    if (status >= 500) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`)
  }

  private async list(kind: Kind): Promise<Row[]> {
    return (await callAdmin<Row[]>(this.service, 'GET', LISTS[kind] ?? '')).body
  }

  private async pick(kind: Kind, nth = 0): Promise<Row> {
    const rows = await this.list(kind)
    return rows[nth % rows.length] ?? {}
  }

  private async ids(picks: readonly number[]): Promise<string[]> {
    const named = [await this.pick('client', picks[0]), await this.pick('registration', picks[1])]
    return [...new Set(named.flatMap(({ client_id }) => client_id ?? []))].slice(0, 1 + ((picks[2] ?? 0) % 2))
  }

  async run({ does, kind, picks, cascade }: Step): Promise<void> {
    const [first = 0, second = 0] = picks
    if (does === 'create') return this.create(kind, picks)
    if (does === 'delete') return this.remove(kind, first, cascade)
    const resource = await this.pick(kind === 'broker' ? 'broker' : 'mint', first)
    const at = `/admin/resources/${resource['id']}`
    if (does === 'move') return this.call('PATCH', at, { uri: `https://moved-${this.made++}.example.com/mcp` })
    const [user, robot] = [await this.pick('user', second), await this.pick('client', second)]
    const client_ids = await this.ids(picks)
    await this.call('PATCH', at, {
      policy: { exchange: { allowed_client_ids: client_ids }, runtime: { client_ids } },
      access: { mode: 'restricted', groups: ['staff'], users: [user['id'] ?? 'u_gone'] },
    })
    await this.call('PATCH', `/admin/clients/${robot['client_id']}`, { default_resource: resource['uri'] })
  }

  private async create(kind: Kind, picks: readonly number[]): Promise<void> {
    const [first, second] = picks
    const n = this.made++
    const [slug, scopes] = [`item-${n}`, [{ name: 'read' }]]
    const uri = `https://item-${n}.example.com/mcp`
    const [source, target] = [await this.pick('mint', first), await this.pick('broker', second)]
    if (kind === 'registration') return void (await addClient(this.service, {}, { registration_source: 'dcr' }))
    if (kind === 'user') return void (await addUser(this.service))
    const bodies: Record<Exclude<Kind, 'registration' | 'user'>, [string, unknown]> = {
      client: [
        'clients',
        {
          client_id: slug,
          client_name: `Client ${n}`,
          grant_types: ['client_credentials'],
          token_endpoint_auth_method: 'client_secret_basic',
        },
      ],
      provider: ['providers', { slug, display_name: slug, protocol: 'apikey', config_data: { header_name: 'x-key' } }],
      mint: ['resources', { slug, uri, backend_kind: 'mint', scopes }],
      broker: [
        'resources',
        { slug, backend_kind: 'broker', broker_provider_slug: (await this.pick('provider', first))['slug'], scopes },
      ],
      link: ['fronting', { source: source['slug'], target: target['slug'], scope_map: { read: ['read'] } }],
      idp: ['idps', { issuer: `https://idp-${n}.example.com`, jwks_uri: `https://idp-${n}.example.com/keys` }],
      policy: [
        'xaa/policies',
        {
          idp_id: (await this.pick('idp', first))['id'],
          name: slug,
          client_ids: await this.ids(picks),
          resources: [source['uri'] ?? uri],
        },
      ],
      stream: ['streams', { client_id: (await this.ids(picks))[0], description: slug }],
    }
    const [path, body] = bodies[kind]
    await this.call('POST', `/admin/${path}`, body)
  }

  private async remove(kind: Kind, nth: number, cascade: boolean): Promise<void> {
    const row = await this.pick(kind, nth)
    const flags = `?${kind === 'mint' || kind === 'broker' || kind === 'provider' ? 'cascade' : 'force'}=${cascade}`
    if (kind === 'link') return this.call('DELETE', `/admin/fronting/${row['source_slug']}/${row['target_slug']}`)
    const path = `${LISTS[kind]?.replace(/\?.*/, '')}/${row['client_id'] && kind !== 'stream' ? row['client_id'] : (row['stream_id'] ?? row['id'])}`
    await this.call('DELETE', ['idp', 'policy', 'stream'].includes(kind) ? path : path + flags)
  }

  /** Deletes what a document does not contain: the clients that registered themselves, with the lists that keep one, and the names of deleted default resources. */
  async removeUnlisted(): Promise<void> {
    for (const { id } of await this.list('broker'))
      await this.call('PATCH', `/admin/resources/${id}`, { policy: { exchange: { allowed_client_ids: [] } } })
    for (const { client_id } of await this.list('registration'))
      await this.call('DELETE', `/admin/clients/${client_id}?force=true`)
    const known = (await this.list('mint')).map(({ uri }) => uri)
    for (const { client_id, default_resource } of await this.list('client'))
      if (default_resource && !known.includes(default_resource))
        await this.call('PATCH', `/admin/clients/${client_id}`, { default_resource: '' })
  }

  readonly admin = (...args: string[]) => runHere(['admin', ...args], envOf(this.service))
}

test('the export after any changes and deletions can be applied to an empty installation, and is the same there', async () => {
  let exported = 0
  await fc.assert(
    fc.asyncProperty(fc.array(aStep, { minLength: 30, maxLength: 60 }), async (steps) => {
      const [here, there] = [await startService(), await startService()]
      try {
        const [old, fresh] = [new Installation(here), new Installation(there)]
        for (const step of steps) await old.run(step)
        await old.removeUnlisted()
        const { stdout, stderr } = await old.admin('export')
        expect(stderr).toBe('')
        exported += stdout.length
        const applied = await fresh.admin('apply', '-f', tempFile(`setup-${newId()}.yaml`, stdout))
        expect([applied.code, applied.stderr]).toEqual([0, ''])
        expect((await fresh.admin('export')).stdout).toBe(stdout)
      } finally {
        await Promise.all([here.close(), there.close()])
      }
    }),
    // Without a smaller example, which would take minutes: each run starts two services.
    { numRuns: RUNS, endOnFailure: true },
  )
  expect(exported).toBeGreaterThan(RUNS * 500)
}, 120_000)
