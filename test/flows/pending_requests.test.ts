// A request that waits at the consent page outlives its session, its expiry and its first answer, and belongs to one browser and one person.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { Browser, type Page } from '../support/browser.ts'
import { addDeviceClient, askForCode, codesOf, DEVICES } from '../support/device.ts'
import { signedIn } from '../support/documents.ts'
import { FederatedBrowser } from '../support/federated_browser.ts'
import { authorizeUrl, decide, redeem, signIn } from '../support/flow.ts'
import { federating } from '../support/openid_fake.ts'
import { RealProvider } from '../support/openid_provider.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

let op: RealProvider
let service: TestService
beforeAll(async () => {
  op = await RealProvider.listen()
  service = await startService(federating(op.issuer, { ...DEVICES, SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0' }))
  op.open(service, 'ES256')
})
afterAll(async () => {
  op.close()
  await service.close()
})

const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

/** A client and a resource, and the URL that asks for consent. */
async function asking(fields: Record<string, string> = {}) {
  const [client, resource] = [
    await addClient(service, { token_endpoint_auth_method: 'none' }),
    await addResource(service),
  ]
  const asked = { client_id: client.client_id, resource: resource.uri, code_challenge: CHALLENGE, ...fields }
  return { client, resource, url: authorizeUrl(service, asked) }
}
const isConsent = ({ text }: Page) => text.includes('value="allow"')
const linksOf = ({ text }: Page) =>
  [...text.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'))

/** A person at the consent page. */
async function atConsent() {
  const scene = await asking()
  const user = await addUser(service)
  const browser = await signedIn(service, user)
  const page = await browser.follow(scene.url)
  expect(isConsent(page), page.text).toBe(true)
  return { ...scene, user, browser, page }
}

describe('the same answer a second time', () => {
  test('gives the same code until it is used, and then a page with a link to the client', async () => {
    const { client, browser, page } = await atConsent()
    const both = await Promise.all([1, 2].map(() => decide(service, browser, page, 'allow')))
    const third = await decide(service, browser, page, 'allow')
    const [location = '', ...others] = [...both, third].map((each) => each.location)
    expect(location).toContain(`${REDIRECT_URI}?code=ac_`)
    expect(others).toEqual([location, location])
    const code = new URL(location).searchParams.get('code') ?? ''
    expect((await redeem(service, client, { code, verifier: VERIFIER })).status).toBe(200)
    const after = await decide(service, browser, page, 'allow')
    expect(after.status).toBe(400)
    expect(linksOf(after)[0]).toMatch(new RegExp(`^${REDIRECT_URI}\\?error=access_denied&.*&state=some-state&`))
  })

  test('is one consent, one event, and no code in clear in the database', async () => {
    const { client, user, browser, page } = await atConsent()
    for (let i = 0; i < 3; i++) await decide(service, browser, page, 'allow')
    const { location = '' } = await decide(service, browser, page, 'allow')
    const { client_id } = client
    const found = { action: 'consent_granted', client_id, since: '', limit: 9, offset: 0 }
    expect(await service.app.store.listAudit(found)).toHaveLength(1)
    expect(await service.app.store.listConsents({ user_id: user.id })).toHaveLength(1)
    const id = /session_id" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
    const stored = JSON.stringify(await service.app.store.findAuthorizationRequest({ id }))
    expect(stored).not.toContain(new URL(location).searchParams.get('code'))
  })

  test('denies twice; the other answer then begins the request again, and after a yes it ends the code', async () => {
    const { browser, page } = await atConsent()
    const [first, second] = [await decide(service, browser, page, 'deny'), await decide(service, browser, page, 'deny')]
    expect(first.location).toContain('error=access_denied')
    expect(second.location).toBe(first.location)
    const again = await browser.follow((await decide(service, browser, page, 'allow')).location ?? '')
    expect(isConsent(again)).toBe(true)
    expect((await decide(service, browser, again, 'allow')).location).toContain('code=')
    expect((await decide(service, browser, again, 'deny')).location).toContain('error=access_denied')
  })

  test('of a device shows the decision again', async () => {
    const [client, resource, user] = [
      await addDeviceClient(service),
      await addResource(service),
      await addUser(service),
    ]
    for (const action of ['allow', 'deny'] as const) {
      const { user_code } = codesOf(await askForCode(service, client, { resource: resource.uri }))
      const browser = await signedIn(service, user)
      const form = await browser.open(`${service.issuer}/device?user_code=${user_code}`)
      const csrf_token = /csrf_token" value="([^"]+)"/.exec(form.text)?.[1] ?? ''
      const sent = await browser.post(`${service.issuer}/device`, { user_code, csrf_token })
      const page = await browser.follow(sent.location ?? '')
      const answers = [await decide(service, browser, page, action), await decide(service, browser, page, action)]
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
      expect(answers[1]?.text).toBe(answers[0]?.text)
      expect((await browser.open(sent.location ?? '')).text).toBe(answers[0]?.text)
    }
  })
})

describe('a session that ends at the consent page', () => {
  const ENDS: Record<string, (user: { id: string }, browser: Browser) => Promise<unknown>> = {
    'a sign-out in another tab': (_, browser) => browser.post(`${service.issuer}/logout`, {}),
    'its expiry': async (_, browser) => browser.cookies.delete('service_session'),
    'an operator who signs the user out': ({ id }) => okAdmin(service, 'DELETE', `/admin/users/${id}/tokens`),
    'a sign-in in another tab': async ({ id }, browser) => {
      const { email = '' } = (await service.app.store.findUser({ id })) ?? {}
      return signIn(service, browser, await browser.open(`${service.issuer}/login`), email)
    },
  }
  for (const [what, end] of Object.entries(ENDS))
    test(`${what}: Allow leads to the client, after a sign-in where one is needed`, async () => {
      const { user, browser, page } = await atConsent()
      await end(user, browser)
      let answer = await decide(service, browser, page, 'allow')
      if (answer.location?.includes('/login?')) {
        const login = await browser.open(answer.location)
        const back = await signIn(service, browser, login, user.email)
        const again = await browser.follow(back.location ?? '')
        expect(/session_id" value="([^"]+)"/.exec(again.text)?.[1]).toBe(
          /session_id" value="([^"]+)"/.exec(page.text)?.[1],
        )
        // The page that stayed open is valid again, too.
        answer = await decide(service, browser, page, 'allow')
      }
      expect(answer.location).toContain('code=')
    })

  test('another person who signs in there gets a page of their own, and the first page decides nothing', async () => {
    const { user, browser, page } = await atConsent()
    const other = await addUser(service)
    await browser.post(`${service.issuer}/logout`, {})
    const sent = await decide(service, browser, page, 'allow')
    const back = await signIn(service, browser, await browser.open(sent.location ?? ''), other.email)
    const theirs = await browser.follow(back.location ?? '')
    expect(isConsent(theirs)).toBe(true)
    expect(theirs.text).toContain(other.email)
    expect((await decide(service, browser, page, 'allow')).location).not.toContain('code=')
    for (const { id } of [user, other]) expect(await service.app.store.listConsents({ user_id: id })).toEqual([])
    expect((await decide(service, browser, theirs, 'allow')).location).toContain('code=')
    expect(await service.app.store.listConsents({ user_id: user.id })).toEqual([])
  })

  test('an ended session ends the code that was given in it, whatever session began the request', async () => {
    const { client, user, browser, page } = await atConsent()
    await ENDS['a sign-in in another tab']?.(user, browser)
    const { location = '' } = await decide(service, browser, page, 'allow')
    await okAdmin(service, 'DELETE', `/admin/users/${user.id}/tokens`)
    const code = new URL(location).searchParams.get('code') ?? ''
    expect((await redeem(service, client, { code, verifier: VERIFIER })).status).toBe(400)
  })
})

describe('a request of another browser', () => {
  test('decides nothing, and its page leads to the client with an error', async () => {
    const [attacker, victim] = [await atConsent(), await atConsent()]
    const link = `${service.issuer}/consent?session_id=${/session_id" value="([^"]+)"/.exec(attacker.page.text)?.[1]}`
    for (const page of [
      await victim.browser.open(link),
      await victim.browser.open(`${link}&account=another`),
      await decide(service, victim.browser, attacker.page, 'allow'),
      // With the key of the victim's browser and a session of another one, nothing is decided either.
      await decide(service, await signedIn(service, attacker.user), attacker.page, 'allow'),
    ]) {
      expect([page.status >= 400, page.location]).toEqual([true, undefined])
      expect(linksOf(page)[0]).toContain(`${REDIRECT_URI}?error=access_denied`)
    }
    expect(await service.app.store.listConsents({ user_id: victim.user.id })).toEqual([])
  })
})

describe('a long request', () => {
  const LIMIT = 12 * 1024
  /** A request whose query has this length, with a state as long as that of real clients, and a parameter that grows when it is encoded again. */
  async function long(length: number) {
    const { url } = await asking({ state: 'eyJh'.repeat(300), x: 'FILL' })
    const missing = length - (new URL(url).search.length - 1) + 'FILL'.length
    return url.replace('FILL', '(:/,~)'.repeat(length).slice(0, missing))
  }

  test('of every length that authorize accepts works with a password and with a provider', async () => {
    for (const length of [1700, 2500, 5000, LIMIT]) {
      const [user, browser] = [await addUser(service), new Browser()]
      const url = await long(length)
      const state = new URL(url).searchParams.get('state')
      const there = await signIn(service, browser, await browser.follow(url), user.email)
      const byPassword = await decide(service, browser, await browser.follow(there.location ?? ''), 'allow')
      expect(new URL(byPassword.location ?? '').searchParams.get('state'), String(length)).toBe(state)

      op.person = { sub: `up-${length}`, email: `up-${length}@corp.example.com`, email_verified: true }
      const federated = new FederatedBrowser(service, op)
      const login = await federated.follow(url)
      const [, href = ''] = /href="([^"]*)">Continue with/.exec(login.text) ?? []
      const consent = await federated.travel(service.issuer + href.replaceAll('&amp;', '&'))
      expect(isConsent(consent), `${length}: ${consent.status} ${consent.location} ${consent.text}`).toBe(true)
      const another = /<a href="([^"]*)">Use another account/.exec(consent.text)?.[1] ?? ''
      expect((await federated.follow(service.issuer + another.replaceAll('&amp;', '&'))).text).toContain(
        'Continue with',
      )
      const byProvider = await decide(service, federated, consent, 'allow')
      expect(new URL(byProvider.location ?? '').searchParams.get('state'), String(length)).toBe(state)
    }
  })

  test('whose sign-in page was open for too long is named as expired, and the user ends at no other page', async () => {
    const [user, browser] = [await addUser(service), new Browser()]
    const { location = '' } = await browser.open(await long(5000))
    const login = await browser.open(location)
    service.advance(3601)
    const late = await signIn(service, browser, login, user.email)
    const again = await browser.open(location)
    for (const page of [late, again]) {
      expect([page.status, page.location]).toEqual([400, undefined])
      expect(page.text).toContain('go back to the application and start again')
    }
  })

  test('beyond the limit is refused before the sign-in, and the client gets the error', async () => {
    const { location = '' } = await new Browser().open(await long(LIMIT + 1))
    expect(location).toMatch(new RegExp(`^${REDIRECT_URI}\\?error=invalid_request`))
  })
})

describe('the consent_url of an exchange', () => {
  test('opened as it is, leads over the sign-in to a consent, also for a client without redirect URIs', async () => {
    const [resource, user] = [await addResource(service), await addUser(service)]
    const agent = await addClient(service, { redirect_uris: [], grant_types: ['client_credentials'] })
    const { client_id } = agent
    const url = `${service.issuer}/oauth/authorize?${new URLSearchParams({ client_id, resource: resource.uri, scope: 'mcp:read' })}`
    const browser = new Browser()
    const back = await signIn(service, browser, await browser.follow(url), user.email)
    const page = await browser.follow(back.location ?? '')
    expect(isConsent(page)).toBe(true)
    for (let i = 0; i < 2; i++) {
      const done = await decide(service, browser, page, 'allow')
      expect([done.status, done.text.includes('Access is allowed'), linksOf(done)]).toEqual([200, true, ['/account']])
    }
    const consent = { user_id: user.id, client_id, resource_id: resource.id }
    expect(await service.app.store.findConsent(consent)).toMatchObject({ scope: 'mcp:read', redirect_hosts: {} })
  })

  test('gives no code, and its consent does not answer an authorization request', async () => {
    const { client, resource, url } = await asking()
    const browser = await signedIn(service, await addUser(service))
    const { client_id } = client
    const alone = new URLSearchParams({ client_id, resource: resource.uri, scope: 'mcp:read' })
    const page = await browser.follow(`${service.issuer}/oauth/authorize?${alone}`)
    expect((await decide(service, browser, page, 'allow')).location).toBeUndefined()
    expect(isConsent(await browser.follow(url))).toBe(true)
    const denied = await browser.follow(`${service.issuer}/oauth/authorize?${alone}`)
    expect((await decide(service, browser, denied, 'deny')).text).toContain('Access is denied')
  })
})

/** A person allowed the client before; another person has its page open in the same browser, where that person now signs in. */
async function otherPersonsPage(fields: Record<string, string> = {}) {
  const scene = await asking(fields)
  const [ann, bob] = [await addUser(service), await addUser(service)]
  const before = await signedIn(service, bob)
  expect((await decide(service, before, await before.follow(scene.url), 'allow')).location).toContain('code=')
  const browser = await signedIn(service, ann)
  const page = await browser.follow(scene.url)
  expect(page.text).toContain(ann.email)
  await signIn(service, browser, await browser.open(`${service.issuer}/login`), bob.email)
  const id = /session_id" value="([^"]+)"/.exec(page.text)?.[1]
  return { ...scene, ann, bob, browser, page, link: `${service.issuer}/consent?session_id=${id}` }
}

describe('the page of another person, whose client this person has allowed before', () => {
  test('denies with access_denied, and gives no code', async () => {
    const { ann, browser, page } = await otherPersonsPage()
    const denied = await decide(service, browser, page, 'deny')
    expect(denied.location).toMatch(new RegExp(`^${REDIRECT_URI}\\?error=access_denied&.*state=some-state`))
    expect(await service.app.store.listConsents({ user_id: ann.id })).toEqual([])
  })

  for (const prompt of [undefined, 'select_account', 'login'])
    test(`asks this person, for Allow and for a reload (prompt ${prompt})`, async () => {
      const { bob, browser, page, link } = await otherPersonsPage()
      const again = async (location = '') => {
        const shown = await browser.follow(location)
        if (!shown.text.includes('type="password"')) return shown
        return browser.follow((await signIn(service, browser, shown, bob.email)).location ?? '')
      }
      for (const location of [(await decide(service, browser, page, 'allow')).location, link]) {
        const theirs = await again(location)
        expect([isConsent(theirs), theirs.text.includes(bob.email ?? '-')], theirs.location).toEqual([true, true])
      }
      const theirs = await again(link)
      expect((await decide(service, browser, theirs, 'allow')).location).toContain('code=')
    })

  test('begins again with the whole query, also one with a question mark that is not encoded', async () => {
    const { browser, link, url } = await otherPersonsPage({ state: 'MARK' })
    expect(url).toContain('MARK')
    const raw = `${url.replace('MARK', 'a?b').replace(/scope=[^&]*&/, '')}&scope=mcp%3Aread`
    const shown = await browser.follow(`${raw}&prompt=consent`)
    expect(isConsent(shown)).toBe(true)
    const other = await addUser(service)
    await signIn(service, browser, await browser.open(`${service.issuer}/login`), other.email)
    const id = /session_id" value="([^"]+)"/.exec(shown.text)?.[1]
    const theirs = await browser.follow(link.replace(/session_id=.*/, `session_id=${id}`))
    const allowed = await decide(service, browser, theirs, 'allow')
    expect(new URL(allowed.location ?? '').searchParams.get('state')).toBe('a?b')
  })
})

describe('another answer than the first', () => {
  const scope = 'mcp:read mcp:write'
  async function atBoth() {
    const scene = await asking({ scope })
    const user = await addUser(service)
    const browser = await signedIn(service, user)
    const page = await browser.follow(scene.url)
    const redeemed = (location = '') =>
      redeem(service, scene.client, { code: new URL(location).searchParams.get('code') ?? '', verifier: VERIFIER })
    const consents = async () =>
      (await service.app.store.listConsents({ user_id: user.id })).filter(({ revoked_at }) => revoked_at === undefined)
    return { ...scene, user, browser, page, redeemed, consents }
  }

  test('with fewer scopes: the code and the consent are for the fewer ones', async () => {
    const { browser, page, redeemed, consents } = await atBoth()
    await decide(service, browser, page, 'allow')
    const { location } = await decide(service, browser, page, 'allow', ['mcp:read'])
    expect(await consents()).toMatchObject([{ scope: 'mcp:read' }])
    const { status, body } = await redeemed(location)
    expect([status, body['scope']]).toEqual([200, 'mcp:read'])
  })

  test('with more scopes: the code ends, and the person is asked again', async () => {
    const { browser, page, redeemed } = await atBoth()
    const first = await decide(service, browser, page, 'allow', ['mcp:read'])
    const more = await decide(service, browser, page, 'allow')
    expect(more.location).not.toContain('code=ac_')
    expect(isConsent(await browser.follow(more.location ?? ''))).toBe(true)
    expect((await redeemed(first.location)).status).toBe(400)
  })

  test('Deny: the code ends, and with it the consent of this request', async () => {
    const { url, browser, page, redeemed, consents } = await atBoth()
    const allowed = await decide(service, browser, page, 'allow')
    const denied = await decide(service, browser, page, 'deny')
    expect(denied.location).toContain('error=access_denied')
    expect((await redeemed(allowed.location)).status).toBe(400)
    expect(await consents()).toEqual([])
    expect(isConsent(await browser.follow(url))).toBe(true)
  })

  test('Deny, for a client that was allowed before: its earlier consent stays', async () => {
    const { url, browser, page, redeemed, consents } = await atBoth()
    expect((await redeemed((await decide(service, browser, page, 'allow')).location)).status).toBe(200)
    service.advance(2)
    const again = await browser.follow(`${url}&prompt=consent`)
    const allowed = await decide(service, browser, again, 'allow')
    expect((await decide(service, browser, again, 'deny')).location).toContain('error=access_denied')
    expect((await redeemed(allowed.location)).status).toBe(400)
    expect(await consents()).toMatchObject([{ scope }])
  })

  test('after the code was used: a page with the link to the client, and nothing changes', async () => {
    const { browser, page, redeemed, consents } = await atBoth()
    expect((await redeemed((await decide(service, browser, page, 'allow')).location)).status).toBe(200)
    for (const late of [
      await decide(service, browser, page, 'deny'),
      await decide(service, browser, page, 'allow', ['mcp:read']),
    ]) {
      expect([late.status, late.location]).toEqual([400, undefined])
      expect(linksOf(late)[0]).toContain(REDIRECT_URI)
    }
    expect(await consents()).toMatchObject([{ scope }])
  })
})

describe('the prompt and the length of a consent_url', () => {
  async function alone(more = '') {
    const [client, resource] = [await addClient(service), await addResource(service)]
    const query = new URLSearchParams({ client_id: client.client_id, resource: resource.uri, scope: 'mcp:read' })
    return `${service.issuer}/oauth/authorize?${query}${more}`
  }
  const passwordOf = ({ text }: Page) => text.includes('type="password"')

  test('Use another account leads to a sign-in, and then to the page of that account', async () => {
    const [ann, bob] = [await addUser(service), await addUser(service)]
    const browser = await signedIn(service, ann)
    const page = await browser.follow(await alone())
    const another = linksOf(page).find((href) => href.includes('account=another')) ?? ''
    const login = await browser.follow(service.issuer + another)
    expect(passwordOf(login)).toBe(true)
    const theirs = await browser.follow((await signIn(service, browser, login, bob.email)).location ?? '')
    expect([isConsent(theirs), theirs.text.includes(bob.email ?? '-')]).toEqual([true, true])
  })

  test('prompt=login requires a new sign-in once', async () => {
    const user = await addUser(service)
    const browser = await signedIn(service, user)
    const login = await browser.follow(await alone('&prompt=login'))
    expect(passwordOf(login)).toBe(true)
    expect(isConsent(await browser.follow((await signIn(service, browser, login, user.email)).location ?? ''))).toBe(
      true,
    )
  })

  test('prompt=none shows no question, and is refused', async () => {
    for (const browser of [new Browser(), await signedIn(service, await addUser(service))]) {
      const page = await browser.follow(await alone('&prompt=none'))
      expect([page.status, isConsent(page), passwordOf(page)]).toEqual([400, false, false])
    }
  })

  test('one that is longer than 12 KB is refused', async () => {
    const browser = await signedIn(service, await addUser(service))
    const page = await browser.follow(await alone(`&x=${'x'.repeat(12 * 1024)}`))
    expect([page.status, isConsent(page)]).toEqual([400, false])
  })
})
