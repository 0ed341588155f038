// Clients in Go: the official SDK and mcp-go; and the libraries that Go servers and services use.
import { describe, expect, test } from 'vitest'
import { libraryFixture } from './libraries.ts'
import { go } from './toolchain.ts'

const toolchain = await go()

describe.skipIf('missing' in toolchain)('Go libraries', () => {
  const at = libraryFixture(toolchain)

  test('zitadel/oidc 3.51 discovers and introspects', async () => {
    const [{ sub, token }, { client_id, client_secret }] = [await at.userToken(), at.machine]
    const { result } = await at.run('zitadel', { token, client_id, client_secret })
    const introspection_endpoint = `${at.service.issuer}/oauth/introspect`
    expect(result).toEqual({ active: true, sub, scope: 'mcp:read', introspection_endpoint })
  })
})
