// Dynamic registration: the answer, the modes, and the rate limit.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { authorize, post, redeem, refresh, register as send } from '../support/flow.ts'
import { addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_DCR_MODE: 'open' })
})
afterAll(() => service.close())

interface Registered {
  status: number
  headers: Headers
  body: Record<string, unknown> & { client_id: string; client_secret?: string; error_description: string }
}
async function register(
  where: TestService,
  fields: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<Registered> {
  const response = await send(where, fields, headers)
  return { status: response.status, headers: response.headers, body: (await response.json()) as Registered['body'] }
}
const setMode = (where: TestService, mode: string) => okAdmin(where, 'PATCH', '/admin/settings/dcr', { mode })

describe('the registration response', () => {
  test('a minimal registration is answered with 201, no-store and every default', async () => {
    const { status, headers, body } = await register(service)
    expect(status).toBe(201)
    expect(headers.get('content-type')).toBe('application/json')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toEqual({
      client_id: expect.stringMatching(/^c_[A-Za-z0-9_-]{22}$/),
      client_id_issued_at: expect.any(Number),
      client_name: 'Desk',
      client_secret: expect.stringMatching(/^cs_/),
      client_secret_expires_at: 0,
      redirect_uris: [REDIRECT_URI],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
      application_type: 'web',
    })
    expect(Math.abs(Number(body['client_id_issued_at']) - Date.now() / 1000)).toBeLessThan(60)
  })

  test('a complete registration is answered with the registered values and a secret that does not expire', async () => {
    const all = {
      client_name: 'Büro',
      redirect_uris: [REDIRECT_URI, 'http://127.0.0.1/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_post',
      application_type: 'native',
      scope: 'mcp:read mcp:write',
      agent: true,
      agent_description: 'books flights',
      dpop_bound_access_tokens: true,
    }
    const { status, body } = await register(service, { ...all, software_id: 'ignored', contacts: ['a@example.com'] })
    expect(status).toBe(201)
    expect(body).toEqual({
      ...all,
      client_id: expect.any(String),
      client_secret: expect.stringMatching(/^cs_[A-Za-z0-9_-]{43}$/),
      client_secret_expires_at: 0,
      client_id_issued_at: expect.any(Number),
    })
  })

  test.each<[Record<string, unknown>, string, string]>([
    [{ client_name: 7 }, 'invalid_client_metadata', 'client_name must be a string'],
    [{ client_name: 'x'.repeat(256) }, 'invalid_client_metadata', 'client_name'],
    [{ redirect_uris: undefined }, 'invalid_client_metadata', 'redirect_uris is required for authorization_code'],
    [
      { redirect_uris: ['http://client.example.com/cb'] },
      'invalid_redirect_uri',
      'redirect_uris[0] must be an https URL',
    ],
    [
      { redirect_uris: ['x:y', 7, 'unlisted://cb'] },
      'invalid_redirect_uri',
      'redirect_uris[2] has the scheme unlisted, which dcr.redirect_schemes does not list',
    ],
    [
      { redirect_uris: ['cursor://x/cb'], token_endpoint_auth_method: 'client_secret_basic' },
      'invalid_redirect_uri',
      'redirect_uris[0] of a private-use scheme is for public clients only',
    ],
    [{ redirect_uris: Array(21).fill(REDIRECT_URI) }, 'invalid_client_metadata', 'redirect_uris'],
    [{ response_types: ['token'] }, 'invalid_client_metadata', 'response_types must include'],
    [{ grant_types: ['refresh_token'] }, 'invalid_client_metadata', 'must include authorization_code'],
    [{ token_endpoint_auth_method: 'private_key_jwt' }, 'invalid_client_metadata', 'jwks or jwks_uri is required'],
    [
      {
        token_endpoint_auth_method: 'federated_jwt',
        federated_credentials: [{ issuer: 'https://a.example', subject: 'x' }],
      },
      'invalid_client_metadata',
      'token_endpoint_auth_method must be one of',
    ],
    [{ application_type: 'toaster' }, 'invalid_client_metadata', 'application_type must be one of web, native'],
    [{ agent_description: 'x'.repeat(256) }, 'invalid_client_metadata', 'agent_description'],
    [{ scope: 'a"b' }, 'invalid_client_metadata', 'scope must be space-separated scope names'],
    [{ jwks: {}, jwks_uri: 'https://a.example/' }, 'invalid_client_metadata', 'jwks and jwks_uri exclude each other'],
  ])('%o is answered with %s and the name of the field', async (fields, error, description) => {
    const { status, body } = await register(service, fields)
    expect([status, body['error']]).toEqual([400, error])
    expect(body.error_description).toContain(description)
  })

  test.each([
    'client_credentials',
    'urn:ietf:params:oauth:grant-type:token-exchange',
    'urn:ietf:params:oauth:grant-type:jwt-bearer',
    'password',
  ])('a grant without a user is omitted, and refused if it is the only grant: %s', async (grant) => {
    const secret = { token_endpoint_auth_method: 'client_secret_basic' }
    const beside = await register(service, { ...secret, grant_types: ['authorization_code', grant] })
    expect([beside.status, beside.body['grant_types']]).toEqual([201, ['authorization_code']])
    const stored = await service.app.store.findClient({ client_id: beside.body.client_id })
    expect(stored?.grant_types).toEqual(['authorization_code'])
    const alone = await register(service, { ...secret, grant_types: [grant] })
    expect([alone.status, alone.body['error']]).toEqual([400, 'invalid_client_metadata'])
  })

  test('a registration is audited with its name and redirect URIs, and counted', async () => {
    const { body } = await register(service, { client_name: 'Audited' })
    const [event] = await eventsOf(service, 'client_registered')
    expect(event).toMatchObject({
      client_id: body.client_id,
      detail: { client_name: 'Audited', redirect_uris: [REDIRECT_URI] },
    })
    const metrics = await (await fetch(`${service.admin}/metrics`)).text()
    expect(metrics).toMatch(/core_clients_registered_total\{source="dcr"\} [1-9]/)
  })
})

describe('the life of a registered client', () => {
  test.each(['none', 'client_secret_basic'])(
    'with %s a client signs a user in and refreshes, and its last use is stored',
    async (method) => {
      const [user, resource] = [await addUser(service), await addResource(service)]
      const grant_types = ['authorization_code', 'refresh_token']
      const { body } = await register(service, { grant_types, token_endpoint_auth_method: method })
      const stored = () => okAdmin(service, 'GET', `/admin/clients/${body.client_id}`)
      expect(await stored()).toMatchObject({ registration_source: 'dcr' })
      expect(await stored()).not.toHaveProperty('last_used_at')
      const authorized = await authorize(service, body, user, { resource: resource.uri })
      const tokens = await redeem(service, body, authorized)
      expect(tokens.status).toBe(200)
      expect((await refresh(service, body, tokens.body['refresh_token'])).status).toBe(200)
      await vi.waitFor(async () => expect(await stored()).toHaveProperty('last_used_at'))
    },
  )

  test('a deleted client gets 401 invalid_client, which makes MCP clients register again', async () => {
    const [user, resource] = [await addUser(service), await addResource(service)]
    const { body } = await register(service, { grant_types: ['authorization_code', 'refresh_token'] })
    const authorized = await authorize(service, body, user, { resource: resource.uri })
    const tokens = await redeem(service, body, authorized)
    await okAdmin(service, 'DELETE', `/admin/clients/${body.client_id}?force=true`)
    const answer = await refresh(service, body, tokens.body['refresh_token'])
    expect([answer.status, answer.body['error']]).toEqual([401, 'invalid_client'])
    expect((await register(service)).status).toBe(201)
  })
})

describe('the registration mode', () => {
  test('a mode that is set at run time applies at once, and after a restart', async () => {
    expect((await register(service)).status).toBe(201)
    await setMode(service, 'admin_only')
    try {
      const { status, body } = await register(service, { client_name: undefined, redirect_uris: 'nonsense' })
      expect([status, body['error'], body.error_description]).toEqual([
        403,
        'access_denied',
        'clients are registered by an administrator',
      ])
      expect(await service.app.store.findSetting({ name: 'dcr.mode' })).toBe('admin_only')
    } finally {
      await setMode(service, 'open')
    }
    expect((await register(service)).status).toBe(201)
  })

  test('approved_redirects: every redirect URI must match a pattern, and the error names the others', async () => {
    const approving = await startService({
      SERVICE_DCR_MODE: 'approved_redirects',
      SERVICE_DCR_APPROVED_REDIRECTS: 'https://*.good.example/cb,http://127.0.0.1:*/cb',
    })
    try {
      const good = ['https://a.good.example/cb', 'http://127.0.0.1:7777/cb']
      expect((await register(approving, { redirect_uris: good })).status).toBe(201)
      const { status, body } = await register(approving, { redirect_uris: [...good, 'https://evil.example/cb'] })
      expect([status, body['error'], body.error_description]).toEqual([
        400,
        'invalid_redirect_uri',
        'not approved: https://evil.example/cb',
      ])
      await setMode(approving, 'open')
      expect((await register(approving, { redirect_uris: ['https://evil.example/cb'] })).status).toBe(201)
    } finally {
      await approving.close()
    }
  })
})

describe('the rate limit of registrations of one address', () => {
  let limited: TestService
  beforeAll(async () => {
    limited = await startService({
      SERVICE_DCR_MODE: 'open',
      SERVICE_RATE_LIMIT_ENABLED: 'true',
      SERVICE_RATE_LIMIT_REQUESTS_PER_SECOND: '10000',
      SERVICE_RATE_LIMIT_BURST: '10000',
      SERVICE_DCR_RATE_LIMIT: '0.05',
      SERVICE_DCR_RATE_LIMIT_BURST: '3',
      SERVICE_SERVER_TRUSTED_PROXIES: '127.0.0.1,::1',
    })
  })
  afterAll(() => limited.close())
  const from = async (address: string) => (await register(limited, {}, { 'x-forwarded-for': address })).status

  test('after the burst an address gets 429 slow_down with Retry-After; other addresses and endpoints work', async () => {
    expect([await from('192.0.2.1'), await from('192.0.2.1'), await from('192.0.2.1')]).toEqual([201, 201, 201])
    const { status, headers, body } = await register(limited, {}, { 'x-forwarded-for': '192.0.2.1' })
    expect([status, body['error'], body.error_description]).toEqual([429, 'slow_down', 'too many registrations'])
    const wait = Number(headers.get('retry-after'))
    expect(wait).toBeGreaterThan(5)
    expect(wait).toBeLessThanOrEqual(20)
    expect(await from('192.0.2.2')).toBe(201)
    const answer = await post(
      `${limited.issuer}/oauth/token`,
      undefined,
      { grant_type: 'password' },
      { 'x-forwarded-for': '192.0.2.1' },
    )
    expect(answer.status).toBe(400)
  })

  test('refused registrations count too', async () => {
    const bad = () => register(limited, { client_name: 7 }, { 'x-forwarded-for': '192.0.2.9' })
    expect([(await bad()).status, (await bad()).status, (await bad()).status]).toEqual([400, 400, 400])
    expect(await from('192.0.2.9')).toBe(429)
  })

  test('all addresses of one IPv6 /64 share a limit', async () => {
    const statuses = []
    for (const last of ['1', '2', 'ffff:1:2:3', '3'])
      statuses.push(await from(`2001:db8:1:2::${last}`.replace('::ffff:1', ':ffff:1')))
    expect(statuses).toEqual([201, 201, 201, 429])
    expect(await from('2001:db8:1:3::1')).toBe(201)
  })

  test('an IPv4 address that is mapped into IPv6 counts as the IPv4 address', async () => {
    for (let i = 0; i < 3; i++) await from('192.0.2.77')
    expect(await from('::ffff:192.0.2.77')).toBe(429)
  })
})
