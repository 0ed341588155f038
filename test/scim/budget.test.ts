// The budget of a SCIM key: requests beyond it are refused in the form of SCIM, and no other key is affected.
import { expect, test } from 'vitest'
import { federating } from '../support/openid_fake.ts'
import { scimClient } from '../support/scim.ts'
import { startService } from '../support/service.ts'

test('a key beyond its budget gets 429 with Retry-After, and another key is served', async () => {
  const limits = { SERVICE_RATE_LIMIT_ENABLED: 'true', SERVICE_SCIM_REQUESTS_PER_SECOND: '0.5' }
  const service = await startService(federating('http://localhost:9', { SERVICE_SCIM_ENABLED: 'true', ...limits }))
  const [busy, other] = [await scimClient(service), await scimClient(service)]
  expect((await busy.send('GET', '/Users')).status).toBe(200)
  const { status, headers, body } = await busy.send('GET', '/Users')
  expect(status).toBe(429)
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  expect(body).toMatchObject({ schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'], status: '429' })
  expect((await other.send('GET', '/Users')).status).toBe(200)
  await service.close()
})
