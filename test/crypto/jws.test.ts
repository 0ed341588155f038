// Compact JWS: strict decoding, and signatures that are verified with an independent library.
import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { compactVerify, exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import {
  decodeJws,
  headerSegment,
  importKey,
  isAlg,
  signedLength,
  signJws,
  thumbprint,
  VERIFIED_ALGS,
  verifySignature,
} from '../../src/crypto/jws.ts'
import type { Alg, Jwk, UpstreamAlg, VerifiedAlg } from '../../src/records/jwk.ts'
import { ED25519_JWK, ED25519_JWS, PROOF, PROOF_JWK, PROOF_THUMBPRINT, RSA_JWK, RSA_THUMBPRINT } from './vectors.ts'

const MAX = 10_000
const zeroFirst = (member: unknown) =>
  Buffer.concat([Buffer.of(0), Buffer.from(String(member), 'base64url')]).toString('base64url')
const encode = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const compact = (header: unknown, payload: unknown = { sub: 'x' }, signature = 'AAAA') =>
  `${encode(header)}.${encode(payload)}.${signature}`
const good = compact({ alg: 'ES256', typ: 'at+jwt' })

describe('decoding', () => {
  test('a compact JWS is decoded into signing input and signature', () => {
    expect(decodeJws(good, MAX)).toEqual({
      header: { alg: 'ES256', typ: 'at+jwt' },
      payload: { sub: 'x' },
      input: good.slice(0, good.lastIndexOf('.')),
      signature: 'AAAA',
    })
  })

  test('the example proof of RFC 9449 §4.1 is decoded', () => {
    expect(decodeJws(PROOF, MAX)).toMatchObject({
      header: { typ: 'dpop+jwt', alg: 'ES256', jwk: PROOF_JWK },
      payload: { htm: 'POST', htu: 'https://server.example.com/token', jti: '-BwC3ESc6acc2lTc', iat: 1562262616 },
    })
  })

  test.each([
    ['nothing', ''],
    ['two segments', good.slice(0, good.lastIndexOf('.'))],
    ['four segments', `${good}.AAAA`],
    ['five segments, which is a JWE', `${good}.AAAA.AAAA`],
    ['an empty header', good.slice(good.indexOf('.'))],
    ['an empty payload', compact({ alg: 'ES256' }, '')],
    ['padding', compact({ alg: 'ES256' }, { sub: 'x' }, 'AA==')],
    ['another alphabet', compact({ alg: 'ES256' }, { sub: 'x' }, 'AA+/')],
    ['white space', ` ${good}`],
    ['a line break behind it', `${good}\n`],
    ['non-canonical bits in the signature', compact({ alg: 'ES256' }, { sub: 'x' }, 'AB')],
    [
      'non-canonical bits in the header',
      good.replace(
        encode({ alg: 'ES256', typ: 'at+jwt' }),
        (text) => `${text.slice(0, -1)}${text.endsWith('Q') ? 'R' : 'B'}`,
      ),
    ],
    ['a length that no bytes have', compact({ alg: 'ES256' }, { sub: 'x' }, 'AAAAA')],
    ['a header that is no JSON', compact('{alg}')],
    ['a header that is an array', compact([{ alg: 'ES256' }])],
    ['a header that is null', compact('null')],
    ['a header that is text', compact('"ES256"')],
    ['a header in Latin-1', `${Buffer.from('{"alg":"\xe4"}', 'latin1').toString('base64url')}.${encode({})}.AAAA`],
    ['a payload that is an array', compact({ alg: 'ES256' }, [])],
    ['a payload that is text', compact({ alg: 'ES256' }, '"sub"')],
    ['crit', compact({ alg: 'ES256', crit: ['exp'], exp: 1 })],
    ['an empty crit', compact({ alg: 'ES256', crit: [] })],
    ['b64', compact({ alg: 'ES256', b64: false })],
    ['b64 that changes nothing', compact({ alg: 'ES256', b64: true })],
    ['zip', compact({ alg: 'ES256', zip: 'DEF' })],
  ])('refuses %s', (_what, text) => {
    expect(decodeJws(text, MAX)).toBeUndefined()
  })

  test('a JWS that is one character too long is refused', () => {
    expect(decodeJws(good, good.length)).toBeDefined()
    expect(decodeJws(good, good.length - 1)).toBeUndefined()
  })

  test('of a repeated member the last one counts, as for every reader (RFC 7515 §4)', () => {
    expect(decodeJws(compact('{"alg":"none","alg":"ES256"}'), MAX)?.header).toEqual({ alg: 'ES256' })
  })

  test('a member named __proto__ is an ordinary member', () => {
    const header = decodeJws(compact('{"__proto__":{"alg":"ES256"}}'), MAX)?.header
    expect(header && 'alg' in header).toBe(false)
  })
})

test.each([
  'none',
  'None',
  'HS256',
  'ES384',
  'RS512',
  'EdDSA',
  'es256',
  '',
  'toString',
  '__proto__',
  undefined,
  null,
  ['ES256'],
  {},
])('%j is no algorithm', (alg) => {
  expect(isAlg(alg)).toBe(false)
})

describe('signatures', () => {
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pair = (alg: UpstreamAlg) => (alg.startsWith('ES') ? ec : rsa)
  const jwkOf = (key: KeyObject) => key.export({ format: 'jwk' }) as Jwk
  const payload = JSON.stringify({ sub: 'ä', n: 1 })
  const ALGS: Alg[] = ['ES256', 'RS256', 'PS256']

  test.each(ALGS)('%s: a signature of this service verifies in jose, with its header', async (alg) => {
    const jws = signJws(alg, pair(alg).privateKey, headerSegment('at+jwt', alg, 'k1'), payload)
    const verified = await compactVerify(jws, pair(alg).publicKey)
    expect(verified.protectedHeader).toEqual({ typ: 'at+jwt', alg, kid: 'k1' })
    expect(Buffer.from(verified.payload).toString()).toBe(payload)
  })

  test.each(ALGS)('%s: the length of a token is known before it is signed, to the byte', (alg) => {
    const { privateKey, publicKey } = pair(alg)
    const header = headerSegment('at+jwt', alg, 'k1')
    const jwk = publicKey.export({ format: 'jwk' }) as unknown as Jwk
    for (const text of ['{}', payload, '{"a":"ä"}', '{"a":"€€"}', '{"a":"x"}'])
      expect(signedLength(header, text, jwk), text).toBe(signJws(alg, privateKey, header, text).length)
  })

  test.each(VERIFIED_ALGS)('%s: a signature of jose verifies here, and any change of it does not', async (alg) => {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
    const jws = decodeJws(await new SignJWT({ a: 1 }).setProtectedHeader({ alg }).sign(privateKey), MAX)
    const key = importKey(alg, (await exportJWK(publicKey)) as Jwk)
    if (!jws || !key) return expect.fail('not decoded')
    expect(verifySignature(alg, key, jws.input, jws.signature)).toBe(true)
    expect(verifySignature(alg, key, `${jws.input}x`, jws.signature)).toBe(false)
    const flipped = Buffer.from(jws.signature, 'base64url')
    flipped.writeUInt8(flipped.readUInt8(10) ^ 1, 10)
    expect(verifySignature(alg, key, jws.input, flipped.toString('base64url'))).toBe(false)
    const { publicKey: other } = await generateKeyPair(alg, { extractable: true })
    const otherKey = importKey(alg, (await exportJWK(other)) as Jwk)
    expect(otherKey && verifySignature(alg, otherKey, jws.input, jws.signature)).toBe(false)
  })

  test('the example of RFC 8037 A.4 verifies as EdDSA', () => {
    const key = importKey('EdDSA', ED25519_JWK)
    if (!key) return expect.fail('not imported')
    expect(verifySignature('EdDSA', key, ED25519_JWS.input, ED25519_JWS.signature)).toBe(true)
    expect(verifySignature('EdDSA', key, `${ED25519_JWS.input}x`, ED25519_JWS.signature)).toBe(false)
  })

  test('the example proof of RFC 9449 §4.1 verifies', () => {
    const jws = decodeJws(PROOF, MAX)
    const key = importKey('ES256', PROOF_JWK)
    if (!jws || !key) return expect.fail('not decoded')
    expect(verifySignature('ES256', key, jws.input, jws.signature)).toBe(true)
  })

  test('an RS256 signature does not verify as PS256, nor the reverse', () => {
    for (const [signed, read] of [
      ['RS256', 'PS256'],
      ['PS256', 'RS256'],
    ] as const) {
      const jws = decodeJws(signJws(signed, rsa.privateKey, headerSegment('at+jwt', signed, 'k'), payload), MAX)
      expect(verifySignature(read, rsa.publicKey, jws?.input ?? '', jws?.signature ?? '')).toBe(false)
    }
  })

  test.each([
    ['nothing', ''],
    [
      'a DER signature',
      Buffer.from(`3044${'0220'.padEnd(68, '1')}${'0220'.padEnd(68, '1')}`, 'hex').toString('base64url'),
    ],
    ['zeros', Buffer.alloc(64).toString('base64url')],
    ['63 bytes', Buffer.alloc(63, 1).toString('base64url')],
  ])('%s is no ES256 signature', (_what, signature) => {
    expect(verifySignature('ES256', ec.publicKey, 'a.b', signature)).toBe(false)
  })

  describe('keys', () => {
    const ecJwk = jwkOf(ec.publicKey)
    const rsaJwk = jwkOf(rsa.publicKey)
    const curve = (namedCurve: string) => jwkOf(generateKeyPairSync('ec', { namedCurve }).publicKey)
    /** A key of 32 bytes, given by the first one, those between, and the last one. */
    const ed25519 = (first: string, between = '00', last = '00'): Jwk => {
      const x = Buffer.from(first + between.repeat(30) + last, 'hex').toString('base64url')
      return { kty: 'OKP', crv: 'Ed25519', x }
    }

    test.each(ALGS)('a matching key is imported for %s', (alg) => {
      expect(importKey(alg, jwkOf(pair(alg).publicKey))?.type).toBe('public')
    })

    test.each<[string, VerifiedAlg, () => Jwk]>([
      ['an RSA key for ES256', 'ES256', () => rsaJwk],
      ['an EC key for RS256', 'RS256', () => ecJwk],
      ['an EC key for PS256', 'PS256', () => ecJwk],
      ['a key on P-384', 'ES256', () => curve('P-384')],
      ['a key on P-521', 'ES256', () => curve('P-521')],
      ['a key on P-256 for ES384', 'ES384', () => ecJwk],
      ['a key on P-384 for ES512', 'ES512', () => curve('P-384')],
      ['a key on secp256k1', 'ES256', () => curve('secp256k1')],
      ['an RSA exponent of 1', 'RS256', () => ({ ...rsaJwk, e: 'AQ' })],
      ['an even RSA exponent', 'RS256', () => ({ ...rsaJwk, e: 'AQAA' })],
      ['an RSA exponent with a zero in front', 'PS256', () => ({ ...rsaJwk, e: 'AAEAAQ' })],
      ['an RSA modulus with a zero in front', 'RS256', () => ({ ...rsaJwk, n: zeroFirst(rsaJwk['n']) })],
      ['a coordinate of 33 bytes', 'ES256', () => ({ ...ecJwk, x: zeroFirst(ecJwk['x']) })],
      ['a coordinate of 31 bytes', 'ES256', () => ({ ...ecJwk, y: 'A'.repeat(42) })],
      ['a coordinate of 67 bytes', 'ES512', () => ({ ...curve('P-521'), x: zeroFirst(curve('P-521')['x']) })],
      ['a P-384 key that says P-256', 'ES256', () => ({ ...curve('P-384'), crv: 'P-256' })],
      ['a point that is not on the curve', 'ES256', () => ({ ...ecJwk, y: ecJwk.x })],
      ['a key without y', 'ES256', () => ({ ...ecJwk, y: undefined })],
      ['a key whose x is a number', 'ES256', () => ({ ...ecJwk, x: 1 })],
      ['an RSA key of 1024 bits', 'RS256', () => jwkOf(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey)],
      ['an RSA key of 2047 bits', 'PS256', () => jwkOf(generateKeyPairSync('rsa', { modulusLength: 2047 }).publicKey)],
      ['an RSA key of 16384 bits', 'RS256', () => ({ ...rsaJwk, n: Buffer.alloc(2048, 0xff).toString('base64url') })],
      ['an RSA key without n', 'RS256', () => ({ ...rsaJwk, n: undefined })],
      ['a symmetric key', 'ES256', () => ({ kty: 'oct', k: 'AAAA' })],
      ['an Ed25519 key', 'ES256', () => jwkOf(generateKeyPairSync('ed25519').publicKey)],
      ['an Ed25519 key that is no point', 'EdDSA', () => ed25519('02')],
      ['an Ed25519 key with a second encoding of its point', 'EdDSA', () => ed25519('ee', 'ff', '7f')],
      ['the neutral point of Ed25519', 'EdDSA', () => ed25519('01')],
      ['a point of Ed25519 of order 4', 'EdDSA', () => ed25519('00')],
    ])('refuses %s', (_what, alg, jwk) => {
      expect(importKey(alg, jwk())).toBeUndefined()
    })

    test('only the public part of a private key is used', () => {
      expect(importKey('ES256', jwkOf(ec.privateKey))?.type).toBe('public')
    })
  })
})

describe('thumbprints', () => {
  test('the example of RFC 7638 §3.1', () => {
    expect(thumbprint(RSA_JWK)).toBe(RSA_THUMBPRINT)
  })

  test('the example of RFC 9449 §6.1', () => {
    expect(thumbprint(PROOF_JWK)).toBe(PROOF_THUMBPRINT)
  })

  test('that of an Ed25519 key is that of RFC 8037 A.3', () => {
    expect(thumbprint(ED25519_JWK)).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k')
  })

  test('the order of members and further members do not change the thumbprint', () => {
    const { kty, n, e } = RSA_JWK as Record<string, string>
    expect(thumbprint({ e, n, kty, alg: 'PS256', use: 'sig', kid: 'x' } as Jwk)).toBe(RSA_THUMBPRINT)
  })

  test('the thumbprint covers only the required members, in order, without white space', () => {
    const { crv, kty, x, y } = PROOF_JWK as Record<string, string>
    const text = `{"crv":"${crv}","kty":"${kty}","x":"${x}","y":"${y}"}`
    expect(thumbprint(PROOF_JWK)).toBe(createHash('sha256').update(text).digest('base64url'))
  })

  test.each<[string, Jwk]>([
    ['a symmetric key', { kty: 'oct', k: 'AAAA' }],
    ['an Ed25519 key without x', { kty: 'OKP', crv: 'Ed25519' }],
    ['a key of a type without thumbprint', { kty: 'AKP', pub: 'AAAA' }],
    ['an EC key without y', { kty: 'EC', crv: 'P-256', x: 'AAAA' }],
    ['an RSA key whose n is a number', { kty: 'RSA', e: 'AQAB', n: 1 }],
  ])('%s has none', (_what, jwk) => {
    expect(thumbprint(jwk)).toBeUndefined()
  })

  test('jose imports the same keys', async () => {
    await expect(importJWK(PROOF_JWK, 'ES256')).resolves.toBeDefined()
    await expect(importJWK(RSA_JWK, 'RS256')).resolves.toBeDefined()
  })
})
