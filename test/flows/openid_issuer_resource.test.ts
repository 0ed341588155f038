// A resource with the issuer as its URI, beside the userinfo endpoint, whose tokens have the same audience.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { authorize, redeem } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_OAUTH_OPENID: 'true' })
})
afterAll(() => service.close())

test('userinfo accepts a token by what it was granted as, whichever resources exist when', async () => {
  const [client, user] = [await addClient(service, { scope: 'openid mcp:read' }), await addUser(service)]
  const issue = async (scope: string, resource?: string) => {
    const { body } = await redeem(service, client, await authorize(service, client, user, { scope, resource }))
    return String(body['access_token'])
  }
  const statusOf = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`${service.issuer}/oauth/userinfo`, { headers })).status
  }
  const before = await issue('openid')
  const { id } = await addResource(service, { uri: service.issuer })
  const beside = await issue('openid')
  const forResource = await issue('openid mcp:read', service.issuer)
  expect([await statusOf(before), await statusOf(beside), await statusOf(forResource)]).toEqual([200, 200, 401])
  await okAdmin(service, 'DELETE', `/admin/resources/${id}?cascade=true`)
  expect([await statusOf(beside), await statusOf(forResource)]).toEqual([200, 401])
})
