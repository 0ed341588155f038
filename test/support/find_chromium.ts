// Finds an installed Chromium.
import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'

// Debian has the part without windows in a package of its own. A new profile in it takes a third of the processor time, a page a fifth.
const PATHS = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** The path of a Chromium: from SERVICE_TEST_CHROMIUM, or an installed one. Undefined when there is none. */
export function findChromium(): string | undefined {
  const named = process.env['SERVICE_TEST_CHROMIUM']
  return (named !== undefined ? [named] : [...PATHS, chromium.executablePath()]).find((path) => existsSync(path))
}
