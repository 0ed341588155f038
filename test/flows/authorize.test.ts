import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser, fieldsOf } from '../support/browser.ts'
import { authorize, authorizeUrl, decide, expectRefused, redeem, register, signIn } from '../support/flow.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const setUp = async (clientFields: Record<string, unknown> = {}, record = {}) => ({
  client: await addClient(service, { token_endpoint_auth_method: 'none', ...clientFields }, record),
  user: await addUser(service),
  resource: await addResource(service),
})

describe('errors without a valid redirect URI', () => {
  const direct: [string, Record<string, string | undefined>, string][] = [
    ['a missing client_id', { client_id: undefined }, 'invalid_request'],
    ['an unknown client', { client_id: 'nobody' }, 'invalid_client'],
    ['a redirect_uri of somebody else', { redirect_uri: 'https://evil.example/callback' }, 'invalid_request'],
    ['a redirect_uri with another path', { redirect_uri: `${REDIRECT_URI}/more` }, 'invalid_request'],
    ['a redirect_uri with another query', { redirect_uri: `${REDIRECT_URI}?a=b` }, 'invalid_request'],
  ]
  for (const [what, fields, error] of direct)
    test(`${what} is answered with 400 ${error}, never with a redirect`, async () => {
      const { client } = await setUp()
      const page = await new Browser().open(authorizeUrl(service, { client_id: client.client_id, ...fields }), {
        headers: { accept: 'application/json' },
      })
      expect(page.status).toBe(400)
      expect(page.location).toBeUndefined()
      expect(JSON.parse(page.text)).toMatchObject({ error, status: 400 })
    })

  test('a suspended client is refused', async () => {
    const { client } = await setUp({}, { status: 'suspended' })
    const page = await new Browser().open(authorizeUrl(service, { client_id: client.client_id }))
    expect([page.status, page.location]).toEqual([400, undefined])
  })

  test('browsers get a page, and no parameter of the request is markup in it', async () => {
    const page = await new Browser().open(authorizeUrl(service, { client_id: '<script>alert(1)</script>' }))
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.text).not.toContain('<script')
  })

  test('a repeated parameter is refused', async () => {
    const { client } = await setUp()
    const url = `${authorizeUrl(service, { client_id: client.client_id })}&scope=mcp%3Awrite`
    expect((await new Browser().open(url)).status).toBe(400)
  })
})

describe('errors that are redirected to the client, with state and iss', () => {
  const redirected: [string, Record<string, string | undefined>, string][] = [
    ['a missing response_type', { response_type: undefined }, 'invalid_request'],
    ['response_type=token', { response_type: 'token' }, 'unsupported_response_type'],
    ['a missing code_challenge', { code_challenge: undefined }, 'invalid_request'],
    ['a code_challenge of the wrong length', { code_challenge: 'short' }, 'invalid_request'],
    ['code_challenge_method=plain', { code_challenge_method: 'plain' }, 'invalid_request'],
    [
      'a missing code_challenge_method, which would mean plain',
      { code_challenge_method: undefined },
      'invalid_request',
    ],
    ['a missing scope', { scope: undefined }, 'invalid_scope'],
    ['a malformed scope', { scope: 'a"b' }, 'invalid_scope'],
    ['an unknown resource', { resource: 'https://unknown.example/' }, 'invalid_target'],
    ['a request object', { request: 'x.y.z' }, 'request_not_supported'],
    [
      'authorization_details of an unknown type',
      { authorization_details: '[{"type":"a"}]' },
      'invalid_authorization_details',
    ],
    ['prompt=none without a session', { prompt: 'none' }, 'login_required'],
  ]
  for (const [what, fields, error] of redirected)
    test(`${what}: ${error}`, async () => {
      const { client } = await setUp()
      const page = await new Browser().open(authorizeUrl(service, { client_id: client.client_id, ...fields }))
      const back = new URL(page.location ?? '')
      expect(back.origin + back.pathname).toBe(REDIRECT_URI)
      expect(Object.fromEntries(back.searchParams)).toMatchObject({ error, state: 'some-state', iss: service.issuer })
      expect(back.searchParams.has('code')).toBe(false)
    })

  test('a scope that the resource does not declare is invalid_scope', async () => {
    const { client, resource } = await setUp()
    const page = await new Browser().open(
      authorizeUrl(service, { client_id: client.client_id, resource: resource.uri, scope: 'mcp:admin' }),
    )
    expect(new URL(page.location ?? '').searchParams.get('error')).toBe('invalid_scope')
  })

  test('a resource with an additional trailing slash is another resource', async () => {
    const { client, resource } = await setUp()
    const page = await new Browser().open(
      authorizeUrl(service, { client_id: client.client_id, resource: `${resource.uri}/` }),
    )
    expect(new URL(page.location ?? '').searchParams.get('error')).toBe('invalid_target')
  })

  test('a self-registered client gets no error redirect before a user has signed in', async () => {
    const { client } = await setUp({}, { registration_source: 'dcr' })
    const page = await new Browser().open(authorizeUrl(service, { client_id: client.client_id, scope: undefined }))
    expect([page.status, page.location]).toEqual([400, undefined])
  })
})

describe('from the request to the code', () => {
  test('login and consent lead to a code with state and iss', async () => {
    const { client, user, resource } = await setUp()
    const { callback, verifier, code } = await authorize(service, client, user, { resource: resource.uri })
    expect(callback.origin + callback.pathname).toBe(REDIRECT_URI)
    expect(Object.fromEntries(callback.searchParams)).toEqual({
      code: expect.stringMatching(/^ac_[A-Za-z0-9_-]{64}$/),
      state: 'some-state',
      iss: service.issuer,
    })
    expect((await redeem(service, client, { code, verifier })).status).toBe(200)
  })

  test('the consent page names client, host, resource and scopes, and escapes them', async () => {
    const { client, user, resource } = await setUp({ client_name: 'A <b>"bold"</b> & client' })
    const browser = new Browser()
    const url = authorizeUrl(service, { client_id: client.client_id, resource: resource.uri })
    const answer = await signIn(service, browser, await browser.follow(url), user.email)
    const page = await browser.follow(answer.location ?? '')
    expect(page.text).toContain('A &lt;b&gt;&quot;bold&quot;&lt;/b&gt; &amp; client')
    for (const part of ['client.example.com', resource.display_name, resource.uri, 'Use mcp:read', 'mcp:read'])
      expect(page.text).toContain(part)
    expect(page.text).not.toContain('your own device')
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-[^']+';/)
    expect(page.headers.get('cache-control')).toBe('no-store')
  })

  test('the consent page warns about a loopback redirect', async () => {
    const redirect_uri = 'http://127.0.0.1:7777/callback'
    const { client, user } = await setUp({ redirect_uris: [redirect_uri] })
    const browser = new Browser()
    const url = authorizeUrl(service, { client_id: client.client_id, redirect_uri })
    const answer = await signIn(service, browser, await browser.follow(url), user.email)
    expect((await browser.follow(answer.location ?? '')).text).toContain('your own device')
  })

  test('a program that registered one loopback port signs in at another, and redeems its code with that one', async () => {
    const registered = { redirect_uris: ['http://127.0.0.1:51004/callback'], token_endpoint_auth_method: 'none' }
    const client = (await (await register(service, registered)).json()) as { client_id: string }
    const redirect_uri = 'http://127.0.0.1:63999/callback'
    const [user, resource] = [await addUser(service), await addResource(service)]
    const authorized = await authorize(service, client, user, { redirect_uri, resource: resource.uri })
    expect(authorized.callback.host).toBe('127.0.0.1:63999')
    expectRefused(
      await redeem(service, client, authorized, { redirect_uri: registered.redirect_uris[0] }),
      'invalid_grant',
    )
    expect((await redeem(service, client, authorized, { redirect_uri })).status).toBe(200)
  })

  test('a consent is remembered for a resource, and asked again for more scopes or with prompt=consent', async () => {
    const { client, user, resource } = await setUp()
    const { browser } = await authorize(service, client, user, { resource: resource.uri })
    const at = (fields: Record<string, string>) =>
      browser.open(authorizeUrl(service, { client_id: client.client_id, resource: resource.uri, ...fields }))
    expect(new URL((await at({})).location ?? '').searchParams.has('code')).toBe(true)
    expect((await at({ scope: 'mcp:read mcp:write' })).location).toContain('/consent?')
    expect((await at({ prompt: 'consent' })).location).toContain('/consent?')
    expect((await at({ prompt: 'login' })).location).toContain('/login?')
    const silent = new URL((await at({ scope: 'mcp:write', prompt: 'none' })).location ?? '')
    expect(silent.searchParams.get('error')).toBe('consent_required')
  })

  test.each([
    ['a native client at any port', { application_type: 'native', redirect_uris: ['http://127.0.0.1/cb'] }, 51_004],
    ['a client at one port', { redirect_uris: ['http://localhost:7777/cb'] }, 7777],
  ])('a public client on loopback is asked about each time, and never silently: %s', async (_what, fields, port) => {
    const { client, user, resource } = await setUp(fields)
    const [at = ''] = fields.redirect_uris
    const redirect_uri = `${new URL(at).protocol}//${new URL(at).hostname}:${port}/cb`
    const { browser } = await authorize(service, client, user, { resource: resource.uri, redirect_uri })
    const ask = { client_id: client.client_id, resource: resource.uri, redirect_uri }
    expect((await browser.open(authorizeUrl(service, ask))).location).toContain('/consent?')
    const silent = new URL((await browser.open(authorizeUrl(service, { ...ask, prompt: 'none' }))).location ?? '')
    expect(silent.searchParams.get('error')).toBe('consent_required')
  })

  test('the consent for a confidential client on loopback is remembered', async () => {
    const redirect_uri = 'http://localhost:7777/cb'
    const { client, user, resource } = await setUp({
      token_endpoint_auth_method: 'client_secret_basic',
      redirect_uris: [redirect_uri],
    })
    const { browser } = await authorize(service, client, user, { resource: resource.uri, redirect_uri })
    const ask = { client_id: client.client_id, resource: resource.uri, redirect_uri }
    expect((await browser.open(authorizeUrl(service, ask))).location).toContain('code=')
  })

  test('a consent to more scopes keeps the earlier scopes; without a resource no consent is remembered', async () => {
    const { client, user, resource } = await setUp()
    const { browser } = await authorize(service, client, user, { resource: resource.uri, scope: 'mcp:read' })
    await authorize(service, client, user, { resource: resource.uri, scope: 'mcp:write' }, browser)
    const [consent] = await service.app.store.listConsents({ user_id: user.id })
    expect(consent?.scope.split(' ').sort()).toEqual(['mcp:read', 'mcp:write'])
    await authorize(service, client, user, {}, browser)
    const page = await browser.open(authorizeUrl(service, { client_id: client.client_id }))
    expect(page.location).toContain('/consent?')
  })

  test('a user may clear scopes, and the token has only the remaining ones', async () => {
    const { client, user, resource } = await setUp()
    const browser = new Browser()
    const { browser: signedIn } = await authorize(service, client, user, {}, browser)
    const url = authorizeUrl(service, {
      client_id: client.client_id,
      resource: resource.uri,
      scope: 'mcp:read mcp:write',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    })
    const page = await decide(service, signedIn, await signedIn.follow(url), 'allow', ['mcp:write'])
    const code = new URL(page.location ?? '').searchParams.get('code') ?? ''
    const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
    expect((await redeem(service, client, { code, verifier })).body['scope']).toBe('mcp:write')
  })

  test('a denial redirects with access_denied, state and iss, and stores no code and no consent', async () => {
    const { client, user, resource } = await setUp()
    const browser = new Browser()
    await authorize(service, client, user, {}, browser)
    const url = authorizeUrl(service, { client_id: client.client_id, resource: resource.uri })
    const page = await browser.follow(url)
    const back = new URL((await decide(service, browser, page, 'deny')).location ?? '')
    expect(Object.fromEntries(back.searchParams)).toMatchObject({
      error: 'access_denied',
      state: 'some-state',
      iss: service.issuer,
    })
    expect(await service.app.store.listConsents({ user_id: user.id })).toEqual([])
    expect((await decide(service, browser, page, 'deny')).location).toBe(back.href)
    expect((await decide(service, browser, page, 'allow')).location).toContain('/oauth/authorize?')
    const [event, ...more] = await service.app.store.listAudit({
      action: 'consent_denied',
      since: '',
      limit: 2,
      offset: 0,
    })
    expect(more).toEqual([])
    expect(event).toMatchObject({ actor_id: user.id, client_id: client.client_id })
  })

  test('with oauth.require_scope false a missing scope means all scopes of the resource', async () => {
    const lenient = await startService({ SERVICE_OAUTH_REQUIRE_SCOPE: 'false' })
    try {
      const client = await addClient(lenient, { token_endpoint_auth_method: 'none' })
      const [user, resource] = [await addUser(lenient), await addResource(lenient)]
      const authorized = await authorize(lenient, client, user, { resource: resource.uri, scope: undefined })
      expect((await redeem(lenient, client, authorized)).body['scope']).toBe('mcp:read mcp:write')
    } finally {
      await lenient.close()
    }
  })
})

describe('forms of other sessions are refused', () => {
  test('the consent form of another session, with a changed token, from another site or with other scopes is refused', async () => {
    const { client, user, resource } = await setUp()
    const other = await addUser(service)
    const [mine, theirs] = [new Browser(), new Browser()]
    await authorize(service, client, user, {}, mine)
    await authorize(service, client, other, {}, theirs)
    const page = await mine.follow(authorizeUrl(service, { client_id: client.client_id, resource: resource.uri }))
    const fields = [...fieldsOf(page), ['action', 'allow'] as [string, string]]
    const url = `${service.issuer}/consent`
    expect((await theirs.post(url, fields)).status).toBe(403)
    const lost = await new Browser().post(url, fields)
    expect([lost.status, lost.text]).toEqual([401, expect.stringContaining('Your browser does not send cookies')])
    const strange = new Browser()
    strange.cookies.set('other', 'x')
    expect((await strange.post(url, fields)).location).toContain('/login?')
    expect((await mine.post(url, fields, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    const forged = fields.map(
      ([name, value]) => [name, name === 'csrf_token' ? `${value}x` : value] as [string, string],
    )
    expect((await mine.post(url, forged)).status).toBe(403)
    expect((await decide(service, mine, page, 'allow', ['mcp:read', 'mcp:write'])).status).toBe(400)
    expect((await decide(service, mine, page, 'allow', [])).status).toBe(400)
    expect((await decide(service, mine, page, 'allow')).location).toContain('code=')
  })

  test('a consent page is only for its browser; after ten minutes the request begins again', async () => {
    const { client, user } = await setUp()
    const browser = new Browser()
    await authorize(service, client, user, {}, browser)
    const page = await browser.open(authorizeUrl(service, { client_id: client.client_id }))
    const again = new Browser()
    await authorize(service, client, user, {}, again)
    expect((await again.open(page.location ?? '')).status).toBe(400)
    expect((await browser.open(page.location ?? '')).status).toBe(200)
    service.advance(601)
    expect((await browser.open(page.location ?? '')).location).toContain('/oauth/authorize?')
  })
})
