// The error for a client whose authentication is unavailable.
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
