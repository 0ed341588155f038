// Refusals that name a remedy, narrowed scopes, and the request_id of every refusal.
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Browser } from '../support/browser.ts'
import { ask, refusalIn, signedIn } from '../support/documents.ts'
import { authorize, post, redeem } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
let browser: Browser
let user: Awaited<ReturnType<typeof addUser>>
beforeAll(async () => {
  service = await startService()
  user = await addUser(service)
  browser = await signedIn(service, user)
})
afterAll(() => service.close())

/** The error in the redirect to the client. */
async function returned(where: TestService, fields: Record<string, string | undefined>): Promise<string> {
  const page = await ask(where, browser, fields)
  const query = new URL(page.location ?? 'x:').searchParams
  return page.location?.includes('error=')
    ? `${query.get('error')}: ${query.get('error_description')}`
    : refusalIn(page)
}

describe('a resource that resembles a registered one', () => {
  const registered = 'https://near.example.com/mcp'
  let client_id: string
  beforeAll(async () => {
    await addResource(service, { uri: registered })
    client_id = (await addClient(service)).client_id
  })

  test.each([
    ['an additional slash', 'https://near.example.com/mcp/'],
    ['upper case in the host', 'https://NEAR.example.com/mcp'],
    ['upper case in the scheme', 'HTTPS://near.example.com/mcp'],
    ['upper case in the path', 'https://near.example.com/MCP'],
    ['the default port', 'https://near.example.com:443/mcp'],
    ['all of that', 'HTTPS://Near.example.com:443/mcp/'],
  ])('that differs by %s is refused with the URI of the registered one', async (_what, resource) => {
    const expected = `invalid_target: the resource is not known: ${resource}; ${registered} is registered`
    expect(await returned(service, { client_id, resource })).toBe(expected)
  })

  test.each([
    'https://near.example.com:8443/mcp',
    'http://near.example.com/mcp',
    'https://near.example.com/mcp/x',
    'https://near.example.com/',
    'https://far.example.com/mcp',
    'https://user@near.example.com/mcp',
    'near.example.com/mcp',
  ])('the unknown resource %s is refused without a suggestion', async (resource) => {
    expect(await returned(service, { client_id, resource })).toBe(
      `invalid_target: the resource is not known: ${resource}`,
    )
  })

  test('the token endpoint suggests the registered resource too', async () => {
    const client = await addClient(service)
    const { status, body } = await post(`${service.issuer}/oauth/token`, client, {
      grant_type: 'client_credentials',
      scope: 'mcp:read',
      resource: `${registered}/`,
    })
    expect([status, body['error'], body['error_description']]).toEqual([
      400,
      'invalid_target',
      `the resource is not known: ${registered}/; ${registered} is registered`,
    ])
  })
})

describe('scopes of other resources', () => {
  const setUp = async (where: TestService) => {
    const [files, mail] = [
      await addResource(where, { scopes: ['files:read', 'files:write'] }),
      await addResource(where, { scopes: ['mail:read'] }),
    ]
    const client = await addClient(where, { token_endpoint_auth_method: 'none', scope: '' })
    return { files, mail, client }
  }

  test('scopes of other resources are omitted when a resource is named, and the response states the granted scope', async () => {
    const { files, client } = await setUp(service)
    const everything = 'files:read mail:read files:write'
    const authorized = await authorize(service, client, user, { resource: files.uri, scope: everything }, browser)
    const { status, body } = await redeem(service, client, authorized)
    expect([status, body['scope']]).toEqual([200, 'files:read files:write'])
    expect(decodeJwt(String(body['access_token']))).toMatchObject({ scope: 'files:read files:write', aud: [files.uri] })
  })

  test('scopes of other resources are refused when no scope of the named resource remains', async () => {
    const { files, client } = await setUp(service)
    const request = { client_id: client.client_id, resource: files.uri, scope: 'mail:read' }
    expect(await returned(service, request)).toBe(
      'invalid_scope: the resource does not declare mail:read; it declares files:read files:write',
    )
  })

  test('scopes of other resources are refused together with an undeclared scope', async () => {
    const { files, client } = await setUp(service)
    const request = { client_id: client.client_id, resource: files.uri, scope: 'files:read mail:read made:up' }
    expect(await returned(service, request)).toBe(
      'invalid_scope: the resource does not declare mail:read made:up; it declares files:read files:write',
    )
  })

  test('scopes of other resources are refused when oauth.narrow_scopes is false', async () => {
    const strict = await startService({ SERVICE_OAUTH_NARROW_SCOPES: 'false' })
    try {
      const { files, client } = await setUp(strict)
      const request = { client_id: client.client_id, resource: files.uri, scope: 'files:read mail:read' }
      expect(await returned(strict, request)).toBe(
        'invalid_scope: the resource does not declare mail:read; it declares files:read files:write',
      )
    } finally {
      await strict.close()
    }
  })
})

describe('every error has the request_id of its log line', () => {
  const JSON_TYPE = { 'content-type': 'application/json' }
  const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
  const failing: [string, number, string, RequestInit?][] = [
    ['a path that is not there', 404, '/nothing'],
    ['another method', 405, '/oauth/token'],
    [
      'a token request without a client',
      401,
      '/oauth/token',
      { method: 'POST', headers: FORM, body: 'grant_type=refresh_token' },
    ],
    ['a token request of another type', 415, '/oauth/token', { method: 'POST', headers: JSON_TYPE, body: '{}' }],
    ['a body that is too large', 413, '/oauth/token', { method: 'POST', headers: FORM, body: 'x'.repeat(70_000) }],
    ['a registration', 400, '/oauth/register', { method: 'POST', headers: JSON_TYPE, body: '{}' }],
    ['an introspection', 401, '/oauth/introspect', { method: 'POST', headers: FORM, body: 'token=x' }],
    ['a revocation', 401, '/oauth/revoke', { method: 'POST', headers: FORM, body: 'token=x' }],
    ['an authorization request', 400, '/oauth/authorize?client_id=nobody'],
    [
      'an authorization request, as a page',
      400,
      '/oauth/authorize?client_id=nobody',
      { headers: { accept: 'text/html' } },
    ],
    ['metadata of no resource', 404, '/.well-known/oauth-protected-resource/nothing'],
    ['a form that cannot be read', 400, '/consent', { method: 'POST', headers: FORM, body: 'a=1&a=2' }],
  ]
  test.each(failing)('%s: %d', async (_what, status, path, init) => {
    const lines: { request_id?: string; status?: number; error?: string }[] = []
    const { log } = service.app
    vi.spyOn(log, 'info').mockImplementation((fields: unknown) => void lines.push(fields as object))
    try {
      const response = await fetch(service.issuer + path, init)
      const text = await response.text()
      expect(response.status).toBe(status)
      const isPage = response.headers.get('content-type')?.startsWith('text/html')
      const id = isPage ? /<code>([A-Za-z0-9_-]+)<\/code>/.exec(text)?.[1] : JSON.parse(text).request_id
      expect(id).toMatch(/^[A-Za-z0-9_-]{22}$/)
      expect(lines.find(({ request_id }) => request_id === id)).toMatchObject({ status, error: expect.any(String) })
    } finally {
      vi.restoreAllMocks()
    }
  })

  test('an internal error is logged with its cause, and its answer does not reveal the cause', async () => {
    const lines: Record<string, unknown>[] = []
    const { log, store } = service.app
    vi.spyOn(log, 'error').mockImplementation((fields: unknown) => void lines.push(fields as Record<string, unknown>))
    vi.spyOn(store, 'findClient').mockRejectedValue(new Error('disk I/O error at /var/lib/secret.db'))
    try {
      const { status, body } = await post(
        `${service.issuer}/oauth/token`,
        { client_id: 'x' },
        { grant_type: 'refresh_token' },
      )
      expect([status, body['error'], body['error_description']]).toEqual([500, 'server_error', 'internal error'])
      expect(JSON.stringify(body)).not.toContain('disk')
      const [line] = lines
      expect(line).toMatchObject({ request_id: body['request_id'], status: 500 })
      expect(String(line?.['err'])).toContain('disk I/O error')
    } finally {
      vi.restoreAllMocks()
    }
  })
})
