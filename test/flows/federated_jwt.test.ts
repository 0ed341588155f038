// Workload identity: tokens of Kubernetes, GitHub Actions and SPIFFE as client authentication, over HTTP.
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { FederatedCredential } from '../../src/records/client.ts'
import { okAdmin } from '../support/admin.ts'
import { post } from '../support/flow.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'
import {
  addFederated,
  MAILER,
  proveWith,
  SPIFFE_ASSERTION,
  startGithub,
  startKubernetes,
  startSpire,
  type WorkloadIssuer,
} from '../support/workload.ts'
import { LOOPBACK, watchReasons } from '../support/xaa.ts'

let service: TestService
let reasonOf: ReturnType<typeof watchReasons>
beforeAll(async () => {
  service = await startService(LOOPBACK)
  reasonOf = watchReasons(service)
})
afterAll(() => service.close())

/** Which client a token proves, or why none. */
async function proves(token: string, fields: Record<string, string> = {}): Promise<string | undefined> {
  const answer = await proveWith(service, token, fields)
  return answer.status === 200
    ? decodeJwt(String(answer.body['access_token'])).sub
    : `${answer.status} ${reasonOf(answer)}`
}

/** An issuer like Kubernetes, and a client that its tokens prove. */
async function mailer(more: Partial<FederatedCredential> = {}): Promise<{ issuer: WorkloadIssuer; client_id: string }> {
  const issuer = await startKubernetes()
  const { client_id } = await addFederated(service, [{ issuer: issuer.issuer, subject: MAILER, ...more }])
  return { issuer, client_id }
}

describe('a Kubernetes service account', () => {
  test('gets a token for a resource with its projected token, repeatedly until it expires', async () => {
    const { issuer, client_id } = await mailer()
    const resource = await addResource(service)
    const token = await issuer.token([service.issuer])
    for (let i = 0; i < 2; i++) {
      const { status, body } = await proveWith(service, token, { resource: resource.uri, scope: 'mcp:read' })
      expect(status).toBe(200)
      expect(decodeJwt(String(body['access_token']))).toMatchObject({ sub: client_id, client_id, aud: [resource.uri] })
    }
    expect(issuer.asked).toEqual(['/.well-known/openid-configuration', '/openid/v1/jwks'])
    service.advance(3700)
    expect(await proves(token)).toBe('401 assertion_expired')
    service.advance(-3700)
  })

  test('authenticates at introspection and revocation too', async () => {
    const { issuer } = await mailer()
    const client_assertion = await issuer.token(service.issuer)
    const { body } = await proveWith(service, client_assertion)
    const ask = (path: string) =>
      post(service.issuer + path, undefined, {
        token: String(body['access_token']),
        client_assertion,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      })
    expect((await ask('/oauth/introspect')).body['active']).toBe(true)
    expect((await ask('/oauth/revoke')).status).toBe(200)
    expect((await ask('/oauth/introspect')).body).toEqual({ active: false })
  })

  test('has no secret, and is refused without an assertion or with a secret', async () => {
    const { client_id } = await mailer()
    const ask = (fields: Record<string, string>) =>
      post(`${service.issuer}/oauth/token`, undefined, { grant_type: 'client_credentials', client_id, ...fields })
    expect(reasonOf(await ask({}))).toBe('missing_assertion')
    expect((await ask({ client_secret: 'cs_guess' })).status).toBe(401)
  })
})

describe('the client that a token authenticates', () => {
  test('is the client of client_id, if it has a matching credential', async () => {
    const { issuer, client_id } = await mailer()
    const other = await mailer()
    const token = await issuer.token(service.issuer)
    expect(await proves(token, { client_id })).toBe(client_id)
    expect(await proves(token, { client_id: other.client_id })).toBe('401 assertion_subject')
    expect(await proves(token, { client_id: (await addClient(service)).client_id })).toBe('401 method_not_registered')
    expect(await proves(token, { client_id: 'nobody' })).toBe('401 unknown_client')
  })

  test('is the client of client_id if two clients have the same subject; without client_id the token is refused', async () => {
    const { issuer, client_id } = await mailer()
    const second = await addFederated(service, [{ issuer: issuer.issuer, subject: 'system:serviceaccount:prod:*' }])
    const token = await issuer.token(service.issuer)
    expect(await proves(token)).toBe('401 assertion_several_clients')
    expect(await proves(token, { client_id })).toBe(client_id)
    expect(await proves(token, { client_id: second.client_id })).toBe(second.client_id)
  })

  test('is never a suspended client, which also does not count as a second match', async () => {
    const { issuer, client_id } = await mailer()
    await okAdmin(service, 'PATCH', `/admin/clients/${client_id}/suspend`)
    const token = await issuer.token(service.issuer)
    expect(await proves(token)).toBe('401 client_suspended')
    const second = await addFederated(service, [{ issuer: issuer.issuer, subject: MAILER }])
    expect(await proves(token)).toBe(second.client_id)
  })

  test('is none for an unknown subject: the log has issuer and subject, truncated and marked as unverified', async () => {
    const { issuer } = await mailer()
    const sub = `system:serviceaccount:prod:${'x'.repeat(900)}`
    const answer = await proveWith(service, await issuer.token(service.issuer, { sub }))
    expect(reasonOf.lineOf(answer)).toMatchObject({
      reason: 'assertion_subject',
      unverified: { issuer: issuer.issuer, subject: `${sub.slice(0, 253)}...` },
    })
    const known = await mailer()
    await okAdmin(service, 'PATCH', `/admin/clients/${known.client_id}/suspend`)
    const refused = await proveWith(service, await known.issuer.token(service.issuer))
    expect(reasonOf.lineOf(refused)?.unverified).toBeUndefined()
  })

  test('is no longer found by a credential that was replaced or deleted', async () => {
    const { issuer, client_id } = await mailer()
    const token = await issuer.token(service.issuer)
    expect(await proves(token)).toBe(client_id)
    await okAdmin(service, 'PATCH', `/admin/clients/${client_id}`, {
      federated_credentials: [{ issuer: issuer.issuer, subject: 'system:serviceaccount:prod:worker' }],
    })
    expect(await proves(token)).toBe('401 assertion_subject')
    expect(await proves(await issuer.token(service.issuer, { sub: 'system:serviceaccount:prod:worker' }))).toBe(
      client_id,
    )
  })
})

describe('GitHub Actions', () => {
  test('a job is matched by repository, environment and claims of its token', async () => {
    const { issuer, token } = await startGithub()
    const claims = {
      repository: 'acme/*',
      ref: 'refs/heads/main',
      workflow_ref: 'acme/tools/.github/workflows/*/refs/heads/main',
    }
    const { client_id } = await addFederated(service, [
      {
        issuer,
        subject: 'repo:acme/*:environment:production',
        claims: { ...claims, workflow_ref: 'acme/tools/.github/workflows/deploy.yml@refs/heads/main' },
      },
    ])
    expect(await proves(await token(service.issuer))).toBe(client_id)
    const changes = [
      { ref: 'refs/heads/feature' },
      { ref: undefined },
      { ref: ['refs/heads/main'] },
      { repository: 'evil/tools' },
    ]
    for (const change of changes) expect(await proves(await token(service.issuer, change))).toBe('401 assertion_claims')
    expect(await proves(await token(service.issuer, { sub: 'repo:acme/tools:pull_request' }))).toBe(
      '401 assertion_subject',
    )
  })

  test('clients for two environments of one repository are distinguished by claims', async () => {
    const { issuer, token } = await startGithub()
    const of = (environment: string) =>
      addFederated(service, [{ issuer, subject: 'repo:acme/tools:*:*', claims: { environment } }])
    const [production, staging] = [await of('production'), await of('staging')]
    expect(await proves(await token(service.issuer))).toBe(production.client_id)
    expect(await proves(await token(service.issuer, { environment: 'staging' }))).toBe(staging.client_id)
    expect(await proves(await token(service.issuer, { environment: 'other' }))).toBe('401 assertion_claims')
  })
})

describe('SPIFFE', () => {
  const SUBJECT = 'spiffe://prod.example.org/ns/*/sa/mailer'

  test('a JWT-SVID without iss is verified with the bundle of its trust domain', async () => {
    const { keysUrl, token, asked } = await startSpire()
    const { client_id } = await addFederated(service, [
      { issuer: 'spiffe://prod.example.org', subject: SUBJECT, jwks_uri: keysUrl },
    ])
    const svid = await token(service.issuer)
    expect(await proves(svid, { client_assertion_type: SPIFFE_ASSERTION })).toBe(client_id)
    expect(await proves(svid)).toBe(client_id)
    expect(await proves(await token(service.issuer, { iss: 'https://spire.example.org' }))).toBe(client_id)
    expect(asked).toEqual(['/bundle'])
    const elsewhere = { sub: 'spiffe://test.example.org/ns/pay/sa/mailer' }
    expect(await proves(await token(service.issuer, elsewhere))).toBe('401 assertion_subject')
  })

  test('a token whose sub is not a SPIFFE ID is refused for jwt-spiffe', async () => {
    const { issuer } = await mailer()
    const token = await issuer.token(service.issuer)
    expect(await proves(token, { client_assertion_type: SPIFFE_ASSERTION })).toBe('401 assertion_spiffe_id')
  })
})

describe('the keys of an issuer', () => {
  test('are fetched from the jwks_uri of the credential without discovery', async () => {
    const issuer = await startKubernetes()
    const { client_id } = await addFederated(service, [
      { issuer: 'https://kubernetes.default.svc', subject: MAILER, jwks_uri: issuer.keysUrl },
    ])
    expect(await proves(await issuer.token(service.issuer, { iss: 'https://kubernetes.default.svc' }))).toBe(client_id)
    expect(issuer.asked).toEqual(['/openid/v1/jwks'])
  })

  test('are fetched again for a new key', async () => {
    const { issuer, client_id } = await mailer()
    expect(await proves(await issuer.token(service.issuer))).toBe(client_id)
    await issuer.server.rotate('RS256')
    expect(await proves(await issuer.token(service.issuer))).toBe(client_id)
  })

  test('cause 503 if they cannot be fetched, and the client may retry', async () => {
    const { issuer } = await mailer()
    issuer.server.close()
    const answer = await proveWith(service, await issuer.token(service.issuer))
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
  })
})

test('aud must contain the audience of the credential, by default the issuer', async () => {
  const plain = await mailer()
  const named = await mailer({ audience: 'api://mail' })
  const at = (scene: typeof plain, aud: unknown) => scene.issuer.token(aud).then((token) => proves(token))
  expect(await at(plain, ['other', service.issuer])).toBe(plain.client_id)
  expect(await at(named, 'api://mail')).toBe(named.client_id)
  for (const aud of ['api://mail', `${service.issuer}/oauth/token`, undefined, { 0: service.issuer }])
    expect(await at(plain, aud)).toBe('401 assertion_audience')
  expect(await at(named, service.issuer)).toBe('401 assertion_audience')
})

test('a failure is in the audit trail and the activity of the client that the token names', async () => {
  const { issuer, client_id } = await mailer()
  expect(await proves(await issuer.token('https://other.example'))).toBe('401 assertion_audience')
  const about = { reason: 'assertion_audience', issuer: issuer.issuer, subject: MAILER }
  const events = () => okAdmin<Record<string, unknown>[]>(service, 'GET', `/admin/audit?client_id=${client_id}`)
  await vi.waitFor(async () =>
    expect((await events())[0]).toMatchObject({ action: 'client_authentication_failed', client_id, detail: about }),
  )
  const [trail] = await okAdmin<Record<string, unknown>[]>(service, 'GET', `/admin/connections?client_id=${client_id}`)
  expect(JSON.stringify(trail)).toContain('assertion_audience')
})
