// Audit events of the token endpoint.
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { grants } from '../../src/grants/index.ts'
import { eventsOf } from '../support/admin.ts'
import { authorize, post, redeem } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_DEVICE_ENABLED: 'true', SERVICE_CIBA_ENABLED: 'true' })
})
afterAll(() => service.close())

test('a refusal of an authenticated client is recorded with its reason, under the denied action of its grant', async () => {
  const client = await addClient(service)
  const asked = { grant_type: 'client_credentials', scope: 'not-registered' }
  expect((await post(`${service.issuer}/oauth/token`, client, asked)).status).toBe(400)
  await vi.waitFor(async () => {
    const events = await eventsOf(service, 'client_credentials_denied')
    expect(events.filter((each) => each.client_id === client.client_id).map(({ detail }) => detail)).toEqual([
      { reason: expect.any(String) },
    ])
  })
})

test('a refusal without client authentication writes no audit event', async () => {
  const client = await addClient(service, { token_endpoint_auth_method: 'none' })
  const before = await eventsOf(service, 'token_issue_denied')
  for (const secret of ['', 'wrong'])
    await post(
      `${service.issuer}/oauth/token`,
      { ...client, client_secret: secret },
      { grant_type: 'authorization_code', code: 'x' },
    )
  await post(`${service.issuer}/oauth/token`, await addClient(service), {
    grant_type: 'authorization_code',
    code: 'x',
  })
  await vi.waitFor(async () => expect((await eventsOf(service, 'token_issue_denied')).length).toBe(before.length + 1))
})

test.each(grants.map(({ type, denied }) => [denied, type]))(
  'a refusal is audited as %s for %s',
  async (denied, grant_type) => {
    const client = await addClient(service)
    expect((await post(`${service.issuer}/oauth/token`, client, { grant_type, scope: 'not-registered' })).status).toBe(
      400,
    )
    const ofClient = async () => (await eventsOf(service, denied)).filter((each) => each.client_id === client.client_id)
    await expect.poll(async () => (await ofClient()).length).toBe(1)
  },
)

test('a reused code is recorded with its user, client and address, in either order of the uses', async () => {
  const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
  const reuses = async () =>
    (await eventsOf(service, 'auth_code_reused')).filter((each) => each.client_id === client.client_id)
  const code = await authorize(service, client, user, { resource: resource.uri })
  expect((await redeem(service, client, code)).status).toBe(200)
  expect((await redeem(service, client, code)).status).toBe(400)
  await expect.poll(reuses).toMatchObject([{ actor_id: user.id, ip: '127.0.0.1', request_id: expect.any(String) }])
  const next = await authorize(service, client, user, { resource: resource.uri }, code.browser)
  await Promise.all([redeem(service, client, next), redeem(service, client, next)])
  await expect.poll(async () => (await reuses()).map(({ actor_id }) => actor_id)).toEqual([user.id, user.id])
})
