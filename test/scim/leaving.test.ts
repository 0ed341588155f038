// What SCIM ends and opens, on both databases: people of another provider, sign-ins, tokens without a sign-in, groups at the same time.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { authorize, isActive, redeem, refresh } from '../support/flow.ts'
import { watchLog } from '../support/log.ts'
import { type FakeProvider, isSignedIn, openFederation, signInAt, subjectOf } from '../support/openid_fake.ts'
import { anIssuance } from '../support/records.ts'
import { type ScimClient, scimClient, scimWithAcme } from '../support/scim.ts'
import { addClient, addResource, addUser, type TestService } from '../support/service.ts'
import { storages } from '../support/storages.ts'

describe.each(storages())('on %s', (_name, env) => {
  let service: TestService
  let fake: FakeProvider
  let okta: ScimClient
  let other: ScimClient
  beforeAll(async () => {
    const acme = scimWithAcme()
    ;({ service, fake } = await openFederation({ ...(await env()), ...acme.env }, acme))
    ;[okta, other] = [await scimClient(service), await scimClient(service)]
  })
  afterAll(() => service.close())

  const aPerson = () => ({ userName: `${newId()}@example.com`, externalId: newId(), active: true })
  /** Signs a person in. Returns the browser. */
  async function signIn(person: { externalId: string; userName: string }) {
    fake.person = { sub: person.externalId, email: person.userName, email_verified: true }
    const browser = new Browser()
    await signInAt(service, fake, browser)
    return browser
  }

  test('a person who leaves has no session, no refresh token and no access token, also none without a sign-in', async () => {
    const person = aPerson()
    const id = await okta.add(person)
    const browser = await signIn(person)
    const client = await addClient(service)
    const resource = await addResource(service)
    const authorized = await authorize(service, client, { email: person.userName }, { resource: resource.uri }, browser)
    const { body } = await redeem(service, client, authorized)
    expect(subjectOf(body['access_token'])).toBe(id)
    const now = service.app.clock.now()
    const alone = anIssuance({ sub: id, client_id: client.client_id, issued_at: now, expires_at: now + 600 })
    await service.app.store.recordIssuance(alone)
    await okta.patch(`/Users/${id}`, { op: 'replace', value: { active: false } })
    await okta.patch(`/Users/${id}`, { op: 'replace', value: { active: true } })
    expect(await isActive(service, client, body['access_token'])).toBe(false)
    expect((await refresh(service, client, body['refresh_token'])).status).toBe(400)
    expect(await isSignedIn(service, browser)).toBe(false)
    const row = await service.app.store.findIssuance({ id: alone.id })
    expect(row?.revoked_at).toBeDefined()
  })

  test('another externalId of a linked person ends the sessions, and is the subject from then on', async () => {
    const person = aPerson()
    const id = await okta.add(person)
    const browser = await signIn(person)
    expect(await isSignedIn(service, browser)).toBe(true)
    const externalId = newId()
    await okta.patch(`/Users/${id}`, { op: 'replace', path: 'externalId', value: externalId })
    expect(await isSignedIn(service, browser)).toBe(false)
    await signIn({ ...person, externalId })
    const { provider_sub } = await okAdmin<{ provider_sub: string }>(service, 'GET', `/admin/users/${id}`)
    expect(provider_sub).toBe(externalId)
  })

  test('an operator who deletes a user ends the person of SCIM too, and the name is free again', async () => {
    const person = aPerson()
    const id = await okta.add(person)
    await okAdmin(service, 'DELETE', `/admin/users/${id}`)
    expect((await okta.send('GET', `/Users/${id}`)).status).toBe(404)
    expect(await okta.add(person)).not.toBe(id)
  })

  test('changes of several groups at the same time lose no group of a person', async () => {
    const id = await okta.add(aPerson())
    const names = Array.from({ length: 8 }, () => `team-${newId()}`)
    const groups = await Promise.all(names.map((displayName) => okta.send('POST', '/Groups', { displayName })))
    const value = [{ value: id }]
    const done = await Promise.all(
      groups.map(({ body }, i) =>
        (i % 2 ? other : okta).patch(`/Groups/${body['id']}`, { op: 'add', path: 'members', value }),
      ),
    )
    expect(done.map(({ status }) => status)).toEqual(names.map(() => 204))
    const user = await okAdmin<{ groups: string[] }>(service, 'GET', `/admin/users/${id}`)
    expect(user.groups).toEqual(names.toSorted())
  })

  test('changes of one person at the same time are all done', async () => {
    const id = await okta.add(aPerson())
    const parts = ['givenName', 'familyName', 'middleName']
    const done = await Promise.all(
      parts.map((part) => okta.patch(`/Users/${id}`, { op: 'replace', path: `name.${part}`, value: part })),
    )
    expect(done.map(({ status }) => status)).toEqual([200, 200, 200])
    const { body } = await okta.send('GET', `/Users/${id}`)
    expect(body['name']).toEqual({ givenName: 'givenName', familyName: 'familyName', middleName: 'middleName' })
  })

  test('a group whose members are changed is one event, and one for each account', async () => {
    const ids = await Promise.all([okta.add(aPerson()), okta.add(aPerson())])
    const members = ids.map((value) => ({ value }))
    await okta.send('POST', '/Groups', { displayName: `team-${newId()}`, members })
    const claims = (await eventsOf(service, 'user_claims_changed')).filter(({ detail }) =>
      ids.includes(String(detail['user_id'])),
    )
    expect(claims.map(({ actor_id }) => actor_id)).toEqual([`scim:${okta.name}`, `scim:${okta.name}`])
    const [made] = await eventsOf(service, 'group_created')
    expect(made).toMatchObject({ actor_id: `scim:${okta.name}`, detail: { provider: 'default' } })
  })

  test('the reference of a claim other than sub finds the person at the first sign-in only', async () => {
    const { store, clock } = service.app
    const acme = { slug: 'acme', issuer: 'https://acme.example.com', match: 'external_id', isSubject: false } as const
    const now = clock.now()
    const account = (sub?: string) => ({
      ...{ id: `u_${newId()}`, email_verified: false, name: '', role: 'user', status: 'active', provider: 'oidc' },
      ...{ provider_issuer: acme.issuer, provider_sub: sub, operator_groups: [], provider_groups: [] },
      ...{ version: 1, created_at: now, updated_at: now },
    })
    const oid = newId()
    // Who signed in before SCIM knew the person keeps the account.
    const early = account('pairwise-early') as never
    await store.saveFederatedUser({ user: early, scim: { provider: 'acme', match: 'external_id', claim: 'oid-early' } })
    const adopted = await store.createScimUser({
      provider: acme,
      user: account() as never,
      person: { userName: newId(), externalId: 'oid-early' },
      live_from: newId(),
    })
    expect(adopted).toMatchObject({ id: (early as { id: string }).id })
    const made = await store.createScimUser({
      provider: acme,
      user: account() as never,
      person: { userName: newId(), externalId: oid },
      live_from: newId(),
    })
    const id = typeof made === 'object' ? made.id : ''
    const arrive = async (sub: string) => {
      const saved = await store.saveFederatedUser({
        user: account(sub) as never,
        scim: { provider: 'acme', match: 'external_id', claim: oid },
      })
      return typeof saved === 'object' ? saved.user.id : saved
    }
    expect(await arrive('pairwise-1')).toBe(id)
    expect(await arrive('pairwise-1')).toBe(id)
    expect(await arrive('pairwise-2')).not.toBe(id)
  })

  test('a verified email is taken from a person of SCIM as long as no sign-in has linked that person', async () => {
    const acme = await scimClient(service, 'acme')
    const email = `${newId()}@example.com`
    const id = await acme.add({ userName: email, externalId: newId(), emails: [{ value: email, primary: true }] })
    await signIn({ externalId: newId(), userName: email })
    const users = await okAdmin<{ id: string }[]>(service, 'GET', `/admin/users?email=${encodeURIComponent(email)}`)
    expect(users).toHaveLength(1)
    expect(users[0]?.id).not.toBe(id)
    expect((await acme.send('GET', `/Users/${id}`)).status).toBe(200)
  })

  test('what another provider has is not there', async () => {
    const acme = await scimClient(service, 'acme')
    const id = await okta.add(aPerson())
    const group = String((await okta.send('POST', '/Groups', { displayName: newId() })).body['id'])
    for (const [method, at, body] of [
      ['GET', `/Users/${id}`],
      ['PUT', `/Users/${id}`, aPerson()],
      ['DELETE', `/Users/${id}`],
      ['GET', `/Groups/${group}`],
      ['PUT', `/Groups/${group}`, { displayName: newId() }],
      ['DELETE', `/Groups/${group}`],
    ] as const)
      expect((await acme.send(method, at, body)).status, `${method} ${at}`).toBe(404)
    expect((await acme.patch(`/Users/${id}`, { op: 'replace', value: { active: false } })).status).toBe(404)
    expect((await acme.send('GET', `/Users?filter=${encodeURIComponent(`id eq "${id}"`)}`)).body['totalResults']).toBe(
      0,
    )
    expect((await okta.send('GET', `/Users/${id}`)).body['active']).toBe(true)
  })

  test('a group of hundreds of members is patched, and its name goes with it', async () => {
    const { store } = service.app
    const local = await addUser(service)
    const ids = await Promise.all(Array.from({ length: 300 }, () => okta.add(aPerson())))
    const made = await okta.send('POST', '/Groups', { displayName: `large-${newId()}` })
    const at = `/Groups/${made.body['id']}`
    const value = [...ids, local.id].map((id) => ({ value: id }))
    expect((await okta.patch(at, { op: 'add', path: 'members', value })).status).toBe(204)
    const { body } = await okta.send('GET', at)
    expect((body['members'] as unknown[]).length).toBe(ids.length)
    expect((await store.findUser({ id: ids[0] ?? '' }))?.provider_groups).toEqual([made.body['displayName']])
    expect((await store.listUsers({ group: String(made.body['displayName']) })).length).toBe(ids.length)
    await okta.send('DELETE', at)
    expect((await store.findUser({ id: ids[0] ?? '' }))?.provider_groups).toEqual([])
    expect(await store.listUsers({ group: String(made.body['displayName']) })).toEqual([])
  })

  test('no log line and no refusal has personal data', async () => {
    const lines = watchLog(service.app.log)
    const person = { ...aPerson(), displayName: 'Ada Lovelace' }
    await okta.add(person)
    const answers = [
      await okta.send('POST', '/Users', person),
      await okta.send('POST', '/Users', { ...aPerson(), emails: 'Ada Lovelace' }),
      await okta.send('GET', `/Users?filter=${encodeURIComponent('nickName eq "Ada Lovelace"')}`),
    ]
    expect(answers.map(({ status }) => status)).toEqual([409, 400, 400])
    vi.restoreAllMocks()
    for (const text of [JSON.stringify(lines), ...answers.map(({ text }) => text)]) {
      expect(text).not.toContain('Ada Lovelace')
      expect(text).not.toContain(person.userName)
      expect(text).not.toContain(okta.key)
    }
  })
})
