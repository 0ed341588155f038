// Private hosts (`*.allow_hosts`): with a production issuer they are contacted only when the list of the part has them, and a refusal
// names its key where an operator looks.
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Peer, servePeer } from '../net/peers.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { tempFile } from '../support/folder.ts'
import { ADMIN_KEY, startService, type TestService } from '../support/service.ts'

const PRODUCTION = {
  SERVICE_SERVER_ISSUER: 'https://auth.example.com',
  SERVICE_SESSION_SECURE: 'true',
  SERVICE_SESSION_SECRET: 'k3yXw9-0123456789abcdef-ABCDEFGH',
  SERVICE_DCR_MODE: 'admin_only',
  SERVICE_ADMIN_API_KEY: '',
  CONNECTOR_TRAP: 'secret of the trap',
}
/** A production issuer refuses a key that could be guessed, but not the hash of one. */
const KEYS = tempFile('service.yaml', {
  admin: {
    api_keys: [{ name: 'tests', sha256: createHash('sha256').update(ADMIN_KEY).digest('hex'), capability: 'write' }],
  },
})
const start = (env: Record<string, string> = {}) => startService({ ...PRODUCTION, ...env }, KEYS)
const PARTS = ['CIMD', 'CONNECT', 'XAA', 'OIDC']

let strict: TestService
let open: TestService
beforeAll(async () => {
  const lists = PARTS.map((part) => [`SERVICE_${part}_ALLOW_HOSTS`, '127.0.0.0/8'])
  strict = await start()
  open = await start(Object.fromEntries(lists))
})
afterAll(() => Promise.all([strict.close(), open.close()]))

/** A server that speaks no TLS: a connection to it is all that a request to an https URL achieves. */
const trap = () => servePeer((_, response) => response.end())
const at = ({ port }: Peer) => `https://127.0.0.1:${port}/x`

interface Answer {
  id: string
  client_id: string
  warning?: string
  reason?: string
  fix?: string
  error_description?: string
}
const post = (service: TestService, path: string, body: object) => okAdmin<Answer>(service, 'POST', path, body)

const kinds = [
  {
    kind: 'an identity provider',
    key: 'xaa.allow_hosts',
    create: (service: TestService, url: string) =>
      post(service, '/admin/idps', { issuer: `https://id.example/${Math.random()}`, jwks_uri: url }),
    use: async (service: TestService, { id }: Answer) =>
      (await callAdmin<Answer>(service, 'POST', `/admin/idps/${id}/refresh-keys`)).body.error_description,
  },
  {
    kind: 'a broker provider',
    key: 'connect.allow_hosts',
    create: (service: TestService, url: string) =>
      post(service, '/admin/broker-providers', {
        slug: `p${String(Math.random()).slice(2)}`,
        display_name: 'GitLab',
        protocol: 'oauth',
        config_data: {
          client_id: 'c',
          client_secret_ref: 'CONNECTOR_TRAP',
          authorize_url: 'https://git.example/authorize',
          token_url: url,
        },
      }),
    use: async (service: TestService, { id }: Answer) =>
      (await okAdmin<Answer>(service, 'GET', `/admin/broker-providers/${id}/check`)).fix,
  },
  {
    kind: 'the keys of a client',
    key: 'cimd.allow_hosts',
    create: (service: TestService, url: string) =>
      post(service, '/admin/clients', {
        client_name: 'Keyed',
        grant_types: ['client_credentials'],
        token_endpoint_auth_method: 'private_key_jwt',
        jwks_uri: url,
      }),
    use: async (service: TestService, { client_id }: Answer) => {
      await service.app.clientKeys.operator.refresh((await clientOf(service, client_id)).jwks_uri ?? '').catch(() => {})
      return (await okAdmin<Answer>(service, 'GET', `/admin/clients/${client_id}`)).warning
    },
  },
  {
    kind: 'a workload identity',
    key: 'xaa.allow_hosts',
    create: (service: TestService, url: string) =>
      post(service, '/admin/clients', {
        client_name: 'Workload',
        grant_types: ['client_credentials'],
        token_endpoint_auth_method: 'federated_jwt',
        federated_credentials: [{ issuer: url, subject: 'job' }],
      }),
    use: async (service: TestService, { client_id }: Answer) => {
      const [credential] = (await clientOf(service, client_id)).federated_credentials ?? []
      await service.app.issuerMetadata.jwksUri(credential?.issuer ?? '').catch(() => {})
      return (await okAdmin<Answer>(service, 'GET', `/admin/clients/${client_id}`)).warning
    },
  },
]
async function clientOf({ app }: TestService, client_id: string) {
  const client = await app.store.findClient({ client_id })
  if (!client) throw new Error('no such client')
  return client
}

test('I30 the list of clients has the same warnings', async () => {
  const url = at(await trap())
  const created = async () => {
    const answer = await post(strict, '/admin/clients', {
      client_name: 'Listed',
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: url,
    })
    return answer.client_id
  }
  const ids = [await created(), await created()]
  const all = await okAdmin<Answer[]>(strict, 'GET', '/admin/clients?limit=1000')
  for (const id of ids) expect(all.find(({ client_id }) => client_id === id)?.warning).toContain('cimd.allow_hosts')
})

test.each(kinds)(
  'I30 $kind at a private host is accepted with a warning that names the key, and never contacted',
  async ({ key, create, use }) => {
    const peer = await trap()
    const record = await create(strict, at(peer))
    expect(record.warning).toContain(`127.0.0.1 is not public; ${key} does not list 127.0.0.1`)
    expect(await use(strict, record)).toContain(key)
    expect(peer.connections).toBe(0)
  },
)

test.each(kinds)('$kind at a listed private host is contacted, and has no warning', async ({ create, use }) => {
  const peer = await trap()
  const record = await create(open, at(peer))
  expect(record.warning).toBeUndefined()
  await use(open, record)
  expect(peer.connections).toBeGreaterThan(0)
})

test('I30 a client document at a private host is fetched only when it is listed', async () => {
  const peer = await trap()
  const inspect = (service: TestService) =>
    callAdmin(service, 'POST', `/admin/clients/${encodeURIComponent(at(peer))}/fetch-document`)
  const warned: unknown[] = []
  const info = strict.app.log.info.bind(strict.app.log)
  strict.app.log.info = (...line: unknown[]) => void warned.push(line[0])
  await inspect(strict)
  strict.app.log.info = info
  expect(warned).toContainEqual({ client_id: at(peer), reason: 'blocked_address', key: 'cimd.allow_hosts' })
  expect(peer.connections).toBe(0)
  await inspect(open)
  expect(peer.connections).toBe(1)
})

test('I30 a provider to sign in at is contacted at a private host only when it is listed', async () => {
  const peer = await trap()
  const provider = {
    SERVICE_OIDC_ENABLED: 'true',
    SERVICE_OIDC_ISSUER: at(peer),
    SERVICE_OIDC_CLIENT_ID: 'c',
    SERVICE_OIDC_CLIENT_SECRET: 's',
    SERVICE_OIDC_REDIRECT_URI: 'https://auth.example.com/oidc/callback',
  }
  const reasonOf = async (env: Record<string, string>) => {
    const service = await start({ ...provider, ...env })
    const status = await okAdmin<{ providers: Answer[] }>(service, 'GET', '/admin/system/status')
    await service.close()
    return status.providers[0]?.reason
  }
  expect(await reasonOf({})).toBe('oidc_blocked_address')
  expect(peer.connections).toBe(0)
  expect(await reasonOf({ SERVICE_OIDC_ALLOW_HOSTS: '127.0.0.1' })).not.toBe('oidc_blocked_address')
  expect(peer.connections).toBeGreaterThan(0)
})
