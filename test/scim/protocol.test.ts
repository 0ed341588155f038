// The protocol of SCIM as Okta and Entra ID speak it, refusals in its form, and what callers without a key can cause.
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { okAdmin } from '../support/admin.ts'
import { machineToken } from '../support/flow.ts'
import { federating } from '../support/openid_fake.ts'
import { type ScimClient, scimClient } from '../support/scim.ts'
import { addClient, startService, type TestService } from '../support/service.ts'

let service: TestService
let okta: ScimClient
beforeAll(async () => {
  const limits = { SERVICE_RATE_LIMIT_ENABLED: 'true', SERVICE_RATE_LIMIT_REQUESTS_PER_SECOND: '100000' }
  service = await startService(federating('http://localhost:9', { SERVICE_SCIM_ENABLED: 'true', ...limits }))
  okta = await scimClient(service)
})
afterAll(() => service.close())

const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error'
const aPerson = () => ({ userName: `${newId()}@example.com`, externalId: newId(), active: true })
const shown = async (id: string) => (await okta.send('GET', `/Users/${id}`)).body
const account = (id: string) => okAdmin<Record<string, unknown>>(service, 'GET', `/admin/users/${id}`)

describe('changes of a person', () => {
  test('of Okta have no path', async () => {
    const id = await okta.add(aPerson())
    await okta.patch(`/Users/${id}`, { op: 'replace', value: { active: false, displayName: 'Ada' } })
    expect(await shown(id)).toMatchObject({ active: false, displayName: 'Ada' })
  })

  test('of Entra ID have verbs in any case, booleans as text, dotted names and value filters', async () => {
    const id = await okta.add({ ...aPerson(), emails: [{ type: 'work', value: 'old@example.com', primary: true }] })
    await okta.patch(
      `/Users/${id}`,
      { op: 'Replace', path: 'active', value: 'False' },
      { op: 'Replace', path: 'emails[type eq "work"].value', value: 'new@example.com' },
      { op: 'Add', value: { 'name.givenName': 'Ada', 'name.familyName': 'Lovelace' } },
    )
    expect(await shown(id)).toMatchObject({
      active: false,
      name: { givenName: 'Ada', familyName: 'Lovelace' },
      emails: [{ type: 'work', value: 'new@example.com', primary: true }],
    })
  })

  test('are all done or none: a wrong one changes nothing', async () => {
    const id = await okta.add(aPerson())
    const { status, body } = await okta.patch(
      `/Users/${id}`,
      { op: 'replace', path: 'displayName', value: 'Changed' },
      { op: 'replace', path: 'id', value: 'x' },
    )
    expect([status, body['scimType']]).toEqual([400, 'mutability'])
    expect(await shown(id)).not.toHaveProperty('displayName')
  })

  test('a name that the provider removes is gone from the account too; one that it never had stays', async () => {
    const id = await okta.add({ ...aPerson(), name: { givenName: 'Ada', familyName: 'Lovelace' } })
    expect(await account(id)).toMatchObject({ given_name: 'Ada', family_name: 'Lovelace' })
    await okta.patch(`/Users/${id}`, { op: 'remove', path: 'name.familyName' })
    expect(await account(id)).toMatchObject({ given_name: 'Ada' })
    expect(await account(id)).not.toHaveProperty('family_name')
    const other = await okta.add(aPerson())
    await okAdmin(service, 'PATCH', `/admin/users/${other}`, { locale: 'en' }).catch(() => {})
    await okta.patch(`/Users/${other}`, { op: 'replace', path: 'displayName', value: 'Bea' })
    expect(await account(other)).toMatchObject({ name: 'Bea' })
  })

  test('an address that is marked as not the primary one keeps the mark, and of two primary ones the last is', async () => {
    const emails = ['a', 'b', 'c'].map((name, i) => ({ value: `${name}@example.com`, primary: i > 0 }))
    const id = await okta.add({ ...aPerson(), emails })
    expect(await shown(id)).toMatchObject({
      emails: [{ primary: false }, { primary: false }, { value: 'c@example.com', primary: true }],
    })
  })

  test('a name that is taken is a conflict', async () => {
    const person = aPerson()
    await okta.add(person)
    const { status, body } = await okta.send('POST', '/Users', { ...person, userName: person.userName.toUpperCase() })
    expect([status, body['scimType']]).toEqual([409, 'uniqueness'])
  })
})

describe('filters', () => {
  const find = (filter: string) => okta.send('GET', `/Users?filter=${encodeURIComponent(filter)}`)

  test('compare with eq, in any case where the attribute is, joined by and', async () => {
    const person = aPerson()
    const id = await okta.add({ ...person, emails: [{ value: person.userName }] })
    for (const filter of [
      `userName eq "${person.userName.toUpperCase()}"`,
      `externalId eq "${person.externalId}" and username eq "${person.userName}"`,
      `emails[type eq "work"].value eq "${person.userName}"`,
      `id eq "${id}"`,
    ])
      expect((await find(filter)).body, filter).toMatchObject({ totalResults: 1, Resources: [{ id }] })
    expect((await find(`id eq "${id}" and id eq "other"`)).body['totalResults']).toBe(0)
  })

  test.each(['userName sw "a"', 'userName eq "a" or id eq "b"', 'password eq "a"', 'userName eq a', ''])(
    'anything else is invalidFilter: %s',
    async (filter) => {
      const { status, body } = await find(filter)
      expect(filter === '' ? status : [status, body['scimType']]).toEqual(filter === '' ? 200 : [400, 'invalidFilter'])
    },
  )
})

describe('refusals before the operation', () => {
  test('a body that is too large is refused in the form of SCIM', async () => {
    const { status, body, headers } = await okta.send('POST', '/Users', 'x'.repeat(8 * 1024 * 1024 + 1))
    expect([status, headers.get('content-type'), body['schemas']]).toEqual([413, 'application/scim+json', [ERROR]])
  })

  test('wrong keys of one address are refused after some, and a right key of it is still accepted', async () => {
    const wrong = { authorization: `Bearer ${okta.key.slice(0, -4)}AAAA` }
    const answers: number[] = []
    for (let i = 0; i < 25; i++) answers.push((await okta.send('GET', '/Users', undefined, wrong)).status)
    expect([answers[0], answers.at(-1)]).toEqual([401, 429])
    expect((await okta.send('GET', '/Users')).status).toBe(200)
  })

  test('bodies that never end, of callers without a key, leave room for a token request that arrives in two parts', async () => {
    const { hostname, port } = new URL(service.issuer)
    const open = () =>
      new Promise<ReturnType<typeof connect>>((resolve) => {
        const socket = connect(Number(port), hostname, () => resolve(socket))
        socket.on('error', () => {})
      })
    const part = Buffer.alloc(7 * 1024 * 1024, 'x')
    const head =
      'POST /scim/v2/Users HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/scim+json\r\nContent-Length: 8000000\r\n\r\n'
    const held = await Promise.all(Array.from({ length: 12 }, open))
    await Promise.all(
      held.map(
        (socket) =>
          new Promise<void>((resolve) => socket.write(Buffer.concat([Buffer.from(head), part]), () => resolve())),
      ),
    )
    const client = await addClient(service)
    const form = `grant_type=client_credentials&client_id=${client.client_id}&client_secret=${client.client_secret}`
    const socket = await open()
    const answer = new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))))
    socket.write(
      `POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${form.length}\r\n\r\n${form.slice(0, 10)}`,
    )
    await new Promise((resolve) => setTimeout(resolve, 100))
    socket.write(form.slice(10))
    expect((await answer).split('\r\n')[0]).toBe('HTTP/1.1 200 OK')
    for (const each of [...held, socket]) each.destroy()
    expect((await machineToken(service, client, {})).status).toBe(200)
  })
})
