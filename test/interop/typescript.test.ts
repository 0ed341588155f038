// The official TypeScript clients and mcp-remote, in the flows that clients in other languages run too.
import { createRequire } from 'node:module'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { LOCAL_DOCUMENTS } from '../support/documents.ts'
import { startRecorded } from '../support/recorder.ts'
import { addResource } from '../support/service.ts'
import { type McpClient, takeAlong } from './journey.ts'
import { testJourneys } from './journeys.ts'
import { startMcpServer } from './mcp_server.ts'
import { testUnscoped } from './unscoped.ts'

const versionOf = (name: string): string =>
  createRequire(import.meta.url)(path.join(packageRoot, 'node_modules', name, 'package.json')).version
const toolchain = { command: [process.execPath, 'test/interop/typescript/mcp_client.mjs'] }
const package_ = (name: string) => ({ name, version: versionOf(name), toolchain })

/** With a refresh token it refreshes instead of requesting the scope. */
const WITHOUT_REFRESH = { cell: 'without a refresh token; drops the first scope', grant_types: ['authorization_code'] }

const CLIENTS: McpClient[] = [
  { ...package_('@modelcontextprotocol/client'), client: 'v2' },
  { ...package_('@modelcontextprotocol/sdk'), client: 'v1', dropsScope: WITHOUT_REFRESH },
  { ...package_('mcp-remote'), client: 'mcp-remote', asksForAll: true, withoutDocument: true, withoutMachine: true },
]

testJourneys('typescript', CLIENTS)
testUnscoped(CLIENTS)

describe('an MCP server at the root URL, which some clients name with a slash', () => {
  test.each(CLIENTS)('$name $version signs in with oauth.match_root_slash', async (client) => {
    const service = await startRecorded({ ...LOCAL_DOCUMENTS, SERVICE_OAUTH_MATCH_ROOT_SLASH: 'true' })
    const server = await startMcpServer(service, { metadata: 'own', path: '/' })
    await addResource(service, { uri: server.uri })
    const { texts } = await takeAlong(service, server, client, { steps: ['whoami', 'expire', 'whoami'] })
    expect(texts).toEqual(['Ada may mcp:read', 'Ada may mcp:read'])
    server.close()
    await service.close()
  })
})
