// Retries of a refresh request within oauth.refresh_grace, over HTTP. Several instances: test/flows/instances.test.ts.
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSealer } from '../../src/crypto/seal.ts'
import { eventsOf, metricOf, okAdmin } from '../support/admin.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import { type Answer, authorize, isActive, redeem, refresh } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_OAUTH_REFRESH_GRACE: '30s' })
})
afterAll(() => service.close())

const withTokens = async (at = service, fields: Record<string, string> = {}, headers?: Record<string, string>) => {
  const [client, user, resource] = [await addClient(at, fields), await addUser(at), await addResource(at)]
  const { body } = await redeem(at, client, await authorize(at, client, user, { resource: resource.uri }), {}, headers)
  return { client, user, access_token: body['access_token'], refresh_token: body['refresh_token'] }
}
const outcome = ({ status, body }: Answer) => (status === 200 ? '200' : `${status} ${body['error']}`)

test('50 concurrent retries all get an access token and the same successor', async () => {
  const { client, refresh_token } = await withTokens()
  const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(service, client, refresh_token)))
  expect(new Set(answers.map(outcome))).toEqual(new Set(['200']))
  expect(new Set(answers.map(({ body }) => body['refresh_token'])).size).toBe(1)
  expect(new Set(answers.map(({ body }) => decodeJwt(String(body['access_token'])).jti)).size).toBe(50)
  for (const { body } of answers) expect(await isActive(service, client, body['access_token'])).toBe(true)
  expect(outcome(await refresh(service, client, answers[0]?.body['refresh_token']))).toBe('200')
})

test('two processes that share a refresh token can continue for several rotations', async () => {
  const { client, refresh_token } = await withTokens()
  const held = [refresh_token, refresh_token]
  for (let turn = 0; turn < 12; turn++) {
    const answer = await refresh(service, client, held[turn % 2])
    expect(outcome(answer)).toBe('200')
    held[turn % 2] = answer.body['refresh_token']
    service.advance(2)
  }
})

test('an old token that is used after the grace period ends the family', async () => {
  const { client, access_token, refresh_token } = await withTokens()
  const second = await refresh(service, client, refresh_token)
  service.advance(31)
  const before = await metricOf(service, 'core_refresh_token_reuse_total')
  expect(outcome(await refresh(service, client, refresh_token))).toBe('400 invalid_grant')
  expect(outcome(await refresh(service, client, second.body['refresh_token']))).toBe('400 invalid_grant')
  for (const token of [access_token, second.body['access_token']])
    expect(await isActive(service, client, token)).toBe(false)
  expect(await metricOf(service, 'core_refresh_token_reuse_total')).toBe(before + 1)
})

test('a retry consumes its proof, requires the same key, and is counted and audited as a retry', async () => {
  const [key, other] = [await proofKey(), await proofKey()]
  const { client, refresh_token } = await withTokens(
    service,
    { token_endpoint_auth_method: 'none' },
    await dpop(service, key),
  )
  const first = await refresh(service, client, refresh_token, {}, await dpop(service, key))
  const before = await metricOf(service, 'ext_refresh_retries_total')
  const proof = await dpop(service, key)
  const retry = await refresh(service, client, refresh_token, {}, proof)
  expect([retry.body['refresh_token'], retry.body['token_type']]).toEqual([first.body['refresh_token'], 'DPoP'])
  for (const headers of [proof, await dpop(service, other), {}])
    expect((await refresh(service, client, refresh_token, {}, headers)).status).toBe(400)
  expect(await metricOf(service, 'ext_refresh_retries_total')).toBe(before + 1)
  const jti = decodeJwt(String(retry.body['access_token'])).jti
  const event = (await eventsOf(service, 'token_issued')).find(({ detail }) => detail['jti'] === jti)
  expect(event).toMatchObject({ client_id: client.client_id, detail: { retry: true, grant_type: 'refresh_token' } })
  expect(await okAdmin(service, 'GET', `/admin/issuances/${jti}`)).toMatchObject({ retry: true })
})

test('a retry does not return scopes that were withdrawn from the user or the client', async () => {
  const { client, user, refresh_token } = await withTokens()
  await refresh(service, client, refresh_token)
  await okAdmin(service, 'PATCH', `/admin/users/${user.id}/disable`)
  expect(outcome(await refresh(service, client, refresh_token))).toBe('400 invalid_grant')
})

describe('a successor that cannot be derived', () => {
  test('after session.secret changed the retry is refused, and the family stays', async () => {
    const { client, access_token, refresh_token } = await withTokens()
    const second = await refresh(service, client, refresh_token)
    const { successors } = service.app
    const app = service.app as { successors: typeof successors }
    app.successors = createSealer(['another secret'])
    try {
      expect(outcome(await refresh(service, client, refresh_token))).toBe('400 invalid_grant')
    } finally {
      app.successors = successors
    }
    expect(await isActive(service, client, access_token)).toBe(true)
    expect(outcome(await refresh(service, client, second.body['refresh_token']))).toBe('200')
  })

  test('a token that was used without a grace period ends the family', async () => {
    const { client, refresh_token } = await withTokens()
    const { oauth } = service.app.config as { oauth: { refresh_grace: number } }
    oauth.refresh_grace = 0
    const second = await refresh(service, client, refresh_token)
    oauth.refresh_grace = 30
    expect(outcome(await refresh(service, client, refresh_token))).toBe('400 invalid_grant')
    expect(outcome(await refresh(service, client, second.body['refresh_token']))).toBe('400 invalid_grant')
  })
})

test('a front thread answers retries of another front thread', async () => {
  const several = await startService({ SERVICE_OAUTH_REFRESH_GRACE: '30s', SERVICE_SERVER_FRONT_THREADS: '2' })
  try {
    const { client, refresh_token } = await withTokens(several)
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(several, client, refresh_token)))
    expect(new Set(answers.map(outcome))).toEqual(new Set(['200']))
    expect(new Set(answers.map(({ body }) => body['refresh_token'])).size).toBe(1)
  } finally {
    await several.close()
  }
})
