// The page on which things are tried.
import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { addKeyedClient } from '../support/assertion.ts'
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
    await page.getByText('No client has this client_id.').waitFor()
    await page.getByText('invalid_client', { exact: true }).waitFor()
  })

  test.for([
    ['PEM of P-256', 'ec', { namedCurve: 'P-256' }, 'pem'],
    ['JWK of P-256', 'ec', { namedCurve: 'P-256' }, 'jwk'],
    ['PEM of RSA', 'rsa', { modulusLength: 2048 }, 'pem'],
  ] as const)(
    'makes a client assertion from a %s, whose request gets a token for a client with the shown key',
    async ([, type, options, form], { reopen }) => {
      const { privateKey } = generateKeyPairSync(type as 'ec', options as { namedCurve: string })
      const key = form === 'jwk' ? { ...privateKey.export({ format: 'jwk' }), kid: 'key-1' } : undefined
      const text = key ? JSON.stringify(key) : privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
      const { page, complaints } = await openAdmin(reopen, service, 'try/client-assertion')
      const client = await addKeyedClient(service)
      const sent: (string | null)[] = []
      page.on('request', (request) => sent.push(request.postData()))
      await page.getByLabel('Client ID').fill(client.client_id)
      await page.getByLabel('Private key').fill(text)
      await press(page, 'Make an assertion')
      const textOf = async (what: string) => {
        const box = page.locator('.code-box', { has: page.getByRole('button', { name: `Copy ${what}` }) })
        return (await box.locator('pre').textContent()) ?? ''
      }
      const shown = async (what: string) => JSON.parse(await textOf(what))
      const jwks = await shown('jwks')
      await okAdmin(service, 'PATCH', `/admin/clients/${client.client_id}`, { jwks })
      const command = await textOf('curl command')
      const body = new URLSearchParams()
      for (const [, name = '', value = ''] of command.matchAll(/--data-urlencode (\S+?)=(\S+)/g)) body.set(name, value)
      expect((await fetch(`${service.issuer}/oauth/token`, { method: 'POST', body })).status).toBe(200)
      expect((await shown('header')).kid).toBe(key?.kid)
      expect(sent.filter(Boolean)).toEqual([])
      expect(complaints).toEqual([])
    },
  )

  test('refuses a key that no client may have, in plain words', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service, 'try/client-assertion')
    await page.getByLabel('Client ID').fill('job')
    for (const [type, options] of [
      ['rsa', { modulusLength: 1024 }],
      ['ec', { namedCurve: 'P-384' }],
    ] as const) {
      const { privateKey } = generateKeyPairSync(type as 'ec', options as { namedCurve: string })
      await page.getByLabel('Private key').fill(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
      await press(page, 'Make an assertion')
      await page.getByRole('alert').getByText('The key must be a private key').waitFor()
    }
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
