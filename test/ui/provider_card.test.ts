// The card "Upstream providers" on the page Home.
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { addProvider } from '../support/broker.ts'
import { Browser } from '../support/browser.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { federating } from '../support/openid_fake.ts'
import { type ScimClient, scimClient } from '../support/scim.ts'
import { startService, type TestService } from '../support/service.ts'
import { openAdmin } from './open.ts'

let service: TestService
let okta: ScimClient
beforeAll(async () => {
  service = await startService(federating('http://127.0.0.1:1/realms/staff', { SERVICE_SCIM_ENABLED: 'true' }))
  okta = await scimClient(service)
  await addProvider(service, { slug: 'drive' })
  await new Browser().open(`${service.issuer}/oidc/start`)
})
afterAll(() => service.close())

describe(`in ${CHROMIUM}`, () => {
  test('home shows each upstream provider, why it cannot be used, and its last failure', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service)
    const card = page.locator('.card', { hasText: 'Upstream providers' })
    await expect.poll(() => card.textContent()).toContain('default for sign-in http://127.0.0.1:1/realms/staff')
    const text = await card.textContent()
    expect(text).toContain('It cannot be used: oidc_connect_failed')
    expect(text).toMatch(/Last failure .*: oidc_connect_failed/)
    expect(text).toContain('drive for connections')
  })

  test('home shows the SCIM keys of a provider, its people and groups, its last request and its last refusal', async ({
    reopen,
  }) => {
    const { page } = await openAdmin(reopen, service)
    const card = page.locator('.card', { hasText: 'Upstream providers' })
    await expect
      .poll(() => card.textContent())
      .toContain(`SCIM: 0 people and 0 groups, with ${okta.name} (API keys). Last request never.`)
    for (const userName of ['ada@example.com', 'grace@example.com']) await okta.add({ userName })
    await okta.send('POST', '/Groups', { displayName: 'engineering' })
    await okta.send('POST', '/Users', { userName: 'ada@example.com' })
    await page.reload()
    await expect
      .poll(() => card.textContent())
      .toMatch(/SCIM: 2 people and 1 group, .*Last request .*Last refusal .*: 409 scim_uniqueness/)
    await card.getByRole('link', { name: 'API keys' }).click()
    await expect.poll(() => page.locator('tbody tr', { hasText: okta.name }).textContent()).toContain('scim default')
  })
})
