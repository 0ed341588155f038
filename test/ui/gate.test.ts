// The way into the admin page: a key or a person, what is kept, and how it ends.
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { GROUPS, openAdminFederation } from '../support/admin_page.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { ADMIN_KEY, type TestService } from '../support/service.ts'
import { press, sessionCookies } from './open.ts'

let service: TestService
let world: Awaited<ReturnType<typeof openAdminFederation>>
beforeAll(async () => {
  world = await openAdminFederation()
  service = world.service
})
afterAll(() => world.close())

/** A reload ends the requests of the page before. */
const isNoAbort = (complaint: string) => !complaint.endsWith('net::ERR_ABORTED')

describe(`in ${CHROMIUM}`, () => {
  test('a wrong key is refused with a message of its own; the right key opens the requested page', async ({ open }) => {
    const { page } = await open()
    await page.goto(`${service.admin}/admin/ui/clients?q=robot`)
    await page.getByLabel('Admin key').fill('wrong')
    await press(page, 'Open')
    expect(await page.getByRole('alert').textContent()).toContain('This is not an admin key of this server')
    await page.getByLabel('Admin key').fill(ADMIN_KEY)
    await press(page, 'Open')
    await page.getByRole('heading', { name: 'Clients', level: 1 }).waitFor()
    expect(page.url()).toBe(`${service.admin}/admin/ui/clients?q=robot`)
  })

  test('nothing that a script can read has the key; a reload does not sign out, and a sign-out ends the session', async ({
    open,
  }) => {
    const { page, complaints } = await open()
    await page.goto(`${service.admin}/admin/ui/`)
    await page.getByLabel('Admin key').fill(ADMIN_KEY)
    await page.keyboard.press('Enter')
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    const kept = await page.evaluate<string>(
      'JSON.stringify([sessionStorage, localStorage, document.cookie, location.href, document.body.innerHTML])',
    )
    expect(kept).not.toContain(ADMIN_KEY)
    expect(kept).not.toContain('sas_')
    await page.reload()
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    expect(await page.getByRole('navigation', { name: 'Pages' }).textContent()).toMatch(/admin\s*admin/)
    const [cookie] = await page.context().cookies(`${service.admin}/admin`)
    expect(cookie).toMatchObject({ name: 'service_admin', httpOnly: true, sameSite: 'Strict' })
    await press(page, 'Sign out')
    await page.getByLabel('Admin key').waitFor()
    await expect.poll(() => page.context().cookies(`${service.admin}/admin`)).toEqual([])
    await page.reload()
    await page.getByLabel('Admin key').waitFor()
    expect(complaints.filter(isNoAbort)).toEqual([])
  })

  test('a person signs in at the provider and returns to the page that was asked for', async ({ open }) => {
    const { page, complaints } = await open()
    world.op.person = { sub: 'up-ui', email: 'ui@corp.example.com', email_verified: true, groups: [GROUPS.viewer] }
    await page.goto(`${service.admin}/admin/ui/clients?q=robot`)
    await page.getByRole('link', { name: 'Sign in with Corporate SSO' }).click()
    await page.getByRole('heading', { name: 'Clients', level: 1 }).waitFor()
    expect(page.url()).toBe(`${service.admin}/admin/ui/clients?q=robot`)
    expect(await page.getByRole('navigation', { name: 'Pages' }).textContent()).toMatch(
      /admin:ui@corp\.example\.com\s*viewer/,
    )
    await page.reload()
    await page.getByRole('heading', { name: 'Clients', level: 1 }).waitFor()
    expect(complaints.filter(isNoAbort)).toEqual([])
  })

  test('a session that is no longer valid leads to the sign-in, which states the reason', async ({ open }) => {
    const { page } = await open()
    await page.context().addCookies(await sessionCookies(service))
    await page.goto(`${service.admin}/admin/ui/clients`)
    await page.getByRole('heading', { name: 'Clients', level: 1 }).waitFor()
    await page.context().clearCookies()
    await page.getByRole('link', { name: 'People', exact: true }).click()
    expect(await page.getByRole('alert').textContent()).toContain('You are no longer signed in')
  })

  test('locks after 15 minutes without input, not earlier, and warns in the last minute', async ({ open }) => {
    const { page } = await open()
    await page.clock.install()
    await page.goto(`${service.admin}/admin/ui/clients`)
    await page.getByLabel('Admin key').fill(ADMIN_KEY)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Clients' }).waitFor()
    const warning = page.getByText(/Without activity you are signed out in \d+ seconds/)
    await page.clock.fastForward('13:50')
    expect(await warning.count()).toBe(0)
    await page.clock.fastForward('00:30')
    await warning.waitFor()
    await press(page, 'Stay signed in')
    await warning.waitFor({ state: 'detached' })
    await page.clock.fastForward('13:50')
    expect(await page.getByRole('heading', { name: 'Clients' }).isVisible()).toBe(true)
    await page.clock.fastForward('02:00')
    expect(await page.getByRole('alert').textContent()).toContain('Locked after 15 minutes')
    await expect.poll(() => page.context().cookies(`${service.admin}/admin`)).toEqual([])
  })

  test('the audit trail records the use of the admin page', async ({ open }) => {
    const { page } = await open()
    await page.goto(`${service.admin}/admin/ui/`)
    await page.getByLabel('Admin key').fill(ADMIN_KEY)
    await press(page, 'Open')
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
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
