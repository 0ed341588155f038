// Attacks on the tokens of this service as subject token, actor token and at introspection, and on proofs: section F of the attack
// list, one test per row. ID-JAG assertions are in f_id_jag.test.ts, rows about proofs alone in e_dpop.test.ts.
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { SigningKey } from '../../src/crypto/pool.ts'
import { newId } from '../../src/lib/id.ts'
import { spyOnFetches } from '../support/documents.ts'
import { base64url, forge, macOf, type ProofKey, proofKey, proofOf, proofParts, signedBy } from '../support/dpop.ts'
import { ACCESS_TOKEN, actorOf, exchangeScene } from '../support/exchange.ts'
import { authorize, introspect, isActive, machineToken, post, refresh } from '../support/flow.ts'
import { startService, type TestService } from '../support/service.ts'

let service: TestService
let scene: Awaited<ReturnType<typeof exchangeScene>>
let attacker: ProofKey
/** Two valid tokens: one of the user, and one of the client that exchanges. */
let subject: string
let actor: string
beforeAll(async () => {
  service = await startService()
  ;[scene, attacker] = [await exchangeScene(service), await proofKey()]
  subject = String(scene.subject)
  actor = String((await actorOf(service, scene.gateway)).actor_token)
  await expectWorth(subject, actor)
})
afterAll(() => service.close())
afterEach(() => {
  vi.restoreAllMocks()
})

const seenBy = (token: string, client = scene.app) => introspect(service, client, token)
const asSubject = (token: string) => scene.exchanged({ subject_token: token })
const asActor = (token: string) => scene.exchanged({ actor_token: token, actor_token_type: ACCESS_TOKEN })

async function expectWorth(token: string, by: string) {
  expect(await seenBy(token)).toMatchObject({ active: true })
  expect((await asSubject(token)).status).toBe(200)
  expect((await asActor(by)).status).toBe(200)
}
const INVALID_GRANT = { error: 'invalid_grant' }
/** A changed token is refused everywhere, and the original token stays valid. */
async function expectWorthless(change: (token: string) => string) {
  const [changed, changedActor] = [change(subject), change(actor)]
  expect([changed, changedActor]).not.toEqual([subject, actor])
  for (const by of [scene.app, scene.server, scene.gateway])
    expect(await seenBy(changed, by)).toEqual({ active: false })
  expect((await asSubject(changed)).body).toMatchObject(INVALID_GRANT)
  expect((await asActor(changedActor)).body).toMatchObject(INVALID_GRANT)
  expect((await post(`${service.issuer}/oauth/revoke`, scene.app, { token: changed })).status).toBe(200)
  expect(await seenBy(subject)).toMatchObject({ active: true })
}

type Sign = (input: string) => Buffer | string
const bySelf: Sign = (input) => signedBy({ privateKey: service.app.keyring.current().key as KeyObject })(input)
/** The token with other parts, signed again. */
const remade =
  (sign: Sign, header: Record<string, unknown> = {}, claims: Record<string, unknown> = {}) =>
  (token: string) =>
    forge({ ...decodeProtectedHeader(token), ...header }, { ...decodeJwt(token), ...claims }, sign)
const signatureOf = (token: string) => token.split('.')[2] ?? ''
const withHeader = (token: string, header: Record<string, unknown>) => {
  const [, payload, signature] = token.split('.')
  return [base64url({ ...decodeProtectedHeader(token), ...header }), payload, signature].join('.')
}

test('a token that is only signed again by the same key is valid: so the following refusals are caused by the change alone', async () => {
  await expectWorth(remade(bySelf)(subject), remade(bySelf)(actor))
})

describe('F01 missing signatures and other serialisations', () => {
  const empty: Sign = () => ''
  test.each<[string, () => (token: string) => string]>([
    ['alg none', () => remade(empty, { alg: 'none' })],
    ['alg nOnE', () => remade(empty, { alg: 'nOnE' })],
    ['alg none in front of the right signature', () => (token) => withHeader(token, { alg: 'none' })],
    ['no signature', () => (token) => token.replace(/[^.]*$/, '')],
    ['two segments', () => (token) => token.replace(/\.[^.]*$/, '')],
    ['four segments', () => (token) => `${token}.AAAA`],
    ['a leading dot', () => (token) => `.${token}`],
    [
      'JSON serialisation',
      () => (token) => {
        const [head, payload, signature] = token.split('.')
        return JSON.stringify({ protected: head, payload, signature })
      },
    ],
    [
      'the signature of another token',
      () => (token) => token.replace(/[^.]*$/, signatureOf(remade(bySelf, {}, { jti: newId() })(token))),
    ],
    ['the key of an attacker under our kid', () => remade(signedBy(attacker))],
    ['the key of an attacker in the header', () => remade(signedBy(attacker), { jwk: attacker.jwk })],
  ])('%s', async (_what, change) => {
    await expectWorthless(change())
  })
})

test('F02 HS256 with the public key of this service as its secret is refused', async () => {
  const response = await fetch(`${service.issuer}/.well-known/jwks.json`)
  const [jwk] = ((await response.json()) as { keys: JsonWebKey[] }).keys
  if (!jwk) return expect.fail('no key is published')
  const pem = String(createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' }))
  for (const secret of [pem, pem.trim(), JSON.stringify(jwk), Buffer.from(String(jwk.x), 'base64url')])
    await expectWorthless(remade(macOf(secret), { alg: 'HS256' }))
  for (const alg of ['RS256', 'PS256', 'ES384', 'ES256 ', undefined]) await expectWorthless(remade(bySelf, { alg }))
})

describe('F04 kid', () => {
  test.each<[string, unknown]>([
    ['a path', '../../etc/passwd'],
    ['SQL', "' OR 1=1--"],
    ['NUL', 'a\0b'],
    ['an object', { kid: 1 }],
    ['a list', ['x']],
    ['missing', undefined],
    ['__proto__', '__proto__'],
    ['of nobody', newId()],
    ['ten kilobytes', 'x'.repeat(10_000)],
    ['forty kilobytes', 'x'.repeat(40_000)],
  ])('%s names no key of this service, and is refused with any signature', async (_what, kid) => {
    await expectWorthless(remade(bySelf, { kid }))
    await expectWorthless(remade(signedBy(attacker), { kid }))
  })

  test('a thousand unknown kids cause no fetch and no signature check', async () => {
    const [fetches, verify] = [spyOnFetches(service), vi.spyOn(service.app.crypto, 'verify')]
    const tokens = Array.from({ length: 1000 }, () => remade(signedBy(attacker), { kid: newId() })(subject))
    for (let i = 0; i < tokens.length; i += 50)
      for (const body of await Promise.all(tokens.slice(i, i + 50).map((token) => seenBy(token))))
        expect(body).toEqual({ active: false })
    expect([fetches.count(), verify.mock.calls.length]).toEqual([0, 0])
  })
})

describe('F05 replaced keys', () => {
  let own: TestService
  let at: Awaited<ReturnType<typeof exchangeScene>>
  let old: SigningKey
  const now = () => own.app.clock.now()
  /** A token that a thief of the old key could sign. */
  const stolen = (token: unknown) =>
    forge(
      decodeProtectedHeader(String(token)),
      { ...decodeJwt(String(token)), exp: now() + 600 },
      signedBy({ privateKey: old.key as KeyObject }),
    )
  const isLive = (token: unknown) => isActive(own, at.app, token)
  beforeAll(async () => {
    own = await startService()
    at = await exchangeScene(own)
    old = own.app.keyring.current()
  })
  afterAll(() => own.close())

  test('tokens of a previous key are valid until the key is unpublished, also if they were verified before', async () => {
    await own.app.keyring.rotate()
    const removed = own.app.keyring.find(old.kid)?.remove_at ?? 0
    expect(await isLive(at.subject)).toBe(true)
    expect((await at.exchanged()).status).toBe(200)
    own.advance(removed - now() - 2)
    const token = stolen(at.subject)
    expect(await isLive(token)).toBe(true)
    own.advance(2)
    expect(own.app.keyring.find(old.kid)).toBeUndefined()
    expect(await isLive(token)).toBe(false)
    expect((await at.exchanged({ subject_token: token })).body).toMatchObject(INVALID_GRANT)
  })

  test('tokens of a revoked key are invalid at once, also if they were verified before', async () => {
    const answer = await at.signIn(at.app, at.source)
    expect(await isLive(answer.body['access_token'])).toBe(true)
    await own.app.keyring.revoke(own.app.keyring.current().kid)
    expect(await isLive(answer.body['access_token'])).toBe(false)
  })
})

// Only this service can sign such tokens. They could come from a fault of this service, or of another service with its key.
test('F06 iss must equal the issuer exactly', async () => {
  const upper = service.issuer.replace('localhost', 'LOCALHOST')
  for (const iss of [`${service.issuer}/`, upper, [service.issuer], 'https://evil.example', null, undefined, ''])
    await expectWorthless(remade(bySelf, {}, { iss }))
})

// iat and nbf are not checked: own tokens are valid from the moment they are signed, and exp, which is signed too, limits their age.
test('F08 exp in the past, equal to the current time, missing or malformed is refused', async () => {
  const now = service.app.clock.now()
  for (const exp of [now - 1, now, -1, 0, undefined, null, [], {}, 'soon', '', false])
    await expectWorthless(remade(bySelf, {}, { exp }))
})

test('F09 a token with a changed sub, scope, aud or client_id is refused', async () => {
  for (const claims of [
    { sub: undefined },
    { sub: '' },
    { sub: 1 },
    { sub: { id: 'u' } },
    { sub: 'u\0' },
    { sub: 'x'.repeat(5000) },
    { sub: 'u_somebody-else' },
    { scope: 'mcp:read mcp:write mcp:admin' },
    { aud: [scene.target.uri] },
    { client_id: scene.server.client_id },
    { cnf: undefined, jti: newId() },
  ])
    await expectWorthless((token) => {
      const [head, , signature] = token.split('.')
      return [head, base64url({ ...decodeJwt(token), ...claims }), signature].join('.')
    })
})

test('F09 a jti that was never issued is refused, also with a valid signature', async () => {
  for (const jti of [newId(), undefined, '', 1, 'x'.repeat(22), "' OR 1=1--", [newId()]])
    await expectWorthless(remade(bySelf, {}, { jti }))
})

describe('F10 extensions that change the interpretation', () => {
  test.each([
    { crit: ['exp'], exp: 9e9 },
    { crit: [] },
    { crit: ['b64'], b64: false },
    { b64: false },
    { b64: true },
    { zip: 'DEF' },
    { zip: 'none' },
  ])('%j, though we signed it', async (header) => {
    await expectWorthless(remade(bySelf, header))
  })

  test('a token of five segments is a JWE and is not decrypted', async () => {
    await expectWorthless(
      (token) => `${base64url({ alg: 'dir', enc: 'A256GCM', zip: 'DEF' })}..AAAA.${token.length}.AAAA`,
    )
    await expectWorthless((token) => `${token}.AAAA.AAAA`)
  })
})

describe('F12 other encodings of the same token', () => {
  const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  /** The next character of the alphabet: it differs only in bits that the last character of 64 bytes does not use. */
  const trailing = (token: string) => token.slice(0, -1) + ALPHABET[ALPHABET.indexOf(token.slice(-1)) ^ 1]
  test.each<[string, (token: string) => string]>([
    ['padding', (token) => `${token}==`],
    ['padding in the header', (token) => token.replace('.', '=.')],
    ['bits behind the last byte', trailing],
    ['a blank behind', (token) => `${token} `],
    ['a blank in front', (token) => ` ${token}`],
    ['a line break behind', (token) => `${token}\n`],
    ['a line break within', (token) => token.replace('.', '.\n')],
    ['percent-encoding', (token) => token.replace('.', '%2E')],
  ])('%s', async (_what, change) => {
    await expectWorthless(change)
  })

  test('the alphabet of standard base64 is refused', async () => {
    const other = (token: string) => token.replaceAll('-', '+').replaceAll('_', '/')
    let token = subject
    while (!/[-_]/.test(token)) token = remade(bySelf)(subject)
    expect(await seenBy(token)).toMatchObject({ active: true })
    expect(await seenBy(other(token))).toEqual({ active: false })
  })

  test('another encoding of a proof is no second use', async () => {
    const proof = await proofOf(service, attacker)
    const send = (dpop: string) => machineToken(service, scene.app, {}, { dpop })
    expect((await send(proof)).status).toBe(200)
    for (const other of [proof, `${proof}==`, trailing(proof), proof.replace('.', '=.')])
      expect((await send(other)).body).toMatchObject({ error: 'invalid_dpop_proof' })
    const { header, claims } = proofParts(service, attacker)
    const escaped = JSON.stringify({ ...claims, jti: 'abc' }).replace('"abc"', '"\\u0061bc"')
    expect((await send(forge(header, { ...claims, jti: 'abc' }, signedBy(attacker)))).status).toBe(200)
    expect((await send(forge(header, escaped, signedBy(attacker)))).body).toMatchObject({ error: 'invalid_dpop_proof' })
  })
})

describe('F13 a token of one type used as another', () => {
  test.each([
    'JWT',
    'dpop+jwt',
    'oauth-id-jag+jwt',
    'logout+jwt',
    'AT+JWT',
    'application/at+jwt',
    'jwt',
    null,
    undefined,
  ])('a token of ours with typ %j is no access token', async (typ) => {
    await expectWorthless(remade(bySelf, { typ }))
  })

  test('proofs, refresh tokens, codes, session cookies, ids and secrets are refused as subject token and actor token', async () => {
    const { code, browser } = await authorize(service, scene.app, scene.user)
    const cookie = [...browser.cookies.values()][0] ?? ''
    expect([code, cookie, scene.refresh_token].every(Boolean)).toBe(true)
    const { jti } = decodeJwt(subject)
    for (const token of [
      await proofOf(service, attacker),
      String(scene.refresh_token),
      code,
      cookie,
      jti,
      scene.app.client_secret,
    ]) {
      expect((await asSubject(String(token))).body).toMatchObject(INVALID_GRANT)
      expect((await asActor(String(token))).body).toMatchObject(INVALID_GRANT)
      expect(await seenBy(String(token))).toEqual({ active: false })
    }
  })

  test('an access token is refused as refresh token, code and proof', async () => {
    expect((await refresh(service, scene.app, subject)).body).toMatchObject(INVALID_GRANT)
    const fields = { grant_type: 'authorization_code', code: subject, code_verifier: 'x'.repeat(43) }
    expect((await post(`${service.issuer}/oauth/token`, scene.app, fields)).body).toMatchObject(INVALID_GRANT)
    const answer = await machineToken(service, scene.app, {}, { dpop: subject })
    expect(answer.body).toMatchObject({ error: 'invalid_dpop_proof' })
  })
})

describe('F14 a revoked or expired token is refused as subject token', () => {
  type At = Awaited<ReturnType<typeof exchangeScene>>
  test.each<[string, (at: At) => Promise<unknown>]>([
    [
      'after its revocation',
      ({ app, subject }) => post(`${service.issuer}/oauth/revoke`, app, { token: String(subject) }),
    ],
    [
      'after that of its family',
      ({ app, refresh_token }) => post(`${service.issuer}/oauth/revoke`, app, { token: String(refresh_token) }),
    ],
    [
      'after its refresh token was used twice',
      async ({ app, refresh_token }) => {
        await refresh(service, app, refresh_token)
        await refresh(service, app, refresh_token)
      },
    ],
    [
      'after its user was disabled',
      ({ user }) => service.app.store.updateUser({ user: { ...user, status: 'disabled' }, signOut: false, now: 0 }),
    ],
    [
      'after its user was deleted',
      ({ user }) => service.app.store.deleteUser({ id: user.id, force: true, now: service.app.clock.now() }),
    ],
    ['after its client was suspended', ({ app }) => service.app.store.updateClient({ ...app, status: 'suspended' })],
  ])('%s', async (_what, end) => {
    const at = await exchangeScene(service)
    expect((await at.exchanged()).status).toBe(200)
    await end(at)
    expect((await at.exchanged()).body).toMatchObject(INVALID_GRANT)
    expect(
      await service.app.store.listIssuances({ client_id: at.gateway.client_id, since: '', limit: 10 }),
    ).toHaveLength(1)
  })
})

test('F15 a token is accepted with the typ with which it was issued, whatever typ its resource has now', async () => {
  const { app, source } = scene
  const stored = await service.app.store.findResourceByName({ name: source.id })
  await service.app.store.updateResource({ ...(stored ?? source), access_token_typ: 'JWT' })
  const token = String((await refresh(service, app, scene.refresh_token)).body['access_token'])
  expect(decodeProtectedHeader(token).typ).toBe('JWT')
  expect(await seenBy(token)).toMatchObject({ active: true })
  const swapped = `${base64url({ ...decodeProtectedHeader(token), typ: 'at+jwt' })}.${token.split('.').slice(1).join('.')}`
  for (const forged of [swapped, ...['at+jwt', 'jwt', undefined].map((typ) => remade(bySelf, { typ })(token))]) {
    expect(await seenBy(forged)).toEqual({ active: false })
    expect((await asSubject(forged)).body).toMatchObject(INVALID_GRANT)
    expect((await post(`${service.issuer}/oauth/revoke`, app, { token: forged })).status).toBe(200)
  }
  expect(await seenBy(token)).toMatchObject({ active: true })
})
