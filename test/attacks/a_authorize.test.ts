// Section A of the attack list: the authorization endpoint and its redirects. One test per row, named by its id.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser, fieldsOf, type Page } from '../support/browser.ts'
import { ask, refusalIn, signedIn, spyOnFetches } from '../support/documents.ts'
import { authorizeUrl, decide, register as post, signIn, walk } from '../support/flow.ts'
import { addClient, addResource, addUser, PASSWORD, startService, type TestService } from '../support/service.ts'
import { Wire } from '../support/wire.ts'

const R = 'https://good.example/cb'
const PUBLIC = { token_endpoint_auth_method: 'none' }

let service: TestService
let browser: Browser
let user: Awaited<ReturnType<typeof addUser>>
beforeAll(async () => {
  service = await startService({ SERVICE_DCR_MODE: 'open' })
  user = await addUser(service)
  browser = await signedIn(service, user)
})
afterAll(() => service.close())

const addTestClient = (fields: Record<string, unknown> = {}, record = {}) =>
  addClient(service, { redirect_uris: [R], token_endpoint_auth_method: 'none', ...fields }, record)

/** A request of the signed-in user with valid parameters, overridden by `fields`. */
const A = async (fields: Record<string, string | undefined>, from = browser) => {
  const { client_id = (await addTestClient()).client_id, ...rest } = fields
  return ask(service, from, { client_id, redirect_uri: R, ...rest })
}
/** Answers of this service; nothing is sent to the client. */
const expectPage = (page: Page, what = '') => expect([page.status, page.location, what]).toEqual([400, undefined, what])
/** The response at the redirect URI of the client, with exactly one value of each parameter. */
const responseAt = (page: Page, redirect_uri = R) => {
  expect(page.status).toBe(303)
  expect(page.location?.startsWith(redirect_uri), page.location).toBe(true)
  const query = new URL(page.location ?? '').searchParams
  for (const name of new Set(query.keys())) expect(query.getAll(name), name).toHaveLength(1)
  expect(query.get('iss')).toBe(service.issuer)
  return Object.fromEntries(query)
}
const register = async (fields: Record<string, unknown>) => {
  const response = await post(service, { redirect_uris: [R], ...fields })
  const { error, client_id } = (await response.json()) as { error?: string; client_id: string }
  return { answer: `${response.status} ${error}`, client_id }
}

test('A01 an unregistered redirect URI gets an error page, and nothing is sent to it', async () => {
  expectPage(await A({ redirect_uri: 'https://evil.example/cb' }))
})

test('A02 an unknown client gets an error page, whatever its redirect URI', async () => {
  const page = await A({ client_id: 'unknown', redirect_uri: 'https://www.google.com' })
  expectPage(page)
  expect(refusalIn(page)).toContain('invalid_client')
})

test('A04 a redirect URI that differs by a slash, a query or a fragment is refused', async () => {
  for (const redirect_uri of [`${R}/`, `${R}?x=1`, `${R}#f`, `${R}?`, R.toUpperCase()])
    expectPage(await A({ redirect_uri }), redirect_uri)
  const slashed = await addTestClient({ redirect_uris: [`${R}/`] })
  expectPage(await A({ client_id: slashed.client_id, redirect_uri: R }))
})

test('A05 a redirect URI with a host after a user part, in any spelling, gets an error page', async () => {
  for (const uri of [
    'https://good.example@evil.example/cb',
    'https://good.example%40evil.example/cb',
    'https://good.example\\@evil.example',
  ])
    expectPage(await A({ redirect_uri: uri }), uri)
})

test('A06 redirect URIs with paths that a browser would repair, parameters or control characters get an error page, and no header is injected', async () => {
  for (const end of ['/../other', '/%2e%2e/x', ';a=b', '%00', '%0d%0aX: y', '\r\nx: y', '\0']) {
    const page = await A({ redirect_uri: R + end })
    expectPage(page, end)
    expect(page.headers.get('x')).toBeNull()
  }
})

test('A08 only a different port matches a registered loopback URI, and only for native clients', async () => {
  const wrong = [
    'http://127.0.0.1.evil.example:3000/cb',
    'http://127.0.0.1:3000@evil.example/cb',
    'http://0177.0.0.1/cb',
    'http://[::ffff:127.0.0.1]/cb',
    'http://localhost.evil.example/cb',
    'http://127.0.0.1:3000/other',
    'http://127.0.0.1:3000/cb?a=b',
    'https://127.0.0.1:3000/cb',
    'http://localhost:3000/cb',
    'http://127.0.0.1:3000/cb#f',
    'http://127.1:3000/cb',
    'http://127.0.0.1:/cb',
    'http://user@127.0.0.1:3000/cb',
  ]
  const web = await addTestClient({ redirect_uris: ['http://127.0.0.1:3000/cb'] })
  const native = await addTestClient({ redirect_uris: ['http://127.0.0.1/cb'], application_type: 'native' })
  for (const { client_id } of [web, native])
    for (const redirect_uri of wrong) expectPage(await A({ client_id, redirect_uri }), redirect_uri)
  expectPage(await A({ client_id: web.client_id, redirect_uri: 'http://127.0.0.1:3001/cb' }))
  expect((await A({ client_id: native.client_id, redirect_uri: 'http://127.0.0.1:3001/cb' })).status).toBe(303)
})

test('A09 javascript, data, file and similar schemes cannot be registered in any spelling', async () => {
  const schemes = [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' javascript:alert(1)',
    'java\tscript:alert(1)',
    'java\nscript:alert(1)',
  ]
  const others = [
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://a/b',
    'about:blank',
    '//good.example/cb',
    'unlisted:/cb',
    'com.example:alert(1)',
  ]
  for (const redirect_uri of [...schemes, ...others])
    for (const application_type of ['web', 'native'])
      expect(
        (await register({ ...PUBLIC, redirect_uris: [redirect_uri], application_type })).answer,
        redirect_uri,
      ).toBe('400 invalid_redirect_uri')
})

test('A10 a plain http redirect URI that is not loopback cannot be registered', async () => {
  for (const uri of [
    'http://attacker.example/cb',
    'http://127.0.0.1.nip.io/cb',
    'http://localhost.evil.example/cb',
    'http://10.0.0.1/cb',
  ])
    expect((await register({ redirect_uris: [uri] })).answer, uri).toBe('400 invalid_redirect_uri')
})

test('A12 the query of a redirect URI is kept, and each response parameter is added once', async () => {
  const redirect_uri = `${R}?a=1`
  const { client_id } = await addTestClient({ redirect_uris: [redirect_uri] })
  const callback = await walk(service, authorizeUrl(service, { client_id, redirect_uri }), user, browser)
  expect(callback.href.startsWith(`${redirect_uri}&code=`)).toBe(true)
  expect(responseAt(await A({ client_id, redirect_uri, scope: undefined }), `${redirect_uri}&`)).toMatchObject({
    a: '1',
  })
  for (const name of ['a', 'code', 'state', 'iss']) expect(callback.searchParams.getAll(name)).toHaveLength(1)
})

test('A13 a redirect URI that contains a response parameter cannot be registered', async () => {
  for (const query of ['code=x&iss=y&state=z', 'code=x', 'iss=y', 'state', 'a=1&%65rror=x', 'error_description=x'])
    expect((await register({ redirect_uris: [`${R}?${query}`] })).answer, query).toBe('400 invalid_redirect_uri')
  expect((await register({ redirect_uris: [`${R}?decode=1&statement=2`] })).answer).toBe('201 undefined')
})

test('A14 without a session, a self-registered client causes no redirect to its redirect URI', async () => {
  const { client_id } = await register({})
  for (const fields of [
    { scope: 'nonsense', resource: 'https://nowhere.example/' },
    { prompt: 'none' },
    { scope: undefined },
    { code_challenge: undefined },
  ])
    expectPage(await A({ client_id, ...fields }, new Browser()), JSON.stringify(fields))
  const page = await A({ client_id }, new Browser())
  expect(page.location).toContain(`${service.issuer}/login?`)
})

test('A16 the login and consent forms contain no request parameters, so changing form fields changes nothing', async () => {
  const [client, evil] = [await addTestClient(), await addTestClient({ redirect_uris: ['https://evil.example/cb'] })]
  const resource = await addResource(service)
  const page = await browser.follow(
    authorizeUrl(service, { client_id: client.client_id, redirect_uri: R, resource: resource.uri }),
  )
  const names = fieldsOf(page).map(([name]) => name)
  expect([...new Set(names)].sort()).toEqual(['csrf_token', 'scopes', 'session_id'])
  const forged: [string, string][] = [
    ['client_id', evil.client_id],
    ['redirect_uri', 'https://evil.example/cb'],
    ['scope', 'mcp:read mcp:write'],
    ['resource', 'https://evil.example/mcp'],
    ['response_type', 'token'],
    ['state', 'forged'],
  ]
  const answer = await browser.post(`${service.issuer}/consent`, [...fieldsOf(page), ...forged, ['action', 'allow']])
  expect(responseAt(answer)).toMatchObject({ state: 'some-state', code: expect.any(String) })
  const consents = (await service.app.store.listConsents({ user_id: user.id })).filter(
    (each) => each.client_id === client.client_id,
  )
  expect(consents).toMatchObject([{ resource_id: resource.id, scope: 'mcp:read' }])
  const login = await new Browser().open(`${service.issuer}/login`)
  expect(
    fieldsOf(login)
      .map(([name]) => name)
      .sort(),
  ).toEqual(['csrf_token', 'email', 'password', 'redirect'])
})

test('A17 a missing or empty scope is refused when a scope is required', async () => {
  for (const scope of ['', undefined])
    expect(responseAt(await A({ scope }))).toMatchObject({ error: 'invalid_scope', state: 'some-state' })
})

test('A18 scopes beyond the registration, the resource or all resources are refused', async () => {
  const [resource, other] = [await addResource(service), await addResource(service, { scopes: ['other:read'] })]
  const anyScope = (await addTestClient({ scope: '' })).client_id
  const narrow = (await addTestClient({ scope: 'mcp:read' })).client_id
  const wrong: Record<string, string>[] = [
    { client_id: narrow, resource: resource.uri, scope: 'mcp:write' },
    { client_id: narrow, scope: 'admin' },
    { client_id: anyScope, resource: resource.uri, scope: 'admin' },
    { client_id: anyScope, resource: resource.uri, scope: 'mcp:read admin' },
    { client_id: anyScope, resource: resource.uri, scope: 'other:read' },
    { client_id: anyScope, resource: resource.uri, scope: 'mcp:read"' },
  ]
  for (const fields of wrong)
    expect(responseAt(await A(fields)), JSON.stringify(fields)).toMatchObject({ error: 'invalid_scope' })
  // Scopes of two resources: the scopes of the other resource are omitted (oauth.narrow_scopes), never granted.
  const url = authorizeUrl(service, {
    client_id: anyScope,
    redirect_uri: R,
    resource: resource.uri,
    scope: 'mcp:read other:read',
  })
  const page = await browser.follow(url)
  expect(fieldsOf(page).filter(([name]) => name === 'scopes')).toEqual([['scopes', 'mcp:read']])
  expect(page.text).not.toContain(other.uri)
})

test('A20 two resource parameters are refused, and not reduced to the first', async () => {
  const [one, two] = [await addResource(service), await addResource(service)]
  const { client_id } = await addTestClient()
  const url = `${authorizeUrl(service, { client_id, redirect_uri: R, resource: one.uri })}&resource=${encodeURIComponent(two.uri)}`
  for (const each of [url, `${url}&resource=${encodeURIComponent(one.uri)}`, `${url}&resource=`])
    expect(responseAt(await browser.open(each)), each).toMatchObject({ error: 'invalid_target', state: 'some-state' })
})

test('A21 a hostile state is returned unchanged, escaped once, in the URL and in pages', async () => {
  const { client_id } = await addTestClient()
  for (const state of [
    '\r\nx-evil: 1\r\n\r\n<script>'.repeat(40),
    '😀"><script>alert(1)</script>',
    '%0d%0a%00 +&=#;/?',
    '\u2028\u202e',
  ]) {
    const page = await A({ client_id, state, scope: undefined })
    expect(responseAt(page)['state']).toBe(state)
    expect(page.headers.get('x-evil')).toBeNull()
    const consent = await browser.follow(authorizeUrl(service, { client_id, redirect_uri: R, state }))
    expect(consent.text).not.toContain('<script')
  }
  for (const raw of ['%00', '%ff', '%ed%a0%80', '%zz']) {
    const url = authorizeUrl(service, { client_id, redirect_uri: R }).replace('some-state', `a${raw}`)
    expectPage(await browser.open(url), raw)
  }
})

test('A22 request objects are refused, and request_uri is not fetched', async () => {
  const fetched = spyOnFetches(service)
  expect(responseAt(await A({ request_uri: 'http://169.254.169.254/' }))).toMatchObject({
    error: 'request_uri_not_supported',
  })
  expect(responseAt(await A({ request: 'eyJhbGciOiJub25lIn0.e30.' }))).toMatchObject({ error: 'request_not_supported' })
  expect(fetched.count()).toBe(0)
})

test('A24 a denial is final: its form sent again is the same answer, and cannot allow', async () => {
  const { client_id } = await addTestClient()
  const page = await browser.follow(authorizeUrl(service, { client_id, redirect_uri: R }))
  expect(responseAt(await decide(service, browser, page, 'deny'))).toMatchObject({
    error: 'access_denied',
    state: 'some-state',
  })
  expect(responseAt(await decide(service, browser, page, 'deny'))).toMatchObject({ error: 'access_denied' })
  // A person who went back in the history and changed their mind is asked again.
  expect((await decide(service, browser, page, 'allow')).location).toContain(`${service.issuer}/oauth/authorize?`)
})

test('A25 every response has exactly one iss, the configured issuer, whatever Host and X-Forwarded-Host are', async () => {
  const { client_id } = await addTestClient()
  const port = Number(new URL(service.issuer).port)
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  for (const scope of ['mcp%3Aread&prompt=none', '', 'a%22b']) {
    const { pathname, search } = new URL(authorizeUrl(service, { client_id, redirect_uri: R, scope: undefined }))
    const wire = await Wire.open(port)
    wire.send(
      `GET ${pathname}${search}&scope=${scope} HTTP/1.1\r\nhost: evil.example\r\nx-forwarded-host: evil.example\r\nforwarded: host=evil.example\r\ncookie: ${cookie}\r\n\r\n`,
    )
    const { status, headers } = await wire.answer()
    wire.leave()
    expect(status).toBe(303)
    const location = new URL(headers['location']?.[0] ?? '')
    expect(location.searchParams.getAll('iss')).toEqual([service.issuer])
    expect(location.href).not.toContain('evil')
  }
  const success = await walk(service, authorizeUrl(service, { client_id, redirect_uri: R }), user, browser)
  expect(success.searchParams.getAll('iss')).toEqual([service.issuer])
})

test('A26 a redirect URI that is registered for another client is refused', async () => {
  const other = await addTestClient({ redirect_uris: ['https://other.example/cb'] })
  const mine = await addTestClient()
  expectPage(await A({ client_id: mine.client_id, redirect_uri: 'https://other.example/cb' }))
  expectPage(await A({ client_id: other.client_id, redirect_uri: R }))
})

test('A28 a login answers with 303 to a URL of this service only', async () => {
  const targets = [
    '//evil.example',
    'https:evil.example',
    '/\\evil.example',
    '/%09/evil.example',
    '/\t/evil.example',
    'https://evil.example',
  ]
  for (const target of [...targets, '\\\\evil.example', '/.//evil.example', 'javascript:alert(1)']) {
    const fresh = new Browser()
    for (const name of ['redirect', 'return_to', 'next']) {
      const page = await fresh.open(`${service.issuer}/login?${new URLSearchParams({ [name]: target })}`)
      const answer = await signIn(service, fresh, page, user.email, PASSWORD)
      expect(answer.status).toBe(303)
      // Resolved as a browser does: against the URL of the page with the form.
      expect(new URL(answer.location ?? '').origin, `${name}=${target}`).toBe(service.issuer)
      expect(answer.headers.get('location')).toMatch(/^\/(?![/\\])/)
    }
  }
})

test('A29 too many parameters, a query that is too long and broken escapes are refused, and the service keeps working', async () => {
  const url = `${service.issuer}/oauth/authorize`
  const many = Array.from({ length: 201 }, (_, i) => `p${i}=1`).join('&')
  for (const query of [
    many,
    '%zz=1',
    'client_id=%',
    'client_id=%c0%af',
    'client_id=%ed%a0%80',
    'client_id=%f5%80%80%80',
    'a=%e0%80%af',
  ])
    expectPage(await browser.open(`${url}?${query}`), query.slice(0, 20))
  const port = Number(new URL(service.issuer).port)
  const wire = await Wire.open(port)
  wire.send(`GET /oauth/authorize?client_id=${'x'.repeat(64 * 1024)} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
  expect((await wire.answer()).status).toBe(431)
  wire.leave()
  expect((await fetch(`${service.issuer}/health`)).status).toBe(200)
})
