// The official TypeScript clients and mcp-remote, on the ways that clients in other languages are taken too.
import { createRequire } from 'node:module'
import path from 'node:path'
import { packageRoot } from '../../src/lib/paths.ts'
import type { McpClient } from './journey.ts'
import { testJourneys } from './journeys.ts'
import { testUnscoped } from './unscoped.ts'

const versionOf = (name: string): string =>
  createRequire(import.meta.url)(path.join(packageRoot, 'node_modules', name, 'package.json')).version
const toolchain = { command: [process.execPath, 'test/interop/typescript/mcp_client.mjs'] }
const package_ = (name: string) => ({ name, version: versionOf(name), toolchain })

/** With a refresh token it refreshes where it should ask. */
const WITHOUT_REFRESH = { cell: 'without a refresh token; drops the first scope', grant_types: ['authorization_code'] }

const CLIENTS: McpClient[] = [
  { ...package_('@modelcontextprotocol/client'), client: 'v2' },
  { ...package_('@modelcontextprotocol/sdk'), client: 'v1', dropsScope: WITHOUT_REFRESH },
  { ...package_('mcp-remote'), client: 'mcp-remote', asksForAll: true, withoutDocument: true, withoutMachine: true },
]

testJourneys('typescript', CLIENTS)
testUnscoped(CLIENTS)
