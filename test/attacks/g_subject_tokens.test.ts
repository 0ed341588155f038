// Attacks with subject tokens of an identity provider: section G of the attack list.
import { createHmac } from 'node:crypto'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AccessTokenClaims } from '../../src/oauth/tokens/access_token.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import { ACCESS_TOKEN, addExchanger, exchange, type Registered } from '../support/exchange.ts'
import { type Answer, expectRefused, introspect, machineToken } from '../support/flow.ts'
import { idpKey, TestIdp } from '../support/idp.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'
import { aToken, FOREIGN, ID_TOKEN, type Minted, trusting } from '../support/subject_token.ts'
import { LOOPBACK, redeemAssertion, trust, watchReasons } from '../support/xaa.ts'

let service: TestService
let gateway: Registered
let resource: { uri: string }
let idp: TestIdp
let reasonOf: ReturnType<typeof watchReasons>
beforeAll(async () => {
  service = await startService(LOOPBACK)
  reasonOf = watchReasons(service)
  gateway = await addExchanger(service, {}, { grant_types: EVERY_GRANT })
  resource = await addResource(service)
  idp = await TestIdp.start()
  // This service itself is an audience: an ID-JAG is for it too, so that only the typ tells them apart.
  await trust(service, idp, [{}], { ...trusting, audiences: [...trusting.audiences, service.issuer] })
})
afterAll(() => service.close())

const EVERY_GRANT = [
  'client_credentials',
  'urn:ietf:params:oauth:grant-type:token-exchange',
  'urn:ietf:params:oauth:grant-type:jwt-bearer',
]
const issued = async () =>
  (await service.app.store.listIssuances({ client_id: gateway.client_id, since: '', limit: 1000 })).length
const token = (minted?: Minted, of = idp) => aToken(service, of, minted)
const exchanged = (subject_token: string, fields: Record<string, unknown> = {}, client = gateway) =>
  exchange(service, client, { subject_token, resource: resource.uri, ...fields })
/** Sends a subject token, which must be refused with a reason, and must leave no token behind. */
async function refused(subject_token: string, reason: string, fields: Record<string, unknown> = {}): Promise<void> {
  const before = await issued()
  const answer: Answer = await exchanged(subject_token, fields)
  expectRefused(answer, 'invalid_grant', 400, { error_description: 'the subject token is not valid' })
  expect(reasonOf(answer)).toBe(reason)
  expect(await issued()).toBe(before)
}
const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
const good = async () => decodeJwt(await token())

describe('G20 a subject token whose alg is changed', () => {
  test('to none, in any spelling and without a signature, is refused', async () => {
    for (const alg of ['none', 'None', 'NONE', ''])
      await refused(`${encoded({ alg, typ: 'at+jwt' })}.${encoded(await good())}.`, 'alg')
  })

  test('to HS256 with the public key of the provider as the secret is refused', async () => {
    const { jwk, kid } = idp.key
    for (const secret of [JSON.stringify(jwk), JSON.stringify(idp.jwks()), String(jwk.x)]) {
      const input = `${encoded({ alg: 'HS256', typ: 'at+jwt', kid })}.${encoded(await good())}`
      await refused(`${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`, 'alg')
    }
  })

  test('to another one that the key of that kid cannot have made is refused', async () => {
    const [head, ...rest] = (await token()).split('.')
    const header = JSON.parse(Buffer.from(head ?? '', 'base64url').toString()) as object
    for (const alg of ['ES384', 'RS256', 'PS256'])
      await refused([encoded({ ...header, alg }), ...rest].join('.'), 'unknown_key')
  })

  test('or whose signature is of another key, also with the kid of the provider, is refused', async () => {
    const other = await idpKey('ES256', idp.key.kid)
    await refused(await token({ key: other }), 'signature')
    await refused(await token({ key: await idpKey() }), 'unknown_key')
    await refused(await token({ key: other, header: { jwk: other.jwk } }), 'signature')
  })
})

describe('G21 tokens of another kind', () => {
  test.each([
    'oauth-id-jag+jwt',
    'application/oauth-id-jag+jwt',
    'logout+jwt',
    'dpop+jwt',
    'secevent+jwt',
    'token-introspection+jwt',
    'client-authentication+jwt',
    7,
    null,
  ])('a token with the typ %s is no subject token', async (typ) => {
    for (const subject_token_type of [ACCESS_TOKEN, ID_TOKEN])
      await refused(await token({ header: { typ } }), 'typ', { subject_token_type })
  })

  test('an ID-JAG that is good as an assertion is no subject token, and is not used up by the attempt', async () => {
    const now = service.app.clock.now()
    const assertion = await idp.assertion({ aud: service.issuer, client_id: gateway.client_id, now })
    await refused(assertion, 'typ')
    expect((await redeemAssertion(service, gateway, assertion, { resource: resource.uri })).status).toBe(200)
  })

  test('an access token or ID token that is good as a subject token is no assertion', async () => {
    const now = service.app.clock.now()
    for (const typ of ['at+jwt', 'JWT', undefined]) {
      const { claims } = idp.parts({ aud: service.issuer, client_id: gateway.client_id, now })
      const subject = await token({ header: { typ }, claims })
      const answer = await redeemAssertion(service, gateway, subject, { resource: resource.uri })
      expect([answer.status, answer.body['error'], reasonOf(answer)]).toEqual([400, 'invalid_grant', 'typ'])
      expect((await exchanged(subject)).status).toBe(200)
    }
  })

  test('a logout token with the typ of an ID token is no subject token', async () => {
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
    const logout = await token({ header: { typ: 'JWT' }, claims: { aud: FOREIGN.client, events } })
    for (const subject_token_type of [ACCESS_TOKEN, ID_TOKEN])
      await refused(logout, 'logout_token', { subject_token_type })
  })

  test('an access token is no ID token', async () => {
    await refused(await token(), 'typ', { subject_token_type: ID_TOKEN })
  })

  test('a token of the provider is neither an actor token nor active at introspection', async () => {
    const subject = await token()
    const answer = await exchanged(subject, { actor_token: subject, actor_token_type: ACCESS_TOKEN })
    expect([answer.body['error'], reasonOf(answer)]).toEqual(['invalid_grant', 'invalid_actor_token'])
    expect(await introspect(service, gateway, subject)).toEqual({ active: false })
  })
})

describe('G22 a subject token that crosses issuers', () => {
  test('a token of this service under the name of a provider, or of a provider under the name of this service, is refused', async () => {
    const own = String((await machineToken(service, gateway)).body['access_token'])
    const [head, , signature] = own.split('.')
    await refused(`${head}.${encoded({ ...decodeJwt(own), iss: idp.issuer })}.${signature}`, 'unknown_key')
    for (const iss of [service.issuer, `${service.issuer}/`])
      await refused(await token({ claims: { iss } }), 'invalid_subject_token')
  })

  test('a token of this service from the time when it had another issuer is refused', async () => {
    const own = String((await machineToken(service, gateway)).body['access_token'])
    const key = service.app.keyring.current()
    const former = await service.app.crypto.sign(key, {
      ...decodeJwt<AccessTokenClaims>(own),
      iss: 'https://former.example.com',
    })
    await refused(former, 'unknown_issuer')
  })

  test('a provider cannot speak for another one', async () => {
    const other = await TestIdp.start()
    await trust(service, other, [{}], trusting)
    await refused(await token({ key: other.key }), 'unknown_key')
    expect(decodeJwt(String((await exchanged(await token({}, other))).body['access_token'])).sub).toBe(
      `${other.issuer}:employee-1`,
    )
  })

  test.each([undefined, 7, '', 'https://unknown.example.com', ['x'], 'a\nb'])('iss %j is refused', async (iss) => {
    await refused(
      await token({ claims: { iss } }),
      typeof iss === 'string' && /^https/.test(iss) ? 'unknown_issuer' : 'issuer',
    )
  })
})

test.each<[unknown]>([
  [undefined],
  ['other'],
  [['other', 'third']],
  [[[FOREIGN.api]]],
  [{ [FOREIGN.api]: true }],
  [`${FOREIGN.api}/`],
  [` ${FOREIGN.api}`],
  [FOREIGN.api.toUpperCase()],
  [`${FOREIGN.api} other`],
  [[]],
  [''],
])('G23 a subject token with the aud %j, which is not exactly an audience of its provider, is refused', async (aud) => {
  await refused(await token({ claims: { aud } }), 'audience')
})

describe('G24 times of a subject token', () => {
  const at = (offset: number) => service.app.clock.now() + offset
  test.each<[string, () => Record<string, unknown>, string]>([
    ['has expired', () => ({ exp: at(-1) }), 'expired'],
    ['expires now', () => ({ exp: at(0) }), 'expired'],
    ['never expires', () => ({ exp: undefined }), 'expired'],
    ['has an exp that is a text', () => ({ exp: String(at(60)) }), 'expired'],
    ['has an exp in milliseconds', () => ({ exp: at(60) * 1000 }), 'expired'],
    ['is not valid yet', () => ({ nbf: at(600) }), 'nbf'],
    ['has an nbf that is a text', () => ({ nbf: '0' }), 'nbf'],
    ['was issued in the future', () => ({ iat: at(600) }), 'iat'],
    ['has an iat that is a text', () => ({ iat: 'now' }), 'iat'],
  ])('a token that %s is refused', async (_, claims, reason) => refused(await token({ claims: claims() }), reason))

  test('exchanged shortly before it expires, again and again, nothing lives longer', async () => {
    const exp = at(30)
    const subject = await token({ claims: { exp } })
    for (let n = 0; n < 3; n++) {
      const { body } = await exchanged(subject)
      expect(decodeJwt(String(body['access_token'])).exp).toBe(exp)
      expect(Number(body['expires_in'])).toBeLessThanOrEqual(30)
    }
  })
})

describe('G25 claims of a subject token that cannot be kept', () => {
  const deep = (levels: number): object => (levels === 0 ? { sub: 'x' } : { sub: 'x', act: deep(levels - 1) })
  test.each<[string, Record<string, unknown>, string]>([
    ['actors that are nested beyond token_exchange.max_chain_depth', { act: deep(5) }, 'act'],
    ['actors that are nested 300 deep', { act: deep(300) }, 'invalid_subject_token'],
    ['an actor without a sub', { act: { iss: 'x' } }, 'act'],
    ['an actor that is a text', { act: 'x' }, 'act'],
    ['an actor that is null', { act: null }, 'act'],
    ['a binding by a certificate', { cnf: { 'x5t#S256': 'x' } }, 'cnf'],
    ['two bindings', { cnf: { jkt: 'x', 'x5t#S256': 'x' } }, 'cnf'],
    ['an empty binding', { cnf: {} }, 'cnf'],
    ['authorization_details', { authorization_details: [] }, 'authorization_details'],
    ['no sub', { sub: undefined }, 'sub'],
    ['a sub with a line break', { sub: 'a\nb' }, 'sub'],
    ['a sub of 1100 bytes', { sub: 'x'.repeat(1100) }, 'sub'],
  ])('%s: refused', async (_, claims, reason) => refused(await token({ claims }), reason))

  test('with an actor token the whole chain must fit too', async () => {
    const actor = (await machineToken(service, gateway, { scope: 'mcp:read' })).body['access_token']
    const fields = { actor_token: actor, actor_token_type: ACCESS_TOKEN }
    expect((await exchanged(await token({ claims: { act: deep(3) } }), fields)).status).toBe(200)
    const answer = await exchanged(await token({ claims: { act: deep(4) } }), fields)
    expect([answer.body['error'], reasonOf(answer)]).toEqual(['invalid_request', 'chain_too_deep'])
  })
})

describe('G26 who exchanges a subject token', () => {
  test('a public client, and a client without the grant, are refused', async () => {
    const open = await addClient(service, { token_endpoint_auth_method: 'none' }, { grant_types: EVERY_GRANT })
    const machine = await addClient(service)
    const subject = await token()
    const errors = [open, machine].map(async (client) => (await exchanged(subject, {}, client)).body['error'])
    expect(await Promise.all(errors)).toEqual(['invalid_client', 'unauthorized_client'])
  })

  test('the sub of a subject cannot be the id of a client or user here', async () => {
    const { body } = await exchanged(await token({ claims: { sub: gateway.client_id } }))
    expect(decodeJwt(String(body['access_token'])).sub).toBe(`${idp.issuer}:${gateway.client_id}`)
  })

  test('a client that always proves a key gets nothing without a proof', async () => {
    const bound = await addExchanger(service, { dpop_bound_access_tokens: true })
    const subject = await token()
    expect((await exchanged(subject, {}, bound)).body['error']).toBe('invalid_dpop_proof')
    const proof = await dpop(service, await proofKey())
    const answer = await exchange(service, bound, { subject_token: subject, resource: resource.uri }, proof)
    expect(answer.body['token_type']).toBe('DPoP')
  })
})

test('G27 unknown keys make the provider fetch at most once in a while, and a provider without subject_tokens is never asked', async () => {
  const [trusted, other] = [await TestIdp.start(), await TestIdp.start()]
  await trust(service, trusted, [{}], trusting)
  await trust(service, other)
  for (let n = 0; n < 10; n++) {
    await refused(await token({ key: await idpKey() }, trusted), 'unknown_key')
    await refused(await token({ key: await idpKey() }, other), 'subject_tokens_off')
  }
  expect([trusted.fetches <= 2, other.fetches]).toEqual([true, 0])
})
