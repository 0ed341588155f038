// MCP servers that name no scopes, neither in their challenge nor in their resource metadata: which scopes every client then requests.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { LOCAL_DOCUMENTS } from '../support/documents.ts'
import { type Recorded, startRecorded } from '../support/recorder.ts'
import { addClient, addResource } from '../support/service.ts'
import { type McpClient, takeAlong } from './journey.ts'
import { type McpTestServer, startMcpServer } from './mcp_server.ts'

/** Tests for every client of a list. */
export function testUnscoped(clients: readonly McpClient[]): void {
  const open: { close(): unknown }[] = []
  let strict: Recorded
  let lenient: Recorded
  beforeAll(async () => {
    strict = await startRecorded(LOCAL_DOCUMENTS)
    lenient = await startRecorded({ ...LOCAL_DOCUMENTS, SERVICE_OAUTH_REQUIRE_SCOPE: 'false' })
    open.push(strict, lenient)
    // Another resource with scopes of its own, because some clients request every scope of the service.
    for (const service of [strict, lenient]) await addResource(service, { scopes: ['files:read'] })
  })
  afterAll(async () => {
    for (const each of open.reverse()) await each.close()
  })
  const serverOf = async (service: Recorded, scopes?: string[]): Promise<McpTestServer> => {
    const server = await startMcpServer(service, { metadata: 'own', challenge: false, scopes: false })
    open.push(server)
    await addResource(service, { uri: server.uri, scopes })
    return server
  }

  describe.each(clients)('$name $version and a server that names no scopes', (client) => {
    const missing = 'missing' in client.toolchain
    const way = { steps: ['whoami'], redirect_uri: client.redirect_uri ?? 'http://localhost:33418/callback', scope: '' }

    test.skipIf(missing)('no scope is needed when the resource declares none', async () => {
      const { texts } = await takeAlong(strict, await serverOf(strict, []), client, way)
      expect(texts).toEqual(['Ada may do nothing in particular'])
    })

    test.skipIf(missing)('with oauth.require_scope false the client gets all scopes of the resource', async () => {
      const { texts } = await takeAlong(lenient, await serverOf(lenient), client, way)
      expect(texts).toEqual(['Ada may mcp:read mcp:write'])
    })

    if (!client.withoutMachine)
      test.skipIf(missing)('the client gets in as a machine, although another resource has scopes too', async () => {
        const server = await serverOf(strict)
        const { client_id, client_secret } = await addClient(strict)
        const machine = { machine: true, client_id, client_secret }
        if (client.defaultResource)
          await okAdmin(strict, 'PATCH', `/admin/clients/${client_id}`, { default_resource: server.uri })
        const { texts } = await takeAlong(strict, server, client, { ...way, ...machine })
        expect(texts).toEqual([`${client_id} may mcp:read mcp:write`])
      })

    if (!client.asksForAll)
      test.skipIf(missing)('otherwise the client gets invalid_scope with the scopes of the resource', async () => {
        const outcome = takeAlong(strict, await serverOf(strict), client, way)
        await expect(outcome).rejects.toThrow(/scope is missing; \S+ declares mcp:read mcp:write/)
      })
  })
}
