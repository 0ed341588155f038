// Section M of the attack list, the rows about the login at an upstream OpenID provider.
import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { Browser, type Page } from '../support/browser.ts'
import { forge, macOf, signedBy } from '../support/dpop.ts'
import { idpKey } from '../support/idp.ts'
import { watchLog } from '../support/log.ts'
import {
  CANARY,
  CLIENT_SECRET,
  type FakeProvider,
  forgetProvider,
  isSignedIn,
  leave,
  openFederation,
  signInAt,
} from '../support/openid_fake.ts'
import { addUser, type TestService } from '../support/service.ts'

let service: TestService
let fake: FakeProvider
beforeAll(async () => {
  ;({ service, fake } = await openFederation())
})
afterAll(() => service.close())
afterEach(() => {
  vi.restoreAllMocks()
  Object.assign(fake, {
    metadata: {},
    person: { sub: 'up-ada' },
    next: {},
    tokenAnswer: undefined,
    userinfo: undefined,
  })
})

const now = () => Math.floor(Date.now() / 1000)
const lastReason = async () => (await eventsOf(service, 'user_oidc_login_failed'))[0]?.detail['reason']
/** A sign-in that must end with a status and a reason, and without a session. */
async function expectRefused(next: FakeProvider['next'], reason: string, status = 401): Promise<Page> {
  const browser = new Browser()
  const callback = await leave(service, fake, browser)
  fake.next = next
  const page = await browser.open(callback.href)
  expect([page.status, await lastReason()]).toEqual([status, `oidc_${reason}`])
  expect(await isSignedIn(service, browser)).toBe(false)
  return page
}

test('a correct ID token of the fake provider signs the user in', async () => {
  const browser = new Browser()
  expect((await signInAt(service, fake, browser)).status).toBe(303)
  expect(await isSignedIn(service, browser)).toBe(true)
})

describe('M02 ID tokens that are refused', () => {
  const claims: [string, Record<string, unknown>, string][] = [
    ['of another issuer', { iss: 'https://other.example.com' }, 'iss'],
    ['without an issuer', { iss: undefined }, 'invalid_response'],
    ['for another audience', { aud: 'another-client' }, 'aud'],
    ['for nobody', { aud: [] }, 'aud'],
    ['for two without a party', { aud: ['service-rp', 'another-client'] }, 'aud'],
    ['for two, given to the other', { aud: ['service-rp', 'another-client'], azp: 'another-client' }, 'azp'],
    ['for us, given to another', { azp: 'another-client' }, 'azp'],
    ['with another nonce', { nonce: 'n'.repeat(43) }, 'nonce'],
    ['without a nonce', { nonce: undefined }, 'invalid_response'],
    ['that is over', { iat: now() - 7200, exp: now() - 3600 }, 'exp'],
    ['without an end', { exp: undefined }, 'invalid_response'],
    ['without a beginning', { iat: undefined }, 'invalid_response'],
    ['of the future', { iat: now() + 600, exp: now() + 1200 }, 'iat'],
    ['that is not valid yet', { nbf: now() + 600 }, 'nbf'],
    ['for another access token', { at_hash: 'a'.repeat(22) }, 'at_hash'],
    ['without a subject', { sub: undefined }, 'invalid_response'],
    ['with an empty subject', { sub: '' }, 'sub'],
    ['with a subject that is no text', { sub: 7 }, 'invalid_response'],
    ['with a subject of 256 characters', { sub: 's'.repeat(256) }, 'sub'],
    ['with a control character in the subject', { sub: 'a\u0000b' }, 'sub'],
  ]
  test.each(claims)('%s', async (_, changes, reason) => {
    await expectRefused({ claims: changes }, reason)
  })

  test('an unsigned ID token, or one with a symmetric algorithm, is refused', async () => {
    for (const alg of ['none', 'None', 'HS256', 'EdDSA'])
      await expectRefused({ text: (right) => forge({ alg }, right, () => '') }, 'invalid_response')
    await expectRefused({ text: (right) => forge({ alg: 'HS256' }, right, macOf(CLIENT_SECRET)) }, 'invalid_response')
    const { jwk, kid } = fake.idp.key
    await expectRefused(
      { text: (right) => forge({ alg: 'RS256', kid }, right, macOf(JSON.stringify(jwk))) },
      'signature',
    )
  })

  test('an ID token of another key is refused: with the same kid, with another kid, with the key in the header', async () => {
    const other = { ...(await idpKey('RS256')), kid: fake.idp.key.kid }
    await expectRefused({ key: other }, 'signature')
    await expectRefused({ key: await idpKey('RS256') }, 'unknown_key')
    await expectRefused({ key: other, header: { jwk: other.jwk } }, 'signature')
    const ec = await idpKey('ES256')
    await expectRefused(
      { text: (right) => forge({ alg: 'RS256', kid: fake.idp.key.kid }, right, signedBy(ec)) },
      'signature',
    )
  })

  test('an unknown kid causes one fetch of the keys per sign-in', async () => {
    await signInAt(service, fake)
    const before = fake.idp.fetches
    await expectRefused({ key: await idpKey('RS256') }, 'unknown_key')
    expect(fake.idp.fetches - before).toBe(1)
    await signInAt(service, fake)
    expect(fake.idp.fetches - before).toBe(1)
  })

  test('a JWS with a critical extension, or in another serialisation, is refused', async () => {
    await expectRefused(
      { text: (right) => forge({ alg: 'RS256', crit: ['x'], x: 1 }, right, signedBy(fake.idp.key)) },
      'unsupported_operation',
    )
    for (const text of ['not-a-jwt', 'a.b', 'a.b.c.d', '..', '{}']) {
      const browser = new Browser()
      const callback = await leave(service, fake, browser)
      fake.next = { text: () => text }
      expect((await browser.open(callback.href)).status).toBe(401)
      expect(await isSignedIn(service, browser)).toBe(false)
    }
  })

  test('a token response without an ID token is refused', async () => {
    fake.tokenAnswer = { status: 200, body: { access_token: 'a', token_type: 'Bearer' } }
    await expectRefused({}, 'invalid_response')
  })
})

describe('M03 false metadata', () => {
  const start = () => new Browser().open(`${service.issuer}/oidc/start`)

  test.each([
    ['another issuer', () => ({ issuer: 'https://other.example.com' })],
    ['the issuer with a slash', () => ({ issuer: `${fake.idp.issuer}/` })],
    ['no authorization endpoint', () => ({ authorization_endpoint: undefined })],
    ['a script for an authorization endpoint', () => ({ authorization_endpoint: 'javascript:alert(1)' })],
    ['no keys', () => ({ jwks_uri: undefined })],
  ])('%s: no browser is redirected', async (_, metadata) => {
    forgetProvider(service)
    fake.metadata = metadata()
    expect([(await start()).status, (await start()).location]).toEqual([500, undefined])
  })

  test('a redirect to the metadata of another issuer is not followed', async () => {
    forgetProvider(service)
    const path = '/.well-known/openid-configuration'
    const honest = fake.idp.routes[path]
    fake.idp.routes[path] = (_, response) => response.writeHead(302, { location: `${fake.idp.issuer}/elsewhere` }).end()
    let visits = 0
    fake.idp.routes['/elsewhere'] = (request, response) => {
      visits++
      honest?.(request, response)
    }
    expect([(await start()).status, visits]).toEqual([500, 0])
    if (honest) fake.idp.routes[path] = honest
  })

  test.each(['token_endpoint', 'jwks_uri'])('a %s at an address that is not for us is not asked', async (member) => {
    forgetProvider(service)
    fake.metadata = { [member]: 'http://169.254.169.254/latest/meta-data' }
    await expectRefused({}, 'blocked_address', 500)
  })

  test('a provider at a private address is not contacted, unless the configuration allows it', async () => {
    forgetProvider(service, false)
    const before = fake.idp.connections
    expect((await start()).status).toBe(500)
    expect(fake.idp.connections).toBe(before)
    forgetProvider(service)
    expect((await start()).status).toBe(302)
  })
})

describe('M04 emails', () => {
  test('an unverified email that equals the email of a local admin creates a new account without an email', async () => {
    const admin = await addUser(service, { role: 'admin' })
    for (const email_verified of [false, 'false']) {
      fake.person = { sub: `up-thief-${email_verified}`, email: admin.email, email_verified, name: 'Thief' }
      const browser = new Browser()
      await signInAt(service, fake, browser)
      expect((await browser.open(`${service.issuer}/account`)).text).toContain('Thief')
      const users = await okAdmin<Record<string, unknown>[]>(service, 'GET', '/admin/users')
      const thief = users.find(({ provider_sub }) => provider_sub === fake.person['sub'])
      expect(thief).toMatchObject({ email: '', role: 'user', provider: 'oidc' })
      expect(thief?.['id']).not.toBe(admin.id)
    }
  })

  test('a verified email that equals the email of a local account is refused: accounts are identified by issuer and subject', async () => {
    const admin = await addUser(service, { role: 'admin' })
    fake.person = { sub: 'up-namesake', email: admin.email, email_verified: true }
    await expectRefused({}, 'email_taken', 409)
  })

  test('a federated account cannot be given a password, which would be a second way to sign in', async () => {
    fake.person = { sub: 'up-grace', email: 'grace@corp.example.com', name: 'Grace' }
    await signInAt(service, fake)
    const [user] = await okAdmin<{ id: string }[]>(service, 'GET', '/admin/users?email=grace@corp.example.com')
    const password = 'a good long password'
    const { status, body } = await callAdmin(service, 'PATCH', `/admin/users/${user?.id}`, { password })
    expect([status, body['error']]).toEqual([409, 'conflict'])
  })
})

describe('M11 texts of the provider', () => {
  const SECRETS = [CANARY, CLIENT_SECRET, 'upstream-access-token']
  /** Everything that a sign-in writes: page, audit row, log. */
  async function traces(work: (browser: Browser) => Promise<Page>): Promise<{ status: number; text: string }> {
    const logged = watchLog(service.app.log)
    const { text, status, headers } = await work(new Browser())
    return {
      status,
      text: inspect([text, [...headers], logged, await eventsOf(service, 'user_oidc_login_failed')], { depth: 20 }),
    }
  }

  test.each([
    ['an error in the callback', 400, {}, { error: CANARY, error_description: CANARY }],
    ['a refused code', 401, { status: 400, body: { error: 'invalid_grant', error_description: CANARY } }, {}],
    ['an error of its own making', 401, { status: 400, body: { error: CANARY } }, {}],
    ['a refused client', 502, { status: 401, body: { error: 'invalid_client', error_description: CANARY } }, {}],
    [
      'a challenge',
      502,
      { status: 401, body: { error: 'invalid_client' }, headers: { 'www-authenticate': `Basic realm="${CANARY}"` } },
      {},
    ],
    ['a failure', 500, { status: 503, body: { error: CANARY } }, {}],
    ['nonsense', 401, { status: 200, body: { access_token: CANARY, token_type: CANARY } }, {}],
    ['no JSON', 401, { status: 200, body: CANARY, headers: { 'content-type': 'text/plain' } }, {}],
  ] as const)('%s: neither the page, the log nor the record repeats it', async (_, status, tokenAnswer, query) => {
    const left = await traces(async (browser) => {
      const callback = await leave(service, fake, browser)
      if ('status' in tokenAnswer) fake.tokenAnswer = tokenAnswer
      for (const [name, value] of Object.entries(query)) callback.searchParams.set(name, value)
      return browser.open(callback.href)
    })
    expect(left.status).toBe(status)
    for (const secret of SECRETS) expect(left.text).not.toContain(secret)
  })

  test('a claim that is not valid is not repeated', async () => {
    const left = await traces(async (browser) => {
      const callback = await leave(service, fake, browser)
      fake.next = { claims: { iss: CANARY } }
      return browser.open(callback.href)
    })
    expect(left.status).toBe(401)
    for (const secret of SECRETS) expect(left.text).not.toContain(secret)
  })

  test('this service authenticates with Basic, and no secret of the sign-in is in a URL or readable in the database', async () => {
    const browser = new Browser()
    const callback = await leave(service, fake, browser)
    const id = callback.searchParams.get('state')?.slice(0, 22) ?? ''
    const stored = await service.app.store.findPendingValue({ id, now: 0 })
    expect(stored?.sealed).toMatch(/^eyJ[^.]+\.\.[^.]+\.[^.]+\.[^.]+$/)
    const key = browser.cookies.get('service_login_nonce') ?? ''
    expect(JSON.stringify(stored)).not.toContain(key)
    expect(callback.href).not.toContain(key)
    await browser.open(callback.href)
    const { authorization, code_verifier = '', client_secret } = fake.asked.at(-1) ?? {}
    expect(authorization).toMatch(/^Basic /)
    expect(client_secret).toBeUndefined()
    expect(code_verifier).toMatch(/^[\w-]{43}$/)
    expect(callback.href).not.toContain(code_verifier)
  })
})
