// What an upstream provider says about a sign-in is what the tokens of this service say: auth_time, amr and acr.
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { APPROVALS, addAgent, askPerson, decideOn, idIn, inboxOf, pollFor } from '../support/approvals.ts'
import { Browser } from '../support/browser.ts'
import { authorizeUrl, claimsOf, decide, redeem } from '../support/flow.ts'
import { type FakeProvider, openFederation } from '../support/openid_fake.ts'
import { addClient, addResource, type TestService } from '../support/service.ts'

let service: TestService
let fake: FakeProvider
beforeAll(async () => {
  const federation = await openFederation({ ...APPROVALS, SERVICE_OAUTH_OPENID: 'true' })
  ;({ service, fake } = federation)
})
afterAll(() => service.close())

/** Follows the link of the login page to the provider and back. Returns what the provider was sent, and the last page. */
async function signInFrom(browser: Browser, loginPage: string) {
  const { text } = await browser.open(loginPage)
  const href = /href="([^"]*\/oidc\/start[^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const sent = new URL((await browser.open(service.issuer + href)).location ?? '').searchParams
  fake.nonce = sent.get('nonce') ?? ''
  const callback = new URLSearchParams({ code: 'a-code', state: sent.get('state') ?? '' })
  const { location = '' } = await browser.open(`${sent.get('redirect_uri')}?${callback}`)
  return { sent, page: await browser.follow(location) }
}

/** Takes a browser from an authorization request over the provider to the answer of the client. */
async function walkUpstream(fields: Record<string, string>, person: Record<string, unknown>) {
  const [app, browser] = [await addClient(service, { scope: 'openid mcp:read' }), new Browser()]
  const verifier = 'v'.repeat(43)
  const code_challenge = '7w_YNF9DSfIdPf_pRjSq646_kPr-2-o9NAl16JGghdM'
  fake.person = person
  const url = authorizeUrl(service, { client_id: app.client_id, scope: 'openid', ...fields, code_challenge })
  const { location = '' } = await browser.open(url)
  const { sent, page } = await signInFrom(browser, location)
  const answer = page.location ? page : await decide(service, browser, page, 'allow')
  return { app, sent, verifier, callback: new URL(answer.location ?? '') }
}

test('acr_values and login_hint reach the provider; its acr, amr and auth_time are in the tokens', async () => {
  const resource = (await addResource(service)).uri
  const auth_time = service.app.clock.now() - 1000
  const { app, sent, verifier, callback } = await walkUpstream(
    { scope: 'openid mcp:read', resource, acr_values: 'urn:mfa urn:phr', login_hint: 'ada@example.com' },
    { sub: 'up-strong', acr: 'urn:phr', amr: ['hwk', 'pin'], auth_time },
  )
  const metadata = await fetch(`${service.issuer}/.well-known/openid-configuration`)
  expect((await metadata.json()) as object).toMatchObject({ claims_supported: expect.arrayContaining(['acr']) })
  expect([sent.get('acr_values'), sent.get('login_hint')]).toEqual(['urn:mfa urn:phr', 'ada@example.com'])
  const answer = await redeem(service, app, { code: callback.searchParams.get('code') ?? '', verifier })
  expect(claimsOf(answer)).toMatchObject({ auth_time, acr: 'urn:phr' })
  expect(decodeJwt(String(answer.body['id_token']))).toMatchObject({ auth_time, acr: 'urn:phr', amr: ['hwk', 'pin'] })
})

test('a sign-in at the provider without one of the acr_values is unmet_authentication_requirements, and is not asked again', async () => {
  const { callback } = await walkUpstream({ acr_values: 'urn:mfa' }, { sub: 'up-weak', acr: 'urn:pwd' })
  expect(callback.searchParams.get('error')).toBe('unmet_authentication_requirements')
})

test('another account than that of the consent page needs one of the acr_values too', async () => {
  const [app, browser] = [await addClient(service, { scope: 'openid' }), new Browser()]
  fake.person = { sub: 'up-first', acr: 'urn:mfa' }
  const url = authorizeUrl(service, { client_id: app.client_id, scope: 'openid', acr_values: 'urn:mfa' })
  const { page } = await signInFrom(browser, (await browser.open(url)).location ?? '')
  const [, link = ''] = /<a href="([^"]*)">Use another account/.exec(page.text) ?? []
  const asked = await browser.open(service.issuer + link.replaceAll('&amp;', '&'))
  fake.person = { sub: 'up-second', acr: 'urn:pwd' }
  const { location = '' } = (await signInFrom(browser, asked.location ?? '')).page
  expect(new URL(location).searchParams.get('error')).toBe('unmet_authentication_requirements')
})

test('an approval with acr_values asks the provider for them; a sign-in without one of them allows nothing, and is asked again only by its link', async () => {
  const [client, { uri: resource }, browser] = [await addAgent(service), await addResource(service), new Browser()]
  const person = { sub: 'up-approver', email: 'approver@example.com', email_verified: true }
  fake.person = { ...person, acr: 'urn:pwd' }
  await signInFrom(browser, `${service.issuer}/login`)
  const asked = { login_hint: person.email, resource, acr_values: 'urn:mfa urn:phr' }
  const id = idIn(await askPerson(service, client, asked))
  const confirm = async () => {
    const [, link = ''] = /href="([^"]*confirm=[^"]*)"/.exec((await inboxOf(service, browser)).text) ?? []
    const { location = '' } = await browser.open(new URL(link, service.issuer).href)
    return signInFrom(browser, location)
  }
  const weak = await confirm()
  expect([weak.sent.get('acr_values'), weak.sent.get('prompt')]).toEqual([asked.acr_values, 'login'])
  expect([weak.page.status, weak.page.text.includes('value="allow"')]).toEqual([200, false])
  fake.person = { ...person, acr: 'urn:phr' }
  expect((await confirm()).page.text).toContain('value="allow"')
  await decideOn(service, browser)
  expect(claimsOf(await pollFor(service, client, id))).toMatchObject({ acr: 'urn:phr' })
})

for (const [name, value] of [
  ['max_age', '60'],
  ['prompt', 'login'],
] as const)
  test(`${name} asks the provider for a new sign-in; an old one that it returns nevertheless is login_required`, async () => {
    const old = service.app.clock.now() - 1000
    const { sent, callback } = await walkUpstream({ [name]: value }, { sub: 'up-old', auth_time: old })
    expect([sent.get('prompt'), sent.get('max_age')]).toEqual(['login', name === 'max_age' ? value : '0'])
    expect(callback.searchParams.get('error')).toBe('login_required')
  })

test('another account can be used although the provider does not say when the user signed in, unless the client requires a new sign-in', async () => {
  for (const [fields, expected] of [
    [{ prompt: 'consent' }, [200, undefined]],
    [{ prompt: 'login' }, [303, true]],
  ] as const) {
    const [app, browser] = [await addClient(service, { scope: 'openid' }), new Browser()]
    fake.person = { sub: 'up-one', auth_time: service.app.clock.now() }
    const url = authorizeUrl(service, { client_id: app.client_id, scope: 'openid', ...fields })
    const { page } = await signInFrom(browser, (await browser.open(url)).location ?? '')
    const [, link = ''] = /<a href="([^"]*)">Use another account/.exec(page.text) ?? []
    const asked = await browser.open(service.issuer + link.replaceAll('&amp;', '&'))
    fake.person = { sub: 'up-two' }
    const other = (await signInFrom(browser, asked.location ?? '')).page
    expect([other.status, other.location?.includes('error=login_required')]).toEqual(expected)
  }
})

test('without auth_time of the provider the tokens have none, because its session may be old', async () => {
  const { app, verifier, callback } = await walkUpstream({}, { sub: 'up-silent' })
  const { body } = await redeem(service, app, { code: callback.searchParams.get('code') ?? '', verifier })
  expect(decodeJwt(String(body['id_token']))).not.toHaveProperty('auth_time')
})

test('claims of the provider that are malformed or in the future are left out', async () => {
  const person = { sub: 'up-odd', acr: 7, amr: ['pwd', 7], auth_time: service.app.clock.now() + 1000 }
  const { app, verifier, callback } = await walkUpstream({}, person)
  const { body } = await redeem(service, app, { code: callback.searchParams.get('code') ?? '', verifier })
  const claims = decodeJwt(String(body['id_token']))
  for (const name of ['acr', 'amr', 'auth_time']) expect(claims).not.toHaveProperty(name)
})
