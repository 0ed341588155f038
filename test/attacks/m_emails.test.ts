// Section M of the attack list: emails that a provider sends. One test per row, named by its id.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { User } from '../../src/records/user.ts'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { type FakeProvider, isSignedIn, openFederation, signInAt } from '../support/openid_fake.ts'
import { addUser, type TestService } from '../support/service.ts'

let service: TestService
let fake: FakeProvider
beforeAll(async () => {
  ;({ service, fake } = await openFederation())
})
afterAll(() => service.close())

let count = 0
const newEmail = () => `owner${++count}@corp.example.com`
/** A sign-in as a person. Returns the account. */
async function arrive(person: Record<string, unknown>): Promise<User | undefined> {
  fake.person = person
  const browser = new Browser()
  await signInAt(service, fake, browser)
  if (!(await isSignedIn(service, browser))) return undefined
  const id = await service.app.store.findSubjectUser({ issuer: fake.idp.issuer, sub: String(person['sub']) })
  return service.app.store.findUser({ id: id ?? '' })
}

describe('M18 an address that a provider did not verify', () => {
  test('is left to the account whose provider verified it, and the loss is recorded', async () => {
    const email = newEmail()
    const squatter = await arrive({ sub: `squatter-${count}`, email })
    expect(squatter).toMatchObject({ email, email_verified: false })
    const owner = await arrive({ sub: `owner-${count}`, email: email.toUpperCase(), email_verified: true })
    expect(owner).toMatchObject({ email: email.toUpperCase(), email_verified: true })
    expect(await service.app.store.findUser({ id: squatter?.id ?? '' })).toMatchObject({
      email: undefined,
      email_verified: false,
      version: 2,
    })
    const lost = { actor_id: squatter?.id, detail: { provider: 'default', email: '', email_before: email } }
    expect((await eventsOf(service, 'user_email_changed'))[0]).toMatchObject(lost)
    expect(await arrive({ sub: `squatter-${count}`, email })).toMatchObject({ id: squatter?.id, email: undefined })
    expect(await service.app.store.findUser({ id: owner?.id ?? '' })).toEqual(owner)
  })

  test('is left to an account that exists already, which then has two events', async () => {
    const [before, email] = [newEmail(), newEmail()]
    const owner = await arrive({ sub: `known-${count}`, email: before, email_verified: true })
    const squatter = await arrive({ sub: `squatter-${count}`, email })
    const moved = await arrive({ sub: `known-${count}`, email, email_verified: true })
    expect(moved).toMatchObject({ id: owner?.id, email })
    const events = (await eventsOf(service, 'user_email_changed')).slice(0, 2)
    const found = events.map(({ actor_id, detail }) => [actor_id, detail['email'], detail['email_before']])
    expect(found).toHaveLength(2)
    expect(found).toEqual(
      expect.arrayContaining([
        [owner?.id, email, before],
        [squatter?.id, '', email],
      ]),
    )
  })

  test('that another account has verified, or an operator gave to a local user, is not taken', async () => {
    const email = newEmail()
    const owner = await arrive({ sub: `owner-${count}`, email, email_verified: true })
    expect(await arrive({ sub: `second-${count}`, email, email_verified: true })).toBeUndefined()
    expect(await service.app.store.findUser({ id: owner?.id ?? '' })).toEqual(owner)
    const local = await addUser(service, { email_verified: false })
    expect(await arrive({ sub: `thief-${count}`, email: local.email, email_verified: true })).toBeUndefined()
    expect(await service.app.store.findUser(local)).toMatchObject({ email: local.email })
  })

  test('is not taken for a disabled account', async () => {
    const email = newEmail()
    const blocked = await arrive({ sub: `blocked-${count}` })
    await okAdmin(service, 'PATCH', `/admin/users/${blocked?.id}/disable`)
    const holder = await arrive({ sub: `holder-${count}`, email })
    expect(await arrive({ sub: `blocked-${count}`, email, email_verified: true })).toBeUndefined()
    expect(await service.app.store.findUser({ id: holder?.id ?? '' })).toEqual(holder)
  })
})

describe('M19 an email in the ID token, and email_verified of userinfo', () => {
  afterAll(() => {
    delete fake.userinfo
  })
  test.each([
    ['another email there', { email: 'mallory@home.example', email_verified: true }, 'mallory@home.example', true],
    ['no email there', { email_verified: true }, 'ceo', false],
    ['the same email there', { email: 'ceo', email_verified: true }, 'ceo', true],
  ])('are never combined: %s', async (_what, userinfo, expected, verified) => {
    const email = newEmail()
    const real = (text: string) => (text === 'ceo' ? email : `${count}${text}`)
    const sub = `two-${count}`
    fake.userinfo = { sub, ...userinfo, ...('email' in userinfo ? { email: real(userinfo.email) } : {}) }
    expect(await arrive({ sub, email })).toMatchObject({ email: real(expected), email_verified: verified })
  })

  test('do not pass allowed_email_domains together', async () => {
    const limited = await openFederation({ SERVICE_OIDC_ALLOWED_EMAIL_DOMAINS: 'corp.example.com' })
    limited.fake.userinfo = { sub: 'mallory', email: 'mallory@home.example', email_verified: true }
    limited.fake.person = { sub: 'mallory', email: 'ceo@corp.example.com' }
    const browser = new Browser()
    await signInAt(limited.service, limited.fake, browser)
    expect(await isSignedIn(limited.service, browser)).toBe(false)
    await limited.service.close()
  })
})
