// How many keys are tried for one token.
import { expect, test, vi } from 'vitest'
import type { CryptoLanes } from '../../src/crypto/pool.ts'
import { isSignedByOneOf } from '../../src/crypto/signers.ts'
import type { Jwk } from '../../src/records/jwk.ts'

const RSA = { 2048: 342, 4096: 683, 8192: 1366 } as const
const rsa = (bits: keyof typeof RSA, i: number): Jwk => ({
  kty: 'RSA',
  e: 'AQAB',
  n: `${String(i).padStart(4, 'B')}${'A'.repeat(RSA[bits] - 4)}`,
})
const ec = (crv: string, i: number): Jwk => ({ kty: 'EC', crv, x: `${String(i).padStart(4, 'B')}AAAA`, y: 'AAAA' })
const many = (make: (i: number) => Jwk) => Array.from({ length: 20 }, (_, i) => make(i))
const jws = { header: {}, payload: {}, input: 'a.b', signature: 'c' }

async function triedOf(keys: readonly Jwk[], right?: Jwk): Promise<{ tried: number; signed: boolean }> {
  const verify = vi.fn(async ({ jwk }: { jwk: Jwk }) => jwk === right)
  const signed = await isSignedByOneOf({ verify } as unknown as CryptoLanes, keys, 'RS256', jws)
  return { tried: verify.mock.calls.length, signed }
}

test.each([
  ['RSA keys of 2048 bits', many((i) => rsa(2048, i)), 16],
  ['RSA keys of 4096 bits', many((i) => rsa(4096, i)), 4],
  ['RSA keys of 8192 bits', many((i) => rsa(8192, i)), 1],
  ['EC keys of P-256', many((i) => ec('P-256', i)), 8],
  ['EC keys of P-384', many((i) => ec('P-384', i)), 4],
])('S60 of %s no more are tried than their work allows', async (_what, keys, tried) => {
  expect(await triedOf(keys)).toEqual({ tried, signed: false })
  expect(await triedOf(keys, keys[tried - 1])).toEqual({ tried, signed: true })
  expect(await triedOf(keys, keys[tried])).toEqual({ tried, signed: false })
})

test('a key that is alone is tried, whatever its size', async () => {
  const key = rsa(8192, 1)
  expect(await triedOf([key], key)).toEqual({ tried: 1, signed: true })
})
