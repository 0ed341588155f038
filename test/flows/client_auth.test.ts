// What a client hears whose authentication cannot even be tried.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { post } from '../support/flow.ts'
import { addClient, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const fields = { grant_type: 'client_credentials', token: 'x' }

test.each(['/oauth/token', '/oauth/introspect', '/oauth/revoke'])(
  'a client_secret without a client_id is answered "client_id is missing" at %s',
  async (path) => {
    const { client_secret } = await addClient(service)
    for (const secret of [client_secret, undefined]) {
      const { status, body } = await post(service.issuer + path, undefined, { ...fields, client_secret: secret })
      expect([status, body['error'], body['error_description']]).toEqual([
        401,
        'invalid_client',
        'client_id is missing',
      ])
    }
  },
)

test('a client assertion is refused with the methods that are offered', async () => {
  const { client_id } = await addClient(service)
  const { status, body } = await post(`${service.issuer}/oauth/token`, undefined, {
    ...fields,
    client_id,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: 'a.b.c',
  })
  expect([status, body['error']]).toEqual([401, 'invalid_client'])
  expect(body['error_description']).toBe(
    'client_assertion is not offered; use client_secret_basic or client_secret_post',
  )
})
