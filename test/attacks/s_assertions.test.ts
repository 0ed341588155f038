// Attacks on client assertions (private_key_jwt): forgeries, confusions and replays, at the token endpoint.
import { constants, createHmac, KeyObject, sign } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import {
  addKeyedClient,
  askWith,
  assertionParts,
  JWT_BEARER_TYPE,
  type KeyedClient,
  keySetOf,
  proving,
  tryAssertion,
} from '../support/assertion.ts'
import { base64url, type Changes, forge } from '../support/dpop.ts'
import { claimsOf, expectRefused, post } from '../support/flow.ts'
import { idpKey, TestIdp } from '../support/idp.ts'
import { addClient, startService, type TestService } from '../support/service.ts'
import { LOOPBACK, watchReasons, xaaScene } from '../support/xaa.ts'

let service: TestService
let reasonOf: ReturnType<typeof watchReasons>
let client: KeyedClient
beforeAll(async () => {
  service = await startService(LOOPBACK)
  reasonOf = watchReasons(service)
  client = await addKeyedClient(service)
})
afterAll(() => service.close())

/** Checks that the answer is 401 invalid_client. Returns the reason. */
const refusal = (answer: Awaited<ReturnType<typeof askWith>>): string | undefined => {
  expectRefused(answer, 'invalid_client', 401)
  return reasonOf(answer)
}
const refused = async (changes: Changes, key?: KeyedClient['key']) =>
  refusal(await tryAssertion(service, client, changes, key))
const sendText = (client_assertion: string) =>
  askWith(service, { client_assertion, client_assertion_type: JWT_BEARER_TYPE })
/** Signs with the padding of PS256, whatever the key is for. */
const pss =
  ({ privateKey }: KeyedClient['key']) =>
  (input: string) =>
    sign('sha256', Buffer.from(input), {
      key: KeyObject.from(privateKey),
      padding: constants.RSA_PKCS1_PSS_PADDING,
      saltLength: 32,
    })
const now = () => service.app.clock.now()

test('S01 an assertion that is not signed, or with a MAC of the public key, is refused', async () => {
  const { header, claims } = assertionParts(service, client, {}, client.key)
  const mac = (key: string) => (input: string) => createHmac('sha256', key).update(input).digest()
  const keys = [JSON.stringify(client.key.jwk), JSON.stringify(keySetOf(client.key)), String(client.key.jwk.x), '']
  const forgeries = [
    forge({ ...header, alg: 'none' }, claims, () => ''),
    forge({ ...header, alg: 'None' }, claims, () => ''),
    ...keys.map((key) => forge({ ...header, alg: 'HS256' }, claims, mac(key))),
  ]
  for (const forged of forgeries) expect(refusal(await sendText(forged))).toBe('assertion_alg')
  for (const alg of ['ES384', 'RS512', 'es256', undefined, ['ES256']])
    expect(refusal(await sendText(forge({ ...header, alg }, claims, () => 'AAAA')))).toBe('assertion_alg')
  expect(refusal(await sendText(forge({ ...header, alg: 'ES256' }, claims, () => '')))).toBe('assertion_signature')
  for (const text of ['x', 'a.b.c', `${forgeries[0]}=`])
    expect(refusal(await sendText(text))).toBe('assertion_malformed')
})

test('S02 another key is never taken for that of the client: not under its kid, not in the header, not at a URL of the header', async () => {
  const [other, trap] = [await idpKey(), await TestIdp.start()]
  expect(await refused({}, { ...other, kid: client.key.kid })).toBe('assertion_signature')
  expect(await refused({}, other)).toBe('assertion_unknown_key')
  expect(await refused({ header: { jwk: other.jwk } }, other)).toBe('assertion_unknown_key')
  const header = { jku: trap.jwks_uri, x5u: trap.jwks_uri, kid: trap.key.kid }
  expect(await refused({ header }, trap.key)).toBe('assertion_unknown_key')
  expect(trap.connections).toBe(0)
  const { client_assertion } = await proving(service, client)
  const [head, body, signature = ''] = client_assertion.split('.')
  const flipped = Buffer.from(signature, 'base64url')
  flipped[5] = (flipped[5] as number) ^ 1
  expect(refusal(await sendText(`${head}.${body}.${flipped.toString('base64url')}`))).toBe('assertion_signature')
  const widened = base64url({ ...JSON.parse(atob(body ?? '')), exp: now() + 500 })
  expect(refusal(await sendText(`${head}.${widened}.${signature}`))).toBe('assertion_signature')
})

test('S03 a key is used for its own algorithm only', async () => {
  const rsa = await addKeyedClient(service, { alg: 'RS256' })
  const { header, claims } = assertionParts(service, rsa, {}, rsa.key)
  const asPss = forge({ ...header, alg: 'PS256' }, claims, pss(rsa.key))
  expect(refusal(await sendText(asPss))).toBe('assertion_key_alg')
  const asEc = forge({ ...header, alg: 'ES256' }, claims, () => Buffer.alloc(64, 1))
  expect(refusal(await sendText(asEc))).toBe('assertion_key_alg')
  // A key without alg serves both algorithms of RSA.
  const [key] = keySetOf(rsa.key).keys
  const both = await addKeyedClient(service, { jwks: { keys: [{ ...key, kty: 'RSA', alg: undefined }] } })
  claimsOf(await tryAssertion(service, both, {}, rsa.key))
})

test('S04 one kind of token is never taken for another, whatever its typ says', async () => {
  const others = ['at+jwt', 'dpop+jwt', 'logout+jwt', 'oauth-id-jag+jwt', 'secevent+jwt']
  for (const typ of [...others, 'application/at+jwt', 'AT+JWT', 7, null])
    expect(await refused({ header: { typ } })).toBe('assertion_typ')
  const scene = await xaaScene(service)
  expect(refusal(await sendText(await scene.assertion()))).toBe('assertion_typ')
  const { client_assertion } = await proving(service, client)
  const asIdJag = await scene.redeem(client_assertion)
  expectRefused(asIdJag, 'invalid_grant')
  expect(reasonOf(asIdJag)).toBe('typ')
  const { access_token } = (await tryAssertion(service, client)).body
  expect(refusal(await sendText(String(access_token)))).toBe('assertion_typ')
})

test('S05 an assertion for another server or another endpoint is refused', async () => {
  const { issuer } = service
  const elsewhere = [`${issuer}/oauth/introspect`, `${issuer}/oauth/token/`, [`${issuer}/oauth/revoke`]]
  for (const aud of elsewhere) {
    const answer = await tryAssertion(service, client, { claims: { aud } })
    expect(refusal(answer)).toBe('assertion_endpoint')
    expect(answer.body['error_description']).toContain('is another endpoint of this server')
  }
  const texts = [undefined, '', 'https://other.example', `${issuer}.evil.example`]
  const lists = [[], ['https://other.example', 'https://third.example'], [issuer, 7], [[issuer]]]
  for (const aud of [...texts, ...lists, { aud: issuer }, 7, null, issuer.toUpperCase()])
    expect(await refused({ claims: { aud } })).toBe('assertion_audience')
})

test('S06 an assertion authenticates the client that it names, and is the only authentication of a request', async () => {
  const other = await addKeyedClient(service)
  expect(await refused({ claims: { iss: undefined } })).toBe('assertion_iss')
  expect(await refused({ claims: { iss: ['a'] } })).toBe('assertion_iss')
  expect(await refused({ claims: { sub: other.client_id } })).toBe('assertion_sub')
  expect(await refused({ claims: { sub: undefined } })).toBe('assertion_sub')
  expect(await refused({ claims: { iss: other.client_id, sub: other.client_id } })).toBe('assertion_unknown_key')
  expect(await refused({ claims: { iss: 'nobody', sub: 'nobody' } })).toBe('unknown_client')
  const client_id = other.client_id
  expect(refusal(await askWith(service, { ...(await proving(service, client)), client_id }))).toBe(
    'assertion_client_id',
  )
  const secret = await addClient(service)
  const taken = { iss: secret.client_id, sub: secret.client_id }
  expect(await refused({ claims: taken })).toBe('method_not_registered')
  const proof = { grant_type: 'client_credentials', ...(await proving(service, client)) }
  const url = `${service.issuer}/oauth/token`
  for (const [by, fields] of [
    [secret, proof],
    [undefined, { ...proof, client_secret: secret.client_secret }],
  ] as const) {
    const answer = await post(url, by, fields)
    expectRefused(answer, 'invalid_request')
    expect(reasonOf(answer)).toBe('two_client_authentications')
  }
  const { client_assertion, client_assertion_type } = await proving(service, client)
  expectRefused(await post(url, undefined, { grant_type: 'client_credentials', client_assertion }), 'invalid_request')
  expectRefused(await post(url, secret, { grant_type: 'client_credentials', client_assertion_type }), 'invalid_request')
  const saml = 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer'
  const typed = await askWith(service, { client_assertion, client_assertion_type: saml })
  expect(refusal(typed)).toBe('assertion_type')
})

test('S07 an assertion holds for a short time, which must have begun', async () => {
  for (const exp of [undefined, 'soon', null]) expect(await refused({ claims: { exp } })).toBe('assertion_exp')
  expect(await refused({ claims: { exp: now() - 60 } })).toBe('assertion_expired')
  for (const exp of [now() + 3600, 1e300, now() * 1000])
    expect(await refused({ claims: { exp } })).toBe('assertion_lifetime')
  for (const iat of [now() + 120, '0']) expect(await refused({ claims: { iat } })).toBe('assertion_iat')
  const texts = [{ exp: '1' }, { iat: null }, { nbf: '0' }]
  for (const claims of texts)
    expect((await tryAssertion(service, client, { claims })).body['error_description']).toMatch(
      /^(exp|iat|nbf) of the assertion must be a number of seconds$/,
    )
  for (const nbf of [now() + 120, {}]) expect(await refused({ claims: { nbf } })).toBe('assertion_nbf')
})

test('S08 an assertion without a jti that can be remembered is refused', async () => {
  for (const jti of [undefined, '', 5, null, {}, 'x'.repeat(513)])
    expect(await refused({ claims: { jti } })).toBe('assertion_jti')
})

test('S09 a jti works once: again, in a new assertion, at another endpoint, and ten times at once', async () => {
  const once = await proving(service, client)
  claimsOf(await askWith(service, once))
  expect(refusal(await askWith(service, once))).toBe('assertion_replay')
  const claims = { jti: 'the-same' }
  claimsOf(await tryAssertion(service, client, { claims }))
  expect(await refused({ claims: { ...claims, exp: now() + 300 } })).toBe('assertion_replay')
  const elsewhere = await post(`${service.issuer}/oauth/introspect`, undefined, {
    token: 'x',
    ...(await proving(service, client, { claims })),
  })
  expect(elsewhere.status).toBe(401)
  const many = await proving(service, client)
  const answers = await Promise.all(Array.from({ length: 10 }, () => askWith(service, many)))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)])
})

test('S10 a jti is not consumed by an assertion with a wrong signature, nor by another client', async () => {
  const claims = { jti: 'of-the-client' }
  expect(await refused({ claims }, { ...(await idpKey()), kid: client.key.kid })).toBe('assertion_signature')
  claimsOf(await tryAssertion(service, await addKeyedClient(service), { claims }))
  claimsOf(await tryAssertion(service, client, { claims }))
})

test('S11 a suspended client and a removed key get nothing', async () => {
  const keyed = await addKeyedClient(service)
  const path = `/admin/clients/${keyed.client_id}`
  const next = await idpKey()
  await okAdmin(service, 'PATCH', path, { jwks: keySetOf(next) })
  expect(refusal(await tryAssertion(service, keyed))).toBe('assertion_unknown_key')
  claimsOf(await tryAssertion(service, keyed, {}, next))
  await okAdmin(service, 'PATCH', `${path}/suspend`)
  expect(refusal(await tryAssertion(service, keyed, {}, next))).toBe('client_suspended')
})

test('S12 many failed assertions of one client fill neither the audit trail nor that of others', async () => {
  const keyed = await addKeyedClient(service)
  const other = await idpKey()
  const attempts = Array.from({ length: 60 }, () => tryAssertion(service, keyed, {}, other))
  expect((await Promise.all(attempts)).map(({ status }) => status)).toEqual(Array(60).fill(401))
  await expect
    .poll(() => okAdmin(service, 'GET', `/admin/audit?client_id=${keyed.client_id}&limit=100`))
    .toSatisfy((events: unknown[]) => events.length >= 20 && events.length < 60)
})
