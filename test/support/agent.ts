// An agent: the official client of MCP at the /mcp of a test service.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect } from 'vitest'
import { atEndOfFile } from './end_of_file.ts'
import { ADMIN_KEY, type TestService } from './service.ts'

/** Environment of a service with /mcp. */
export const WITH_MCP = { SERVICE_ADMIN_MCP_ENABLED: 'true', SERVICE_ADMIN_MCP_URL: '<admin>/mcp' }

/** Connects an agent with an API key until the end of the test file. */
export async function connectAgent({ admin }: Pick<TestService, 'admin'>, key = ADMIN_KEY): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const headers = { authorization: `Bearer ${key}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${admin}/mcp`), { requestInit: { headers } }))
  atEndOfFile(() => client.close())
  return client
}

export interface ToolAnswer {
  text: string
  isError: boolean
  answer: Record<string, unknown>
}
/** Calls a tool. The text of a result is its structured content. */
export async function callTool(agent: Client, name: string, args: Record<string, unknown> = {}): Promise<ToolAnswer> {
  const { content, isError = false, structuredContent } = await agent.callTool({ name, arguments: args })
  const [part] = content as { text: string }[]
  const text = part?.text ?? ''
  if (!isError) expect(JSON.parse(text)).toEqual(structuredContent)
  return { text, isError, answer: JSON.parse(text) }
}
