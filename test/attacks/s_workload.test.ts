// Attacks on workload identity (federated_jwt), over HTTP: tokens that must not prove a client, and issuers that must not harm the service.
import { createHmac } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createFetcher } from '../../src/net/fetch.ts'
import { createIssuerMetadata } from '../../src/net/issuer_metadata.ts'
import type { FederatedCredential } from '../../src/records/client.ts'
import type { Answer } from '../support/flow.ts'
import { idpKey, signed } from '../support/idp.ts'
import { startService, type TestService } from '../support/service.ts'
import {
  addFederated,
  MAILER,
  proveWith,
  SPIFFE_ASSERTION,
  startGithub,
  startKubernetes,
  startSpire,
} from '../support/workload.ts'
import { LOOPBACK, trust, watchReasons, xaaScene } from '../support/xaa.ts'

let service: TestService
let reasonOf: (answer: Answer) => string | undefined
beforeAll(async () => {
  service = await startService(LOOPBACK)
  reasonOf = watchReasons(service)
})
afterAll(() => service.close())

/** Which client a token proves, or why none. */
async function outcome(token: string, fields: Record<string, string> = {}): Promise<string | undefined> {
  const answer = await proveWith(service, token, fields)
  if (answer.status === 200) return decodeJwt(String(answer.body['access_token'])).sub
  return `${answer.status} ${answer.body['error']} ${reasonOf(answer)}`
}
const refusal = (reason: string) => `401 invalid_client ${reason}`

/** An issuer like Kubernetes, and a client that its tokens prove. */
async function mailer(more: Partial<FederatedCredential> = {}) {
  const issuer = await startKubernetes()
  const { client_id } = await addFederated(service, [{ issuer: issuer.issuer, subject: MAILER, ...more }])
  return { ...issuer, client_id }
}
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('S31 a * of a credential', () => {
  test('never crosses a separator, whatever the subject looks like', async () => {
    const { issuer, token } = await startGithub()
    const subject = 'repo:acme/*:ref:refs/heads/release-*'
    const { client_id } = await addFederated(service, [{ issuer, subject }])
    const of = async (sub: string) => outcome(await token(service.issuer, { sub }))
    expect(await of('repo:acme/tools:ref:refs/heads/release-1')).toBe(client_id)
    for (const sub of [
      'repo:acme/tools/evil:ref:refs/heads/release-1',
      'repo:acme/tools:evil:ref:refs/heads/release-1',
      'repo:acme/tools:ref:refs/heads/release-1/evil',
      'repo:acme/tools:ref:refs/heads/release-1:evil',
      'repo:acme/:ref:refs/heads/release-1',
      'repo:acme:tools:ref:refs/heads/release-1',
      'repo:acme/tools:ref:refs:heads:release-1',
      'evil:repo:acme/tools:ref:refs/heads/release-1',
      'repo:acmeevil/tools:ref:refs/heads/release-1',
    ])
      expect(await of(sub), sub).toBe(refusal('assertion_subject'))
  })

  test('a subject of 1,000 parts, and one of 10,000 characters, are refused with one indexed query', async () => {
    const { issuer, token } = await startGithub()
    await addFederated(service, [
      { issuer, subject: '*' },
      { issuer, subject: 'a:*' },
    ])
    for (const sub of [':a'.repeat(500), 'a'.repeat(10_000), '*'])
      expect(await outcome(await token(service.issuer, { sub }))).toMatch(sub === '*' ? /^c_/ : /assertion_subject$/)
  })

  test('a claim that every object has, or that is not a string, does not match', async () => {
    const { issuer, token } = await startGithub()
    await addFederated(service, [{ issuer, subject: 'job', claims: { constructor: '*', ref: '*' } }])
    const ref = 'main'
    for (const claims of [
      { ref },
      { ref: [ref], constructor: 'x' },
      { ref: { ref }, constructor: 'x' },
      { ref: true, constructor: 'x' },
    ])
      expect(await outcome(await token(service.issuer, { sub: 'job', ...claims }))).toBe(refusal('assertion_claims'))
  })
})

describe('S32 a token that two clients match', () => {
  test('proves neither, and the answer does not tell that there are two', async () => {
    const first = await mailer()
    const token = await first.token(service.issuer)
    const unknown = await proveWith(service, await first.token(service.issuer, { sub: 'nobody' }))
    await addFederated(service, [{ issuer: first.issuer, subject: 'system:*:prod:mailer' }])
    const answer = await proveWith(service, token)
    expect(reasonOf(answer)).toBe('assertion_several_clients')
    expect(answer.body['error_description']).toBe(unknown.body['error_description'])
  })
})

describe('S33 a token of another issuer', () => {
  test('proves nothing, neither under its own name nor under that of the trusted one', async () => {
    const { client_id, issuer, ...trusted } = await mailer()
    const evil = await startKubernetes()
    expect(await outcome(await evil.token(service.issuer))).toBe(refusal('assertion_subject'))
    const posing = { iss: issuer }
    const { kid } = trusted.server.key
    expect(await outcome(await evil.token(service.issuer, posing))).toBe(refusal('assertion_unknown_key'))
    expect(await outcome(await evil.token(service.issuer, posing, { header: { kid } }))).toBe(
      refusal('assertion_signature'),
    )
    expect(await outcome(await evil.token(service.issuer, posing), { client_id })).toBe(
      refusal('assertion_unknown_key'),
    )
    expect(evil.asked).toEqual([])
    for (const iss of [`${issuer}/`, issuer.toUpperCase(), [issuer], undefined, service.issuer])
      expect(await outcome(await trusted.token(service.issuer, { iss }), { client_id })).toMatch(/^401 invalid_client/)
  })

  test('a discovery document that names another issuer, or has the key URL of another server, is not accepted', async () => {
    const liar = await mailer()
    liar.metadata['issuer'] = 'https://other.example.com'
    expect(await outcome(await liar.token(service.issuer))).toBe(refusal('jwks_bad_document'))
    expect(liar.asked).toEqual(['/.well-known/openid-configuration'])
  })

  test('a JWT-SVID of another trust domain, or signed by a key of the bundle for X.509, is refused', async () => {
    const { keysUrl, token, server } = await startSpire()
    const subject = 'spiffe://prod.example.org/ns/pay/sa/*'
    const { client_id } = await addFederated(service, [
      { issuer: 'spiffe://prod.example.org', subject, jwks_uri: keysUrl },
    ])
    const svid = async (sub: string) =>
      outcome(await token(service.issuer, { sub }), { client_assertion_type: SPIFFE_ASSERTION })
    expect(await svid('spiffe://prod.example.org/ns/pay/sa/x')).toBe(client_id)
    for (const sub of [
      'spiffe://prod.example.org.evil.com/ns/pay/sa/x',
      'spiffe://evil.com/ns/pay/sa/x',
      'spiffe://prod.example.org/ns/pay/sa/x/y',
    ])
      expect(await svid(sub), sub).toBe(refusal('assertion_subject'))
    const other = await idpKey()
    const routes = server.routes['/bundle'] as RequestListener
    server.routes['/bundle'] = (_, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ keys: [{ ...other.jwk, kid: other.kid, use: 'x509-svid' }] }))
    expect(await outcome(await token(service.issuer, {}, { key: other }))).toBe(refusal('assertion_unknown_key'))
    server.routes['/bundle'] = routes
  })
})

describe('S34 algorithm confusion', () => {
  test('alg none, a MAC with the public key, and an algorithm of another kind of key are refused', async () => {
    const { token, claims, server, client_id } = await mailer()
    expect(await outcome(await token(service.issuer))).toBe(client_id)
    const { kid, jwk } = server.key
    const payload = encoded(claims(service.issuer))
    const none = `${encoded({ alg: 'none', kid })}.${payload}.`
    expect(await outcome(none)).toBe(refusal('assertion_alg'))
    for (const secret of [JSON.stringify(jwk), String(jwk.n)]) {
      const input = `${encoded({ alg: 'HS256', kid })}.${payload}`
      const mac = createHmac('sha256', secret).update(input).digest('base64url')
      expect(await outcome(`${input}.${mac}`)).toBe(refusal('assertion_alg'))
    }
    const rsa = await idpKey('RS256', kid)
    expect(await outcome(await signed(rsa, { kid }, claims(service.issuer)))).toBe(refusal('assertion_key_alg'))
    const ec = await idpKey()
    const embedded = await signed(ec, { jwk: ec.jwk, alg: 'ES256' }, claims(service.issuer))
    expect(await outcome(embedded)).toBe(refusal('assertion_signature'))
  })
})

describe('S35 an issuer that would harm the service', () => {
  const answers: [string, RequestListener, string][] = [
    [
      'redirects',
      (_, response) => void response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
      'redirect',
    ],
    [
      'is endless',
      (_, response) =>
        void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(`{"issuer":"${'x'.repeat(1_000_000)}"}`),
      'too_large',
    ],
    [
      'is a page',
      (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      'bad_document',
    ],
  ]
  test.each(answers)('a discovery document that %s is refused', async (_, answer, reason) => {
    const { token, server } = await mailer()
    server.routes['/.well-known/openid-configuration'] = answer
    expect(await outcome(await token(service.issuer))).toBe(refusal(`jwks_${reason}`))
  })

  test('a slow issuer is given up, and the workload may try again', async () => {
    const { token, server } = await mailer()
    server.routes['/.well-known/openid-configuration'] = () => {}
    const fetcher = createFetcher({ allowPrivate: true, userAgent: 'test' })
    const hasty: typeof fetcher = { fetch: (url, request) => fetcher.fetch(url, { ...request, timeoutMs: 50 }) }
    const { issuerMetadata } = service.app
    const { clock } = service.app
    Object.assign(service.app, {
      issuerMetadata: createIssuerMetadata({ fetcher: hasty, clock, ttl: 60, allowHttp: true }),
    })
    expect(await outcome(await token(service.issuer))).toBe('503 temporarily_unavailable jwks_timeout')
    Object.assign(service.app, { issuerMetadata })
  })

  test('addresses of this network are never asked, and plain http cannot be registered', async () => {
    const strict = await startService()
    const reason = watchReasons(strict)
    const add = (credential: FederatedCredential) => addFederated(strict, [credential])
    for (const issuer of ['https://127.0.0.1:1', 'https://169.254.169.254', 'https://[::1]'])
      await add({ issuer, subject: MAILER })
    await add({ issuer: 'https://public.example', subject: MAILER, jwks_uri: 'https://127.0.0.1:1/jwks' })
    const key = await idpKey()
    const exp = Math.floor(Date.now() / 1000) + 60
    for (const iss of ['https://127.0.0.1:1', 'https://169.254.169.254', 'https://[::1]', 'https://public.example']) {
      const token = await signed(key, {}, { iss, sub: MAILER, aud: strict.issuer, exp })
      expect(reason(await proveWith(strict, token)), iss).toBe('jwks_blocked_address')
    }
    await expect(add({ issuer: 'http://plain.example', subject: MAILER })).rejects.toThrow('must use https')
    await expect(
      add({ issuer: 'https://plain.example', subject: MAILER, jwks_uri: 'http://plain.example/jwks' }),
    ).rejects.toThrow('must use https')
    await strict.close()
  })

  test('tokens that match no credential, and unknown keys, cause no request to an issuer', async () => {
    const { token, asked, client_id } = await mailer()
    for (const changes of [{ sub: 'x' }, { aud: 'https://other.example' }, { exp: 1 }])
      await outcome(await token(service.issuer, changes))
    expect(asked).toEqual([])
    expect(await outcome(await token(service.issuer))).toBe(client_id)
    const unknown = await idpKey()
    for (let i = 0; i < 20; i++)
      expect(await outcome(await token(service.issuer, {}, { key: unknown }))).toMatch(/unknown_key/)
    expect(asked.filter((path) => path === '/openid/v1/jwks').length).toBe(2)
  })
})

describe('S36 a token for another use', () => {
  test('for another server, or for the API server of the cluster, is refused', async () => {
    const { token } = await mailer()
    for (const aud of [
      'https://kubernetes.default.svc',
      'https://other.example',
      [],
      undefined,
      `${service.issuer}/`.repeat(2),
      { toString: 1 },
    ])
      expect(await outcome(await token(aud))).toBe(refusal('assertion_audience'))
  })

  test.each(['at+jwt', 'application/at+jwt', 'dpop+jwt', 'logout+jwt', 'oauth-id-jag+jwt', 'AT+JWT'])(
    'of the type %s is refused',
    async (typ) => {
      const { token } = await mailer()
      expect(await outcome(await token(service.issuer, {}, { header: { typ } }))).toBe(refusal('assertion_typ'))
    },
  )

  test('a workload token is no ID-JAG, and an ID-JAG proves no client', async () => {
    const scene = await xaaScene(service)
    const { issuer, token } = await startKubernetes()
    await trust(service, { issuer, jwks_uri: `${issuer}/openid/v1/jwks` })
    const jag = await token(service.issuer, { client_id: scene.client.client_id })
    expect(reasonOf(await scene.redeem(jag))).toBe('typ')
    await addFederated(service, [{ issuer: scene.idp.issuer, subject: 'employee-1', jwks_uri: scene.idp.jwks_uri }])
    expect(await outcome(await scene.assertion())).toBe(refusal('assertion_typ'))
  })

  test('an access token of this server proves no client, and no credential can name this server', async () => {
    const { token, client_id } = await mailer()
    const { body } = await proveWith(service, await token(service.issuer))
    expect(await outcome(String(body['access_token']), { client_id })).toBe(refusal('assertion_typ'))
    for (const issuer of [service.issuer, `${service.issuer}/`])
      await expect(addFederated(service, [{ issuer, subject: client_id }])).rejects.toThrow(
        'must not be that of this server',
      )
  })

  test('the client_id of another client is refused, with an assertion and a secret both', async () => {
    const [one, two] = [await mailer(), await mailer()]
    const token = await one.token(service.issuer)
    expect(await outcome(token, { client_id: two.client_id })).toBe(refusal('assertion_subject'))
    expect(await outcome(token, { client_secret: 'cs_guess' })).toBe('400 invalid_request two_client_authentications')
  })
})

test('S37 a foreign token is refused with one query by an index', async () => {
  const { token } = await mailer()
  const find = vi.spyOn(service.app.store, 'findFederatedClients')
  const list = vi.spyOn(service.app.store, 'listClients')
  expect(await outcome(await token(service.issuer, { sub: 'foreign' }))).toBe(refusal('assertion_subject'))
  expect([find.mock.calls.length, list.mock.calls.length]).toEqual([1, 0])
})
