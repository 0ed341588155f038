// axe in a page of a test.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Finding {
  id: string
  impact: string
  nodes: { html: string; any: { message: string }[] }[]
}

/** Puts axe into the page that is open. */
export const addAxe = async (page: Page): Promise<void> => void (await page.evaluate(AXE))

/** What axe calls serious or critical, in words. */
export async function findingsOf(page: Page): Promise<string[]> {
  // Only violations, so that axe need not describe every node that passes.
  const violations = await page.evaluate<Finding[]>(
    "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )
  return violations
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .flatMap(({ id, nodes }) => nodes.map(({ html, any }) => `${id}: ${html.slice(0, 120)} ${any[0]?.message ?? ''}`))
}
