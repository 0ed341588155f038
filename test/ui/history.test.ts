// Charts over time, failures with what was sent beside what is allowed, and the busiest clients first.
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { addAxe, findingsOf } from '../support/axe.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { authorizeUrl, machineToken } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { openAdmin, press, rowsOf, said } from './open.ts'

let service: TestService
let client: Awaited<ReturnType<typeof addClient>>
const NEW_URI = 'https://client.example.com/other'

beforeAll(async () => {
  service = await startService()
  client = await addClient(service, { client_name: 'Nightly' })
  const now = service.app.clock.now()
  const counts = { requests: 9, refused: 2, limited: 1, issued: 7 }
  const { client_id } = client
  await service.app.store.addActivity({
    at: now - 7200,
    sums: [
      { kind: 'client', name: client_id, ...counts },
      { kind: 'grant', name: 'client_credentials', ...counts },
      { kind: 'reason', name: 'wrong_secret', ...counts },
      { kind: 'latency', name: '90', ...counts },
      { kind: 'all', name: '', ...counts },
    ],
  })
  await okAdmin(service, 'POST', '/admin/keys/rotate')
  await fetch(authorizeUrl(service, { client_id, redirect_uri: NEW_URI }))
  await machineToken(service, client, { scope: 'mcp:admin' })
})
afterAll(() => service.close())

/** Failures are stored when their minute has ended. */
async function stored() {
  service.advance(90)
  const { client_id } = client
  await expect
    .poll(async () => (await service.app.store.listClientFailures({ client_id })).length, { timeout: 8000 })
    .toBe(2)
}

describe(`in ${CHROMIUM}`, () => {
  test('the charts of home have four ranges, gaps, marks, and values by pointer and by keyboard', async ({
    reopen,
  }) => {
    const { page, complaints } = await openAdmin(reopen, service)
    await page.getByRole('button', { name: '24 h', exact: true }).click()
    expect(new URL(page.url()).searchParams.get('range')).toBe('24h')
    const chart = page.getByRole('figure', { name: 'Tokens per second, by grant' })
    const slider = chart.getByRole('slider')
    await expect.poll(() => slider.getAttribute('aria-valuemax')).toMatch(/^14\d$/)
    await chart.locator('canvas').waitFor()
    // The axis is drawn before the sums have arrived.
    await expect.poll(() => slider.getAttribute('aria-valuetext')).toContain('client credentials')
    await slider.focus()
    const last = Number(await slider.getAttribute('aria-valuemax'))
    const values = new Set<string>()
    for (let i = 0; i < 24; i++) {
      await page.keyboard.press('ArrowLeft')
      await expect.poll(() => slider.getAttribute('aria-valuenow')).toBe(String(last - 1 - i))
      values.add((await slider.getAttribute('aria-valuetext')) ?? '')
    }
    expect([...values].filter((text) => /client credentials 0\.012$/.test(text))).toHaveLength(1)
    // Before and after it nothing was measured, which is not zero.
    expect([...values].filter((text) => text.endsWith('client credentials –')).length).toBeGreaterThan(10)
    expect([...values].filter((text) => text.endsWith('client credentials 0'))).toEqual([])
    await page
      .getByText(/changes? in this time/)
      .first()
      .click()
    await page.getByText('signing key rotated').waitFor()
    await chart.getByText('As a table').click()
    await chart.getByRole('cell', { name: '0.012' }).waitFor()
    await page
      .getByRole('figure', { name: 'Refused per second, by reason' })
      .getByText('wrong secret')
      .first()
      .waitFor()
    await page.getByRole('button', { name: '30 d', exact: true }).click()
    await expect.poll(() => slider.getAttribute('aria-valuemax')).toMatch(/^1[78]\d$/)
    await addAxe(page)
    expect(await findingsOf(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  test('the pages of a client, a user and a resource have their own chart', async ({ reopen }) => {
    const [user, resource] = [await addUser(service), await addResource(service)]
    const { page } = await openAdmin(reopen, service, `clients/${client.client_id}`)
    await page.getByText('7 tokens, 4 refused in 24 h').waitFor()
    for (const place of [`users/${user.id}`, `resources/${resource.slug}`]) {
      const { page: other } = await openAdmin(reopen, service, place)
      await other.getByText('0 tokens in 24 h').waitFor()
      await other.getByRole('figure', { name: 'Requests in each period' }).waitFor()
    }
  })

  test('the page of a client shows what it sent beside what is allowed, and adds the redirect URI', async ({
    reopen,
  }) => {
    await stored()
    const { page, complaints } = await openAdmin(reopen, service, `clients/${client.client_id}`)
    const failures = page.getByRole('list', { name: 'Last failures' })
    await failures.getByText('mcp:admin').first().waitFor()
    expect(await failures.textContent()).toContain(client.redirect_uris[0])
    expect(await failures.textContent()).toContain('mcp:read')
    await addAxe(page)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await findingsOf(page), colorScheme).toEqual([])
    }
    await failures.getByRole('button', { name: 'Add this URI' }).click()
    await press(page, 'Add')
    await said(page, 'The redirect URI is registered.')
    const changed = await service.app.store.findClient(client)
    expect(changed?.redirect_uris).toEqual([...client.redirect_uris, NEW_URI])
    await failures.getByRole('button', { name: 'Add this URI' }).waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  test("the error of an operator's own test shows what was sent beside what is allowed", async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service, 'try')
    await page.getByLabel(/^Client ID/).fill(client.client_id)
    await page.getByLabel(/^Client secret/).fill(client.client_secret)
    await page.getByLabel(/^Scope/).fill('mcp:admin')
    await press(page, 'Mint a token')
    await page.getByText('Sent as scope').waitFor()
    await page.getByText('mcp:admin', { exact: true }).waitFor()
  })

  test('clients are listed by their tokens of 24 hours', async ({ reopen }) => {
    const busy = await addClient(service, { client_name: 'Busiest' })
    const at = service.app.clock.now()
    await service.app.store.addActivity({
      at,
      sums: [{ kind: 'client', name: busy.client_id, requests: 4321, refused: 0, limited: 0, issued: 4321 }],
    })
    const { page } = await openAdmin(reopen, service, 'clients')
    await page.getByLabel('Newest first').selectOption('Most tokens in 24 h first')
    await expect
      .poll(async () => (await rowsOf(page)).map((row) => /Busiest|Nightly/.exec(row)?.[0]))
      .toEqual(['Busiest', 'Nightly'])
  })
})
