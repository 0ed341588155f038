// The card "Upstream providers" on the page Home.
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { addProvider } from '../support/broker.ts'
import { Browser } from '../support/browser.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { federating } from '../support/openid_fake.ts'
import { startService, type TestService } from '../support/service.ts'
import { openAdmin } from './open.ts'

let service: TestService
beforeAll(async () => {
  service = await startService(federating('http://127.0.0.1:1/realms/staff'))
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
})
