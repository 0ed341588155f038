// Rows L01 and L08 of the attack list for the login at an upstream OpenID provider: the browser that a sign-in belongs to, and its target.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventsOf } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { type FakeProvider, isSignedIn, leave, openFederation, signInAt } from '../support/openid_fake.ts'
import type { TestService } from '../support/service.ts'

let service: TestService
let fake: FakeProvider
beforeAll(async () => {
  ;({ service, fake } = await openFederation())
})
afterAll(() => service.close())

describe('M13 a pending sign-in is used once', () => {
  const rows = async () => (await eventsOf(service, 'user_oidc_login_failed')).length

  test.each([
    ['a code that the provider does not take', { code: 'unknown' }],
    ['an error', { error: 'access_denied' }],
    ['neither', {}],
  ])(
    'a callback that is repeated after %s with its cookie causes no request and no audit event',
    async (_what, params) => {
      const browser = new Browser()
      const callback = await leave(service, fake, browser)
      const cookies = [...browser.cookies]
      callback.searchParams.delete('code')
      for (const [name, value] of Object.entries(params)) callback.searchParams.set(name, value)
      fake.tokenAnswer = { status: 400, body: { error: 'invalid_grant' } }
      const send = () => {
        for (const [name, value] of cookies) browser.cookies.set(name, value)
        return browser.open(callback.href)
      }
      const before = await rows()
      try {
        expect((await send()).status).toBeGreaterThanOrEqual(400)
        const asked = fake.asked.length
        const answers = await Promise.all(Array.from({ length: 5 }, send))
        expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400])
        expect([fake.asked.length, await rows()]).toEqual([asked, before + 1])
      } finally {
        fake.tokenAnswer = undefined
      }
    },
  )

  test('a callback that is repeated after a success with its cookie signs the browser in to nothing', async () => {
    const browser = new Browser()
    const callback = await leave(service, fake, browser)
    const again = new Browser()
    for (const [name, value] of browser.cookies) again.cookies.set(name, value)
    expect((await browser.open(callback.href)).status).toBe(303)
    const asked = fake.asked.length
    expect((await again.open(callback.href)).status).toBe(400)
    expect([fake.asked.length, await isSignedIn(service, again)]).toEqual([asked, false])
  })
})

describe('L08 a callback that another browser began', () => {
  const refusedWith = async (browser: Browser, url: string, status = 400) => {
    const asked = fake.asked.length
    expect((await browser.open(url)).status).toBe(status)
    expect(fake.asked.length).toBe(asked)
    expect(await isSignedIn(service, browser)).toBe(false)
  }

  test('a callback in another browser is refused, with or without a sign-in of that browser', async () => {
    const callback = await leave(service, fake, new Browser())
    const victim = new Browser()
    await refusedWith(victim, callback.href)
    await leave(service, fake, victim)
    await refusedWith(victim, callback.href)
  })

  test("a callback with the attacker's cookie under the name of another state is refused", async () => {
    const [victim, attacker] = [new Browser(), new Browser()]
    const [theirs, callback] = [await leave(service, fake, victim), await leave(service, fake, attacker)]
    const [, sealed = ''] = [...attacker.cookies].find(([name]) => name.startsWith('service_oidc_')) ?? []
    const state = theirs.searchParams.get('state') ?? ''
    victim.cookies.set(`service_oidc_${state.slice(0, 16)}`, sealed)
    await refusedWith(victim, theirs.href)
    expect(callback.searchParams.get('state')).not.toBe(state)
  })

  test('a repeated callback, and one without code or state, are refused', async () => {
    const browser = new Browser()
    const callback = await leave(service, fake, browser)
    await browser.open(callback.href)
    expect(await isSignedIn(service, browser)).toBe(true)
    expect((await browser.open(callback.href)).status).toBe(400)
    for (const name of ['code', 'state']) {
      const other = new Browser()
      const without = await leave(service, fake, other)
      without.searchParams.delete(name)
      await refusedWith(other, without.href)
    }
  })

  test('L01 a session that was planted before the sign-in is replaced and invalid afterwards', async () => {
    const attacker = new Browser()
    await signInAt(service, fake, attacker)
    const planted = attacker.cookies.get('service_session') ?? ''
    const victim = new Browser()
    victim.cookies.set('service_session', planted)
    fake.person = { sub: 'up-victim', name: 'Victim' }
    await signInAt(service, fake, victim)
    expect(victim.cookies.get('service_session')).not.toBe(planted)
    expect(await isSignedIn(service, attacker)).toBe(false)
  })

  test('three sign-ins may be pending in one browser; a fourth removes the oldest', async () => {
    const browser = new Browser()
    const callbacks: URL[] = []
    const nonces: string[] = []
    for (let i = 0; i < 4; i++) {
      callbacks.push(await leave(service, fake, browser))
      nonces.push(fake.nonce)
    }
    expect([...browser.cookies.keys()].filter((name) => name.startsWith('service_oidc_'))).toHaveLength(3)
    expect((await browser.open(callbacks[0]?.href ?? '')).status).toBe(400)
    for (const i of [1, 2, 3]) {
      fake.nonce = nonces[i] ?? ''
      expect((await browser.open(callbacks[i]?.href ?? '')).status).toBe(303)
    }
  })

  test('a pending sign-in redirects to no other site, and its return path must fit into a cookie', async () => {
    for (const target of [
      'https://evil.example.com/',
      '//evil.example.com/',
      '/\\evil.example.com/',
      '/.//evil.example.com',
    ])
      expect((await signInAt(service, fake, new Browser(), target)).location).toBe(`${service.issuer}/account`)
    const page = await new Browser().open(`${service.issuer}/oidc/start?redirect=/${'x'.repeat(2100)}`)
    expect(page.status).toBe(400)
  })

  // The last test, because it leaves the clock of the service ahead.
  test('a pending sign-in expires after ten minutes', async () => {
    const browser = new Browser()
    const callback = await leave(service, fake, browser)
    service.advance(601)
    await refusedWith(browser, callback.href)
  })
})

test('M13 repeated failures from one address are limited: the provider is not contacted, the trail does not grow, other users can sign in', async () => {
  const { service, fake } = await openFederation({ SERVICE_SERVER_TRUSTED_PROXIES: '127.0.0.1' })
  try {
    const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
    const fail = async () => {
      const browser = new Browser()
      const callback = await leave(service, fake, browser)
      return (await browser.open(callback.href, from('198.51.100.1'))).status
    }
    fake.tokenAnswer = { status: 400, body: { error: 'invalid_grant' } }
    const statuses: number[] = []
    for (let i = 0; i < 70; i++) statuses.push(await fail())
    const refused = statuses.filter((status) => status === 401).length
    expect(new Set(statuses)).toEqual(new Set([401, 429]))
    expect(statuses.at(-1)).toBe(429)
    expect([fake.asked.length, (await eventsOf(service, 'user_oidc_login_failed')).length]).toEqual([refused, refused])
    fake.tokenAnswer = undefined
    const other = new Browser()
    const callback = await leave(service, fake, other)
    expect((await other.open(callback.href, from('198.51.100.2'))).status).toBe(303)
  } finally {
    await service.close()
  }
})
