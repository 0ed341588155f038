// Several tabs, a browser that is closed, a server that restarts: what the browsers of people do while an application waits. Each way ends
// at the application, or at a page with a link to it.
import { existsSync } from 'node:fs'
import { type BrowserContext, chromium, type Page, type Route } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { okAdmin } from '../support/admin.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { findChromium } from '../support/find_chromium.ts'
import { tempFolder } from '../support/folder.ts'
import { federating } from '../support/openid_fake.ts'
import { RealProvider } from '../support/openid_provider.ts'
import { type Pair, startPair } from '../support/pair.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { addUser, startService, type TestService } from '../support/service.ts'
import { openTurns, type Turns } from '../support/turns.ts'
import { logIn, PAGE, serve, setUp } from './scenes.ts'

interface World {
  service: TestService
  op: RealProvider
  application: string
  close(): Promise<void>
}
type Start = (env: Record<string, string>) => Promise<{ service: TestService; close(): Promise<void> }>

const oneProcess: Start = async (env) => {
  const service = await startService(env)
  return { service, close: () => service.close() }
}

async function openWorld(start: Start = oneProcess): Promise<World> {
  const op = await RealProvider.listen()
  const { server, origin } = await serve(PAGE)
  const env = { SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0', SERVICE_SESSION_SECRET: newId() + newId() }
  const { service, close } = await start(federating(op.issuer, env))
  op.open(service, 'ES256')
  return {
    service,
    op,
    application: `${origin}/callback`,
    async close() {
      server.close()
      op.close()
      await close()
    },
  }
}

let world: World
let postgres: PostgresServer
beforeAll(async () => {
  world = await openWorld()
  postgres = await startPostgres()
})
afterAll(async () => {
  await world.close()
  await postgres.close()
})

const allow = (page: Page) => page.locator('button[value=allow]').click()
const isAt = async (page: Page, { application }: World, sign: RegExp) => {
  // Not waitForURL(): the second click of two ends the navigation of the first, which that reports as an error.
  await expect.poll(() => page.url().startsWith(`${application}?`)).toBe(true)
  await page.waitForLoadState()
  expect(page.url()).toMatch(sign)
}
const continueWith = (page: Page) => page.locator('a[href*="/oidc/start"]').click()
/** The answer that sends a browser to the provider. */
async function startOf(route: Route): Promise<{ url: URL; headers: Record<string, string> }> {
  const response = await route.fetch({ maxRedirects: 0 })
  const { location = '', ...headers } = response.headers()
  return { url: new URL(location), headers }
}
const back = (page: Page) => page.locator(`a[href^="${world.application}"]`)

/** Requests of this many applications, each in a tab of its own, opened at the same time before the first sign-in. */
async function openTabs(at: World, context: BrowserContext, count: number) {
  context.setDefaultTimeout(20_000)
  const tabs = await Promise.all(Array.from({ length: count }, () => context.newPage()))
  const asked = await Promise.all(tabs.map(() => setUp(at)))
  await Promise.all(tabs.map((page, i) => page.goto(asked[i]?.url ?? '')))
  return tabs
}
/** The tabs in another order. */
const mixed = <T>(items: readonly T[], step: number): T[] =>
  items.map((_, i) => items[(i * step + 1) % items.length] as T)

/** Signs the same person in in every tab, then allows in every tab. Every tab must end at its application. */
async function signInEverywhere(at: World, tabs: Page[], enter: (page: Page) => Promise<void>): Promise<void> {
  const count = tabs.length
  for (const page of mixed(tabs, count > 3 ? 3 : 1)) {
    await enter(page)
    await page.locator('button[value=allow]').waitFor()
  }
  for (const page of mixed(tabs, count - 1)) {
    await allow(page)
    await isAt(page, at, /[?&]code=ac_/)
  }
}

describe(`tabs in ${CHROMIUM}`, () => {
  for (const count of [2, 4, 10])
    test(`${count} tabs that were opened before the first sign-in, each signed in with the password, end at their applications`, async ({
      open,
    }) => {
      const context = (await open()).page.context()
      const { email } = await addUser(world.service)
      await signInEverywhere(world, await openTabs(world, context, count), (page) => logIn(page, email))
    })

  afterEach(() => {
    world.op.asks = false
  })
  for (const count of [2, 4, 10])
    test(`${count} tabs that are at the provider at the same time end at their applications`, async ({ open }) => {
      const context = (await open()).page.context()
      const tabs = await openTabs(world, context, count)
      world.op.asks = true
      await Promise.all(tabs.map((page) => continueWith(page)))
      await Promise.all(tabs.map((page) => page.getByText('Sign in here').waitFor()))
      await signInEverywhere(world, tabs, (page) => page.getByText('Sign in here').click())
    })

  for (const locale of ['de', 'es'])
    test(`in ${locale}: tabs of which one signs in with the password and one at the provider, as two persons, keep apart what each allows`, async ({
      open,
    }) => {
      const context = (await open({ locale })).page.context()
      const [first, second] = (await openTabs(world, context, 2)) as [Page, Page]
      const { email, id } = await addUser(world.service)
      await logIn(first, email)
      await first.locator('button[value=allow]').waitFor()
      world.op.person = { sub: `up-${id}`, email: `${id}@corp.example.com`, email_verified: true }
      await continueWith(second)
      await second.locator('button[value=allow]').waitFor()
      // The page of the first person is open. The answer there is that of nobody: the second person is asked.
      await allow(first)
      await first.getByText(`${id}@corp.example.com`).waitFor()
      expect(await world.service.app.store.listConsents({ user_id: id })).toEqual([])
      for (const page of [first, second]) {
        await allow(page)
        await isAt(page, world, /code=ac_/)
      }
      expect(await world.service.app.store.listConsents({ user_id: id })).toEqual([])
    })

  test('a double click on Allow, and Allow again after the way back, lead to the application', async ({ open }) => {
    const { page } = await open()
    const { url, user } = await setUp(world)
    await page.goto(url)
    await logIn(page, user.email)
    await page.locator('button[value=allow]').dblclick()
    await isAt(page, world, /code=ac_/)
    await page.goBack()
    // Decided already: the page says so, and its link leads to the application with an error.
    await back(page).click()
    await isAt(page, world, /error=access_denied.*state=some-state/)
  })

  test('a reload at any page, and a sign-out in another tab, lead back to the same consent', async ({ open }) => {
    const { page } = await open()
    const { url, user } = await setUp(world)
    await page.goto(url)
    await page.reload()
    await logIn(page, user.email)
    // A reload before the page has arrived would be refused by the browser.
    await page.locator('button[value=allow]').waitFor()
    await page.reload()
    const other = await page.context().newPage()
    await other.goto(`${world.service.issuer}/oauth/authorize`)
    await okAdmin(world.service, 'DELETE', `/admin/users/${user.id}/tokens`)
    await allow(page)
    await logIn(page, user.email)
    await allow(page)
    await isAt(page, world, /code=ac_/)
  })

  test('a person who gives up at the provider can sign in again, or go back to the application', async ({ open }) => {
    const { page } = await open()
    await page.route(
      /\/oidc\/start/,
      async (route) => {
        const { url, headers } = await startOf(route)
        const refused = new URLSearchParams({ error: 'access_denied', state: url.searchParams.get('state') ?? '' })
        const location = `${world.service.issuer}/oidc/callback?${refused}`
        await route.fulfill({ status: 303, headers: { ...headers, location } })
      },
      { times: 1 },
    )
    await page.goto((await setUp(world)).url)
    await continueWith(page)
    await page.getByRole('alert').waitFor()
    expect(await back(page).getAttribute('href')).toMatch(/error=access_denied.*state=some-state/)
    await page.locator('a[href*="/login?"]').click()
    await continueWith(page)
    await allow(page)
    await isAt(page, world, /code=ac_/)
  })
})

describe('a browser that is closed and opened again', () => {
  const executablePath = findChromium()
  const launch = (folder: string) =>
    chromium.launchPersistentContext(folder, {
      executablePath: executablePath ?? '',
      args: ['--no-sandbox', '--disable-dev-shm-usage'],
    })

  test.skipIf(executablePath === undefined || !existsSync(executablePath))(
    'restores its tabs: the login page, the consent page and the provider lead to the application',
    async () => {
      const folder = tempFolder()
      let context = await launch(folder)
      const { email } = await addUser(world.service)
      const [login, consent] = (await openTabs(world, context, 2)) as [Page, Page]
      await logIn(consent, email)
      await consent.locator('button[value=allow]').waitFor()
      const urls = [login.url(), consent.url()]
      await context.close()
      context = await launch(folder)
      try {
        const tabs = await Promise.all(urls.map(() => context.newPage()))
        await Promise.all(tabs.map((page, i) => page.goto(urls[i] ?? '')))
        await logIn(tabs[0] as Page, email)
        for (const page of tabs) {
          await allow(page)
          await isAt(page, world, /code=ac_/)
        }
      } finally {
        await context.close()
      }
    },
    60_000,
  )
})

describe('instances on PostgreSQL behind a proxy', () => {
  /** A world at a proxy, whose instances the test starts. */
  const behind = (begin: (proxy: Turns, env: Record<string, string>) => Promise<TestService & { end?: Pair }>) =>
    openWorld(async (env) => {
      const proxy = await openTurns()
      const all = {
        ...env,
        SERVICE_SERVER_ISSUER: proxy.origin,
        SERVICE_OIDC_REDIRECT_URI: `${proxy.origin}/oidc/callback`,
      }
      const first = await begin(proxy, all)
      return {
        service: { ...first, issuer: proxy.origin },
        async close() {
          proxy.close()
          await first.end?.close()
        },
      }
    })

  test('two that answer in turns: four tabs with the password, and four at the provider, end at their applications', async ({
    open,
  }) => {
    const dsn = await postgres.migrated()
    const turns = await behind(async (proxy, env) => {
      const pair = await startPair(dsn, env)
      proxy.to([pair.a, pair.b])
      return { ...pair.a, end: pair }
    })
    try {
      const { email } = await addUser(turns.service)
      const first = (await open()).page.context()
      await signInEverywhere(turns, await openTabs(turns, first, 4), (page) => logIn(page, email))
      const second = (await open()).page.context()
      await signInEverywhere(turns, await openTabs(turns, second, 4), (page) => continueWith(page))
    } finally {
      await turns.close()
    }
  }, 60_000)

  test('one that is replaced between any two steps, without a session secret: both ways end at the application', async ({
    open,
  }) => {
    const dsn = await postgres.migrated()
    let current: TestService | undefined
    let restart = async () => {}
    const replaced = await behind(async (proxy, { SERVICE_SESSION_SECRET: _, ...env }) => {
      const shared = {
        ...env,
        SERVICE_STORAGE_DRIVER: 'postgres',
        SERVICE_STORAGE_POSTGRES_DSN: dsn,
        SERVICE_SIGNING_KEY_PATH: tempFolder(),
      }
      restart = async () => {
        await current?.close()
        current = await startService(shared)
        proxy.to([current])
      }
      await restart()
      return current as unknown as TestService
    })
    try {
      const { url, user } = await setUp(replaced)
      for (const enter of [(page: Page) => logIn(page, user.email), continueWith]) {
        const { page } = await open()
        await page.goto(url)
        await restart()
        await enter(page)
        await page.locator('button[value=allow]').waitFor()
        await restart()
        // The secret of the sessions is gone with the process: Allow leads to another sign-in, and back.
        await allow(page)
        await page.waitForURL(/\/login\?/)
        await restart()
        await enter(page)
        await allow(page)
        await isAt(page, replaced, /code=ac_/)
      }
      const { page } = await open()
      await page.goto(url)
      await page.route(/\/oidc\/callback/, async (route) => {
        await restart()
        await route.continue()
      })
      await continueWith(page)
      await allow(page)
      await isAt(page, replaced, /code=ac_/)
    } finally {
      await replaced.close()
      await current?.close()
    }
  }, 90_000)
})
