// What the token endpoint leaves in the audit trail.
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { eventsOf } from '../support/admin.ts'
import { post } from '../support/flow.ts'
import { addClient, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

test('a refusal of a client that has proved who it is is recorded with its reason, under the name of the grant', async () => {
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

test('a refusal that costs the caller nothing leaves no row', async () => {
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
