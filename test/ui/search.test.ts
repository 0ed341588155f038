// The search of everything, on every page.
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { machineToken } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { openAdmin } from './open.ts'

let service: TestService
let client: Awaited<ReturnType<typeof addClient>>
let user: Awaited<ReturnType<typeof addUser>>
let resource: Awaited<ReturnType<typeof addResource>>
let token: string
beforeAll(async () => {
  service = await startService()
  client = await addClient(service, { client_name: 'Night robot', grant_types: ['client_credentials'] })
  user = await addUser(service)
  resource = await addResource(service)
  token = String((await machineToken(service, client)).body['access_token'])
})
afterAll(() => service.close())

describe(`in ${CHROMIUM}`, () => {
  test('Ctrl-K moves to the field, and an email, a slug, a client, what was deleted, an address, a kid and a request lead to the thing and its history', async ({
    reopen,
  }) => {
    await okAdmin(service, 'PATCH', `/admin/clients/${client.client_id}/suspend`)
    const [event] = await okAdmin<{ request_id: string }[]>(service, 'GET', '/admin/audit?action=client_suspended')
    const { current_kid } = await okAdmin<{ current_kid: string }>(service, 'GET', '/admin/keys')
    const gone = await addResource(service)
    await okAdmin(service, 'DELETE', `/admin/resources/${gone.id}`)
    const { page, complaints } = await openAdmin(reopen, service, 'clients')
    for (const [text, name, address] of [
      [user.email, user.email, `users/${user.id}`],
      [resource.slug, resource.display_name, `resources/${resource.slug}`],
      ['night rob', 'Night robot', `clients/${client.client_id}`],
      [gone.slug, gone.slug, `deleted?kind=resource&q=${gone.id}`],
      ['127.0.0.1', '127.0.0.1', 'connections?address=127.0.0.1'],
      [current_kid, current_kid, 'keys'],
      [event?.request_id, event?.request_id, `audit?request_id=${event?.request_id}`],
    ] as [string, string, string][]) {
      await page.keyboard.press('Control+k')
      await page.keyboard.type(text)
      await page.keyboard.press('Enter')
      const match = page.getByRole('list', { name: 'Matches' }).getByRole('link', { name, exact: true })
      await match.waitFor({ timeout: 5000 })
      expect(await match.getAttribute('href'), text).toBe(`/admin/ui/${address}`)
      // Below the heading with their number, beside the menu.
      const [box, head] = [await match.boundingBox(), await page.getByText(/^\d+ match/).boundingBox()]
      expect([box && head && box.y - head.y < 100, box && box.x > 200], text).toEqual([true, true])
    }
    await page.getByRole('textbox', { name: 'Search everything' }).fill(user.email)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Its history' }).waitFor()
    expect(complaints).toEqual([])
  })

  test('a pasted token is decoded in the browser: no address and no request has it', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service)
    const sent: string[] = []
    page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`))
    await page.getByLabel('Search everything').fill(`Bearer ${token}`)
    await page.keyboard.press('Enter')
    await page.getByText(`"client_id": "${client.client_id}"`).waitFor()
    const match = page.getByRole('list', { name: 'Matches' }).getByRole('link').first()
    await match.waitFor()
    expect(sent.some((each) => each.includes('/admin/find?query='))).toBe(true)
    const signature = token.split('.')[2] ?? ''
    expect(sent.filter((each) => each.includes(signature))).toEqual([])
    expect(page.url()).not.toContain(signature)
  })

  test('on a phone an opaque secret is recognised and sent nowhere', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service)
    await page.setViewportSize({ width: 390, height: 844 })
    const sent: string[] = []
    page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`))
    await page.getByLabel('Search everything').fill(client.client_secret)
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await page.getByText('It looks like the secret of a client.').waitFor()
    expect(sent.filter((each) => each.includes(client.client_secret))).toEqual([])
  })
})
