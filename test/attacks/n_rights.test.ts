// Section N of the attack list: a right must not hang on a record that somebody with less right may change. One test per way.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { AdminBrowser, adminSignIn, GROUPS, idOfPerson } from '../support/admin_page.ts'
import { BROKER } from '../support/broker.ts'
import { FederatedBrowser } from '../support/federated_browser.ts'
import { tempFile } from '../support/folder.ts'
import { CLIENT_ID, CLIENT_SECRET } from '../support/openid_fake.ts'
import { RealProvider } from '../support/openid_provider.ts'
import { addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
let op: RealProvider
beforeAll(async () => {
  op = await RealProvider.listen()
  // A second provider of the same issuer, which is not in admin.sign_in.providers, and whose groups are in another claim.
  const partner = { slug: 'partner', issuer: op.issuer, client_id: CLIENT_ID, client_secret: CLIENT_SECRET }
  const more = { redirect_uri: 'http://localhost:1/oidc/callback/partner', allow_private_addresses: true }
  const shown = { display_name: 'Partner', groups_claim: 'roles' }
  const file = tempFile('service.yaml', { oidc: { providers: [{ ...partner, ...more, ...shown }] } })
  const own = { SERVICE_OIDC_PROVIDERS_PARTNER_REDIRECT_URI: '<issuer>/oidc/callback/partner' }
  service = await startService({ ...BROKER, ...adminSignIn(op.issuer, own) }, file)
  const redirect_uris = ['/oidc/callback', '/oidc/callback/partner'].map((path) => service.issuer + path)
  redirect_uris.push(`${service.admin}/admin/ui/sign-in/callback`)
  const client = { client_id: CLIENT_ID, client_secret: CLIENT_SECRET, id_token_signed_response_alg: 'ES256' }
  op.open(service, 'ES256', { clients: [{ ...client, redirect_uris }] })
})
afterAll(async () => {
  op.close()
  await service.close()
})

let count = 0
const person = (groups: string[]) => {
  const sub = `n-${++count}`
  return { sub, email: `${sub}@corp.example.com`, email_verified: true, name: 'Ada', groups }
}
async function signedIn(groups: string[]) {
  op.person = person(groups)
  const tab = new AdminBrowser(service, op)
  await tab.signInAsPerson()
  return { tab, id: await idOfPerson(service, op), person: op.person }
}
test('N20 an operator cannot take the subject of an admin, nor link any account to another subject', async () => {
  const admin = await signedIn([GROUPS.admin])
  const mallory = await signedIn([GROUPS.operator])
  expect((await mallory.tab.send('PATCH', `/admin/users/${admin.id}`, { oidc_subject: 'gone' })).status).toBe(403)
  expect((await mallory.tab.send('DELETE', `/admin/users/${admin.id}?force=true`)).status).toBe(204)
  for (const member of ['oidc_subject', 'provider_sub'])
    expect((await mallory.tab.send('PATCH', `/admin/users/${mallory.id}`, { [member]: admin.person.sub })).status).toBe(
      403,
    )
  op.person = admin.person
  await new FederatedBrowser(service, op).signInAt('Corporate SSO')
  expect((await mallory.tab.operator())?.capability).toBe('operator')
})

test('N20 a session of the admin page ends when the account gets another subject, and never becomes that of the subject', async () => {
  const admin = await signedIn([GROUPS.admin])
  const mallory = await signedIn([GROUPS.operator])
  await okAdmin(service, 'DELETE', `/admin/users/${admin.id}?force=true`)
  const sessions = await service.app.store.findUser({ id: mallory.id })
  // An admin who was deceived, or another path to the same row: written without the end of the sessions.
  if (sessions)
    await service.app.store.updateUser({
      user: { ...sessions, provider_sub: admin.person.sub },
      signOut: false,
      now: service.app.clock.now(),
    })
  op.person = admin.person
  await new FederatedBrowser(service, op).signInAt('Corporate SSO')
  expect(await idOfPerson(service, op)).toBe(mallory.id)
  expect([await mallory.tab.operator(), (await mallory.tab.send('GET', '/admin/stats')).status]).toEqual([
    undefined,
    401,
  ])
})

test('N20 a new subject, set by an admin, ends every session and refresh token of the user', async () => {
  const { tab, id, person: one } = await signedIn([GROUPS.viewer])
  const browser = new FederatedBrowser(service, op)
  op.person = one
  await browser.signInAt('Corporate SSO')
  expect((await browser.open(`${service.issuer}/account`)).status).toBe(200)
  await okAdmin(service, 'PATCH', `/admin/users/${id}`, { oidc_subject: `${one.sub}-anew` })
  const statuses = [(await tab.send('GET', '/admin/stats')).status]
  statuses.push((await browser.open(`${service.issuer}/account`)).status)
  expect(statuses).toEqual([401, 303])
})

test('N21 another provider of the same issuer raises no session of the admin page', async () => {
  const mallory = await signedIn([GROUPS.operator])
  op.person = { ...mallory.person, groups: [], roles: [GROUPS.admin] }
  await new FederatedBrowser(service, op).signInAt('Partner')
  expect((await service.app.store.findUser({ id: mallory.id }))?.provider_groups).toEqual([GROUPS.admin])
  expect((await mallory.tab.operator())?.capability).toBe('operator')
  expect((await mallory.tab.send('POST', '/admin/api-keys', { name: 'x', capability: 'admin' })).status).toBe(403)
})

test('N21 a higher group at the trusted provider counts after a new sign-in to the admin page', async () => {
  const { tab, person: one } = await signedIn([GROUPS.operator])
  op.person = { ...one, groups: [GROUPS.admin] }
  await new FederatedBrowser(service, op).signInAt('Corporate SSO')
  expect((await tab.operator())?.capability).toBe('operator')
  await tab.signInAsPerson()
  expect((await tab.operator())?.capability).toBe('admin')
})

test('N22 an operator who changes the email of their account does not change their name in the audit trail', async () => {
  const { tab, id, person: one } = await signedIn([GROUPS.operator])
  const email = 'ceo@corp.example.com'
  expect((await tab.send('PATCH', `/admin/users/${id}`, { email, email_verified: true })).status).toBe(200)
  expect((await tab.operator())?.actor_id).toBe(`admin:${one.email}`)
  await tab.send('PATCH', `/admin/users/${(await addUser(service)).id}/disable`)
  expect((await eventsOf(service, 'user_disabled'))[0]?.actor_id).toBe(`admin:${one.email}`)
})
