// The way into the admin page: the key, where it is kept, and how it is forgotten.
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { CHROMIUM, test } from '../support/chromium.ts'
import { ADMIN_KEY, startService, type TestService } from '../support/service.ts'
import { press } from './open.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

describe(`in ${CHROMIUM}`, () => {
  test('a wrong key is refused with a message of its own and not stored; the right key opens the requested page', async ({
    open,
  }) => {
    const { page } = await open()
    await page.goto(`${service.admin}/admin/ui/clients?q=robot`)
    await page.getByLabel('Admin key').fill('wrong')
    await press(page, 'Open')
    expect(await page.getByRole('alert').textContent()).toContain('This is not the admin key.')
    expect(await page.evaluate('sessionStorage.length')).toBe(0)
    await page.getByLabel('Admin key').fill(ADMIN_KEY)
    await press(page, 'Open')
    await page.getByRole('heading', { name: 'Clients', level: 1 }).waitFor()
    expect(page.url()).toBe(`${service.admin}/admin/ui/clients?q=robot`)
  })

  test('the key is stored in sessionStorage only, and Forget removes it', async ({ open }) => {
    const { page, complaints } = await open()
    await page.goto(`${service.admin}/admin/ui/`)
    await page.getByLabel('Admin key').fill(ADMIN_KEY)
    await page.keyboard.press('Enter')
    await press(page, 'Forget key')
    await page.getByLabel('Admin key').waitFor()
    const kept = () =>
      page.evaluate<string[]>(
        '[JSON.stringify(sessionStorage), JSON.stringify(localStorage), document.cookie, location.href]',
      )
    expect(await kept()).toEqual(['{}', '{}', '', `${service.admin}/admin/ui/`])
    await page.getByLabel('Admin key').fill(ADMIN_KEY)
    await page.keyboard.press('Enter')
    await page.getByRole('navigation').waitFor()
    const [session, ...rest] = await kept()
    expect(session).toContain(ADMIN_KEY)
    expect(rest.join()).not.toContain(ADMIN_KEY)
    expect(complaints).toEqual([])
  })

  test('a key that is no longer valid leads to the key prompt, which states the reason', async ({ open }) => {
    const { page } = await open()
    await page.addInitScript("sessionStorage.setItem('service.admin-key', 'of-yesterday')")
    await page.goto(`${service.admin}/admin/ui/clients`)
    expect(await page.getByRole('alert').textContent()).toContain('no longer accepts the key')
  })

  test('locks after 15 minutes without input, not earlier', async ({ open }) => {
    const { page } = await open()
    await page.clock.install()
    await page.goto(`${service.admin}/admin/ui/clients`)
    await page.getByLabel('Admin key').fill(ADMIN_KEY)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Clients' }).waitFor()
    await page.clock.fastForward('14:00')
    await page.keyboard.press('Shift')
    await page.clock.fastForward('14:00')
    expect(await page.getByRole('heading', { name: 'Clients' }).isVisible()).toBe(true)
    await page.clock.fastForward('02:00')
    expect(await page.getByRole('alert').textContent()).toContain('Locked after 15 minutes')
    expect(await page.evaluate('sessionStorage.length')).toBe(0)
  })

  test('the audit trail records the use of the admin page', async ({ open }) => {
    const { page } = await open()
    await page.goto(`${service.admin}/admin/ui/`)
    await page.getByLabel('Admin key').fill(ADMIN_KEY)
    await press(page, 'Open')
    await page.getByRole('navigation').waitFor()
    const [event] = await service.app.store.listAudit({
      action: 'admin_ui_login',
      since: 'AAAAAAAAAAAAAAAAAAAAAA',
      limit: 1,
      offset: 0,
    })
    expect(event?.actor_id).toBe('admin')
  })

  test('the page is empty in a frame of another site', async ({ open }) => {
    const { page, complaints } = await open()
    await page.setContent(`<iframe src="${service.admin}/admin/ui/"></iframe>`)
    await expect.poll(() => complaints.join()).toContain('frame-ancestors')
  })
})
