// The tools of the service for agents, listed and called by official clients without a change: those of TypeScript and Python, of both
// generations, that know the URL alone and sign a person in, and MCP Inspector with a key. Each also over standard input and output.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import * as v2 from '@modelcontextprotocol/client'
import * as v2Stdio from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { programFile } from '../../src/lib/paths.ts'
import { GROUPS, openAdminFederation } from '../support/admin_page.ts'
import { WITH_MCP } from '../support/agent.ts'
import { ADMIN_KEY, addUser, REDIRECT_URI, type TestService } from '../support/service.ts'
import { drive } from './driver.ts'
import { comeIn, GENERATIONS, Provider } from './mcp_client.ts'
import { inspector, python } from './toolchain.ts'

let world: Awaited<ReturnType<typeof openAdminFederation>>
let service: TestService
let server: string
beforeAll(async () => {
  world = await openAdminFederation({ ...WITH_MCP, SERVICE_DCR_MODE: 'open' })
  service = world.service
  server = `${service.admin}/mcp`
})
afterAll(() => world.close())

let people = 0
const viewer = () =>
  addUser(service, {
    ...{ provider_issuer: world.op.issuer, provider_sub: `viewer-${++people}`, provider_groups: [GROUPS.viewer] },
  })
/** The program of a client over standard input and output. */
const program = () => [process.execPath, programFile('service'), 'mcp', '--admin-url', service.admin]
const env = { SERVICE_ADMIN_API_KEY: ADMIN_KEY }
const READS = expect.arrayContaining(['status', 'client_connections', 'find'])
const versionIn = (text: string) => (JSON.parse(text) as { version: string }).version

describe.each(GENERATIONS)('TypeScript: $name', (generation) => {
  test('signs in by the URL alone, lists the tools and calls one', async () => {
    const connection = await comeIn(generation, service, server, new Provider(), await viewer())
    expect(await connection.list()).toEqual(READS)
    expect(versionIn(await connection.call('status'))).toBe(service.app.build.version)
    await connection.close()
  })
})

test.each([
  ['@modelcontextprotocol/client', v2.Client, v2Stdio.StdioClientTransport],
  ['@modelcontextprotocol/sdk', Client, StdioClientTransport],
] as const)('TypeScript: %s starts `service mcp`', async (_name, Agent, Transport) => {
  const [command = '', ...args] = program()
  const agent = new Agent({ name: 'test', version: '1.0.0' })
  await agent.connect(new Transport({ command, args, env, stderr: 'inherit' }) as never)
  const { tools } = await agent.listTools()
  expect(tools.map(({ name }) => name)).toEqual(READS)
  const { structuredContent } = await agent.callTool({ name: 'status', arguments: {} })
  expect(structuredContent).toMatchObject({ version: service.app.build.version })
  await agent.close()
})

const PYTHONS = [
  ['2.3.0', await python('mcp.txt')],
  ['1.30.0', await python('mcp1.txt')],
] as const
describe.each(PYTHONS)('Python: mcp %s', (_version, toolchain) => {
  const steps = ['list', 'status']
  const run = async (task: object) => {
    const command = 'command' in toolchain ? [...toolchain.command, 'test/interop/python/mcp_client.py'] : []
    const common = { client: 'mcp', steps, server, issuer: service.issuer, redirect_uri: REDIRECT_URI }
    const { texts, opened } = await drive(command, { ...common, ...task }, service, await viewer())
    expect(JSON.parse(texts[0] ?? '')).toEqual(READS)
    expect(versionIn(texts[1] ?? '')).toBe(service.app.build.version)
    return opened
  }

  test.skipIf('missing' in toolchain)('signs in by the URL alone, lists the tools and calls one', async () => {
    const [opened] = await run({})
    expect([opened?.searchParams.get('resource'), opened?.searchParams.get('scope')]).toEqual([
      server,
      expect.stringContaining('admin:view'),
    ])
  })

  test.skipIf('missing' in toolchain)('starts `service mcp`', async () => {
    expect(await run({ program: program(), env: { ...env, PATH: process.env['PATH'] } })).toEqual([])
  })
})

const inspecting = await inspector()
describe.skipIf('missing' in inspecting)('MCP Inspector', () => {
  const inspect = async (...args: string[]) => {
    const [file = '', ...before] = 'command' in inspecting ? inspecting.command : []
    const { stdout, stderr } = await promisify(execFile)(file, [...before, ...args], { maxBuffer: 1 << 24 })
    return { answer: JSON.parse(stdout), stderr }
  }
  const WAYS: [string, () => string[]][] = [
    ['HTTP', () => [server, '--transport', 'http', '--header', `Authorization: Bearer ${ADMIN_KEY}`]],
    ['standard input and output', () => ['-e', `SERVICE_ADMIN_API_KEY=${ADMIN_KEY}`, ...program()]],
  ]

  test.each(WAYS)('finds every schema portable, and calls a tool, over %s', async (_way, target) => {
    const { answer, stderr } = await inspect(...target(), '--method', 'tools/list', '--strict')
    expect((answer as { tools: { name: string }[] }).tools.map(({ name }) => name)).toEqual(READS)
    expect(stderr).not.toMatch(/portability|Warning: tool|Error: tool/)
    const called = await inspect(...target(), '--method', 'tools/call', '--tool-name', 'status')
    expect(called.answer).toMatchObject({ structuredContent: { version: service.app.build.version } })
  })
})
