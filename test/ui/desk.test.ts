// The frame of the admin page and its lists: the menu, the keyboard, times, pages of lists, what is done to several rows, what is loaded.
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { ADMIN_KEY, addClient, addResource, addUser, type TestService } from '../support/service.ts'
import { openAdmin, press, rowsOf, said } from './open.ts'
import { openWorld, type World } from './world.ts'

let world: World
let service: TestService
beforeAll(async () => {
  world = await openWorld()
  service = world.service
  for (let i = 0; i < 60; i++) await addClient(service, { client_name: `Many ${String(i).padStart(2, '0')}` })
})
afterAll(() => service.close())

describe(`in ${CHROMIUM}`, () => {
  test('the menu has eight places, and earlier addresses lead to a page of one of them', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service)
    const menu = page.getByRole('navigation', { name: 'Pages' })
    expect(await menu.getByRole('link').allTextContents()).toEqual([
      ...['Now', 'Servers', 'Clients', 'People', 'Trust', 'Record', 'Events', 'Settings'],
    ])
    for (const place of ['', 'connections', 'waste', 'providers', `issuances/${world.delegated}`, 'api-keys']) {
      await page.goto(`${service.admin}/admin/ui/${place}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      expect(await menu.locator('[aria-current]').count(), place).toBe(1)
    }
    await menu.getByRole('link', { name: 'Trust' }).click()
    await page.getByRole('navigation', { name: 'Trust' }).getByRole('link', { name: 'Policies' }).click()
    await page.getByRole('heading', { name: 'Policies', level: 1 }).waitFor()
  })

  test('the first Tab reaches a link past the menu, and the focus follows to a new page', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service, 'clients')
    await page.getByRole('row').nth(1).waitFor()
    await page.keyboard.press('Tab')
    expect(await page.locator(':focus').textContent()).toContain('Skip to the content')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.locator(':focus').getAttribute('id')).toBe('content')
    await page.getByRole('link', { name: 'People' }).click()
    await page.getByRole('heading', { name: 'Users', level: 1 }).waitFor()
    await expect.poll(() => page.locator(':focus').getAttribute('id')).toBe('content')
  })

  test('a time has its zone, and the page shows times in UTC after a switch', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service, `clients/${world.machine.client_id}`)
    const time = page.locator('time').first()
    await time.waitFor()
    await press(page, 'Times in UTC')
    // The first time of the page is another one when more of it has been read.
    const inUtc = async () => {
      const [at, title] = await page.evaluate<[string, string]>(
        "(({ dateTime, title }) => [dateTime, title])(document.querySelector('time'))",
      )
      return title.endsWith(`${new Date(at).toISOString().slice(11, 19)} UTC`)
    }
    await expect.poll(inUtc).toBe(true)
    await press(page, 'Times in UTC')
  })

  test('a list has a total, an order, a size, a previous page and columns that can be hidden', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service, 'clients')
    await expect.poll(() => rowsOf(page)).toHaveLength(50)
    await page.getByText('50 on this page, 62 in all').waitFor()
    const [newest] = await rowsOf(page)
    await page.getByLabel('Newest first').selectOption('Oldest first')
    const oldest = await okAdmin<{ client_name: string }[]>(service, 'GET', '/admin/clients?order=oldest&limit=1')
    await expect.poll(async () => (await rowsOf(page))[0]).toContain(oldest[0]?.client_name)
    await page.getByLabel('Newest first').selectOption('Newest first')
    await expect.poll(async () => (await rowsOf(page))[0]).toBe(newest)

    await page.getByLabel('Rows on a page').selectOption('25 rows')
    const firsts: string[] = []
    for (const count of [25, 25, 12]) {
      await expect.poll(async () => !firsts.includes((await rowsOf(page))[0] ?? '')).toBe(true)
      await expect.poll(() => rowsOf(page)).toHaveLength(count)
      firsts.push((await rowsOf(page))[0] ?? '')
      if (count === 25) await page.getByRole('link', { name: 'Next page' }).click()
    }
    for (const first of firsts.slice(0, 2).reverse()) {
      await page.getByRole('link', { name: 'Previous page' }).click()
      await expect.poll(async () => (await rowsOf(page))[0]).toBe(first)
    }

    await page.getByText('Columns', { exact: true }).click()
    await page.locator('.columns').getByLabel('Source').uncheck()
    await page.reload()
    await page.getByRole('columnheader', { name: 'Host' }).waitFor()
    expect(await page.getByRole('columnheader', { name: 'Source' }).count()).toBe(0)
    await page.getByText('Columns', { exact: true }).click()
    await page.locator('.columns').getByLabel('Source').check()
  })

  test('marked clients are suspended together, and those that are suspended already are left out', async ({
    reopen,
  }) => {
    const [one, two] = [
      await addClient(service, { client_name: 'Bulk one' }),
      await addClient(service, { client_name: 'Bulk two' }),
    ]
    await addClient(service, { client_name: 'Bulk three' }, { status: 'suspended' })
    const { page } = await openAdmin(reopen, service, 'clients?q=Bulk')
    await expect.poll(() => rowsOf(page)).toHaveLength(3)
    for (const box of await page.getByRole('checkbox', { name: /^Mark/ }).all()) await box.check()
    await page.getByRole('button', { name: 'Reactivate 1' }).waitFor()
    await press(page, 'Suspend 2')
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click()
    await said(page, 'Done: 2 items.')
    for (const { client_id } of [one, two])
      expect((await service.app.store.findClient({ client_id }))?.status).toBe('suspended')
  })

  test('a user and a resource are deleted after their name is typed', async ({ reopen }) => {
    const [user, resource] = [await addUser(service), await addResource(service)]
    for (const [place, word] of [
      [`users/${user.id}`, user.email ?? ''],
      [`resources/${resource.slug}`, resource.slug],
    ] as const) {
      const { page } = await openAdmin(reopen, service, place)
      await press(page, 'Delete')
      const dialog = page.getByRole('dialog')
      await dialog.getByText('0 live tokens').waitFor()
      expect(await page.locator(':focus').textContent()).toBe('Cancel')
      await page.getByLabel('to continue').fill(word)
      await dialog.getByRole('button', { name: 'Delete' }).click()
      await said(page, 'Deleted.')
    }
    expect(await service.app.store.findUser({ id: user.id })).toBeUndefined()
    expect(await service.app.store.findResourceByName({ name: resource.slug })).toBeUndefined()
  })

  test('a button that the capability does not allow can be reached, and says why when it is pressed', async ({
    reopen,
  }) => {
    const { key } = await okAdmin<{ key: string }>(service, 'POST', '/admin/api-keys', {
      name: 'reader',
      capability: 'viewer',
    })
    const { page } = await reopen()
    await page.context().clearCookies()
    await page.goto(`${service.admin}/admin/ui/clients/${world.machine.client_id}`)
    await page.getByLabel('Admin key').fill(key)
    await press(page, 'Open')
    const button = page.getByRole('button', { name: 'Suspend', exact: true })
    await expect.poll(() => button.getAttribute('aria-disabled')).toBe('true')
    await button.focus()
    await page.keyboard.press('Enter')
    await said(page, 'This needs the capability operator. You have viewer.')
    expect(await page.getByRole('dialog').count()).toBe(0)
    await page.context().clearCookies()
  })

  test('the description of the API is loaded with the first form, and answers of the API are compressed', async ({
    reopen,
  }) => {
    const { page } = await openAdmin(reopen, service, 'clients')
    const loaded: string[] = []
    page.on('request', (request) => loaded.push(new URL(request.url()).pathname))
    await page.reload()
    await page.getByRole('row').nth(1).waitFor()
    await page.waitForLoadState('networkidle')
    expect(loaded).not.toContain('/admin/openapi.json')
    await press(page, 'New client')
    await page.getByRole('radio', { name: /^Machine/ }).waitFor()
    expect(loaded).toContain('/admin/openapi.json')
    const read = (coding: string) =>
      fetch(`${service.admin}/admin/openapi.json`, {
        headers: { authorization: `Bearer ${ADMIN_KEY}`, 'accept-encoding': coding },
      })
    const [packed, plain] = [await read('gzip'), await read('gzip;q=0')]
    expect([packed.headers.get('content-encoding'), plain.headers.get('content-encoding')]).toEqual(['gzip', null])
    expect(Number(packed.headers.get('content-length'))).toBeLessThan(Number(plain.headers.get('content-length')) / 5)
    expect(await packed.json()).toEqual(await plain.json())
  })
})
