// What applications require of a sign-in: prompt, max_age, login_hint, id_token_hint, acr_values (OpenID Connect Core §3.1.2.1, RFC 9470).
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser } from '../support/browser.ts'
import { authorize, authorizeUrl, claimsOf, introspect, redeem, signIn } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_OAUTH_OPENID: 'true' })
})
afterAll(() => service.close())

const anApp = () => addClient(service, { scope: 'openid profile email offline_access mcp:read mcp:write' })
type App = Awaited<ReturnType<typeof anApp>>
type Fields = Record<string, string | undefined>

/** A browser in which a user has signed in to an application. */
async function signedIn() {
  const [app, user, browser] = [await anApp(), await addUser(service), new Browser()]
  const authorized = await authorize(service, app, user, { scope: 'openid' }, browser)
  const { body } = await redeem(service, app, authorized)
  return { app, user, browser, id_token: String(body['id_token']) }
}
const open = (app: App, browser: Browser, fields: Fields = {}) =>
  browser.follow(authorizeUrl(service, { client_id: app.client_id, scope: 'openid', ...fields }))
const asksToSignIn = ({ text }: { text: string }) => text.includes('type="password"')
const errorOf = ({ location = '' }: { location?: string }) => new URL(location).searchParams.get('error')
const timeOf = (id_token: unknown) => decodeJwt<{ auth_time: number }>(String(id_token)).auth_time

describe('prompt', () => {
  test('login asks again, and auth_time is that of the new sign-in', async () => {
    const { app, user, browser, id_token } = await signedIn()
    service.advance(100)
    expect(asksToSignIn(await open(app, browser, { prompt: 'login' }))).toBe(true)
    const again = await authorize(service, app, user, { scope: 'openid', prompt: 'login' }, browser)
    const { body } = await redeem(service, app, again)
    expect(timeOf(body['id_token'])).toBeGreaterThanOrEqual(timeOf(id_token) + 100)
  })

  test('login is not satisfied by going on with the session that was there before', async () => {
    const { app, browser } = await signedIn()
    service.advance(100)
    const url = authorizeUrl(service, { client_id: app.client_id, scope: 'openid', prompt: 'login' })
    const { location = '' } = await browser.open(url)
    const back = new URL(location).searchParams.get('redirect') ?? ''
    expect(asksToSignIn(await browser.follow(service.issuer + back))).toBe(true)
  })

  test('login together with consent shows both pages', async () => {
    const { app, user, browser } = await signedIn()
    const page = await open(app, browser, { prompt: 'login consent' })
    const { location = '' } = await signIn(service, browser, page, user.email)
    expect((await browser.follow(location)).text).toContain('value="allow"')
  })

  test('consent and select_account show the consent page, which names the account and offers another one', async () => {
    const { app, user, browser } = await signedIn()
    for (const prompt of ['consent', 'select_account']) {
      const { text } = await open(app, browser, { prompt })
      for (const part of [user.email, 'value="allow"', 'Use another account']) expect(text).toContain(part)
    }
  })

  test('consent beside offline_access, without openid, asks once for each scope; beside openid each time', async () => {
    const [app, user, browser, resource] = [
      await anApp(),
      await addUser(service),
      new Browser(),
      await addResource(service),
    ]
    const fields = { resource: resource.uri, prompt: 'consent', scope: 'mcp:read offline_access' }
    expect((await authorize(service, app, user, fields, browser)).code).not.toBe('')
    const again = (more: Fields) => open(app, browser, { ...fields, ...more })
    expect((await again({})).location).toContain('code=')
    expect((await again({ prompt: 'select_account' })).text).toContain('value="allow"')
    expect((await again({ scope: 'mcp:read' })).text).toContain('value="allow"')
    expect((await again({ scope: 'mcp:read mcp:write offline_access' })).text).toContain('value="allow"')
    const sign_in = { scope: 'openid offline_access', resource: undefined }
    await authorize(service, app, user, { ...fields, ...sign_in }, browser)
    expect((await again(sign_in)).text).toContain('value="allow"')
  })

  test('none returns a code where the user is signed in and has consented', async () => {
    const { app, browser } = await signedIn()
    expect((await open(app, browser, { prompt: 'none' })).location).toContain('code=')
  })

  test('none returns login_required or consent_required otherwise, and excludes other values', async () => {
    const { app, browser } = await signedIn()
    expect(errorOf(await open(app, new Browser(), { prompt: 'none' }))).toBe('login_required')
    expect(errorOf(await open(app, browser, { prompt: 'none', scope: 'openid email' }))).toBe('consent_required')
    expect(errorOf(await open(app, browser, { prompt: 'none login' }))).toBe('invalid_request')
  })

  test('a value that is not in the metadata is invalid_request', async () => {
    const { app, browser } = await signedIn()
    for (const prompt of ['create', 'LOGIN', 'login x'])
      expect(errorOf(await open(app, browser, { prompt }))).toBe('invalid_request')
  })
})

describe('max_age', () => {
  test('asks again for a sign-in that is older, and auth_time says when it was', async () => {
    const { app, user, browser, id_token } = await signedIn()
    service.advance(100)
    expect((await open(app, browser, { max_age: '3600' })).location).toContain('code=')
    expect(asksToSignIn(await open(app, browser, { max_age: '60' }))).toBe(true)
    const { body } = await redeem(
      service,
      app,
      await authorize(service, app, user, { scope: 'openid', max_age: '60' }, browser),
    )
    expect(timeOf(body['id_token'])).toBeGreaterThanOrEqual(timeOf(id_token) + 100)
  })

  test('0 always asks, once, also when the user needs time to sign in', async () => {
    const { app, user, browser } = await signedIn()
    const page = await open(app, browser, { max_age: '0' })
    expect(asksToSignIn(page)).toBe(true)
    service.advance(120)
    const { location = '' } = await signIn(service, browser, page, user.email)
    service.advance(3)
    expect((await browser.follow(location)).location).toContain('code=')
  })

  test('with prompt=none is login_required, and a value that is no number is invalid_request', async () => {
    const { app, browser } = await signedIn()
    service.advance(100)
    expect(errorOf(await open(app, browser, { max_age: '60', prompt: 'none' }))).toBe('login_required')
    for (const max_age of ['-1', '1.5', 'soon', '9999999999'])
      expect(errorOf(await open(app, browser, { max_age }))).toBe('invalid_request')
  })

  test('without openid the access token and introspection say when the user signed in', async () => {
    const [app, user, resource] = [await anApp(), await addUser(service), await addResource(service)]
    const fields = { scope: 'mcp:read', resource: resource.uri, max_age: '60' }
    const answer = await redeem(service, app, await authorize(service, app, user, fields))
    const { auth_time } = claimsOf<{ auth_time: number }>(answer)
    expect(auth_time).toBeGreaterThan(0)
    expect(answer.body).not.toHaveProperty('id_token')
    expect(await introspect(service, app, answer.body['access_token'])).toMatchObject({ auth_time })
  })
})

describe('hints', () => {
  test('login_hint is filled in on the login page, and markup in it is text', async () => {
    const app = await anApp()
    expect((await open(app, new Browser(), { login_hint: 'ada@example.com' })).text).toContain(
      'value="ada@example.com"',
    )
    expect((await open(app, new Browser(), { login_hint: '"><script>x' })).text).not.toContain('<script>x')
  })

  test('id_token_hint of the signed-in user changes nothing, also when the ID token has expired', async () => {
    const { app, browser, id_token } = await signedIn()
    service.advance(7200)
    expect((await open(app, browser, { id_token_hint: id_token, prompt: 'none' })).location).toContain('code=')
  })

  test('id_token_hint of another user asks for that user, and another sign-in is login_required', async () => {
    const { app, browser } = await signedIn()
    const other = await addUser(service)
    const authorized = await authorize(service, app, other, { scope: 'openid' })
    const { body } = await redeem(service, app, authorized)
    const fields = { id_token_hint: String(body['id_token']) }
    expect(errorOf(await open(app, browser, { ...fields, prompt: 'none' }))).toBe('login_required')
    service.advance(60)
    const page = await open(app, browser, fields)
    expect(asksToSignIn(page)).toBe(true)
    const third = await addUser(service)
    const wrong = await signIn(service, browser, page, third.email)
    expect(errorOf(await browser.follow(wrong.location ?? ''))).toBe('login_required')
    service.advance(60)
    const right = await signIn(service, browser, await open(app, browser, fields), other.email)
    expect((await browser.follow(right.location ?? '')).location).toContain('code=')
  })
})

test('another account than that of the consent page must satisfy the same request', async () => {
  const { app, browser, id_token } = await signedIn()
  const page = await open(app, browser, { max_age: '600', nonce: 'n', ui_locales: 'en', prompt: 'consent' })
  const [, link = ''] = /<a href="([^"]*)">Use another account/.exec(page.text) ?? []
  const { location = '' } = await browser.open(new URL(link.replaceAll('&amp;', '&'), service.issuer).href)
  const { searchParams } = new URL(location)
  const request = new URL(searchParams.get('redirect') ?? '', service.issuer).searchParams
  const kept = { max_age: '600', nonce: 'n', ui_locales: 'en', scope: 'openid', prompt: 'consent' }
  expect(Object.fromEntries(request)).toMatchObject(kept)
  expect(searchParams.get('prompt')).toBe('login')
  const hinted = await open(app, browser, { id_token_hint: id_token, prompt: 'consent' })
  expect(hinted.text).toContain('value="allow"')
  expect(hinted.text).not.toContain('Use another account')
})

describe('acr_values', () => {
  test('that no sign-in here can satisfy are unmet_authentication_requirements, before the user signs in', async () => {
    const { app, browser } = await signedIn()
    for (const each of [browser, new Browser()])
      expect(errorOf(await open(app, each, { acr_values: 'urn:mfa' }))).toBe('unmet_authentication_requirements')
  })
})

test('parameters that are not supported or not known change nothing', async () => {
  const { app, browser } = await signedIn()
  const odd = {
    display: 'popup',
    claims_locales: 'de',
    claims: '{"id_token":{"email":null}}',
    registration: '{}',
    x: 'y',
  }
  const { callback, verifier } = await authorize(service, app, { email: '' }, { scope: 'openid', ...odd }, browser)
  const { status, body } = await redeem(service, app, { code: callback.searchParams.get('code') ?? '', verifier })
  expect([status, body['scope']]).toEqual([200, 'openid'])
  expect(decodeJwt(String(body['id_token']))).not.toHaveProperty('email')
})

test('an authorization request may be a form', async () => {
  const { app, browser } = await signedIn()
  const { search } = new URL(authorizeUrl(service, { client_id: app.client_id, scope: 'openid' }))
  const { status, location = '' } = await browser.post(`${service.issuer}/oauth/authorize`, [
    ...new URLSearchParams(search),
  ])
  expect(status).toBe(303)
  expect((await browser.follow(location)).location).toContain('code=')
})
