// Headless Chromium for the page tests: the one that is installed, else Debian's where we may install it. Without one the
// tests are skipped, and say so.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, test as base } from 'vitest'

const PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]
// Several test files may want it at once.
const INSTALL = `command -v chromium || { apt-get update && apt-get install -y --no-install-recommends chromium; }`
const INSTALL_MS = 180_000

/** The path of a Chromium: the one that SERVICE_TEST_CHROMIUM names, else an installed one, else a new one. */
async function findChromium(): Promise<string | undefined> {
  const named = process.env['SERVICE_TEST_CHROMIUM']
  if (named !== undefined) return existsSync(named) ? named : undefined
  const installed = () => [...PATHS, chromium.executablePath()].find((path) => existsSync(path))
  if (!installed() && process.getuid?.() === 0 && existsSync('/etc/debian_version')) {
    const lock = '/tmp/service-test-chromium.lock'
    await promisify(execFile)('flock', [lock, 'sh', '-c', INSTALL], { timeout: INSTALL_MS }).catch(() => undefined)
  }
  return installed()
}

async function launch(): Promise<Browser | undefined> {
  const executablePath = await findChromium()
  // Containers often lack what the sandbox and /dev/shm need, and only our own pages are opened.
  return executablePath === undefined
    ? undefined
    : chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
}

const browser = await launch()
afterAll(() => browser?.close())
if (!browser) process.stderr.write('no Chromium: the pages are not tested; name one with SERVICE_TEST_CHROMIUM\n')

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
