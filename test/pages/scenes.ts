// The pages in every state that a person can meet, each reached the way a person reaches it.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { newId } from '../../src/lib/id.ts'
import type { Client } from '../../src/records/client.ts'
import { allow, browserOf, IPHONE } from '../support/account.ts'
import { okAdmin } from '../support/admin.ts'
import { APPROVALS, addAgent, askPerson, idIn } from '../support/approvals.ts'
import { addDeviceClient, askForCode, codesOf, DEVICES } from '../support/device.ts'
import { codeAt, secretOn } from '../support/factors.ts'
import { authorizeUrl } from '../support/flow.ts'
import { addClient, addResource, addUser, PASSWORD, startService, type TestService } from '../support/service.ts'

export interface World {
  service: TestService
  /** Where the browser is sent back to: an application at another origin, with a real page. */
  application: string
  close(): Promise<void>
}

/** Starts a service, and an application at another origin, which may call the service from its page. */
export async function openWorld(): Promise<World> {
  const { server, origin } = await serve(PAGE)
  const service = await startService({
    ...DEVICES,
    ...APPROVALS,
    SERVICE_OAUTH_OPENID: 'true',
    SERVICE_SERVER_ALLOWED_ORIGINS: origin,
    SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0',
  })
  return {
    service,
    application: `${origin}/callback`,
    async close() {
      server.close()
      await service.close()
    },
  }
}

export const PAGE = '<!doctype html><title>application</title><link rel="icon" href="data:,">'

/** Serves one page, or redirects everything to one place. */
export async function serve(pageOrLocation: string): Promise<{ server: Server; origin: string }> {
  const server = createServer((_, response) => {
    if (pageOrLocation.startsWith('http')) response.writeHead(303, { location: pageOrLocation }).end()
    else response.writeHead(200, { 'content-type': 'text/html' }).end(pageOrLocation)
  })
  await new Promise<void>((resolve) => server.listen(0, () => resolve()))
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** Fills the login form in and sends it, in any language. */
export async function logIn(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.locator('#email').fill(email)
  await page.locator('#password').fill(password)
  await page.locator('button.main').click()
}

/** A one-time link with which a user sets a password. */
export async function newPasswordLink({ service }: World, { id }: { id: string }): Promise<string> {
  return (await okAdmin<{ url: string }>(service, 'POST', `/admin/users/${id}/password-link`)).url
}

/** Fills the form of a password link in and sends it. */
export async function sendPassword(page: Page, next: string, again = next): Promise<void> {
  await page.locator('input[name=new_password]').fill(next)
  await page.locator('input[name=new_password_again]').fill(again)
  await page.locator('form[action$="/password"] button.wide').click()
}

interface Asking {
  client?: Record<string, unknown>
  record?: Partial<Client>
  resource?: Parameters<typeof addResource>[1]
  scope?: string
}

/** A client, a user, a resource, and the URL that asks for consent. */
export async function setUp({ service, application }: World, { client, record, resource, scope }: Asking = {}) {
  const usual = { client_name: 'Inbox Assistant', redirect_uris: [application], token_endpoint_auth_method: 'none' }
  const registered = await addClient(service, { ...usual, ...(scope ? { scope } : {}), ...client }, record)
  const target = await addResource(service, resource)
  const [redirect_uri = ''] = registered.redirect_uris
  const { client_id } = registered
  return {
    client: registered,
    user: await addUser(service),
    resource: target,
    url: authorizeUrl(service, { client_id, redirect_uri, resource: target.uri, scope: scope ?? 'mcp:read mcp:write' }),
  }
}

const LONG_SCOPES = Array.from({ length: 12 }, (_, i) => `files.archive-${i}:read_and_write_everything_below_a_folder`)
const LONG_NAME = `${'An application with a name that does not want to end '.repeat(3)}${'W'.repeat(60)}`
const TWELVE = Array.from({ length: 12 }, (_, i) => `mail.part${i + 1}:${i % 2 ? 'write' : 'read'}`)

/** Signs a user in at the consent page. */
export async function showConsent(world: World, page: Page, asking: Asking) {
  const parts = await setUp(world, asking)
  await page.goto(parts.url)
  await logIn(page, parts.user.email)
  return parts
}

/** Signs a user in, who is also signed in on a phone and allowed these applications, and shows the account page. */
async function showAccount({ service }: World, page: Page, names: string[], resource = {}): Promise<void> {
  const user = await addUser(service)
  const phone = await browserOf(service, user.email, IPHONE)
  for (const name of names) await allow(service, user, phone, name, resource)
  await page.goto(`${service.issuer}/login`)
  await logIn(page, user.email)
  await page.locator('h2#applications').waitFor()
}

/** Enters the code of a device, up to the consent page. */
async function showDeviceConsent({ service }: World, page: Page) {
  const [client, resource, user] = [
    await addDeviceClient(service, { client_name: 'Inbox Terminal' }),
    await addResource(service),
    await addUser(service),
  ]
  const headers = { 'user-agent': 'inbox-terminal/2.1 (linux; x64) node/20.20.2' }
  const { user_code } = codesOf(await askForCode(service, client, { resource: resource.uri }, headers))
  await page.goto(`${service.issuer}/device?user_code=${user_code}`)
  await logIn(page, user.email)
  await page.locator('#user_code + p + button').click()
  await page.locator('button[value=allow]').waitFor()
}

/** Requests for approvals: two equal ones, one with long texts, and one that needs another sign-in. Shows the page, and that of the account. */
async function showApprovals({ service }: World, page: Page, place: string): Promise<void> {
  const resource = await addResource(service, {
    uri: `https://${'r'.repeat(63)}.example.com/${newId()}`,
    authorization_details_types: [PAYMENT],
  })
  const [agent, long, { email }] = [
    await addAgent(service, { client_name: 'Invoice agent' }),
    await addAgent(service, { client_name: LONG_NAME }),
    await addUser(service),
  ]
  const ask = async (client: typeof agent, fields: Record<string, string>) =>
    idIn(await askPerson(service, client, { login_hint: email, resource: resource.uri, ...fields }))
  const authorization_details = JSON.stringify(
    ['Ada Lovelace', 'W'.repeat(80)].map((creditor) => ({ type: 'payment', amount: '30 EUR', creditor })),
  )
  for (let i = 0; i < 2; i++) await ask(agent, { binding_message: 'INV-7', authorization_details })
  await ask(long, { binding_message: 'W'.repeat(128) })
  await ask(agent, { acr_values: 'mfa' })
  await page.goto(`${service.issuer}${place}`)
  await logIn(page, email)
  await page.waitForURL(`**${place}`)
}
const PAYMENT = {
  type: 'payment',
  description: 'A payment',
  display: ['Pay {amount} to {creditor}'],
  schema: { properties: { amount: {}, creditor: {} } },
}

/** The page that adds a second factor, of a new user. */
async function showFactors({ service }: World, page: Page): Promise<void> {
  const { email } = await addUser(service)
  await page.goto(`${service.issuer}/login`)
  await logIn(page, email)
  // To leave the page while it loads ends its request, which the browser reports.
  await page.waitForURL('**/account')
  await page.goto(`${service.issuer}/second-factor?redirect=%2Faccount`)
}

export const SCENES: Record<string, (world: World, page: Page) => Promise<unknown>> = {
  login: async ({ service }, page) => page.goto(`${service.issuer}/login`),
  'login error': async (world, page) => {
    await page.goto((await setUp(world)).url)
    await logIn(page, 'ada@example.com', 'wrong')
  },
  'second factor': (world, page) => showFactors(world, page),
  'authenticator app': async (world, page) => {
    await showFactors(world, page)
    await page.getByRole('button', { name: 'Add an authenticator app' }).click()
  },
  'recovery codes': async (world, page) => {
    await SCENES['authenticator app']?.(world, page)
    const secret = secretOn({ text: await page.content() })
    await page.getByLabel('Code of the app').fill(codeAt(secret, world.service.app.clock.now()))
    await page.getByRole('button', { name: 'Confirm' }).click()
  },
  consent: (world, page) =>
    showConsent(world, page, { client: { redirect_uris: ['https://inbox.example.com/oauth/callback'] } }),
  'consent of a program on this device': (world, page) => showConsent(world, page, {}),
  'consent of a client that registered itself': (world, page) =>
    showConsent(world, page, {
      client: { redirect_uris: ['https://inbox.example.com/oauth/callback'] },
      record: { registration_source: 'dcr' },
    }),
  'consent to twelve scopes': (world, page) =>
    showConsent(world, page, {
      client: { redirect_uris: ['https://inbox.example.com/oauth/callback'] },
      resource: { scopes: TWELVE },
      scope: TWELVE.join(' '),
    }),
  'consent with long texts': (world, page) =>
    showConsent(world, page, {
      client: {
        client_name: LONG_NAME,
        redirect_uris: [`https://${'very-long-label-of-a-host.'.repeat(6)}example.com/callback`],
      },
      record: { registration_source: 'dcr' },
      resource: { uri: `https://${'r'.repeat(63)}.example.com/${'p'.repeat(120)}`, scopes: LONG_SCOPES },
      scope: LONG_SCOPES.join(' '),
    }),
  'consent to a resource without scopes': (world, page) =>
    showConsent(world, page, {
      client: { redirect_uris: ['https://inbox.example.com/oauth/callback'] },
      resource: { scopes: [] },
      scope: 'openid',
    }),
  'error with a link back': async (world, page) => {
    const { url } = await setUp(world, {
      client: { redirect_uris: [`https://${'very-long-label-of-a-host.'.repeat(6)}example.com/callback`] },
      record: { registration_source: 'dcr' },
    })
    await page.goto(url.replace('code_challenge=', 'no_code_challenge='))
    await page.getByRole('link', { name: /very-long-label/ }).waitFor()
  },
  'device code': async ({ service }, page) => {
    await page.goto(`${service.issuer}/device`)
    await logIn(page, (await addUser(service)).email)
    await page.locator('#user_code').waitFor()
  },
  'device code of a link': async ({ service }, page) => {
    await page.goto(`${service.issuer}/device?user_code=BCDF-GHJK`)
    await logIn(page, (await addUser(service)).email)
    await page.locator('#user_code').waitFor()
  },
  'device code that is not known': async ({ service }, page) => {
    await page.goto(`${service.issuer}/device?user_code=BCDF-GHJK`)
    await logIn(page, (await addUser(service)).email)
    await page.locator('#user_code + p + button').click()
    await page.getByRole('alert').waitFor()
  },
  'device consent': (world, page) => showDeviceConsent(world, page),
  'device connected': async (world, page) => {
    await showDeviceConsent(world, page)
    await page.locator('button[value=allow]').click()
    await page.locator('button').waitFor({ state: 'detached' })
  },
  approvals: (world, page) => showApprovals(world, page, '/account/requests'),
  'approvals in a line': (world, page) => showApprovals(world, page, '/account'),
  'approval without a choice': async (world, page) => {
    await showApprovals(world, page, '/account/requests')
    for (const box of await page.locator('form').first().getByRole('checkbox').all()) await box.uncheck()
    await page.locator('button[value=allow]').first().click()
    await page.getByRole('alert').waitFor()
  },
  'no approval': async ({ service }, page) => {
    await page.goto(`${service.issuer}/account/requests`)
    await logIn(page, (await addUser(service)).email)
    await page.waitForURL('**/account/requests')
  },
  'password link': async (world, page) => page.goto(await newPasswordLink(world, await addUser(world.service))),
  'password link with a mistake': async (world, page) => {
    await page.goto(await newPasswordLink(world, await addUser(world.service)))
    await sendPassword(page, PASSWORD, `${PASSWORD}!`)
    await page.getByRole('alert').waitFor()
  },
  'password set': async (world, page) => {
    await page.goto(await newPasswordLink(world, await addUser(world.service)))
    await sendPassword(page, PASSWORD)
    await page.locator('a[href$="/login"]').waitFor()
  },
  'password link that is not valid': async ({ service }, page) => page.goto(`${service.issuer}/password/pwl_x`),
  error: ({ service }, page) => page.goto(authorizeUrl(service, { client_id: 'nobody' })),
  'account after a connection that failed': async ({ service }, page) => {
    await page.goto(`${service.issuer}/login?redirect=/connections?error=access_denied`)
    await logIn(page, (await addUser(service)).email)
  },
  'account without anything': async ({ service }, page) => {
    await page.goto(`${service.issuer}/login`)
    await logIn(page, (await addUser(service)).email)
    await page.locator('h2#applications').waitFor()
  },
  account: async (world, page) => {
    await showAccount(world, page, ['Inbox Assistant', 'Notes'])
  },
  'account with long texts': async (world, page) => {
    await showAccount(world, page, [LONG_NAME], {
      uri: `https://${'r'.repeat(63)}.example.com/${'p'.repeat(120)}`,
      scopes: LONG_SCOPES,
    })
  },
  'account with a wrong password': async (world, page) => {
    await showAccount(world, page, ['Notes'])
    await page.locator('#current_password').fill('wrong')
    for (const field of await page.locator('[autocomplete=new-password]').all()) await field.fill('a new password')
    await page.locator('form[action$=password] button.wide').click()
    await page.locator('#password-problem').waitFor()
  },
  'sign out': async (world, page) => {
    await showAccount(world, page, [])
    await page.goto(`${world.service.issuer}/oauth/logout`)
    await page.locator('form[action*="/logout"] button').waitFor()
  },
  'signed out': ({ service }, page) => page.goto(`${service.issuer}/oauth/logout`),
  'sign out from a form of another site': async ({ service, application }, page) => {
    const logout = `${service.issuer}/oauth/logout`
    // Without its refresh header the page stays, as in a browser that ignores the header.
    await page.route(logout, async (route) => {
      const headers = { ...route.request().headers(), 'sec-fetch-site': 'cross-site' }
      const response = await route.fetch({ headers })
      const { refresh: _, ...shown } = response.headers()
      await route.fulfill({ response, headers: shown })
    })
    await page.goto(application)
    await page.setContent(`<form method="post" action="${logout}"><button>Sign out</button></form>`)
    await page.locator('button').click()
    await page.locator('main h1 + p a').waitFor()
  },
  'login of a signed-in user': async (world, page) => {
    await showAccount(world, page, [])
    await page.goto(`${world.service.issuer}/login`)
  },
}
