// No page is a dead end: every page for people, and every page of a refusal, has a form or a link that leads on.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { publicRoutes } from '../../src/endpoints/routes.ts'
import { okAdmin } from '../support/admin.ts'
import { brokerScene } from '../support/broker.ts'
import { Browser, type Page } from '../support/browser.ts'
import { addDeviceClient, askForCode, codesOf, DEVICES } from '../support/device.ts'
import { signedIn } from '../support/documents.ts'
import { authorizeUrl, decide } from '../support/flow.ts'
import { type FakeProvider, leave, openFederation } from '../support/openid_fake.ts'
import { addClient, addResource, addUser, type TestService } from '../support/service.ts'

let service: TestService
let fake: FakeProvider
beforeAll(async () => {
  ;({ service, fake } = await openFederation({
    ...DEVICES,
    SERVICE_OAUTH_OPENID: 'true',
    SERVICE_CONNECT_ENABLED: 'true',
    SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0',
  }))
})
afterAll(() => service.close())

/** Where a page leads: its forms, and its links to other pages. */
const waysOf = ({ text }: Page): string[] => [
  ...[...text.matchAll(/<form\b[^>]*action="([^"]*)"/g)].map(([, action = '']) => action),
  ...[...text.matchAll(/<a\b[^>]*href="([^"#][^"]*)"/g)].map(([, href = '']) => href),
]
const expectWayOn = (page: Page, what: string) => {
  if (page.location !== undefined || page.status === 204) return
  expect(page.headers.get('content-type'), what).toContain('text/html')
  expect(waysOf(page), `${what}: ${page.status} ${page.text.replace(/<style>[\s\S]*<\/style>/, '')}`).not.toEqual([])
}

test('the pages of every route, with and without a session, with an empty request and with forms of another site', async () => {
  const routes = publicRoutes(service.app).filter(({ renderError }) => renderError)
  expect(routes.length).toBeGreaterThan(20)
  for (const browser of [new Browser(), await signedIn(service, await addUser(service))])
    for (const { method, path } of routes)
      for (const headers of [{}, { 'sec-fetch-site': 'cross-site' }] as Record<string, string>[]) {
        // A sign-out ends the session for the paths after it.
        if (path === '/logout' && browser.cookies.has('service_session') && !headers['sec-fetch-site']) continue
        const url = service.issuer + path.replace(/\{[^}]*\}/g, 'nothing')
        const page = method === 'POST' ? await browser.post(url, {}, headers) : await browser.open(url, { headers })
        expectWayOn(page, `${method} ${path} ${JSON.stringify(headers)}`)
      }
})

/** The pages that a person may meet, each as the person reaches it. */
const PAGES: Record<string, () => Promise<Page>> = {
  'an unknown client': () => new Browser().open(authorizeUrl(service, { client_id: 'nobody' })),
  'an error before the sign-in of a client that registered itself': async () => {
    const client = await addClient(service, {}, { registration_source: 'dcr' })
    return new Browser().open(authorizeUrl(service, { client_id: client.client_id, code_challenge: undefined }))
  },
  'a consent page': async () => (await atConsent()).page,
  'a consent page of nobody': async () =>
    (await signedIn(service, await addUser(service))).open(`${service.issuer}/consent?session_id=x`),
  'a consent without a decision': async () => {
    const { browser, page } = await atConsent()
    return decide(service, browser, page, 'maybe' as 'allow')
  },
  'a consent to nothing': async () => {
    const { browser, page } = await atConsent()
    return decide(service, browser, page, 'allow', [])
  },
  'a consent to more': async () => {
    const { browser, page } = await atConsent()
    return decide(service, browser, page, 'allow', ['mcp:read', 'mcp:write'])
  },
  'a consent of a browser without cookies': async () =>
    decide(service, new Browser(), (await atConsent()).page, 'allow'),
  'a consent with a client that was suspended': async () => {
    const { client, browser, page } = await atConsent()
    await okAdmin(service, 'PATCH', `/admin/clients/${client.client_id}/suspend`)
    return decide(service, browser, page, 'allow')
  },
  'a user who may not use the resource': async () => {
    const resource = await addResource(service, { access: { mode: 'restricted', groups: ['staff'] } })
    const { client_id } = await addClient(service)
    const browser = await signedIn(service, await addUser(service))
    return browser.open(authorizeUrl(service, { client_id, resource: resource.uri }))
  },
  'a wrong user code': async () => {
    const browser = await signedIn(service, await addUser(service))
    const { text } = await browser.open(`${service.issuer}/device`)
    const csrf_token = /csrf_token" value="([^"]+)"/.exec(text)?.[1] ?? ''
    return browser.post(`${service.issuer}/device`, { csrf_token, user_code: 'BCDF-GHJK' })
  },
  'a device that was allowed': () => deviceDecided('allow'),
  'a device that was denied': () => deviceDecided('deny'),
  'a callback of nobody': () => new Browser().open(`${service.issuer}/oidc/callback?state=x&code=y`),
  'a callback that was used': async () => {
    const browser = new Browser()
    const { href } = await leave(service, fake, browser)
    await browser.open(href)
    return browser.open(href)
  },
  'a refusal of the provider': async () => {
    const browser = new Browser()
    const callback = await leave(service, fake, browser)
    callback.searchParams.delete('code')
    callback.searchParams.set('error', 'access_denied')
    return browser.open(callback.href)
  },
  'a provider that does not know the code': async () => {
    const browser = new Browser()
    const callback = await leave(service, fake, browser)
    fake.tokenAnswer = { status: 400, body: { error: 'invalid_grant' } }
    const page = await browser.open(callback.href)
    fake.tokenAnswer = undefined
    return page
  },
  'the account page': async () => (await signedIn(service, await addUser(service))).open(`${service.issuer}/account`),
  'a password link': async () => {
    const { id } = await addUser(service)
    return new Browser().open((await okAdmin<{ url: string }>(service, 'POST', `/admin/users/${id}/password-link`)).url)
  },
  'a password link that is not valid': () => new Browser().open(`${service.issuer}/password/pwl_x`),
  'a sign-out of an application': async () =>
    (await signedIn(service, await addUser(service))).open(`${service.issuer}/oauth/logout`),
  'a sign-out of an application without a session': () => new Browser().open(`${service.issuer}/oauth/logout`),
  'a connection to a provider': async () => {
    const { member, provider, resource } = await brokerScene(service)
    const browser = await signedIn(service, member.user)
    const query = new URLSearchParams({ resource: resource.slug, return_url: `${service.issuer}/connections` })
    const headers = { 'sec-fetch-dest': 'document' }
    return browser.open(`${service.issuer}/connect/${provider.slug}?${query}`, { headers })
  },
  'a connection that nobody started': async () => {
    const { member, provider } = await brokerScene(service)
    const browser = await signedIn(service, member.user)
    return browser.open(`${service.issuer}/connect/${provider.slug}/callback?state=x&code=y`)
  },
}

async function atConsent() {
  const client = await addClient(service)
  const browser = await signedIn(service, await addUser(service))
  return { client, browser, page: await browser.follow(authorizeUrl(service, { client_id: client.client_id })) }
}

async function deviceDecided(action: 'allow' | 'deny'): Promise<Page> {
  const [client, resource] = [await addDeviceClient(service), await addResource(service)]
  const { user_code } = codesOf(await askForCode(service, client, { resource: resource.uri }))
  const browser = await signedIn(service, await addUser(service))
  const { text } = await browser.open(`${service.issuer}/device`)
  const csrf_token = /csrf_token" value="([^"]+)"/.exec(text)?.[1] ?? ''
  const sent = await browser.post(`${service.issuer}/device`, { csrf_token, user_code })
  return decide(service, browser, await browser.follow(sent.location ?? ''), action)
}

for (const [what, reach] of Object.entries(PAGES))
  test(`there is a way on from ${what}`, async () => {
    const page = await reach()
    expect(page.location, 'it is a page').toBeUndefined()
    expectWayOn(page, what)
  })
