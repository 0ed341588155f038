import { hash } from '@node-rs/argon2'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventsOf } from '../support/admin.ts'
import { Browser, fieldsOf } from '../support/browser.ts'
import { signIn } from '../support/flow.ts'
import { addUser, PASSWORD, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0' })
})
afterAll(() => service.close())

const loginPage = async (browser: Browser, query = '') => browser.open(`${service.issuer}/login${query}`)
const COOKIE = 'service_session'

describe('signing in', () => {
  test('the right password starts a session in an HttpOnly, SameSite cookie with an encrypted value', async () => {
    const user = await addUser(service)
    const browser = new Browser()
    const answer = await signIn(service, browser, await loginPage(browser, '?redirect=%2Fconsent%3Fa%3Db'), user.email)
    expect([answer.status, answer.location]).toEqual([303, `${service.issuer}/consent?a=b`])
    const line = answer.headers.getSetCookie().find((each) => each.startsWith(COOKIE))
    expect(line).toMatch(/; Path=\/; Max-Age=86400; HttpOnly; SameSite=Lax$/)
    expect(browser.cookies.get(COOKIE)).toMatch(/^eyJ[^.]+\.\.[^.]+\.[^.]+\.[^.]+$/)
    expect((await browser.open(`${service.issuer}/account`)).text).toContain(user.email)
  })

  test('the email is compared case-insensitively', async () => {
    const user = await addUser(service)
    const browser = new Browser()
    expect((await signIn(service, browser, await loginPage(browser), user.email.toUpperCase())).status).toBe(303)
  })

  test('a wrong password, an unknown user, a disabled user and input that is too long get the same answer', async () => {
    const user = await addUser(service)
    const disabled = await addUser(service, { status: 'disabled' })
    const answers = []
    for (const [email, password] of [
      [user.email, 'wrong'],
      ['nobody@example.com', PASSWORD],
      [disabled.email, PASSWORD],
      [`${'x'.repeat(400)}@example.com`, PASSWORD],
      [user.email, 'x'.repeat(2000)],
    ] as const) {
      const browser = new Browser()
      const answer = await signIn(service, browser, await loginPage(browser), email, password)
      expect(browser.cookies.has(COOKIE)).toBe(false)
      answers.push(`${answer.status} ${/role="alert"[^>]*>([^<]+)/.exec(answer.text)?.[1]}`)
    }
    expect(new Set(answers)).toEqual(
      new Set(['422 Email or password is wrong. If you have a second factor, enter its code too.']),
    )
    // They name the user, but not the email, because users sometimes type a password into the field of the email.
    const failed = await eventsOf(service, 'user_login_failed')
    const named = [{ user_id: user.id }, {}, { user_id: disabled.id }, {}, { user_id: user.id }]
    expect(failed.map(({ actor_id, detail }) => ({ actor_id, detail }))).toEqual(
      named.map((detail) => ({ actor_id: '', detail })),
    )
  })

  test('a browser that sends no cookies gets that message in its language, and a wrong password does not', async () => {
    const user = await addUser(service)
    const [sound, lost] = [new Browser(), new Browser()]
    const page = await loginPage(lost, '?redirect=%2Fdevice')
    lost.cookies.clear()
    const fields = { ...Object.fromEntries(fieldsOf(page)), email: user.email, password: PASSWORD }
    for (const [language, text] of [
      ['en', 'Your browser does not send cookies'],
      ['de', 'Ihr Browser sendet keine Cookies'],
      ['es', 'Su navegador no envía cookies'],
    ] as const) {
      const answer = await new Browser({ 'accept-language': language }).post(`${service.issuer}/login`, fields)
      expect([answer.status, answer.text.includes(text)]).toEqual([422, true])
      expect(fieldsOf(answer).find(([name]) => name === 'redirect')?.[1]).toBe('/device')
    }
    expect((await signIn(service, sound, await loginPage(sound), user.email, 'wrong')).text).not.toMatch(/cookie/i)
    const strange = new Browser()
    strange.cookies.set('other', 'x')
    expect((await strange.post(`${service.issuer}/login`, fields)).text).not.toMatch(/cookie/i)
  })

  test('a form without the token of this browser, or from another site, is refused', async () => {
    const user = await addUser(service)
    const browser = new Browser()
    const fields = { ...Object.fromEntries(fieldsOf(await loginPage(browser))), email: user.email, password: PASSWORD }
    const url = `${service.issuer}/login`
    expect((await new Browser().post(url, fields)).status).toBe(422)
    expect((await browser.post(url, { ...fields, csrf_token: 'x' })).status).toBe(422)
    expect((await browser.post(url, fields, { 'sec-fetch-site': 'cross-site' })).status).toBe(422)
    expect(browser.cookies.has(COOKIE)).toBe(false)
    expect((await browser.post(url, fields)).status).toBe(303)
  })

  test('two tabs share one nonce, so that the older form still works', async () => {
    const user = await addUser(service)
    const browser = new Browser()
    const first = await loginPage(browser)
    await loginPage(browser)
    expect((await signIn(service, browser, first, user.email)).status).toBe(303)
  })

  for (const target of [
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example',
    'javascript:alert(1)',
    '/a\\b',
    '/%0d%0a\r\nx: y',
  ])
    test(`a login never redirects to another site: redirect=${JSON.stringify(target)}`, async () => {
      const user = await addUser(service)
      const browser = new Browser()
      const page = await loginPage(browser, `?${new URLSearchParams({ redirect: target })}`)
      const answer = await signIn(service, browser, page, user.email)
      expect(answer.location).toBe(`${service.issuer}/account`)
    })

  test('a sign-in replaces the earlier session of the browser', async () => {
    const user = await addUser(service)
    const browser = new Browser()
    await signIn(service, browser, await loginPage(browser), user.email)
    const stolen = new Browser()
    stolen.cookies.set(COOKIE, browser.cookies.get(COOKIE) ?? '')
    expect((await stolen.open(`${service.issuer}/account`)).status).toBe(200)
    await signIn(service, browser, await loginPage(browser), user.email)
    expect((await stolen.open(`${service.issuer}/account`)).location).toContain('/login')
    expect((await browser.open(`${service.issuer}/account`)).status).toBe(200)
  })

  test('a sign-in keeps the browser and the address it came from, and its last use at most once in five minutes', async () => {
    const user = await addUser(service)
    const browser = new Browser({ 'user-agent': `Firefox/1 \u00e9${'x'.repeat(600)}` })
    const before = service.app.clock.now()
    await signIn(service, browser, await loginPage(browser), user.email)
    const found = async () =>
      (await service.app.store.listSessions({ user_id: user.id, now: service.app.clock.now() }))[0]
    const first = await found()
    expect(first).toMatchObject({ user_agent: `Firefox/1 ${'x'.repeat(502)}`, oidc_issuer: undefined })
    expect(first?.ip).toMatch(/^(127\.0\.0\.1|::1)$/)
    expect(first?.last_used_at).toBe(first?.created_at)
    service.advance(299 - (service.app.clock.now() - before))
    await browser.open(`${service.issuer}/account`)
    expect((await found())?.last_used_at).toBe(first?.last_used_at)
    service.advance(2)
    await browser.open(`${service.issuer}/account`)
    await expect.poll(async () => (await found())?.last_used_at).toBeGreaterThan(before + 299)
  })

  test('a hash with weaker parameters is replaced at the next login', async () => {
    const password_hash = await hash(PASSWORD, { memoryCost: 8192, timeCost: 1, parallelism: 1 })
    expect(password_hash).toMatch(/^\$argon2id\$v=19\$m=8192,t=1,p=1\$/)
    const user = await addUser(service, { password_hash })
    const browser = new Browser()
    expect((await signIn(service, browser, await loginPage(browser), user.email)).status).toBe(303)
    expect((await service.app.store.findUser({ id: user.id }))?.password_hash).toContain('m=19456,t=2,p=1')
  })
})

describe('events that end a session', () => {
  const signedIn = async () => {
    const user = await addUser(service)
    const browser = new Browser()
    await signIn(service, browser, await loginPage(browser), user.email)
    expect((await browser.open(`${service.issuer}/account`)).status).toBe(200)
    return { user, browser, isLive: async () => (await browser.open(`${service.issuer}/account`)).status === 200 }
  }

  test('a logout ends the session, also for a copy of the cookie', async () => {
    const { user, browser, isLive } = await signedIn()
    const copy = browser.cookies.get(COOKIE) ?? ''
    const answer = await browser.post(`${service.issuer}/logout`, {})
    expect([answer.status, answer.location]).toEqual([303, `${service.issuer}/login`])
    expect(browser.cookies.has(COOKIE)).toBe(false)
    browser.cookies.set(COOKIE, copy)
    expect(await isLive()).toBe(false)
    expect(await eventsOf(service, 'user_logout')).toMatchObject([{ actor_id: user.id }])
  })

  test('another site cannot sign a user out', async () => {
    const { browser, isLive } = await signedIn()
    const answer = await browser.post(`${service.issuer}/logout`, {}, { 'sec-fetch-site': 'cross-site' })
    expect(answer.status).toBe(403)
    expect(await isLive()).toBe(true)
  })

  test('a forced logout ends the session', async () => {
    const { user, isLive } = await signedIn()
    await service.app.store.signOutUser({ id: user.id, now: service.app.clock.now() })
    expect(await isLive()).toBe(false)
  })

  test('disabling the user ends the session', async () => {
    const { user, isLive } = await signedIn()
    const stored = await service.app.store.findUser({ id: user.id })
    if (!stored) throw new Error('the user is gone')
    await service.app.store.updateUser({ user: { ...stored, status: 'disabled' }, signOut: true, now: 0 })
    expect(await isLive()).toBe(false)
  })

  test('a changed cookie is refused', async () => {
    const { browser, isLive } = await signedIn()
    const cookie = browser.cookies.get(COOKIE) ?? ''
    browser.cookies.set(COOKIE, `${cookie.slice(0, -2)}${cookie.endsWith('AA') ? 'BB' : 'AA'}`)
    expect(await isLive()).toBe(false)
  })

  test('a session ends after session.max_age', async () => {
    const { isLive } = await signedIn()
    service.advance(24 * 3600 + 1)
    expect(await isLive()).toBe(false)
  })
})

describe('the lockout', () => {
  test('ten failures of an address lock /login for fifteen minutes, with Retry-After, for every password', async () => {
    const locked = await startService()
    try {
      const user = await addUser(locked)
      const attempt = async (password: string) => {
        const browser = new Browser()
        return signIn(locked, browser, await browser.open(`${locked.issuer}/login`), user.email, password)
      }
      for (let i = 0; i < 10; i++) expect((await attempt('wrong')).status).toBe(422)
      const refused = await attempt(PASSWORD)
      expect(refused.status).toBe(429)
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(880)
      const metadata = await fetch(`${locked.issuer}/.well-known/oauth-authorization-server`)
      expect(metadata.status).toBe(200)
      const events = await locked.app.store.listAudit({ action: 'auth_locked_out', since: '', limit: 5, offset: 0 })
      expect(events).toHaveLength(1)
    } finally {
      await locked.close()
    }
  })

  test('a successful login resets the failures before it', async () => {
    const locked = await startService({ SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '3' })
    try {
      const user = await addUser(locked)
      const attempt = async (password: string) => {
        const browser = new Browser()
        return (await signIn(locked, browser, await browser.open(`${locked.issuer}/login`), user.email, password))
          .status
      }
      const statuses = []
      for (const password of ['x', 'x', PASSWORD, 'x', 'x', PASSWORD]) statuses.push(await attempt(password))
      expect(statuses).toEqual([422, 422, 303, 422, 422, 303])
    } finally {
      await locked.close()
    }
  })
})
