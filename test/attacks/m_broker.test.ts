// Section M of the attack list, the rows about the connect flow and the stored connections: M06 to M08, M10, M11. And G06,
// tokens of brokered resources. M01 to M05 and M09 are about the login at an upstream provider.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openCredential } from '../../src/broker/credential.ts'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { aMember, BROKER, brokerScene, RETURN, startBroker, vended } from '../support/broker.ts'
import { Browser, fieldsOf } from '../support/browser.ts'
import { expectRefused, introspect } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { watchLog } from '../support/log.ts'
import type { TestService } from '../support/service.ts'
import { UPSTREAM_SECRET } from '../support/upstream.ts'
import { Wire } from '../support/wire.ts'

let service: TestService
const folder = tempFolder()
beforeAll(async () => {
  service = await startBroker({
    SERVICE_STORAGE_SQLITE_PATH: path.join(folder, 'service.db'),
    SERVICE_CONNECT_ALLOWED_RETURN_URLS: `${RETURN},http://localhost:*,https://tree.example.com/app/*`,
  })
})
afterAll(() => service.close())

const EVIL = [
  'https://evil.example.com/',
  '//evil.example.com',
  '/\\evil.example.com',
  'javascript:alert(1)',
  'data:text/html,x',
  `${RETURN}.evil.example.com`,
  `${RETURN}/more`,
  `${RETURN}#x`,
  `${RETURN}?next=https://evil.example.com`,
  'https://app.example.com@evil.example.com/connected',
  'https://app.example.com:443@evil.example.com/connected',
  'https://APP.example.com/other',
  'https://sub.app.example.com/connected',
  'http://app.example.com/connected',
  'http://localhost:80@evil.example.com/',
  'http://localhost.evil.example.com/',
  'http://localhost:1*/',
  'http://127.0.0.1:80/',
  'https://localhost:80/',
  'https://tree.example.com/app/../evil',
  'https://tree.example.com/app/%2e%2e/evil',
  'https://tree.example.com/app',
  'https://tree.example.com/application',
  'https://tree.example.com/app/*',
  ' https://app.example.com/connected',
  'https://app.example.com/connected\n',
]
test.each(EVIL)('M06 the return URL %j is refused before the provider is contacted', async (return_url) => {
  const { member, provider } = await scene()
  const page = await member.browser.open(member.startUrl(provider.slug, { return_url }))
  expect([page.status, page.location]).toEqual([400, undefined])
})

test.each([
  RETURN,
  'http://localhost:43117/done?x=1',
  'http://localhost/',
  'https://tree.example.com/app/',
  'https://tree.example.com/app/a/b?x=1',
])('M06 the return URL %j is taken', async (return_url) => {
  const { member, provider, upstream } = await scene()
  const page = await member.browser.open(member.startUrl(provider.slug, { return_url }))
  expect(page.location).toContain(upstream.url)
})

let made: ReturnType<typeof brokerScene> | undefined
/** One service for all tests that change nothing. */
const scene = () => {
  made ??= brokerScene(service)
  return made
}
const changed = (url: string, change: (query: URLSearchParams) => void) => {
  const copy = new URL(url)
  change(copy.searchParams)
  return copy.href
}

test('M07 a state that is forged, of another user, expired or used is refused, and the provider is not contacted', async () => {
  const { callback, upstream, member, app, grant } = await brokerScene(service)
  const right = await callback()
  const mallory = await aMember(service, app)
  const asked = upstream.asked.length
  const tried = async (url: string, who = member) => (await who.browser.open(url)).status
  const forged = [
    (state: string) => `${state}x`,
    (state: string) => state.slice(0, -1),
    (state: string) => state.split('.')[0] ?? '',
    (state: string) => `${state.split('.')[0]}.${'A'.repeat(43)}`,
    () => 'unknown',
    () => '',
  ]
  for (const forge of forged)
    expect(await tried(changed(right, (query) => query.set('state', forge(query.get('state') ?? ''))))).toBe(400)
  expect(await tried(right, mallory)).toBe(403)
  expect((await new Browser().open(right)).location).toContain('/login?')
  expect(await tried(changed(right, (query) => query.delete('code')))).toBe(400)
  expect(upstream.asked.length).toBe(asked)
  expect((await member.browser.open(right)).location).toBe(RETURN)
  const after = upstream.asked.length
  expect(await tried(right)).toBe(400)
  const late = await callback()
  service.advance(601)
  expect(await tried(late)).toBe(400)
  expect(upstream.asked.length).toBe(after)
  expect(await grant(mallory)).toBeUndefined()
})

test('M07 of concurrent callbacks with one state exactly one connects', async () => {
  const { callback, upstream, member } = await brokerScene(service)
  const url = await callback()
  const pages = await Promise.all(Array.from({ length: 5 }, () => member.browser.open(url)))
  expect(pages.map(({ status }) => status).sort()).toEqual([303, 400, 400, 400, 400])
  expect(upstream.asked.length).toBe(1)
})

test('M07 a state is refused on the path of another provider', async () => {
  const [one, two] = [await brokerScene(service), await brokerScene(service)]
  const url = (await one.callback()).replace(one.provider.slug, two.provider.slug)
  expect((await one.member.browser.open(url)).status).toBe(400)
  expect([one.upstream.asked.length, two.upstream.asked.length]).toEqual([0, 0])
})

test('M07 a state cannot be computed without the secret, even with the row of the database', async () => {
  const { callback, member } = await brokerScene(service)
  const url = await callback()
  const { connect } = service.app.config
  const secret = connect.state_secret
  Object.assign(connect, { state_secret: 'another-secret-another-secret-another' })
  const { status } = await member.browser.open(url)
  Object.assign(connect, { state_secret: secret })
  expect(status).toBe(400)
})

test('M08 malformed slugs are not found', async () => {
  const { member } = await scene()
  for (const slug of [
    '..%2fadmin',
    '%2e%2e%2fadmin',
    '%00',
    'a%00b',
    'x'.repeat(10_240),
    'A_B',
    'bp_abc',
    '%F0%9F%92%A9',
  ]) {
    const { status } = await member.browser.open(`${service.issuer}/connect/${slug}?return_url=${RETURN}`)
    expect(status, slug.slice(0, 20)).toBe(404)
  }
  // An HTTP client would normalise the path before it sends the request.
  const wire = await Wire.open(Number(new URL(service.issuer).port))
  const cookie = [...member.browser.cookies].map((pair) => pair.join('=')).join('; ')
  wire.send(`GET /connect/%2e%2e?return_url=x HTTP/1.1\r\nHost: localhost\r\nCookie: ${cookie}\r\n\r\n`)
  expect((await wire.answer()).status).toBe(404)
  wire.leave()
})

test('M10 the database contains no token or secret in clear, and a credential can be decrypted in its own row only', async () => {
  const [one, two] = [await brokerScene(service), await brokerScene(service)]
  for (const each of [one, two]) {
    await each.connect()
    vended(await each.vend(), each.upstream)
  }
  const other = await aMember(service, one.app)
  await one.connect(other)
  const bytes = Buffer.concat(readdirSync(folder).map((name) => readFileSync(path.join(folder, name))))
  expect(bytes.includes(one.provider.slug)).toBe(true)
  for (const { upstream } of [one, two])
    for (const secret of [...upstream.given, ...upstream.live.keys()]) expect(bytes.includes(secret)).toBe(false)
  for (const secret of [UPSTREAM_SECRET, BROKER.SERVICE_DATA_ENCRYPTION_KEY, BROKER.SERVICE_CONNECT_STATE_SECRET])
    expect(bytes.includes(secret)).toBe(false)

  const [mine, theirs, elsewhere] = [await one.grant(), await one.grant(other), await two.grant()]
  if (!mine || !theirs || !elsewhere) throw new Error('nobody is connected')
  await expect(openCredential(service.app, mine)).resolves.toMatchObject({ refresh_token: expect.any(String) })
  for (const { credential } of [theirs, elsewhere])
    await expect(openCredential(service.app, { ...mine, credential })).rejects.toThrow('belongs to another row')
  // Copying a whole row to another user does not help either.
  await expect(openCredential(service.app, { ...theirs, user_id: mine.user_id })).rejects.toThrow(
    'belongs to another row',
  )
})

test('M11 texts of a provider are not repeated to the browser, the client, the log or the audit trail', async () => {
  const logged = watchLog(service.app.log)
  const HUSH = 'hush-access-token-in-an-error'
  const { callback, connect, upstream, provider, member, vend } = await brokerScene(service)
  const back = changed(await callback(), (query) => {
    query.delete('code')
    query.set('error', HUSH)
    query.set('error_description', `<script>${HUSH}`)
  })
  const page = await member.browser.open(back)
  upstream.answer = (_form, response) => {
    response.writeHead(400, { 'content-type': 'application/json', 'x-hush': HUSH })
    response.end(JSON.stringify({ error: HUSH, error_description: HUSH }))
  }
  const failed = await connect()
  upstream.answer = undefined
  await connect()
  upstream.answer = (_form, response) => response.writeHead(503).end(HUSH)
  const outage = await vend()
  upstream.answer = (_form, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(`{${HUSH}`)
  const nonsense = await vend()
  vi.restoreAllMocks()
  expect([page.location, failed.location]).toEqual([`${RETURN}?error=server_error`, `${RETURN}?error=server_error`])
  expect([outage.status, nonsense.status]).toEqual([503, 500])
  const events = (await eventsOf(service, 'broker_connect_failed')).map(({ detail }) => detail)
  expect(events).toEqual([
    { provider: provider.slug, user_id: member.user.id, reason: expect.stringMatching(/^upstream_/) },
    { provider: provider.slug, user_id: member.user.id, reason: 'upstream_other' },
  ])
  const trail = await okAdmin(service, 'GET', '/admin/audit?limit=1000')
  const said = JSON.stringify([page.text, failed.text, outage.body, nonsense.body, trail])
  const written = logged.map((line) =>
    JSON.stringify(line, (_key, value) => (value instanceof Error ? allOf(value) : value)),
  )
  for (const secret of [HUSH, UPSTREAM_SECRET, ...upstream.given, ...upstream.live.keys()]) {
    expect(said.includes(secret)).toBe(false)
    expect(written.join().includes(secret)).toBe(false)
  }
  expect(written.length).toBeGreaterThan(1)
})

/** An error as a log would write it. */
const allOf = (error: Error): unknown => [error.message, error.stack, error.cause, { ...error }]

test('M11 the account page shows a failure in the words of this service only', async () => {
  const { member } = await scene()
  const page = await member.browser.follow(`${service.issuer}/connections?error=${encodeURIComponent('<b>hush</b>')}`)
  expect([page.status, page.text.includes('hush')]).toEqual([200, false])
})

test('G06 a token of a provider is a bearer token, is not in the record of issued tokens, and is not accepted here', async () => {
  const { connect, vend, upstream, member, gateway } = await brokerScene(service)
  await connect()
  const answer = await vend()
  const token = vended(answer, upstream)
  expect(answer.body).toMatchObject({
    token_type: 'Bearer',
    issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  })
  const records = await okAdmin(service, 'GET', `/admin/issuances?user_id=${member.user.id}`)
  expect(JSON.stringify([records, await okAdmin(service, 'GET', '/admin/audit?limit=1000')])).not.toContain(token)
  expectRefused(await vend({ subject_token: token }), 'invalid_grant')
  expect(await introspect(service, gateway, token)).toEqual({ active: false })
})

const NAVIGATION = { headers: { 'sec-fetch-dest': 'document', 'sec-fetch-site': 'cross-site' } }
test('M12 the connect page shows the account before the redirect to the provider, and continues only with a form of that session', async () => {
  const { member, provider, resource, upstream } = await scene()
  const url = member.startUrl(provider.slug, { resource: resource.slug })
  const page = await member.browser.open(url, NAVIGATION)
  expect([page.status, page.location]).toEqual([200, undefined])
  for (const dest of ['iframe', 'empty'])
    expect((await member.browser.open(url, { headers: { 'sec-fetch-dest': dest } })).status, dest).toBe(200)
  expect(page.text).toContain(`Signed in as <bdi>${member.user.email}</bdi>`)
  const action = `${service.issuer}/connect/${provider.slug}`
  const fields = fieldsOf(page)
  const foreign = fields.map(([name, value]): [string, string] => [name, name === 'csrf_token' ? 'x' : value])
  expect((await member.browser.post(action, foreign)).status).toBe(403)
  expect((await member.browser.post(action, fields, { 'sec-fetch-site': 'same-site' })).status).toBe(403)
  const sent = await member.browser.post(action, fields, { 'sec-fetch-site': 'same-origin' })
  expect([sent.status, sent.location]).toEqual([303, expect.stringContaining(`${upstream.url}/authorize?`)])
  expect((await member.browser.open(upstream.approve(sent.location ?? ''))).location).toBe(RETURN)
})
