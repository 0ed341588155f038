// What people do on the pages, in a real browser: its cookies, its policy and its redirects to other origins take part.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { de } from '../../src/endpoints/messages/de.ts'
import { es } from '../../src/endpoints/messages/es.ts'
import { allow, browserOf } from '../support/account.ts'
import { okAdmin } from '../support/admin.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { isActive } from '../support/flow.ts'
import { addUser, PASSWORD } from '../support/service.ts'
import { logIn, openWorld, PAGE, serve, setUp, type World } from './scenes.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

/** The query that the application was called back with. */
const arrival = async (page: Page): Promise<URLSearchParams> => {
  await page.waitForURL(`${world.application}?**`)
  return new URL(page.url()).searchParams
}
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const BODY = 'grant_type=client_credentials'
const press = (page: Page, name: 'Allow' | 'Deny') => page.getByRole('button', { name }).click()

describe(`in ${CHROMIUM}`, () => {
  test('after a wrong password, the right password and Allow, the browser arrives at the application with a code', async ({
    open,
  }) => {
    const { page, complaints } = await open()
    const { url, user } = await setUp(world)
    await page.goto(url)
    await logIn(page, user.email, 'wrong')
    expect(await page.getByRole('alert').textContent()).toBe(
      'Email or password is wrong. If you have a second factor, enter its code too.',
    )
    expect(await page.getByLabel('Email').inputValue()).toBe(user.email)
    await logIn(page, user.email)
    await press(page, 'Allow')
    expect((await arrival(page)).get('code')).toMatch(/^ac_/)
    expect(complaints).toEqual([])
  })

  test('an account with letters beyond ASCII signs in with either form of its domain, typed or hinted, in every language', async ({
    open,
  }) => {
    for (const [language, email] of [
      ['en', 'josé.en@bücher.example'],
      ['de', 'Jürgen.de@xn--bcher-kva.example'],
      ['es', 'ñandú.es@例え.example'],
    ] as const) {
      await okAdmin(world.service, 'POST', '/admin/users', { email, password: PASSWORD })
      const letters = email.replace('xn--bcher-kva', 'bücher')
      const labels = letters.replace('bücher', 'xn--bcher-kva').replace('例え', 'xn--r8jz45g')
      for (const typed of [letters, labels.toUpperCase()]) {
        const { page, complaints } = await open({ locale: language })
        await page.goto(`${world.service.issuer}/login?${new URLSearchParams({ login_hint: typed })}`)
        expect(await page.locator('#email').inputValue()).toBe(typed)
        await logIn(page, typed)
        await page.waitForURL('**/account')
        expect(await page.locator('body').textContent()).toContain(email)
        expect(complaints).toEqual([])
      }
    }
  })

  test('without script a signed-in user removes the access of an application in two clicks, from the login page and from the consent page', async ({
    open,
  }) => {
    const { page } = await open({ javaScriptEnabled: false })
    const { url, user } = await setUp(world)
    const phone = await browserOf(world.service, user.email)
    const tokens: Awaited<ReturnType<typeof allow>>[] = []
    for (const name of ['Notes', 'Mail']) tokens.push(await allow(world.service, user, phone, name))
    await page.goto(`${world.service.issuer}/login`)
    await logIn(page, user.email)
    const live = () => Promise.all(tokens.map((each) => isActive(world.service, each.client, each.access_token)))
    for (const [start, name, left] of [
      [`${world.service.issuer}/login`, 'Notes', [false, true]],
      [url, 'Mail', [false, false]],
    ] as const) {
      await page.goto(start)
      await page.getByRole('link', { name: 'Your account' }).click()
      await page.getByRole('button', { name: `Remove access of ${name}` }).click()
      await page.getByRole('status').waitFor()
      expect(await live()).toEqual(left)
    }
    expect(await page.getByText('No application has access.').count()).toBe(1)
  })

  test('Deny sends the browser to the application with access_denied', async ({ open }) => {
    const { page, complaints } = await open()
    const { url, user } = await setUp(world)
    await page.goto(url)
    await logIn(page, user.email)
    await press(page, 'Deny')
    expect(Object.fromEntries(await arrival(page))).toMatchObject({
      error: 'access_denied',
      state: 'some-state',
      iss: world.service.issuer,
    })
    expect(complaints).toEqual([])
  })

  test('with an earlier consent the login form leads directly to the application', async ({ open }) => {
    // On loopback only a client with a secret is remembered.
    const { url, user } = await setUp(world, { client: { token_endpoint_auth_method: 'client_secret_basic' } })
    for (const consents of [true, false]) {
      const { page, complaints } = await open()
      await page.goto(url)
      await logIn(page, user.email)
      if (consents) await press(page, 'Allow')
      expect((await arrival(page)).get('code')).toMatch(/^ac_/)
      expect(complaints).toEqual([])
    }
  })

  // Chromium holds form-action against the whole chain, which would strand users of https://… callbacks that open an app.
  test('an application may redirect the browser from its callback to another origin', async ({ open }) => {
    const { page, complaints } = await open()
    const callback = await serve(world.application)
    const { url, user } = await setUp(world, { client: { redirect_uris: [`${callback.origin}/callback`] } })
    await page.goto(url)
    await logIn(page, user.email)
    await press(page, 'Allow')
    await page.waitForURL(world.application)
    expect(complaints).toEqual([])
    callback.server.close()
  })

  test.for([de, es])(
    'in $languageName: a wrong password, the right one, the warnings, and consent',
    async (t, { open }) => {
      const { page, complaints } = await open({ locale: t.language })
      const { url, user } = await setUp(world, { record: { registration_source: 'dcr' } })
      const send = async (password: string) => {
        await page.getByLabel(t.login.email).fill(user.email)
        await page.getByLabel(t.login.password).fill(password)
        await page.getByRole('button', { name: t.login.submit, exact: true }).click()
      }
      await page.goto(url)
      await send('wrong')
      expect(await page.getByRole('alert').textContent()).toBe(t.login.failure)
      await send(PASSWORD)
      expect(await page.locator('.warn').allTextContents()).toEqual([t.consent.onDevice, t.consent.ownName])
      await page.getByRole('button', { name: t.consent.allow }).click()
      expect((await arrival(page)).get('code')).toMatch(/^ac_/)
      expect(complaints).toEqual([])
    },
  )

  test('all pages work without JavaScript', async ({ open }) => {
    const { page } = await open({ javaScriptEnabled: false })
    const { url, user } = await setUp(world)
    await page.goto(url)
    await logIn(page, user.email)
    await press(page, 'Allow')
    expect((await arrival(page)).get('code')).toMatch(/^ac_/)
  })

  test('the pages work with the keyboard: the first field has the focus, Tab follows the reading order, Enter submits', async ({
    open,
  }) => {
    const { page } = await open()
    const { url, user } = await setUp(world)
    const focused = () => page.locator(':focus').evaluate((element) => element.value || element.textContent)
    await page.goto(url)
    await page.locator('#email:focus').waitFor()
    await page.keyboard.type(user.email)
    await page.keyboard.press('Tab')
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/consent?**')
    const order: string[] = []
    for (let i = 0; i < 5; i++) {
      await page.keyboard.press('Tab')
      order.push(await focused())
    }
    expect(order).toEqual(['mcp:read', 'mcp:write', 'deny', 'allow', 'Use another account'])
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Enter')
    expect((await arrival(page)).get('code')).toMatch(/^ac_/)
  })

  test('Enter outside of the buttons of the consent page never allows', async ({ open }) => {
    const { page } = await open()
    const { url, user } = await setUp(world)
    await page.goto(url)
    await logIn(page, user.email)
    await page.getByRole('checkbox').first().press('Enter')
    expect((await arrival(page)).get('error')).toBe('access_denied')
  })

  test('an unchecked scope is not granted', async ({ open }) => {
    const { page } = await open()
    const { url, user, client, resource } = await setUp(world)
    await page.goto(url)
    await logIn(page, user.email)
    await page.getByRole('checkbox', { name: 'mcp:write' }).uncheck()
    await press(page, 'Allow')
    await arrival(page)
    const { client_id } = client
    const consent = await world.service.app.store.findConsent({ user_id: user.id, client_id, resource_id: resource.id })
    expect(consent?.scope).toBe('mcp:read')
  })

  test('"Use another account" keeps the request and shows the login form', async ({ open }) => {
    const { page } = await open()
    const { url, user, client, resource } = await setUp(world)
    const other = await addUser(world.service)
    await page.goto(url)
    await logIn(page, user.email)
    await page.getByRole('link', { name: 'Use another account' }).click()
    await logIn(page, other.email)
    expect(await page.locator('footer').textContent()).toContain(other.email)
    await press(page, 'Allow')
    expect((await arrival(page)).get('state')).toBe('some-state')
    const { client_id } = client
    const consentOf = ({ id }: { id: string }) =>
      world.service.app.store.findConsent({ user_id: id, client_id, resource_id: resource.id })
    expect(await consentOf(other)).toBeDefined()
    expect(await consentOf(user)).toBeUndefined()
  })

  test('signing out shows the login page and ends the session', async ({ open }) => {
    const { page, complaints } = await open()
    const user = await addUser(world.service)
    await page.goto(`${world.service.issuer}/`)
    await logIn(page, user.email)
    expect(await page.getByRole('main').textContent()).toContain(user.email)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Password').waitFor()
    await page.goto(`${world.service.issuer}/`)
    expect(new URL(page.url()).pathname).toBe('/login')
    expect(complaints).toEqual([])
  })

  test('another site cannot show the pages in a frame', async ({ open }) => {
    const { page, complaints } = await open()
    await page.goto(world.application)
    await page.setContent(`<iframe src="${world.service.issuer}/login"></iframe>`)
    await expect.poll(() => complaints.join()).toContain('frame-ancestors')
    expect(await page.frames()[1]?.locator('input').count()).toBe(0)
  })

  test('a page of an allowed origin can call the endpoints but not read the login pages; other origins can do neither', async ({
    open,
  }) => {
    const { page } = await open()
    const status = (path: string, init: RequestInit = {}) =>
      page.evaluate(
        ([url, request]) =>
          fetch(url, request).then(
            (response) => response.status,
            () => 'blocked',
          ),
        [world.service.issuer + path, init] as const,
      )
    const statuses = async () => [
      await status('/.well-known/oauth-authorization-server', { headers: { 'MCP-Protocol-Version': '2025-11-25' } }),
      await status('/oauth/token', { method: 'POST', headers: { ...FORM, authorization: 'Basic YTpi' }, body: BODY }),
      await status('/login'),
    ]
    await page.goto(world.application)
    expect(await statuses()).toEqual([200, 401, 'blocked'])
    const stranger = await serve(PAGE)
    await page.goto(stranger.origin)
    expect(await statuses()).toEqual(['blocked', 'blocked', 'blocked'])
    stranger.server.close()
  })
})
