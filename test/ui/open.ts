// The admin page of a test service in a real browser, opened with the key.
import type { Page } from 'playwright-core'
import { AdminBrowser } from '../support/admin_page.ts'
import type { Tab } from '../support/chromium.ts'
import { ADMIN_KEY, type TestService } from '../support/service.ts'

/** What `open` of the browser tests is. */
export type Open = (options?: { viewport?: { width: number; height: number } }) => Promise<Tab>

/** Opens a place of the admin page, past the gate. */
export async function openAdmin(open: Open, service: TestService, place = ''): Promise<Tab> {
  const tab = await open()
  await tab.page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await tab.page.context().addCookies(await sessionCookies(service))
  await tab.page.goto(`${service.admin}/admin/ui/${place}`)
  await tab.page.getByRole('navigation', { name: 'Pages' }).waitFor()
  return tab
}

/** The cookie of a page that has exchanged the key. */
export async function sessionCookies(service: TestService, key = ADMIN_KEY) {
  const page = new AdminBrowser(service)
  await page.signInWithKey(key)
  return [...page.cookies].map(([name, value]) => ({ name, value, url: `${service.admin}/admin` }))
}

/** Presses a button by its name. */
export const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click()

/** Waits for the message about a completed action. The whole text is compared: a sentence of a dialog may contain it. */
export const said = (page: Page, text: string | RegExp): Promise<void> =>
  page.locator('.toasts').getByText(text, { exact: true }).waitFor()

/** The texts of the rows that are shown. A chart has its values in a table that opens on demand. */
export const rowsOf = (page: Page): Promise<string[]> => page.locator('tbody tr:visible').allInnerTexts()

/** A field of the open dialog, by the beginning of its label. */
export const field = (page: Page, label: string) => page.getByRole('dialog').getByLabel(new RegExp(`^${label}`))

/** Opens the fields of the open dialog that are not needed often. */
export const openAdvanced = (page: Page): Promise<void> =>
  page.getByRole('dialog').getByText('Advanced', { exact: true }).click()

/** Opens the form of a new item, and answers what it is. */
export async function pressNew(page: Page, button: string, kind: string): Promise<void> {
  await page.getByRole('button', { name: button, exact: true }).first().click()
  await page
    .getByRole('dialog')
    .getByRole('radio', { name: new RegExp(`^${kind}`) })
    .check()
}

/** Enters texts into a field of the open dialog that searches for several items. */
export async function pick(page: Page, label: string, ...texts: string[]): Promise<void> {
  for (const text of texts) {
    await field(page, label).fill(text)
    await field(page, label).press('Enter')
  }
}
