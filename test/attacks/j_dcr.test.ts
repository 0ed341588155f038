// Section J of the attack list: dynamic registration. One test per row, named by its id.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { digest } from '../../src/lib/id.ts'
import { eventsOf, metricOf, okAdmin } from '../support/admin.ts'
import { ask, signedIn } from '../support/documents.ts'
import { authorizeUrl, decide, register as post, post as token } from '../support/flow.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_DCR_MODE: 'open' })
})
afterAll(() => service.close())

interface Answer {
  status: number
  body: Record<string, unknown> & { client_id: string }
}
async function send(where: TestService, body: string | Uint8Array<ArrayBuffer>): Promise<Answer> {
  const response = await post(where, body)
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}
const register = (fields: Record<string, unknown> = {}, where = service) =>
  send(where, JSON.stringify({ client_name: 'Desk', redirect_uris: [REDIRECT_URI], ...fields }))
const outcome = ({ status, body }: Answer) => (status === 201 ? '201' : `${status} ${body['error']}`)
const countClients = async (where = service) =>
  (await okAdmin<unknown[]>(where, 'GET', '/admin/clients?limit=1000')).length

test('J01 registering in a loop is 429 after the burst, and the database contains only the accepted registrations', async () => {
  const limited = await startService({
    SERVICE_DCR_MODE: 'open',
    SERVICE_RATE_LIMIT_ENABLED: 'true',
    SERVICE_RATE_LIMIT_REQUESTS_PER_SECOND: '100000',
    SERVICE_RATE_LIMIT_BURST: '100000',
  })
  try {
    const startedMs = performance.now()
    const outcomes = new Map<string, number>()
    for (let batch = 0; batch < 5; batch++)
      for (const answer of await Promise.all(Array.from({ length: 200 }, () => register({}, limited))))
        outcomes.set(outcome(answer), (outcomes.get(outcome(answer)) ?? 0) + 1)
    const seconds = (performance.now() - startedMs) / 1000
    expect([...outcomes.keys()].sort()).toEqual(['201', '429 slow_down'])
    // The defaults: a burst of 20, then 10 per second. IPv4 and IPv6 loopback are two addresses.
    expect(outcomes.get('201')).toBeLessThanOrEqual(2 * (20 + 10 * seconds) + 2)
    expect(await countClients(limited)).toBe(outcomes.get('201'))
  } finally {
    await limited.close()
  }
})

test('J02 bodies of 5 MB, with deep nesting, or with too many or too long redirect URIs are refused', async () => {
  const padding = 'x'.repeat(5 * 1024 * 1024)
  expect((await register({ padding })).status).toBe(413)
  const deep = '['.repeat(100_000) + ']'.repeat(100_000)
  const wrong = [
    `{"client_name":"Deep","redirect_uris":${deep}}`,
    deep,
    '['.repeat(200_000),
    JSON.stringify({
      client_name: 'Many',
      redirect_uris: Array.from({ length: 10_000 }, (_, i) => `${REDIRECT_URI}${i}`),
    }),
    JSON.stringify({ client_name: 'Long', redirect_uris: [`${REDIRECT_URI}${'x'.repeat(900_000)}`] }),
    JSON.stringify({
      client_name: 'Grants',
      redirect_uris: [REDIRECT_URI],
      grant_types: Array(10_000).fill('authorization_code'),
    }),
  ]
  const before = await countClients()
  for (const body of wrong) expect(outcome(await send(service, body)), body.slice(0, 50)).toMatch(/^400 invalid_/)
  expect(await countClients()).toBe(before)
})

test('J03 a client cannot choose its id, secret, status or other server-controlled members', async () => {
  const forged = {
    client_id: 'admin',
    client_secret: 'chosen',
    is_admin: true,
    suspended: true,
    status: 'suspended',
    version: 9,
  }
  const { body } = await register({
    ...forged,
    created_at: 1,
    issued_at: 1,
    client_id_issued_at: 1,
    registration_source: 'admin',
    secrets: [{ id: 'x', hash: 'x' }],
    is_agent: true,
  })
  expect(body.client_id).toMatch(/^c_/)
  expect(body['client_secret']).not.toBe('chosen')
  const stored = await service.app.store.findClient({ client_id: body.client_id })
  expect(stored).toMatchObject({
    status: 'active',
    version: 1,
    registration_source: 'dcr',
    secrets: [{ hash: digest(String(body['client_secret'])) }],
    is_agent: false,
  })
  expect(stored?.issued_at).toBeGreaterThan(1)
  expect(await service.app.store.findClient({ client_id: 'admin' })).toBeUndefined()
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  await send(
    service,
    `{"client_name":"P","redirect_uris":["${REDIRECT_URI}"],"__proto__":{"polluted":1,"is_agent":true},"constructor":{"prototype":{"polluted":1}}}`,
  )
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

test('J05 a public client cannot register for client_credentials, and other clients only with an administrator', async () => {
  for (const token_endpoint_auth_method of ['none', 'client_secret_basic']) {
    const alone = await register({ token_endpoint_auth_method, grant_types: ['client_credentials'] })
    expect(outcome(alone)).toBe('400 invalid_client_metadata')
    const { body } = await register({
      token_endpoint_auth_method,
      grant_types: ['authorization_code', 'client_credentials'],
    })
    expect((await service.app.store.findClient(body))?.grant_types).toEqual(['authorization_code'])
  }
})

test('J06 a wildcard of approved_redirects does not match another host, query, fragment or path', async () => {
  const approving = await startService({
    SERVICE_DCR_MODE: 'approved_redirects',
    SERVICE_DCR_APPROVED_REDIRECTS: 'https://*.good.example/cb',
  })
  try {
    const wrong = [
      'https://evil.com/.good.example/cb',
      'https://x.good.example.evil.com/cb',
      'https://evil.com#.good.example/cb',
    ]
    const more = [
      'https://evil.com?.good.example/cb',
      'https://a.good.example/cb/../x',
      'https://a.good.example/cb?x',
      'https://a.good.example:8443/cb',
    ]
    const hosts = [
      'https://evil.com\\.good.example/cb',
      'https://evil.com%2f.good.example/cb',
      'https://evil@a.good.example/cb',
      'https://a.b.good.example/cb',
      'https://*.good.example/cb',
      'https://good.example/cb',
      'http://a.good.example/cb',
    ]
    for (const redirect_uri of [...wrong, ...more, ...hosts])
      expect(outcome(await register({ redirect_uris: [redirect_uri] }, approving)), redirect_uri).toBe(
        '400 invalid_redirect_uri',
      )
    expect(outcome(await register({ redirect_uris: ['https://a.good.example/cb'] }, approving))).toBe('201')
  } finally {
    await approving.close()
  }
})

// One process; other processes read the mode from the shared PostgreSQL database.
test('J07 admin_only refuses registrations with 403 at once, whatever the body, also after a restart', async () => {
  await okAdmin(service, 'PATCH', '/admin/settings/dcr', { mode: 'admin_only' })
  try {
    for (const body of ['{}', 'nonsense', '[]', JSON.stringify({ client_name: 'Desk', redirect_uris: [REDIRECT_URI] })])
      expect(outcome(await send(service, body))).toBe('403 access_denied')
    expect(await service.app.store.findSetting({ name: 'dcr.mode' })).toBe('admin_only')
  } finally {
    await okAdmin(service, 'PATCH', '/admin/settings/dcr', { mode: 'open' })
  }
  expect(outcome(await register())).toBe('201')
})

/** The consent page for a registered client. */
const consentPage = async ({ client_id }: { client_id: string }) => {
  const browser = await signedIn(service, await addUser(service))
  return (await browser.follow(authorizeUrl(service, { client_id }))).text
}

test('J09 a name with markup or invisible characters is harmless on the consent page, and a name of 256 characters is refused', async () => {
  for (const client_name of ['x'.repeat(256), 'x'.repeat(100_000), 'a\nb', 'a\0b', 7, {}, 'a\ud800b'])
    expect(outcome(await register({ client_name })), String(client_name).slice(0, 20)).toBe(
      '400 invalid_client_metadata',
    )
  const { body } = await register({ client_name: '<img src=x onerror=alert(1)>"\'&\u202eedualC\u200b' })
  const page = await consentPage(body)
  expect(page).toContain('&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;edualC')
  expect(page).not.toMatch(/<img|\u202e|\u200b/)
})

test('J10 a client with the name of a known client is shown with its host, and marked as self-named', async () => {
  const { body } = await register({ client_name: 'Claude', redirect_uris: ['https://evil.example/cb'] })
  const browser = await signedIn(service, await addUser(service))
  const url = authorizeUrl(service, { client_id: body.client_id, redirect_uri: 'https://evil.example/cb' })
  const page = (await browser.follow(url)).text
  expect(page).toContain('<dd class="host">evil.example</dd>')
  expect(page).toContain('This application chose its own name. Check the address above.')
})

/** The response to a signed-in user's request for a client. */
const A = async (client_id: string, redirect_uri: string, fields = {}) =>
  ask(service, await signedIn(service, await addUser(service)), { client_id, redirect_uri, ...fields })
const PUBLIC = { token_endpoint_auth_method: 'none' }
const CURSOR = 'cursor://anysphere.cursor-mcp/oauth/callback'

test('J11 of a mixed list of redirect URIs only the safe ones are registered, and the others get an error page', async () => {
  const unsafe = [
    'javascript:alert(1)',
    'http://evil.example/cb',
    'unlisted://cb',
    'data:text/html,x',
    `${REDIRECT_URI}#x`,
    `${REDIRECT_URI}?code=x`,
    'cursor://user@anysphere.cursor-mcp/cb',
    'cursor:alert(1)',
  ]
  const { status, body } = await register({ ...PUBLIC, redirect_uris: [unsafe[0], REDIRECT_URI, ...unsafe.slice(1)] })
  expect([status, body['redirect_uris']]).toEqual([201, [REDIRECT_URI]])
  expect((await service.app.store.findClient(body))?.redirect_uris).toEqual([REDIRECT_URI])
  for (const uri of unsafe) {
    const { status, location } = await A(body.client_id, uri)
    expect([status, location], uri).toEqual([400, undefined])
  }
  expect(outcome(await register({ ...PUBLIC, redirect_uris: unsafe }))).toBe('400 invalid_redirect_uri')
})

test('J12 any client can claim the scheme of a known program: the user is asked each time, and sees scheme and host', async () => {
  const { body } = await register({ ...PUBLIC, client_name: 'Cursor', redirect_uris: [CURSOR, REDIRECT_URI] })
  const [user, resource] = [await addUser(service), await addResource(service)]
  const browser = await signedIn(service, user)
  const fields = { client_id: body.client_id, redirect_uri: CURSOR, resource: resource.uri }
  for (let round = 0; round < 2; round++) {
    const page = await browser.follow(authorizeUrl(service, fields))
    expect(page.text).toContain('<dd class="host">cursor://anysphere.cursor-mcp</dd>')
    expect(page.text).toContain('This is a program on your own device.')
    expect(page.text).toContain('This application chose its own name.')
    expect((await decide(service, browser, page, 'allow')).location).toMatch(
      /^cursor:\/\/anysphere\.cursor-mcp\/oauth\/callback\?code=/,
    )
  }
  // The earlier consent was not given for the web address.
  expect((await browser.follow(authorizeUrl(service, { ...fields, redirect_uri: REDIRECT_URI }))).text).toContain(
    'value="allow"',
  )
  const silent = await ask(service, browser, { ...fields, prompt: 'none' })
  expect(new URL(silent.location ?? '').searchParams.get('error')).toBe('consent_required')
})

test('J13 a private-use redirect URI is compared character by character, and is refused for clients with a secret', async () => {
  const { body } = await register({ ...PUBLIC, redirect_uris: [CURSOR], application_type: 'native' })
  const others = [
    `${CURSOR}/`,
    `${CURSOR}?x=1`,
    `${CURSOR}#f`,
    CURSOR.replace('cursor:', 'CURSOR:'),
    CURSOR.replace('anysphere', 'Anysphere'),
    CURSOR.replace('cursor-mcp', 'cursor-mcp:80'),
    CURSOR.replace('/oauth', '/./oauth'),
    'cursor://anysphere.cursor-mcp',
    'cursor://',
    'vscode://anysphere.cursor-mcp/oauth/callback',
  ]
  for (const uri of others) expect((await A(body.client_id, uri)).status, uri).toBe(400)
  for (const token_endpoint_auth_method of ['client_secret_basic', 'client_secret_post', undefined]) {
    const fields = { token_endpoint_auth_method, redirect_uris: [CURSOR] }
    expect(outcome(await register(fields))).toBe('400 invalid_redirect_uri')
  }
})

test('J14 no setting allows schemes that browsers execute, read or fetch', async () => {
  for (const scheme of ['javascript', 'data', 'file', 'blob', 'vbscript', 'about', 'http', 'https', 'ws', 'wss'])
    await expect(startService({ SERVICE_DCR_REDIRECT_SCHEMES: scheme }), scheme).rejects.toThrow('dcr.redirect_schemes')
})

test('J50 a registration of more than 8 KB without its keys is refused, and one of less is stored', async () => {
  const uris = (count: number) =>
    Array.from({ length: count }, (_, i) => `https://app.example/${'p'.repeat(1500)}/${i}`)
  const before = await countClients()
  const refused = await register({ redirect_uris: uris(6) })
  expect([outcome(refused), refused.body['error_description']]).toEqual([
    '400 invalid_client_metadata',
    expect.stringMatching(/^the metadata has \d+ bytes without keys; at most 8192 are allowed$/),
  ])
  expect(await countClients()).toBe(before)
  expect((await register({ redirect_uris: uris(4) })).status).toBe(201)
})

test('J51 refusals that clients cause which registered themselves are audited up to a limit by client and by address', async () => {
  const own = await startService({ SERVICE_DCR_MODE: 'open' })
  const denied = async () => (await eventsOf(own, 'token_issue_denied')).length
  const wrong = {
    grant_type: 'authorization_code',
    code: 'ac_x',
    code_verifier: 'v'.repeat(43),
    redirect_uri: REDIRECT_URI,
  }
  const refuse = async (client: { client_id: string; client_secret?: string }, times: number) => {
    const answers = await Promise.all(
      Array.from({ length: times }, () => token(`${own.issuer}/oauth/token`, client, wrong)),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400]))
  }
  const startedMs = performance.now()
  const registered = async () =>
    (await register({}, own)).body as unknown as { client_id: string; client_secret: string }
  await refuse(await registered(), 60)
  const ofOne = () => 20 + Math.ceil((performance.now() - startedMs) / 1000) + 1
  await expect.poll(denied).toBeGreaterThanOrEqual(20)
  expect(await denied()).toBeLessThanOrEqual(ofOne())
  for (let i = 0; i < 8; i++) await refuse(await registered(), 25)
  await expect.poll(denied).toBeGreaterThanOrEqual(90)
  // IPv4 and IPv6 loopback are two addresses.
  expect(await denied()).toBeLessThanOrEqual(2 * (100 + 5 * Math.ceil((performance.now() - startedMs) / 1000)))
  expect(await metricOf(own, 'ext_audit_refusals_left_out_total{action="token_issue_denied"}')).toBeGreaterThan(0)
  const before = await denied()
  await refuse(await addClient(own), 60)
  await expect.poll(denied).toBe(before + 60)
  await own.close()
})
