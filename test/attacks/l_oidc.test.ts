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

  test('any number of sign-ins may be pending in one browser, and each returns to its own target', async () => {
    const browser = new Browser()
    const started: { callback: URL; nonce: string; target: string }[] = []
    for (let i = 0; i < 10; i++) {
      const target = `/oauth/authorize?client_id=c${i}`
      started.push({ callback: await leave(service, fake, browser, target), nonce: fake.nonce, target })
    }
    for (const { callback, nonce, target } of started.reverse()) {
      fake.nonce = nonce
      expect((await browser.open(callback.href)).location).toBe(service.issuer + target)
    }
  })

  test('a pending sign-in redirects to no other site', async () => {
    for (const target of [
      'https://evil.example.com/',
      '//evil.example.com/',
      '/\\evil.example.com/',
      '/.//evil.example.com',
      'st_x',
    ])
      expect((await signInAt(service, fake, new Browser(), target)).location).toBe(`${service.issuer}/account`)
  })

  test('an address that has no room left for sign-ins starts short ones with a cookie, and others are not affected', async () => {
    const flooded = await openFederation({ SERVICE_SERVER_TRUSTED_PROXIES: '127.0.0.1/32,::1/128' })
    try {
      const { issuer } = flooded.service
      const from = (address: string) => new Browser({ 'x-forwarded-for': address })
      const waiting = from('198.51.100.1')
      const before = await leave(flooded.service, flooded.fake, waiting)
      const { nonce } = flooded.fake
      const flood = from('198.51.100.1')
      const long = `${issuer}/oidc/start?redirect=/${'x'.repeat(12_000)}`
      let refused: Awaited<ReturnType<typeof flood.open>> | undefined
      for (let i = 0; i < 1000 && refused?.status !== 429; i++) refused = await flood.open(long)
      expect(refused?.status).toBe(429)
      expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
      // Short ones of the same address are carried by the browser, bound to it, and used once.
      const isCarried = ({ cookies }: Browser) => [...cookies.keys()].some((name) => name.startsWith('service_oidc_'))
      let browser = from('198.51.100.1')
      let callback = await leave(flooded.service, flooded.fake, browser)
      // The room that was too small for a long one has space for several short ones.
      for (let i = 0; i < 500 && !isCarried(browser); i++) {
        browser = from('198.51.100.1')
        callback = await leave(flooded.service, flooded.fake, browser)
      }
      expect(isCarried(browser)).toBe(true)
      expect((await from('198.51.100.1').open(callback.href)).status).toBe(400)
      expect((await browser.open(callback.href)).status).toBe(303)
      expect((await browser.open(callback.href)).status).toBe(400)
      // What waited before still waits, and another address starts long ones.
      flooded.fake.nonce = nonce
      expect((await waiting.open(before.href)).status).toBe(303)
      expect((await from('198.51.100.2').open(long)).status).toBe(302)
    } finally {
      await flooded.service.close()
    }
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
