// The Chromium of the page tests. Without a Chromium they are skipped with a message.
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { test as base } from 'vitest'
import { atEndOfFile } from './end_of_file.ts'
import { sharedServer } from './shared_server.ts'

const endpoint = await sharedServer('/chromium')
/** Connected for as long as this process lasts; each tab has a profile of its own. */
const browser = endpoint ? await chromium.connect(endpoint) : undefined
if (!browser)
  process.stderr.write(
    'No Chromium: the pages are not tested. Install one (Debian: apt-get install chromium-headless-shell), or name one in SERVICE_TEST_CHROMIUM.\n',
  )

/** For the titles: the browser of these tests, or that they are skipped. */
export const CHROMIUM = browser ? `Chromium ${browser.version()}` : 'no Chromium: not tested'

export interface Tab {
  page: Page
  /** Errors in the browser: script errors, failed loads, violations of the content security policy. */
  complaints: string[]
}

/** Opens a tab in a browser profile of its own. */
export type Open = (options?: BrowserContextOptions) => Promise<Tab>

/** A test that may open tabs. */
export const test = base
  .extend('open', async ({ skip }, { onCleanup }): Promise<Open> => {
    if (!browser) return skip('no Chromium')
    const opened: (() => Promise<void>)[] = []
    onCleanup(async () => void (await Promise.all(opened.map((close) => close()))))
    return async (options = {}) => {
      const context = await browser.newContext(options)
      opened.push(() => context.close())
      return openTab(context)
    }
  })
  // A new profile takes a second, in which pages are compiled again: four fifths of the time of a test.
  .extend('reopen', async ({ skip }): Promise<Open> => {
    if (!browser) return skip('no Chromium')
    return async (options = {}) => {
      const tab = await keptTab(browser, options)
      await tab.page.goto('about:blank')
      await tab.page.context().clearCookies()
      await tab.page.setViewportSize({ width: 1280, height: 720 })
      await tab.page.emulateMedia({ colorScheme: null })
      tab.complaints.length = 0
      return tab
    }
  })

/** The tabs of the current test file, by the options of their profiles. `reopen` gives one to each test, without the cookies of the test before. */
const kept = new Map<string, Promise<Tab>>()

function keptTab(browser: Browser, options: BrowserContextOptions): Promise<Tab> {
  const key = JSON.stringify(options)
  const tab = kept.get(key) ?? keepTab(browser, options, key)
  kept.set(key, tab)
  return tab
}

async function keepTab(browser: Browser, options: BrowserContextOptions, key: string): Promise<Tab> {
  const context = await browser.newContext(options)
  atEndOfFile(() => {
    kept.delete(key)
    return context.close()
  })
  return openTab(context)
}

async function openTab(context: BrowserContext): Promise<Tab> {
  context.setDefaultTimeout(10_000)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    // A page that shows an error also has an error status.
    const isRefusal = message.text().startsWith('Failed to load') && message.location().url === page.url()
    if (['error', 'warning'].includes(message.type()) && !isRefusal) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  // A page with values that were not saved asks before it is left.
  page.on('dialog', (dialog) => void dialog.accept())
  page.on('requestfailed', (request) => complaints.push(`${request.url()} ${request.failure()?.errorText}`))
  return { page, complaints }
}
