// response_mode=form_post (OAuth 2.0 Form Post Response Mode): codes, errors and ways back that are posted to the redirect URI.
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser, type Form, formsOf, type Page } from '../support/browser.ts'
import { CHROMIUM, test as inBrowser } from '../support/chromium.ts'
import { authorizeUrl, decide, redeem, signIn } from '../support/flow.ts'
import {
  addClient,
  addResource,
  addUser,
  PASSWORD,
  REDIRECT_URI,
  startService,
  type TestService,
} from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_OAUTH_OPENID: 'true' })
})
afterAll(() => service.close())

const VERIFIER = 'v'.repeat(43)
const code_challenge = createHash('sha256').update(VERIFIER).digest('base64url')
const STATE = `"><script>alert('1')</script>&amp;`
const ask = (client_id: string, fields: Record<string, string> = {}) =>
  authorizeUrl(service, { client_id, response_mode: 'form_post', state: STATE, code_challenge, ...fields })
const formTo = (page: Page, to = REDIRECT_URI): Form | undefined => formsOf(page).find(({ action }) => action === to)
const membersOf = (page: Page) => Object.fromEntries(formTo(page)?.fields ?? [])

async function asked(fields: Record<string, string> = {}) {
  const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
  const [browser, url] = [new Browser(), ask(client.client_id, { resource: resource.uri ?? '', ...fields })]
  const login = await browser.follow(url)
  const consent = await browser.follow((await signIn(service, browser, login, user.email)).location ?? '')
  return { client, user, browser, url, consent }
}

test('a code survives sign-in and consent, and comes again with a stored consent', async () => {
  const { client, browser, url, consent } = await asked()
  const page = await decide(service, browser, consent, 'allow')
  const { code = '', state, iss } = membersOf(page)
  expect([page.status, page.location, state, iss]).toEqual([200, undefined, STATE, service.issuer])
  expect(page.text).not.toContain('<script>alert')
  expect(page.headers.get('cache-control')).toContain('no-store')
  const answer = await redeem(service, client, { code, verifier: VERIFIER })
  expect(answer.status).toBe(200)
  expect(membersOf(await browser.follow(url))['code']).not.toBe(code)
})

test('errors, Deny and the buttons of pages are posted too', async () => {
  const { browser, consent, client } = await asked()
  expect(membersOf(await decide(service, browser, consent, 'deny'))).toMatchObject({
    error: 'access_denied',
    state: STATE,
  })
  const none = await new Browser().open(ask(client.client_id, { prompt: 'none' }))
  expect(membersOf(none)).toMatchObject({ error: 'login_required', iss: service.issuer })
  const again = await browser.open(
    `${service.issuer}/consent?session_id=${/session_id" value="([^"]+)"/.exec(consent.text)?.[1]}`,
  )
  expect(again.location ?? formTo(again)).toBeDefined()
})

test.each(['fragment', 'query.jwt', 'FORM_POST'])('response_mode=%s is invalid_request', async (response_mode) => {
  const { client_id } = await addClient(service)
  const { location = '' } = await new Browser().open(ask(client_id, { response_mode }))
  expect(new URL(location).searchParams.get('error')).toBe('invalid_request')
})

inBrowser.skipIf(!CHROMIUM)('the page sends itself in a browser', async ({ open }) => {
  const received = new Promise<string>((resolve) => {
    const server = createServer((request, response) => {
      let body = ''
      request.on('data', (part) => (body += part))
      request.on('end', () => {
        response.end('received')
        server.close()
        if (request.method === 'POST') resolve(body)
      })
    }).listen(0, '127.0.0.1', () => started((server.address() as AddressInfo).port))
  })
  let started: (port: number) => void = () => {}
  const port = await new Promise<number>((resolve) => {
    started = resolve
  })
  const redirect_uri = `http://127.0.0.1:${port}/callback`
  const client = await addClient(service, { redirect_uris: [redirect_uri] })
  const [user, resource] = [await addUser(service), await addResource(service)]
  const { page } = await open()
  await page.goto(ask(client.client_id, { redirect_uri, resource: resource.uri ?? '' }))
  await page.getByLabel('Email').fill(user.email)
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: 'Allow' }).click()
  expect(Object.fromEntries(new URLSearchParams(await received))).toMatchObject({ state: STATE, iss: service.issuer })
})
