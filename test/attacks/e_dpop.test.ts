// Attacks with DPoP proofs: section E of the attack list, one test per row.
import { createHash, createPublicKey, generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { spyOnFetches } from '../support/documents.ts'
import {
  base64url,
  type Changes,
  expectProofRefused,
  forge,
  macOf,
  type ProofKey,
  proofKey,
  proofOf,
  proofParts,
  signedBy,
} from '../support/dpop.ts'
import { actorOf, exchangeScene, type Registered } from '../support/exchange.ts'
import { type Answer, authorize, machineToken, redeem, refresh } from '../support/flow.ts'
import { addClient, addUser, startService, type TestService } from '../support/service.ts'
import { Wire } from '../support/wire.ts'

// The issuer has the default port, and the test listens on another one: only the issuer counts.
const ISSUER = 'http://localhost'
let service: TestService
let client: Registered
let key: ProofKey
let other: ProofKey
beforeAll(async () => {
  service = await startService({ SERVICE_SERVER_ISSUER: ISSUER })
  ;[client, key, other] = [await addClient(service), await proofKey(), await proofKey()]
})
afterAll(() => service.close())
afterEach(() => {
  vi.restoreAllMocks()
})

const send = (dpop: string, at = service, by = client) => machineToken(at, by, {}, { dpop })
const sendProof = async (changes: Changes = {}, by = key, at = service) => send(await proofOf(at, by, changes), at)

function expectBound({ status, body }: Answer) {
  expect([status, body['token_type']], JSON.stringify(body)).toEqual([200, 'DPoP'])
}

test('E01 a proof that is used a second time is refused', async () => {
  const proof = await proofOf(service, key)
  expectBound(await send(proof))
  expectProofRefused(await send(proof))
})

// Two processes share PostgreSQL, whose index decides which use was first. Here it is made to report another use.
describe('E02 the same proof was used at another instance first: the database reports it, and nothing is issued', () => {
  const usedBefore = Object.assign(new Error('it was used before'), { code: 'USED_BEFORE dpop' })
  const first = (op: 'recordIssuance' | 'redeemCode' | 'rotateRefreshToken' | 'recordExchange') =>
    vi.spyOn(service.app.store, op).mockRejectedValueOnce(usedBefore)

  test('client_credentials refuses the proof', async () => {
    first('recordIssuance')
    expectProofRefused(await sendProof())
  })

  test('the code and refresh grants refuse the proof, and the code and the refresh token stay valid', async () => {
    const proof = async () => ({ dpop: await proofOf(service, key) })
    const authorized = await authorize(service, client, await addUser(service))
    first('redeemCode')
    expectProofRefused(await redeem(service, client, authorized, {}, await proof()))
    const answer = await redeem(service, client, authorized, {}, await proof())
    expectBound(answer)
    const { refresh_token } = answer.body
    first('rotateRefreshToken')
    expectProofRefused(await refresh(service, client, refresh_token, {}, await proof()))
    expectBound(await refresh(service, client, refresh_token, {}, await proof()))
  })

  test('token exchange refuses the proof', async () => {
    const { exchanged, gateway } = await exchangeScene(service)
    first('recordExchange')
    expectProofRefused(await exchanged({}, gateway, { dpop: await proofOf(service, key) }))
  })
})

test('E04 a jti that another key used is accepted with the key of its owner', async () => {
  const claims = { jti: 'guessed' }
  expectBound(await sendProof({ claims }, other))
  expectBound(await sendProof({ claims }, key))
  expectProofRefused(await sendProof({ claims }, key))
})

// Query and fragment are ignored (RFC 9449 §4.3): a proof that has them is accepted.
test.each([
  'HTTP://LOCALHOST/oauth/token',
  'http://localhost:80/oauth/token',
  'http://localhost/%6Fauth/tok%65n',
  'http://localhost/./oauth/./token',
  'http://localhost/x/../oauth/token',
  'http://localhost/%2e/oauth/token',
  'http://localhost/oauth/token?q',
  'http://localhost/oauth/token?a=/../b#f',
  'http://localhost/oauth/token#f',
])('E05 htu %s is the token endpoint', async (htu) => {
  expectBound(await sendProof({ claims: { htu } }))
})

test.each([
  ['another host', 'http://example.com/oauth/token'],
  ['a host that ends in it', 'http://localhost.example.com/oauth/token'],
  ['a host with a dot behind', 'http://localhost./oauth/token'],
  ['another name of this machine', 'http://127.0.0.1/oauth/token'],
  ['the issuer as the user of another host', 'http://localhost:80@evil.example/oauth/token'],
  ['a user at the issuer', 'http://user@localhost/oauth/token'],
  ['a slash behind', 'http://localhost/oauth/token/'],
  ['two slashes', 'http://localhost/oauth//token'],
  ['two slashes in front', 'http://localhost//oauth/token'],
  ['an escaped slash', 'http://localhost/oauth%2Ftoken'],
  ['a parameter', 'http://localhost/oauth/token;x'],
  ['another case', 'http://localhost/OAuth/Token'],
  ['another endpoint', 'http://localhost/oauth/introspect'],
  ['another port', 'http://localhost:8080/oauth/token'],
  ['https', 'https://localhost/oauth/token'],
  ['https on port 80', 'https://localhost:80/oauth/token'],
  ['the issuer alone', 'http://localhost'],
  ['nothing', ''],
  ['a path', '/oauth/token'],
  ['no scheme', '//localhost/oauth/token'],
  ['one slash', 'http:/localhost/oauth/token'],
  ['backslashes', 'http:\\\\localhost\\oauth\\token'],
  ['a line break', 'http://localhost/oauth/token\n'],
  ['blanks', ' http://localhost/oauth/token '],
  ['a list', ['http://localhost/oauth/token']],
  ['a number', 1],
  ['null', null],
  ['no htu', undefined],
  ['longer than any of ours', `http://localhost/oauth/token?${'x'.repeat(3000)}`],
])('E06 htu that is %s is refused', async (_what, htu) => {
  expectProofRefused(await sendProof({ claims: { htu } }))
})

test('E06 neither the address of a request nor its Host header is compared with htu', async () => {
  expectProofRefused(await sendProof({ claims: { htu: `${service.issuer}/oauth/token` } }))
})

test.each(['post', 'POST ', 'GET', 'PUT', '', ['POST'], null, undefined])('E08 htm %j is refused', async (htm) => {
  expectProofRefused(await sendProof({ claims: { htm } }))
})

describe('E09 times', () => {
  const now = () => service.app.clock.now()
  const odd: [string, () => Record<string, unknown>][] = [
    ['iat too old', () => ({ iat: now() - 62 })],
    ['iat in the future', () => ({ iat: now() + 61 })],
    ['iat in milliseconds', () => ({ iat: now() * 1000 })],
    ['iat as text', () => ({ iat: String(now()) })],
    ['iat negative', () => ({ iat: -now() })],
    ['iat zero', () => ({ iat: 0 })],
    ['iat in a list', () => ({ iat: [now()] })],
    ['iat NaN, which is null in JSON', () => ({ iat: Number.NaN })],
    ['iat true', () => ({ iat: true })],
    ['no iat', () => ({ iat: undefined })],
    ['exp past', () => ({ exp: now() - 1 })],
    ['exp as text', () => ({ exp: String(now() + 60) })],
    ['nbf in the future', () => ({ nbf: now() + 60 })],
    ['nbf as text', () => ({ nbf: String(now()) })],
  ]
  test.each(odd)('iat %s is refused', async (_what, claims) => {
    expectProofRefused(await sendProof({ claims: claims() }))
  })

  test.each(['1e400', '-1e400', '1e-400'])('iat %s is refused', async (iat) => {
    const { header, claims } = proofParts(service, key)
    expectProofRefused(
      await send(forge(header, JSON.stringify(claims).replace(/"iat":\d+/, `"iat":${iat}`), signedBy(key))),
    )
  })
})

describe('E10 algorithms and keys', () => {
  // With the exponent 1, EMSA-PKCS1-v1_5 (RFC 8017 §9.2) is the signature itself, so no private key is needed.
  const asItsOwnSignature = (input: string) => {
    const info = Buffer.from('3031300d060960864801650304020105000420', 'hex')
    const digest = createHash('sha256').update(input).digest()
    const padding = Buffer.alloc(256 - 3 - info.length - digest.length, 0xff)
    return Buffer.concat([Buffer.of(0, 1), padding, Buffer.of(0), info, digest])
  }
  test('an RSA key with the exponent 1 is refused, because anyone can sign with it', async () => {
    const rsa = await proofKey('RS256')
    const { header, claims } = proofParts(service, { ...rsa, jwk: { ...rsa.jwk, e: 'AQ' } })
    expectProofRefused(await send(forge(header, claims, asItsOwnSignature)))
  })

  test.each([
    ['one byte more', (bytes: Buffer) => Buffer.concat([Buffer.of(0), bytes])],
    ['one byte less', (bytes: Buffer) => bytes.subarray(1)],
  ])('EC coordinates of %s: another thumbprint for one key', async (_, respelled) => {
    const spell = (member: string | undefined) =>
      respelled(Buffer.from(member ?? '', 'base64url')).toString('base64url')
    // A coordinate that begins with a zero can omit it without being another number.
    let ec = await proofKey()
    while (Buffer.from(ec.jwk.x ?? '', 'base64url')[0] !== 0) ec = await proofKey()
    expectProofRefused(await sendProof({ header: { jwk: { ...ec.jwk, x: spell(ec.jwk.x) } } }, ec))
    expectBound(await sendProof({}, ec))
  })

  test('an RSA modulus with a leading zero is refused, because the key would have a second thumbprint', async () => {
    const rsa = await proofKey('RS256')
    const n = Buffer.concat([Buffer.of(0), Buffer.from(rsa.jwk.n ?? '', 'base64url')]).toString('base64url')
    expectProofRefused(await sendProof({ header: { jwk: { ...rsa.jwk, n } } }, rsa))
    expectBound(await sendProof({}, rsa))
  })

  const made = (header: Record<string, unknown>, signature: (input: string) => Buffer | string) => {
    const parts = proofParts(service, key, { header })
    return forge(parts.header, parts.claims, signature)
  }
  const RIGHT = () => signedBy(key)
  const oct = { kty: 'oct', k: base64url('secret') }

  test.each<[string, () => string | Promise<string>]>([
    ['none', () => made({ alg: 'none' }, () => '')],
    ['NoNe', () => made({ alg: 'NoNe' }, () => '')],
    ['none with a right signature', () => made({ alg: 'none' }, RIGHT())],
    ['HS256 with a symmetric key', () => made({ alg: 'HS256', jwk: oct }, macOf('secret'))],
    ['ES256 with a symmetric key', () => made({ jwk: oct }, macOf('secret'))],
    ['HS256 keyed with the public key as JWK', () => made({ alg: 'HS256' }, macOf(JSON.stringify(key.jwk)))],
    [
      'HS256 keyed with the coordinates of the public key',
      () => made({ alg: 'HS256' }, macOf(Buffer.from(String(key.jwk.x), 'base64url'))),
    ],
    ['ES256 with blanks', () => made({ alg: 'ES256 ' }, RIGHT())],
    ['es256', () => made({ alg: 'es256' }, RIGHT())],
    ['a list', () => made({ alg: ['ES256'] }, RIGHT())],
    ['null', () => made({ alg: null }, RIGHT())],
    ['nothing', () => made({ alg: undefined }, RIGHT())],
    ['__proto__', () => made({ alg: '__proto__' }, RIGHT())],
    ['RS256 for an EC key', () => made({ alg: 'RS256' }, RIGHT())],
  ])('%s is refused', async (_what, make) => {
    expectProofRefused(await send(await make()))
  })

  test.each(['ES384', 'ES512', 'EdDSA', 'RS384', 'PS512'])(
    '%s is refused, though its key and signature are right',
    async (alg) => {
      expectProofRefused(await sendProof({}, await proofKey(alg)))
    },
  )

  test('HS256 with the PEM of the public key as its secret is refused', async () => {
    const pem = createPublicKey({ key: key.jwk as JsonWebKey, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
    for (const secret of [pem, String(pem).trim()])
      expectProofRefused(await send(made({ alg: 'HS256' }, macOf(secret))))
  })

  test('a key that does not match its algorithm, and a signature of another key or padding, are refused', async () => {
    const rsa = await proofKey('RS256')
    expectProofRefused(await sendProof({ header: { jwk: key.jwk } }, rsa))
    expectProofRefused(await sendProof({ header: { jwk: rsa.jwk } }))
    expectProofRefused(await sendProof({ header: { jwk: other.jwk } }))
    expectProofRefused(await send(made({ alg: 'PS256', jwk: rsa.jwk }, signedBy(rsa))))
    expectBound(await send(made({ alg: 'RS256', jwk: rsa.jwk }, signedBy(rsa))))
  })

  test.each([1024, 2047])('an RSA key of %i bits is refused', async (modulusLength) => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength })
    const jwk = publicKey.export({ format: 'jwk' })
    expectProofRefused(await send(made({ alg: 'RS256', jwk }, signedBy({ privateKey }))))
  })

  test('a private key in the header is refused, with each private member', async () => {
    const whole = await exportJWK(key.privateKey)
    const rsa = await proofKey('RS256')
    const wholeRsa = await exportJWK(rsa.privateKey)
    expectProofRefused(await sendProof({ header: { jwk: whole } }))
    expectProofRefused(await sendProof({ header: { jwk: wholeRsa } }, rsa))
    for (const member of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])
      expectProofRefused(await sendProof({ header: { jwk: { ...key.jwk, [member]: 'x' } } }))
  })

  test.each<[string, unknown]>([
    ['missing', undefined],
    ['null', null],
    ['text', 'x'],
    ['a list', []],
    ['empty', {}],
    ['of an unknown type', { kty: 'XX' }],
    ['without y', { kty: 'EC', crv: 'P-256', x: 'AAAA' }],
    ['no point of the curve', { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA' }],
  ])('a jwk that is %s is refused', async (_what, jwk) => {
    expectProofRefused(await sendProof({ header: { jwk } }))
  })
})

describe('E12 further header members', () => {
  test('members that refer to keys elsewhere are ignored, and nothing is fetched', async () => {
    let connections = 0
    const listener = createServer().on('connection', () => connections++)
    await once(listener.listen(0, '127.0.0.1'), 'listening')
    const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/keys.json`
    const fetches = spyOnFetches(service)
    for (const header of [
      { kid: other.jkt },
      { kid: '../../etc/passwd' },
      { jku: url },
      { jku: 'http://169.254.169.254/' },
      { x5u: url },
      { x5c: ['AAAA'] },
      { x5t: 'AAAA' },
    ])
      expectBound(await sendProof({ header }))
    expect(fetches.count()).toBe(0)
    expect(connections).toBe(0)
    listener.close()
  })

  test.each([
    { crit: ['exp'], exp: 1 },
    { crit: [] },
    { crit: ['b64'], b64: false },
    { b64: false },
    { b64: true },
    { zip: 'DEF' },
  ])('that would change what is signed are refused: %j', async (header) => {
    const parts = proofParts(service, key, { header })
    expectProofRefused(await send(forge(parts.header, parts.claims, signedBy(key))))
  })
})

// The type is compared exactly, because no client writes it in another case.
test.each(['JWT', 'DPoP+JWT', 'DPOP+JWT', 'application/dpop+jwt', 'at+jwt', 'oauth-id-jag+jwt', '', null, undefined])(
  'E13 typ %j is refused',
  async (typ) => {
    expectProofRefused(await sendProof({ header: { typ } }))
  },
)

describe('E14 jti', () => {
  test.each([undefined, '', null, 1, { a: 1 }, ['x'], 'x'.repeat(513)])('%.30j is refused', async (jti) => {
    expectProofRefused(await sendProof({ claims: { jti } }))
  })

  test('a jti of a megabyte is refused before any check, and the service keeps working', async () => {
    const wire = await Wire.open(Number(new URL(service.issuer).port), 'localhost')
    const proof = await proofOf(service, key, { claims: { jti: 'x'.repeat(1_000_000) } })
    wire.send(`POST /oauth/token HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\ndpop: ${proof}\r\n\r\n`)
    await wire.closed(5000).catch(() => {})
    expect(wire.text).not.toContain('200 OK')
    wire.leave()
    expectBound(await sendProof())
  })

  // The behaviour at ten thousand proofs a second is tested in test/lib/replay_set.test.ts: 503, and nothing is evicted.
  test('a used jti is remembered until its proof has expired, and then removed', async () => {
    const at = await startService()
    try {
      const by = await addClient(at)
      const proofs = await Promise.all(Array.from({ length: 30 }, () => proofOf(at, key)))
      for (const proof of proofs) expectBound(await send(proof, at, by))
      expect(at.app.replays).toHaveProperty('size', 30)
      at.advance(60)
      expectProofRefused(await send(proofs[0] as string, at, by))
      expect(at.app.replays).toHaveProperty('size', 30)
      at.advance(12)
      expectBound(await send(await proofOf(at, key), at, by))
      expect(at.app.replays).toHaveProperty('size', 1)
    } finally {
      await at.close()
    }
  })
})

test('E16 a nonce that is missing, forged, of another service, changed or too old is refused, and a new one is sent', async () => {
  const strict = { SERVICE_DPOP_REQUIRE_NONCE: 'true' }
  const at = await startService({ ...strict, SERVICE_SESSION_SECRET: 'one secret of at least thirty-two bytes' })
  const elsewhere = await startService({ ...strict, SERVICE_SESSION_SECRET: 'two secret of at least thirty-two bytes' })
  try {
    const [by, there] = [await addClient(at), await addClient(elsewhere)]
    const ask = async (nonce: unknown) => send(await proofOf(at, key, { claims: { nonce } }), at, by)
    const foreign = await send(await proofOf(elsewhere, key), elsewhere, there)
    const nonce = (await ask(undefined)).headers.get('dpop-nonce') ?? ''
    const changed = nonce.replace(/.$/, (char) => (char === 'A' ? 'Q' : 'A'))
    for (const bad of [undefined, '', 'x', `${nonce}x`, changed, foreign.headers.get('dpop-nonce'), null, 1]) {
      const answer = await ask(bad)
      expectProofRefused(answer, 'use_dpop_nonce')
      expect(answer.headers.get('dpop-nonce')).toMatch(/^[a-z0-9]+\.[A-Za-z0-9_-]{22}$/)
    }
    expectBound(await ask(nonce))
    at.advance(61)
    expectProofRefused(await ask(nonce), 'use_dpop_nonce')
  } finally {
    await Promise.all([at.close(), elsewhere.close()])
  }
})

test('E17 with DPoP disabled a proof is ignored, and the metadata does not offer DPoP', async () => {
  const off = await startService({ SERVICE_DPOP_ENABLED: 'false' })
  try {
    const answer = await send(await proofOf(off, key), off, await addClient(off))
    expect([answer.status, answer.body['token_type']]).toEqual([200, 'Bearer'])
    const metadata = await fetch(`${off.issuer}/.well-known/oauth-authorization-server`)
    expect(await metadata.json()).not.toHaveProperty('dpop_signing_alg_values_supported')
  } finally {
    await off.close()
  }
})

test('E18 a client that registered for bound tokens gets no token without a proof, at any grant', async () => {
  const { gateway, exchanged, app } = await exchangeScene(service)
  const authorized = await authorize(service, app, await addUser(service))
  const actor = await actorOf(service, gateway)
  for (const each of [gateway, app]) await service.app.store.updateClient({ ...each, dpop_bound_access_tokens: true })
  expectProofRefused(await redeem(service, app, authorized))
  expectProofRefused(await machineToken(service, app))
  expectProofRefused(await exchanged())
  expectProofRefused(await exchanged(actor))
})

describe('E20 signatures', () => {
  const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
  const parts = () => proofParts(service, key)
  const bytes = (value: bigint) => Buffer.from(value.toString(16).padStart(64, '0'), 'hex')

  test.each<[string, (right: Buffer) => Buffer]>([
    ['nothing', () => Buffer.alloc(0)],
    ['zeros', () => Buffer.alloc(64)],
    ['a zero r', (right) => Buffer.concat([Buffer.alloc(32), right.subarray(32)])],
    ['a zero s', (right) => Buffer.concat([right.subarray(0, 32), Buffer.alloc(32)])],
    ['r and s of the order', () => Buffer.concat([bytes(ORDER), bytes(ORDER)])],
    ['63 bytes', (right) => right.subarray(0, 63)],
    ['65 bytes', (right) => Buffer.concat([right, Buffer.alloc(1)])],
    ['r and s swapped', (right) => Buffer.concat([right.subarray(32), right.subarray(0, 32)])],
  ])('%s is refused', async (_what, change) => {
    const { header, claims } = parts()
    expectProofRefused(await send(forge(header, claims, (input) => change(signedBy(key)(input)))))
  })

  test('a signature in DER form is refused', async () => {
    const { header, claims } = parts()
    expectProofRefused(await send(forge(header, claims, signedBy(key, 'der'))))
  })

  // Every signature has a twin with n - s, which verifies too, and honest libraries produce both. It must not count as a second proof.
  test('the twin of a signature does not make a used proof usable again', async () => {
    const { header, claims } = parts()
    const input = `${base64url(header)}.${base64url(claims)}`
    const right = signedBy(key)(input)
    const s = BigInt(`0x${right.subarray(32).toString('hex')}`)
    const twin = Buffer.concat([right.subarray(0, 32), bytes(ORDER - s)])
    expectBound(await send(`${input}.${right.toString('base64url')}`))
    expectProofRefused(await send(`${input}.${twin.toString('base64url')}`))
  })
})
