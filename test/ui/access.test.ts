// Who may use what, on the admin page.
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { field, openAdmin, pick, press, rowsOf } from './open.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

interface ResourceJson {
  access: { mode: string; groups: string[]; users: string[]; email_domains: string[] }
  scopes: { name: string; groups?: string[] }[]
  token_claims: string[]
}
const stored = (slug: string) => okAdmin<ResourceJson>(service, 'GET', `/admin/resources/${slug}`)

describe(`in ${CHROMIUM}`, () => {
  test('the page of a resource shows its access rules and the groups of each scope, and its form changes them', async ({
    reopen,
  }) => {
    const { slug } = await addResource(service)
    const { page } = await openAdmin(reopen, service, `resources/${slug}`)
    await page.getByText('Everyone who can sign in may use this resource.').waitFor()
    await press(page, 'Edit access')
    await field(page, 'Mode').selectOption('restricted')
    const dialog = page.getByRole('dialog')
    const groups = (of: string) => dialog.getByRole('group', { name: of }).getByLabel(/^Groups/)
    await groups('Access').fill('staff')
    await groups('Access').press('Enter')
    await groups('Access').fill('ops')
    await groups('scope 2').fill('editors')
    await press(page, 'Add scope')
    await dialog.getByRole('group', { name: 'scope 3' }).getByLabel(/^Name/).fill('mcp:admin')
    await groups('scope 3').fill('ops')
    await press(page, 'Remove scope 1')
    await dialog.getByLabel('email', { exact: true }).check()
    await press(page, 'Save')
    await page.getByText('Only users on one of these lists may use this resource.').waitFor()
    const { access, scopes, token_claims } = await stored(slug)
    expect([access, token_claims]).toEqual([
      { mode: 'restricted', groups: ['ops', 'staff'], users: [], email_domains: [], second_factor: false },
      ['email'],
    ])
    expect(scopes.map(({ name, groups }) => [name, groups])).toEqual([
      ['mcp:write', ['editors']],
      ['mcp:admin', ['ops']],
    ])
    const table = page.getByRole('table', { name: 'What each group gets' })
    expect((await table.locator('tbody tr').allInnerTexts()).map((row) => row.split(/\s*\n\s*|\t+/).join(' '))).toEqual(
      ['editors only by another rule mcp:write', 'ops yes mcp:admin', 'staff yes none'],
    )
  })

  test('the users on the list of a resource are shown by their emails', async ({ reopen }) => {
    const user = await addUser(service)
    const access = { mode: 'restricted' as const, groups: [], users: [user.id], email_domains: [] }
    const { slug } = await addResource(service, { access })
    const { page } = await openAdmin(reopen, service, `resources/${slug}`)
    await page.getByRole('link', { name: user.email }).waitFor()
    expect(await page.getByText(user.id, { exact: true }).count()).toBe(1)
  })

  test('lists that are cleared in the form are empty, and a scope without groups is available to every user again', async ({
    reopen,
  }) => {
    const { id, slug } = await addResource(service, {
      access: { mode: 'restricted', groups: ['staff'], users: [], email_domains: [] },
    })
    await okAdmin(service, 'PATCH', `/admin/resources/${id}`, { scopes: [{ name: 'read', groups: ['staff'] }] })
    const { page } = await openAdmin(reopen, service, `resources/${slug}`)
    await press(page, 'Edit access')
    const dialog = page.getByRole('dialog')
    const stands = dialog.getByRole('button', { name: 'Remove staff' })
    await stands.first().waitFor()
    for (let left = await stands.count(); left > 0; left--) await stands.first().click()
    await press(page, 'Save')
    await page.getByText('No user may use this resource').waitFor()
    const { access, scopes } = await stored(slug)
    expect([access.groups, scopes[0]?.groups]).toEqual([[], undefined])
  })

  test('the list of groups links to the users of a group, and marks groups without users', async ({ reopen }) => {
    const user = await addUser(service, { operator_groups: ['crew'] })
    await addUser(service)
    await addResource(service, {
      slug: 'lonely',
      access: { mode: 'restricted', groups: ['crow'], users: [], email_domains: [] },
    })
    const { page } = await openAdmin(reopen, service, 'groups')
    await page.getByRole('row').filter({ hasText: 'crow' }).getByText('no users').waitFor()
    expect(await page.getByRole('row').filter({ hasText: 'crow' }).getByRole('link', { name: 'lonely' }).count()).toBe(
      1,
    )
    await page.getByRole('link', { name: 'crew' }).click()
    await page.getByRole('link', { name: user.email }).waitFor()
    expect(await rowsOf(page)).toHaveLength(1)
  })

  test('the page of a user shows which resources the user may use, which rule decides, and what is missing', async ({
    reopen,
  }) => {
    const user = await addUser(service, { operator_groups: ['pilots'] })
    const rule = (groups: string[]) => ({ mode: 'restricted' as const, groups, users: [], email_domains: [] })
    await addResource(service, {
      slug: 'cockpit',
      access: rule(['pilots']),
      scope_groups: { 'mcp:write': ['captains'] },
    })
    await addResource(service, { slug: 'galley', access: rule(['cooks']) })
    const { page } = await openAdmin(reopen, service, `users/${user.id}`)
    const row = (name: string) =>
      page.getByRole('table', { name: 'What this user may use' }).getByRole('row').filter({ hasText: name })
    await row('cockpit').getByText('Member of pilots.').waitFor()
    expect(await row('cockpit').getByText('not mcp:write, which is only for captains').count()).toBe(1)
    expect(await row('galley').getByText('The user is on none of the lists of the resource.').count()).toBe(1)
    expect(await row('galley').getByText('no', { exact: true }).count()).toBe(1)
  })

  test('explain states in plain words whether a user gets access, which rule decides, and what to change', async ({
    reopen,
  }) => {
    const [user, client] = [await addUser(service, { operator_groups: ['crew'] }), await addClient(service)]
    const access = { mode: 'restricted' as const, groups: ['captains'], users: [], email_domains: [] }
    const { id, uri } = await addResource(service, { slug: 'bridge', access })
    const { page } = await openAdmin(reopen, service, 'try/explain')
    await page.getByLabel(/^Client ID/).fill(client.client_id)
    await page.getByLabel(/^User/).fill(user.email)
    await page.getByLabel(/^Resource/).fill(uri)
    await page.getByLabel(/^Scope/).fill('mcp:read')
    await press(page, 'Explain')
    await page.getByText('No. The application would not get access.').waitFor()
    const step = (text: string) => page.getByRole('listitem').filter({ hasText: text })
    const question = 'Is the user one of those who may use the resource?'
    expect(await step(question).getByText('no', { exact: true }).count()).toBe(1)
    expect(await step('Is the application registered and active?').getByText('yes', { exact: true }).count()).toBe(1)
    expect(await page.getByText('What to change:').count()).toBe(1)
    await okAdmin(service, 'PATCH', `/admin/resources/${id}`, { access: { ...access, groups: ['crew'] } })
    await press(page, 'Explain')
    await page.getByText('Yes. The application would get access.').waitFor()
    expect(await step(question).getByText('yes', { exact: true }).count()).toBe(1)
  })

  test('groups of operators can be edited on the page of a user, and groups of the provider are shown separately', async ({
    reopen,
  }) => {
    const user = await addUser(service, {
      provider: 'oidc',
      provider_issuer: 'https://idp.example.com',
      provider_sub: 'ada',
      password_hash: undefined,
      operator_groups: ['night'],
      provider_groups: ['from-idp'],
    })
    const { page } = await openAdmin(reopen, service, `users/${user.id}`)
    await page.getByRole('link', { name: 'from-idp' }).waitFor()
    await press(page, 'Edit')
    await press(page, 'Remove night')
    await pick(page, 'Groups', 'day', 'late')
    await press(page, 'Save')
    await page.getByRole('link', { name: 'late' }).waitFor()
    const found = await service.app.store.findUser({ id: user.id })
    expect([found?.operator_groups, found?.provider_groups]).toEqual([['day', 'late'], ['from-idp']])
  })
})
