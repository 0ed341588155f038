// The incident pages: find, see what it reaches, end what is ticked, copy the report.
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { CHROMIUM, test } from '../support/chromium.ts'
import { isActive, machineToken } from '../support/flow.ts'
import { addClient, addUser, startService, type TestService } from '../support/service.ts'
import { openAdmin, press } from './open.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

describe(`in ${CHROMIUM}`, () => {
  test('a token leaked: paste it, see what it is, revoke it with the keyboard, copy the report', async ({ reopen }) => {
    const client = await addClient(service, { client_name: 'Night robot' })
    const token = String((await machineToken(service, client)).body['access_token'])
    const { page, complaints } = await openAdmin(reopen, service, 'incidents')
    await page.getByRole('link', { name: 'A token leaked' }).click()
    await page.getByLabel('Token, refresh token').fill(token)
    await page.getByText(`"client_id": "${client.client_id}"`).waitFor()
    await page.getByRole('button', { name: 'See what it reaches' }).focus()
    await page.keyboard.press('Enter')
    const own = page.getByRole('checkbox', { name: 'Revoke this token (1 token)' })
    await own.waitFor()
    expect(await own.isChecked()).toBe(true)
    expect(await page.getByRole('checkbox', { name: /Revoke the signing key/ }).isChecked()).toBe(false)
    expect(page.url()).not.toContain(token.split('.')[2])
    await page.getByRole('checkbox', { name: 'Suspend the client' }).press('Space')
    await press(page, 'End what is ticked…')
    await press(page, 'End it')
    await page
      .getByRole('listitem')
      .filter({ hasText: /done\s*Suspend the client/ })
      .waitFor()
    expect(await isActive(service, await addClient(service), token)).toBe(false)
    await press(page, 'Copy report')
    const report = await page.evaluate<string>('navigator.clipboard.readText()')
    expect(report).toMatch(/Incident: token\n[\s\S]*- done: client.suspend/)
    await page.getByRole('link', { name: 'Its audit events' }).click()
    await page.locator('summary', { hasText: 'incident handled' }).waitFor()
    expect(complaints).toEqual([])
  })

  test('a person left, on a phone: found by email, disabled', async ({ reopen }) => {
    const user = await addUser(service)
    const { page } = await openAdmin(reopen, service, 'incidents/person')
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByLabel('Email, name or id').fill(user.email)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: user.email }).click()
    await page.getByRole('checkbox', { name: 'Disable the user' }).waitFor()
    const about = page.locator('.card', { hasText: 'What it is' })
    expect(await about.textContent()).toMatch(new RegExp(`${user.email} *${user.id}`))
    await press(page, 'End what is ticked…')
    await press(page, 'End it')
    await page.getByText('done').first().waitFor()
    expect(await service.app.store.findUser({ id: user.id })).toMatchObject({ status: 'disabled' })
  })

  test('a client floods: it is chosen among the busiest ones and gets a limit', async ({ reopen }) => {
    const client = await addClient(service, { client_name: 'Flooder' })
    for (let i = 0; i < 3; i++) await machineToken(service, client)
    const { page } = await openAdmin(reopen, service, 'incidents/client')
    await page
      .getByRole('row', { name: /Flooder/ })
      .getByRole('button', { name: 'This one' })
      .click()
    await page.getByLabel('Requests per second').fill('4')
    await page.keyboard.press('Tab')
    await page.getByText('The client may send 4 requests a second').waitFor()
    await press(page, 'End what is ticked…')
    await press(page, 'End it')
    await page
      .getByRole('listitem')
      .filter({ hasText: /done\s*Limit the client/ })
      .waitFor()
    const stored = await service.app.store.findClient({ client_id: client.client_id })
    expect(stored).toMatchObject({ limits: { requests_per_second: 4 } })
  })

  test('a key leaked: each published key can be chosen, and its tokens are counted', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service, 'incidents/key')
    await page
      .getByRole('row', { name: /current/ })
      .getByRole('button', { name: 'This one' })
      .click()
    await page.getByRole('checkbox', { name: /Revoke the signing key \(\d+ tokens?, 0 sign-ins\)/ }).waitFor()
  })
})
