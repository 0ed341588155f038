// What survives the end of a session: the work in forms, and the wall view.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { addAxe, findingsOf } from '../support/axe.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { ADMIN_KEY, addUser, startService, type TestService } from '../support/service.ts'
import { field, openAdmin, press, pressNew } from './open.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

/** Enters a key at the sign-in. */
async function enter(page: Page, key: string) {
  await page.getByLabel('Admin key').fill(key)
  await page.keyboard.press('Enter')
}

describe(`in ${CHROMIUM}`, () => {
  test('what was typed into a form waits for the same operator, without the password', async ({ open }) => {
    const { page } = await openAdmin(open, service, 'users')
    await page.getByRole('button', { name: 'Create user' }).first().click()
    await field(page, 'Email$').fill('kept@example.com')
    await field(page, 'Password').fill('a long password of a person')
    await page.context().clearCookies()
    await press(page, 'Create')
    await page.getByText('You are no longer signed in').waitFor()
    expect(await page.evaluate<string>('JSON.stringify(sessionStorage)')).not.toContain('a long password')
    await enter(page, ADMIN_KEY)
    await page.getByText('What you had entered was kept').waitFor()
    expect(await field(page, 'Email$').inputValue()).toBe('kept@example.com')
    expect(await field(page, 'Password').inputValue()).toBe('')
    expect(await page.evaluate<string>('JSON.stringify(sessionStorage)')).not.toContain('kept@')
  })

  test('a form that asked for a kind waits with the kind, and asks before it is discarded', async ({ open }) => {
    const { page } = await openAdmin(open, service, 'clients')
    await pressNew(page, 'New client', 'Machine')
    await field(page, 'Client name').fill('Kept robot')
    await page.context().clearCookies()
    await press(page, 'Create')
    await enter(page, ADMIN_KEY)
    const dialog = page.getByRole('dialog')
    await expect.poll(() => dialog.getByRole('radio', { name: /^Machine/ }).isChecked()).toBe(true)
    expect(await field(page, 'Client name').inputValue()).toBe('Kept robot')
    await press(page, 'Cancel')
    await press(page, 'Discard')
    await page.getByRole('button', { name: 'New client' }).first().click()
    expect(await dialog.getByRole('radio', { name: /^Machine/ }).isChecked()).toBe(false)
  })

  test('a form that was saved or given up leaves nothing behind', async ({ open }) => {
    const { page } = await openAdmin(open, service, 'users')
    await page.getByRole('button', { name: 'Create user' }).first().click()
    await field(page, 'Email$').fill('gone@example.com')
    await press(page, 'Cancel')
    await press(page, 'Discard')
    await page.context().clearCookies()
    await page.getByRole('link', { name: 'Clients', exact: true }).click()
    await page.getByText('You are no longer signed in').waitFor()
    expect(await page.evaluate<string>('JSON.stringify(sessionStorage)')).not.toContain('gone@')
  })

  test('the wall view stays without input, shows the first page, and its session can change nothing', async ({
    open,
  }) => {
    const user = await addUser(service)
    const { page } = await open()
    await page.clock.install()
    await page.goto(`${service.admin}/admin/ui/`)
    await enter(page, ADMIN_KEY)
    await press(page, 'Wall view')
    await press(page, 'Show it')
    await page.getByText('it can change nothing').waitFor()
    expect(await page.getByRole('navigation').count()).toBe(0)
    await page.clock.fastForward('40:00')
    await page.reload()
    await page.getByText('it can change nothing').waitFor()
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    await addAxe(page)
    expect(await findingsOf(page)).toEqual([])
    const status = await page.evaluate<number>(
      `fetch('/admin/users/${user.id}/disable', { method: 'PATCH', body: '', headers: { 'x-admin-page': location.protocol } }).then(({ status }) => status)`,
    )
    expect(status).toBe(403)
    await press(page, 'End the wall view')
    await page.getByLabel('Admin key').waitFor()
  })
})
