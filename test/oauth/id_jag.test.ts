// ID-JAG assertions, claim by claim: what is refused, with which reason, in which order, and how long one counts as used.
import fc from 'fast-check'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import type { App } from '../../src/context.ts'
import { importKey, verifySignature } from '../../src/crypto/jws.ts'
import { unavailable } from '../../src/lib/error.ts'
import { ReplaySet } from '../../src/lib/replay_set.ts'
import { FetchError } from '../../src/net/error.ts'
import { type Assertion, consumeAssertion, verifyAssertion } from '../../src/oauth/federation/id_jag.ts'
import type { Client } from '../../src/records/client.ts'
import type { Jwk } from '../../src/records/jwk.ts'
import { testClock } from '../support/clock.ts'
import { type Changes, forge, signedBy } from '../support/dpop.ts'
import { type IdpKey, idpKey, signed } from '../support/idp.ts'
import { aClient, anIdp, NOW } from '../support/records.ts'
import { refusalOf } from '../support/thrown.ts'

const ISSUER = 'https://as.example.com'
const MAX_AGE = 300
const client: Client = aClient()
let key: IdpKey
beforeAll(async () => {
  key = await idpKey('ES256', 'k1')
})

/** The parts of a service that assertions need, with one identity provider whose keys are known. */
function aService() {
  const idp = anIdp({ audience: ISSUER })
  const clock = testClock(NOW)
  const parts = {
    find: vi.fn(async (_uri: string, _wanted: { kid?: string; alg: string }): Promise<Jwk[]> => [key.jwk as Jwk]),
    findIdpByIssuer: vi.fn(async ({ issuer }: { issuer: string }) => (issuer === idp.issuer ? idp : undefined)),
    verify: vi.fn(async ({ alg, jwk, input, signature }: Parameters<App['crypto']['verify']>[0]): Promise<boolean> => {
      const imported = importKey(alg, jwk)
      return imported !== undefined && verifySignature(alg, imported, input, signature)
    }),
    recordUse: vi.fn(async (_use: unknown): Promise<void> => {}),
  }
  const app = {
    config: { server: { issuer: ISSUER }, xaa: { max_assertion_age: MAX_AGE }, oidc: { mfa_values: ['mfa'] } },
    clock,
    store: { findIdpByIssuer: parts.findIdpByIssuer, recordUse: parts.recordUse },
    remoteKeys: { find: parts.find },
    crypto: { verify: parts.verify },
    replays: new ReplaySet(1000),
  } as unknown as App
  const header = { typ: 'oauth-id-jag+jwt', alg: 'ES256', kid: 'k1' }
  const claims = {
    ...{ iss: idp.issuer, sub: 'employee-1', aud: ISSUER, client_id: client.client_id },
    ...{ jti: 'j1', iat: NOW, exp: NOW + 300 },
  }
  const make = (changes: Changes = {}) =>
    signed(key, { ...header, ...changes.header }, { ...claims, ...changes.claims })
  const verify = async (text: string | Promise<string>) => verifyAssertion(app, await text, client)
  return { ...parts, app, idp, clock, header, claims, make, verify }
}

const reasonOf = async (verified: Promise<unknown>) => {
  const { code, status, message, reason } = await refusalOf(() => verified)
  expect([code, status, message]).toEqual(['invalid_grant', 400, 'the assertion is not valid'])
  return reason
}

test('a valid assertion is read in every claim, and verified with the keys of its issuer', async () => {
  const { make, verify, idp, find } = aService()
  expect(await verify(make())).toEqual({
    ...{ idp, sub: 'employee-1', jti: 'j1', valid_until: NOW + MAX_AGE + 30 },
    ...{ scope: undefined, resources: [], jkt: undefined, proven: { amr: undefined, acr: undefined } },
  })
  expect(find).toHaveBeenCalledWith(idp.jwks_uri, { kid: 'k1', alg: 'ES256' })
})

test('optional claims are read: scope, resource, cnf and a missing kid', async () => {
  const { make, verify, find } = aService()
  const read = (claims: object, header = {}) => verify(make({ claims: { ...claims }, header }))
  expect((await read({ scope: '' })).scope).toBe('')
  expect((await read({ scope: 'a b' })).scope).toBe('a b')
  expect((await read({ resource: 'r' })).resources).toEqual(['r'])
  expect((await read({ resource: ['r', 's'] })).resources).toEqual(['r', 's'])
  expect((await read({ cnf: { jkt: 'k' } })).jkt).toBe('k')
  await read({}, { kid: undefined })
  expect(find).toHaveBeenLastCalledWith(expect.anything(), { kid: undefined, alg: 'ES256' })
})

type Values = readonly unknown[]
const NO_TEXT: Values = [
  undefined,
  null,
  '',
  7,
  true,
  {},
  ['text'],
  'x'.repeat(1025),
  'a\0b',
  'a\nb',
  '\u200b',
  '\ud800',
]
const NO_TIME: Values = [undefined, null, String(NOW), true, {}, [NOW]]

describe('an assertion is refused', () => {
  const header = (name: string) => (value: unknown) => ({ header: { [name]: value } })
  const claim = (name: string) => (value: unknown) => ({ claims: { [name]: value } })
  const cases: [reason: string, changed: string, change: (value: unknown) => Changes, values: Values][] = [
    ['typ', 'typ', header('typ'), [undefined, 'JWT', 'at+jwt', 'dpop+jwt', 'OAUTH-ID-JAG+JWT', 'oauth-id-jag', 7]],
    ['typ', 'typ', header('typ'), ['application/oauth-id-jag+jwt', ['oauth-id-jag+jwt'], ' oauth-id-jag+jwt']],
    ['issuer', 'iss', claim('iss'), [...NO_TEXT, ISSUER, `${ISSUER}/`]],
    ['unknown_issuer', 'iss', claim('iss'), ['https://other.example.com', `${ISSUER}//`, 'constructor']],
    ['kid', 'kid', header('kid'), NO_TEXT.slice(1)],
    ['expired', 'exp', claim('exp'), [...NO_TIME, 0, -1, NOW - 30, 9e15, Number.MAX_VALUE, NOW * 1000]],
    ['iat', 'iat', claim('iat'), [...NO_TIME, NOW + 31, 9e15, NOW * 1000]],
    ['too_old', 'iat', claim('iat'), [NOW - MAX_AGE - 1, 0]],
    ['nbf', 'nbf', claim('nbf'), [...NO_TIME.slice(1), NOW + 31, 9e15]],
    ['audience', 'aud', claim('aud'), [undefined, null, '', [], {}, 'https://x.example', `${ISSUER}/`, [[ISSUER]]]],
    ['audience', 'aud', claim('aud'), [[ISSUER, 'https://x.example'], [ISSUER, ISSUER], ISSUER.toUpperCase()]],
    ['sub', 'sub', claim('sub'), NO_TEXT],
    ['jti', 'jti', claim('jti'), NO_TEXT],
    ['another_client', 'client_id', claim('client_id'), [undefined, null, '', 'c_other', [client.client_id]]],
    ['scope', 'scope', claim('scope'), [null, 7, ['mcp:read'], {}]],
    ['authorization_details', 'authorization_details', claim('authorization_details'), [null, [], [{ type: 'a' }], '']],
    ['resource', 'resource', claim('resource'), [[], ['r', 7], ['r', ''], ...NO_TEXT.slice(1, 6)]],
    ['cnf', 'cnf', claim('cnf'), [null, {}, 'jkt', ['jkt'], { jkt: 7 }, { jkt: null }, { jwk: {} }]],
    ['cnf', 'cnf', claim('cnf'), [{ jkt: 'k', 'x5t#S256': 'x' }]],
  ]
  const shown = (value: unknown) => (value === undefined ? 'left out' : JSON.stringify(value).slice(0, 40))
  const each = cases.flatMap(([reason, changed, change, values]) =>
    values.map((value) => [changed, shown(value), reason, change(value)] as const),
  )
  test.each(each)('with %s %s: %s', async (_changed, _value, reason, changes) => {
    const { app, header, claims } = aService()
    // Made by hand: a library may refuse to sign what is wrong.
    const text = forge({ ...header, ...changes.header }, { ...claims, ...changes.claims }, signedBy(key))
    expect(await reasonOf(verifyAssertion(app, text, client))).toBe(reason)
  })

  test('if it is not a JWS or longer than 16 KiB', async () => {
    const { make, verify } = aService()
    const right = await make()
    const pads = [`${right} `, ` ${right}`, `${right}=`, `${right}.`, right.replace('.', '..'), '', 'a.b.c', '{}']
    for (const text of pads) expect(await reasonOf(verify(text))).toBe('malformed')
    expect(await reasonOf(verify(make({ claims: { more: 'x'.repeat(16_384) } })))).toBe('malformed')
    await verify(make({ claims: { more: 'x'.repeat(8000) } }))
  })

  test('if its issuer is disabled', async () => {
    const { make, verify, idp } = aService()
    idp.enabled = false
    expect(await reasonOf(verify(make()))).toBe('issuer_disabled')
  })

  test('if it is signed with another key, or no key matches', async () => {
    const { make, verify, find, header, claims } = aService()
    const other = await idpKey('ES256', 'k1')
    expect(await reasonOf(verify(signed(other, header, claims)))).toBe('signature')
    find.mockResolvedValueOnce([])
    expect(await reasonOf(verify(make()))).toBe('unknown_key')
    find.mockResolvedValueOnce([{ kty: 'EC', crv: 'P-256' }])
    expect(await reasonOf(verify(make()))).toBe('signature')
  })
})

describe('times', () => {
  const accepted: [string, Record<string, unknown>][] = [
    ['expired for less than the skew', { exp: NOW - 29 }],
    ['ahead by exactly the skew', { iat: NOW + 30, nbf: NOW + 30 }],
    ['exactly as old as allowed', { iat: NOW - MAX_AGE }],
    ['dated with fractions of a second', { iat: NOW - 0.5, exp: NOW + 0.5 }],
  ]
  test.each(accepted)('an assertion that is %s is accepted', async (_what, claims) => {
    const { make, verify } = aService()
    expect(await verify(make({ claims }))).toMatchObject({ jti: 'j1' })
  })

  test('an assertion counts as used for as long as it would be accepted', async () => {
    const { app, clock, make, verify } = aService()
    const claims = fc.record({
      iat: fc.integer({ min: -MAX_AGE, max: 30 }).map((ahead) => NOW + ahead),
      exp: fc.oneof(fc.integer({ min: -29, max: 900 }), fc.double({ min: -29, max: 900, noNaN: true })),
      wait: fc.integer({ min: 0, max: 800 }),
    })
    let run = 0
    const check = fc.asyncProperty(claims, async ({ iat, exp, wait }) => {
      const text = await make({ claims: { iat, exp: NOW + exp, jti: `run-${run++}` } })
      const start = clock.now()
      try {
        clock.advance(NOW - start)
        await consumeAssertion(app, await verify(text))
        clock.advance(wait)
        const second = await verify(text).catch(() => undefined)
        if (second) expect(await reasonOf(consumeAssertion(app, second))).toBe('replay')
      } finally {
        clock.advance(NOW - clock.now())
      }
    })
    await fc.assert(check, { numRuns: 300 })
  })
})

describe('the order of checks', () => {
  test('no keys are fetched and no signature is verified for an assertion that cannot be valid', async () => {
    const { make, verify, find, findIdpByIssuer, verify: _, ...parts } = aService()
    for (const changes of [{ header: { typ: 'JWT' } }, { claims: { iss: 'https://other.example' } }])
      await reasonOf(verify(make(changes)))
    expect(findIdpByIssuer).toHaveBeenCalledTimes(1)
    for (const alg of ['none', 'HS256', 'ES384', 'RS512', 'EdDSA', 'es256', '', undefined, null, ['ES256'], 'toString'])
      expect(await reasonOf(verify(forge({ ...parts.header, alg }, parts.claims, signedBy(key))))).toBe('alg')
    expect(find).not.toHaveBeenCalled()
    expect(parts.app.crypto.verify).not.toHaveBeenCalled()
  })

  test('claims are evaluated after the signature, so that an unsigned assertion reveals nothing about them', async () => {
    const { make, verify } = aService()
    const expired = await make({ claims: { exp: 1, client_id: 'c_other' } })
    const forged = `${expired.slice(0, expired.lastIndexOf('.') + 1)}${'A'.repeat(86)}`
    expect(await reasonOf(verify(forged))).toBe('signature')
    expect(await reasonOf(verify(expired))).toBe('expired')
  })
})

describe('keys', () => {
  test('of many matching keys of P-256 at most eight are tried', async () => {
    const { make, verify, find, ...parts } = aService()
    const others = await Promise.all(Array.from({ length: 8 }, () => idpKey()))
    const jwks = others.map(({ jwk }) => jwk as Jwk)
    find.mockResolvedValue([...jwks.slice(1), key.jwk as Jwk])
    await verify(make())
    find.mockResolvedValue([...jwks, key.jwk as Jwk])
    vi.mocked(parts.app.crypto.verify).mockClear()
    expect(await reasonOf(verify(make()))).toBe('signature')
    expect(parts.app.crypto.verify).toHaveBeenCalledTimes(8)
  })

  test('unavailable keys cause 503 with Retry-After; the reason is in the log and not in the response', async () => {
    const { make, verify, find } = aService()
    find.mockRejectedValueOnce(new FetchError('timeout', 'idp.example.com'))
    const refusal = await refusalOf(() => verify(make()))
    expect([refusal.code, refusal.status, refusal.reason]).toEqual(['temporarily_unavailable', 503, 'jwks_timeout'])
    expect(refusal.more.headers).toEqual({ 'retry-after': '1' })
    expect(refusal.message).not.toContain('idp.example.com')
  })

  test('other errors are passed on unchanged', async () => {
    const { make, verify, find } = aService()
    for (const error of [unavailable('full', { reason: 'outbound_full' }), new TypeError('a bug')]) {
      find.mockRejectedValueOnce(error)
      await expect(verify(make())).rejects.toBe(error)
    }
  })
})

describe('single use', () => {
  const anAssertion = (more: Partial<Assertion> = {}): Assertion => ({
    ...{ idp: anIdp(), sub: 's', jti: 'j', valid_until: NOW + 100, resources: [] },
    ...more,
  })

  test('an assertion is accepted once, in this process and in the store, until it is too old in any case', async () => {
    const { app, recordUse } = aService()
    const assertion = anAssertion()
    await consumeAssertion(app, assertion)
    expect(await reasonOf(consumeAssertion(app, { ...assertion, sub: 'other' }))).toBe('replay')
    expect(recordUse).toHaveBeenCalledExactlyOnceWith({
      ...{ id: expect.any(String), kind: 'assertion', hash: expect.stringMatching(/^[\w-]{22}$/) },
      expires_at: NOW + 101,
    })
  })

  test('the same jti of two issuers is two assertions, and no pair of issuer and jti has the same hash as another pair', async () => {
    const { app } = aService()
    const [a, b] = [anIdp({ issuer: 'https://a.example' }), anIdp({ issuer: 'https://a.example","' })]
    for (const [idp, jti] of [
      [a, 'j'],
      [b, 'j'],
      [a, '","j'],
      [a, 'J'],
    ] as const)
      await consumeAssertion(app, anAssertion({ idp, jti }))
  })

  test('a use in another process is found in the store', async () => {
    const { app, recordUse } = aService()
    recordUse.mockRejectedValueOnce(Object.assign(new Error('used'), { code: 'USED_BEFORE assertion' }))
    expect(await reasonOf(consumeAssertion(app, anAssertion()))).toBe('replay')
  })

  test('a failure of the store is not reported as a replay', async () => {
    const { app, recordUse } = aService()
    recordUse.mockRejectedValueOnce(new Error('disk full'))
    await expect(consumeAssertion(app, anAssertion())).rejects.toThrow('disk full')
  })

  test('no accepted assertion is older than the uses that are loaded at a restart', () => {
    const withAge = (age: string) => loadConfig(undefined, { SERVICE_XAA_MAX_ASSERTION_AGE: age }).config.xaa
    expect(withAge('12h').max_assertion_age).toBe(12 * 3600)
    expect(() => withAge('12h1s')).toThrow('xaa.max_assertion_age')
  })
})
