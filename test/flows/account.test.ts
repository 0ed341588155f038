// The account page: what a user sees and ends there.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findSignedIn, formToken } from '../../src/endpoints/session.ts'
import { accountForm, accountPage, allow, browserOf, IPHONE, isSignedIn, press, userWith } from '../support/account.ts'
import { eventsOf } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { authorize, introspect, isActive, redeem, refresh, signIn } from '../support/flow.ts'
import { request } from '../support/head.ts'
import { openFederation, signInAt } from '../support/openid_fake.ts'
import { addClient, addResource, addUser, PASSWORD, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0' })
})
afterAll(() => service.close())

const textOf = (html: string) =>
  html
    .replace(/<(style|svg)[\s\S]*?<\/\1>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
const shown = async (browser: Browser) => textOf((await accountPage(service, browser)).text)

test('the account page has its six headings, and is the first page after a sign-in without a target', async () => {
  const user = await addUser(service)
  const browser = new Browser()
  const first = await browser.open(`${service.issuer}/account`)
  expect(first.location).toBe(`${service.issuer}/login?redirect=%2Faccount`)
  const answer = await signIn(service, browser, await browser.open(`${service.issuer}/login`), user.email)
  expect(answer.location).toBe(`${service.issuer}/account`)
  expect((await browser.open(`${service.issuer}/`)).location).toBe(`${service.issuer}/account`)
  const page = await accountPage(service, browser)
  expect([...page.text.matchAll(/<h2[^>]*>([^<]*)/g)].map(([, heading]) => heading)).toEqual([
    'Applications',
    'Sign-ins',
    'Password',
    'Second factor',
    'Connections',
    'Language',
  ])
  expect(page.text).toContain(user.email)
  expect([page.headers.get('cache-control'), page.headers.get('x-frame-options')]).toEqual(['no-store', 'DENY'])
})

test('the login page of a signed-in user and the consent page have a link to the account page', async () => {
  const { browser, user, applications } = await userWith(service, 'Notes')
  const login = await browser.open(`${service.issuer}/login`)
  expect(textOf(login.text)).toContain(`Signed in as ${user.email} · Your account`)
  expect((await new Browser().open(`${service.issuer}/login`)).text).not.toContain('/account')
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: applications[0]?.client.client_id ?? '',
    resource: applications[0]?.resource.uri ?? '',
    scope: 'mcp:read mcp:write',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    prompt: 'consent',
  })
  const consent = await browser.follow(`${service.issuer}/oauth/authorize?${query}`)
  expect(consent.text).toContain('<a href="/account">Your account</a>')
})

describe('applications', () => {
  test('each application is shown with its resource, its scopes, since when it has access, and its last use', async () => {
    const { browser, applications } = await userWith(service, 'Notes <b>')
    const { resource } = applications[0] ?? {}
    const text = await shown(browser)
    const [, row = ''] = /Notes &lt;b&gt; (.*) Remove access/.exec(text) ?? []
    const time = '\\w{3} \\d{1,2}, \\d{4}, \\d\\d:\\d\\d [AP]M UTC'
    expect(row).toMatch(
      new RegExp(
        `^Access to ${resource?.display_name} last used ${time} · since ${time} Use mcp:read ${resource?.uri}$`,
      ),
    )
    expect(await shown(await browserOf(service, (await addUser(service)).email))).toContain(
      'No application has access.',
    )
  })

  test('one press removes the access of one application at once: consent, tokens and refresh tokens', async () => {
    const { browser, user, applications } = await userWith(service, 'Notes', 'Mail')
    const [notes, mail] = applications as [(typeof applications)[0], (typeof applications)[0]]
    const answer = await press(service, browser, `Remove access of Notes`)
    expect([answer.status, answer.location]).toEqual([303, `${service.issuer}/account?done=applications#applications`])
    expect(textOf((await browser.open(answer.location ?? '')).text)).toContain('The access was removed.')
    const left = await shown(browser)
    expect([left.includes('Notes'), left.includes('Mail')]).toEqual([false, true])
    expect(await introspect(service, notes.client, notes.access_token)).toEqual({ active: false })
    expect((await refresh(service, notes.client, notes.refresh_token)).body['error']).toBe('invalid_grant')
    expect((await refresh(service, mail.client, mail.refresh_token)).status).toBe(200)
    const [event] = await eventsOf(service, 'consent_revoked')
    expect(event).toMatchObject({
      actor_id: user.id,
      client_id: notes.client.client_id,
      detail: { user_id: user.id, resource_id: notes.resource.id, families: 1 },
    })
  })

  test('the access of a client without a resource is shown and removed too', async () => {
    const { browser, user } = await userWith(service)
    const client = await addClient(service, { client_name: 'Chat' })
    await addResource(service)
    const { body } = await redeem(service, client, await authorize(service, client, user, {}, browser))
    expect(await isActive(service, client, String(body['access_token']))).toBe(true)
    expect(await shown(browser)).toContain('Chat Access to your account')
    await press(service, browser, 'Remove access of Chat')
    expect(await shown(browser)).not.toContain('Chat')
    expect(await isActive(service, client, String(body['access_token']))).toBe(false)
    expect((await refresh(service, client, body['refresh_token'])).body['error']).toBe('invalid_grant')
  })

  test('an application that only signs the user in with OpenID is shown and removed too', async () => {
    const at = await startService({ SERVICE_OAUTH_OPENID: 'true' })
    const { browser, user } = await userWith(at)
    const client = await addClient(at, { client_name: 'Chat', scope: 'openid email' })
    await addResource(at)
    const authorized = await authorize(at, client, user, { scope: 'openid email', resource: undefined }, browser)
    const { body } = await redeem(at, client, authorized)
    expect(textOf((await accountPage(at, browser)).text)).toContain('Chat Access to your account')
    await press(at, browser, 'Remove access of Chat')
    expect(textOf((await accountPage(at, browser)).text)).not.toContain('Chat')
    const headers = { authorization: `Bearer ${body['access_token']}` }
    expect((await fetch(`${at.issuer}/oauth/userinfo`, { headers })).status).toBe(401)
    expect((await refresh(at, client, body['refresh_token'])).body['error']).toBe('invalid_grant')
    await at.close()
  })

  test('removing an access twice, from two tabs, ends it once', async () => {
    const { browser, user } = await userWith(service, 'Notes')
    const { action, fields } = await accountForm(service, browser, 'Remove access')
    for (let i = 0; i < 2; i++) expect((await browser.post(service.issuer + action, fields)).status).toBe(303)
    const events = (await eventsOf(service, 'consent_revoked')).filter(({ actor_id }) => actor_id === user.id)
    expect(events).toHaveLength(1)
  })
})

describe('sign-ins', () => {
  const thrice = async () => {
    const user = await addUser(service)
    const here = await browserOf(service, user.email)
    const phone = await browserOf(service, user.email, IPHONE)
    const there = await browserOf(service, user.email)
    const live = () => Promise.all([here, phone, there].map((browser) => isSignedIn(service, browser)))
    return { user, here, phone, there, live }
  }

  test('each sign-in is shown with device, address and times, and this browser is first', async () => {
    const { here, phone } = await thrice()
    const text = await shown(here)
    expect(text).toMatch(
      /Firefox on Linux \(this browser\) last used .*:\d\d .* since .*:\d\d .* (127\.0\.0\.1|::1) Sign out Firefox on Linux .* Sign out Safari on iPhone/,
    )
    expect(await shown(phone)).toContain('Safari on iPhone (this browser)')
  })

  test('one press ends one sign-in, and only that one', async () => {
    const { here, user, live } = await thrice()
    await press(service, here, 'Sign out: Safari on iPhone')
    expect(await live()).toEqual([true, false, true])
    const events = (await eventsOf(service, 'user_sessions_ended')).filter(({ actor_id }) => actor_id === user.id)
    expect(events).toMatchObject([{ detail: { user_id: user.id, sessions: 1 } }])
  })

  test('one press ends all others, and then the button is gone', async () => {
    const { here, live } = await thrice()
    await press(service, here, 'End all others')
    expect(await live()).toEqual([true, false, false])
    expect(await shown(here)).not.toContain('End all others')
  })

  test('ending the sign-in of this browser signs it out', async () => {
    const { here, live } = await thrice()
    const answer = await press(service, here, 'Sign out: Firefox')
    expect(answer.location).toBe(`${service.issuer}/login`)
    expect(here.cookies.has('service_session')).toBe(false)
    expect(await live()).toEqual([false, true, true])
  })

  test('ending a sign-in ends the codes that were issued in it', async () => {
    const { here, phone, user } = await thrice()
    const { client, resource } = await allow(service, user, phone, 'Notes')
    const authorized = await authorize(service, client, user, { resource: resource.uri }, phone)
    await press(service, here, 'Sign out: Safari on iPhone')
    expect((await redeem(service, client, authorized)).body['error']).toBe('invalid_grant')
  })
})

describe('the password', () => {
  const NEXT = 'an entirely new passphrase'
  const change = (at: TestService, browser: Browser, current: string, next = NEXT, again = next) =>
    press(at, browser, 'current_password', { current_password: current, new_password: next, new_password_again: again })
  const works = async (at: TestService, email: string, password: string) => {
    const browser = new Browser()
    const page = await browser.open(`${at.issuer}/login`)
    return (await signIn(at, browser, page, email, password)).status === 303
  }

  test('the current password and a new one change it, and end the other sign-ins alone', async () => {
    const { browser, user, applications } = await userWith(service, 'Notes')
    const other = await browserOf(service, user.email)
    const answer = await change(service, browser, PASSWORD)
    expect(answer.location).toBe(`${service.issuer}/account?done=password#password`)
    expect([await isSignedIn(service, browser), await isSignedIn(service, other)]).toEqual([true, false])
    expect([await works(service, user.email, PASSWORD), await works(service, user.email, NEXT)]).toEqual([false, true])
    const [notes] = applications
    expect((await refresh(service, notes?.client ?? { client_id: '' }, notes?.refresh_token)).status).toBe(200)
    const [event] = (await eventsOf(service, 'user_password_changed')).filter(({ actor_id }) => actor_id === user.id)
    expect(event?.detail).toEqual({ user_id: user.id, sessions: 1 })
  })

  for (const [what, given, text] of [
    ['a wrong current password', ['wrong', NEXT, NEXT], 'The current password is wrong.'],
    ['no current password', ['', NEXT, NEXT], 'The current password is wrong.'],
    ['a short new password', [PASSWORD, 'seven77', 'seven77'], 'The new password must have at least 8 characters.'],
    [
      'a new password that is too long',
      [PASSWORD, 'x'.repeat(2000), 'x'.repeat(2000)],
      'The new password is too long.',
    ],
    ['two different new passwords', [PASSWORD, NEXT, `${NEXT}s`], 'The two new passwords are not the same.'],
  ] as const)
    test(`${what} changes nothing, and the page says why`, async () => {
      const { browser, user } = await userWith(service)
      const other = await browserOf(service, user.email)
      const answer = await change(service, browser, given[0], given[1], given[2])
      expect([answer.status, /role="alert"[^>]*>([^<]+)/.exec(answer.text)?.[1]]).toEqual([422, text])
      expect(answer.text).not.toContain(NEXT)
      expect(await isSignedIn(service, other)).toBe(true)
      expect(await works(service, user.email, PASSWORD)).toBe(true)
    })

  test('guessing the current password is limited as guessing at the login is', async () => {
    const limited = await startService({ SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '3' })
    try {
      const user = await addUser(limited)
      const browser = await browserOf(limited, user.email)
      for (let i = 0; i < 3; i++) expect((await change(limited, browser, `guess ${i}`)).status).toBe(422)
      const refused = await change(limited, browser, PASSWORD)
      expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true])
      expect(await works(limited, user.email, NEXT)).toBe(false)
      expect(await eventsOf(limited, 'user_password_change_failed')).toHaveLength(3)
      expect(await eventsOf(limited, 'auth_locked_out')).toHaveLength(1)
    } finally {
      await limited.close()
    }
  })

  test('a user of an upstream provider is sent there for the password, and cannot set one here', async () => {
    const { service: federated, fake } = await openFederation()
    try {
      const browser = new Browser()
      await signInAt(federated, fake, browser)
      const page = await accountPage(federated, browser)
      expect(page.text).not.toContain('current_password')
      expect(textOf(page.text)).toContain(`You sign in at ${new URL(fake.idp.issuer).host} .`)
      const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const signedIn = await findSignedIn(federated.app, request('', { headers: { cookie } }))
      if (!signedIn) throw new Error('not signed in')
      const csrf_token = formToken(federated.app, signedIn, 'account password')
      const fields = { csrf_token, current_password: '', new_password: NEXT, new_password_again: NEXT }
      await browser.post(`${federated.issuer}/account/password`, fields)
      expect((await federated.app.store.findUser({ id: signedIn.user.id }))?.password_hash).toBeUndefined()
    } finally {
      await federated.close()
    }
  })
})

test('a user of an upstream provider without email and name is shown with the subject at the provider', async () => {
  const { service: federated, fake } = await openFederation()
  try {
    fake.person = { sub: 'subject-4711' }
    const browser = new Browser()
    await signInAt(federated, fake, browser)
    expect(await textOf((await accountPage(federated, browser)).text)).toContain('Signed in as subject-4711')
  } finally {
    await federated.close()
  }
})

describe('the language', () => {
  test('the choice takes precedence over Accept-Language in this browser, on every page', async () => {
    const { browser } = await userWith(service)
    const german = { headers: { 'accept-language': 'de' } }
    const page = await browser.open(`${service.issuer}/account`, german)
    expect([/<html lang="(..)"/.exec(page.text)?.[1], textOf(page.text).includes('Anwendungen')]).toEqual(['de', true])
    await press(service, browser, 'name="language"', { language: 'es' })
    for (const path of ['/account', '/login'])
      expect((await browser.open(service.issuer + path, german)).text).toContain('<html lang="es"')
    await press(service, browser, 'name="language"', { language: 'xx' })
    expect((await browser.open(`${service.issuer}/account`, german)).text).toContain('<html lang="es"')
  })
})

test('a form of a section that does not exist is 404', async () => {
  const { browser } = await userWith(service)
  const { fields } = await accountForm(service, browser, 'name="language"')
  expect((await browser.post(`${service.issuer}/account/nothing`, fields)).status).toBe(404)
})
