// The page of clients.
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { addAxe, findingsOf } from '../support/axe.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { machineToken } from '../support/flow.ts'
import { ADMIN_KEY, addClient, addResource, startService, type TestService } from '../support/service.ts'
import { field, openAdmin, openAdvanced, press, pressNew, rowsOf, said } from './open.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

interface Shown {
  client_id: string
  client_name: string
  status: string
  scope: string
}
const clients = () => okAdmin<Shown[]>(service, 'GET', '/admin/clients?limit=1000')
const clientOf = (id: string) => okAdmin<Shown>(service, 'GET', `/admin/clients/${id}`)

describe(`in ${CHROMIUM}`, () => {
  test('without clients the page explains clients and offers to create one', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service, 'clients')
    expect(await page.locator('.empty').textContent()).toContain('No client yet')
    await page.locator('.empty').getByRole('button', { name: 'New client' }).click()
    await page.getByRole('dialog', { name: 'New client' }).waitFor()
  })

  test('creates a client and shows its secret once, and the secret works', async ({ reopen }) => {
    const { page, complaints } = await openAdmin(reopen, service, 'clients')
    await pressNew(page, 'New client', 'Machine')
    await page.getByLabel('Client name').fill('Night robot')
    await page.getByLabel('Scope').fill('mcp:read')
    await press(page, 'Create')
    const dialog = page.getByRole('dialog', { name: 'The client is created' })
    await dialog.waitFor()
    for (let i = 0; i < 3; i++) await page.keyboard.press('Escape')
    expect(await dialog.isVisible()).toBe(true)
    await page.getByRole('button', { name: 'Copy client_secret' }).click()
    const secret = await page.evaluate<string>('navigator.clipboard.readText()')
    await press(page, 'I have stored it')
    await page.getByRole('heading', { name: 'Night robot' }).waitFor()
    expect(await page.content()).not.toContain(secret)
    const [made] = await clients()
    const token = await fetch(`${service.issuer}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${made?.client_id}:${secret}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    })
    expect([token.status, made?.client_name]).toEqual([200, 'Night robot'])
    expect(complaints).toEqual([])
  })

  test('copies a value over plain http, where browsers offer no clipboard', async ({ open }) => {
    const { page } = await openAdmin(open, service)
    await page.addInitScript(`
      Object.defineProperty(window, 'isSecureContext', { get: () => false })
      Object.defineProperty(navigator, 'clipboard', { get: () => undefined })`)
    await page.goto(`${service.admin}/admin/ui/clients`)
    await pressNew(page, 'New client', 'Machine')
    await page.getByLabel('Client name').fill('Copied robot')
    await press(page, 'Create')
    await page.getByRole('button', { name: 'Copy client_id' }).click()
    await press(page, 'I have stored it')
    await page.goto(`${service.admin}/admin/ui/clients`)
    await page.getByText('Copied robot').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.press('Control+V')
    const pasted = await page.locator(':focus').inputValue()
    expect((await clients()).find(({ client_name }) => client_name === 'Copied robot')?.client_id).toBe(pasted)
  })

  test('rotates a secret with an overlap, shows all secrets with their times, and deletes the earlier one', async ({
    reopen,
  }) => {
    const client = await addClient(service, { client_name: 'Rotated robot' })
    const holds = async (secret: string) => {
      const { status } = await fetch(`${service.issuer}/oauth/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${client.client_id}:${secret}`)}` },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      })
      return status === 200
    }
    const { page, complaints } = await openAdmin(reopen, service, `clients/${client.client_id}`)
    await press(page, 'Rotate secret')
    expect(await page.getByLabel('Overlap').inputValue()).toBe('24h')
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
    await page.getByRole('dialog', { name: 'The new secret' }).waitFor()
    await page.getByRole('button', { name: 'Copy client_secret' }).click()
    const secret = await page.evaluate<string>('navigator.clipboard.readText()')
    await press(page, 'I have stored it')
    const secrets = () => page.getByRole('table', { name: 'Secrets' }).locator('tbody tr').allInnerTexts()
    await expect.poll(secrets).toEqual([expect.stringMatching(/^current/), expect.stringMatching(/^earlier/)])
    expect([await holds(secret), await holds(client.client_secret)]).toEqual([true, true])
    await page.getByRole('row', { name: 'earlier' }).getByRole('button', { name: 'End' }).click()
    await press(page, 'End it')
    await expect.poll(secrets).toEqual([expect.stringMatching(/^current/)])
    expect(await page.getByRole('button', { name: 'End', exact: true }).count()).toBe(0)
    expect([await holds(secret), await holds(client.client_secret)]).toEqual([true, false])
    expect(await page.content()).not.toContain(secret)
    expect(complaints).toEqual([])
  })

  test('creates a client for a workload without a secret, and shows and changes its identities', async ({ reopen }) => {
    const { page, complaints } = await openAdmin(reopen, service, 'clients')
    await pressNew(page, 'New client', 'Workload')
    await page.getByLabel('Client name').fill('Mailer')
    await press(page, 'Add federated credential')
    await field(page, 'Issuer').fill('https://ci.example.com')
    await field(page, 'Subject').fill('repo:acme/*:x')
    await field(page, 'Claims').fill('ref=main')
    await press(page, 'Create')
    await page.getByRole('heading', { name: 'Mailer' }).waitFor()
    await page.getByText('issuer=https://ci.example.com,subject=repo:acme/*:x,claim.ref=main').waitFor()
    expect(await page.getByRole('button', { name: 'Rotate secret' }).count()).toBe(0)
    await press(page, 'Edit')
    await field(page, 'Subject').fill('repo:acme/tools:x')
    await press(page, 'Save')
    await page.getByText('subject=repo:acme/tools:x,').waitFor()
    expect(complaints).toEqual([])
  })

  test.for([
    ['Application', ['Client name', 'Redirect URIs', 'Scope', 'Default resource']],
    ['Machine', ['Client name', 'Scope', 'Default resource']],
    ['Agent', ['Client name', 'Agent description', 'Scope', 'Default resource']],
    ['Workload', ['Client name', 'Scope', 'Federated credentials', 'Default resource']],
  ] as const)(
    'a new client of the kind %s has %s, and the other fields are advanced',
    async ([kind, names], { reopen }) => {
      const { page } = await openAdmin(reopen, service, 'clients')
      await pressNew(page, 'New client', kind)
      const shown = await page
        .locator('form.fields > .field:not(:has(.kinds))')
        .locator('> label, > legend')
        .allInnerTexts()
      expect(shown.map((each) => each.replace(' optional', '').trim())).toEqual(names)
      const foot = page.getByRole('dialog').getByRole('button', { name: 'Create' })
      await openAdvanced(page)
      await page.getByLabel(/^Client ID/).scrollIntoViewIfNeeded()
      const isInSight = (box: { y: number; height: number } | null) => box !== null && box.y + box.height < 720
      expect(isInSight(await foot.boundingBox())).toBe(true)
      await page.getByLabel('Client name').fill(`${kind} of the form`)
      if (kind === 'Workload') {
        await press(page, 'Add federated credential')
        await field(page, 'Issuer').fill('https://ci.example.com')
        await field(page, 'Subject').fill('repo:acme/tools')
      }
      if (kind === 'Application') await field(page, 'Redirect URIs').fill('https://app.example.com/cb')
      await press(page, 'Create')
      await expect
        .poll(async () => (await clients()).some((each) => each.client_name === `${kind} of the form`))
        .toBe(true)
    },
  )

  test('a field that names other items searches for them by name and shows their names', async ({ reopen }) => {
    const [client, { slug }] = [
      await addClient(service, { client_name: 'Gateway of mail' }),
      await addResource(service),
    ]
    const { page } = await openAdmin(reopen, service, `resources/${slug}`)
    await press(page, 'Edit')
    await openAdvanced(page)
    const list = field(page, 'Client ids').or(field(page, 'Client IDs'))
    await list.fill('gateway of')
    await page.getByRole('option', { name: 'Gateway of mail' }).waitFor()
    await list.press('ArrowDown')
    await list.press('Enter')
    await page.getByRole('button', { name: `Remove ${client.client_id}` }).waitFor()
    await page.getByRole('listitem').filter({ hasText: 'Gateway of mail' }).waitFor()
    await addAxe(page)
    expect(await findingsOf(page)).toEqual([])
    await press(page, 'Save')
    await said(page, 'Saved.')
    const { policy } = await okAdmin<{ policy: { runtime: { client_ids: string[] } } }>(
      service,
      'GET',
      `/admin/resources/${slug}`,
    )
    expect(policy.runtime.client_ids).toEqual([client.client_id])
  })

  test('shows the same call as a curl command and as a service command, without the key', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service, 'clients')
    await pressNew(page, 'New client', 'Machine')
    await page.getByLabel('Client name').fill("Ada's robot")
    await page.getByText('The same with curl').click()
    const [curl = '', command = ''] = await page.getByRole('dialog').locator('pre').allTextContents()
    expect(curl).toContain('"client_name":"Ada\'\\\'\'s robot"')
    expect(curl).toContain('$SERVICE_ADMIN_API_KEY')
    expect(curl).not.toContain(ADMIN_KEY)
    expect(command).toContain('service admin client create -')
  })

  test('a field that the server refuses is marked with the error, and keeps its input', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service, 'clients')
    await pressNew(page, 'New client', 'Application')
    await page.getByLabel('Client name').fill('Lost')
    await page.getByRole('textbox', { name: /^Redirect URIs/ }).fill('nowhere')
    await press(page, 'Create')
    expect(await page.getByRole('alert').textContent()).toContain('Correct these fields: Redirect URIs.')
    await page.getByText(/^Redirect URIs, entry 1: /).waitFor()
    expect(await page.locator(':focus').getAttribute('name')).toBe('redirect_uris')
    expect(await page.getByRole('textbox', { name: /^Redirect URIs/ }).getAttribute('aria-invalid')).toBe('true')
    expect(await page.getByLabel('Client name').inputValue()).toBe('Lost')
    // What was entered is discarded only after a question, whose harmless answer has the focus.
    await page.keyboard.press('Escape')
    await page.getByRole('dialog', { name: 'Discard what you entered?' }).waitFor()
    expect(await page.locator(':focus').textContent()).toBe('Cancel')
    await page.keyboard.press('Enter')
    expect(await page.getByLabel('Client name').inputValue()).toBe('Lost')
    await page.keyboard.press('Escape')
    await press(page, 'Discard')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  })

  test('searches on the server while the user types, and the search is in the URL', async ({ reopen }) => {
    const [found] = [await addClient(service, { client_name: 'Zebra watcher' }), await addClient(service)]
    const { page } = await openAdmin(reopen, service, 'clients')
    await page.getByRole('searchbox').fill('zEBRA')
    await expect.poll(() => rowsOf(page)).toHaveLength(1)
    expect(page.url()).toBe(`${service.admin}/admin/ui/clients?q=zEBRA`)
    await page.reload()
    await expect.poll(() => rowsOf(page)).toEqual([expect.stringContaining(found.client_id)])
    await page.getByRole('searchbox').fill('no such thing')
    await page.getByText('No matches.').waitFor()
  })

  test('shows a long list page by page, forwards and backwards', async ({ reopen }) => {
    for (let i = 0; i < 110; i++) await addClient(service, { client_name: `Many ${String(i).padStart(3, '0')}` })
    const { page } = await openAdmin(reopen, service, 'clients?q=many')
    const namesOf = async () => (await rowsOf(page)).map((row) => row.trim().split('\n')[0] as string)
    const seen = new Set<string>()
    for (const count of [50, 50, 10]) {
      await expect.poll(async () => (await namesOf()).filter((name) => !seen.has(name))).toHaveLength(count)
      for (const name of await namesOf()) seen.add(name)
      if (count === 50) await page.getByRole('link', { name: 'Next page' }).click()
    }
    expect(seen.size).toBe(110)
    await page.goBack()
    await expect.poll(() => rowsOf(page)).toHaveLength(50)
    await page.getByRole('link', { name: 'First page' }).click()
    await expect.poll(() => page.getByRole('link', { name: 'First page' }).count()).toBe(0)
    await expect.poll(() => rowsOf(page)).toHaveLength(50)
  })

  test('an edit sends only the changed fields', async ({ reopen }) => {
    const { client_id } = await addClient(service, { client_name: 'Before', scope: 'mcp:read' })
    const { page } = await openAdmin(reopen, service, `clients/${client_id}`)
    await press(page, 'Edit')
    await page.getByLabel('Client name').fill('After')
    await press(page, 'Save')
    await page.getByRole('heading', { name: 'After' }).waitFor()
    expect(await clientOf(client_id)).toMatchObject({ client_name: 'After', scope: 'mcp:read' })
    const [event] = await eventsOf(service, 'client_updated')
    expect(event?.detail).toEqual({
      fields: ['client_name'],
      changes: [{ field: 'client_name', before: 'Before', after: 'After' }],
    })
  })

  test('suspending asks for confirmation and states the effects; Cancel changes nothing', async ({ reopen }) => {
    const { client_id } = await addClient(service)
    const { page } = await openAdmin(reopen, service, `clients/${client_id}`)
    await press(page, 'Suspend')
    expect(await page.getByRole('dialog').textContent()).toContain('accepts them until they expire')
    await press(page, 'Cancel')
    expect((await clientOf(client_id)).status).toBe('active')
    await press(page, 'Suspend')
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click()
    await page.getByRole('button', { name: 'Reactivate' }).waitFor()
    expect((await clientOf(client_id)).status).toBe('suspended')
  })

  test('a client is deleted after its tokens are counted and its name is typed', async ({ reopen }) => {
    const client = await addClient(service, { client_name: 'Doomed robot', grant_types: ['client_credentials'] })
    const { client_id } = client
    await machineToken(service, client)
    const { page } = await openAdmin(reopen, service, `clients/${client_id}`)
    await press(page, 'Delete')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('1 live token and 0 sign-ins of 1 client').waitFor()
    expect(await page.locator(':focus').textContent()).toBe('Cancel')
    expect(await dialog.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true)
    await page.getByLabel('to continue').fill('Doomed robot')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.waitForURL(`${service.admin}/admin/ui/clients`)
    expect((await clients()).some((each) => each.client_id === client_id)).toBe(false)
  })
})
