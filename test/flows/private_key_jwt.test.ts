// Clients that authenticate with their own key (private_key_jwt), over HTTP.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { addKeyedClient, askWith, proving, tryAssertion } from '../support/assertion.ts'
import type { Changes } from '../support/dpop.ts'
import { claimsOf, expectRefused, post } from '../support/flow.ts'
import { TestIdp } from '../support/idp.ts'
import { startService, type TestService } from '../support/service.ts'
import { storeCalls } from '../support/store_calls.ts'
import { LOOPBACK, watchReasons } from '../support/xaa.ts'

let service: TestService
let reasonOf: ReturnType<typeof watchReasons>
beforeAll(async () => {
  service = await startService(LOOPBACK)
  reasonOf = watchReasons(service)
})
afterAll(() => service.close())

test.each(['ES256', 'RS256', 'PS256', 'EdDSA'])(
  'an assertion signed with %s gets a token for its client',
  async (alg) => {
    const client = await addKeyedClient(service, { alg })
    expect(claimsOf(await tryAssertion(service, client))).toMatchObject({ sub: client.client_id })
  },
)

const accepted: Record<string, () => Changes> = {
  'for the token endpoint': () => ({ claims: { aud: `${service.issuer}/oauth/token` } }),
  'for the issuer with a slash': () => ({ claims: { aud: `${service.issuer}/` } }),
  'for the issuer and other servers': () => ({ claims: { aud: ['https://other.example', service.issuer] } }),
  'without iat': () => ({ claims: { iat: undefined } }),
  'that is valid since now': () => ({ claims: { nbf: service.app.clock.now() } }),
  'that expires in ten minutes': () => ({ claims: { exp: service.app.clock.now() + 600 } }),
  'without kid': () => ({ header: { kid: undefined } }),
  'with the typ JWT': () => ({ header: { typ: 'JWT' } }),
  'with the typ client-authentication+jwt': () => ({ header: { typ: 'client-authentication+jwt' } }),
}
test.each(Object.entries(accepted))('an assertion %s is accepted', async (_what, changes) => {
  claimsOf(await tryAssertion(service, await addKeyedClient(service), changes()))
})

test('a key and an assertion may name EdDSA by its newer name (RFC 9864)', async () => {
  const client = await addKeyedClient(service, { alg: 'Ed25519' })
  expect(client.jwks?.keys[0]).toMatchObject({ alg: 'Ed25519' })
  claimsOf(await tryAssertion(service, client))
})

test('a token for an inline key costs one operation of the store, which also records the jti', async () => {
  const client = await addKeyedClient(service)
  claimsOf(await tryAssertion(service, client))
  const calls = await storeCalls(service, async () => claimsOf(await tryAssertion(service, client)))
  expect(calls).toEqual(['recordIssuance'])
})

test('an assertion authenticates at introspection and revocation, for the issuer or for that endpoint', async () => {
  const client = await addKeyedClient(service)
  const { access_token } = (await tryAssertion(service, client)).body
  for (const [path, aud] of [
    ['introspect', service.issuer],
    ['introspect', `${service.issuer}/oauth/introspect`],
    ['revoke', `${service.issuer}/oauth/revoke`],
  ]) {
    const proof = await proving(service, client, { claims: { aud } })
    const { status } = await post(`${service.issuer}/oauth/${path}`, undefined, {
      token: String(access_token),
      ...proof,
    })
    expect(status).toBe(200)
  }
})

test('the reason of a failed assertion is in the log, the client activity and the audit trail, but not in the answer', async () => {
  const client = await addKeyedClient(service)
  const answer = await tryAssertion(service, client, { header: { kid: 'unknown' } })
  expectRefused(answer, 'invalid_client', 401, { error_description: 'client authentication failed' })
  expect(reasonOf(answer)).toBe('assertion_unknown_key')
  const { client_id } = client
  const [trail] = (await okAdmin(service, 'GET', `/admin/connections?client_id=${client_id}`)) as {
    steps: object[]
  }[]
  expect(trail?.steps).toMatchObject([{ step: 'token', status: 401, reason: 'assertion_unknown_key' }])
  const event = { action: 'client_authentication_failed', client_id, detail: { reason: 'assertion_unknown_key' } }
  await expect.poll(() => okAdmin(service, 'GET', `/admin/audit?client_id=${client_id}`)).toMatchObject([event])
})

describe('a published key set', () => {
  test('a published key set is fetched once, and again for an unknown kid', async () => {
    const peer = await TestIdp.start()
    const client = await addKeyedClient(service, { jwks_uri: peer.jwks_uri })
    for (let i = 0; i < 3; i++) claimsOf(await tryAssertion(service, client, {}, peer.key))
    expect(peer.fetches).toBe(1)
    const old = await peer.rotate()
    claimsOf(await tryAssertion(service, client, {}, peer.key))
    expect(peer.fetches).toBe(2)
    expect(reasonOf(await tryAssertion(service, client, {}, old))).toBe('assertion_unknown_key')
    expect(peer.fetches).toBe(2)
  })
})

test('a client with keys is refused when it sends only its client_id', async () => {
  const { client_id } = await addKeyedClient(service)
  const answer = await askWith(service, { client_id })
  expectRefused(answer, 'invalid_client', 401, { error_description: 'client_assertion is missing' })
  expect(reasonOf(answer)).toBe('missing_assertion')
})
