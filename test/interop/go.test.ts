// Clients in Go: the official SDK and mcp-go; and the libraries that Go servers and services use.
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { LOCAL_DOCUMENTS } from '../support/documents.ts'
import { startRecorded } from '../support/recorder.ts'
import { addClient, addResource } from '../support/service.ts'
import { type McpClient, takeAlong } from './journey.ts'
import { testJourneys } from './journeys.ts'
import { keyedClient } from './keyed_machines.ts'
import { type Fixture, libraryFixture } from './libraries.ts'
import { startMcpServer } from './mcp_server.ts'
import { go } from './toolchain.ts'
import { testUnscoped } from './unscoped.ts'

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const toolchain = await go()

const CLIENTS: McpClient[] = [
  { name: 'go-sdk', version: '1.8.0', toolchain, client: 'go-sdk', defaultResource: true },
  {
    name: 'mcp-go',
    version: '1.2.1',
    toolchain,
    client: 'mcp-go',
    scope: 'mcp:read',
    withoutDocument: true,
    withoutStepUp: 'never asks for more',
    withoutMachine: true,
  },
]

testJourneys('go', CLIENTS)
testUnscoped(CLIENTS)

test.skipIf('missing' in toolchain)(
  'mcp-go takes no resource metadata from another origin: a server for it serves its own',
  async () => {
    const service = await startRecorded(LOCAL_DOCUMENTS)
    const server = await startMcpServer(service, { metadata: 'service' })
    await addResource(service, { uri: server.uri })
    const mcpGo = { name: 'mcp-go', version: '1.2.1', toolchain, client: 'mcp-go', scope: 'mcp:read' }
    await expect(takeAlong(service, server, mcpGo, { steps: ['whoami'] })).rejects.toThrow(
      'registration request failed',
    )
    server.close()
    await service.close()
  },
)

describe.skipIf('missing' in toolchain)('Go libraries', () => {
  const at = libraryFixture(toolchain)

  test('go-oidc 3.21 reads the discovery document and verifies an access token with it', async () => {
    const { sub, token } = await at.userToken()
    const { result } = await at.run('go-oidc', { token })
    expect(result).toEqual({ sub, aud: [at.server], token_endpoint: `${at.service.issuer}/oauth/token` })
  })

  test('golang.org/x/oauth2 names no resource: `default_resource` sets the audience of its token', async () => {
    const { client_id, client_secret } = await addClient(at.service)
    const claims = async () => {
      const { result } = await at.run('oauth2', { client_id, client_secret })
      return decodeJwt(String((result as { access_token: string }).access_token))
    }
    expect((await claims()).aud).toBeUndefined()
    await okAdmin(at.service, 'PATCH', `/admin/clients/${client_id}`, { default_resource: at.server })
    expect((await claims()).aud).toEqual([at.server])
  })

  test('zitadel/oidc 3.51 reads the discovery document and introspects', async () => {
    const [{ sub, token }, { client_id, client_secret }] = [await at.userToken(), at.machine]
    const { result } = await at.run('zitadel', { token, client_id, client_secret })
    const introspection_endpoint = `${at.service.issuer}/oauth/introspect`
    expect(result).toEqual({ active: true, sub, scope: 'mcp:read', introspection_endpoint })
  })
})

describe.skipIf('missing' in toolchain)('zitadel/oidc 3.51 with a key, whose assertions live for an hour', () => {
  const strict = libraryFixture(toolchain)
  const lenient = libraryFixture(toolchain, [], { SERVICE_OAUTH_ASSERTION_MAX_LIFETIME: '1h' })
  /** Exchanges a token of a user, and introspects the new one. */
  const exchange = async (at: Fixture) => {
    const keyed = await keyedClient(at.service, { grant_types: [TOKEN_EXCHANGE] })
    const { client_id } = keyed
    const policy = { exchange: { allowed_client_ids: [client_id] }, runtime: { client_ids: [client_id] } }
    await okAdmin(at.service, 'PATCH', `/admin/resources/${at.slug}`, { policy })
    const { sub, token } = await at.userToken()
    return { outcome: at.run('zitadel-key', { ...keyed, token }), expected: { active: true, sub, client_id } }
  }

  test('zitadel/oidc gets and introspects a token with oauth.assertion_max_lifetime 1h', async () => {
    const { outcome, expected } = await exchange(lenient)
    expect((await outcome).result).toEqual(expected)
  })

  test('otherwise the error names the key of the configuration', async () => {
    const { outcome } = await exchange(strict)
    await expect(outcome).rejects.toThrow('oauth.assertion_max_lifetime')
  })
})
