// How the admin page looks: every page, in both color schemes, on a desk and on a phone, with axe.
// SERVICE_TEST_SHOTS names a folder for screenshots.
import path from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { addAxe, findingsOf } from '../support/axe.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { startService } from '../support/service.ts'
import { openAdmin } from './open.ts'
import { openWorld, placesOf, type World } from './world.ts'

const SIZES = { desktop: [1280, 800], phone: [390, 844] } as const
const SHOTS = process.env['SERVICE_TEST_SHOTS']

/** What is drawn below the card that contains it: it covers what follows. On a phone the heads of tables are only for screen readers. */
const BELOW_CARDS = `[...document.querySelectorAll('main .card')].flatMap((card) =>
  [...card.querySelectorAll('*')]
    .filter((each) => each.checkVisibility() && !each.closest('thead') && each.getBoundingClientRect().bottom > card.getBoundingClientRect().bottom + 1)
    .map((each) => each.outerHTML.slice(0, 100)))`

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.service.close())

const NAMES = [
  ...['home', 'connections', 'clients', 'client', 'users', 'user', 'groups', 'resources', 'resource'],
  ...['restricted resource', 'providers', 'fronting'],
  ...[
    'identity providers',
    'policies',
    'mappings',
    'issuances',
    'issuance',
    'audit',
    'webhooks',
    'streams',
    'approvals',
    'lockouts',
    'keys',
    'settings',
    'search',
    ...['incidents', 'a token leaked', 'what a token reaches', 'a person left', 'a client floods', 'a key leaked'],
    'try it',
    'explain',
  ],
]

describe(`in ${CHROMIUM}`, () => {
  test.for(NAMES)(
    '%s: axe reports no serious problem, the page does not scroll sideways, cards contain what is in them, and the browser logs no error',
    async (name, { reopen }) => {
      const { page, complaints } = await openAdmin(reopen, world.service, placesOf(world)[name])
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.waitForLoadState('networkidle')
      await addAxe(page)
      for (const [size, [width, height]] of Object.entries(SIZES))
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.setViewportSize({ width, height })
          await page.emulateMedia({ colorScheme })
          const shot = `${name} ${size} ${colorScheme}`
          if (SHOTS) await page.screenshot({ path: path.join(SHOTS, `${shot.replaceAll(' ', '-')}.png`) })
          // Each layout once and each scheme once: the layout does not depend on the colors.
          if ((size === 'desktop') === (colorScheme === 'light')) expect(await findingsOf(page), shot).toEqual([])
          const sideways = await page.evaluate<number>(
            'document.documentElement.scrollWidth - document.documentElement.clientWidth',
          )
          expect(sideways, shot).toBe(0)
          expect(await page.evaluate(BELOW_CARDS), shot).toEqual([])
        }
      expect(complaints).toEqual([])
    },
  )

  test('the key prompt and an open dialog: axe reports no serious problem', async ({ open, reopen }) => {
    const { page } = await open()
    await page.goto(`${world.service.admin}/admin/ui/`)
    await page.getByLabel('Admin key').waitFor()
    await addAxe(page)
    expect(await findingsOf(page)).toEqual([])
    const { page: inside } = await openAdmin(reopen, world.service, 'clients')
    await inside.getByRole('button', { name: 'New client' }).click()
    await inside.getByRole('radio', { name: /^Web/ }).check()
    await inside.getByLabel('Client name').waitFor()
    await addAxe(inside)
    expect(await findingsOf(inside)).toEqual([])
    if (SHOTS) await inside.screenshot({ path: path.join(SHOTS, 'dialog.png') })
  })

  test('every empty list explains what it will contain', async ({ reopen }) => {
    const empty = await startService()
    try {
      for (const place of [
        'clients',
        'users',
        'resources',
        'providers',
        'fronting',
        'idps',
        'policies',
        'mappings',
        'issuances',
        'approvals',
        'lockouts',
      ]) {
        const { page } = await openAdmin(reopen, empty, place)
        await page.locator('.empty h2').waitFor()
        expect(await page.locator('.empty p').first().textContent()).toMatch(/\w+ \w+ .*\./)
      }
    } finally {
      await empty.close()
    }
  })

  test('on a phone the pages are in a menu that closes after a choice', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, world.service, 'clients')
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await page.getByRole('link', { name: 'People' }).isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('link', { name: 'People' }).click()
    await page.getByRole('heading', { name: 'Users', level: 1 }).waitFor()
    expect(await page.getByRole('link', { name: 'Record' }).isVisible()).toBe(false)
  })
})
