// Attacks on the OpenID provider: ID tokens in the place of other tokens, logout links, and requests that must stay silent.
import { createHmac } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { base64url } from '../support/dpop.ts'
import { addExchanger, exchange } from '../support/exchange.ts'
import { authorize, authorizeUrl, expectRefused, introspect, post, redeem } from '../support/flow.ts'
import { addClient, addResource, addUser, PASSWORD, startService, type TestService } from '../support/service.ts'

const AFTER = 'https://client.example.com/signed-out'
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token'
const JWT = 'urn:ietf:params:oauth:token-type:jwt'
const SCOPE = 'openid profile email mcp:read mcp:write'

let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_OAUTH_OPENID: 'true' })
})
afterAll(() => service.close())

/** A user who is signed in at an application, with the tokens of that. */
async function signedIn(fields: Record<string, string> = {}, client?: Awaited<ReturnType<typeof addClient>>) {
  const app = client ?? (await addExchanger(service, { scope: SCOPE, post_logout_redirect_uris: [AFTER] }))
  const [user, browser] = [await addUser(service), new Browser()]
  const authorized = await authorize(service, app, user, { scope: 'openid', ...fields }, browser)
  const { body } = await redeem(service, app, authorized)
  return { app, user, browser, access_token: String(body['access_token']), id_token: String(body['id_token']) }
}

const isKnown = async (browser: Browser) =>
  !(await browser.follow(`${service.issuer}/`)).text.includes('action="/login"')
const logoutUrl = (fields: Record<string, string>) => `${service.issuer}/oauth/logout?${new URLSearchParams(fields)}`

describe('an ID token', () => {
  test('U01: is no access token: introspection, userinfo, revocation and exchange refuse it', async () => {
    const { app, id_token, access_token } = await signedIn()
    expect(await introspect(service, app, id_token)).toEqual({ active: false })
    const asked = await fetch(`${service.issuer}/oauth/userinfo`, { headers: { authorization: `Bearer ${id_token}` } })
    expect(asked.status).toBe(401)
    await post(`${service.issuer}/oauth/revoke`, app, { token: id_token })
    expect(await introspect(service, app, access_token)).toMatchObject({ active: true })
    const resource = (await addResource(service)).uri
    for (const subject_token_type of [undefined, JWT, ID_TOKEN])
      expectRefused(
        await exchange(service, app, {
          subject_token: id_token,
          ...(subject_token_type ? { subject_token_type } : {}),
          resource,
        }),
        'invalid_grant',
      )
    const bound = await signedIn({ scope: 'openid mcp:read', resource })
    const fields = { subject_token: bound.access_token, resource, scope: 'mcp:read' }
    expect((await exchange(service, bound.app, fields)).status).toBe(200)
    const actor = { actor_token: bound.id_token, actor_token_type: JWT }
    expectRefused(await exchange(service, bound.app, { ...fields, ...actor }), 'invalid_grant')
  })

  test('U02: is not accepted as a client assertion or an ID-JAG', async () => {
    const { app, id_token } = await signedIn()
    const asClient = await post(`${service.issuer}/oauth/token`, undefined, {
      grant_type: 'client_credentials',
      client_id: app.client_id,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: id_token,
    })
    expectRefused(asClient, 'invalid_client', 401)
    const asGrant = await post(`${service.issuer}/oauth/token`, await jagClient(), {
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: id_token,
    })
    expectRefused(asGrant, 'invalid_grant')
  })

  test('U03: names no user as id_token_hint when it is an access token, was changed, is of another client or of another issuer', async () => {
    const resource = await addResource(service)
    await okAdmin(service, 'PATCH', `/admin/resources/${resource.id}`, { access_token_typ: 'JWT' })
    const { app, browser, id_token, access_token } = await signedIn({
      scope: 'openid mcp:read',
      resource: resource.uri,
    })
    const other = await signedIn()
    const [header = '', payload = '', signature = ''] = id_token.split('.')
    const forged = (claims: object) => `${header}.${base64url({ ...decodeJwt(id_token), ...claims })}.${signature}`
    const unsigned = `${base64url({ ...decodeProtectedHeader(id_token), alg: 'none' })}.${payload}.`
    const head = base64url({ ...decodeProtectedHeader(id_token), alg: 'HS256' })
    const secret = app.client_secret
    const symmetric = `${head}.${payload}.${createHmac('sha256', secret).update(`${head}.${payload}`).digest('base64url')}`
    const wrong = [access_token, forged({ sub: other.user.id }), forged({}).slice(0, -2), unsigned, symmetric, 'x.y.z']
    for (const hint of wrong) {
      const fields = { client_id: app.client_id, scope: 'openid', prompt: 'none', id_token_hint: hint }
      const { location = '' } = await browser.open(authorizeUrl(service, fields))
      expect(new URL(location).searchParams.get('error')).toBe('invalid_request')
      const page = await browser.open(logoutUrl({ id_token_hint: hint, post_logout_redirect_uri: AFTER }))
      expect([page.status, page.location, await isKnown(browser)]).toEqual([200, undefined, true])
    }
    const fields = { client_id: app.client_id, scope: 'openid', prompt: 'none', id_token_hint: other.id_token }
    const { location = '' } = await browser.open(authorizeUrl(service, fields))
    expect(new URL(location).searchParams.get('error')).toBe('invalid_request')
  })
})

/** A confidential client for assertions of identity providers. */
const jagClient = () => addClient(service, {}, { grant_types: ['urn:ietf:params:oauth:grant-type:jwt-bearer'] })

describe('userinfo', () => {
  test('U04: refuses the token of a resource, also when it was exchanged, has openid, or names the issuer as its resource', async () => {
    const resource = (await addResource(service)).uri
    const { app, access_token } = await signedIn({ scope: 'openid mcp:read', resource })
    const exchanged = await exchange(service, app, { subject_token: access_token, resource, scope: 'mcp:read' })
    for (const token of [access_token, String(exchanged.body['access_token'])]) {
      const answer = await fetch(`${service.issuer}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } })
      expect([answer.status, ((await answer.json()) as { sub?: string }).sub]).toEqual([401, undefined])
    }
    const fields = { scope: 'openid mcp:read', resource: service.issuer }
    const { callback } = await authorize(service, app, await addUser(service), fields)
    expect(callback.searchParams.get('error')).toBe('invalid_target')
  })

  test('U04: refuses the token of a resource that is registered under the URI of the issuer', async () => {
    const own = await startService({ SERVICE_OAUTH_OPENID: 'true' })
    try {
      const resource = (await addResource(own, { uri: own.issuer })).uri
      const app = await addClient(own, { scope: SCOPE })
      const { body } = await redeem(
        own,
        app,
        await authorize(own, app, await addUser(own), { scope: 'openid mcp:read', resource }),
      )
      const headers = { authorization: `Bearer ${body['access_token']}` }
      expect(await introspect(own, app, body['access_token'])).toMatchObject({ active: true, scope: 'openid mcp:read' })
      expect((await fetch(`${own.issuer}/oauth/userinfo`, { headers })).status).toBe(401)
    } finally {
      await own.close()
    }
  })
})

describe('a logout link', () => {
  test('U05: of another site ends no sign-in: without a hint, with that of another user, or with a form', async () => {
    const [victim, attacker] = [await signedIn(), await signedIn()]
    const evil = { origin: 'https://evil.example', referer: 'https://evil.example/', 'sec-fetch-site': 'cross-site' }
    const sent: Record<string, string>[] = [{}, { id_token_hint: attacker.id_token, post_logout_redirect_uri: AFTER }]
    for (const fields of sent) {
      const got = await victim.browser.open(logoutUrl(fields), { headers: evil })
      const posted = await victim.browser.post(`${service.issuer}/oauth/logout`, fields, evil)
      for (const page of [got, posted]) expect([page.status, page.location]).toEqual([200, undefined])
    }
    const confirmed = await victim.browser.post(`${service.issuer}/logout`, {}, evil)
    expect(confirmed.status).toBe(403)
    expect(await isKnown(victim.browser)).toBe(true)
  })

  test('U06: redirects to no URI that the client of the ID token has not registered exactly', async () => {
    const uris = [
      'https://evil.example/',
      `${AFTER}/more`,
      `${AFTER}?x=1`,
      `${AFTER}#x`,
      '//evil.example/',
      'javascript:alert(1)',
    ]
    for (const post_logout_redirect_uri of uris) {
      const { browser, id_token } = await signedIn()
      const page = await browser.open(logoutUrl({ id_token_hint: id_token, post_logout_redirect_uri }))
      expect([page.status, page.location], post_logout_redirect_uri).toEqual([200, undefined])
      expect(page.text).not.toContain('evil.example')
    }
    const stranger = await addClient(service, { post_logout_redirect_uris: ['https://stranger.example.com/'] })
    const { browser, id_token: id_token_hint } = await signedIn()
    const fields = {
      id_token_hint,
      client_id: stranger.client_id,
      post_logout_redirect_uri: 'https://stranger.example.com/',
    }
    expect((await browser.open(logoutUrl(fields))).location).toBeUndefined()
    const suspended = await signedIn()
    await okAdmin(service, 'PATCH', `/admin/clients/${suspended.app.client_id}/suspend`)
    const hint = { id_token_hint: suspended.id_token, post_logout_redirect_uri: AFTER }
    expect((await suspended.browser.open(logoutUrl(hint))).location).toBeUndefined()
  })
})

describe('prompt=none', () => {
  test('U07: shows no page, names no user, and gives no code without a session and consent of the user', async () => {
    const app = await addClient(service, { scope: SCOPE })
    const [user, browser] = [await addUser(service), new Browser()]
    const silent = async (fields: Record<string, string> = {}) => {
      const url = authorizeUrl(service, { client_id: app.client_id, scope: 'openid email', prompt: 'none', ...fields })
      const { status, location = '' } = await browser.open(url)
      for (const about of [user.id, user.email, user.name]) expect(location).not.toContain(encodeURIComponent(about))
      const { searchParams } = new URL(location)
      return [status, searchParams.get('error'), searchParams.get('code')]
    }
    expect(await silent()).toEqual([303, 'login_required', null])
    expect(await silent({ login_hint: user.email })).toEqual([303, 'login_required', null])
    await browser.post(`${service.issuer}/login`, await loginFields(browser, user.email))
    expect(await silent()).toEqual([303, 'consent_required', null])
    expect(await silent({ login_hint: 'somebody@example.com' })).toEqual([303, 'consent_required', null])
    for (const prompt of ['none login', 'none consent', 'none select_account'])
      expect(await silent({ prompt })).toEqual([303, 'invalid_request', null])
  })

  test('U08: of a client that registered itself does not redirect while no user is signed in', async () => {
    const app = await addClient(service, {}, { registration_source: 'dcr' })
    const url = authorizeUrl(service, { client_id: app.client_id, scope: 'openid', prompt: 'none' })
    expect((await new Browser().open(url)).location).toBeUndefined()
  })
})

/** The fields of the login form, filled in. */
async function loginFields(browser: Browser, email: string): Promise<Record<string, string>> {
  const { text } = await browser.open(`${service.issuer}/login`)
  const csrf_token = /name="csrf_token" value="([^"]*)"/.exec(text)?.[1] ?? ''
  return { csrf_token, redirect: '/', email, password: PASSWORD }
}

test('U09: login_for, acr_values and max_age that a caller changes never change what the tokens say about the sign-in', async () => {
  const { app, user, browser } = await signedIn()
  service.advance(600)
  const fields = { scope: 'openid', max_age: '60', login_for: '1', prompt: 'none' }
  const { code, callback, verifier } = await authorize(service, app, user, fields, browser)
  if (code === '') expect(callback.searchParams.get('error')).toBe('login_required')
  else {
    const { body } = await redeem(service, app, { code, verifier })
    const { auth_time, iat = 0 } = decodeJwt<{ auth_time: number }>(String(body['id_token']))
    expect(iat - auth_time).toBeGreaterThanOrEqual(600)
  }
  const acr = await authorize(service, app, user, { scope: 'openid', acr_values: 'urn:mfa', login_for: '1' }, browser)
  expect(acr.callback.searchParams.get('error')).toBe('unmet_authentication_requirements')
})

describe('a login that a request requires', () => {
  /** The URL of the same request that the login page returns to. */
  async function returnOf(browser: Browser, url: string): Promise<string> {
    const { location = '' } = await browser.open(url)
    return service.issuer + (new URL(location).searchParams.get('redirect') ?? '')
  }
  const asksToSignIn = async (browser: Browser, url: string) =>
    (await browser.follow(url)).text.includes('type="password"')
  const login = async (browser: Browser, email: string, returnTo: string) => {
    const { pathname, search } = new URL(returnTo)
    const fields = { ...(await loginFields(browser, email)), redirect: pathname + search }
    return browser.post(`${service.issuer}/login`, fields)
  }

  for (const required of [{ prompt: 'login' }, { max_age: '0' }])
    test(`U10: is not satisfied by a session of this second, whatever the URL says: ${Object.keys(required)}`, async () => {
      const { app, browser } = await signedIn()
      const url = authorizeUrl(service, { client_id: app.client_id, scope: 'openid', ...required })
      const back = await returnOf(browser, url)
      const now = service.app.clock.now()
      const changed = [1, 2, 3].map(() => back.replace(/login_for=\d+/, `login_for=${now - 60}`))
      for (const each of [back, ...changed, `${url}&login_for=${now}`, `${url}&login_after=${now}`])
        expect(await asksToSignIn(browser, each)).toBe(true)
    })

  test('U10: is not satisfied by a login for another request, or by a request that was changed after the login', async () => {
    const { app, user, browser } = await signedIn()
    const url = authorizeUrl(service, { client_id: app.client_id, scope: 'openid', prompt: 'login' })
    const [first, second] = [await returnOf(browser, url), await returnOf(browser, url)]
    expect(second).not.toBe(first)
    const { location = '' } = await login(browser, user.email, first)
    expect(await asksToSignIn(browser, second)).toBe(true)
    expect(await asksToSignIn(browser, location.replace('some-state', 'other-state'))).toBe(true)
    expect((await browser.follow(location)).location).toContain('code=')
  })

  test('U10: is not satisfied by the same login hours later, or by a later login of the same browser', async () => {
    const { app, user, browser } = await signedIn()
    const url = authorizeUrl(service, { client_id: app.client_id, scope: 'openid', max_age: '0' })
    const { location = '' } = await login(browser, user.email, await returnOf(browser, url))
    await login(browser, user.email, `${service.issuer}/account`)
    expect(await asksToSignIn(browser, location)).toBe(true)
    const again = await login(browser, user.email, await returnOf(browser, url))
    service.advance(3600)
    expect(await asksToSignIn(browser, again.location ?? '')).toBe(true)
  })
})

test('U11: HEAD at the logout and authorization endpoints has no effect', async () => {
  const { app, browser, id_token } = await signedIn()
  const authorization = authorizeUrl(service, { client_id: app.client_id, scope: 'openid' })
  for (const url of [logoutUrl({ id_token_hint: id_token }), authorization]) {
    const { status, headers, location } = await browser.open(url, { method: 'HEAD' })
    expect([status, location, headers.get('allow')]).toEqual([405, undefined, 'GET, POST'])
  }
  expect(await isKnown(browser)).toBe(true)
})
