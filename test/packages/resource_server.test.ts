// The package for resource servers against a running service: what it accepts, what it refuses, and with which challenge.
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  createVerifier,
  Refusal,
  type Verifier,
  type VerifierOptions,
} from '../../packages/resource-server/src/index.ts'
import type { Browser } from '../support/browser.ts'
import { type ProofKey, proofKey, proofOf } from '../support/dpop.ts'
import { personAt, withApp } from '../support/factors.ts'
import { authorize, machineToken, post, redeem } from '../support/flow.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'
import { failureOf } from '../support/thrown.ts'

const RESOURCE = 'https://notes.example.com/mcp'
const METADATA = 'https://notes.example.com/.well-known/oauth-protected-resource/mcp'
let service: TestService
let client: Awaited<ReturnType<typeof addClient>>
let server: Awaited<ReturnType<typeof addClient>>
beforeAll(async () => {
  service = await startService()
  client = await addClient(service)
  server = await addClient(service)
  await addResource(service, { uri: RESOURCE, policy: { runtime: { client_ids: [server.client_id] } } })
  await addResource(service, { uri: 'https://other.example.com/mcp' })
})
afterAll(() => service.close())

const verifierOf = (options: Partial<VerifierOptions> = {}) =>
  createVerifier({ issuer: service.issuer, resource: RESOURCE, scopes: ['mcp:read'], ...options })
const tokenFor = async (fields: Record<string, string> = {}, headers: Record<string, string> = {}) => {
  const { body } = await machineToken(service, client, { resource: RESOURCE, scope: 'mcp:read', ...fields }, headers)
  return String(body['access_token'])
}
const request = (headers: Record<string, string>, method = 'POST', path = '/mcp') =>
  new Request(`https://notes.example.com${path}`, { method, headers })
const bearer = (token: string) => request({ authorization: `Bearer ${token}` })
/** The refusal of a request: status, code, description, challenge. */
async function refused(verifier: Verifier, asked: Request, scopes: string[] = []) {
  const refusal = await failureOf(verifier.verify(asked, scopes))
  if (!(refusal instanceof Refusal)) throw refusal
  return {
    status: refusal.status,
    code: refusal.code,
    text: refusal.message,
    challenge: refusal.headers['www-authenticate'],
  }
}

describe('a bearer token', () => {
  test('is accepted, with its claims', async () => {
    const verified = await verifierOf().verify(bearer(await tokenFor()))
    expect(verified).toMatchObject({ clientId: client.client_id, subject: client.client_id, scopes: ['mcp:read'] })
    expect(verified.expiresAt).toBeGreaterThan(service.app.clock.now())
  })

  test('is accepted from the headers of node:http, and the name of the scheme may have any case', async () => {
    const headers = { authorization: `bEARER ${await tokenFor()}` }
    expect(await verifierOf().verify({ method: 'POST', url: '/mcp?x=1', headers })).toMatchObject({
      clientId: client.client_id,
    })
  })

  test('is refused without a signature of the issuer, for another resource, with another type, or after its end', async () => {
    const verifier = verifierOf()
    const good = await tokenFor()
    const secret = new TextEncoder().encode('a secret that is long enough for HS256')
    const forged = await new SignJWT({ client_id: 'x', scope: 'mcp:read', jti: 'j' })
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' })
      .setIssuer(service.issuer)
      .setAudience(RESOURCE)
      .setSubject('x')
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(secret)
    const changed = good.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
    const elsewhere = await tokenFor({ resource: 'https://other.example.com/mcp' })
    for (const token of [
      forged,
      changed.replace(/\.[^.]{8}/, '.AAAAAAAA'),
      elsewhere,
      'not.a.token',
      'x'.repeat(20_000),
    ])
      expect(await refused(verifier, bearer(token))).toMatchObject({ status: 401, code: 'invalid_token' })
    expect(await verifier.verify(bearer(good))).toBeDefined()
  })

  test('that is remembered is refused after its end', async () => {
    const verifier = verifierOf({ clockTolerance: 0 })
    const { expiresAt, claims } = await verifier.verify(bearer(await tokenFor()))
    const early = expiresAt - Number(claims.iat) - 3
    service.advance(-early)
    const token = await tokenFor()
    service.advance(early)
    expect(await verifier.verify(bearer(token))).toBeDefined()
    const refusal = () =>
      failureOf(verifier.verify(bearer(token))).then((error) => (error as Refusal | undefined)?.message)
    await vi.waitFor(async () => expect(await refusal()).toBe('the token has expired'), { timeout: 10_000 })
  })
})

describe('the challenge', () => {
  test('names the metadata of the resource, and no error when there is no token', async () => {
    const { status, code, challenge } = await refused(verifierOf(), request({}))
    expect([status, code]).toEqual([401, undefined])
    expect(challenge).toBe(`Bearer resource_metadata="${METADATA}", scope="mcp:read"`)
  })

  test('names the scopes that are needed and missing', async () => {
    const { status, challenge } = await refused(verifierOf(), bearer(await tokenFor()), ['mcp:write'])
    expect(status).toBe(403)
    expect(challenge).toBe(
      `Bearer resource_metadata="${METADATA}", error="insufficient_scope", error_description="the token lacks the scope mcp:write", scope="mcp:read mcp:write"`,
    )
  })

  test('asks for a proof where proofs are required, as the metadata does', async () => {
    const verifier = verifierOf({ dpop: 'required' })
    const { challenge } = await refused(verifier, request({}))
    expect(challenge).toMatch(/^DPoP resource_metadata="[^"]+", algs="ES256 /)
    expect(verifier.resourceMetadata).toMatchObject({
      dpop_bound_access_tokens_required: true,
      scopes_supported: ['mcp:read'],
    })
    expect(await refused(verifier, bearer(await tokenFor()))).toMatchObject({ status: 401, code: 'invalid_token' })
  })

  test('has a body for servers that work with fetch', async () => {
    const refusal = await failureOf(verifierOf().verify(request({})))
    const answer = (refusal as Refusal).toResponse()
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining(METADATA)])
    expect(await answer.json()).toMatchObject({ error: 'unauthorized' })
  })
})

describe('a token that is bound to a key', () => {
  let key: ProofKey
  let token: string
  beforeAll(async () => {
    key = await proofKey()
    token = await tokenFor({}, { dpop: await proofOf(service, key) })
  })
  const ath = async (of: string) =>
    Buffer.from(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(of))).toString('base64url')
  const proof = async (claims: Record<string, unknown> = {}, by = key) =>
    proofOf(service, by, {
      claims: { htu: RESOURCE, ath: await ath(token), iat: Math.floor(Date.now() / 1000), ...claims },
    })
  const bound = (dpop: string, path = '/mcp') => request({ authorization: `DPoP ${token}`, dpop }, 'POST', path)

  test('is accepted with a proof, once, whatever the query is', async () => {
    const verifier = verifierOf()
    const dpop = await proof()
    expect(await verifier.verify(bound(dpop, '/mcp?session=1'))).toMatchObject({ clientId: client.client_id })
    expect(await refused(verifier, bound(dpop))).toMatchObject({
      code: 'invalid_dpop_proof',
      text: 'the proof was used before',
    })
  })

  test('is refused as a bearer token', async () => {
    const { code, challenge } = await refused(verifierOf(), bearer(token))
    expect([code, challenge]).toEqual(['invalid_token', expect.stringMatching(/^DPoP /)])
  })

  test.each([
    ['another method', { htm: 'GET' }],
    ['another URL', { htu: 'https://notes.example.com/other' }],
    ['another host', { htu: 'https://evil.example.com/mcp' }],
    ['another token', { ath: 'AAAA' }],
    ['no token', { ath: undefined }],
    ['an hour ago', { iat: Math.floor(Date.now() / 1000) - 3600 }],
    ['in an hour', { iat: Math.floor(Date.now() / 1000) + 3600 }],
  ])('is refused with a proof for %s', async (_, claims) => {
    expect(await refused(verifierOf(), bound(await proof(claims)))).toMatchObject({
      status: 401,
      code: 'invalid_dpop_proof',
    })
  })

  test('is refused with the proof of another key, with none, and with two', async () => {
    const verifier = verifierOf()
    const other = await proof({}, await proofKey())
    for (const dpop of [other, '', `${await proof()}, ${await proof()}`])
      expect(await refused(verifier, bound(dpop))).toMatchObject({ code: 'invalid_dpop_proof' })
  })
})

describe('introspection', () => {
  const introspection = () => ({ clientId: server.client_id, clientSecret: server.client_secret })

  test('refuses a token that was revoked, although it was accepted before', async () => {
    const verifier = verifierOf({ introspection: introspection() })
    const token = await tokenFor()
    await verifier.verify(bearer(token))
    await post(`${service.issuer}/oauth/revoke`, client, { token })
    expect(await refused(verifier, bearer(token))).toMatchObject({
      code: 'invalid_token',
      text: 'the token was revoked',
    })
  })

  test('is used only for the tokens that are chosen', async () => {
    const verifier = verifierOf({
      introspection: { ...introspection(), when: ({ scopes }) => scopes.includes('mcp:write') },
    })
    const [reading, writing] = [await tokenFor(), await tokenFor({ scope: 'mcp:read mcp:write' })]
    for (const token of [reading, writing]) await post(`${service.issuer}/oauth/revoke`, client, { token })
    expect(await verifier.verify(bearer(reading))).toBeDefined()
    expect(await refused(verifier, bearer(writing))).toMatchObject({ code: 'invalid_token' })
  })

  test('refuses with 503 when the authorization server does not answer as it should', async () => {
    const verifier = verifierOf({ introspection: { clientId: server.client_id, clientSecret: 'wrong' } })
    expect(await refused(verifier, bearer(await tokenFor()))).toMatchObject({
      status: 503,
      code: 'temporarily_unavailable',
    })
  })
})

test('an authorization server that cannot be read, or that names another issuer, is 503 and not the fault of the token', async () => {
  const token = await tokenFor()
  const down = verifierOf({ fetch: () => Promise.reject(new Error('connection refused')) })
  expect(await refused(down, bearer(token))).toMatchObject({ status: 503, code: 'temporarily_unavailable' })
  const other = verifierOf({
    fetch: async () => Response.json({ issuer: 'https://evil.example.com', jwks_uri: 'https://evil.example.com/jwks' }),
  })
  expect(await refused(other, bearer(token))).toMatchObject({ status: 503 })
})

describe('a sign-in with a second factor (RFC 9470)', () => {
  const tokenOf = async (person: { email: string; browser: Browser }) => {
    const code = await authorize(service, client, person, { resource: RESOURCE, scope: 'mcp:read' }, person.browser)
    return String((await redeem(service, client, code)).body['access_token'])
  }

  test('a token without it is refused with the class that is needed, one with it is accepted', async () => {
    const verifier = verifierOf({ acrValues: ['mfa'] })
    expect(await refused(verifier, bearer(await tokenOf(await personAt(service))))).toMatchObject({
      status: 401,
      code: 'insufficient_user_authentication',
      challenge: `Bearer resource_metadata="${METADATA}", error="insufficient_user_authentication", error_description="the user must sign in with another factor", acr_values="mfa", scope="mcp:read"`,
    })
    const strong = bearer(await tokenOf(await withApp(service)))
    expect((await verifier.verify(strong)).claims).toMatchObject({ acr: 'mfa' })
    expect(await refused(verifierOf({ acrValues: ['phr'] }), strong)).toMatchObject({ status: 401 })
    expect(await verifierOf().verify(strong, [], ['phr', 'mfa'])).toBeDefined()
  })

  test('a client that acts for itself needs none', async () => {
    expect(await verifierOf({ acrValues: ['mfa'] }).verify(bearer(await tokenFor()))).toBeDefined()
  })
})

describe('single actions (RFC 9396)', () => {
  const resource = 'https://bank.example.com/mcp'
  const ADA = { type: 'payment', amount: '30.50', to: { iban: 'DE1', name: 'Ada' } }
  test('a token allows the actions of its details, and nothing that differs in a member', async () => {
    const schema = { properties: { amount: { type: 'string' }, to: { type: 'object' } } }
    await addResource(service, {
      uri: resource,
      authorization_details_types: [{ type: 'payment', description: 'Payments', schema }],
    })
    const verifier = verifierOf({ resource })
    const tokenWith = async (fields: Record<string, string>) =>
      verifier.verify(bearer(await tokenFor({ resource, ...fields })))
    const token = await tokenWith({ authorization_details: JSON.stringify([{ ...ADA, amount: '1.00' }, ADA]) })
    verifier.requireDetails(token, ADA)
    verifier.requireDetails(
      token,
      { type: 'payment', to: { name: 'Ada', iban: 'DE1' } },
      { type: 'payment', amount: '1.00' },
    )
    for (const [from, ...needed] of [
      [token, { ...ADA, amount: '30.5' }],
      [token, { ...ADA, to: { name: 'Ada' } }],
      [token, { ...ADA, to: { ...ADA.to, bic: 'X' } }],
      [token, { ...ADA, reference: '7' }],
      [token, { ...ADA, type: 'transfer' }],
      [token, ADA, { type: 'payment', amount: '2.00' }],
      [token, { type: 'payment', toString: ADA.to }],
      [await tokenWith({}), ADA],
    ] as const) {
      const refusal = await failureOf(Promise.resolve().then(() => verifier.requireDetails(from, ...needed)))
      if (!(refusal instanceof Refusal)) throw refusal
      const error = 'insufficient_authorization_details'
      expect([refusal.status, refusal.body.error, refusal.details]).toEqual([403, error, [needed.at(-1)]])
      expect(refusal.headers['www-authenticate']).toContain(`error="${error}"`)
      expect(refusal.draftDenial).toEqual({
        authorization: {
          reason: 'insufficient_authorization',
          remediationHints: [{ type: 'oauth_authorization_details', authorization_details: refusal.details }],
        },
      })
    }
  })
})
