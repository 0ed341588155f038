// JWTs of other issuers: every error of jose has one of our reasons.
import { CompactSign, type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { beforeAll, expect, test } from 'vitest'
import { verifyForeignJwt } from '../../src/crypto/foreign_jwt.ts'
import { OAuthError } from '../../src/lib/error.ts'
import type { Jwk } from '../../src/records/jwk.ts'
import { refusalOf } from '../support/thrown.ts'

const NOW = 1_800_000_000
const CLAIMS = { iss: 'https://idp.example.com', aud: 'client', sub: 'ada', iat: NOW, exp: NOW + 300 }

interface Signer {
  privateKey: CryptoKey
  jwk: Jwk
}
let [ours, other]: Signer[] = []
beforeAll(async () => {
  const newSigner = async (): Promise<Signer> => {
    const { publicKey, privateKey } = await generateKeyPair('ES256')
    return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid: 'k' } as Jwk }
  }
  ours = await newSigner()
  other = await newSigner()
})
const signed = (claims: JWTPayload = CLAIMS, header: object = {}) =>
  new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'k', ...header }).sign((ours as Signer).privateKey)
const verify = (text: string, keys: readonly (Signer | undefined)[] = [ours], asked: unknown[] = []) =>
  verifyForeignJwt(text, {
    issuer: CLAIMS.iss,
    audience: CLAIMS.aud,
    now: NOW,
    clockTolerance: 60,
    find: async (wanted) => {
      asked.push(wanted)
      return keys.map((each) => (each as Signer).jwk)
    },
    refuse: (reason) => new OAuthError('invalid_request', 'refused', { reason: `oidc_${reason}` }),
  })
const segment = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
/** A token with a time that JSON.parse reads as Infinity. */
const endless = (name: 'exp' | 'iat') =>
  new CompactSign(Buffer.from(JSON.stringify({ ...CLAIMS, [name]: 'endless' }).replace('"endless"', '1e999')))
    .setProtectedHeader({ alg: 'ES256', kid: 'k' })
    .sign((ours as Signer).privateKey)
/** A token with this header and the signature of another one. */
const withHeader = async (header: unknown) => [segment(header), ...(await signed()).split('.').slice(1)].join('.')

test('a token is verified with the key that its header names', async () => {
  const asked: unknown[] = []
  const { alg, typ, claims } = await verify(await signed(CLAIMS, { typ: 'JWT' }), [ours], asked)
  expect([alg, typ, claims, asked]).toEqual(['ES256', 'JWT', CLAIMS, [{ alg: 'ES256', kid: 'k' }]])
})

test('every key with the same kid is tried, and the keys are looked up once', async () => {
  const asked: unknown[] = []
  expect((await verify(await signed(), [other, ours], asked)).claims).toEqual(CLAIMS)
  expect(asked).toHaveLength(1)
})

test('a key that is not sound is not used, and the next one is tried', async () => {
  const unsound = { ...(ours as Signer), jwk: { ...(ours as Signer).jwk, x: `AA${(ours as Signer).jwk['x']}` } }
  expect((await verify(await signed(), [unsound, ours])).claims).toEqual(CLAIMS)
  expect((await refusalOf(async () => verify(await signed(), [unsound]))).reason).toBe('oidc_signature')
})

test.each<[string, string, () => Promise<string> | string]>([
  ['text that is no token', 'malformed', () => 'x'],
  ['an endless token', 'malformed', () => 'x'.repeat(200_000)],
  ['a header that is no JSON', 'malformed', async () => `!.${(await signed()).slice(2)}`],
  ['a critical extension', 'malformed', () => withHeader({ alg: 'ES256', kid: 'k', crit: ['x'], x: 1 })],
  ['no algorithm', 'malformed', () => withHeader({ kid: 'k' })],
  ['the algorithm none', 'alg', () => withHeader({ alg: 'none', kid: 'k' })],
  ['a symmetric algorithm', 'alg', () => withHeader({ alg: 'HS256', kid: 'k' })],
  ['the algorithm of clients', 'alg', () => withHeader({ alg: 'EdDSA', kid: 'k' })],
  ['a kid that is no text', 'kid', () => withHeader({ alg: 'ES256', kid: 7 })],
  ['another header than was signed', 'signature', () => withHeader({ alg: 'ES256', kid: 'k', typ: 'x' })],
  ['another issuer', 'iss', () => signed({ ...CLAIMS, iss: 'https://other.example.com' })],
  ['another audience', 'aud', () => signed({ ...CLAIMS, aud: ['other'] })],
  ['an end that is reached', 'exp', () => signed({ ...CLAIMS, exp: NOW - 60 })],
  ['no end', 'exp', () => signed({ ...CLAIMS, exp: undefined })],
  ['an end in milliseconds', 'exp', () => signed({ ...CLAIMS, exp: NOW * 1000 })],
  ['an endless end', 'exp', () => endless('exp')],
  ['an endless beginning', 'iat', () => endless('iat')],
  ['no beginning', 'iat', () => signed({ ...CLAIMS, iat: undefined })],
  ['a beginning in the future', 'nbf', () => signed({ ...CLAIMS, nbf: NOW + 61 })],
])('a token with %s is refused with the reason %s', async (_what, reason, token) => {
  expect((await refusalOf(async () => verify(await token()))).reason).toBe(`oidc_${reason}`)
})

test('a token without a known key, and one with the signature of another key, have different reasons', async () => {
  expect((await refusalOf(async () => verify(await signed(), []))).reason).toBe('oidc_unknown_key')
  expect((await refusalOf(async () => verify(await signed(), [other]))).reason).toBe('oidc_signature')
})
