// Passkeys in a real browser, with its virtual authenticator (WebAuthn §11): they are added, sign in, and are refused where they must be.
import type { BrowserContext, CDPSession, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { addAxe, findingsOf } from '../support/axe.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { authorizeUrl } from '../support/flow.ts'
import { addClient, addUser, PASSWORD, startService, type TestService } from '../support/service.ts'

const ENV = { SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0', SERVICE_OAUTH_OPENID: 'true' }
let service: TestService
beforeAll(async () => {
  service = await startService(ENV)
})
afterAll(() => service.close())

interface Device {
  context: BrowserContext
  page: Page
  cdp: CDPSession
  authenticatorId: string
}

/** A browser window with an authenticator that verifies its user. */
async function deviceOf(page: Page): Promise<Device> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const options = {
    ...({ protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true } as const),
    ...{ isUserVerified: true, automaticPresenceSimulation: true },
  }
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', { options })
  return { context: page.context(), page, cdp, authenticatorId }
}

async function withPassword({ page }: Device, email: string, at = service): Promise<void> {
  await page.goto(`${at.issuer}/login`)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL(/account|second-factor/)
}

const factorsOf = async (id: string, at = service) =>
  (await okAdmin<{ factors: { name: string; kind: string }[] }>(at, 'GET', `/admin/users/${id}`)).factors

async function addPasskey({ page }: Device, name: string): Promise<void> {
  await page.getByLabel('Name of the passkey, for example of this device').fill(name)
  await page.getByRole('button', { name: 'Add a passkey' }).click()
}

/** Signs in with the passkey by the button, in a browser without cookies. */
async function withPasskey({ page, context, cdp, authenticatorId }: Device, url = `${service.issuer}/login`) {
  await context.clearCookies()
  // So that autofill does not take the passkey before the button does.
  const simulate = (enabled: boolean) =>
    cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled })
  await simulate(false)
  await page.goto(url)
  await simulate(true)
  // Autofill may have been first.
  await page
    .getByRole('button', { name: 'Sign in with a passkey' })
    .click({ timeout: 2000 })
    .catch(() => {})
}

describe.skipIf(!CHROMIUM)(`in ${CHROMIUM}`, () => {
  test('a passkey is added with a name, signs in alone, and tokens say phr', async ({ open }) => {
    const user = await addUser(service)
    const device = await deviceOf((await open()).page)
    const { page } = device
    await withPassword(device, user.email)
    await addPasskey(device, 'Blue laptop')
    await page.getByText('Keep these recovery codes').waitFor()
    expect(await page.locator('ul.codes li').count()).toBe(10)
    await addAxe(page)
    expect(await findingsOf(page)).toEqual([])
    await page.getByRole('link', { name: 'Continue' }).click()
    await page.getByText('Blue laptop').waitFor()
    expect(await factorsOf(user.id)).toMatchObject([{ kind: 'passkey', name: 'Blue laptop' }])
    await withPasskey(device)
    await page.waitForURL(/account/)
    const client = await addClient(service, { scope: 'openid' })
    await page.goto(authorizeUrl(service, { client_id: client.client_id, scope: 'openid', acr_values: 'phr' }))
    expect(await page.getByRole('button', { name: 'Allow' }).count()).toBe(1)
  })

  test('a passkey that does not verify its user signs in nowhere', async ({ open }) => {
    const user = await addUser(service)
    const device = await deviceOf((await open()).page)
    await withPassword(device, user.email)
    await addPasskey(device, 'Key')
    await expect.poll(() => factorsOf(user.id)).toHaveLength(1)
    const { cdp, authenticatorId, page } = device
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
    await withPasskey(device)
    await page.locator('[role=alert]:visible').first().waitFor()
    expect(await page.getByLabel('Email').count()).toBe(1)
  })

  test('a copied authenticator, whose counter is behind, is refused', async ({ open }) => {
    const user = await addUser(service)
    const device = await deviceOf((await open()).page)
    const { cdp, authenticatorId, page } = device
    await withPassword(device, user.email)
    await addPasskey(device, 'Key')
    await expect.poll(() => factorsOf(user.id)).toHaveLength(1)
    const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId })
    for (let i = 0; i < 2; i++) {
      await withPasskey(device)
      await page.waitForURL(/account/)
    }
    // The state of the first copy.
    await cdp.send('WebAuthn.clearCredentials', { authenticatorId })
    for (const credential of credentials) await cdp.send('WebAuthn.addCredential', { authenticatorId, credential })
    const answer = page.waitForResponse((response) => response.request().method() === 'POST')
    await withPasskey(device)
    expect((await answer).status()).toBe(422)
  })

  test('an answer that was sent once opens nothing in the same browser, and none of another browser does', async ({
    open,
  }) => {
    const user = await addUser(service)
    const device = await deviceOf((await open()).page)
    const { page, context } = device
    await withPassword(device, user.email)
    await addPasskey(device, 'Key')
    await expect.poll(() => factorsOf(user.id)).toHaveLength(1)
    const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/login'))
    await withPasskey(device)
    const body = (await sent).postData() ?? ''
    await page.waitForURL(/account/)
    const keep = (await context.cookies()).filter(({ name }) => name.includes('nonce'))
    for (const cookie of [keep.map(({ name, value }) => `${name}=${value}`).join('; '), '']) {
      const headers = { 'content-type': 'application/x-www-form-urlencoded', cookie, 'sec-fetch-site': 'same-origin' }
      const answer = await fetch(`${service.issuer}/login`, { method: 'POST', headers, body, redirect: 'manual' })
      expect([answer.status, answer.headers.get('location')]).toEqual([422, null])
    }
  })

  test('with mfa.required, a passkey that is added leads on', async ({ open }) => {
    const required = await startService({ ...ENV, SERVICE_MFA_REQUIRED: 'always' })
    try {
      const user = await addUser(required)
      const device = await deviceOf((await open()).page)
      const { page } = device
      await withPassword(device, user.email, required)
      expect(await page.getByRole('heading', { name: 'Second factor' }).count()).toBe(1)
      await addAxe(page)
      expect(await findingsOf(page)).toEqual([])
      await addPasskey(device, '')
      await page.getByRole('link', { name: 'Continue' }).click()
      await page.getByRole('heading', { name: 'Applications' }).waitFor()
    } finally {
      await required.close()
    }
  })

  test('a local admin signs in to the admin page with a passkey, and only with one', async ({ open }) => {
    const local = await startService({
      ...ENV,
      SERVICE_ADMIN_SIGN_IN_ENABLED: 'true',
      SERVICE_ADMIN_SIGN_IN_LOCAL: 'true',
      SERVICE_ADMIN_SIGN_IN_URL: '<admin>',
    })
    try {
      const [root, user] = [await addUser(local, { role: 'admin' }), await addUser(local)]
      const { page } = await open()
      const device = await deviceOf(page)
      await page.goto(`${local.admin}/admin/ui/`)
      await page.getByRole('link', { name: /passkey/ }).click()
      await page.getByLabel('Email').fill(root.email)
      await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.getByRole('heading', { name: 'Second factor' }).waitFor()
      await addPasskey(device, 'Root')
      await page.getByRole('link', { name: 'Continue' }).click()
      await page.waitForURL(/\/admin\/ui\//)
      await page.getByText(root.email).first().waitFor()
      const code = `${local.admin}/admin/ui/sign-in/local/callback?code=forged`
      expect((await page.goto(code))?.status()).toBe(403)
      // A browser without the passkey.
      const { page: other } = await open()
      await other.goto(`${local.admin}/admin/ui/`)
      await other.getByRole('link', { name: /passkey/ }).click()
      await other.getByLabel('Email').fill(user.email)
      await other.getByLabel('Password', { exact: true }).fill(PASSWORD)
      await other.getByRole('button', { name: 'Sign in', exact: true }).click()
      await other.getByText('only a local user with the role admin').waitFor()
    } finally {
      await local.close()
    }
  })
})
