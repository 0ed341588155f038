// Issuers of workload tokens, as small servers on loopback: one like the API server of Kubernetes, one like GitHub Actions, one like
// SPIRE. Tokens are signed with an independent library.
import { newId } from '../../src/lib/id.ts'
import type { Client, FederatedCredential } from '../../src/records/client.ts'
import { okAdmin } from './admin.ts'
import { type Answer, post } from './flow.ts'
import { type IdpKey, signed, TestIdp } from './idp.ts'
import type { TestService } from './service.ts'

const JWT_ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
export const SPIFFE_ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe'
export const MAILER = 'system:serviceaccount:prod:mailer'

interface Kind {
  alg: string
  /** The URL of the keys. */
  keys: string
  header?: Record<string, unknown>
  /** The claims besides times and audience. */
  claims(issuer: string): Record<string, unknown>
}

/** A projected service account token, as `kubectl create token` prints it. */
const KUBERNETES: Kind = {
  alg: 'ES256',
  keys: '/openid/v1/jwks',
  claims: (iss) => ({
    iss,
    sub: MAILER,
    jti: newId(),
    'kubernetes.io': {
      namespace: 'prod',
      node: { name: 'node-1', uid: newId() },
      pod: { name: 'mailer-7d9c', uid: newId() },
      serviceaccount: { name: 'mailer', uid: newId() },
    },
  }),
}

/** The token of a job, as docs.github.com shows it. */
const GITHUB: Kind = {
  alg: 'RS256',
  keys: '/.well-known/jwks',
  header: { typ: 'JWT', x5t: 'eyJhbGciOiJSUzI1' },
  claims: (iss) => ({
    iss,
    sub: 'repo:acme/tools:environment:production',
    jti: newId(),
    repository: 'acme/tools',
    repository_owner: 'acme',
    repository_visibility: 'private',
    environment: 'production',
    ref: 'refs/heads/main',
    ref_type: 'branch',
    event_name: 'push',
    workflow_ref: 'acme/tools/.github/workflows/deploy.yml@refs/heads/main',
    run_attempt: '1',
    actor: 'ada',
  }),
}

/** A JWT-SVID without iss. */
const SPIFFE: Kind = {
  alg: 'ES256',
  keys: '/bundle',
  header: { typ: 'JWT' },
  claims: () => ({ sub: 'spiffe://prod.example.org/ns/pay/sa/mailer' }),
}

export interface WorkloadIssuer {
  server: TestIdp
  issuer: string
  keysUrl: string
  /** Requests so far, by path. */
  asked: string[]
  /** Members of the discovery document to replace. */
  metadata: Record<string, unknown>
  /** Claims of a token for this audience. */
  claims(aud: unknown, changes?: Record<string, unknown>): Record<string, unknown>
  token(
    aud: unknown,
    changes?: Record<string, unknown>,
    by?: { key?: IdpKey; header?: Record<string, unknown> },
  ): Promise<string>
}

async function startIssuer(kind: Kind): Promise<WorkloadIssuer> {
  const server = await TestIdp.start(kind.alg)
  const { issuer } = server
  const keysUrl = issuer + kind.keys
  const asked: string[] = []
  const metadata: Record<string, unknown> = {}
  const use = kind === SPIFFE ? 'jwt-svid' : 'sig'
  const serve = (path: string, body: () => unknown) => {
    server.routes[path] = (_, response) => {
      asked.push(path)
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body()))
    }
  }
  serve('/.well-known/openid-configuration', () => ({ issuer, jwks_uri: keysUrl, ...metadata }))
  serve(kind.keys, () => ({ keys: server.jwks().keys.map((key) => ({ ...key, use })), spiffe_sequence: 1 }))
  const claims = (aud: unknown, changes: Record<string, unknown> = {}) => {
    const now = Math.floor(Date.now() / 1000)
    return { aud, iat: now, nbf: now, exp: now + 3600, ...kind.claims(issuer), ...changes }
  }
  return {
    ...{ server, issuer, keysUrl, asked, metadata, claims },
    token: (aud, changes, { key = server.key, header } = {}) =>
      signed(key, { ...kind.header, kid: key.kid, ...header }, claims(aud, changes)),
  }
}

export const startKubernetes = (): Promise<WorkloadIssuer> => startIssuer(KUBERNETES)
export const startGithub = (): Promise<WorkloadIssuer> => startIssuer(GITHUB)
export const startSpire = (): Promise<WorkloadIssuer> => startIssuer(SPIFFE)

/** Creates a client that workload identities authenticate. */
export const addFederated = (
  service: TestService,
  federated_credentials: FederatedCredential[],
  more: Record<string, unknown> = {},
): Promise<Client> =>
  okAdmin(service, 'POST', '/admin/clients', {
    client_name: 'Mailer',
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'federated_jwt',
    scope: 'mcp:read',
    federated_credentials,
    ...more,
  })

/** Requests a token with a client assertion. */
export const proveWith = (
  service: TestService,
  client_assertion: string,
  fields: Record<string, string> = {},
): Promise<Answer> =>
  post(`${service.issuer}/oauth/token`, undefined, {
    grant_type: 'client_credentials',
    client_assertion,
    client_assertion_type: JWT_ASSERTION,
    ...fields,
  })
