// Section M of the attack list: a new sign-in that an application requires, and a provider that does not make one. One test per row.
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser, fieldsOf, formsOf, type Page } from '../support/browser.ts'
import { authorizeUrl, decide, redeem } from '../support/flow.ts'
import { type FakeProvider, openFederation } from '../support/openid_fake.ts'
import { addClient, type TestService } from '../support/service.ts'

let service: TestService
let fake: FakeProvider
beforeAll(async () => {
  ;({ service, fake } = await openFederation({ SERVICE_OAUTH_OPENID: 'true' }))
})
afterAll(() => service.close())

/** An authorization request whose link to the provider the person changes. `provider` makes the claims of its sign-in. */
async function walk(
  required: Record<string, string>,
  change: (link: URLSearchParams) => void,
  provider: Record<string, unknown>,
) {
  const [app, browser] = [await addClient(service, { scope: 'openid' }), new Browser()]
  const code_challenge = '7w_YNF9DSfIdPf_pRjSq646_kPr-2-o9NAl16JGghdM'
  const url = authorizeUrl(service, { client_id: app.client_id, scope: 'openid', ...required, code_challenge })
  const { text } = await browser.open((await browser.open(url)).location ?? '')
  const href = /href="([^"]*\/oidc\/start[^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const link = new URL(href, service.issuer)
  change(link.searchParams)
  const sent = new URL((await browser.open(link.href)).location ?? '').searchParams
  fake.nonce = sent.get('nonce') ?? ''
  fake.person = { sub: `up-${service.app.clock.now()}`, ...provider }
  const callback = new URLSearchParams({ code: 'a-code', state: sent.get('state') ?? '' })
  const { location = '' } = await browser.open(`${sent.get('redirect_uri')}?${callback}`)
  const page = await browser.follow(location)
  return { app, browser, page, sent, verifier: 'v'.repeat(43) }
}

const REQUIRED: Record<string, string>[] = [
  { prompt: 'login' },
  { max_age: '60' },
  { max_age: '0' },
  { prompt: 'login consent', max_age: '3600' },
]
const CHANGES: [string, (link: URLSearchParams) => void][] = [
  ['an unchanged link', () => {}],
  ['a link without prompt', (link) => link.delete('prompt')],
  ['a link with another prompt', (link) => link.set('prompt', 'none')],
]
for (const required of REQUIRED)
  for (const [what, change] of CHANGES)
    test(`M20 ${JSON.stringify(required)} with ${what}: the provider is asked for a new sign-in, and without auth_time the answer is login_required`, async () => {
      const { page, sent } = await walk(required, change, {})
      const max_age = required['prompt'] ? '0' : required['max_age']
      expect([sent.get('prompt'), sent.get('max_age')]).toEqual(['login', max_age])
      expect(new URL(page.location ?? '').searchParams.get('error')).toBe('login_required')
    })

test('M20 a person who removes the requirement from the request itself gets a token that does not say when they signed in', async () => {
  const remove = (link: URLSearchParams) => {
    const place = new URL(link.get('redirect') ?? '', service.issuer)
    place.searchParams.delete('prompt')
    link.delete('prompt')
    link.set('redirect', place.pathname + place.search)
  }
  const { app, page, browser, verifier } = await walk({ prompt: 'login' }, remove, {})
  const answer = page.location ? page : await decide(service, browser, page, 'allow')
  const code = new URL(answer.location ?? '').searchParams.get('code') ?? ''
  const { body } = await redeem(service, app, { code, verifier })
  expect(decodeJwt(String(body['id_token']))).not.toHaveProperty('auth_time')
})

test('M20 a provider that says when the person signed in satisfies the request, and the token says the same', async () => {
  const auth_time = service.app.clock.now()
  const { app, browser, page, verifier } = await walk({ max_age: '60' }, () => {}, { auth_time })
  const answer = page.location ? page : await decide(service, browser, page, 'allow')
  const code = new URL(answer.location ?? '').searchParams.get('code') ?? ''
  const { body } = await redeem(service, app, { code, verifier })
  expect(decodeJwt(String(body['id_token']))).toMatchObject({ auth_time })
})

/** The walk to the login page of a request, and one step from a login page to the provider. */
async function asks(required: Record<string, string>) {
  const [app, browser] = [await addClient(service, { scope: 'openid' }), new Browser()]
  const url = authorizeUrl(service, { client_id: app.client_id, scope: 'openid', ...required })
  return { browser, shown: await browser.open((await browser.open(url)).location ?? '') }
}
const linkIn = ({ text }: Page, pattern: RegExp): string =>
  new URL(pattern.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '', service.issuer).href
const TO_PROVIDER = /href="([^"]*\/oidc\/start[^"]*)"/
async function leaveFrom(browser: Browser, shown: Page) {
  const answer = await browser.open(linkIn(shown, TO_PROVIDER))
  const sent = new URL(answer.location ?? '').searchParams
  return { sent, asked: ['prompt', 'max_age', 'acr_values', 'login_hint'].map((name) => sent.get(name)) }
}
/** The page after a wrong password. */
const mistype = (browser: Browser, shown: Page): Promise<Page> =>
  browser.post(`${service.issuer}/login`, [
    ...fieldsOf(shown).filter(([name]) => !['email', 'password'].includes(name)),
    ['email', 'nobody@example.com'],
    ['password', 'not the password'],
  ])
/** The page of a sign-in at the provider that failed, and the login page that its link leads to. */
async function failAtProvider(browser: Browser, shown: Page): Promise<Page> {
  const { sent } = await leaveFrom(browser, shown)
  const refused = new URLSearchParams({ error: 'access_denied', state: sent.get('state') ?? '' })
  const failed = await browser.open(`${sent.get('redirect_uri')}?${refused}`)
  return browser.open(linkIn(failed, /href="([^"]*\/login\?[^"]*)"/))
}
/** The same page in another language. */
const translate = async (browser: Browser, shown: Page): Promise<Page> => {
  const place = formsOf(shown).find(({ action }) => action === '/language')?.fields[0]?.[1] ?? ''
  return browser.follow(
    (await browser.post(`${service.issuer}/language`, { redirect: place, language: 'de' })).location ?? '',
  )
}
const DETOURS: [string, ((browser: Browser, shown: Page) => Promise<Page>)[]][] = [
  ['a wrong password', [mistype]],
  ['two wrong passwords and another language', [mistype, mistype, translate]],
  ['a failed sign-in at the provider', [failAtProvider]],
  ['a wrong password, and two failed sign-ins at the provider', [mistype, failAtProvider, failAtProvider]],
]
const HINTS = { acr_values: 'urn:mfa urn:phr', login_hint: 'ada@example.com' }
for (const [what, steps] of DETOURS) {
  const detour = async (browser: Browser, first: Page): Promise<Page> => {
    let shown = first
    for (const step of steps) shown = await step(browser, shown)
    return shown
  }
  for (const [required, expected] of [
    [{ prompt: 'login' }, ['login', '0']],
    [{ max_age: '60' }, ['login', '60']],
  ] as const)
    test(`M20 after ${what}, the provider is asked for what ${JSON.stringify(required)} requires`, async () => {
      const { browser, shown } = await asks({ ...required, ...HINTS })
      const { asked } = await leaveFrom(browser, await detour(browser, shown))
      expect(asked).toEqual([...expected, HINTS.acr_values, HINTS.login_hint])
    })

  test(`M20 after ${what}, another account still needs a sign-in at the provider, also for a page of this service`, async () => {
    const browser = new Browser()
    const shown = await browser.open(`${service.issuer}/login?redirect=/device&prompt=login`)
    const { asked } = await leaveFrom(browser, await detour(browser, shown))
    expect(asked).toEqual(['login', null, null, null])
  })
}

test('M20 a link to the provider without acr_values asks for them nevertheless', async () => {
  const { browser, shown } = await asks(HINTS)
  const link = new URL(linkIn(shown, TO_PROVIDER))
  for (const name of [...link.searchParams.keys()].filter((each) => each !== 'redirect')) link.searchParams.delete(name)
  const sent = new URL((await browser.open(link.href)).location ?? '').searchParams
  expect(sent.get('acr_values')).toBe(HINTS.acr_values)
})

test('M20 another account than that of the consent page is asked for a sign-in with the acr_values, and without the hint', async () => {
  fake.person = { sub: 'up-hinted', acr: 'urn:mfa', auth_time: service.app.clock.now() }
  const { browser, shown } = await asks({ ...HINTS, prompt: 'consent' })
  const { sent } = await leaveFrom(browser, shown)
  fake.nonce = sent.get('nonce') ?? ''
  const callback = new URLSearchParams({ code: 'a-code', state: sent.get('state') ?? '' })
  const { location = '' } = await browser.open(`${sent.get('redirect_uri')}?${callback}`)
  const another = await browser.follow(linkIn(await browser.follow(location), /<a href="([^"]*)">Use another account/))
  const again = await failAtProvider(browser, await mistype(browser, another))
  for (const page of [another, again])
    expect((await leaveFrom(browser, page)).asked).toEqual(['login', null, HINTS.acr_values, null])
})

test('M20 after a wrong password a sign-in at a provider without auth_time gives login_required, and no token', async () => {
  const { browser, shown } = await asks({ prompt: 'login' })
  const { sent } = await leaveFrom(browser, await mistype(browser, shown))
  fake.nonce = sent.get('nonce') ?? ''
  fake.person = { sub: 'up-mistyped' }
  const callback = new URLSearchParams({ code: 'a-code', state: sent.get('state') ?? '' })
  const { location = '' } = await browser.open(`${sent.get('redirect_uri')}?${callback}`)
  const answer = new URL((await browser.follow(location)).location ?? '').searchParams
  expect([answer.get('error'), answer.get('code')]).toEqual(['login_required', null])
})
