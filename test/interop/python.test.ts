// Clients in Python: the official client of both generations, and FastMCP; and the libraries that Python programs use.
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import { freePort } from '../support/free_port.ts'
import type { McpClient } from './journey.ts'
import { testJourneys } from './journeys.ts'
import { keyedClient, testKeyedMachines } from './keyed_machines.ts'
import { libraryFixture } from './libraries.ts'
import { python } from './toolchain.ts'
import { testUnscoped } from './unscoped.ts'

const [now, before] = [await python('mcp.txt'), await python('mcp1.txt')]
const port = await freePort()
const args = ['test/interop/python/mcp_client.py']

const CLIENTS: McpClient[] = [
  { name: 'mcp (Python)', version: '2.3.0', toolchain: now, args, client: 'mcp', asksForAll: true },
  {
    name: 'mcp (Python)',
    version: '1.30.0',
    toolchain: before,
    args,
    client: 'mcp',
    asksForAll: true,
    dropsScope: { cell: 'drops the first scope' },
  },
  {
    name: 'fastmcp (Python)',
    version: '4.1.2',
    toolchain: now,
    args,
    client: 'fastmcp',
    asksForAll: true,
    redirect_uri: `http://localhost:${port}/callback`,
  },
]

testJourneys('python', CLIENTS)
testUnscoped(CLIENTS)
// FastMCP has no client with a key of its own.
testKeyedMachines(CLIENTS.filter(({ client }) => client === 'mcp'))

describe.skipIf('missing' in now)('Python libraries', () => {
  // The assertions of Authlib live for an hour.
  const env = { SERVICE_OAUTH_ASSERTION_MAX_LIFETIME: '1h' }
  const at = libraryFixture(now, ['test/interop/python/libraries.py'], env)

  test('PyJWT verifies an access token', async () => {
    const { sub, token } = await at.userToken()
    expect((await at.run('pyjwt', { token })).result).toMatchObject({ sub, aud: [at.server], scope: 'mcp:read' })
  })

  test('Authlib signs a user in, refreshes, introspects and revokes', async () => {
    const { client_id, client_secret } = at.machine
    const { result } = await at.run('authlib', { client_id, client_secret })
    const before = { active: true, scope: 'mcp:read' }
    expect(result).toMatchObject({ refreshed: true, before, after: { active: false } })
  })

  test('Authlib gets a machine token', async () => {
    const { client_id, client_secret } = at.machine
    const { result } = await at.run('machine', { client_id, client_secret })
    const { access_token } = result as { access_token: string }
    expect(decodeJwt(access_token)).toMatchObject({ aud: [at.server], sub: client_id })
  })

  test('Authlib gets a machine token with a key', async () => {
    const keyed = await keyedClient(at.service)
    const { access_token } = (await at.run('machine-key', keyed)).result as { access_token: string }
    expect(decodeJwt(access_token)).toMatchObject({ aud: [at.server], sub: keyed.client_id })
  })
})
