// GET and POST /oauth/logout (OpenID Connect RP-Initiated Logout 1.0).
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { DocumentServer, forgetDocuments, LOCAL_DOCUMENTS } from '../support/documents.ts'
import { authorize, redeem, register } from '../support/flow.ts'
import { addClient, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

const AFTER = 'https://client.example.com/signed-out'
let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_OAUTH_OPENID: 'true' })
})
afterAll(() => service.close())

async function signedIn() {
  const app = await addClient(service, { scope: 'openid', post_logout_redirect_uris: [AFTER, `${AFTER}?kept=1`] })
  const [user, browser] = [await addUser(service), new Browser()]
  const { body } = await redeem(service, app, await authorize(service, app, user, { scope: 'openid' }, browser))
  return { app, user, browser, id_token_hint: String(body['id_token']) }
}
const logoutUrl = (fields: Record<string, string> = {}) =>
  `${service.issuer}/oauth/logout?${new URLSearchParams(fields)}`
const isKnown = async (browser: Browser) =>
  !(await browser.follow(`${service.issuer}/`)).text.includes('action="/login"')

test('with an ID token of the user the sign-in ends, and the browser returns to the registered URI with state', async () => {
  const { app, user, browser, id_token_hint } = await signedIn()
  const fields = { id_token_hint, client_id: app.client_id, post_logout_redirect_uri: AFTER, state: 'a b' }
  const page = await browser.open(logoutUrl(fields))
  expect([page.status, page.location]).toEqual([303, `${AFTER}?state=a+b`])
  expect(await isKnown(browser)).toBe(false)
  const [event] = await eventsOf(service, 'user_logout')
  expect(event).toMatchObject({ actor_id: user.id, client_id: app.client_id })
})

test('a POST does the same, and a URI with a query keeps it', async () => {
  const { browser, id_token_hint } = await signedIn()
  const fields = { id_token_hint, post_logout_redirect_uri: `${AFTER}?kept=1`, state: 's' }
  const page = await browser.post(`${service.issuer}/oauth/logout`, fields)
  expect([page.status, page.location]).toEqual([303, `${AFTER}?kept=1&state=s`])
  expect(await isKnown(browser)).toBe(false)
})

test('client_id must be the client of the ID token, otherwise a page asks first', async () => {
  const { browser, id_token_hint } = await signedIn()
  const { client_id } = await addClient(service, { scope: 'openid', post_logout_redirect_uris: [AFTER] })
  const page = await browser.open(logoutUrl({ id_token_hint, client_id, post_logout_redirect_uri: AFTER }))
  expect([page.status, page.location]).toEqual([200, undefined])
  expect(await isKnown(browser)).toBe(true)
})

test('an ID token that has expired is accepted, and so is a session that has ended', async () => {
  const { browser, id_token_hint } = await signedIn()
  service.advance(3 * 24 * 3600)
  const page = await browser.open(logoutUrl({ id_token_hint, post_logout_redirect_uri: AFTER }))
  expect(page.location).toBe(AFTER)
})

test('without an ID token, or with that of another user, a page asks first and nothing is redirected', async () => {
  const [one, other] = [await signedIn(), await signedIn()]
  const hints: Record<string, string>[] = [{}, { id_token_hint: other.id_token_hint }]
  for (const fields of hints) {
    const page = await one.browser.open(logoutUrl({ ...fields, post_logout_redirect_uri: AFTER }))
    expect([page.status, page.location]).toEqual([200, undefined])
    expect(page.text).toContain('Do you want to sign out?')
    expect(await isKnown(one.browser)).toBe(true)
  }
  expect((await one.browser.post(`${service.issuer}/logout`, {})).status).toBe(303)
  expect(await isKnown(one.browser)).toBe(false)
})

test('a form of another site, with which browsers send no cookie, is continued from a page of this service', async () => {
  const { browser, id_token_hint } = await signedIn()
  const fields = { id_token_hint, post_logout_redirect_uri: AFTER }
  const page = await new Browser().post(`${service.issuer}/oauth/logout`, fields, { 'sec-fetch-site': 'cross-site' })
  const again = page.headers.get('refresh')?.slice('0;url='.length) ?? ''
  expect([page.status, page.location]).toEqual([200, undefined])
  const next = await browser.open(service.issuer + again, { headers: { 'sec-fetch-site': 'same-origin' } })
  expect(next.location).toBe(AFTER)
  expect(await isKnown(browser)).toBe(false)
})

test('operators and clients register post_logout_redirect_uris; unsafe ones are refused or left out', async () => {
  const { client_id } = await addClient(service)
  const path = `/admin/clients/${client_id}`
  const patch = (uris: string[]) => okAdmin(service, 'PATCH', path, { post_logout_redirect_uris: uris })
  expect(await patch([AFTER])).toMatchObject({ post_logout_redirect_uris: [AFTER] })
  expect(await okAdmin(service, 'GET', path)).toMatchObject({ post_logout_redirect_uris: [AFTER] })
  await expect(patch(['http://evil.example/'])).rejects.toThrow('post_logout_redirect_uris[0]')
  const uris = [AFTER, 'javascript:alert(1)', 'http://evil.example/']
  const registered = await register(service, { post_logout_redirect_uris: uris })
  expect(await registered.json()).toMatchObject({ post_logout_redirect_uris: [AFTER] })
})

test('a client by document has the URIs of its document: the safe ones, and those of a new version of the document', async () => {
  const documents = await DocumentServer.start()
  const own = await startService({ ...LOCAL_DOCUMENTS, SERVICE_OAUTH_OPENID: 'true' })
  try {
    const members = { redirect_uris: [REDIRECT_URI], token_endpoint_auth_method: 'none' }
    const publish = (uris: string[]) =>
      documents.publish('/oauth/client.json', { ...members, post_logout_redirect_uris: uris })
    const client_id = publish([AFTER, 'javascript:alert(1)', 'http://evil.example/'])
    const user = await addUser(own)
    const logout = async (post_logout_redirect_uri: string) => {
      const browser = new Browser()
      const authorized = await authorize(own, { client_id }, user, { scope: 'openid' }, browser)
      const id_token_hint = String((await redeem(own, { client_id }, authorized)).body['id_token'])
      const query = new URLSearchParams({ id_token_hint, post_logout_redirect_uri })
      return (await browser.open(`${own.issuer}/oauth/logout?${query}`)).location
    }
    expect(await logout(AFTER)).toBe(AFTER)
    expect(await logout('http://evil.example/')).toBeUndefined()
    const path = `/admin/clients/${encodeURIComponent(client_id)}`
    expect(await okAdmin(own, 'GET', path)).toMatchObject({ post_logout_redirect_uris: [AFTER] })
    await expect(okAdmin(own, 'PATCH', path, { post_logout_redirect_uris: [AFTER] })).rejects.toThrow(
      'metadata document',
    )
    const next = 'https://client.example.com/goodbye'
    publish([next])
    await forgetDocuments(own)
    expect(await logout(next)).toBe(next)
    expect(await logout(AFTER)).toBeUndefined()
  } finally {
    documents.close()
    await own.close()
  }
})
