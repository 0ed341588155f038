// Both forms of a signature, compared with those of Node and noble.
import { generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto'
import { p256, p384, p521 } from '@noble/curves/nist.js'
import { expect, test } from 'vitest'
import { derOf, rawOf } from '../../src/crypto/ecdsa.ts'

const CURVES = [
  ['P-256', 32, 'sha256', p256],
  ['P-384', 48, 'sha384', p384],
  ['P-521', 66, 'sha512', p521],
] as const

test.each(CURVES)(
  'a signature of %s is converted to the same forms as by Node and noble',
  (namedCurve, size, hash, curve) => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
    const point = Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
    for (let i = 0; i < 20; i++) {
      const input = Buffer.from(`input ${i}`)
      const der = sign(hash, input, privateKey)
      const raw = rawOf(der, size)
      expect(verify(hash, input, { key: publicKey, dsaEncoding: 'ieee-p1363' }, raw)).toBe(true)
      expect(curve.verify(raw, input, point, { lowS: false })).toBe(true)
      expect(derOf(raw)).toEqual(der)
    }
  },
)

test.each(CURVES)('numbers of every length are encoded for %s as by noble', (_, size, __, { Signature }) => {
  // The first bytes of a number determine its DER encoding: leading zeros are omitted, and a first bit of 1 requires one.
  const number = (zeros: number) => {
    const bytes = Buffer.concat([Buffer.alloc(zeros + 1), randomBytes(size - zeros - 1)])
    // Odd, because noble refuses zero.
    bytes[size - 1] = Number(bytes.at(-1)) | 1
    return bytes
  }
  for (let zeros = 0; zeros < size - 1; zeros++)
    for (let i = 0; i < 8; i++) {
      const raw = Buffer.concat([number(zeros), number(i)])
      const der = Buffer.from(Signature.fromBytes(raw, 'compact').toBytes('der'))
      expect(derOf(raw)).toEqual(der)
      expect(rawOf(der, size)).toEqual(raw)
    }
})

test.each([
  ['zero', '00'.repeat(64), '3006020100020100'],
  ['one', `${'00'.repeat(31)}01${'00'.repeat(31)}01`, '3006020101020101'],
  ['a first bit', `${'00'.repeat(31)}80${'00'.repeat(31)}7f`, '30070202008002017f'],
  [
    'zeros in front',
    `${'00'.repeat(2)}${'80'.repeat(30)}00${'7f'.repeat(31)}`,
    `3042021f00${'80'.repeat(30)}021f${'7f'.repeat(31)}`,
  ],
  ['all bits', 'ff'.repeat(64), `3046022100${'ff'.repeat(32)}022100${'ff'.repeat(32)}`],
])('%s is written as DER asks for it, and read again', (_, raw, der) => {
  expect(derOf(Buffer.from(raw, 'hex')).toString('hex')).toBe(der)
  expect(rawOf(Buffer.from(der, 'hex'), 32).toString('hex')).toBe(raw)
})
