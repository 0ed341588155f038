// Devices of other projects: the published command line client of mcp-remote, and the device flow of oauth4webapi.
import path from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { addDeviceClient, DEVICES, decideFor } from '../support/device.ts'
import { LOCAL_DOCUMENTS, signedIn } from '../support/documents.ts'
import { tempFolder } from '../support/folder.ts'
import { addResource, addUser, startService, type TestService } from '../support/service.ts'
import { type McpTestServer, startMcpServer } from './mcp_server.ts'
import { discover, INSECURE } from './strict_client.ts'

let service: TestService
let server: McpTestServer
beforeAll(async () => {
  service = await startService({ ...LOCAL_DOCUMENTS, ...DEVICES, SERVICE_DEVICE_INTERVAL: '1s' })
  // It reads the metadata of the resource at the server itself.
  server = await startMcpServer(service, { metadata: 'own' })
  await addResource(service, { uri: server.uri, slug: 'mcp' })
})
afterAll(async () => {
  server.close()
  await service.close()
})

test('mcp-remote --device-code registers, shows the page, and calls the server after the user has consented', async () => {
  const folder = tempFolder()
  const user = await addUser(service)
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [
      path.join(packageRoot, 'node_modules/mcp-remote/dist/proxy.js'),
      server.uri,
      '--allow-http',
      '--device-code',
    ],
    env: { PATH: folder, HOME: folder, MCP_REMOTE_CONFIG_DIR: folder },
    stderr: 'pipe',
  })
  let said = ''
  transport.stderr?.on('data', (chunk) => {
    said += chunk
  })
  const client = new Client({ name: 'terminal', version: '1.0.0' })
  try {
    const connecting = client.connect(transport, { timeout: 60_000 })
    const user_code = await vi.waitFor(
      () => {
        const found = /\/device\?user_code=(\S+)/.exec(said)?.[1]
        if (!found) throw new Error(`no page in: ${said}`)
        return found
      },
      { timeout: 60_000 },
    )
    await decideFor(service, await signedIn(service, user), { user_code })
    await connecting
    const answer = await client.callTool({ name: 'whoami' })
    expect(answer).toMatchObject({ content: [{ text: `${user.id} may mcp:read mcp:write` }] })
    service.advance(901)
    expect(await client.callTool({ name: 'whoami' })).toEqual(answer)
  } finally {
    await client.close()
  }
}, 90_000)

test('oauth4webapi asks for a code, polls, and gets the tokens', async () => {
  const user = await addUser(service)
  const { client_id } = await addDeviceClient(service)
  const client: oauth.Client = { client_id }
  const as = await discover(service.issuer)
  const parameters = { scope: 'mcp:read', resource: server.uri }
  const asked = await oauth.deviceAuthorizationRequest(as, client, oauth.None(), parameters, INSECURE)
  const device = await oauth.processDeviceAuthorizationResponse(as, client, asked)
  const poll = async () => {
    const response = await oauth.deviceCodeGrantRequest(as, client, oauth.None(), device.device_code, INSECURE)
    return oauth.processDeviceCodeResponse(as, client, response)
  }
  await expect(poll()).rejects.toMatchObject({ error: 'authorization_pending', status: 400 })
  await decideFor(service, await signedIn(service, user), device)
  expect(await poll()).toMatchObject({ token_type: 'bearer', scope: 'mcp:read', refresh_token: expect.any(String) })
})
