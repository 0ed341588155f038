// The peer in a process of its own: oidc-provider 9 with its in-memory adapter and ES256 JWT access tokens. Sign-in and consent are
// replaced by an immediate redirect with a code, because only what comes after them is measured.
import { generateKeyPairSync } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import Provider, { type Client } from 'oidc-provider'
import MemoryAdapter from 'oidc-provider/lib/adapters/memory_adapter.js'
import LRU from 'oidc-provider/lib/helpers/lru.js'
import type { InteractiveClient, Machine } from '../load/target.ts'
import { onPlans } from '../run/children.ts'

export interface PeerPlan {
  port: number
  base: string
  machines: readonly Machine[]
  app: InteractiveClient
  /** The resource whose tokens are JWTs. Tokens of the other resource are opaque, because this peer does not introspect JWTs. */
  resource: string
  opaqueResource: string
  scope: string
  authorizePath: string
}

/** Size of its store. The default of 1,000 entries is too small for a run. */
const STORED = 10_000_000
const ACCOUNT = 'bench-user'

onPlans<PeerPlan>(async (plan) => {
  const provider = new Provider(plan.base, configuration(plan))
  const handle = provider.callback()
  const server = createServer((request, response) => {
    if (request.url?.startsWith(plan.authorizePath)) void redirectWithCode(provider, plan, request.url, response)
    else handle(request, response)
  })
  await new Promise<void>((resolve) => server.listen(plan.port, '127.0.0.1', resolve))
  return { ready: true }
})

const configuration = (plan: PeerPlan): Record<string, unknown> => {
  const store = new LRU({ maxSize: STORED })
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    adapter: (model: string) => new MemoryAdapter(model, store),
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' }] },
    cookies: { keys: ['bench'] },
    clients: [
      ...plan.machines.map((machine) => ({
        ...machine,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        token_endpoint_auth_method: 'client_secret_post',
      })),
      {
        client_id: plan.app.client_id,
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: [plan.app.redirect_uri],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
    ],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    scopes: plan.scope.split(' '),
    findAccount: (_context: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    ttl: { AccessToken: 900, AuthorizationCode: 60, ClientCredentials: 3600, Grant: 604_800, RefreshToken: 604_800 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      dPoP: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => plan.resource,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope: plan.scope,
          audience: resource,
          accessTokenFormat: resource === plan.resource ? 'jwt' : 'opaque',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  }
}

/** Creates a code for the public client as the authorization endpoint would, with a new consent. */
async function redirectWithCode(
  provider: Provider,
  { app, resource, scope }: PeerPlan,
  url: string,
  response: ServerResponse,
): Promise<void> {
  const asked = new URL(url, 'http://peer').searchParams
  const client = (await provider.Client.find(app.client_id)) as Client
  const grant = new provider.Grant({ accountId: ACCOUNT, clientId: client.clientId })
  grant.addResourceScope(resource, scope)
  const code = new provider.AuthorizationCode({
    accountId: ACCOUNT,
    client,
    grantId: await grant.save(),
    scope,
    resource,
    redirectUri: asked.get('redirect_uri'),
    codeChallenge: asked.get('code_challenge'),
    codeChallengeMethod: 'S256',
  })
  response.writeHead(303, { location: `${asked.get('redirect_uri')}?code=${await code.save()}`, 'content-length': 0 })
  response.end()
}
