// How the pages look and read: every state, in both color schemes, from a desktop down to the narrowest phone.
// SERVICE_TEST_SHOTS names a folder for screenshots.
import path from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { LANGUAGES } from '../../src/endpoints/pages/language.ts'
import { addAxe, findingsOf } from '../support/axe.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { flawsOf } from './probe.ts'
import { openWorld, SCENES, showConsent, type World } from './scenes.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const SIZES = { desktop: [1280, 800], phone: [390, 844], narrow: [320, 640] } as const
const SHOTS = process.env['SERVICE_TEST_SHOTS']

/** Colors do not depend on the language: translations are looked at in one scheme, where their texts have most and least room. */
const looksOf = (language: string) =>
  (language === 'en' ? (['light', 'dark'] as const) : (['light'] as const)).flatMap((colorScheme) =>
    Object.entries(SIZES)
      .filter(([size]) => language === 'en' || size !== 'phone')
      .map(([size, [width, height]]) => ({ colorScheme, size, width, height })),
  )

/** Each scene in English; one scene of each page, and those with long texts, in every language. */
const IN_EVERY_LANGUAGE = [
  'login',
  'consent',
  'device code',
  'device consent',
  'password link',
  'sign out',
  'signed out',
  'error',
  'account',
  'approvals',
  'account with long texts',
  'consent with long texts',
]
const TRANSLATED = LANGUAGES.flatMap(({ language }) =>
  Object.entries(SCENES)
    .filter(([scene]) => language === 'en' || IN_EVERY_LANGUAGE.includes(scene))
    .map(([scene, show]) => [scene, language, show] as const),
)

describe(`in ${CHROMIUM}`, () => {
  for (const [scene, language, show] of TRANSLATED)
    test(`${scene} (${language}): contrast, labels and sizes are accessible, no text is cut off, and axe and the browser report nothing`, async ({
      reopen,
    }) => {
      const { page, complaints } = await reopen({ locale: language })
      await show(world, page)
      expect(await page.locator('html').getAttribute('lang')).toBe(language)
      await addAxe(page)
      for (const { colorScheme, size, width, height } of looksOf(language)) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height })
        const name = `${scene} ${language} ${size} ${colorScheme}`
        if (SHOTS) await page.screenshot({ path: path.join(SHOTS, `${name.replaceAll(' ', '-')}.png`), fullPage: true })
        // axe looks at the widest and the narrowest layout, once each: in the dark scheme only colors differ, and flawsOf() measures their contrast.
        const isNew = colorScheme === 'light' && (size === 'narrow' || (size === 'desktop' && language === 'en'))
        expect([...(await flawsOf(page)), ...(isNew ? await findingsOf(page) : [])], name).toEqual([])
      }
      expect(complaints).toEqual([])
    })

  test('the pages follow the colour scheme of the browser, dark or light', async ({ open }) => {
    const { page } = await open()
    await page.goto(`${world.service.issuer}/login`)
    const background = async (colorScheme: 'light' | 'dark') => {
      await page.emulateMedia({ colorScheme })
      return page
        .locator('main')
        .evaluate((main) => main.ownerDocument.defaultView.getComputedStyle(main).backgroundColor)
    }
    expect([await background('light'), await background('dark')]).toEqual(['rgb(255, 255, 255)', 'rgb(23, 26, 33)'])
  })

  test('screen readers read the whole login page in order, with each error at its fields', async ({ open }) => {
    const { page } = await open()
    await SCENES['login error']?.(world, page)
    expect(await page.locator('body').ariaSnapshot()).toBe(
      [
        '- main:',
        '  - heading "Sign in" [level=1]',
        '  - paragraph:',
        '    - strong: Inbox Assistant',
        `    - text: asks you to sign in to ${new URL(world.service.issuer).host}.`,
        '  - alert: Email or password is wrong. If you have a second factor, enter its code too.',
        '  - text: Email',
        '  - textbox "Email": ada@example.com',
        '  - text: Password',
        '  - textbox "Password"',
        '  - button "Show password"',
        '  - paragraph: You can leave the password empty to use the one that you have just entered.',
        '  - text: Code of your second factor',
        '  - textbox "Code of your second factor"',
        '  - paragraph: The code of your authenticator app, or a recovery code. Leave it empty if you have no second factor.',
        '  - button "Sign in"',
        '  - group: Forgot your password?',
        '  - button "Sign in with a passkey"',
        '- button "Deutsch"',
        '- button "Español"',
      ].join('\n'),
    )
    for (const label of ['Email', 'Password'])
      expect(await page.getByLabel(label).getAttribute('aria-describedby')).toBe('problem')
  })

  test('screen readers read the whole consent page in order', async ({ open }) => {
    const { page } = await open()
    const { user, resource } = await showConsent(world, page, {
      client: { redirect_uris: ['https://inbox.example.com/callback'] },
      scope: 'mcp:read',
    })
    const snapshot = await page.locator('body').ariaSnapshot()
    expect(snapshot.replace(/\n.*\/url:.*/g, '')).toBe(
      [
        '- main:',
        '  - heading "Inbox Assistant asks for access" [level=1]',
        '  - term: Access to',
        '  - definition:',
        `    - text: ${resource.display_name}`,
        `    - code: ${resource.uri}`,
        '  - term: Afterwards you will be sent to',
        '  - definition: inbox.example.com',
        '  - group "It wants to":',
        '    - text: It wants to',
        '    - list:',
        '      - listitem:',
        '        - checkbox "Use mcp:read mcp:read" [checked]',
        '        - text: Use mcp:read',
        '        - code: mcp:read',
        '  - button "Deny"',
        '  - button "Allow"',
        `  - text: Signed in as ${user.email}`,
        '  - link "Use another account":',
        '  - link "Your account":',
        '- button "Deutsch"',
        '- button "Español"',
      ].join('\n'),
    )
  })

  test('the consent page warns about a program on this device, and about a client that chose its own name', async ({
    open,
  }) => {
    const { page } = await open()
    const warnings = () => page.locator('.warn').allTextContents()
    await SCENES['consent']?.(world, page)
    expect(await warnings()).toEqual([])
    await page.context().clearCookies()
    await SCENES['consent of a program on this device']?.(world, page)
    expect(await warnings()).toEqual([expect.stringContaining('on your own device')])
    await page.context().clearCookies()
    await SCENES['consent of a client that registered itself']?.(world, page)
    expect(await warnings()).toEqual([expect.stringContaining('chose its own name')])
  })

  test('invisible characters are removed from a name, and a right-to-left name does not change the direction of other text', async ({
    open,
  }) => {
    const { page } = await open()
    const client_name = 'moc.\u202eelgoog\u202c\u2066\u200f\u061c\u200b\ufeff\u00ad \u{e0041}שלום'
    await showConsent(world, page, { client: { client_name } })
    expect(await page.title()).toBe('Allow moc.elgoog שלום?')
    const heading = page.getByRole('heading')
    expect(await heading.textContent()).toBe('moc.elgoog שלום asks for access')
    const [name, whole] = [await heading.locator('bdi').boundingBox(), await heading.boundingBox()]
    expect(name?.x).toBe(whole?.x)
  })
})
