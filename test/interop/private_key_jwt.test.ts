// Third-party clients with private_key_jwt: strict libraries, and the official MCP clients for machines.
import * as v2 from '@modelcontextprotocol/client'
import { PrivateKeyJwtProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import { exportJWK, exportPKCS8, generateKeyPair } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addKeyedClient } from '../support/assertion.ts'
import { addResource, startService, type TestService } from '../support/service.ts'
import { type Connection, connectV1, connectV2 } from './mcp_client.ts'
import { type McpTestServer, startMcpServer } from './mcp_server.ts'
import { discover, INSECURE } from './strict_client.ts'

let service: TestService
let server: McpTestServer
beforeAll(async () => {
  service = await startService()
  server = await startMcpServer(service)
  await addResource(service, { uri: server.uri })
})
afterAll(async () => {
  server.close()
  await service.close()
})

const ALGS = ['ES256', 'RS256', 'PS256', 'EdDSA']

describe.each(ALGS)('%s', (alg) => {
  test('oauth4webapi gets, introspects and revokes a token', async () => {
    const { client_id, key } = await addKeyedClient(service, { alg })
    const as = await discover(service.issuer)
    const client = { client_id }
    const auth = () => oauth.PrivateKeyJwt({ key: key.privateKey, kid: String(key.kid) })
    const fields = new URLSearchParams({ scope: 'mcp:read', resource: server.uri })
    const granted = await oauth.clientCredentialsGrantRequest(as, client, auth(), fields, INSECURE)
    const { access_token } = await oauth.processClientCredentialsResponse(as, client, granted)
    const seen = async () => {
      const response = await oauth.introspectionRequest(as, client, auth(), access_token, INSECURE)
      return (await oauth.processIntrospectionResponse(as, client, response)).active
    }
    expect(await seen()).toBe(true)
    await oauth.processRevocationResponse(await oauth.revocationRequest(as, client, auth(), access_token, INSECURE))
    expect(await seen()).toBe(false)
  })

  test('openid-client discovers the server and gets a token', async () => {
    const { client_id, key } = await addKeyedClient(service, { alg })
    const auth = openid.PrivateKeyJwt({ key: key.privateKey, kid: String(key.kid) })
    const config = await openid.discovery(new URL(service.issuer), client_id, undefined, auth, {
      execute: [openid.allowInsecureRequests],
      algorithm: 'oauth2',
    })
    const tokens = await openid.clientCredentialsGrant(config, { scope: 'mcp:read', resource: server.uri })
    expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'mcp:read' })
  })
})

interface Credentials {
  clientId: string
  privateKey: string
  algorithm: string
  scope: string
  expectedIssuer: string
}
const MACHINES: [name: string, connect: (uri: string, credentials: Credentials) => Connection][] = [
  ['@modelcontextprotocol/client', (uri, given) => connectV2(uri, new v2.PrivateKeyJwtProvider(given))],
  ['@modelcontextprotocol/sdk', (uri, given) => connectV1(uri, new PrivateKeyJwtProvider(given))],
]
test.each(MACHINES)('a machine with %s and a key calls a tool', async (_name, connect) => {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(publicKey)
  const { client_id } = await addKeyedClient(service, { jwks: { keys: [{ ...jwk, kty: 'EC' }] } })
  const connection = connect(server.uri, {
    clientId: client_id,
    privateKey: await exportPKCS8(privateKey),
    algorithm: 'ES256',
    scope: 'mcp:read',
    expectedIssuer: service.issuer,
  })
  await connection.open()
  expect(await connection.call('whoami')).toBe(`${client_id} may mcp:read`)
  await connection.close()
})
