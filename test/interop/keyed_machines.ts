// Third-party clients that authenticate with a key of their own, with the assertions that each of them makes.
import { exportPKCS8 } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addKeyedClient } from '../support/assertion.ts'
import { type Recorded, startRecorded } from '../support/recorder.ts'
import { addResource, type TestService } from '../support/service.ts'
import { type McpClient, takeAlong } from './journey.ts'
import { type McpTestServer, startMcpServer } from './mcp_server.ts'

/** Adds a client with a key. Returns its data for a driver. */
export async function keyedClient(service: Pick<TestService, 'app'>, fields: object = {}) {
  const { client_id, key } = await addKeyedClient(service, fields)
  return { client_id, kid: key.kid, private_key: await exportPKCS8(key.privateKey) }
}

/** Tests for every MCP client of a list. */
export function testKeyedMachines(clients: readonly McpClient[]): void {
  let service: Recorded
  let server: McpTestServer
  beforeAll(async () => {
    service = await startRecorded()
    server = await startMcpServer(service, { metadata: 'own' })
    await addResource(service, { uri: server.uri })
  })
  afterAll(async () => {
    server.close()
    await service.close()
  })

  test.each(clients.filter(({ toolchain }) => 'command' in toolchain))(
    '$name $version gets in as a machine with a key',
    async (client) => {
      const keyed = await keyedClient(service, { scope: 'mcp:read' })
      const task = { steps: ['whoami'], machine: true, ...keyed }
      const { texts } = await takeAlong(service, server, client, task)
      expect(texts).toEqual([`${keyed.client_id} may mcp:read`])
    },
  )
}
