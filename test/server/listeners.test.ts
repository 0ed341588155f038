// The headers of every answer.
import { expect, test } from 'vitest'
import { addKeyedClient, tryAssertion } from '../support/assertion.ts'
import { authorizeUrl } from '../support/flow.ts'
import { startService } from '../support/service.ts'

test.each([
  ['includes subdomains by default', {}, 'max-age=63072000; includeSubDomains'],
  ['omits them when the configuration does', { SERVICE_SERVER_HSTS_INCLUDE_SUBDOMAINS: 'false' }, 'max-age=63072000'],
  ['is not sent while cookies do not need https', { SERVICE_SESSION_SECURE: 'false' }, null],
])('the Strict-Transport-Security header %s', async (_, variables, expected) => {
  const service = await startService({ SERVICE_SESSION_SECURE: 'true', ...variables })
  try {
    for (const url of [`${service.issuer}/health`, `${service.admin}/livez`])
      expect((await fetch(url)).headers.get('strict-transport-security')).toBe(expected)
  } finally {
    await service.close()
  }
})

test('only a client that exists has a place in the sums and failures, whatever its requests are refused for', async () => {
  const service = await startService()
  try {
    const client = await addKeyedClient(service)
    const expired = { claims: { exp: 1 } }
    for (const client_id of ['invented-1', 'invented-2', 'invented-3'])
      expect((await tryAssertion(service, { ...client, client_id }, expired)).status).toBe(401)
    await fetch(authorizeUrl(service, { client_id: 'invented-4', state: 'x'.repeat(13_000) }))
    expect((await tryAssertion(service, client, expired)).status).toBe(401)
    const { sums, failures } = service.app
    const ofClients = () => sums.look().flatMap((minute) => minute.sums.filter(({ kind }) => kind === 'client'))
    await expect.poll(ofClients).toMatchObject([{ name: client.client_id, requests: 1, refused: 1 }])
    expect(failures.take()).toMatchObject([{ client_id: client.client_id, reason: 'assertion_expired' }])
  } finally {
    await service.close()
  }
})
