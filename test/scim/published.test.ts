// The requests that Okta and Microsoft publish as those of their provisioning, in the order in which they send them, with all members that they have:
// https://developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20, Okta-SCIM-20-SPEC-Test.json, and
// https://learn.microsoft.com/entra/identity/app-provisioning/use-scim-to-provision-users-and-groups
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { federating } from '../support/openid_fake.ts'
import { type ScimClient, scimClient } from '../support/scim.ts'
import { startService, type TestService } from '../support/service.ts'

const USER = 'urn:ietf:params:scim:schemas:core:2.0:User'
const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group'
const LIST = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'
const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error'
const PATCH = ['urn:ietf:params:scim:api:messages:2.0:PatchOp']
const NONE = { schemas: [LIST], totalResults: 0 }

let service: TestService
beforeAll(async () => {
  service = await startService(federating('http://localhost:9', { SERVICE_SCIM_ENABLED: 'true' }))
})
afterAll(() => service.close())

describe('Okta', () => {
  let okta: ScimClient
  beforeAll(async () => {
    okta = await scimClient(service)
  })
  const find = (userName: string) =>
    okta.send('GET', `/Users?filter=${encodeURIComponent(`userName eq "${userName}"`)}&startIndex=1&count=100`)
  const profile = () => {
    const userName = `${newId()}@okta.local`
    return {
      schemas: [USER],
      userName,
      name: { givenName: 'Test', familyName: 'User' },
      emails: [{ primary: true, value: userName, type: 'work' }],
      displayName: 'Test User',
      locale: 'en-US',
      externalId: `00u${newId()}`,
      groups: [],
      password: '1mz050nq',
      active: true,
    }
  }
  async function created() {
    const sent = profile()
    const { status, body } = await okta.send('POST', '/Users', sent)
    expect(status).toBe(201)
    return { sent, body, at: `/Users/${body['id']}` }
  }

  test('asks for a name, creates the person, and gets 409 for the same one', async () => {
    const sent = profile()
    const empty = await find(sent.userName)
    expect([empty.status, empty.body]).toMatchObject([200, { ...NONE, startIndex: 1 }])
    const { status, body } = await okta.send('POST', '/Users', sent)
    const { schemas, userName, externalId, name, emails, displayName } = sent
    expect(status).toBe(201)
    expect(body).toMatchObject({ schemas, userName, externalId, name, emails, displayName, active: true, groups: [] })
    expect(body).not.toHaveProperty('password')
    expect((await find(userName.toUpperCase())).body).toMatchObject({
      totalResults: 1,
      Resources: [{ id: body['id'] }],
    })
    const again = await okta.send('POST', '/Users', sent)
    expect([again.status, again.body]).toMatchObject([409, { schemas: [ERROR], status: '409' }])
  })

  test('imports people and groups by pages of a hundred, with numbers as numbers', async () => {
    const { body } = await created()
    for (const path of [
      '/Users?count=1&startIndex=1',
      '/Users?startIndex=1&count=100',
      '/Groups?startIndex=1&count=100',
    ]) {
      const page = await okta.send('GET', path)
      expect([page.status, page.body]).toMatchObject([
        200,
        { schemas: [LIST], totalResults: expect.any(Number), startIndex: 1, itemsPerPage: expect.any(Number) },
      ])
    }
    expect((await okta.send('GET', `/Users/${body['id']}`)).body).toEqual(body)
    const unknown = await okta.send('GET', '/Users/010101001010101011001010101011')
    expect([unknown.status, unknown.body]).toMatchObject([404, { schemas: [ERROR], detail: expect.any(String) }])
  })

  test('updates a person by PUT of what it has read, and deactivates by PUT', async () => {
    const { sent, at } = await created()
    const { body } = await okta.send('GET', at)
    const name = { givenName: 'Another', middleName: 'Excited', familyName: 'User' }
    const emails = [{ ...sent.emails[0], display: sent.userName }]
    const changed = await okta.send('PUT', at, { ...body, name, emails, meta: { resourceType: 'User' } })
    expect([changed.status, changed.body]).toMatchObject([
      200,
      { name, emails, externalId: sent.externalId, active: true },
    ])
    const left = await okta.send('PUT', at, { ...changed.body, active: false })
    expect([left.status, left.body]).toMatchObject([200, { name, active: false }])
  })

  test('deactivates and activates a person by PATCH without a path', async () => {
    const { at } = await created()
    for (const active of [false, true]) {
      const { status, body } = await okta.send('PATCH', at, {
        schemas: PATCH,
        Operations: [{ op: 'replace', value: { active } }],
      })
      expect([status, body]).toMatchObject([200, { schemas: [USER], active }])
    }
  })

  test('pushes a group: name, members, all members, and its end', async () => {
    const [ada, grace] = [await created(), await created()]
    const [one, two] = [ada, grace].map(({ sent, body }) => ({ value: String(body['id']), display: sent.userName }))
    const made = await okta.send('POST', '/Groups', { schemas: [GROUP], displayName: 'Test SCIMv2', members: [] })
    expect([made.status, made.body]).toMatchObject([201, { schemas: [GROUP], displayName: 'Test SCIMv2', members: [] }])
    const id = String(made.body['id'])
    const push = async (...Operations: object[]) => {
      const { status } = await okta.send('PATCH', `/Groups/${id}`, { schemas: PATCH, Operations })
      const { body } = await okta.send('GET', `/Groups/${id}`)
      return [status, body['displayName'], (body['members'] as { value: string }[]).map(({ value }) => value).sort()]
    }
    const all = [one?.value, two?.value].sort()
    const renamed = { op: 'replace', value: { id, displayName: 'Test SCIMv20' } }
    expect(await push(renamed)).toEqual([204, 'Test SCIMv20', []])
    expect(await push({ op: 'add', path: 'members', value: [one] })).toEqual([204, 'Test SCIMv20', [one?.value]])
    const exchanged = [
      { op: 'remove', path: `members[value eq "${one?.value}"]` },
      { op: 'add', path: 'members', value: [two] },
    ]
    expect(await push(...exchanged)).toEqual([204, 'Test SCIMv20', [two?.value]])
    expect(await push({ op: 'replace', path: 'members', value: [one, two] })).toEqual([204, 'Test SCIMv20', all])
    const put = await okta.send('PUT', `/Groups/${id}`, {
      schemas: [GROUP],
      id,
      displayName: 'Test SCIMv2',
      members: [two],
    })
    expect([put.status, put.body]).toMatchObject([
      200,
      { displayName: 'Test SCIMv2', members: [{ value: two?.value }] },
    ])
    expect((await okta.send('DELETE', `/Groups/${id}`)).status).toBe(204)
  })
})

describe('Entra ID', () => {
  let entra: ScimClient
  beforeAll(async () => {
    entra = await scimClient(service)
  })
  const find = (filter: string) => entra.send('GET', `/Users?filter=${encodeURIComponent(filter)}`)
  async function created() {
    const sent = {
      schemas: [USER, 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'],
      externalId: randomUUID(),
      userName: `Test_User_${randomUUID()}`,
      active: true,
      emails: [{ primary: true, type: 'work', value: `Test_User_${randomUUID()}@testuser.com` }],
      meta: { resourceType: 'User' },
      name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'givenName' },
      roles: [],
    }
    const { status, body, headers } = await entra.send('POST', '/Users', sent)
    expect([status, headers.get('content-type')]).toEqual([201, 'application/scim+json'])
    return { sent, body, at: `/Users/${body['id']}` }
  }
  const change = (at: string, ...Operations: object[]) => entra.send('PATCH', at, { schemas: PATCH, Operations })

  test('tests the connection with a name that does not exist', async () => {
    const { status, body } = await find(`userName eq "${randomUUID()}"`)
    expect([status, body]).toMatchObject([200, { ...NONE, Resources: [] }])
    const schemas = await entra.send('GET', '/Schemas')
    expect([schemas.status, schemas.body]).toMatchObject([200, { schemas: [LIST] }])
  })

  test('creates a person, and finds that person by each attribute that may be the matching one', async () => {
    const { sent, body, at } = await created()
    const { userName, externalId, emails, name } = sent
    expect(body).toMatchObject({ schemas: [USER], userName, externalId, emails, name, active: true })
    for (const filter of [
      `userName eq "${userName}"`,
      `externalId eq "${externalId}"`,
      `emails[type eq "work"].value eq "${emails[0]?.value}"`,
    ])
      expect((await find(filter)).body, filter).toMatchObject({ totalResults: 1, Resources: [{ id: body['id'] }] })
    expect((await entra.send('GET', at)).body).toEqual(body)
    const unknown = await entra.send('GET', '/Users/5171a35d82074e068ce2')
    expect([unknown.status, unknown.body]).toMatchObject([404, { schemas: [ERROR], status: '404' }])
  })

  test('changes attributes with one value and with many, also those that are not kept', async () => {
    const { at } = await created()
    const [email, userName] = [`${newId()}@microsoft.com`, `${randomUUID()}@testuser.com`]
    const many = await change(
      at,
      { op: 'Replace', path: 'emails[type eq "work"].value', value: email },
      { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
    )
    expect([many.status, many.body]).toMatchObject([
      200,
      { emails: [{ value: email, type: 'work', primary: true }], name: { familyName: 'updatedFamilyName' } },
    ])
    const one = await change(at, { op: 'Replace', path: 'userName', value: userName })
    expect([one.status, one.body]).toMatchObject([200, { userName }])
    const others = await change(
      at,
      { op: 'Add', path: 'title', value: 'tester' },
      { op: 'Add', path: 'addresses[type eq "work"].country', value: 'ML' },
      { op: 'Add', path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department', value: 'Notes' },
      { op: 'Add', path: 'displayName', value: 'Larry Harris' },
    )
    expect([others.status, others.body]).toMatchObject([200, { userName, displayName: 'Larry Harris' }])
    expect(others.body).not.toHaveProperty('title')
  })

  test.each([false, 'False'])('disables a person with %j, and deletes the person later', async (value) => {
    const { at, sent } = await created()
    const { status, body } = await change(at, { op: 'Replace', path: 'active', value })
    expect([status, body]).toMatchObject([200, { active: false }])
    expect((await find(`userName eq "${sent.userName}"`)).body).toMatchObject({ Resources: [{ active: false }] })
    expect((await entra.send('DELETE', at)).status).toBe(204)
    expect((await entra.send('GET', at)).status).toBe(404)
  })

  test('manages a group without ever reading its members', async () => {
    const { body: person } = await created()
    const [displayName, externalId] = [`displayName ${newId()}`, randomUUID()]
    const made = await entra.send('POST', '/Groups', {
      schemas: [GROUP, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'],
      externalId,
      displayName,
      meta: { resourceType: 'Group' },
    })
    expect([made.status, made.body]).toMatchObject([201, { externalId, displayName, members: [] }])
    const at = `/Groups/${made.body['id']}`
    const byName = `filter=${encodeURIComponent(`displayName eq "${displayName}"`)}`
    const found = await entra.send('GET', `/Groups?excludedAttributes=members&${byName}`)
    expect(found.body).toMatchObject({ totalResults: 1, Resources: [{ id: made.body['id'], externalId }] })
    const read = await entra.send('GET', `${at}?excludedAttributes=members`)
    expect(read.status).toBe(200)
    expect(read.body).not.toHaveProperty('members')
    const value = [{ $ref: null, value: person['id'] }]
    const members = async () => (await entra.send('GET', at)).body['members']
    expect((await change(at, { op: 'Add', path: 'members', value })).status).toBe(204)
    expect(await members()).toMatchObject([{ value: person['id'] }])
    const isMember = encodeURIComponent(`id eq "${made.body['id']}" and members.value eq "${person['id']}"`)
    expect((await entra.send('GET', `/Groups?filter=${isMember}`)).body['totalResults']).toBe(1)
    expect((await change(at, { op: 'Remove', path: 'members', value })).status).toBe(204)
    expect(await members()).toEqual([])
    expect((await change(at, { op: 'Replace', path: 'displayName', value: `${newId()}updated` })).status).toBe(204)
    expect((await entra.send('DELETE', at)).status).toBe(204)
  })
})
