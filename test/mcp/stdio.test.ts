// `service mcp`: the official client over standard input and output, at a running server.
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { metricOf, okAdmin } from '../support/admin.ts'
import { ADMIN_KEY, addClient, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

async function connect(args: string[], key = ADMIN_KEY) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['dist/bin/service.js', 'mcp', '--admin-url', service.admin, ...args],
    env: { SERVICE_ADMIN_API_KEY: key },
    stderr: 'pipe',
  })
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(transport)
  return client
}

test('an agent diagnoses by default, changes with --tools operate, and the server counts and records both', async () => {
  const { client_id } = await addClient(service)
  const [reader, operator] = [await connect([]), await connect(['--tools', 'operate'])]
  try {
    const names = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name)
    expect(await names(reader)).not.toContain('suspend_client')
    await expect(reader.callTool({ name: 'suspend_client', arguments: { client_id } })).rejects.toThrow('no such tool')
    expect(await names(operator)).not.toContain('set_registration_mode')
    for (let i = 0; i < 2; i++) await reader.callTool({ name: 'find', arguments: { query: client_id } })
    await operator.callTool({ name: 'delete_client', arguments: { client_id } })
    await operator.callTool({ name: 'suspend_client', arguments: { client_id } })
    expect(await metricOf(service, 'ext_mcp_calls_total{tool="find"}')).toBe(2)
    expect(await metricOf(service, 'ext_mcp_calls_total{tool="delete_client"}')).toBe(1)
    const events = await okAdmin<{ action: string; detail: object }[]>(
      service,
      'GET',
      `/admin/audit?client_id=${client_id}`,
    )
    expect(events.map(({ action, detail }) => [action, detail])).toEqual([['client_suspended', { via: 'mcp' }]])
  } finally {
    await Promise.all([reader.close(), operator.close()])
  }
})

test('a wrong key is a refusal that names admin.api_key', async () => {
  const client = await connect([], 'wrong-key-0123456789')
  const { content, isError } = await client.callTool({ name: 'status', arguments: {} })
  expect([isError, JSON.stringify(content)]).toEqual([true, expect.stringContaining('admin.api_key')])
  await client.close()
})
