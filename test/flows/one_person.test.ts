// One person has one sub: a sign-in at a provider and an assertion of the same issuer for the same subject are the same user.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { envOf, runHere } from '../support/cli.ts'
import { TestIdp } from '../support/idp.ts'
import { type FakeProvider, isSignedIn, openFederation, signInAt, subjectOf } from '../support/openid_fake.ts'
import { addUser, type TestService } from '../support/service.ts'
import { LOOPBACK, mapSubject, type Scene, xaaScene } from '../support/xaa.ts'

let service: TestService
let fake: FakeProvider
let scene: Scene
beforeAll(async () => {
  ;({ service, fake } = await openFederation(LOOPBACK))
  scene = await xaaScene(service, { idp: fake.idp })
})
afterAll(() => service.close())

let count = 0
beforeEach(() => {
  fake.person = { sub: `up-person${++count}`, email: `person${count}@corp.example.com`, email_verified: true }
})

const signIn = async () => {
  const browser = new Browser()
  await signInAt(service, fake, browser)
  return browser
}
const userWith = async (sub: unknown) =>
  (await okAdmin<{ id: string; provider_sub?: string }[]>(service, 'GET', '/admin/users')).find(
    ({ provider_sub }) => provider_sub === sub,
  )
/** The subject of the token that an assertion gives. */
const asserted = async (sub: unknown, at = scene) => {
  const { status, body } = await at.redeem(await at.assertion({ claims: { sub } }))
  return status === 200 ? subjectOf(body['access_token']) : status
}

test('an assertion for the subject of a sign-in is issued a token of that user, also if the assertion came first', async () => {
  const { sub } = fake.person
  expect(await asserted(sub)).toBe(`${fake.idp.issuer}:${sub}`)
  await signIn()
  const user = await userWith(sub)
  expect(await asserted(sub)).toBe(user?.id)
  expect(await asserted(sub)).toBe(user?.id)
})

test('the same subject of another issuer is another user', async () => {
  await signIn()
  const { sub } = fake.person
  const other = await xaaScene(service, { idp: await TestIdp.start() })
  expect(await asserted(sub, other)).toBe(`${other.idp.issuer}:${sub}`)
})

test('an explicit mapping takes precedence', async () => {
  await signIn()
  const mapped = await addUser(service)
  await mapSubject(service, scene.idp_id, String(fake.person['sub']), mapped.id)
  expect(await asserted(fake.person['sub'])).toBe(mapped.id)
})

test('a disabled user is refused, and the subject of a deleted user is not a local user', async () => {
  await signIn()
  const { sub } = fake.person
  const { id = '' } = (await userWith(sub)) ?? {}
  expect(await asserted(sub)).toBe(id)
  await okAdmin(service, 'PATCH', `/admin/users/${id}/disable`)
  expect(await asserted(sub)).toBe(400)
  await okAdmin(service, 'DELETE', `/admin/users/${id}?force=true`)
  expect(await asserted(sub)).toBe(`${fake.idp.issuer}:${sub}`)
})

describe('a user with a new subject at the provider', () => {
  /** The person signs in, and then gets a new subject at the provider. */
  const madeAnew = async () => {
    await signIn()
    const before = String(fake.person['sub'])
    const { id = '' } = (await userWith(before)) ?? {}
    fake.person = { ...fake.person, sub: `${before}-anew` }
    return { id, before, anew: `${before}-anew` }
  }

  test('a sign-in with a new subject is refused because of the email, until an operator links the account to the subject', async () => {
    const { id, before, anew } = await madeAnew()
    expect(await isSignedIn(service, await signIn())).toBe(false)
    expect(await asserted(before)).toBe(id)
    const shown = await okAdmin(service, 'PATCH', `/admin/users/${id}`, { oidc_subject: anew })
    expect(shown).toMatchObject({ id, provider_sub: anew, provider_issuer: fake.idp.issuer })
    expect((await eventsOf(service, 'user_updated'))[0]?.detail).toEqual({
      user_id: id,
      fields: ['provider_sub'],
      changes: [{ field: 'provider_sub', before, after: anew }],
    })
    expect(await isSignedIn(service, await signIn())).toBe(true)
    expect((await userWith(anew))?.id).toBe(id)
    expect([await asserted(anew), await asserted(before)]).toEqual([id, `${fake.idp.issuer}:${before}`])
  })

  test('the command line links an account to a subject too', async () => {
    const { id, anew } = await madeAnew()
    const args = ['admin', 'user', 'relink', '--id', id, '--oidc-subject', anew]
    expect((await runHere(args, envOf(service))).code).toBe(0)
    expect(await userWith(anew)).toMatchObject({ id })
  })

  test('an account cannot be linked to the subject of another user, and a user with a local password cannot be linked', async () => {
    await signIn()
    const taken = fake.person['sub']
    fake.person = { sub: `up-second${count}` }
    await signIn()
    const { id = '' } = (await userWith(fake.person['sub'])) ?? {}
    const change = (user: string, body: object) => callAdmin(service, 'PATCH', `/admin/users/${user}`, body)
    expect((await change(id, { oidc_subject: taken })).status).toBe(409)
    expect((await change((await addUser(service)).id, { oidc_subject: 'up-free' })).status).toBe(409)
    for (const body of [{ oidc_subject: '' }, { oidc_subject: 7 }, { oidc_subject: 'a', provider_sub: 'b' }])
      expect((await change(id, body)).status).toBe(400)
    expect(await userWith(fake.person['sub'])).toMatchObject({ id })
  })
})
