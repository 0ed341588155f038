// Both forms of a signature against what Node makes of them itself.
import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { expect, test } from 'vitest'
import { derOf, rawOf } from '../../src/crypto/ecdsa.ts'

test.each([
  ['P-256', 32, 'sha256', 500],
  ['P-384', 48, 'sha384', 100],
  ['P-521', 66, 'sha512', 100],
] as const)('a signature of %s is the same in both forms', (namedCurve, size, hash, signatures) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
  for (let i = 0; i < signatures; i++) {
    const input = Buffer.from(`input ${i}`)
    const der = sign(hash, input, privateKey)
    const raw = rawOf(der, size)
    expect(verify(hash, input, { key: publicKey, dsaEncoding: 'ieee-p1363' }, raw)).toBe(true)
    expect(derOf(raw)).toEqual(der)
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
