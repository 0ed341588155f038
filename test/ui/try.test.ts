// The page on which things are tried.
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { CHROMIUM, test } from '../support/chromium.ts'
import { addClient, startService, type TestService } from '../support/service.ts'
import { LOOPBACK, type Scene, xaaScene } from '../support/xaa.ts'
import { openAdmin, press } from './open.ts'

let service: TestService
let scene: Scene
beforeAll(async () => {
  service = await startService(LOOPBACK)
  scene = await xaaScene(service)
})
afterAll(() => service.close())

describe(`in ${CHROMIUM}`, () => {
  test('mints a token, decodes it, and links to its record', async ({ reopen }) => {
    const client = await addClient(service, { grant_types: ['client_credentials'] })
    const { page, complaints } = await openAdmin(reopen, service, 'try')
    await page.getByLabel('Client ID').fill(client.client_id)
    await page.getByLabel('Client secret').fill(client.client_secret)
    await press(page, 'Mint a token')
    await page.getByText('granted', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Decode it' }).click()
    await press(page, 'Decode')
    await page.getByText('This server signed it, and it is valid.').waitFor()
    await page.getByRole('link', { name: 'Its record' }).click()
    await page.getByRole('heading', { name: 'Token of' }).waitFor()
    expect(await page.content()).not.toContain(client.client_secret)
    expect(complaints).toEqual([])
  })

  test('shows why a token is refused, and the error that the client receives', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service, 'try')
    await page.getByLabel('Client ID').fill('nobody')
    await page.getByLabel('Client secret').fill('nothing')
    await press(page, 'Mint a token')
    await page.getByText('No client with this client_id exists here.').waitFor()
    await page.getByText('invalid_client', { exact: true }).waitFor()
  })

  test('checks an assertion step by step without using it up', async ({ reopen }) => {
    const assertion = await scene.assertion()
    const { page } = await openAdmin(reopen, service, 'try/assertion')
    await page.getByLabel('Assertion').fill(assertion)
    await page.getByLabel('Client ID').fill(scene.client.client_id)
    await page.getByLabel('Resource').fill(scene.resource.uri)
    await press(page, 'Check')
    await page.getByText('It would be redeemed for').waitFor()
    expect(await page.locator('.steps').getByText('passed').count()).toBe(14)
    expect((await scene.redeem(assertion)).status).toBe(200)
    await page.getByLabel('Client ID').fill((await addClient(service)).client_id)
    await press(page, 'Check')
    const failed = page.locator('.steps li', { hasText: 'failed' })
    await failed.waitFor()
    expect(await failed.textContent()).toContain('It was issued to this client.')
  })
})
