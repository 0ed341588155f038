// Signing in at an upstream provider in a real browser: another site takes part, so that cookies are what they are on the way.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { CHROMIUM, test } from '../support/chromium.ts'
import { federating } from '../support/openid_fake.ts'
import { RealProvider } from '../support/openid_provider.ts'
import { startService, type TestService } from '../support/service.ts'
import { flawsOf } from './probe.ts'
import { PAGE, serve, setUp } from './scenes.ts'

/** The service is at localhost, the provider and the application are at 127.0.0.1: other sites, for a browser. */
interface Federation {
  service: TestService
  op: RealProvider
  application: string
  close(): Promise<void>
}

async function openFederation(more: Record<string, string> = {}): Promise<Federation> {
  const op = await RealProvider.listen()
  const { server, origin } = await serve(PAGE)
  const service = await startService(federating(op.issuer, more))
  op.open(service, 'ES256')
  return {
    service,
    op,
    application: `${origin}/callback`,
    async close() {
      server.close()
      op.close()
      await service.close()
    },
  }
}

let both: Federation
let alone: Federation
let strict: Federation
beforeAll(async () => {
  both = await openFederation()
  alone = await openFederation({
    SERVICE_OIDC_SHOW_LOCAL_LOGIN: 'false',
    SERVICE_OIDC_DISPLAY_NAME: `<b>The Identity Provider of ${'Corporations '.repeat(4)}`,
  })
  strict = await openFederation({ SERVICE_SESSION_SAME_SITE: 'strict' })
})
afterAll(async () => {
  for (const each of [both, alone, strict]) await each.close()
})

const SIZES = { desktop: [1280, 800], narrow: [320, 640] } as const
const link = (page: Page) => page.getByRole('link', { name: /^Continue with / })

/** From the application over the login page and the provider to the consent page and back. */
async function wholeWay(world: Federation, page: Page): Promise<URLSearchParams> {
  const { url } = await setUp(world)
  // From a page of the application, as a person comes.
  await page.goto(world.application)
  await page.evaluate(`location.href = ${JSON.stringify(url)}`)
  await link(page).click()
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.waitForURL(`${world.application}?**`)
  return new URL(page.url()).searchParams
}

describe(`in ${CHROMIUM}`, () => {
  test('the login page shows the provider beside the form, or alone, and passes the accessibility checks', async ({
    open,
  }) => {
    for (const [name, world, controls] of [
      ['both', both, { links: 1, passwords: 1 }],
      ['alone', alone, { links: 1, passwords: 0 }],
    ] as const) {
      const { page, complaints } = await open()
      await page.goto(`${world.service.issuer}/login`)
      const seen = { links: await link(page).count(), passwords: await page.getByLabel('Password').count() }
      expect(seen, name).toEqual(controls)
      for (const colorScheme of ['light', 'dark'] as const)
        for (const [size, [width, height]] of Object.entries(SIZES)) {
          await page.emulateMedia({ colorScheme })
          await page.setViewportSize({ width, height })
          expect(await flawsOf(page), `${name} ${size} ${colorScheme}`).toEqual([])
        }
      expect(complaints).toEqual([])
    }
  })

  test('screen readers read the page in order, and markup in the name of the provider is text', async ({ open }) => {
    const { page } = await open()
    await page.goto(`${both.service.issuer}/login`)
    const snapshot = await page.locator('body').ariaSnapshot()
    expect(snapshot.replace(/\n.*\/url:.*/, '')).toBe(
      [
        '- main:',
        '  - heading "Sign in" [level=1]',
        `  - paragraph: to continue to ${new URL(both.service.issuer).host}`,
        '  - text: Email',
        '  - textbox "Email"',
        '  - text: Password',
        '  - textbox "Password"',
        '  - button "Show password"',
        '  - button "Sign in"',
        '  - group: Forgot your password?',
        '  - button "Sign in with a passkey"',
        '  - paragraph: or',
        '  - link "Continue with Corporate SSO":',
        '- button "Deutsch"',
        '- button "Español"',
      ].join('\n'),
    )
    await page.goto(`${alone.service.issuer}/login`)
    expect(await link(page).textContent()).toMatch(/^Continue with <b>The Identity Provider of /)
  })

  test('a sign-in through the provider ends at the application with a code', async ({ open }) => {
    const { page, complaints } = await open()
    const arrived = await wholeWay(both, page)
    expect(arrived.get('code')).toMatch(/^ac_/)
    expect(arrived.get('iss')).toBe(both.service.issuer)
    expect(complaints).toEqual([])
  })

  test('the same sign-in works with strict session cookies and without JavaScript', async ({ open }) => {
    const { page, complaints } = await open()
    expect((await wholeWay(strict, page)).get('code')).toMatch(/^ac_/)
    expect(complaints).toEqual([])
    const plain = await open({ javaScriptEnabled: false })
    await plain.page.goto((await setUp(strict)).url)
    await link(plain.page).click()
    await plain.page.getByRole('button', { name: 'Allow' }).waitFor()
  })

  test('"Use another account" asks the provider for another account', async ({ open }) => {
    const { page } = await open()
    const { url } = await setUp(both)
    await page.goto(url)
    await link(page).click()
    both.op.person = { sub: 'up-grace', email: 'grace@corp.example.com', email_verified: true, name: 'Grace' }
    await page.getByRole('link', { name: 'Use another account' }).click()
    await link(page).click()
    expect(await page.locator('footer').textContent()).toContain('grace@corp.example.com')
  })
})
