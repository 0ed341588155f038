// A revocation that takes longer than a request may, on the admin page.
import { afterAll, beforeAll, describe, expect, vi } from 'vitest'
import { CHROMIUM, test } from '../support/chromium.ts'
import { machineToken } from '../support/flow.ts'
import { addClient, startService, type TestService } from '../support/service.ts'
import { openAdmin, press, said } from './open.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

describe(`in ${CHROMIUM}`, () => {
  test('the dialog shows the progress and the result, and home the job', async ({ reopen }) => {
    const client = await addClient(service)
    await machineToken(service, client)
    const { page } = await openAdmin(reopen, service, `issuances?client_id=${client.client_id}`)
    await press(page, 'Revoke all of these…')
    await page.getByText('1 live token and').waitFor()
    // A large database, in which the first window takes long.
    const { store } = service.app
    const { revokeTokens } = store
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    vi.spyOn(store, 'revokeTokens').mockImplementation(async (window) => {
      await released
      return revokeTokens(window)
    })
    await press(page, 'Revoke them')
    await page.getByText(/\d+ %, \d+ rows?\. It continues/).waitFor({ timeout: 15_000 })
    release()
    await said(page, 'Revoked 1 token.')
    await page.goto(`${service.admin}/admin/ui/`)
    const row = page.getByRole('table', { name: 'Jobs' }).locator('tbody tr')
    await expect.poll(() => row.textContent()).toMatch(/POST \/admin\/revocations by admin.*done/)
  })
})
