// Attacks with the keys that clients register, and with the servers that publish them.
import { generateKeyPairSync } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createFetcher } from '../../src/net/fetch.ts'

import { createRemoteKeys } from '../../src/net/jwks.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { addKeyedClient, askWith, keySetOf, proving, tryAssertion } from '../support/assertion.ts'
import { claimsOf, expectRefused, register } from '../support/flow.ts'
import { idpKey, TestIdp } from '../support/idp.ts'
import { REDIRECT_URI, startService, type TestService } from '../support/service.ts'
import { LOOPBACK, watchReasons } from '../support/xaa.ts'

let service: TestService
let guarded: TestService
let reasonOf: ReturnType<typeof watchReasons>
beforeAll(async () => {
  service = await startService(LOOPBACK)
  guarded = await startService()
  reasonOf = watchReasons(service)
})
afterAll(async () => {
  await service.close()
  await guarded.close()
})

const KEYED = { token_endpoint_auth_method: 'private_key_jwt' }
const pairOf = (bits: number) => generateKeyPairSync('rsa', { modulusLength: bits })
const good = (kid: string) => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...publicKey.export({ format: 'jwk' }), kid }
}
const secp = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey.export({ format: 'jwk' })
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' })
const x25519 = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' })
const [rsa, short] = [pairOf(2048), pairOf(1024).publicKey.export({ format: 'jwk' })]
const rsaKey = rsa.publicKey.export({ format: 'jwk' })
const isOther = 'must be an RSA key, an EC key of the curve P-256, or an OKP key of the curve Ed25519'

const BAD: [what: string, jwks: unknown, message: string][] = [
  ['a private EC key', { keys: [{ ...good('a'), d: 'AAAA' }] }, 'jwks.keys[0] contains a private key'],
  ['a private RSA key', { keys: [rsa.privateKey.export({ format: 'jwk' })] }, 'jwks.keys[0] contains a private key'],
  ['a symmetric key', { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] }, 'jwks.keys[0] is a symmetric key'],
  ['a symmetric key that is called another', { keys: [{ ...good('a'), k: 'c2VjcmV0' }] }, 'is a symmetric key'],
  ['a short RSA key', { keys: [short] }, 'jwks.keys[0] is an RSA key of fewer than 2048 bits'],
  ['an RSA key whose exponent is 1', { keys: [{ ...rsaKey, e: 'AQ' }] }, 'jwks.keys[0] is not a valid public key'],
  ['a key of another curve', { keys: [p384] }, isOther],
  ['a key of a curve of coins', { keys: [secp] }, isOther],
  ['a key of the curve for key agreement', { keys: [x25519] }, isOther],
  ['a point that is not on the curve', { keys: [{ ...good('a'), y: good('b').y }] }, 'is not a valid public key'],
  // Anybody could make signatures for it: 32 bytes 01 00 … 00 and 32 bytes of zeros.
  [
    'an Ed25519 key of small order',
    { keys: [{ kty: 'OKP', crv: 'Ed25519', x: `AQ${'A'.repeat(41)}` }] },
    'jwks.keys[0] is not a valid public key',
  ],
  [
    'a coordinate with a leading zero',
    { keys: [{ ...good('a'), x: `AA${good('a').x}` }] },
    'is not a valid public key',
  ],
  ['an alg of another key type', { keys: [{ ...good('a'), alg: 'RS256' }] }, 'jwks.keys[0] alg must be ES256'],
  ['a kid that is no text', { keys: [{ ...good('a'), kid: 5 }] }, 'jwks.keys[0] kid must be a text'],
  ['the same kid twice', { keys: [good('a'), good('b'), good('a')] }, 'jwks.keys have the same kid twice: a'],
  ['21 keys', { keys: Array.from({ length: 21 }, (_, i) => good(String(i))) }, 'must have at most 20 entries'],
  ['no key', { keys: [] }, 'jwks.keys must not be empty'],
  ['only a key for encryption', { keys: [{ ...good('a'), use: 'enc' }] }, 'must have a key for signatures'],
  ['a list', [good('a')], 'jwks must be a JWK set'],
  ['a text', JSON.stringify({ keys: [good('a')] }), 'jwks must be a JWK set'],
]
test.each(BAD)('S13 %s is refused wherever a client registers keys', async (_what, jwks, message) => {
  const { client_id } = await addKeyedClient(service)
  const machine = { client_name: 'Machine', grant_types: ['client_credentials'], ...KEYED, jwks }
  for (const [method, path, body] of [
    ['POST', '/admin/clients', machine],
    ['PATCH', `/admin/clients/${client_id}`, { jwks }],
  ] as const) {
    const answer = await callAdmin(service, method, path, body)
    const isObject = typeof jwks === 'object' && !Array.isArray(jwks)
    const error = isObject ? 'invalid_client_metadata' : 'invalid_request'
    expect([answer.status, answer.body['error']]).toEqual([400, error])
    expect(answer.body['error_description']).toContain(message)
  }
  const answer = await register(service, { ...KEYED, jwks })
  const body = (await answer.json()) as Record<string, unknown>
  expect([answer.status, body['error']]).toEqual([400, 'invalid_client_metadata'])
  expect(body['error_description']).toContain(message)
})

test('S13 two sources of keys, none, or keys without private_key_jwt are refused', async () => {
  const [jwks, jwks_uri] = [{ keys: [good('a')] }, 'https://client.example.com/jwks.json']
  const secret = { token_endpoint_auth_method: 'client_secret_basic' }
  for (const keys of [{ ...KEYED, jwks, jwks_uri }, KEYED, { ...secret, jwks }, { ...secret, jwks_uri }]) {
    const machine = { client_name: 'Machine', grant_types: ['client_credentials'], ...keys }
    const { status, body } = await callAdmin(service, 'POST', '/admin/clients', machine)
    expect([status, body['error']]).toEqual([400, 'invalid_client_metadata'])
  }
  const { status, body } = await callAdmin(guarded, 'POST', '/admin/clients', {
    ...{ client_name: 'Machine', grant_types: ['client_credentials'], ...KEYED },
    jwks_uri: 'http://client.example.com/jwks.json',
  })
  expect([status, body['error_description']]).toEqual([400, 'jwks_uri must use https'])
})

test('S13 keys for encryption are left out, and of each key only what is public and known is kept', async () => {
  const key = good('a')
  const jwks = {
    keys: [
      { ...good('b'), use: 'enc' },
      { ...key, use: 'sig', x5c: ['AAAA'], exp: 5 },
    ],
  }
  const answer = await register(service, { redirect_uris: [REDIRECT_URI], ...KEYED, jwks })
  expect(await answer.json()).toMatchObject({ jwks: { keys: [{ ...key, use: 'sig' }] } })
})

test('S14 a jwks_uri at a private address is never contacted', async () => {
  const trap = await TestIdp.start()
  const client = await addKeyedClient(guarded, { jwks_uri: trap.jwks_uri.replace('http:', 'https:') })
  const reason = watchReasons(guarded)
  const answer = await tryAssertion(guarded, client, {}, trap.key)
  expectRefused(answer, 'invalid_client', 401)
  expect(reason(answer)).toBe('jwks_blocked_address')
  expect(trap.connections).toBe(0)
})

const send =
  (status: number, headers: Record<string, string>, body = ''): RequestListener =>
  (_request, response) =>
    void response.writeHead(status, headers).end(body)
const JSON_TYPE = { 'content-type': 'application/json' }
const LIES: [what: string, answer: RequestListener, reason: string][] = [
  ['redirects', send(302, { location: 'http://169.254.169.254/' }), 'jwks_redirect'],
  ['is huge', send(200, JSON_TYPE, 'x'.repeat(600_000)), 'jwks_too_large'],
  ['is a page', send(200, { 'content-type': 'text/html' }, '{"keys":[]}'), 'jwks_bad_document'],
  ['is no key set', send(200, JSON_TYPE, '{"keys":7}'), 'jwks_bad_document'],
  ['is not found', send(404, {}), 'jwks_bad_document'],
]
const KEYS_OF = ['private', 'symmetric'] as const
test.each(LIES)(
  'S15 a jwks_uri whose answer %s is refused with 401, and is fetched again after a while',
  async (_what, answer, reason) => {
    const peer = await TestIdp.start()
    peer.answer = answer
    const client = await addKeyedClient(service, { jwks_uri: peer.jwks_uri })
    for (let i = 0; i < 3; i++) {
      const refused = await tryAssertion(service, client, {}, peer.key)
      expectRefused(refused, 'invalid_client', 401, { error_description: 'client authentication failed' })
      expect(reasonOf(refused)).toBe(reason)
    }
    expect(peer.fetches).toBe(1)
    delete peer.answer
    service.advance(11)
    claimsOf(await tryAssertion(service, client, {}, peer.key))
  },
)

const DOWN: [what: string, answer: RequestListener][] = [
  ['fails', send(500, {})],
  ['is too busy', send(429, {})],
  ['breaks off', (_request, response) => void response.destroy()],
]
test.each(DOWN)(
  'S15 a jwks_uri whose server %s is answered for with 503; the assertion stays usable',
  async (_what, answer) => {
    const peer = await TestIdp.start()
    peer.answer = answer
    const client = await addKeyedClient(service, { jwks_uri: peer.jwks_uri })
    const once = await proving(service, client, {}, peer.key)
    expectRefused(await askWith(service, once), 'temporarily_unavailable', 503)
    delete peer.answer
    service.advance(11)
    claimsOf(await askWith(service, once))
  },
)

test('S15 a jwks_uri whose server does not answer is given up with 503', async () => {
  const peer = await TestIdp.start()
  peer.answer = () => {}
  const client = await addKeyedClient(service, { jwks_uri: peer.jwks_uri })
  const { clientKeys, clock } = service.app
  const fetcher = createFetcher({ allowPrivate: true, userAgent: 'test' })
  const hasty: typeof fetcher = { fetch: (url, request) => fetcher.fetch(url, { ...request, timeoutMs: 50 }) }
  const impatient = createRemoteKeys({ fetcher: hasty, clock, ttl: 60, cooldown: 30, allowHttp: true })
  Object.assign(service.app, { clientKeys: { ...clientKeys, operator: impatient } })
  const answer = await tryAssertion(service, client, {}, peer.key)
  expectRefused(answer, 'temporarily_unavailable', 503)
  expect(reasonOf(answer)).toBe('jwks_timeout')
  Object.assign(service.app, { clientKeys })
})

test.each(KEYS_OF)('S15 a published %s key verifies nothing', async (kind) => {
  const peer = await TestIdp.start()
  const member = kind === 'private' ? { d: 'AAAA' } : { kty: 'oct', k: 'AAAA' }
  const [key] = peer.jwks().keys
  peer.answer = send(200, JSON_TYPE, JSON.stringify({ keys: [{ ...key, ...member }] }))
  const client = await addKeyedClient(service, { jwks_uri: peer.jwks_uri })
  expect(reasonOf(await tryAssertion(service, client, {}, peer.key))).toBe('assertion_unknown_key')
})

test('S16 kids that are not known have the keys fetched twice a minute, and the right key works all the time', async () => {
  const peer = await TestIdp.start()
  const client = await addKeyedClient(service, { jwks_uri: peer.jwks_uri })
  claimsOf(await tryAssertion(service, client, {}, peer.key))
  for (let minute = 0; minute < 2; minute++) {
    for (let i = 0; i < 10; i++)
      expectRefused(await tryAssertion(service, client, {}, await idpKey()), 'invalid_client', 401)
    expect(peer.fetches).toBe(2 + minute)
    claimsOf(await tryAssertion(service, client, {}, peer.key))
    service.advance(30)
  }
})

test('S17 the keys of an operator are replaced by a patch that names one source, and never by a client', async () => {
  const client = await addKeyedClient(service)
  const path = `/admin/clients/${client.client_id}`
  const peer = await TestIdp.start()
  const shown = await okAdmin(service, 'PATCH', path, { jwks_uri: peer.jwks_uri })
  expect(shown).toMatchObject({ jwks_uri: peer.jwks_uri })
  expect(shown).not.toHaveProperty('jwks')
  expect(reasonOf(await tryAssertion(service, client))).toBe('assertion_unknown_key')
  claimsOf(await tryAssertion(service, client, {}, peer.key))
  expect(await okAdmin(service, 'PATCH', path, { jwks: keySetOf(client.key) })).not.toHaveProperty('jwks_uri')
  claimsOf(await tryAssertion(service, client))
})

test('S15 a published key set of more than 20 keys is refused', async () => {
  const peer = await TestIdp.start()
  peer.keys = [peer.key, ...Array<typeof peer.key>(20).fill(peer.key)]
  const client = await addKeyedClient(service, { jwks_uri: peer.jwks_uri })
  expect(reasonOf(await tryAssertion(service, client, {}, peer.key))).toBe('jwks_bad_document')
})

// The last one: it uses up what the host may be asked.
test('S19 many clients that registered themselves and name one host cannot flood it: requests beyond the limit get slow_down', async () => {
  const peer = await TestIdp.start()
  const clients = await Promise.all(
    Array.from({ length: 120 }, (_, i) =>
      addKeyedClient(service, { jwks_uri: `${peer.jwks_uri}?${i}`, registration_source: 'dcr' }),
    ),
  )
  const answers = await Promise.all(clients.map((client) => tryAssertion(service, client, {}, peer.key)))
  const slowed = answers.filter(({ status }) => status === 429)
  expect(slowed.length).toBeGreaterThan(0)
  // Requests beyond the number of concurrent fetches get 503 without a fetch.
  expect(peer.fetches).toBeGreaterThan(0)
  expect(peer.fetches).toBeLessThanOrEqual(answers.filter(({ status }) => status !== 429).length)
  expect(slowed[0]?.body['error']).toBe('slow_down')
  expect(Number(slowed[0]?.headers.get('retry-after'))).toBeGreaterThan(0)
})
