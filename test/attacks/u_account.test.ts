// Section U of the attack list, the rows about the account page: U30 to U37.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { en } from '../../src/endpoints/messages/en.ts'
import { accountForm, accountPage, allow, browserOf, isSignedIn, press, userWith } from '../support/account.ts'
import { eventsOf } from '../support/admin.ts'
import { Browser, formsOf } from '../support/browser.ts'
import { introspect, signIn } from '../support/flow.ts'
import { addUser, PASSWORD, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0' })
})
afterAll(() => service.close())

const NEXT = 'a password of the attacker'
const NEW_PASSWORD = { current_password: PASSWORD, new_password: NEXT, new_password_again: NEXT }
/** What the forms of the page would send. */
const EVERY_FORM: [text: string, values: Record<string, string>][] = [
  ['Remove access', {}],
  ['Sign out', {}],
  ['End all others', { others: '1' }],
  ['current_password', NEW_PASSWORD],
  ['name="language"', { language: 'de' }],
]
const victim = async () => {
  const { user, browser, applications } = await userWith(service, 'Notes')
  const other = await browserOf(service, user.email)
  const [notes] = applications
  if (!notes) throw new Error('no application')
  /** Whether everything that the forms end is still there. */
  const isWhole = async () => {
    const login = new Browser()
    return [
      await introspect(service, notes.client, notes.access_token).then(({ active }) => active),
      await isSignedIn(service, browser),
      await isSignedIn(service, other),
      (await signIn(service, login, await login.open(`${service.issuer}/login`), user.email)).status === 303,
      browser.cookies.has('service_language'),
    ]
  }
  return { user, browser, other, notes, isWhole }
}
const WHOLE = [true, true, true, true, false]

for (const [text, values] of EVERY_FORM)
  test(`U30 a form of the account page from another site, or without its token, ends nothing: ${text}`, async () => {
    const { browser, isWhole } = await victim()
    const { action, fields } = await accountForm(service, browser, text)
    const sent = { ...Object.fromEntries(fields), ...values }
    const { csrf_token: _, ...bare } = sent
    const url = service.issuer + action
    for (const [form, headers] of [
      [bare, {}],
      [{ ...sent, csrf_token: 'x' }, {}],
      [sent, { 'sec-fetch-site': 'cross-site' }],
      [sent, { 'sec-fetch-site': 'same-site' }],
    ] as const)
      expect((await browser.post(url, form, headers)).status).toBe(403)
    expect((await browser.open(`${url}?${new URLSearchParams(sent)}`)).status).toBe(405)
    expect(await isWhole()).toEqual(WHOLE)
  })

test('U30 the token of one form of the account page is not the token of another', async () => {
  const { browser, isWhole } = await victim()
  const forms = formsOf(await accountPage(service, browser))
  const tokens = new Map(forms.map(({ action, fields }) => [action, Object.fromEntries(fields)['csrf_token'] ?? '']))
  expect(new Set(tokens.values()).size).toBe(tokens.size)
  for (const { action } of forms)
    for (const [of, csrf_token] of tokens)
      if (of !== action)
        expect((await browser.post(service.issuer + action, { csrf_token, others: '1', ...NEW_PASSWORD })).status).toBe(
          403,
        )
  expect(await isWhole()).toEqual(WHOLE)
})

test('U31 the account page cannot be framed, cached or read by another site', async () => {
  const { browser } = await victim()
  const { headers } = await browser.open(`${service.issuer}/account`, { headers: { origin: 'https://evil.example' } })
  expect(headers.get('x-frame-options')).toBe('DENY')
  expect(headers.get('content-security-policy')).toMatch(/default-src 'none';.*frame-ancestors 'none'/)
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('referrer-policy')).toBe('no-referrer')
  expect(headers.get('access-control-allow-origin')).toBeNull()
})

test('U32 a user cannot end the sign-in of another user by its id', async () => {
  const { other, user, isWhole } = await victim()
  const [session] = await service.app.store.listSessions({ user_id: user.id, now: service.app.clock.now() })
  const attacker = await browserOf(service, (await addUser(service)).email)
  await browserOf(service, (await addUser(service)).email)
  for (const session_id of [session?.id ?? '', 'x', '', `${session?.id}0`])
    expect((await press(service, attacker, 'Sign out', { session_id })).status).toBe(303)
  expect(await isSignedIn(service, other)).toBe(true)
  expect(await isWhole()).toEqual(WHOLE)
  expect(
    (await eventsOf(service, 'user_sessions_ended')).filter(({ detail }) => detail?.['user_id'] === user.id),
  ).toEqual([])
})

test('U33 a user cannot remove the access of an application for another user', async () => {
  const { notes, user, isWhole } = await victim()
  const mallory = await userWith(service, 'Mail')
  const [mine] = mallory.applications
  const fields = { client_id: notes.client.client_id, resource_id: notes.resource.id }
  for (const more of [fields, { ...fields, user_id: user.id }, { ...fields, resource_id: '' }])
    expect((await press(service, mallory.browser, 'Remove access', more)).status).toBe(303)
  expect(await isWhole()).toEqual(WHOLE)
  expect((await introspect(service, mine?.client ?? notes.client, mine?.access_token)).active).toBe(true)
})

test('U34 a password is not changed without the current one, and neither password is in a page, the log or the trail', async () => {
  const { browser, user, isWhole } = await victim()
  for (const current_password of ['', 'wrong', `${PASSWORD} `, PASSWORD.toUpperCase(), 'x'.repeat(5000)]) {
    const page = await press(service, browser, 'current_password', { ...NEW_PASSWORD, current_password })
    expect(page.status).toBe(422)
    expect([page.text.includes(NEXT), page.text.includes(PASSWORD)]).toEqual([false, false])
  }
  expect(await isWhole()).toEqual(WHOLE)
  const trail = JSON.stringify(await eventsOf(service, 'user_password_change_failed'))
  expect([trail.includes(user.id), trail.includes(NEXT), trail.includes('wrong')]).toEqual([true, false, false])
})

test('U35 a client name, a resource and a User-Agent header with markup are shown as text', async () => {
  const user = await addUser(service)
  const browser = await browserOf(service, user.email, '<script>alert(1)</script> Firefox/1 "onload=x')
  await allow(service, user, browser, '<img src=x onerror=alert(1)>\u202etxt')
  const { text } = await accountPage(service, browser)
  expect(text.replace(/<script src="\/ui\/script\/\w+\.js"><\/script>/, '')).not.toMatch(/<script|<img|"onload|\u202e/)
  expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;txt')
})

test('U36 texts of the account page come from the page alone, whatever its address says', async () => {
  const { browser } = await victim()
  const query = new URLSearchParams({ done: 'Call <b>555</b>', error: 'Call <b>555</b>' })
  const page = await browser.open(`${service.issuer}/account?${query}`)
  expect([page.status, page.text.includes('555')]).toEqual([200, false])
  for (const site of ['cross-site', 'same-site', 'none']) {
    const from = { headers: { 'sec-fetch-site': site } }
    const { text } = await browser.open(`${service.issuer}/account?done=password`, from)
    expect(text).not.toContain(en.account.password.done)
  }
})

test('U37 the forms of an ended session do nothing', async () => {
  const { browser, notes } = await victim()
  const forms = formsOf(await accountPage(service, browser))
  const stolen = new Browser()
  for (const [name, value] of browser.cookies) stolen.cookies.set(name, value)
  await browser.post(`${service.issuer}/logout`, {})
  for (const { action, fields } of forms)
    expect((await stolen.post(service.issuer + action, fields)).location).toContain('/login')
  expect((await introspect(service, notes.client, notes.access_token)).active).toBe(true)
})
