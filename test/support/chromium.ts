// The Chromium of the page tests. Without one they are skipped, and say so.
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { test as base } from 'vitest'
import { sharedServer } from './shared_server.ts'

const endpoint = await sharedServer('/chromium')
/** Connected for as long as this process lasts; each tab has a profile of its own. */
const browser = endpoint ? await chromium.connect(endpoint) : undefined
if (!browser)
  process.stderr.write(
    'No Chromium: the pages are not tested. Install one (Debian: apt-get install chromium), or name one in SERVICE_TEST_CHROMIUM.\n',
  )

/** For the titles: where these tests run, or that they do not. */
export const CHROMIUM = browser ? `Chromium ${browser.version()}` : 'no Chromium: not tested'

export interface Tab {
  page: Page
  /** What the browser complained of: script errors, failed loads, violations of the policy. */
  complaints: string[]
}

/** A test that may open tabs, each in a browser profile of its own. */
export const test = base.extend('open', async ({ skip }, { onCleanup }) => {
  if (!browser) return skip('no Chromium')
  const opened: (() => Promise<void>)[] = []
  onCleanup(async () => void (await Promise.all(opened.map((close) => close()))))
  return async (options: BrowserContextOptions = {}): Promise<Tab> => {
    const context = await browser.newContext(options)
    opened.push(() => context.close())
    context.setDefaultTimeout(10_000)
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => {
      // A page that says no says it with its status too.
      const isRefusal = message.text().startsWith('Failed to load') && message.location().url === page.url()
      if (['error', 'warning'].includes(message.type()) && !isRefusal) complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('requestfailed', (request) => complaints.push(`${request.url()} ${request.failure()?.errorText}`))
    return { page, complaints }
  }
})
