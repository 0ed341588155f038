// MCP servers in Python that accept tokens of this service: the example of the guide with FastMCP, and the official SDK.
import { spawn } from 'node:child_process'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { okAdmin } from '../support/admin.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import { authorize, machineToken, post, redeem } from '../support/flow.ts'
import { freePort } from '../support/free_port.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'
import { drive } from './driver.ts'
import { comeIn, GENERATIONS, Provider } from './mcp_client.ts'
import { python } from './toolchain.ts'

const [now, before] = [await python('mcp.txt'), await python('mcp1.txt')]
const EXAMPLE = 'examples/fastmcp-server/server.py'
const OFFICIAL = 'test/interop/python/mcp_server.py'
const running: { kill(): unknown }[] = []
afterEach(() => {
  for (const each of running.splice(0)) each.kill()
})

/** Starts a server. Returns its URI, which is the resource identifier too. */
async function startServer(toolchain: typeof now, file: string, env: Record<string, string>): Promise<string> {
  const port = await freePort()
  const [program = ''] = 'command' in toolchain ? toolchain.command : []
  const child = spawn(program, [path.join(packageRoot, file)], {
    env: { PATH: process.env['PATH'], PORT: String(port), ...env },
    stdio: 'ignore',
  })
  running.push(child)
  const uri = `http://localhost:${port}/mcp`
  await vi.waitFor(async () => expect((await fetch(uri, { method: 'POST' })).status).toBe(401), { timeout: 30_000 })
  return uri
}

const NOTES = ['notes:read', 'notes:write']
const statusAt = async (uri: string, token: unknown) => {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  return (await fetch(uri, { method: 'POST', headers, body })).status
}

describe.skipIf('missing' in now)('the example with FastMCP', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService()
  })
  afterAll(() => service.close())

  test.each(GENERATIONS)('the server accepts the token of a user of $name', async (generation) => {
    const uri = await startServer(now, EXAMPLE, { ISSUER: service.issuer })
    await addResource(service, { uri, scopes: NOTES })
    const connection = await comeIn(generation, service, uri, new Provider(), await addUser(service))
    expect(await connection.call('list_notes')).toBe('no notes')
    await connection.close()
  })

  test('the server accepts a token for itself, and refuses one of another resource and one that is bound to a key', async () => {
    const uri = await startServer(now, EXAMPLE, { ISSUER: service.issuer })
    await addResource(service, { uri, scopes: NOTES })
    const other = await addResource(service, { scopes: NOTES })
    const client = await addClient(service, { scope: 'notes:read notes:write' })
    const tokenFor = async (resource: string, headers = {}) =>
      (await machineToken(service, client, { resource, scope: 'notes:read' }, headers)).body['access_token']
    const bound = await dpop(service, await proofKey())
    const tokens = [await tokenFor(uri), await tokenFor(other.uri), await tokenFor(uri, bound)]
    expect(await Promise.all(tokens.map((token) => statusAt(uri, token)))).toEqual([200, 401, 401])
  })

  test('the server with introspection refuses a revoked token at once', async () => {
    const server = await addClient(service)
    const uri = await startServer(now, EXAMPLE, {
      ISSUER: service.issuer,
      CLIENT_ID: server.client_id,
      CLIENT_SECRET: server.client_secret,
    })
    await addResource(service, { uri, scopes: NOTES, policy: { runtime: { client_ids: [server.client_id] } } })
    const [client, user] = [await addClient(service, { scope: 'notes:read' }), await addUser(service)]
    const authorized = await authorize(service, client, user, { resource: uri, scope: 'notes:read' })
    const token = (await redeem(service, client, authorized)).body['access_token']
    expect(await statusAt(uri, token)).toBe(200)
    await post(`${service.issuer}/oauth/revoke`, client, { token: String(token) })
    expect(await statusAt(uri, token)).toBe(401)
  })
})

describe.each([
  { version: '2.3.0', toolchain: now },
  { version: '1.30.0', toolchain: before },
])('the official SDK $version writes the issuer with a slash', ({ toolchain }) => {
  test.skipIf('missing' in toolchain || 'missing' in now)(
    'with server.issuer_trailing_slash the official client signs in',
    async () => {
      const service = await startService({ SERVICE_SERVER_ISSUER_TRAILING_SLASH: 'true' })
      const uri = await startServer(toolchain, OFFICIAL, { ISSUER: `${service.issuer}/` })
      await addResource(service, { uri })
      const task = {
        client: 'mcp',
        server: uri,
        issuer: `${service.issuer}/`,
        redirect_uri: REDIRECT_URI,
        steps: ['whoami'],
      }
      const command = 'command' in now ? [...now.command, 'test/interop/python/mcp_client.py'] : []
      const { texts } = await drive(command, task, service, await addUser(service))
      expect(texts).toEqual(['somebody'])
      await service.close()
    },
  )

  test.skipIf('missing' in toolchain)('without it `admin resource check` names the difference', async () => {
    const service = await startService({ SERVICE_CIMD_ALLOW_PRIVATE_ADDRESSES: 'true' })
    const uri = await startServer(toolchain, OFFICIAL, { ISSUER: `${service.issuer}/` })
    const { slug } = await addResource(service, { uri })
    const answer = await okAdmin(service, 'GET', `/admin/resources/${slug}/check`)
    const message = `names \`${service.issuer}/\`, this issuer is \`${service.issuer}\`: one slash more`
    expect(answer).toMatchObject({ problems: [{ message }] })
    await service.close()
  })
})
