// Twelve tasks of four people, each with the clicks and entries that it takes (docs/operate/admin-page.md lists them) and the seconds of the browser.
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { allow, browserOf } from '../support/account.ts'
import { APPROVALS, addAgent, askPerson } from '../support/approvals.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { authorizeUrl, isActive, machineToken } from '../support/flow.ts'
import { addClient, addResource, addUser, PASSWORD, startService, type TestService } from '../support/service.ts'
import { openAdmin, said } from './open.ts'

let service: TestService
beforeAll(async () => {
  service = await startService(APPROVALS)
})
afterAll(() => service.close())

/** What a person does with mouse and keyboard. */
class Hands {
  clicks = 0
  entries = 0
  private readonly page: Page

  constructor(page: Page) {
    this.page = page
  }

  async click(what: Locator): Promise<void> {
    this.clicks++
    await what.click()
  }
  press(name: string | RegExp): Promise<void> {
    return this.click(this.page.getByRole('button', { name, exact: true }).first())
  }
  follow(name: string | RegExp): Promise<void> {
    return this.click(this.page.getByRole('link', { name, exact: true }).first())
  }
  /** Enters a text, with the Enter key at its end if `sends`. */
  async enter(where: string | RegExp, text: string, sends = false): Promise<void> {
    this.entries++
    await this.page.getByLabel(where).first().fill(text)
    if (sends) await this.page.keyboard.press('Enter')
  }
}

/** Does a task from the place where the person is, and prints what it took. */
async function doTask(page: Page, name: string, work: (hands: Hands) => Promise<void>): Promise<string> {
  const hands = new Hands(page)
  const beganMs = performance.now()
  await work(hands)
  const { clicks, entries } = hands
  console.log(`${name}: ${clicks} clicks, ${entries} entries, ${((performance.now() - beganMs) / 1000).toFixed(1)} s`)
  return `${clicks} clicks, ${entries} entries`
}

/** The failures of a client are stored when their minute has ended. */
async function storedFailures(client_id: string): Promise<void> {
  service.advance(90)
  await expect
    .poll(async () => (await service.app.store.listClientFailures({ client_id })).length, { timeout: 8000 })
    .toBe(1)
}

const SEARCH = 'Search everything'

describe(`an operator at night, in ${CHROMIUM}`, () => {
  test('a caller has the id of a refused request: what was wrong?', async ({ reopen }) => {
    const client = await addClient(service, { client_name: 'Ledger' })
    const { body } = await machineToken(service, { ...client, client_secret: 'wrong' })
    const id = String(body['request_id'])
    const { page } = await openAdmin(reopen, service)
    const took = await doTask(page, 'request id', async (hands) => {
      await hands.enter(SEARCH, id, true)
      await hands.follow('What the client did')
      await page.getByText('Client authentication failed').first().waitFor()
    })
    expect(took).toBe('1 clicks, 1 entries')
  })

  test('a client floods: give it a limit', async ({ reopen }) => {
    const client = await addClient(service, { client_name: 'Flooder' })
    for (let i = 0; i < 5; i++) await machineToken(service, client)
    const { page } = await openAdmin(reopen, service)
    const took = await doTask(page, 'flood', async (hands) => {
      const row = page.getByRole('table', { name: 'Top clients' }).getByRole('row', { name: /Flooder/ })
      await hands.click(row.getByRole('button', { name: 'Limit…' }))
      await hands.enter(/^Requests per second/, '3')
      await hands.press('Save')
      await said(page, 'Saved.')
    })
    expect(took).toBe('2 clicks, 1 entries')
    expect(await service.app.store.findClient(client)).toMatchObject({ limits: { requests_per_second: 3 } })
  })

  test('a token was found in a log: end it', async ({ reopen }) => {
    const token = String((await machineToken(service, await addClient(service))).body['access_token'])
    const { page } = await openAdmin(reopen, service)
    const took = await doTask(page, 'leaked token', async (hands) => {
      await hands.enter(SEARCH, token, true)
      await hands.press('It leaked…')
      await hands.press('End what is ticked…')
      await hands.press('End it')
      await page.getByRole('button', { name: 'Copy report' }).waitFor()
    })
    expect(took).toBe('3 clicks, 1 entries')
    expect(await isActive(service, await addClient(service), token)).toBe(false)
  })
})

describe(`an operator on the first day, in ${CHROMIUM}`, () => {
  test('a server whose metadata cannot be read is registered by hand', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service)
    const took = await doTask(page, 'register a server', async (hands) => {
      await hands.follow('Servers')
      await hands.press('Create resource')
      await hands.enter(/^URI/, 'https://first.example.com/mcp')
      await hands.enter(/^Slug/, 'first')
      await hands.press('Create')
      await page.getByRole('heading', { name: 'first' }).waitFor()
    })
    expect(took).toBe('3 clicks, 2 entries')
  })

  test('a person gets an account', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service)
    const took = await doTask(page, 'new person', async (hands) => {
      await hands.follow('People')
      await hands.press('Create user')
      await hands.enter(/^Email/, 'first@example.com')
      await hands.enter(/^Password/, PASSWORD)
      await hands.press('Create')
      await page.getByRole('heading', { name: 'first@example.com' }).waitFor()
    })
    expect(took).toBe('3 clicks, 2 entries')
  })

  test('a machine gets a client and its first token', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service)
    const took = await doTask(page, 'machine and first token', async (hands) => {
      await hands.follow('Clients')
      await hands.press('New client')
      await hands.click(page.getByRole('radio', { name: /^Machine/ }))
      await hands.enter('Client name', 'First robot')
      await hands.press('Create')
      await hands.press('Get a token with it')
      await hands.press('Mint a token')
      await page.getByText('granted', { exact: true }).waitFor()
    })
    expect(took).toBe('6 clicks, 1 entries')
  })
})

describe(`a person who uses applications, in ${CHROMIUM}`, () => {
  const signIn = async (hands: Hands, email: string) => {
    await hands.enter('Email', email)
    await hands.enter('Password', PASSWORD)
    await hands.press('Sign in')
  }

  test('signs in to an application and allows it', async ({ open }) => {
    const [user, resource] = [await addUser(service), await addResource(service)]
    const client = await addClient(service, { client_name: 'Notes', redirect_uris: ['http://127.0.0.1:9/done'] })
    const { page } = await open()
    await page.goto(
      authorizeUrl(service, {
        client_id: client.client_id,
        redirect_uri: client.redirect_uris[0],
        resource: resource.uri,
      }),
    )
    const took = await doTask(page, 'first sign-in', async (hands) => {
      await signIn(hands, user.email)
      const left = page.waitForRequest((request) => request.url().startsWith('http://127.0.0.1:9/done?code='))
      await hands.press('Allow')
      await left
    })
    expect(took).toBe('2 clicks, 2 entries')
  })

  test('ends the access of an application', async ({ open }) => {
    const user = await addUser(service)
    const { access_token } = await allow(service, user, await browserOf(service, user.email), 'Old reader')
    const { page } = await open()
    await page.goto(`${service.issuer}/account`)
    const took = await doTask(page, 'end access', async (hands) => {
      await signIn(hands, user.email)
      await hands.press(/^Remove access of Old reader/)
      await page.getByText('The access was removed.').waitFor()
    })
    expect(took).toBe('2 clicks, 2 entries')
    expect(await isActive(service, await addClient(service), access_token)).toBe(false)
  })

  test('is asked by an agent on a phone, and denies it', async ({ open }) => {
    const [agent, user, resource] = [await addAgent(service), await addUser(service), await addResource(service)]
    await askPerson(service, agent, { login_hint: user.email, resource: resource.uri, binding_message: 'INV-7' })
    const { page } = await open({ viewport: { width: 390, height: 844 } })
    await page.goto(`${service.issuer}/account/requests`)
    const took = await doTask(page, 'deny a request', async (hands) => {
      await signIn(hands, user.email)
      await hands.press('Deny')
      await page.getByText('INV-7').waitFor({ state: 'detached' })
    })
    expect(took).toBe('2 clicks, 2 entries')
  })
})

describe(`a developer of an MCP server, in ${CHROMIUM}`, () => {
  test('a person gets no token for the server: why?', async ({ reopen }) => {
    const [client, user] = [await addClient(service, { client_name: 'Notes app' }), await addUser(service)]
    const resource = await addResource(service, { access: { mode: 'restricted', groups: ['staff'] } })
    const { page } = await openAdmin(reopen, service)
    const took = await doTask(page, 'why no token', async (hands) => {
      await hands.enter(SEARCH, user.email, true)
      await hands.follow('Explain access')
      await hands.enter(/^Client ID/, client.client_id)
      await hands.enter(/^Resource/, resource.uri)
      await hands.press('Explain')
      await page.getByText('Is the user one of those who may use the resource?').waitFor()
    })
    expect(took).toBe('2 clicks, 3 entries')
  })

  test('what is in a token that the server got?', async ({ reopen }) => {
    const client = await addClient(service)
    const token = String((await machineToken(service, client)).body['access_token'])
    const { page } = await openAdmin(reopen, service)
    const took = await doTask(page, 'decode a token', async (hands) => {
      await hands.enter(SEARCH, token, true)
      await page.getByText(`"client_id": "${client.client_id}"`).waitFor()
    })
    expect(took).toBe('0 clicks, 1 entries')
  })

  test('an application comes back from another port, which is not registered: add its redirect URI', async ({
    reopen,
  }) => {
    const client = await addClient(service, { client_name: 'Moved app' })
    const sent = { redirect_uri: 'https://moved.example.com/cb' }
    await fetch(authorizeUrl(service, { client_id: client.client_id, ...sent }), { redirect: 'manual' })
    await storedFailures(client.client_id)
    const { page } = await openAdmin(reopen, service)
    const took = await doTask(page, 'add a redirect URI', async (hands) => {
      await hands.enter(SEARCH, 'Moved app', true)
      await hands.follow('Moved app')
      await hands.press('Add this URI')
      await hands.press('Add')
      await said(page, 'The redirect URI is registered.')
    })
    expect(took).toBe('3 clicks, 1 entries')
    expect((await service.app.store.findClient(client))?.redirect_uris).toContain(sent.redirect_uri)
  })
})
