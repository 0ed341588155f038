// Clients in Rust: the official SDK, and the libraries that Rust programs use.
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import type { McpClient } from './journey.ts'
import { testJourneys } from './journeys.ts'
import { testKeyedMachines } from './keyed_machines.ts'
import { libraryFixture } from './libraries.ts'
import { rust } from './toolchain.ts'
import { testUnscoped } from './unscoped.ts'

const toolchain = await rust()

const CLIENTS: McpClient[] = [{ name: 'rmcp', version: '3.11.0', toolchain, client: 'rmcp', asksForAll: true }]

testJourneys('rust', CLIENTS)
testUnscoped(CLIENTS)
testKeyedMachines(CLIENTS)

describe.skipIf('missing' in toolchain)('Rust libraries', () => {
  const at = libraryFixture(toolchain)

  test('openidconnect 4.0 reads the discovery document', async () => {
    const { result } = await at.run('openidconnect')
    const token_endpoint = `${at.service.issuer}/oauth/token`
    expect(result).toEqual({ token_endpoint, algorithms: ['ES256'], keys: expect.any(Number) })
  })

  test('oauth2 5.0 gets a machine token', async () => {
    const { client_id, client_secret } = at.machine
    const { result } = await at.run('oauth2', { client_id, client_secret })
    expect(decodeJwt(String((result as { access_token: string }).access_token)).aud).toEqual([at.server])
  })
})
