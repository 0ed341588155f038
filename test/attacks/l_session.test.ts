// Section L of the attack list: login, session and consent. One test per row, named by its id.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { en } from '../../src/endpoints/messages/en.ts'
import { okAdmin } from '../support/admin.ts'
import { Browser, fieldsOf } from '../support/browser.ts'
import { signedIn } from '../support/documents.ts'
import { nextCode, withApp } from '../support/factors.ts'
import { authorize, authorizeUrl, decide, signIn } from '../support/flow.ts'
import { addClient, addResource, addUser, PASSWORD, startService, type TestService } from '../support/service.ts'

/** The settings of a service whose issuer is not localhost. */
const PRODUCTION = {
  SERVICE_SERVER_ISSUER: 'https://auth.example.com',
  SERVICE_SESSION_SECURE: 'true',
  SERVICE_ADMIN_API_KEY: 'k7Fz0qVn2XbS9dLw4mTe',
  SERVICE_SESSION_SECRET: '0123456789abcdef'.repeat(2),
}
const COOKIE = 'service_session'

let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0' })
})
afterAll(() => service.close())

const PUBLIC = { token_endpoint_auth_method: 'none' }
const isSignedIn = async (browser: Browser) => (await browser.open(`${service.issuer}/account`)).status === 200
/** A login of `email` in a new browser. */
const attempt = async (where: TestService, email: string, password: string, headers: Record<string, string> = {}) => {
  const browser = new Browser()
  const page = await browser.open(`${where.issuer}/login`)
  const fields = { ...Object.fromEntries(fieldsOf(page)), email, password }
  return browser.post(`${where.issuer}/login`, fields, headers)
}
/** A user in a browser, before the consent page of a request. */
const atConsent = async (client: { client_id: string }, fields: Record<string, string> = {}) => {
  const user = await addUser(service)
  const browser = await signedIn(service, user)
  const page = await browser.follow(authorizeUrl(service, { client_id: client.client_id, ...fields }))
  expect(page.text).toContain('value="allow"')
  return { user, browser, page }
}

test('L01 a session cookie that was planted before the login is replaced, and invalid afterwards', async () => {
  const [victim, attacker] = [await addUser(service), await signedIn(service, await addUser(service))]
  for (const planted of ['attacker', attacker.cookies.get(COOKIE) ?? '']) {
    const browser = new Browser()
    browser.cookies.set(COOKIE, planted)
    const answer = await signIn(service, browser, await browser.open(`${service.issuer}/login`), victim.email)
    expect(answer.status).toBe(303)
    expect(browser.cookies.get(COOKIE)).not.toBe(planted)
    expect((await browser.open(`${service.issuer}/account`)).text).toContain(victim.email)
    const old = new Browser()
    old.cookies.set(COOKIE, planted)
    expect(await isSignedIn(old)).toBe(false)
  }
})

test('L03 a login form that was issued to another browser, or submitted from another site, signs no user in', async () => {
  const user = await addUser(service)
  const theirs = new Browser()
  const fields = {
    ...Object.fromEntries(fieldsOf(await theirs.open(`${service.issuer}/login`))),
    email: user.email,
    password: PASSWORD,
  }
  const victim = new Browser()
  await victim.open(`${service.issuer}/login`)
  expect((await victim.post(`${service.issuer}/login`, fields)).status).toBe(422)
  for (const site of ['cross-site', 'same-site'])
    expect((await theirs.post(`${service.issuer}/login`, fields, { 'sec-fetch-site': site })).status).toBe(422)
  expect((await new Browser().post(`${service.issuer}/login`, { email: user.email, password: PASSWORD })).status).toBe(
    422,
  )
  for (const browser of [victim, theirs]) expect(browser.cookies.has(COOKIE)).toBe(false)
})

test('L04 a consent requires the form of this user, this request and this site; a GET decides nothing', async () => {
  const client = await addClient(service, PUBLIC)
  const [mine, theirs] = [await atConsent(client), await atConsent(client)]
  const second = await mine.browser.follow(authorizeUrl(service, { client_id: client.client_id }))
  const url = `${service.issuer}/consent`
  const fields: [string, string][] = [...fieldsOf(mine.page), ['action', 'allow']]
  const replaced = (name: string, value: string) =>
    fields.map((each): [string, string] => (each[0] === name ? [name, value] : each))
  const tokenOf = (page: typeof second) => Object.fromEntries(fieldsOf(page))['csrf_token'] ?? ''
  expect((await mine.browser.post(url, fields, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
  for (const token of ['', 'x', tokenOf(theirs.page), tokenOf(second)])
    expect((await mine.browser.post(url, replaced('csrf_token', token))).status).toBe(403)
  expect((await theirs.browser.post(url, fields)).status).toBe(403)
  const query = new URLSearchParams(fields)
  const page = await mine.browser.open(`${url}?${query}&approve=1`)
  expect([page.status, page.location]).toEqual([200, undefined])
  expect((await mine.browser.post(url, fields)).location).toContain('code=')
})

test('L05 no page can be framed', async () => {
  const { browser, page } = await atConsent(await addClient(service, PUBLIC))
  const pages = [
    page,
    await browser.open(`${service.issuer}/login`),
    await browser.open(`${service.issuer}/account`),
    await browser.open(`${service.issuer}/consent?session_id=x`),
  ]
  for (const each of [...pages, await browser.open(authorizeUrl(service, { client_id: 'unknown' }))]) {
    expect(each.headers.get('content-type')).toContain('text/html')
    expect(each.headers.get('x-frame-options')).toBe('DENY')
    expect(each.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  }
})

test('L07 a consent is for one client and one resource: another client with the same name, another resource or more scopes need a new consent', async () => {
  const [resource, other] = [await addResource(service), await addResource(service)]
  const name = { client_name: 'Claude', ...PUBLIC }
  const [client, namesake] = [
    await addClient(service, name),
    await addClient(service, name, { registration_source: 'dcr' }),
  ]
  const user = await addUser(service)
  const { browser } = await authorize(service, client, user, { resource: resource.uri })
  const at = async (fields: Record<string, string>) =>
    (await browser.open(authorizeUrl(service, { client_id: client.client_id, resource: resource.uri, ...fields })))
      .location
  expect(await at({})).toContain('code=')
  expect(await at({ client_id: namesake.client_id })).toContain('/consent?')
  expect(await at({ resource: other.uri })).toContain('/consent?')
  expect(await at({ scope: 'mcp:read mcp:write' })).toContain('/consent?')
  expect(await at({ redirect_uri: 'https://evil.example/cb' })).toBeUndefined()
})

test('L08 the pending request of one browser is refused in another', async () => {
  const attacker = await atConsent(await addClient(service, PUBLIC))
  const link = `${service.issuer}/consent?session_id=${Object.fromEntries(fieldsOf(attacker.page))['session_id']}`
  const victim = await signedIn(service, await addUser(service))
  expect((await victim.open(link)).status).toBe(400)
  const sameUser = await signedIn(service, attacker.user)
  expect((await sameUser.open(link)).status).toBe(400)
  expect((await attacker.browser.open(link)).status).toBe(200)
})

test('L09 changing forwarded addresses do not avoid the lockout', async () => {
  const locked = await startService()
  try {
    const user = await addUser(locked)
    const statuses = []
    for (let i = 0; i < 11; i++) {
      const address = `198.51.100.${i}`
      const headers = {
        'x-forwarded-for': address,
        forwarded: `for=${address}`,
        'x-real-ip': address,
        'cf-connecting-ip': address,
      }
      statuses.push((await attempt(locked, user.email, 'wrong', headers)).status)
    }
    expect(statuses).toEqual([...Array(10).fill(422), 429])
  } finally {
    await locked.close()
  }
})

test('L11 and L12 200 concurrent wrong logins cause at most ten password checks, also when the rate limits are off', async () => {
  const locked = await startService({ SERVICE_RATE_LIMIT_ENABLED: 'false' })
  try {
    const user = await addUser(locked)
    const answers = await Promise.all(Array.from({ length: 200 }, () => attempt(locked, user.email, 'wrong')))
    const count = (status: number) => answers.filter((each) => each.status === status).length
    expect(count(422)).toBeLessThanOrEqual(10)
    expect(count(422) + count(429)).toBe(200)
    expect((await attempt(locked, user.email, PASSWORD)).status).toBe(429)
  } finally {
    await locked.close()
  }
})

test('L25 a login to an own account between the guesses does not reset the failures at other accounts', async () => {
  const locked = await startService({ SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '4' })
  try {
    const [victim, own] = [await addUser(locked), await addUser(locked)]
    const statuses = []
    for (let i = 0; i < 2; i++) {
      for (let j = 0; j < 2; j++) statuses.push((await attempt(locked, victim.email, 'wrong')).status)
      statuses.push((await attempt(locked, own.email, PASSWORD)).status)
    }
    expect(statuses).toEqual([422, 422, 303, 422, 422, 429])
  } finally {
    await locked.close()
  }
})

test('L13 during a lockout the right password gets the same answer as a wrong one', async () => {
  const locked = await startService({ SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '2' })
  try {
    const user = await addUser(locked)
    for (let i = 0; i < 2; i++) await attempt(locked, user.email, 'wrong')
    const told = async (password: string) => {
      const { status, text, headers } = await attempt(locked, user.email, password)
      return [
        status,
        headers.get('retry-after'),
        text.replace(/name="csrf_token" value="[^"]+"|data-passkey="[^"]+"/g, ''),
      ]
    }
    const [right, wrong] = [await told(PASSWORD), await told('wrong')]
    expect(right[0]).toBe(429)
    expect([right[0], right[2]]).toEqual([wrong[0], wrong[2]])
    expect(Math.abs(Number(right[1]) - Number(wrong[1]))).toBeLessThanOrEqual(10)
  } finally {
    await locked.close()
  }
})

test('L15 passwords are compared to their last byte, and long ones are refused before they are hashed', async () => {
  const long = 'a'.repeat(72)
  const password_hash = await service.app.crypto.hashPassword(`${long}1`)
  const user = await addUser(service, { password_hash })
  const accent = await addUser(service, { password_hash: await service.app.crypto.hashPassword('caf\u00e9 au lait 1') })
  expect((await attempt(service, user.email, `${long}1`)).status).toBe(303)
  for (const password of [`${long}2`, long, `${long}1\0`, `${long}1 `])
    expect((await attempt(service, user.email, password)).status, password.slice(70)).toBe(422)
  // Keyboards can produce one character in two encodings: both are the same password (RFC 8265 §4.2).
  expect((await attempt(service, accent.email, 'cafe\u0301 au lait 1')).status).toBe(303)
  expect((await attempt(service, accent.email, 'cafe au lait 1')).status).toBe(422)
  const hashed = service.app.crypto.stats.password.jobs
  expect((await attempt(service, user.email, 'x'.repeat(1025))).status).toBe(422)
  expect((await attempt(service, user.email, 'x'.repeat(1024 * 1024))).status).toBe(413)
  expect(service.app.crypto.stats.password.jobs).toBe(hashed)
})

test('L16 a disabled user is no longer signed in at /oauth/authorize', async () => {
  const { user, browser, page } = await atConsent(await addClient(service, PUBLIC))
  await okAdmin(service, 'PATCH', `/admin/users/${user.id}/disable`)
  const client = await addClient(service, PUBLIC)
  expect((await browser.open(authorizeUrl(service, { client_id: client.client_id }))).location).toContain('/login?')
  expect((await decide(service, browser, page, 'allow')).location).toContain('/login?')
})

test('L17 the cookies are HttpOnly, SameSite, for every path and no other domain, and Secure unless the issuer is on localhost', async () => {
  const production = await startService(PRODUCTION)
  try {
    for (const [where, secure] of [
      [service, false],
      [production, true],
    ] as const) {
      const user = await addUser(where)
      const browser = new Browser()
      const page = await browser.open(`${where.issuer}/login`)
      const answer = await signIn(where, browser, page, user.email)
      expect(answer.status).toBe(303)
      const lines = [...page.headers.getSetCookie(), ...answer.headers.getSetCookie()]
      const prefix = secure ? '__Host-' : ''
      expect(lines.map((line) => line.split('=')[0])).toEqual([`${prefix}service_login_nonce`, `${prefix}${COOKIE}`])
      for (const line of lines) {
        const attributes = line.split('; ').slice(1)
        expect(attributes).toEqual(expect.arrayContaining(['HttpOnly', 'SameSite=Lax', 'Path=/']))
        expect(attributes.includes('Secure')).toBe(secure)
        expect(line).not.toMatch(/domain/i)
      }
      if (secure) expect(page.headers.get('strict-transport-security')).toMatch(/^max-age=\d{8}/)
    }
  } finally {
    await production.close()
  }
})

test('L19 a user with a second factor gets a session, a consent page and a code only after the right code of the app', async () => {
  const client = await addClient(service, PUBLIC)
  const { email, app } = await withApp(service)
  const url = authorizeUrl(service, { client_id: client.client_id })
  const browser = new Browser()
  const asked = await signIn(service, browser, await browser.follow(url), email)
  expect([asked.status, asked.location]).toEqual([422, undefined])
  expect(await isSignedIn(browser)).toBe(false)
  const again = await browser.follow(url)
  expect(again.text).not.toContain('value="allow"')
  const silent = await browser.open(`${url}&prompt=none`)
  expect(new URL(silent.location ?? '').searchParams.get('error')).toBe('login_required')
  // The consent page of another person, sent from the half signed-in browser.
  const { page } = await atConsent(client)
  expect((await decide(service, browser, page, 'allow')).location ?? '').not.toContain('code=')
  const wrong = { ...Object.fromEntries(fieldsOf(asked)), email, password: '', code: '000000' }
  expect((await browser.post(`${service.issuer}/login`, wrong)).location).toBeUndefined()
  const done = await browser.post(`${service.issuer}/login`, { ...wrong, code: nextCode(service, app) })
  const consent = await browser.follow(done.location ?? '')
  expect((await decide(service, browser, consent, 'allow')).location).toContain('code=')
})

test('L20 the consent page of one user decides nothing when another user has signed in meanwhile, who gets a page of their own', async () => {
  const { browser, page } = await atConsent(await addClient(service, PUBLIC))
  const other = await addUser(service)
  await signIn(service, browser, await browser.open(`${service.issuer}/login`), other.email)
  const answer = await decide(service, browser, page, 'allow')
  expect(answer.location).toContain('/oauth/authorize?')
  expect((await browser.follow(answer.location ?? '')).text).toContain(other.email)
  expect(await service.app.store.listConsents({ user_id: other.id })).toEqual([])
  expect((await decide(service, browser, page, 'allow')).location).not.toContain('code=')
})

test('L21 pages with a form, and redirects with a code, are not cached', async () => {
  const { browser, page } = await atConsent(await addClient(service, PUBLIC))
  const login = await browser.open(`${service.issuer}/login`)
  for (const each of [page, login, await decide(service, browser, page, 'allow')])
    expect(each.headers.get('cache-control')).toBe('no-store')
})

/** A cookie that a sibling domain can plant. It cannot set a cookie whose name begins with __Host-, nor delete ours (RFC 6265bis §4.1.3). */
test('L22 with session.secure a session cookie without the prefix, which a sibling domain can plant, is ignored', async () => {
  const secure = await startService({ ...PRODUCTION, SERVICE_SESSION_COOKIE_NAME: 'sid' })
  try {
    const attacker = await signedIn(secure, await addUser(secure))
    const value = attacker.cookies.get('__Host-sid') ?? attacker.cookies.get('sid') ?? ''
    expect((await attacker.open(`${secure.issuer}/account`)).status).toBe(200)
    const victim = new Browser()
    victim.cookies.set('sid', value)
    expect((await victim.open(`${secure.issuer}/account`)).location).toContain('/login')
  } finally {
    await secure.close()
  }
})

test('L22 two cookies of one name are refused wherever a session is used, with a message, because the planted one cannot be identified', async () => {
  const [mine, theirs] = [
    await signedIn(service, await addUser(service)),
    await signedIn(service, await addUser(service)),
  ]
  const session = (browser: Browser) => `${COOKIE}=${browser.cookies.get(COOKIE)}`
  const open = (path: string, cookie: string) =>
    new Browser().open(service.issuer + path, { headers: { cookie, accept: 'text/html' } })
  const { client_id } = await addClient(service, PUBLIC)
  const authorize = authorizeUrl(service, { client_id }).slice(service.issuer.length)
  for (const [first, second] of [
    [mine, theirs],
    [theirs, mine],
  ] as const) {
    const cookie = `a=1; ${session(first)}; ${session(second)}`
    for (const path of ['/account', authorize, '/consent?session_id=x']) {
      const page = await open(path, cookie)
      expect([page.status, page.location], path).toEqual([400, undefined])
      expect(page.text, path).toContain(en.errors.texts.repeated_cookie)
    }
  }
  const nonce = (await new Browser().open(`${service.issuer}/login`)).headers.getSetCookie()[0]?.split(';')[0] ?? ''
  expect((await open('/login', `${nonce}; ${nonce}`)).status).toBe(400)
  expect((await open('/account', `a=1; ${session(mine)}; a=2`)).status).toBe(200)
})

test('L28 Deny, Allow and a reload of the page of another person give no code of the person who is signed in, who allowed the client before', async () => {
  const [client, resource] = [await addClient(service, PUBLIC), await addResource(service)]
  const [ann, bob] = [await addUser(service), await addUser(service)]
  await authorize(service, client, bob, { resource: resource.uri })
  const browser = await signedIn(service, ann)
  const page = await browser.follow(
    authorizeUrl(service, { client_id: client.client_id, resource: resource.uri, code_challenge: 'c'.repeat(43) }),
  )
  const { session_id = '' } = Object.fromEntries(fieldsOf(page))
  await signIn(service, browser, await browser.open(`${service.issuer}/login`), bob.email ?? '')
  expect((await decide(service, browser, page, 'deny')).location).toContain('error=access_denied')
  for (const location of [
    (await decide(service, browser, page, 'allow')).location ?? '',
    `${service.issuer}/consent?session_id=${session_id}`,
  ]) {
    const shown = await browser.follow(location)
    expect([shown.location, shown.text.includes('value="allow"'), shown.text.includes(bob.email ?? '-')]).toEqual([
      undefined,
      true,
      true,
    ])
  }
})
