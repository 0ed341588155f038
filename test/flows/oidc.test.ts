// Signing in at an upstream OpenID provider, with oidc-provider as the provider.
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { eventsOf, metricOf, okAdmin } from '../support/admin.ts'
import { Browser, type Page } from '../support/browser.ts'
import { FederatedBrowser } from '../support/federated_browser.ts'
import { authorizeUrl, decide, redeem } from '../support/flow.ts'
import { federating, isSignedIn, subjectOf } from '../support/openid_fake.ts'
import { RealProvider } from '../support/openid_provider.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

let op: RealProvider
let service: TestService
beforeAll(async () => {
  op = await RealProvider.listen()
  service = await startService(federating(op.issuer))
  op.open(service)
})
afterAll(async () => {
  await service.close()
  op.close()
})
beforeEach(() => {
  op.away = false
})

let count = 0
const newPerson = (more: object = {}) => {
  const name = `person${++count}`
  return { sub: `up-${name}`, email: `${name}@corp.example.com`, email_verified: true, name, ...more }
}
interface ShownUser {
  id: string
  email: string
  provider: string
  [name: string]: unknown
}
const userOf = async (email: string) =>
  (await okAdmin<ShownUser[]>(service, 'GET', `/admin/users?email=${encodeURIComponent(email)}`))[0]

class Person extends FederatedBrowser {
  constructor() {
    super(service, op)
  }
}

const linkIn = ({ text }: Page) => {
  const [, href = ''] = /href="([^"]*\/oidc\/start[^"]*)"/.exec(text) ?? []
  return service.issuer + href.replaceAll('&amp;', '&')
}
/** From an authorization request through the login page to the redirect of the provider. */
async function viaProvider(url: string, person = new Person()): Promise<Page> {
  const page = await person.travel(url)
  return page.text.includes('/oidc/start') ? person.travel(linkIn(page)) : page
}
const signIn = (person = new Person(), redirect = '/') =>
  person.travel(`${service.issuer}/oidc/start?${new URLSearchParams({ redirect })}`)

describe('signing in at the provider', () => {
  test('a sign-in continues the request of the client, and issues a token for a new user', async () => {
    op.person = newPerson()
    const [client, resource] = [
      await addClient(service, { token_endpoint_auth_method: 'none' }),
      await addResource(service),
    ]
    const verifier = 'v'.repeat(43)
    const code_challenge = '7w_YNF9DSfIdPf_pRjSq646_kPr-2-o9NAl16JGghdM'
    const person = new Person()
    const url = authorizeUrl(service, { client_id: client.client_id, resource: resource.uri, code_challenge })
    const consent = await viaProvider(url, person)
    const { location } = await decide(service, person, consent, 'allow')
    const callback = new URL(location ?? '')
    expect(callback.href.startsWith(REDIRECT_URI)).toBe(true)
    expect(callback.searchParams.getAll('iss')).toEqual([service.issuer])
    const code = callback.searchParams.get('code') ?? ''
    const { status, body } = await redeem(service, client, { code, verifier })
    expect([status, body]).toEqual([200, expect.objectContaining({ token_type: 'Bearer' })])
    const user = await userOf(String(op.person['email']))
    expect(user).toMatchObject({
      role: 'user',
      status: 'active',
      provider: 'oidc',
      provider_issuer: op.issuer,
      provider_sub: op.person.sub,
      name: op.person['name'],
    })
    expect(subjectOf(body['access_token'])).toBe(user?.id)
  })

  test('email and name are read from userinfo when the ID token has none', async () => {
    op.person = newPerson()
    await signIn()
    expect(op.asked).toContain('/me')
    expect(await userOf(String(op.person['email']))).toMatchObject({ name: op.person['name'] })
  })

  test('the scope groups is requested when the provider offers it', async () => {
    const { location } = await new Browser().open(`${service.issuer}/oidc/start`)
    expect(new URL(location ?? '').searchParams.get('scope')).toBe('openid email profile groups')
  })

  test('a sign-in is audited with the user, and with whether the account is new', async () => {
    op.person = newPerson()
    await signIn()
    await signIn()
    const [again, first] = await eventsOf(service, 'user_oidc_login')
    expect([first?.detail, again?.detail]).toEqual([
      { created: true, provider: 'default' },
      { created: false, provider: 'default' },
    ])
  })

  test('the code exchange and every lookup of keys are counted', async () => {
    const names = [
      'core_oidc_jwks_cache_misses_total',
      'core_oidc_jwks_cache_hits_total',
      'core_oidc_exchange_duration_seconds_count',
    ]
    const counted = () => Promise.all(names.map((name) => metricOf(service, name)))
    await signIn()
    const before = await counted()
    await signIn()
    const after = await counted()
    expect(after.map((each, i) => each - (before[i] ?? 0))).toEqual([0, 1, 1])
  })

  test('a provider that changed its key is asked for its keys once, and the sign-in succeeds', async () => {
    await signIn()
    op.asked.length = 0
    op.open(service)
    const person = new Person()
    await signIn(person)
    expect(await isSignedIn(service, person)).toBe(true)
    expect(op.asked.filter((path) => path === '/jwks')).toHaveLength(1)
  })

  test.each(['RS256', 'PS256', 'ES256', 'ES384', 'RS512'] as const)('an ID token under %s is accepted', async (alg) => {
    op.open(service, alg)
    const person = new Person()
    await signIn(person)
    expect(await isSignedIn(service, person)).toBe(true)
  })

  test('prompt=login is passed to the provider, which asks for credentials even if a user is signed in there', async () => {
    const { client_id } = await addClient(service)
    const person = new Person()
    await signIn(person)
    op.prompts.length = 0
    await signIn(person)
    expect(op.prompts).toEqual([])
    await viaProvider(authorizeUrl(service, { client_id, prompt: 'login' }), person)
    expect(op.prompts).toContain('login')
  })
})

describe('accounts', () => {
  test('one subject is one account with any email, and later sign-ins update email and name', async () => {
    op.person = newPerson()
    await signIn()
    const before = await userOf(String(op.person['email']))
    op.person = { ...op.person, email: 'Married.Name@corp.example.com', name: 'Married Name' }
    await signIn()
    expect(await userOf('married.name@corp.example.com')).toMatchObject({ id: before?.id, name: 'Married Name' })
    expect(await userOf(before?.email ?? '')).toBeUndefined()
  })

  test('each sign-in replaces all groups of the provider, and keeps the groups of operators', async () => {
    op.person = newPerson({ groups: ['staff', 'ops,dev', 'staff', '', 5, 'two\nlines'] })
    const groups = async () => (await userOf(String(op.person['email'])))?.['groups']
    await signIn()
    expect(await groups()).toEqual(['ops,dev', 'staff'])
    const { id } = (await userOf(String(op.person['email']))) ?? {}
    await okAdmin(service, 'PATCH', `/admin/users/${id}`, { groups: ['auditors'] })
    op.person = { ...op.person, groups: 'night' }
    await signIn()
    expect(await groups()).toEqual(['auditors', 'night'])
    op.person = { ...op.person, groups: undefined }
    await signIn()
    expect(await groups()).toEqual(['auditors'])
  })

  test.each([
    [true, true],
    [undefined, false],
  ])('an email with email_verified %s is verified: %s', async (email_verified, expected) => {
    op.person = newPerson({ email_verified })
    await signIn()
    expect(await userOf(String(op.person['email']))).toMatchObject({ email_verified: expected })
  })

  test('an email that another account has is omitted: the user is signed in, and the account has no email', async () => {
    op.person = newPerson()
    await signIn()
    const { id = '' } = (await userOf(String(op.person['email']))) ?? {}
    const local = await addUser(service)
    op.person = { ...op.person, email: local.email }
    const person = new Person()
    await signIn(person)
    expect(await isSignedIn(service, person)).toBe(true)
    expect((await userOf(local.email))?.id).toBe(local.id)
    expect(await okAdmin(service, 'GET', `/admin/users/${id}`)).toMatchObject({ email: '', email_verified: false })
  })

  test('a changed email is audited, and so is an email that the provider no longer verifies', async () => {
    op.person = newPerson()
    await signIn()
    const first = String(op.person['email'])
    const { id } = (await userOf(first)) ?? {}
    op.person = { ...op.person, email: `new-${first}` }
    await signIn()
    await signIn()
    op.person = { ...op.person, email_verified: false }
    await signIn()
    const events = (await eventsOf(service, 'user_email_changed')).filter(({ actor_id }) => actor_id === id)
    expect(events.map(({ detail }) => detail)).toEqual([
      { provider: 'default', email: '', email_before: `new-${first}` },
      { provider: 'default', email: `new-${first}`, email_before: first },
    ])
  })

  test('a first sign-in with the email of another account is refused with 409, and creates no account', async () => {
    const local = await addUser(service)
    op.person = newPerson({ email: local.email.toUpperCase() })
    const person = new Person()
    const warned = vi.spyOn(service.app.log, 'warn')
    const page = await signIn(person)
    expect(page.status).toBe(409)
    expect(await isSignedIn(service, person)).toBe(false)
    expect(await userOf(local.email)).toMatchObject({ id: local.id, provider: 'local' })
    const found = {
      provider: 'default',
      reason: 'oidc_email_taken',
      federated_subject: op.person.sub,
      email: local.email.toUpperCase(),
      user_id: local.id,
    }
    const [event] = await eventsOf(service, 'user_oidc_login_failed')
    expect(event?.detail).toEqual(found)
    expect(warned.mock.calls).toEqual([[expect.objectContaining(found), 'a sign-in at the identity provider failed']])
    warned.mockRestore()
  })

  test('a disabled account is refused with 401, and the audit event names it', async () => {
    op.person = newPerson()
    await signIn()
    const { id = '' } = (await userOf(String(op.person['email']))) ?? {}
    await okAdmin(service, 'PATCH', `/admin/users/${id}/disable`)
    expect((await signIn()).status).toBe(401)
    expect((await eventsOf(service, 'user_oidc_login_failed'))[0]?.detail).toEqual({
      provider: 'default',
      reason: 'oidc_user_disabled',
      federated_subject: op.person.sub,
      email: op.person['email'],
      user_id: id,
    })
  })

  test('a user without an email gets an account', async () => {
    op.person = { sub: 'up-nobody', name: 'No Mail' }
    const person = new Person()
    await signIn(person)
    expect((await person.open(`${service.issuer}/account`)).text).toContain('No Mail')
  })

  test('a disabled user is refused, also in an existing session, and accepted when enabled again', async () => {
    op.person = newPerson()
    const person = new Person()
    await signIn(person)
    const user = await userOf(String(op.person['email']))
    await okAdmin(service, 'PATCH', `/admin/users/${user?.id}/disable`)
    expect(await isSignedIn(service, person)).toBe(false)
    expect((await signIn(person)).status).toBe(401)
    expect(await isSignedIn(service, person)).toBe(false)
    await okAdmin(service, 'PATCH', `/admin/users/${user?.id}/enable`)
    await signIn(person)
    expect(await isSignedIn(service, person)).toBe(true)
  })

  test('twenty concurrent first sign-ins of one subject create one account', async () => {
    op.person = newPerson()
    await Promise.all(Array.from({ length: 20 }, () => signIn()))
    const all = await okAdmin<ShownUser[]>(service, 'GET', '/admin/users')
    expect(all.filter(({ provider_sub }) => provider_sub === op.person.sub)).toHaveLength(1)
  })
})

describe('an unavailable provider', () => {
  test('a provider that is unavailable at start does not prevent the start, and is used when it is available', async () => {
    op.away = true
    const late = await startService(federating(op.issuer))
    const start = () => new Browser().open(`${late.issuer}/oidc/start`)
    expect((await start()).status).toBe(500)
    op.away = false
    expect((await start()).location).toMatch(new RegExp(`^${op.issuer}/auth\\?`))
    await late.close()
  })

  test('a provider that becomes unavailable affects only sign-ins: they show an error page, and existing sessions continue', async () => {
    const [before, after] = [new Person(), new Person()]
    await signIn(before)
    const { location = '' } = await after.open(`${service.issuer}/oidc/start`)
    const state = new URL(location).searchParams.get('state')
    op.away = true
    const query = new URLSearchParams({ code: 'a-code', state: state ?? '', iss: op.issuer })
    const page = await after.open(`${service.issuer}/oidc/callback?${query}`)
    expect([page.status, page.headers.get('content-type')]).toEqual([500, 'text/html; charset=utf-8'])
    expect(await isSignedIn(service, before)).toBe(true)
    // The metadata is cached for an hour, and used while it cannot be renewed.
    service.advance(3601)
    expect((await after.open(`${service.issuer}/oidc/start`)).status).toBe(302)
  })
})
