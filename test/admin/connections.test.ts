// GET /admin/connections: the information an operator needs about a client that cannot connect.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { DocumentServer, LOCAL_DOCUMENTS } from '../support/documents.ts'
import { authorize, authorizeUrl, post, redeem, refresh, register, walk } from '../support/flow.ts'
import { addClient, addResource, addUser, PASSWORD, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ ...LOCAL_DOCUMENTS, SERVICE_SERVER_TRUSTED_PROXIES: '127.0.0.1,::1' })
})
afterAll(() => service.close())

interface Shown {
  client_id: string
  address: string
  began_at: string
  failing: boolean
  steps: {
    step: string
    at: string
    status: number
    error?: string
    detail?: string
    reason?: string
    request_id: string
    count: number
  }[]
}
const list = (query: Record<string, string> = {}) =>
  okAdmin<Shown[]>(service, 'GET', `/admin/connections?${new URLSearchParams(query)}`)
const stepsOf = async (client_id: string) =>
  (await list({ client_id })).flatMap(({ steps }) =>
    steps.map(({ step, status, error }) => `${step} ${status}${error ? ` ${error}` : ''}`),
  )

test('the steps of a successful client are listed in order: authorize, consent, token, introspection', async () => {
  const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
  const authorized = await authorize(service, client, user, { resource: resource.uri })
  const tokens = await redeem(service, client, authorized)
  await post(`${service.issuer}/oauth/introspect`, client, { token: String(tokens.body['access_token']) })
  await post(`${service.issuer}/oauth/revoke`, client, { token: String(tokens.body['refresh_token']) })
  // The request before and after the sign-in leads to the same outcome, so the step is counted twice.
  expect(await stepsOf(client.client_id)).toEqual([
    'authorize 303',
    'consent 303',
    'token 200',
    'introspect 200',
    'revoke 200',
  ])
  const [trail] = await list({ client_id: client.client_id })
  expect(trail).toMatchObject({ failing: false, began_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) })
  expect(trail?.steps[0]).toMatchObject({ count: 2, request_id: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/) })
})

test('each failed step has its reason, and the description that the client received or more than it', async () => {
  const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
  const { client_id } = client
  const browser = new Browser()
  await browser.open(authorizeUrl(service, { client_id, redirect_uri: 'https://evil.example/cb' }))
  await browser.open(authorizeUrl(service, { client_id, resource: `${resource.uri}/` }))
  const authorized = await authorize(service, client, user, { resource: resource.uri })
  await redeem(service, client, { ...authorized, verifier: 'x'.repeat(43) })
  await redeem(service, { client_id, client_secret: 'wrong' }, authorized)
  await refresh(service, client, 'rt_nonsense')
  const [trail] = await list({ client_id })
  expect(trail?.failing).toBe(true)
  expect(
    trail?.steps
      .filter(({ error }) => error)
      .map(({ step, status, error, detail, reason }) => ({ step, status, error, detail, reason })),
  ).toEqual([
    {
      step: 'authorize',
      status: 400,
      error: 'invalid_request',
      detail: 'the redirect_uri is not registered for this client: https://evil.example/cb',
      reason: 'unregistered_redirect_uri',
    },
    {
      step: 'authorize',
      status: 400,
      error: 'invalid_target',
      detail: `the resource is not known: ${resource.uri}/; ${resource.uri} is registered`,
      reason: 'resource_not_found',
    },
    expect.objectContaining({ step: 'token', status: 400, error: 'invalid_grant' }),
    {
      step: 'token',
      status: 401,
      error: 'invalid_client',
      detail: 'client authentication failed',
      reason: 'wrong_secret',
    },
    expect.objectContaining({ step: 'token', status: 400, error: 'invalid_grant' }),
  ])
})

test('a consent denied by the user is a failed step, although the response is a redirect', async () => {
  const [client, user] = [await addClient(service), await addUser(service)]
  await walk(service, authorizeUrl(service, { client_id: client.client_id }), user, new Browser(), 'deny')
  expect((await stepsOf(client.client_id)).at(-1)).toBe('consent 403 access_denied')
  const [trail] = await list({ client_id: client.client_id })
  expect([trail?.failing, trail?.steps.at(-1)?.detail]).toEqual([true, 'the user denied the request'])
})

test('a client document that cannot be fetched is a failed step with its reason', async () => {
  const documents = await DocumentServer.start()
  try {
    const client_id = documents.publish('/moved', {}, { status: 302, headers: { location: '/elsewhere' } })
    await new Browser().open(authorizeUrl(service, { client_id }))
    const [trail] = await list({ client_id })
    expect(trail?.steps).toMatchObject([
      {
        step: 'authorize',
        error: 'invalid_client',
        detail: 'the client document cannot be fetched',
        reason: 'cimd_redirect',
      },
    ])
  } finally {
    documents.close()
  }
})

test('steps without a client are listed by address: metadata, failed registration, login', async () => {
  const address = '192.0.2.44'
  const headers = { 'x-forwarded-for': address }
  await fetch(`${service.issuer}/.well-known/oauth-authorization-server`, { headers })
  await fetch(`${service.issuer}/.well-known/oauth-protected-resource/nothing`, { headers })
  await register(service, '{}', headers)
  await new Browser().post(`${service.issuer}/login`, { email: 'a@example.com', password: PASSWORD }, headers)
  const trails = await list({ address })
  expect(trails.map(({ client_id }) => client_id)).toEqual([''])
  expect(trails[0]?.steps.map(({ step, status, error }) => [step, status, error])).toEqual([
    ['metadata', 200, undefined],
    ['resource_metadata', 404, 'not_found'],
    ['register', 400, 'invalid_client_metadata'],
    ['login', 422, 'access_denied'],
  ])
  const response = await register(service, {}, headers)
  const { client_id } = (await response.json()) as { client_id: string }
  expect(await stepsOf(client_id)).toEqual(['register 201'])
})

test('activity is listed most recent first, and can be filtered by client, address and failure', async () => {
  const at = (client_id: string, address: string) =>
    post(
      `${service.issuer}/oauth/token`,
      { client_id, client_secret: 'x' },
      { grant_type: 'client_credentials' },
      { 'x-forwarded-for': address },
    )
  await at('first', '192.0.2.50')
  await at('second', '192.0.2.50')
  await at('first', '192.0.2.51')
  await fetch(`${service.issuer}/.well-known/openid-configuration`, { headers: { 'x-forwarded-for': '192.0.2.50' } })
  const names = async (query: Record<string, string>) =>
    (await list(query)).map(({ client_id, address }) => `${client_id}@${address}`)
  expect(await names({ address: '192.0.2.50' })).toEqual(['@192.0.2.50', 'second@192.0.2.50', 'first@192.0.2.50'])
  expect(await names({ client_id: 'first' })).toEqual(['first@192.0.2.51', 'first@192.0.2.50'])
  expect(await names({ address: '192.0.2.50', failing: 'true' })).toEqual(['second@192.0.2.50', 'first@192.0.2.50'])
  expect(await names({ address: '192.0.2.50', failing: 'false' })).toEqual(['@192.0.2.50'])
  expect(await names({ limit: '1' })).toHaveLength(1)
  for (const query of ['limit=0', 'limit=2001', 'failing=maybe', 'unknown=1'])
    expect((await callAdmin(service, 'GET', `/admin/connections?${query}`)).status, query).toBe(400)
  expect((await callAdmin(service, 'GET', '/admin/connections', undefined, {})).status).toBe(401)
})

test('the activity contains no code, token, secret, verifier, state or password', async () => {
  const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
  const authorized = await authorize(service, client, user, { resource: resource.uri, state: 'state-secret-1' })
  const tokens = await redeem(service, client, authorized)
  await redeem(service, client, authorized)
  await refresh(service, client, `${tokens.body['refresh_token']}x`)
  await refresh(service, { ...client, client_secret: 'wrong-secret-1' }, tokens.body['refresh_token'])
  const everything = JSON.stringify(await list({ limit: '2000' }))
  const secrets = [authorized.code, authorized.verifier, tokens.body['access_token'], tokens.body['refresh_token']]
  for (const secret of [...secrets, client.client_secret, 'wrong-secret-1', 'state-secret-1', PASSWORD])
    expect(everything).not.toContain(String(secret))
})
