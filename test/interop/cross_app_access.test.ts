// Cross-app access (Enterprise-Managed Authorization): the official MCP clients present assertions of a company's identity
// provider, and call tools of a real MCP server with the resulting tokens.
import * as v2 from '@modelcontextprotocol/client'
import { ClientCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import { decodeJwt } from 'jose'
import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { addResource, addUser, startService, type TestService } from '../support/service.ts'
import { addXaaClient, JWT_BEARER, LOOPBACK, mapSubject, trust } from '../support/xaa.ts'
import { type EnterpriseIdp, startEnterpriseIdp } from './enterprise_idp.ts'
import { connectV1, connectV2 } from './mcp_client.ts'
import { type McpTestServer, startMcpServer } from './mcp_server.ts'

let service: TestService
let server: McpTestServer
beforeAll(async () => {
  // The 2.x client logs to the console when it discards a token.
  vi.spyOn(console, 'warn').mockReturnValue()
  service = await startService(LOOPBACK)
  server = await startMcpServer(service)
  await addResource(service, { uri: server.uri })
})
afterAll(async () => {
  server.close()
  await service.close()
})

/** An app that is registered at both sides, and an employee who is signed in to it at the company. */
async function company(at = service, policy = {}) {
  const client = await addXaaClient(at)
  const enterprise = await startEnterpriseIdp(client.client_id, at.app.clock)
  const idp_id = await trust(at, enterprise.idp, [policy])
  const sub = `${enterprise.idp.issuer}:ada`
  return { at, client, enterprise, idp_id, sub }
}
type Company = Awaited<ReturnType<typeof company>>

/** Step 2 of the profile: the assertion for the ID token. */
const assertionOf = async (
  { idp, app, idToken }: EnterpriseIdp,
  audience: string,
  resource: string,
  scope?: string,
) => {
  const parts = { idpUrl: idp.issuer, idToken: await idToken('ada'), audience, resource, scope }
  return (await v2.discoverAndRequestJwtAuthGrant({ ...parts, ...app })).jwtAuthGrant
}

const providerV2 = ({ client, enterprise, at }: Company) =>
  new v2.CrossAppAccessProvider({
    clientId: client.client_id,
    clientSecret: client.client_secret,
    expectedIssuer: at.issuer,
    assertion: ({ authorizationServerUrl, resourceUrl, scope }) =>
      assertionOf(enterprise, authorizationServerUrl, resourceUrl, scope),
  })

/** The 1.x client has no such provider. It can be added as a custom token request, with a fixed scope. */
const providerV1 = ({ client, enterprise, at }: Company) =>
  Object.assign(
    new ClientCredentialsProvider({
      clientId: client.client_id,
      clientSecret: client.client_secret,
      scope: 'mcp:read',
      expectedIssuer: at.issuer,
    }),
    {
      async prepareTokenRequest(scope?: string) {
        const assertion = await assertionOf(enterprise, at.issuer, server.uri, scope)
        return new URLSearchParams({ grant_type: JWT_BEARER, assertion, ...(scope ? { scope } : {}) })
      },
    },
  )

describe.each([
  ['@modelcontextprotocol/client', (of: Company) => connectV2(server.uri, providerV2(of))],
  ['@modelcontextprotocol/sdk', (of: Company) => connectV1(server.uri, providerV1(of))],
])('%s', (_name, connect) => {
  test('an employee calls a tool without seeing a page of this service', async () => {
    const of = await company()
    const connection = connect(of)
    await connection.open()
    expect(await connection.call('whoami')).toBe(`${of.sub} may mcp:read`)
    expect(of.enterprise.given).toEqual([{ aud: service.issuer, resource: server.uri, scope: 'mcp:read' }])
    await connection.close()
  })

  test('a mapped employee acts as the local user', async () => {
    const [of, user] = [await company(), await addUser(service)]
    await mapSubject(service, of.idp_id, 'ada', user.id)
    const connection = connect(of)
    await connection.open()
    expect(await connection.call('whoami')).toBe(`${user.id} may mcp:read`)
    await connection.close()
  })

  test('when the token has expired the client presents a new assertion', async () => {
    const of = await company()
    const connection = connect(of)
    await connection.open()
    service.advance(3601)
    expect(await connection.call('whoami')).toBe(`${of.sub} may mcp:read`)
    expect(of.enterprise.given.length).toBe(2)
    await connection.close()
  })

  test('without an assignment by the company or a policy here, the connection is refused', async () => {
    const [of, denied] = [await company(), await company(service, { scopes: ['mcp:other'] })]
    of.enterprise.isAssigned = false
    await expect(connect(of).open()).rejects.toThrow('not assigned')
    await expect(connect(denied).open()).rejects.toThrow('no policy allows this')
    expect(denied.enterprise.given.length).toBe(1)
  })
})

test('a tool that needs more scopes makes the 2.x client request a new assertion with them', async () => {
  const of = await company()
  const connection = connectV2(server.uri, providerV2(of))
  await connection.open()
  expect(await connection.call('save')).toBe(`${of.sub} may mcp:read mcp:write`)
  expect(of.enterprise.given.map(({ scope }) => scope)).toEqual(['mcp:read', 'mcp:read mcp:write'])
  await connection.close()
})

test('an app requests every scope of the resource, and gets those that it may have', async () => {
  const silent = await startMcpServer(service, { metadata: 'own', challenge: false })
  await addResource(service, { uri: silent.uri })
  const of = await company()
  await okAdmin(service, 'PATCH', `/admin/clients/${of.client.client_id}`, { scope: 'mcp:read' })
  const connection = connectV2(silent.uri, providerV2(of))
  await connection.open()
  expect(await connection.call('whoami')).toBe(`${of.sub} may mcp:read`)
  expect(of.enterprise.given.map(({ scope }) => scope)).toEqual(['mcp:read mcp:write'])
  await connection.close()
  silent.close()
})

test('exchangeJwtAuthGrant() of the 2.x client gets a token, and an error at the second use of the assertion', async () => {
  const { client, enterprise } = await company()
  const jwtAuthGrant = await assertionOf(enterprise, service.issuer, server.uri, 'mcp:read')
  for (const authMethod of ['client_secret_basic', 'client_secret_post'] as const) {
    const parts = { clientId: client.client_id, clientSecret: client.client_secret, authMethod }
    const tokenEndpoint = `${service.issuer}/oauth/token`
    const exchanged = v2.exchangeJwtAuthGrant({ ...parts, tokenEndpoint, jwtAuthGrant })
    if (authMethod === 'client_secret_basic')
      expect(await exchanged).toMatchObject({ token_type: 'Bearer', scope: 'mcp:read', expires_in: 3600 })
    else await expect(exchanged).rejects.toThrow('invalid_grant - the assertion is not valid')
  }
})

describe('with DPoP and nonces', () => {
  let guarded: TestService
  let at: McpTestServer
  beforeAll(async () => {
    guarded = await startService({ ...LOOPBACK, SERVICE_DPOP_REQUIRE_NONCE: 'true' })
    at = await startMcpServer(guarded)
    await addResource(guarded, { uri: at.uri })
  })
  afterAll(async () => {
    at.close()
    await guarded.close()
  })

  test('the 2.x client repeats the same assertion with the nonce, and its token is bound', async () => {
    const of = await company(guarded)
    const session = await v2.DpopSession.create()
    const provider = Object.assign(providerV2(of), { dpop: () => session })
    const resourceMetadataUrl = new URL(`${guarded.issuer}/.well-known/oauth-protected-resource/mcp`)
    expect(await v2.auth(provider, { serverUrl: at.uri, resourceMetadataUrl, scope: 'mcp:read' })).toBe('AUTHORIZED')
    const { access_token = '', token_type } = provider.tokens() ?? {}
    expect([token_type, decodeJwt(access_token)['cnf']]).toEqual(['DPoP', { jkt: session.thumbprint }])
    expect(of.enterprise.given.length).toBe(1)
  })

  test('oauth4webapi repeats the same assertion with the nonce, and its token is bound', async () => {
    const { client, enterprise } = await company(guarded)
    const insecure = { [oauth.allowInsecureRequests]: true }
    const issuer = new URL(guarded.issuer)
    const discovered = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
    const as = await oauth.processDiscoveryResponse(issuer, discovered)
    const app: oauth.Client = { client_id: client.client_id }
    const DPoP = oauth.DPoP(app, await oauth.generateKeyPair('ES256'))
    const assertion = await assertionOf(enterprise, as.issuer, at.uri, 'mcp:read')
    const ask = async () => {
      const auth = oauth.ClientSecretBasic(client.client_secret)
      const options = { DPoP, ...insecure }
      const response = await oauth.genericTokenEndpointRequest(as, app, auth, JWT_BEARER, { assertion }, options)
      return oauth.processGenericTokenEndpointResponse(as, app, response)
    }
    const refused = await ask().catch((error: unknown) => error)
    expect(oauth.isDPoPNonceError(refused)).toBe(true)
    const tokens = await ask()
    expect([tokens.token_type, decodeJwt(tokens.access_token).aud]).toEqual(['dpop', [at.uri]])
    expect(tokens.refresh_token).toBeUndefined()
  })
})
