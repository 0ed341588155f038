// How the pages look and read: in both color schemes, on a desktop and on the narrowest phone, for eyes and for screen readers.
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { CHROMIUM, test } from '../support/chromium.ts'
import { openWorld, SCENES, type World } from './scenes.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 }, narrow: { width: 320, height: 640 } }
const SCHEMES = ['light', 'dark'] as const
const SHOTS = process.env['SERVICE_TEST_SHOTS']

describe(`in ${CHROMIUM}`, () => {
  for (const [name, show] of Object.entries(SCENES))
    test(`shot ${name}`, async ({ open }) => {
      const { page } = await open()
      await show(world, page)
      for (const colorScheme of SCHEMES)
        for (const [size, viewport] of Object.entries(SIZES)) {
          await page.emulateMedia({ colorScheme })
          await page.setViewportSize(viewport)
          if (SHOTS) await page.screenshot({ path: path.join(SHOTS, `${name}-${size}-${colorScheme}.png`.replaceAll(' ', '_')), fullPage: true })
        }
      expect(await page.title()).not.toBe('')
    })
})
