// Second factors of local users: apps, recovery codes, which sign-ins need one, and what tokens say about it.
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accountPage, isSignedIn } from '../support/account.ts'
import { eventsOf, okAdmin } from '../support/admin.ts'
import type { Browser } from '../support/browser.ts'
import {
  addApp,
  codeAt,
  codesOn,
  factorPage,
  formThat,
  nextCode,
  personAt,
  pressFactor,
  secretOn,
  signInWith,
  tryWith,
  withApp,
} from '../support/factors.ts'
import { authorize, authorizeUrl, decide, introspect, isActive, redeem, refresh } from '../support/flow.ts'
import {
  addClient,
  addResource,
  addUser,
  PASSWORD,
  SEALED,
  startService,
  type TestService,
} from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ ...SEALED, SERVICE_OAUTH_OPENID: 'true', SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0' })
})
afterAll(() => service.close())

const OPENID = { scope: 'openid mcp:read' }
const asApp = () => addClient(service, { scope: OPENID.scope })
const how = ({ amr, acr }: { amr?: unknown; acr?: unknown }) => ({ amr, acr })
const WITH_CODE = { amr: ['pwd', 'otp', 'mfa'], acr: 'mfa' }
const strict = () =>
  addResource(service, { access: { mode: 'everyone', groups: [], users: [], email_domains: [], second_factor: true } })
const factorsOf = async (id: string) =>
  okAdmin<{ factors: { kind: string }[]; recovery_codes_left: number }>(service, 'GET', `/admin/users/${id}`)

describe('an authenticator app', () => {
  test('is in force after its first right code, and is needed for each sign-in from then on', async () => {
    const { id, email, browser } = await personAt(service)
    const asked = await pressFactor(service, browser, 'add_app')
    expect(asked.text).toMatch(/<svg class="qr"[^>]* aria-label="QR code"/)
    const wrong = await pressFactor(service, browser, 'confirm_app', asked, { code: '000000' })
    expect([wrong.status, secretOn(wrong)]).toEqual([422, secretOn(asked)])
    expect((await factorsOf(id)).factors).toEqual([])
    const code = codeAt(secretOn(asked), service.app.clock.now())
    const shown = await pressFactor(service, browser, 'confirm_app', wrong, { code })
    expect(new Set(codesOn(shown)).size).toBe(10)
    expect(await factorsOf(id)).toMatchObject({ factors: [{ kind: 'totp' }], recovery_codes_left: 10 })
    expect([await signInWith(service, email), await signInWith(service, email, code)]).toEqual([undefined, undefined])
    expect(await signInWith(service, email, nextCode(service, { secret: secretOn(asked), codes: [] }))).toBeDefined()
  })

  test('is added once by a form that is sent twice, and both answers have the same recovery codes', async () => {
    const { id, browser } = await personAt(service)
    const asked = await pressFactor(service, browser, 'add_app')
    const code = codeAt(secretOn(asked), service.app.clock.now())
    const pages = [1, 2].map(() => pressFactor(service, browser, 'confirm_app', asked, { code }))
    const [one, two] = await Promise.all(pages)
    expect([one, two].map((page) => page && codesOn(page))).toEqual([two, one].map((page) => page && codesOn(page)))
    expect(one && codesOn(one)).toHaveLength(10)
    expect(await factorsOf(id)).toMatchObject({ factors: [{}], recovery_codes_left: 10 })
  })

  test('the secret is encrypted in the database, and moves with service rekey as other secrets do', async () => {
    const { id, app } = await withApp(service)
    const [factor] = await service.app.store.listFactors({ user_id: id })
    expect(factor?.secret_clear).toBeUndefined()
    expect(JSON.stringify(factor)).not.toContain(app.secret)
  })
})

test('the answer to a right password is that to a wrong one until the code is right, and the password is typed once', async () => {
  const { email, app } = await withApp(service)
  const plain = await addUser(service)
  const shape = async (of: string, password: string, code?: string) => {
    const { page } = await tryWith(service, of, code, password)
    const text = page.text.replaceAll(of, '*').replace(/(value|data-passkey)="[^"]{20,}"/g, '')
    return [page.status, text]
  }
  const expected = await shape(email, PASSWORD)
  for (const [who, password] of [
    [email, 'wrong password'],
    ['none@example.com', PASSWORD],
    [plain.email, 'wrong password'],
  ] as const)
    expect(await shape(who, password)).toEqual(expected)
  expect(await shape(email, 'wrong password', nextCode(service, app))).toEqual(await shape(email, PASSWORD, '000000'))
  // tryWith() sends the code without the password.
  expect(await signInWith(service, email, nextCode(service, app))).toBeDefined()
})

test('a remembered password ends with the password, with its time, and is not that of another account', async () => {
  const [{ id, email, app }, other] = [await withApp(service), await withApp(service)]
  const send = async (of: string, values: Record<string, string>, wait = 0) => {
    const { browser, page } = await tryWith(service, email)
    const checked = /name="checked" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
    const csrf_token = /name="csrf_token" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
    if (wait === 0 && of !== email) expect(checked.length).toBeGreaterThan(100)
    service.advance(wait)
    return (await browser.post(`${service.issuer}/login`, { csrf_token, email: of, password: '', checked, ...values }))
      .status
  }
  expect(await send(email, { code: nextCode(service, app) })).toBe(303)
  expect(await send(other.email, { code: nextCode(service, other.app) })).toBe(422)
  expect(await send(email, { code: codeAt(app.secret, service.app.clock.now() + 301) }, 301)).toBe(422)
  const { browser, page } = await tryWith(service, email)
  const fields = Object.fromEntries(
    [...page.text.matchAll(/name="(checked|csrf_token)" value="([^"]+)"/g)].map(([, n, v]) => [n, v]),
  ) as Record<string, string>
  await okAdmin(service, 'PATCH', `/admin/users/${id}`, { password: 'a new long password' })
  expect(
    (await browser.post(`${service.issuer}/login`, { ...fields, email, password: '', code: nextCode(service, app) }))
      .status,
  ).toBe(422)
})

describe('recovery codes', () => {
  test('sign in once each, in any case and spacing, and are replaced and removed with the factors', async () => {
    const { id, email, browser, app } = await withApp(service)
    const [first = '', second = '', third = ''] = app.codes
    expect(await signInWith(service, email, first)).toBeDefined()
    expect(await signInWith(service, email, first)).toBeUndefined()
    expect(await signInWith(service, email, second.toUpperCase().replaceAll('-', ' '))).toBeDefined()
    expect((await accountPage(service, browser)).text).toContain('8 recovery codes left')
    await pressFactor(service, browser, 'recovery_codes')
    expect(await signInWith(service, email, third)).toBeUndefined()
    await pressFactor(service, browser, 'remove')
    expect(await factorsOf(id)).toMatchObject({ factors: [], recovery_codes_left: 0 })
    expect(await signInWith(service, email)).toBeDefined()
  })

  test('one code that is sent four times at once signs in once', async () => {
    const { email, app } = await withApp(service)
    const code = app.codes[0] as string
    const all = await Promise.all(Array.from({ length: 4 }, () => signInWith(service, email, code)))
    expect(all.filter(Boolean)).toHaveLength(1)
  })
})

test('after five wrong codes the tries of an account wait for each other, and only theirs', async () => {
  const { email, app } = await withApp(service)
  for (let i = 0; i < 5; i++) await signInWith(service, email, '000000')
  const began = performance.now()
  expect(await signInWith(service, email, nextCode(service, app))).toBeDefined()
  expect(performance.now() - began).toBeGreaterThan(500)
  const failures = await okAdmin<{ user_id?: string }[]>(service, 'GET', '/admin/lockouts')
  expect(failures.length).toBeGreaterThan(0)
})

describe('who may change factors', () => {
  test('no old sign-in, and none with the password alone when there is a factor', async () => {
    const { id, email, browser } = await personAt(service)
    const thief = (await signInWith(service, email)) as Browser
    const asked = await pressFactor(service, thief, 'add_app')
    await addApp(service, browser)
    const code = codeAt(secretOn(asked), service.app.clock.now())
    const late = await pressFactor(service, thief, 'confirm_app', asked, { code })
    expect(late.location).toContain('/login?')
    for (const action of ['remove', 'recovery_codes', 'add_app'])
      expect((await pressFactor(service, thief, action)).location).toContain('/login?')
    expect((await factorsOf(id)).factors).toHaveLength(1)
    service.advance(601)
    expect((await pressFactor(service, browser, 'remove')).location).toContain('/login?')
    expect((await factorsOf(id)).factors).toHaveLength(1)
  })

  test('no form of another person, and none without its token', async () => {
    const [ada, eve] = [await withApp(service), await withApp(service)]
    const form = formThat(await accountPage(service, ada.browser), 'remove')
    const fields = Object.fromEntries(form.fields)
    for (const sent of [fields, { ...fields, csrf_token: '' }])
      expect((await eve.browser.post(`${service.issuer}${form.action}`, sent)).status).toBe(403)
    const own = formThat(await accountPage(service, eve.browser), 'remove')
    await eve.browser.post(`${service.issuer}${form.action}`, {
      ...fields,
      csrf_token: Object.fromEntries(own.fields)['csrf_token'] as string,
    })
    expect((await factorsOf(ada.id)).factors).toHaveLength(1)
    const cross = { 'sec-fetch-site': 'cross-site' }
    expect((await ada.browser.post(`${service.issuer}${form.action}`, fields, cross)).status).toBe(403)
  })
})

describe('tokens', () => {
  test('ID token, introspection and refreshed tokens say how the user has signed in', async () => {
    const client = await asApp()
    const person = await withApp(service)
    const browser = (await signInWith(service, person.email, nextCode(service, person.app))) as Browser
    const answer = await redeem(service, client, await authorize(service, client, person, OPENID, browser))
    const { id_token, access_token, refresh_token } = answer.body
    expect([id_token, access_token].map((each) => how(decodeJwt(String(each))))).toEqual([WITH_CODE, WITH_CODE])
    expect(how(await introspect(service, client, access_token))).toEqual(WITH_CODE)
    const next = await refresh(service, client, refresh_token)
    expect(how(decodeJwt(String(next.body['id_token'])))).toEqual(WITH_CODE)
  })

  test('acr_values leads a user without a factor to the page that adds one, and on with the request', async () => {
    const client = await asApp()
    const user = await addUser(service)
    const browser = (await signInWith(service, user.email)) as Browser
    const url = authorizeUrl(service, { client_id: client.client_id, ...OPENID, acr_values: 'mfa' })
    const page = await browser.follow(url)
    expect(page.text).toContain('<h1>Second factor</h1>')
    expect(page.text).not.toContain(client.client_name)
    const { page: added } = await addApp(service, browser, page)
    const on = /<a class="button main wide" href="([^"]+)"/.exec(added.text)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const consent = await browser.follow(service.issuer + on)
    expect((await decide(service, browser, consent, 'allow')).location).toMatch(/[?&]code=/)
  })

  test('acr_values=phr is not satisfied by a code', async () => {
    const client = await asApp()
    const { browser } = await withApp(service)
    const page = await browser.follow(
      authorizeUrl(service, { client_id: client.client_id, ...OPENID, acr_values: 'phr' }),
    )
    expect(page.text).toContain('Add a passkey')
    const none = await browser.open(
      authorizeUrl(service, { client_id: client.client_id, ...OPENID, acr_values: 'phr', prompt: 'none' }),
    )
    expect(none.location).toContain('error=unmet_authentication_requirements')
  })

  test('a resource with second_factor refuses what was granted without one, at introspection and refresh', async () => {
    const [client, resource] = [await asApp(), await addResource(service)]
    const [plain, person] = [await addUser(service), await withApp(service)]
    const grant = async (user: { email: string }, browser?: Browser) =>
      (
        await redeem(
          service,
          client,
          await authorize(service, client, user, { ...OPENID, resource: resource.uri }, browser),
        )
      ).body
    const [without, given] = [await grant(plain), await grant(person, person.browser)]
    const access = { mode: 'everyone', second_factor: true }
    await okAdmin(service, 'PATCH', `/admin/resources/${resource.slug}`, { access })
    const active = ({ access_token }: typeof given) => isActive(service, client, access_token)
    expect([await active(without), await active(given)]).toEqual([false, true])
    expect((await refresh(service, client, without['refresh_token'])).body['error']).toBe('invalid_grant')
    expect((await refresh(service, client, given['refresh_token'])).status).toBe(200)
  })

  test('without oauth.openid too, a resource with second_factor asks for the factor', async () => {
    const other = await startService()
    try {
      const [client, resource] = [await addClient(other), await addResource(other)]
      await okAdmin(other, 'PATCH', `/admin/resources/${resource.slug}`, {
        access: { mode: 'everyone', second_factor: true },
      })
      const person = await withApp(other)
      const answer = await redeem(
        other,
        client,
        await authorize(other, client, person, { resource: resource.uri }, person.browser),
      )
      expect(how(decodeJwt(String(answer.body['access_token'])))).toEqual(WITH_CODE)
      expect((await refresh(other, client, answer.body['refresh_token'])).status).toBe(200)
    } finally {
      await other.close()
    }
  })

  test('a first sign-in for a resource with second_factor adds a factor', async () => {
    const [client, resource, user] = [await asApp(), await strict(), await addUser(service)]
    const browser = (await signInWith(service, user.email)) as Browser
    const page = await browser.follow(
      authorizeUrl(service, { client_id: client.client_id, ...OPENID, resource: resource.uri }),
    )
    expect(page.text).toContain('<h1>Second factor</h1>')
  })
})

describe('mfa.required', () => {
  let required: TestService
  beforeAll(async () => {
    required = await startService({ SERVICE_MFA_REQUIRED: 'admins' })
  })
  afterAll(() => required.close())

  test('lets an admin do nothing before a factor is added, and asks others for none', async () => {
    const [root, user] = [await addUser(required, { role: 'admin' }), await addUser(required)]
    expect(await isSignedIn(required, (await signInWith(required, user.email)) as Browser)).toBe(true)
    const browser = (await signInWith(required, root.email)) as Browser
    expect(await isSignedIn(required, browser)).toBe(false)
    const page = await browser.follow(`${required.issuer}/account`)
    expect(page.text).toContain('<h1>Second factor</h1>')
    const added = await addApp(required, browser, page)
    expect(added.codes).toHaveLength(10)
    expect(await isSignedIn(required, browser)).toBe(true)
  })

  test('a session with the password alone leads to the sign-in when the user has a factor, not to another factor', async () => {
    const root = await addUser(required, { role: 'admin' })
    const [one, two] = [
      (await signInWith(required, root.email)) as Browser,
      (await signInWith(required, root.email)) as Browser,
    ]
    await addApp(required, one, await factorPage(required, one))
    for (const place of ['/account', '/second-factor?redirect=%2Faccount'])
      expect((await two.open(required.issuer + place)).location).toContain('/login?')
  })
})

describe('operators', () => {
  test('reset the factors of a user, which ends the sign-ins; those of an admin only with the capability admin', async () => {
    const person = await withApp(service, { role: 'admin' })
    const { key } = await okAdmin<{ key: string }>(service, 'POST', '/admin/api-keys', {
      name: 'desk',
      capability: 'operator',
    })
    const as = (method: string, path: string, body?: object) =>
      fetch(service.admin + path, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: body && JSON.stringify(body),
      })
    expect((await as('POST', `/admin/users/${person.id}/reset-factors`)).status).toBe(403)
    expect((await as('PATCH', `/admin/users/${person.id}`, { role: 'user' })).status).toBe(403)
    await okAdmin(service, 'POST', `/admin/users/${person.id}/reset-factors`)
    expect(await isSignedIn(service, person.browser)).toBe(false)
    expect(await signInWith(service, person.email)).toBeDefined()
    expect((await eventsOf(service, 'factors_reset'))[0]?.detail).toEqual({ user_id: person.id, factors: 1 })
  })
})
