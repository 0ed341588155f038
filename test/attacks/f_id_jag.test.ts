// Attacks on the trust in assertions (attacks.md, section F, as far as ID-JAG is concerned), over HTTP.
import { randomBytes } from 'node:crypto'
import { type CryptoKey, decodeJwt, exportSPKI, importJWK } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { base64url, type Changes, dpop, forge, macOf, proofKey, signedBy } from '../support/dpop.ts'
import { exchange } from '../support/exchange.ts'
import { type Answer, authorize, machineToken } from '../support/flow.ts'
import { type IdpKey, idpKey, signed } from '../support/idp.ts'
import { addClient, addUser, startService, type TestService } from '../support/service.ts'
import { LOOPBACK, type Scene, watchReasons, xaaScene } from '../support/xaa.ts'

let service: TestService
let scene: Scene
let rsa: Scene
let reasonOf: (answer: Answer) => string | undefined
beforeAll(async () => {
  service = await startService(LOOPBACK)
  reasonOf = watchReasons(service)
  ;[scene, rsa] = [await xaaScene(service), await xaaScene(service, { alg: 'RS256' })]
  for (const { assertion, redeem } of [scene, rsa]) expect((await redeem(await assertion())).status).toBe(200)
})
afterAll(() => service.close())

const audience = ({ client }: Scene) => ({
  ...{ aud: service.issuer, client_id: client.client_id, now: service.app.clock.now() },
})
const partsOf = (at: Scene, changes?: Changes) => at.idp.parts(audience(at), changes)
const forged = (at: Scene, changes: Changes, signature: (input: string) => Buffer | string) => {
  const { header, claims } = partsOf(at, changes)
  return forge(header, claims, signature)
}
/** Every invalid assertion gets the same error response. */
async function expectRefused(assertion: string, reason: string, at = scene) {
  const answer = await at.redeem(assertion)
  const { request_id, ...body } = answer.body
  expect({ status: answer.status, reason: reasonOf(answer), ...body }).toEqual({
    ...{ status: 400, reason, error: 'invalid_grant', title: 'Bad Request', type: 'about:blank' },
    ...{ error_description: 'the assertion is not valid', detail: 'the assertion is not valid' },
  })
  expect(request_id).toEqual(expect.any(String))
}

describe('F01 unsigned and malformed', () => {
  test.each(['none', 'nOnE', 'NONE', 'None'])('alg %s', async (alg) => {
    await expectRefused(
      forged(scene, { header: { alg } }, () => ''),
      'alg',
    )
    await expectRefused(forged(scene, { header: { alg } }, signedBy(scene.idp.key)), 'alg')
  })

  test('an assertion without a signature, with a truncated one or one of zeros is refused', async () => {
    for (const bytes of [0, 1, 63, 65, 64]) {
      const text = forged(scene, {}, () => Buffer.alloc(bytes))
      await expectRefused(text, 'signature')
    }
    await expectRefused(forged(scene, {}, signedBy(scene.idp.key, 'der')), 'signature')
  })

  test('two and four segments and the JSON serialisations are refused', async () => {
    const right = await scene.assertion()
    const [head, body, signature] = right.split('.') as [string, string, string]
    const flat = { protected: head, payload: body, signature }
    const general = { payload: body, signatures: [{ protected: head, signature }] }
    const shapes = [`${head}.${body}`, `${right}.x`, `${right}.`, JSON.stringify(flat), JSON.stringify(general)]
    for (const text of shapes) await expectRefused(text, 'malformed')
    expect((await scene.redeem(right)).status).toBe(200)
  })

  test('claims that were changed after signing are refused', async () => {
    const [head, body, signature] = (await scene.assertion()).split('.') as [string, string, string]
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
    await expectRefused(`${head}.${base64url({ ...claims, sub: 'ceo' })}.${signature}`, 'signature')
  })
})

describe('F02 public keys as HMAC secrets', () => {
  test.each(['HS256', 'HS384', 'HS512'])('%s over the PEM, the JWK and the modulus', async (alg) => {
    const { jwk } = rsa.idp.key
    const pem = await exportSPKI((await importJWK(jwk, 'RS256')) as CryptoKey)
    const secrets = [pem, pem.trim(), JSON.stringify(jwk), JSON.stringify(rsa.idp.jwks().keys[0]), jwk.n ?? '', '']
    for (const secret of secrets) await expectRefused(forged(rsa, { header: { alg } }, macOf(secret)), 'alg', rsa)
  })

  test('a MAC under the name of the expected algorithm is refused', async () => {
    await expectRefused(forged(rsa, {}, macOf(JSON.stringify(rsa.idp.key.jwk))), 'signature', rsa)
  })

  test('an algorithm that does not match the key is refused', async () => {
    await expectRefused(forged(rsa, { header: { alg: 'ES256' } }, signedBy(scene.idp.key)), 'unknown_key', rsa)
    await expectRefused(forged(rsa, { header: { alg: 'PS256' } }, signedBy(rsa.idp.key)), 'unknown_key', rsa)
    await expectRefused(forged(scene, { header: { alg: 'RS256' } }, signedBy(rsa.idp.key)), 'unknown_key')
  })
})

describe('F04 kid', () => {
  const kids: [string, unknown][] = [
    ['a path', '../../etc/passwd'],
    ['SQL', "' OR 1=1--"],
    ['a name that objects have', '__proto__'],
    ['another name that objects have', 'constructor'],
    ['a URL', 'https://evil.example/key'],
    ['a template', '{{7*7}}'],
  ]
  test.each(kids)('kid %s finds no key', async (_what, kid) => {
    await expectRefused(forged(scene, { header: { kid } }, signedBy(scene.idp.key)), 'unknown_key')
  })

  test.each<[string, unknown]>([
    ['NUL', 'a\0'],
    ['empty', ''],
    ['10 KB', 'k'.repeat(10_000)],
    ['an object', { kid: 'a' }],
    ['a list', ['a']],
    ['a number', 0],
    ['null', null],
  ])('%s is refused before anything is looked up', async (_what, kid) => {
    const before = scene.idp.fetches
    await expectRefused(forged(scene, { header: { kid } }, signedBy(scene.idp.key)), 'kid')
    expect(scene.idp.fetches).toBe(before)
  })

  test('a kid of 100 KB exceeds the size of a request', async () => {
    const text = forged(scene, { header: { kid: 'k'.repeat(100_000) } }, signedBy(scene.idp.key))
    expect((await scene.redeem(text)).status).toBe(413)
    expect((await scene.redeem(await scene.assertion())).status).toBe(200)
  })

  test('1000 unknown kids cause few requests to the identity provider', async () => {
    const at = await xaaScene(service)
    const parts = partsOf(at)
    const send = (i: number) => at.redeem(forge({ ...parts.header, kid: `k${i}` }, parts.claims, () => randomBytes(64)))
    for (let round = 0; round < 20; round++)
      await Promise.all(Array.from({ length: 50 }, (_, i) => send(round * 50 + i)))
    expect(at.idp.fetches).toBeLessThanOrEqual(2)
    expect((await at.redeem(await at.assertion())).status).toBe(200)
  })
})

test('F05 a removed key is refused after the keys were fetched again, and accepted while it is listed', async () => {
  const at = await xaaScene(service)
  const old = at.idp.key
  at.idp.keys.push(await idpKey())
  for (const key of at.idp.keys) expect((await at.redeem(await at.assertion({}, key))).status).toBe(200)
  at.idp.keys.shift()
  service.advance(3600)
  await expectRefused(await at.assertion({}, old), 'unknown_key', at)
  const renamed: IdpKey = { ...old, kid: at.idp.key.kid }
  await expectRefused(await at.assertion({}, renamed), 'signature', at)
})

describe('F06 issuers', () => {
  test.each<[string, (iss: string) => unknown]>([
    ['a slash more', (iss) => `${iss}/`],
    ['another case', (iss) => iss.toUpperCase()],
    ['white space', (iss) => ` ${iss}`],
    ['another spelling of the host', (iss) => iss.replace('127.0.0.1', '127.1')],
  ])('with %s is another one', async (_what, change) => {
    const iss = change(scene.idp.issuer)
    await expectRefused(await scene.assertion({ claims: { iss } }), 'unknown_issuer')
  })

  test.each<[string, (iss: string) => unknown]>([
    ['a list', (iss) => [iss]],
    ['an object', (iss) => ({ iss })],
    ['left out', () => undefined],
    ['our own', () => service.issuer],
  ])('that is %s is none', async (_what, change) => {
    const iss = change(scene.idp.issuer)
    await expectRefused(await scene.assertion({ claims: { iss } }), 'issuer')
  })

  test('keys are used only for their own issuer, also when a kid is the same', async () => {
    const [a, b] = [await xaaScene(service), await xaaScene(service)]
    const posing = { ...b.idp.key, kid: a.idp.key.kid }
    await expectRefused(await a.assertion({}, posing), 'signature', a)
    await expectRefused(await a.assertion({}, b.idp.key), 'unknown_key', a)
    await expectRefused(await a.assertion({ header: { kid: undefined } }, b.idp.key), 'signature', a)
  })

  test('of two members with the same name the last one counts, as in the library that signed', async () => {
    const { header, claims } = partsOf(scene)
    const text = (iss: string, sub: string) =>
      `{"iss":"https://unknown.example","sub":"ceo",${JSON.stringify({ ...claims, jti: newId(), iss, sub }).slice(1)}`
    const answer = await scene.redeem(await signed(scene.idp.key, header, text(scene.idp.issuer, 'clerk')))
    expect(decodeJwt(String(answer.body['access_token'])).sub).toBe(`${scene.idp.issuer}:clerk`)
    await expectRefused(await signed(scene.idp.key, header, text('https://unknown.example', 'x')), 'unknown_issuer')
  })
})

describe('F08 times, F09 subjects', () => {
  const now = () => service.app.clock.now()
  test.each<[string, () => Record<string, unknown>, string]>([
    ['exp in the past', () => ({ exp: now() - 60 }), 'expired'],
    ['no exp', () => ({ exp: undefined }), 'expired'],
    ['exp as text', () => ({ exp: String(now() + 60) }), 'expired'],
    ['exp at the end of all days', () => ({ exp: 9e15 }), 'expired'],
    ['exp below zero', () => ({ exp: -1 }), 'expired'],
    ['nbf in the future', () => ({ nbf: now() + 60 }), 'nbf'],
    ['iat in the future', () => ({ iat: now() + 60 }), 'iat'],
    ['no iat', () => ({ iat: undefined }), 'iat'],
    ['iat too old', () => ({ iat: now() - 301 }), 'too_old'],
    ['no sub', () => ({ sub: undefined }), 'sub'],
    ['an empty sub', () => ({ sub: '' }), 'sub'],
    ['a number as sub', () => ({ sub: 1 }), 'sub'],
    ['an object as sub', () => ({ sub: { id: 1 } }), 'sub'],
    ['a sub with NUL', () => ({ sub: 'employee-1\0' }), 'sub'],
    ['a sub with a line break', () => ({ sub: 'employee-1\nrole=admin' }), 'sub'],
    ['a sub of 2 KB', () => ({ sub: 'x'.repeat(2048) }), 'sub'],
    ['a sub of 20 KB', () => ({ sub: 'x'.repeat(20_000) }), 'malformed'],
  ])('%s', async (_what, claims, reason) => {
    await expectRefused(await scene.assertion({ claims: claims() }), reason)
  })

  test('a sub of 1 MB exceeds the size of a request', async () => {
    const text = await scene.assertion({ claims: { sub: 'x'.repeat(1_000_000) } })
    const answer = await scene.redeem(text).catch(() => ({ status: 413 }))
    expect(answer.status).toBe(413)
  })
})

describe('F10 extensions', () => {
  test.each<[string, Record<string, unknown>]>([
    ['crit with an unknown name', { crit: ['exp'], exp: 1 }],
    ['an empty crit', { crit: [] }],
    ['b64 false', { b64: false, crit: ['b64'] }],
    ['b64 true', { b64: true }],
    ['zip', { zip: 'DEF' }],
  ])('%s', async (_what, header) => {
    await expectRefused(forged(scene, { header }, signedBy(scene.idp.key)), 'malformed')
  })

  test('a JWE is not decrypted', async () => {
    const jwe = [base64url({ alg: 'RSA-OAEP', enc: 'A256GCM', zip: 'DEF' }), 'AAAA', 'AAAA', 'AAAA', 'AAAA'].join('.')
    await expectRefused(jwe, 'malformed')
  })
})

test('F12 only the canonical encoding of an assertion is accepted, so that another encoding is no second use', async () => {
  const right = await scene.assertion()
  const [head, body, signature] = right.split('.') as [string, string, string]
  const last = signature.at(-1) as string
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const sloppy = `${signature.slice(0, -1)}${alphabet[alphabet.indexOf(last) + 1]}`
  expect(Buffer.from(sloppy, 'base64url')).toEqual(Buffer.from(signature, 'base64url'))
  const spellings = [
    ...[`${right}=`, `${head}=.${body}.${signature}`, ` ${right}`, `${right}\n`, `${head}. ${body}.${signature}`],
    ...[`${head}.${body}.${sloppy}`, `${head}.${body}.${signature.slice(0, 40)}+/${signature.slice(42)}`],
  ]
  for (const text of spellings) await expectRefused(text, 'malformed')
  expect((await scene.redeem(right)).status).toBe(200)
  for (const text of spellings) await expectRefused(text, 'malformed')
})

describe('F13 a token of one type used as another', () => {
  test.each([undefined, 'JWT', 'at+jwt', 'dpop+jwt', 'logout+jwt', 'application/oauth-id-jag+jwt', 'OAUTH-ID-JAG+JWT'])(
    'an assertion of typ %s',
    async (typ) => expectRefused(await scene.assertion({ header: { typ } }), 'typ'),
  )

  test('access tokens, refresh tokens, codes and proofs of this service are refused as assertions', async () => {
    const client = await addClient(service)
    const { code } = await authorize(service, client, await addUser(service))
    const machine = await machineToken(service, client)
    const proof = (await dpop(service, await proofKey())).dpop
    await expectRefused(String(machine.body['access_token']), 'typ')
    await expectRefused(proof, 'typ')
    await expectRefused(code, 'malformed')
  })

  test('an assertion is refused as a subject token', async () => {
    const assertion = await scene.assertion()
    for (const type of ['access_token', 'jwt', 'id-jag', 'id_token']) {
      const subject_token_type = `urn:ietf:params:oauth:token-type:${type}`
      const answer = await exchange(service, scene.client, { subject_token: assertion, subject_token_type })
      expect(['invalid_grant', 'invalid_request']).toContain(answer.body['error'])
    }
    expect((await scene.redeem(assertion)).status).toBe(200)
  })

  test('a token that this service signed with the typ of an assertion is refused, because it is no identity provider', async () => {
    const { claims } = partsOf(scene, { claims: { iss: service.issuer } })
    const { keyring, crypto } = service.app
    const own = await crypto.sign(keyring.current(), claims)
    await expectRefused(own, 'typ')
    await expectRefused(await scene.assertion({ claims: { iss: service.issuer } }), 'issuer')
  })
})
