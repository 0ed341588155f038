// The buttons of the admin page for operators who may not use all of them.
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { addClient, startService, type TestService } from '../support/service.ts'
import { type Open, sessionCookies } from './open.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

type Page = Awaited<ReturnType<Open>>['page']
let keys = 0
/** Opens the page with a new key of the capability. */
async function openAs(open: Open, capability: string): Promise<Page> {
  const { key } = await okAdmin<{ key: string }>(service, 'POST', '/admin/api-keys', { name: `k${++keys}`, capability })
  const { page } = await open()
  await page.context().addCookies(await sessionCookies(service, key))
  return page
}
/** Whether a button is disabled, and its title. */
type State = [boolean, string]
async function stateOf(page: Page, name: string): Promise<State> {
  const button = page.getByRole('main').getByRole('button', { name, exact: true }).first()
  return [await button.isDisabled(), (await button.getAttribute('title')) ?? '']
}
const allowed: State = [false, '']
const lacks = (needed: string, held: string): State => [true, `This needs the capability ${needed}. You have ${held}.`]

describe(`in ${CHROMIUM}`, () => {
  test.for<[string, State]>([
    ['viewer', lacks('operator', 'viewer')],
    ['operator', allowed],
  ])('the buttons that change a client, for the capability %s', async ([capability, state], { reopen }) => {
    const { client_id } = await addClient(service)
    const page = await openAs(reopen, capability)
    await page.goto(`${service.admin}/admin/ui/clients/${client_id}`)
    for (const name of ['Edit', 'Suspend', 'Delete'])
      await expect.poll(() => stateOf(page, name), { message: name }).toEqual(state)
  })

  test.for<[string, State]>([
    ['operator', lacks('admin', 'operator')],
    ['admin', allowed],
  ])('the buttons that only administrators may use, for the capability %s', async ([capability, state], { reopen }) => {
    const page = await openAs(reopen, capability)
    for (const [place, name] of [
      ['api-keys', 'New API key'],
      ['webhooks', 'Create webhook'],
      ['keys', 'Rotate'],
      ['settings', 'Use this'],
    ] as const) {
      await page.goto(`${service.admin}/admin/ui/${place}`)
      await expect.poll(() => stateOf(page, name), { message: place }).toEqual(state)
    }
  })
})
