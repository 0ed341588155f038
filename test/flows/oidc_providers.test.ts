// Several upstream OpenID providers at once, with oidc-provider as each of them.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { yamlFile } from '../config/loading.ts'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { FederatedBrowser } from '../support/federated_browser.ts'
import { alsoFederating, federating, isSignedIn, leave, openFederation } from '../support/openid_fake.ts'
import { RealProvider } from '../support/openid_provider.ts'
import { startService, type TestService } from '../support/service.ts'

let corporate: RealProvider
let acme: RealProvider
let service: TestService
beforeAll(async () => {
  // The issuer of Keycloak has a path, too.
  ;[corporate, acme] = [await RealProvider.listen(), await RealProvider.listen('/realms/staff')]
  const { record, env } = alsoFederating('acme', acme.issuer, {
    groups_claim: 'roles',
    allowed_email_domains: ['Acme.example.com', 'bücher.example'],
  })
  const file = yamlFile({ oidc: { providers: [record] } })
  service = await startService({ ...federating(corporate.issuer), ...env }, file)
  corporate.open(service)
  acme.open({ ...service, slug: 'acme' }, 'ES256')
})
afterAll(async () => {
  await service.close()
  corporate.close()
  acme.close()
})
beforeEach(() => {
  corporate.away = acme.away = false
})

let count = 0
const newPerson = (more: object = {}) => {
  const name = `person${++count}`
  return { sub: `up-${name}`, email: `${name}@acme.example.com`, email_verified: true, name, ...more }
}
const newBrowser = () => new FederatedBrowser(service, corporate, acme)

interface ShownUser {
  id: string
  groups: string[]
  provider_issuer?: string
  provider_sub?: string
}
const usersWith = async (sub: string) =>
  (await okAdmin<ShownUser[]>(service, 'GET', '/admin/users')).filter(({ provider_sub }) => provider_sub === sub)
const lastFailure = async () => (await eventsOf(service, 'user_oidc_login_failed'))[0]?.detail

describe('two providers', () => {
  test('each provider has a button on the login page, and a user can sign in at either', async () => {
    for (const [op, name] of [
      [corporate, 'Corporate SSO'],
      [acme, 'acme'],
    ] as const) {
      op.person = newPerson()
      const browser = newBrowser()
      await browser.signInAt(name)
      expect(await isSignedIn(service, browser)).toBe(true)
      expect(await usersWith(op.person.sub)).toEqual([expect.objectContaining({ provider_issuer: op.issuer })])
    }
  })

  test('T07: the same subject at two providers is two users', async () => {
    corporate.person = newPerson()
    acme.person = newPerson({ sub: corporate.person.sub })
    for (const name of ['Corporate SSO', 'acme']) await newBrowser().signInAt(name)
    const issuers = (await usersWith(acme.person.sub)).map(({ provider_issuer }) => provider_issuer)
    expect(new Set(issuers)).toEqual(new Set([corporate.issuer, acme.issuer]))
  })

  test('the audit trail names the provider of a sign-in', async () => {
    acme.person = newPerson()
    await newBrowser().signInAt('acme')
    expect((await eventsOf(service, 'user_oidc_login'))[0]?.detail).toEqual({ created: true, provider: 'acme' })
  })

  test('an unavailable provider does not affect sign-ins at the other', async () => {
    acme.away = true
    corporate.person = newPerson()
    const browser = newBrowser()
    await browser.signInAt('Corporate SSO')
    expect(await isSignedIn(service, browser)).toBe(true)
  })
})

describe('a provider that sends the email or the issuer of another provider', () => {
  test('T07: does not sign in as the user with the same email: the sign-in is refused with the name of that user', async () => {
    corporate.person = newPerson()
    await newBrowser().signInAt('Corporate SSO')
    const [owner] = await usersWith(corporate.person.sub)
    acme.person = { ...newPerson(), email: corporate.person['email'], email_verified: true }
    const browser = newBrowser()
    expect((await browser.signInAt('acme')).status).toBe(409)
    expect(await isSignedIn(service, browser)).toBe(false)
    expect(await lastFailure()).toMatchObject({ provider: 'acme', reason: 'oidc_email_taken', user_id: owner?.id })
  })

  test('does not take the email of a user who signed in before', async () => {
    acme.person = newPerson()
    await newBrowser().signInAt('acme')
    corporate.person = newPerson()
    await newBrowser().signInAt('Corporate SSO')
    const [owner] = await usersWith(corporate.person.sub)
    acme.person = { ...acme.person, email: corporate.person['email'] }
    await newBrowser().signInAt('acme')
    const find = async (id = '') => okAdmin<{ email: string }>(service, 'GET', `/admin/users/${id}`)
    expect((await find(owner?.id)).email).toBe(corporate.person['email'])
    expect((await find((await usersWith(acme.person.sub))[0]?.id)).email).toBe('')
  })

  test('an ID token of the issuer of another provider is refused', async () => {
    const { fake, service } = await openFederation()
    const browser = new Browser()
    const callback = await leave(service, fake, browser)
    fake.next = { claims: { iss: corporate.issuer } }
    expect((await browser.open(callback.href)).status).toBe(401)
    expect((await eventsOf(service, 'user_oidc_login_failed'))[0]?.detail).toEqual({
      provider: 'default',
      reason: 'oidc_iss',
      expected: fake.idp.issuer,
      found: corporate.issuer,
    })
    await service.close()
  })
})

describe('a callback', () => {
  test('T06: a callback of another provider is refused', async () => {
    const browser = new Browser()
    const { location = '' } = await browser.open(`${service.issuer}/oidc/start/acme`)
    const state = new URL(location).searchParams.get('state') ?? ''
    const asked = corporate.asked.length
    const query = new URLSearchParams({ code: 'a-code', state, iss: corporate.issuer })
    const page = await browser.open(`${service.issuer}/oidc/callback?${query}`)
    expect([page.status, corporate.asked.length]).toEqual([400, asked])
    expect(await isSignedIn(service, browser)).toBe(false)
  })

  test.each(['/oidc/start/default', '/oidc/callback/default', '/oidc/callback/nobody', '/oidc/start/nobody'])(
    'the path %s does not exist',
    async (path) => {
      expect((await new Browser().open(service.issuer + path)).status).toBe(404)
    },
  )
})

describe('allowed_email_domains', () => {
  test.each(['grace@xn--bcher-kva.example', 'Grâce@Bücher.example'])(
    'an internationalised domain is allowed in both forms: %s',
    async (email) => {
      acme.person = newPerson({ email })
      const browser = newBrowser()
      await browser.signInAt('acme')
      expect(await isSignedIn(service, browser)).toBe(true)
      const [made] = await usersWith(acme.person.sub)
      await service.app.store.deleteUser({ id: made?.id ?? '', force: true, now: 0 })
    },
  )

  test('verified addresses of an allowed domain are accepted, ignoring case', async () => {
    acme.person = newPerson({ email: 'Grace@ACME.example.com' })
    const browser = newBrowser()
    await browser.signInAt('acme')
    expect(await isSignedIn(service, browser)).toBe(true)
  })

  test.each([
    ['another domain', { email: 'eve@corp.example.com' }, 'corp.example.com'],
    ['a subdomain', { email: 'eve@x.acme.example.com' }, 'x.acme.example.com'],
    ['an address that is not verified', { email_verified: false }, 'no verified email'],
    ['an address without email_verified', { email_verified: undefined }, 'no verified email'],
    ['no address', { email: undefined }, 'no verified email'],
  ])('%s is refused, creates no account, and is audited with the reason', async (_, claims, found) => {
    acme.person = newPerson(claims)
    const browser = newBrowser()
    expect((await browser.signInAt('acme')).status).toBe(403)
    expect(await isSignedIn(service, browser)).toBe(false)
    expect(await usersWith(acme.person.sub)).toEqual([])
    expect(await lastFailure()).toMatchObject({
      provider: 'acme',
      reason: 'oidc_email_domain',
      federated_subject: acme.person.sub,
      expected: 'Acme.example.com bücher.example',
      found,
    })
  })
})

describe('groups', () => {
  const groupsAfter = async (op: RealProvider, name: string, claims: object) => {
    op.person = { ...op.person, ...claims }
    await newBrowser().signInAt(name)
    return (await usersWith(op.person.sub))[0]?.groups
  }

  test('groups are read from the configured claim of the provider, and from no other claim', async () => {
    const claims = { roles: ['staff'], groups: ['ops'] }
    corporate.person = newPerson()
    acme.person = newPerson()
    expect(await groupsAfter(corporate, 'Corporate SSO', claims)).toEqual(['ops'])
    expect(await groupsAfter(acme, 'acme', claims)).toEqual(['staff'])
  })

  test.each([true, false])(
    '500 groups are stored, a renamed group replaces the old name, and a missing claim means no groups (claims in userinfo only: %s)',
    async (conformIdTokenClaims) => {
      acme.open({ ...service, slug: 'acme' }, 'ES256', { conformIdTokenClaims })
      acme.person = newPerson()
      const roles = Array.from({ length: 500 }, (_, i) => `group-${i}-${'x'.repeat(150)}`)
      expect(await groupsAfter(acme, 'acme', { roles })).toHaveLength(500)
      expect(await groupsAfter(acme, 'acme', { roles: ['staff'] })).toEqual(['staff'])
      expect(await groupsAfter(acme, 'acme', { roles: ['employees'] })).toEqual(['employees'])
      expect(await groupsAfter(acme, 'acme', { roles: undefined })).toEqual([])
    },
  )
})
