// What real clients send to a real service. docs/reference/clients.md is the record: `npx vitest run test/interop/clients.test.ts -u`
// writes it again after an update of a client, so that the difference can be reviewed.
import { createRequire } from 'node:module'
import path from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { DocumentServer, LOCAL_DOCUMENTS } from '../support/documents.ts'
import { walk } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { freePort } from '../support/free_port.ts'
import { type Recorded, type Sent, startRecorded } from '../support/recorder.ts'
import { addResource, addUser, REDIRECT_URI } from '../support/service.ts'
import { AUTHORIZE, renderClients, type Story } from './clients_page.ts'
import { comeIn, GENERATIONS, Provider } from './mcp_client.ts'
import { type McpTestServer, startMcpServer } from './mcp_server.ts'
import { authorizationRequest, discover, INSECURE } from './strict_client.ts'

let service: Recorded
let server: McpTestServer
let documents: DocumentServer
const stories: Story[] = []
beforeAll(async () => {
  documents = await DocumentServer.start()
  service = await startRecorded(LOCAL_DOCUMENTS)
  server = await startMcpServer(service)
  await addResource(service, { uri: server.uri, slug: 'mcp' })
})
afterAll(async () => {
  documents.close()
  server.close()
  await service.close()
})
// The 2.x client warns about plain http.
beforeEach(() => {
  vi.spyOn(console, 'warn').mockReturnValue()
})
afterEach(() => {
  vi.restoreAllMocks()
})

const versionOf = (name: string): string =>
  createRequire(import.meta.url)(path.join(packageRoot, 'node_modules', name, 'package.json')).version
/** Without the requests of the MCP server, and without the repeated request of the browser after the login. */
const ofClient = (sent: readonly Sent[]) =>
  sent
    .filter(({ headers }) => !headers['user-agent']?.startsWith('jose/'))
    .filter(({ what }, i, all) => what !== AUTHORIZE || all[i - 1]?.what !== AUTHORIZE)
/** Runs a client, and stores its requests under its name. */
async function record(name: string, how: string, run: () => Promise<void>) {
  const from = service.sent.length
  await run()
  stories.push({ name, version: versionOf(name), how, sent: ofClient(service.sent.slice(from)) })
}

for (const generation of GENERATIONS) {
  const { name } = generation
  const comeInAndRefresh = async (provider: Provider) => {
    const user = await addUser(service)
    const connection = await comeIn(generation, service, server.uri, provider, user)
    service.advance(901)
    expect(await connection.call('whoami')).toBe(`${user.id} may mcp:read`)
    await connection.close()
  }

  test(`${name} registers, signs a user in and refreshes`, () =>
    record(name, 'knows only the URL of the MCP server', () => comeInAndRefresh(new Provider())))

  test(`${name} signs a user in with its client document`, async () => {
    const origin = `https://${name.split('/').at(-1)}.matrix.example`
    documents.serveAs(service, origin)
    const provider = new Provider()
    const members = { redirect_uris: [REDIRECT_URI], token_endpoint_auth_method: 'none' }
    provider.clientMetadataUrl = documents.publish('/oauth/client.json', members, {}, origin)
    await record(name, 'has a client metadata document', () => comeInAndRefresh(provider))
    expect(stories.at(-1)?.sent.map(({ what }) => what)).not.toContain('POST /oauth/register')
  })
}

test('mcp-remote registers, forwards calls from standard input to the server, and refreshes', async () => {
  const folder = tempFolder()
  const user = await addUser(service)
  // Its own choice of a port may be taken by another test between its look and its use.
  const port = String(await freePort())
  await record('mcp-remote', 'runs as the command of a desktop client', async () => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [path.join(packageRoot, 'node_modules/mcp-remote/dist/proxy.js'), server.uri, port, '--allow-http'],
      // No browser is opened, because xdg-open is not on this path.
      env: { PATH: folder, HOME: folder, MCP_REMOTE_CONFIG_DIR: folder },
      stderr: 'pipe',
    })
    let said = ''
    transport.stderr?.on('data', (chunk) => {
      said += chunk
    })
    const client = new Client({ name: 'desktop', version: '1.0.0' })
    try {
      const connecting = client.connect(transport, { timeout: 60_000 })
      const url = await vi.waitFor(
        () => {
          const found = /http:\/\/\S+\/oauth\/authorize\?\S+/.exec(said)?.[0]
          if (!found) throw new Error(`no address of an authorization request in: ${said}`)
          return found
        },
        { timeout: 60_000 },
      )
      const callback = await walk(service, url, user)
      // It prints the URL before it listens for the callback.
      const { status } = await vi.waitFor(() => fetch(callback), { timeout: 60_000 })
      expect(status).toBe(200)
      await connecting
      const answer = await client.callTool({ name: 'whoami' })
      expect(answer).toMatchObject({ content: [{ text: `${user.id} may mcp:read` }] })
      service.advance(901)
      expect(await client.callTool({ name: 'whoami' })).toEqual(answer)
    } finally {
      await client.close()
    }
  })
}, 90_000)

test('oauth4webapi signs a user in, refreshes, introspects and revokes', () =>
  record('oauth4webapi', 'registers with client_secret_basic; its caller sets `resource`', async () => {
    const user = await addUser(service)
    const resource = await addResource(service, { uri: `${service.issuer}/strict/mcp` })
    const about = await oauth.resourceDiscoveryRequest(new URL(resource.uri), INSECURE)
    const { authorization_servers = [] } = await oauth.processResourceDiscoveryResponse(new URL(resource.uri), about)
    const as = await discover(authorization_servers[0] ?? '')
    const members = {
      client_name: 'Strict',
      redirect_uris: [REDIRECT_URI],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'client_secret_basic',
    }
    const registering = await oauth.dynamicClientRegistrationRequest(as, members, INSECURE)
    const client = await oauth.processDynamicClientRegistrationResponse(registering)
    const auth = oauth.ClientSecretBasic(String(client.client_secret))
    const { url, verifier, state } = await authorizationRequest(as, client, {
      scope: 'mcp:read',
      resource: resource.uri,
    })
    const callback = await walk(service, url, user)
    const parameters = oauth.validateAuthResponse(as, client, callback, state)
    const options = { ...INSECURE, additionalParameters: { resource: resource.uri } }
    const redeemed = await oauth.authorizationCodeGrantRequest(
      as,
      client,
      auth,
      parameters,
      REDIRECT_URI,
      verifier,
      options,
    )
    const tokens = await oauth.processAuthorizationCodeResponse(as, client, redeemed)
    const refresh_token = tokens.refresh_token ?? ''
    const refreshed = await oauth.refreshTokenGrantRequest(as, client, auth, refresh_token, options)
    const next = await oauth.processRefreshTokenResponse(as, client, refreshed)
    const asked = await oauth.introspectionRequest(as, client, auth, next.access_token, INSECURE)
    expect(await oauth.processIntrospectionResponse(as, client, asked)).toMatchObject({ active: true, sub: user.id })
    const revoked = await oauth.revocationRequest(as, client, auth, next.access_token, INSECURE)
    await oauth.processRevocationResponse(revoked)
  }))

test('openid-client signs a user in, refreshes, introspects and revokes', () =>
  record('openid-client', 'registers without naming a method; its caller sets `resource`', async () => {
    const user = await addUser(service)
    const resource = await addResource(service)
    const config = await openid.dynamicClientRegistration(
      new URL(service.issuer),
      { client_name: 'Certified', redirect_uris: [REDIRECT_URI], grant_types: ['authorization_code', 'refresh_token'] },
      undefined,
      { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] },
    )
    const [pkceCodeVerifier, expectedState] = [openid.randomPKCECodeVerifier(), openid.randomState()]
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: REDIRECT_URI,
      scope: 'mcp:read',
      resource: resource.uri,
      state: expectedState,
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    })
    const callback = await walk(service, url.href, user)
    const about = { resource: resource.uri }
    const tokens = await openid.authorizationCodeGrant(config, callback, { pkceCodeVerifier, expectedState }, about)
    const next = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '', about)
    expect(next.scope).toBe('mcp:read')
    await openid.tokenRevocation(config, next.access_token)
  }))

test('every client sends PKCE with S256 and the resource, at the authorization endpoint and for the code', () => {
  expect(stories).toHaveLength(7)
  for (const { name, sent } of stories) {
    const authorize = sent.find(({ what }) => what === AUTHORIZE)
    const code = sent.find(({ params }) => params.get('grant_type') === 'authorization_code')
    expect(authorize?.params.get('code_challenge_method'), name).toBe('S256')
    for (const each of [authorize, code]) expect(each?.params.has('resource'), name).toBe(true)
  }
})

test('docs/reference/clients.md matches the recorded requests', async () => {
  await expect(renderClients(stories)).toMatchFileSnapshot(path.join(packageRoot, 'docs/reference/clients.md'))
})
