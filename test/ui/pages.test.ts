// What operators do on each page, checked through the API.
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { approved } from '../store/conformance/scenes.ts'
import { browserOf, IPHONE, isSignedIn } from '../support/account.ts'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { APPROVALS, approvalScene } from '../support/approvals.ts'
import { addAxe, findingsOf } from '../support/axe.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { machineToken } from '../support/flow.ts'
import { anIssuance } from '../support/records.ts'
import { addClient, addResource, addUser, PASSWORD, startService } from '../support/service.ts'
import { field, openAdmin, press, pressNew, rowsOf, said } from './open.ts'
import { openWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.service.close())

type Row = Record<string, unknown>
const read = <T = Row>(path: string) => okAdmin<T>(world.service, 'GET', path)
const tokenOf = async (client: { client_id: string; client_secret: string }) => {
  const { body } = await machineToken(world.service, client)
  return String(body['access_token'])
}

describe(`in ${CHROMIUM}`, () => {
  test('home shows the health, the counts, and unsafe settings with their reasons', async ({ reopen }) => {
    const { page, complaints } = await openAdmin(reopen, world.service)
    // The world has sample users, a provider without a server, and no purge.
    await page.getByRole('heading', { name: /attention/ }).waitFor()
    await page.getByText('session.secret is empty').waitFor()
    const figures = page.locator('.figures')
    await expect.poll(() => figures.textContent()).toContain('Clients22 users')
    expect(await figures.textContent()).toMatch(/Database[\d.]+ [kM]B/)
    expect(complaints).toEqual([])
  })

  test('home shows how much more load the server can serve', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, world.service)
    await page.getByText(/unknown until there is traffic|busiest part: /).waitFor()
  })

  test('the charts of home are also available as a table', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, world.service)
    const chart = page.getByRole('figure', { name: 'Tokens per second, by grant' })
    await chart.getByText('As a table').click()
    await chart.getByRole('table').waitFor()
  })

  test('connections show in plain words why a client failed and what to do, step by step', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, world.service, `connections?client_id=${world.machine.client_id}`)
    await page.getByText('Client authentication failed').first().waitFor()
    const attempts = page.getByRole('table', { name: 'Connections' })
    await attempts.getByRole('link', { name: 'Night robot' }).waitFor()
    await page.getByText('2 steps').click()
    await page.getByText('(wrong_secret)').waitFor()
    await page.getByLabel('Any outcome').selectOption('Succeeding')
    await page.getByText('No matches.').waitFor()
  })

  test('the first page lists the busiest clients, where one can be limited and suspended', async ({ reopen }) => {
    const client = await addClient(world.service, { client_name: 'Flooder' })
    for (let i = 0; i < 5; i++) await machineToken(world.service, client)
    const { page } = await openAdmin(reopen, world.service)
    const row = page.getByRole('table', { name: 'Top clients' }).getByRole('row', { name: /Flooder.* 5/ })
    await row.getByRole('button', { name: 'Limit…' }).click()
    await field(page, 'Requests per second').fill('3')
    await press(page, 'Save')
    await said(page, 'Saved.')
    await row.getByRole('button', { name: 'Suspend' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click()
    await row.getByText('suspended').waitFor()
    const stored = await world.service.app.store.findClient({ client_id: client.client_id })
    expect(stored).toMatchObject({ status: 'suspended', limits: { requests_per_second: 3 } })
  })

  test('lockouts: shows the address and the account, and ends the lockout of the account', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, world.service)
    await page.locator('.figures').getByRole('link', { name: 'addresses and accounts' }).click()
    await page.getByRole('row', { name: /203\.0\.113\.7 locked out/ }).waitFor()
    const account = page.getByRole('row', { name: new RegExp(`${world.user.email} each login waits`) })
    await account.getByRole('button', { name: 'End' }).click()
    await press(page, 'End it')
    await account.waitFor({ state: 'detached' })
    expect(await read('/admin/lockouts')).toMatchObject([{ address: '203.0.113.7' }])
    expect((await eventsOf(world.service, 'lockout_deleted'))[0]?.detail).toEqual({ user_id: world.user.id })
  })

  test('a deleted client can be restored: the confirmation says until when, and the list has a button', async ({
    reopen,
  }) => {
    const client = await addClient(world.service, { client_name: 'Gone by mistake' })
    const { page, complaints } = await openAdmin(reopen, world.service, `clients/${client.client_id}`)
    await press(page, 'Delete')
    const dialog = page.getByRole('dialog')
    expect(await dialog.textContent()).toMatch(/Until \w{3} \d+ \w{3} it can be restored, without what was ended/)
    await dialog.getByRole('textbox').fill('Gone by mistake')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('link', { name: 'Deleted' }).click()
    const row = page.getByRole('row', { name: /^Gone by mistake client/ })
    await row.waitFor()
    await addAxe(page)
    expect(await findingsOf(page)).toEqual([])
    await row.getByRole('button', { name: 'Restore' }).click()
    await dialog.getByRole('button', { name: 'Restore' }).click()
    await page.getByRole('heading', { name: 'Gone by mistake', level: 1 }).waitFor()
    expect((await machineToken(world.service, client)).status).toBe(200)
    expect(complaints).toEqual([])
  })

  test('approvals: shows what a client asks a person for, and denies it', async ({ reopen }) => {
    const service = await startService(APPROVALS)
    try {
      const { client, user, begin } = await approvalScene(service)
      await begin({ binding_message: 'Invoice 7' })
      const { page, complaints } = await openAdmin(reopen, service, 'approvals?status=pending')
      const row = page.getByRole('row', { name: new RegExp(`${client.client_id} ${user.id} Invoice 7`) })
      await row.waitFor()
      await addAxe(page)
      expect(await findingsOf(page)).toEqual([])
      await row.getByRole('button', { name: 'Deny' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Deny' }).click()
      await row.waitFor({ state: 'detached' })
      expect(await okAdmin<Row[]>(service, 'GET', '/admin/approvals')).toMatchObject([{ status: 'denied' }])
      expect(complaints).toEqual([])
    } finally {
      await service.close()
    }
  })

  test('users: creates a user who can sign in, resets the password, disables the user, and logs the user out', async ({
    reopen,
  }) => {
    const { page } = await openAdmin(reopen, world.service, 'users')
    await press(page, 'Create user')
    await page.getByRole('textbox', { name: 'Email' }).fill('grace@example.com')
    await field(page, 'Password').fill(PASSWORD)
    await press(page, 'Create')
    await page.getByRole('heading', { name: 'grace@example.com' }).waitFor()
    const [made] = await read<Row[]>('/admin/users?email=grace@example.com')
    const stored = () => world.service.app.store.findUser({ id: String(made?.['id']) })
    const { password_hash } = (await stored()) ?? {}
    await press(page, 'Edit')
    await field(page, 'Password').fill('another good password')
    await press(page, 'Save')
    await expect.poll(async () => (await stored())?.password_hash).not.toBe(password_hash)
    await press(page, 'Force logout')
    await press(page, 'Sign out everywhere')
    await said(page, /^Signed out: 0 sign-ins/)
    await press(page, 'Disable')
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('button', { name: 'Enable' }).waitFor()
    expect((await stored())?.status).toBe('disabled')
  })

  test('users: makes a password link, which opens the page on which the user sets a password', async ({ reopen }) => {
    const user = await addUser(world.service)
    const { page } = await openAdmin(reopen, world.service, `users/${user.id}`)
    await press(page, 'Password link')
    await press(page, 'Make a link')
    const dialog = page.getByRole('dialog', { name: 'The password link' })
    const url = (await dialog.locator('code').first().textContent()) ?? ''
    expect(await (await fetch(url)).text()).toContain(user.email)
    await press(page, 'I have it')
    await dialog.waitFor({ state: 'detached' })
  })

  test('users: shows the sign-ins of a user, and ends one of them', async ({ reopen }) => {
    const user = await addUser(world.service)
    const laptop = await browserOf(world.service, user.email)
    const phone = await browserOf(world.service, user.email, IPHONE)
    const { page } = await openAdmin(reopen, world.service, `users/${user.id}`)
    const row = page.getByRole('table', { name: 'Sign-ins' }).getByRole('row', { name: /Safari on iPhone/ })
    await row.getByText('a password').waitFor()
    await row.getByRole('button', { name: 'End' }).click()
    await press(page, 'End it')
    await row.waitFor({ state: 'detached' })
    await page.getByRole('row', { name: /Firefox on Linux/ }).waitFor()
    expect([await isSignedIn(world.service, phone), await isSignedIn(world.service, laptop)]).toEqual([false, true])
  })

  test('users: revokes a consent of a user', async ({ reopen }) => {
    const { user } = await approved(world.service.app.store)
    const { page } = await openAdmin(reopen, world.service, `users/${user.id}`)
    await press(page, 'Revoke')
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('revoked', { exact: true }).waitFor()
    const { consent_grants } = await read<{ consent_grants: Row[] }>(`/admin/users/${user.id}/grants`)
    expect(consent_grants[0]?.['revoked_at']).toBeDefined()
  })

  test('resources: creates a resource with scopes and shows the metadata URL to copy; a new slug changes the address', async ({
    reopen,
  }) => {
    const { page } = await openAdmin(reopen, world.service, 'resources')
    await press(page, 'Create resource')
    await field(page, 'Slug').fill('diary')
    await field(page, 'URI').fill('https://diary.example.com/mcp')
    await press(page, 'Add scope')
    await page.getByRole('group', { name: 'scope 1' }).getByLabel(/^Name/).fill('diary:read')
    await press(page, 'Create')
    await page.getByRole('button', { name: 'Copy metadata URL' }).click()
    const copied = await page.evaluate<string>('navigator.clipboard.readText()')
    const metadata = (await (await fetch(copied)).json()) as Row
    expect([metadata['resource'], metadata['scopes_supported']]).toEqual([
      'https://diary.example.com/mcp',
      ['diary:read'],
    ])
    await press(page, 'Edit')
    await field(page, 'Slug').fill('journal')
    await press(page, 'Save')
    await page.waitForURL(`${world.service.admin}/admin/ui/resources/journal`)
    // The history below names it too.
    await page.locator('.facts').first().getByText('journal', { exact: true }).waitFor()
  })

  test('providers: creates, edits and deletes a provider', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, world.service, 'providers')
    await pressNew(page, 'Create provider', 'GitHub')
    await field(page, 'Client ID').fill('up')
    await press(page, 'Create')
    await expect
      .poll(() => rowsOf(page))
      .toEqual([expect.stringContaining('https://github.com/login/oauth/access_token')])
    expect(await read<Row[]>('/admin/broker-providers')).toMatchObject([
      { slug: 'github', config_data: { client_id: 'up', client_secret_ref: 'CONNECTOR_GITHUB_SECRET' } },
    ])
    await press(page, 'Edit')
    await field(page, 'Display name').fill('GitHub Enterprise')
    await press(page, 'Save')
    await expect.poll(() => rowsOf(page)).toEqual([expect.stringContaining('GitHub Enterprise')])
    await press(page, 'Delete')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No provider yet').waitFor()
    expect(await read('/admin/broker-providers')).toEqual([])
  })

  test('fronting: creates and deletes the link of a gateway to a resource behind it', async ({ reopen }) => {
    const [gateway, behind] = [await addResource(world.service), await addResource(world.service)]
    const { page } = await openAdmin(reopen, world.service, 'fronting')
    await page.getByRole('button', { name: 'Create link' }).first().click()
    await field(page, 'Source').fill(gateway.slug)
    await field(page, 'Target').fill(behind.slug)
    await page.getByRole('group', { name: 'mcp:read allows' }).getByLabel('mcp:write').check()
    await press(page, 'Create')
    await expect.poll(() => rowsOf(page)).toEqual([expect.stringContaining('mcp:read → mcp:write')])
    expect(await read<Row[]>(`/admin/fronting?source=${gateway.slug}`)).toMatchObject([{ target_slug: behind.slug }])
    await press(page, 'Delete')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No link yet').waitFor()
    expect(await read('/admin/fronting')).toEqual([])
  })

  test('identity providers: registers one and disables it; deleting it also deletes its policies', async ({
    reopen,
  }) => {
    const { page } = await openAdmin(reopen, world.service, 'idps')
    await pressNew(page, 'Register provider', 'Another')
    await field(page, 'Issuer').fill('https://other.example.com')
    await field(page, 'JWKS URI').fill('https://other.example.com/jwks')
    await press(page, 'Register')
    const row = page.getByRole('row', { name: 'https://other.example.com' })
    await row.getByRole('button', { name: 'Edit' }).click()
    await field(page, 'Enabled').uncheck()
    await press(page, 'Save')
    await row.getByText('disabled').waitFor()
    await row.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await expect.poll(() => rowsOf(page)).toHaveLength(1)
    expect(await read<Row[]>('/admin/idps')).toHaveLength(1)
  })

  test('policies and subject mappings: are created for an identity provider that is chosen by name', async ({
    reopen,
  }) => {
    const { page } = await openAdmin(reopen, world.service, 'policies')
    await press(page, 'Create policy')
    await field(page, 'Identity provider').selectOption('Company login')
    await field(page, 'Name').fill('Everything')
    await press(page, 'Create')
    await expect.poll(() => rowsOf(page)).toHaveLength(2)
    await page.goto(`${world.service.admin}/admin/ui/mappings`)
    await press(page, 'Create mapping')
    await field(page, 'Identity provider').selectOption('Company login')
    await field(page, 'Federated subject').fill('00u2efgh')
    await field(page, 'Local subject').fill(world.user.id)
    await press(page, 'Create')
    await expect.poll(() => rowsOf(page)).toHaveLength(2)
    await page.getByRole('searchbox').fill('2EFG')
    await expect
      .poll(() => rowsOf(page))
      .toEqual([expect.stringMatching(new RegExp(`00u2efgh[\\s\\S]*${world.user.email}`))])
  })

  test('issuances: shows the actors of a delegated token in order, by name and with links, and revokes the token', async ({
    reopen,
  }) => {
    const { page } = await openAdmin(reopen, world.service, `issuances/${world.delegated}`)
    const chain = page.getByRole('list', { name: 'Delegation chain' }).getByRole('listitem')
    const { user, machine, resource } = world
    const texts = [`user${user.email}`, 'acted beforeNight robot', 'acts nowTravel planner', `may use${resource.uri}`]
    await expect.poll(() => chain.allTextContents()).toEqual(texts)
    const link = await chain.nth(1).getByRole('link').getAttribute('href')
    expect(link).toBe(`/admin/ui/clients/${machine.client_id}`)
    await press(page, 'Revoke')
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('revoked', { exact: true }).waitFor()
    expect((await read(`/admin/issuances/${world.delegated}`))['active']).toBe(false)
  })

  test('issuances: revoking all tokens of a client first shows their number, and Cancel revokes nothing', async ({
    reopen,
  }) => {
    const client = await addClient(world.service, { client_name: 'Counted', grant_types: ['client_credentials'] })
    const tokens = [await tokenOf(client), await tokenOf(client)]
    const { page } = await openAdmin(reopen, world.service, `issuances?client_id=${client.client_id}`)
    const live = async () =>
      (await read<{ issuances: Row[] }>(`/admin/issuances?client_id=${client.client_id}`)).issuances.filter(
        (each) => !each['revoked_at'],
      )
    await expect
      .poll(() => rowsOf(page))
      .toEqual(Array(2).fill(expect.stringMatching(new RegExp(`Counted\\s+${client.client_id}[\\s\\S]*itself`))))
    await press(page, 'Revoke all of these…')
    await page.getByText(`${tokens.length} live tokens and 0 sign-ins of 1 client`).waitFor()
    expect(await page.locator(':focus').textContent()).toBe('Cancel')
    await press(page, 'Cancel')
    expect(await live()).toHaveLength(2)
    await press(page, 'Revoke all of these…')
    await press(page, 'Revoke them')
    await said(page, 'Revoked 2 tokens.')
    expect(await live()).toHaveLength(0)
  })

  test('audit: filters by action, shows new events, and exports', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, world.service, 'audit')
    await page.getByLabel('Any action').selectOption('dcr mode updated')
    await page.getByText('No matches.').waitFor()
    await press(page, 'Follow live')
    await okAdmin(world.service, 'PATCH', '/admin/settings/dcr', { mode: 'admin_only' })
    await expect.poll(() => rowsOf(page), { timeout: 8000 }).toEqual([expect.stringContaining('mode=admin_only')])
    const download = page.waitForEvent('download')
    await press(page, 'Export these')
    expect((await download).suggestedFilename()).toBe('audit.jsonl')
  })

  test('keys: rotates after a confirmation, and shows when the previous key can be removed', async ({ reopen }) => {
    const before = await read<{ current_kid: string }>('/admin/keys')
    const { page } = await openAdmin(reopen, world.service, 'keys')
    await press(page, 'Rotate')
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
    // The new one, the old one and the next one.
    await expect.poll(() => rowsOf(page)).toHaveLength(3)
    const after = await read<{ current_kid: string; previous_kid: string }>('/admin/keys')
    expect(after.previous_kid).toBe(before.current_kid)
    expect(await page.getByRole('row', { name: after.previous_kid }).textContent()).toMatch(/in \d+[mhd]/)
  })

  test('keys: a compromised key is revoked only after the effects were counted and the user typed the id of the key', async ({
    reopen,
  }) => {
    const { current_kid } = await read<{ current_kid: string }>('/admin/keys')
    const { page } = await openAdmin(reopen, world.service, 'keys')
    await page.getByRole('row', { name: current_kid }).getByRole('button').last().click()
    await page.getByText(/\d+ live tokens of \d+ clients/).waitFor()
    const take = page.getByRole('button', { name: 'Revoke the key' })
    expect(await take.isDisabled()).toBe(true)
    await page.getByLabel('to continue').fill(current_kid.slice(0, 8))
    await take.click()
    await said(page, /^Revoked the key and \d+ tokens?\./)
    expect((await read<{ current_kid: string }>('/admin/keys')).current_kid).not.toBe(current_kid)
    expect((await eventsOf(world.service, 'key_revoked')).length).toBe(1)
  })

  test('settings: changes the registration mode at once; the configuration shows no secret', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, world.service, 'settings')
    await page.locator('.choice', { hasText: 'approved_redirects' }).getByRole('button').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Use this' }).click()
    await expect.poll(() => read('/admin/settings/dcr')).toEqual({ mode: 'approved_redirects' })
    await page.getByLabel('Find a key').fill('admin.api_key')
    expect(await page.locator('.facts').textContent()).toContain('***')
  })

  test('a document client shows its present document and the faults in it', async ({ reopen }) => {
    const client_id = 'http://127.0.0.1:9/client.json'
    await addClient(world.service, {}, { client_id, registration_source: 'cimd' })
    const { page } = await openAdmin(reopen, world.service, `clients/${encodeURIComponent(client_id)}`)
    await press(page, 'Fetch it now')
    await page.getByText('The client document cannot be fetched.').waitFor()
    expect((await eventsOf(world.service, 'client_document_fetched'))[0]?.client_id).toBe(client_id)
  })

  test('an operator adds a client by its document, and its page compares the document with its URL', async ({
    reopen,
  }) => {
    const client_id = 'https://client.invalid/kept.json'
    const { page } = await openAdmin(reopen, world.service, 'clients')
    await press(page, 'Add by document')
    const form = page.getByRole('dialog')
    await form.getByLabel('Client ID').fill(client_id)
    const document = { client_id, client_name: 'Kept', redirect_uris: ['https://client.example.com/cb'] }
    await form.getByRole('textbox', { name: 'Document' }).fill(JSON.stringify(document))
    await form.getByRole('button', { name: 'Add' }).click()
    await page.getByText('kept by an operator, fetched never').waitFor()
    await press(page, 'Compare with its URL')
    await page.getByText('The client document cannot be fetched (cimd_dns_failed)').waitFor()
    await world.service.app.store.noteDocument({ client_id, error: 'it answers with status 403 (cimd_status)' })
    await page.reload()
    await page.getByText('The last fetch of the metadata document failed: it answers with status 403').waitFor()
  })

  test('a list that the server cannot provide shows the reason', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, world.service, 'clients?after=nobody')
    expect(await page.getByRole('alert').textContent()).toContain('names no client')
  })

  test('an unknown address shows a message and a link to home', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, world.service, 'nothing')
    await page.getByText('Page not found').waitFor()
    await page.getByRole('main').getByRole('link', { name: 'Home' }).click()
    await page.getByRole('heading', { name: 'Home' }).waitFor()
  })

  test('the keyboard works: / focuses the search, Tab the rows, Escape closes a dialog', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, world.service, 'clients')
    await page.getByRole('row').nth(1).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('robot')
    await expect.poll(() => rowsOf(page)).toHaveLength(1)
    for (let i = 0; i < 5; i++) await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Night robot' }).waitFor()
    await page.getByRole('button', { name: 'Suspend' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  })

  // The last one, because it adds a client and many tokens, which other tests count.
  test('waste: shows who requests too many tokens, the cost, and the message for the owner to copy', async ({
    reopen,
  }) => {
    const { client_id, client_name } = await addClient(world.service, { client_name: 'Restless robot' })
    const { store, clock } = world.service.app
    const [issued_at, expires_at] = [clock.now(), clock.now() + 3600]
    const one = () => anIssuance({ id: newId(), client_id, sub: client_id, issued_at, expires_at })
    await Promise.all(Array.from({ length: 150 }, () => store.recordIssuance(one())))
    const { page } = await openAdmin(reopen, world.service, 'waste')
    await page.getByText('150 within').waitFor()
    const main = await page.getByRole('main').textContent()
    expect(main).toContain('1, because a token is valid for 1h')
    expect(main).toContain(`Your client ${client_name} (client_id ${client_id}) requested 150 access tokens`)
    await page.getByRole('button', { name: 'Copy message' }).waitFor()
    await page.getByRole('link', { name: 'Restless robot' }).click()
    await page.getByRole('heading', { name: 'Restless robot', level: 1 }).waitFor()
  })
})
