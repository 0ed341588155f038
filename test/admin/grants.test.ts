import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { authorize, isActive, redeem, refresh } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

interface Grants {
  consent_grants: { id: string; client_id: string; resource_id: string; scopes: string[]; revoked_at?: string }[]
  broker_grants: object[]
}
const grantsOf = (id: string) => okAdmin<Grants>(service, 'GET', `/admin/users/${id}/grants`)

async function consented() {
  const [user, client, server] = [await addUser(service), await addClient(service), await addClient(service)]
  const resource = await addResource(service, {
    policy: { runtime: { client_ids: [server.client_id, client.client_id] } },
  })
  const authorized = await authorize(service, client, user, { resource: resource.uri, scope: 'mcp:read mcp:write' })
  const { body } = await redeem(service, client, authorized)
  const isLive = () => isActive(service, server, body['access_token'])
  return { user, client, resource, refresh_token: body['refresh_token'], isLive }
}

test('the consents, families and connections of a user are shown', async () => {
  const { user, client, resource } = await consented()
  expect(await grantsOf(user.id)).toEqual({
    consent_grants: [
      {
        id: expect.any(String),
        user_id: user.id,
        client_id: client.client_id,
        resource_id: resource.id,
        resource_slug: resource.slug,
        scopes: ['mcp:read', 'mcp:write'],
        created_at: expect.stringMatching(/Z$/),
        updated_at: expect.stringMatching(/Z$/),
      },
    ],
    broker_grants: [],
  })
})

test('a user without consents has empty lists', async () => {
  expect(await grantsOf((await addUser(service)).id)).toEqual({ consent_grants: [], broker_grants: [] })
})

test('revoking a consent revokes its tokens at once, records one event and keeps the consent in the list', async () => {
  const { user, client, refresh_token, isLive } = await consented()
  expect(await isLive()).toBe(true)
  const [grant] = (await grantsOf(user.id)).consent_grants
  for (const _round of [1, 2]) await okAdmin(service, 'DELETE', `/admin/grants/consent/${grant?.id}`)
  expect(await isLive()).toBe(false)
  expect((await refresh(service, client, refresh_token)).body['error']).toBe('invalid_grant')
  expect((await grantsOf(user.id)).consent_grants[0]?.revoked_at).toMatch(/Z$/)
  const events = (await eventsOf(service, 'consent_revoked')).filter(({ client_id }) => client_id === client.client_id)
  expect(events.map(({ detail }) => [detail['user_id'], detail['families']])).toEqual([[user.id, 1]])
})

test.each(['nothing-here', newId(), '%20', 'x'.repeat(257)])(
  'an unknown consent %s is not found, or refused',
  async (id) => {
    const { status } = await callAdmin(service, 'DELETE', `/admin/grants/consent/${id}`)
    expect(status).toBe(id.length > 256 ? 400 : 404)
  },
)
