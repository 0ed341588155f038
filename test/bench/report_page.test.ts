// The HTML report in a real browser.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect } from 'vitest'
import { renderHtml } from '../../bench/report/html.ts'
import { addAxe, findingsOf } from '../support/axe.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { tempFolder } from '../support/folder.ts'
import { reportWith, resultWith } from './reports.ts'

const steps = [{ per_s: 2000 }, { per_s: 6000, p99: 12 }, { per_s: 8000, p99: 24 }, { per_s: 9000, p99: 90 }]
const report = reportWith([
  resultWith('client_credentials', [{ per_s: 10_000 }], steps),
  resultWith('mix client_credentials=80,refresh_token=15,introspection=5', [{ per_s: 9000 }], steps),
  resultWith('client_credentials', [{ per_s: 4000 }], [], { server: 'oidc-provider', store: 'none' }),
  resultWith('login', [{ per_s: 60, front: 15_000 }]),
])

describe(`in ${CHROMIUM}`, () => {
  test('the report is accessible and fits a desktop and a phone, light and dark', { timeout: 120_000 }, async ({
    open,
  }) => {
    const file = path.join(tempFolder(), 'report.html')
    writeFileSync(file, renderHtml(report))
    const { page, complaints } = await open()
    await page.goto(pathToFileURL(file).href)
    await addAxe(page)
    for (const [width, colorScheme] of [
      [1280, 'light'],
      [390, 'dark'],
    ] as const) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 900 })
      expect(await findingsOf(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
      // The text of a plot is as large as the text around it.
      const heights = "[...document.querySelectorAll('svg text')].map((each) => each.getBoundingClientRect().height)"
      expect(Math.min(...(await page.evaluate<number[]>(heights)))).toBeGreaterThanOrEqual(11)
    }
    expect(complaints).toEqual([])
  })
})
