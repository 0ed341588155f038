// ID tokens by themselves: every claim is checked on the bytes that were signed, whatever a library checked before.
import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { createFetcher } from '../../src/net/fetch.ts'
import { createRemoteKeys } from '../../src/net/jwks.ts'
import { verifyIdToken } from '../../src/oauth/federation/id_token.ts'
import { testClock } from '../support/clock.ts'
import { signed, TestIdp } from '../support/idp.ts'
import { refusalOf } from '../support/thrown.ts'

const clock = testClock()
const now = clock.now()
const CLIENT_ID = 'service-rp'
const [nonce, access_token] = ['n'.repeat(43), 'an-access-token']

let idp: TestIdp
beforeAll(async () => {
  idp = await TestIdp.start('ES512')
})

async function verify(changes: Record<string, unknown> = {}) {
  const { key } = idp
  const right = { iss: idp.issuer, aud: CLIENT_ID, sub: 'ada', nonce, iat: now, exp: now + 300 }
  const id_token = await signed(key, { kid: key.kid }, { ...right, ...changes })
  const fetcher = createFetcher({ allowPrivate: true, userAgent: 'test' })
  const keys = createRemoteKeys({ fetcher, clock, ttl: 3600, cooldown: 0, allowHttp: true })
  const expected = { issuer: idp.issuer, client_id: CLIENT_ID, nonce, jwks_uri: idp.jwks_uri }
  return verifyIdToken({ keys, clock }, { id_token, access_token }, expected)
}

test('the claims of a valid token are returned', async () => {
  expect(await verify({ name: 'Ada', aud: ['other', CLIENT_ID], azp: CLIENT_ID })).toMatchObject({
    sub: 'ada',
    name: 'Ada',
  })
})

test('at_hash is computed with the hash of the signature algorithm', async () => {
  const hash = createHash('sha512').update(access_token).digest()
  expect(await verify({ at_hash: hash.subarray(0, 32).toString('base64url') })).toMatchObject({ sub: 'ada' })
  const short = createHash('sha256').update(access_token).digest().subarray(0, 16).toString('base64url')
  expect((await refusalOf(() => verify({ at_hash: short }))).reason).toBe('oidc_at_hash')
})

describe('an ID token is refused with 401', () => {
  test.each<[string, Record<string, unknown>]>([
    ['iss', { iss: 'https://other.example.com' }],
    ['iss', { iss: undefined }],
    ['aud', { aud: 'other' }],
    ['aud', { aud: [] }],
    ['aud', { aud: undefined }],
    ['azp', { aud: [CLIENT_ID, 'other'] }],
    ['azp', { azp: 'other' }],
    ['nonce', { nonce: 'other' }],
    ['nonce', { nonce: undefined }],
    ['exp', { exp: now - 60 }],
    ['exp', { exp: String(now + 300) }],
    ['exp', { exp: undefined }],
    ['iat', { iat: now + 61 }],
    ['iat', { iat: undefined }],
    ['nbf', { nbf: now + 61 }],
    ['at_hash', { at_hash: 7 }],
    ['sub', { sub: undefined }],
    ['sub', { sub: '' }],
  ])('if its %s is %j', async (reason, changes) => {
    const error = await refusalOf(() => verify(changes))
    expect([error.status, error.reason]).toEqual([401, `oidc_${reason}`])
  })
})
