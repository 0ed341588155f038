// One-time links with which users set a password.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { DAY } from '../../src/lib/time.ts'
import type { User } from '../../src/records/user.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { signedIn } from '../support/documents.ts'
import { signIn } from '../support/flow.ts'
import { addUser, PASSWORD, startService, type TestService } from '../support/service.ts'

const NEXT = 'a passphrase of her own'
let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0' })
})
afterAll(() => service.close())

type Named = Pick<User, 'id'>
const askForLink = ({ id }: Named, at = service) =>
  callAdmin<{ url: string; expires_at: string; error_description: string }>(
    at,
    'POST',
    `/admin/users/${id}/password-link`,
  )
const newLink = async (user: Named) => {
  const { status, body } = await askForLink(user)
  expect(status).toBe(200)
  return body
}
const open = (url: string) => new Browser().open(url)
const tokenOf = (url: string) => url.slice(url.lastIndexOf('/') + 1)
const send = (url: string, next = NEXT, again = next, headers: Record<string, string> = {}) =>
  new Browser().post(
    `${service.issuer}/password`,
    { token: tokenOf(url), new_password: next, new_password_again: again },
    headers,
  )
const works = async ({ email }: { email: string }, password: string) => {
  const browser = new Browser()
  const answer = await signIn(service, browser, await browser.open(`${service.issuer}/login`), email, password)
  return answer.status === 303
}

describe('a link', () => {
  test('sets a password once: it ends the sessions of the user, and is recorded with the user', async () => {
    const user = await addUser(service)
    const browser = await signedIn(service, user)
    const { url, expires_at } = await newLink(user)
    expect(url).toMatch(new RegExp(`^${service.issuer}/password/pwl_[\\w-]{64}$`))
    expect(Date.parse(expires_at) / 1000 - service.app.clock.now()).toBe(DAY)
    const page = await open(url)
    expect([page.status, page.text.includes(user.email)]).toEqual([200, true])
    expect((await open(url)).status).toBe(200)
    expect((await browser.open(`${service.issuer}/account`)).status).toBe(200)
    expect((await send(url)).status).toBe(200)
    expect([await works(user, PASSWORD), await works(user, NEXT)]).toEqual([false, true])
    expect((await browser.open(`${service.issuer}/account`)).location).toContain('/login')
    expect((await eventsOf(service, 'user_password_link_created'))[0]?.detail).toEqual({ user_id: user.id })
    expect((await eventsOf(service, 'user_password_set'))[0]).toMatchObject({ actor_id: user.id, detail: {} })
  })

  test('gives a password to a user who was imported without one', async () => {
    const email = 'imported@example.com'
    await okAdmin(service, 'POST', '/admin/users/import', { users: [{ email }] })
    const [user] = await okAdmin<User[]>(service, 'GET', `/admin/users?email=${email}`)
    const { url } = await newLink({ id: user?.id ?? '' })
    expect((await send(url)).status).toBe(200)
    expect(await works({ email }, NEXT)).toBe(true)
  })

  test('a password that is not acceptable leaves the link usable', async () => {
    const user = await addUser(service)
    const { url } = await newLink(user)
    const answers = [await send(url, 'short'), await send(url, 'x'.repeat(1025)), await send(url, NEXT, `${NEXT}!`)]
    expect(answers.map(({ status, text }) => [status, /role="alert"[^>]*>([^<]+)/.exec(text)?.[1]])).toEqual([
      [422, 'The password is too short.'],
      [422, 'The password is too long.'],
      [422, 'The two passwords are not the same.'],
    ])
    expect((await send(url)).status).toBe(200)
  })

  test('the page is in the language of the browser', async () => {
    const { url } = await newLink(await addUser(service))
    const answer = await fetch(url, { headers: { 'accept-language': 'de' } })
    expect(await answer.text()).toContain('Passwort festlegen')
  })

  test('there is none for an unknown user, and none where users do not sign in with passwords', async () => {
    expect((await askForLink({ id: 'nothing-here' })).status).toBe(404)
    const upstream = await startService({
      SERVICE_OIDC_ENABLED: 'true',
      SERVICE_OIDC_SHOW_LOCAL_LOGIN: 'false',
      SERVICE_OIDC_ISSUER: 'http://localhost:1',
      SERVICE_OIDC_CLIENT_ID: 'x',
      SERVICE_OIDC_CLIENT_SECRET: 'x',
      SERVICE_OIDC_REDIRECT_URI: '<issuer>/oidc/callback',
    })
    try {
      const { status, body } = await askForLink(await addUser(upstream), upstream)
      expect([status, body.error_description]).toEqual([
        409,
        'users sign in at upstream providers only; oidc.show_local_login allows passwords',
      ])
    } finally {
      await upstream.close()
    }
  })
})

describe('attacks', () => {
  /** The parts of a refusal that a caller can compare. */
  const refusal = ({ status, text }: { status: number; text: string }) => [
    status,
    text.replace(/<code>[^<]*<\/code>/g, ''),
  ]

  test('U63 a used, a replaced and an expired link is refused, and of twenty uses at once one sets the password', async () => {
    const user = await addUser(service)
    const first = await newLink(user)
    const { url } = await newLink(user)
    expect([(await open(first.url)).status, (await send(first.url)).status]).toEqual([404, 404])
    const passwords = Array.from({ length: 20 }, (_, i) => `${NEXT} ${i}`)
    const answers = await Promise.all(passwords.map((password) => send(url, password)))
    const [index, ...others] = answers.flatMap(({ status }, i) => (status === 200 ? [i] : []))
    expect(others).toEqual([])
    expect(await works(user, passwords[index ?? -1] ?? '')).toBe(true)
    expect(refusal(await open(url))).toEqual(refusal(await open(first.url)))
    const sets = (await eventsOf(service, 'user_password_set')).filter(({ actor_id }) => actor_id === user.id)
    expect(sets.length).toBe(1)
    const late = await newLink(user)
    service.advance(DAY)
    expect([(await open(late.url)).status, (await send(late.url)).status]).toEqual([404, 404])
  })

  test('U64 a guessed link gets the page of a used one, and no password is hashed for it', async () => {
    const user = await addUser(service)
    const { url } = await newLink(user)
    const used = await newLink(await addUser(service))
    await send(used.url)
    const hashed = vi.spyOn(service.app.crypto, 'hashPassword')
    const token = tokenOf(url)
    const guesses = [
      ...Array.from({ length: 20 }, (_, i) => `${token.slice(0, -2)}${'ABCDEFGHIJ'[i % 10]}${i % 7}`),
      token.replace('pwl_', 'ac_'),
      token.replace('pwl_', ''),
      `${token}A`,
      'pwl_',
    ].filter((guess) => guess !== token)
    for (const guess of guesses) {
      expect(refusal(await open(`${service.issuer}/password/${guess}`)), guess).toEqual(refusal(await open(used.url)))
      expect((await send(`/${guess}`)).status, guess).toBe(404)
    }
    expect(hashed).not.toHaveBeenCalled()
    vi.restoreAllMocks()
    expect((await send(url)).status).toBe(200)
  })

  test('U65 the link leaks nowhere: no referrer, no cache, no frame, no link to another site, no audit event', async () => {
    const { url } = await newLink(await addUser(service))
    for (const page of [await open(url), await send(url, 'short'), await send(url), await open(url)]) {
      expect(page.headers.get('referrer-policy')).toBe('no-referrer')
      expect(page.headers.get('cache-control')).toBe('no-store')
      expect(page.headers.get('x-frame-options')).toBe('DENY')
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
      const elsewhere = [...page.text.matchAll(/(?:href|src|action)="([^"]*)"/g)].filter(
        ([, to]) => !to?.startsWith('/'),
      )
      expect(elsewhere).toEqual([])
    }
    expect(JSON.stringify(await okAdmin(service, 'GET', '/admin/audit?limit=1000'))).not.toContain(tokenOf(url))
  })

  test('U66 another site cannot send the form, and opening the link does not use it up', async () => {
    const user = await addUser(service)
    const { url } = await newLink(user)
    expect((await send(url, NEXT, NEXT, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    for (const method of ['HEAD', 'GET', 'OPTIONS']) await fetch(url, { method })
    expect(await works(user, PASSWORD)).toBe(true)
    expect((await send(url)).status).toBe(200)
  })

  test('U67 a link ends when the user is disabled or deleted or has another password, and a user of a provider gets none', async () => {
    const changes: [string, string, object?][] = [
      ['PATCH', '', { password: 'set by an operator' }],
      ['PATCH', '/disable'],
      ['DELETE', ''],
    ]
    for (const [method, suffix, body] of changes) {
      const user = await addUser(service)
      const { url } = await newLink(user)
      await okAdmin(service, method, `/admin/users/${user.id}${suffix}`, body)
      expect((await open(url)).status).toBe(404)
      expect((await send(url)).status).toBe(404)
    }
    const disabled = await addUser(service, { status: 'disabled' })
    const federated = await addUser(service, {
      provider: 'oidc',
      provider_issuer: 'https://idp.example.com',
      provider_sub: 'ada',
      password_hash: undefined,
    })
    expect((await askForLink(disabled)).body.error_description).toMatch(/is disabled/)
    const { status, body } = await askForLink(federated)
    expect([status, body.error_description]).toEqual([
      409,
      'the user signs in at the upstream provider and has no password here',
    ])
  })
})
