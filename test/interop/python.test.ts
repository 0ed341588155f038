// Clients in Python: the official client of both generations, and FastMCP; and the libraries that Python programs use.
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import { libraryFixture } from './libraries.ts'
import { python } from './toolchain.ts'

const now = await python('mcp.txt')

describe.skipIf('missing' in now)('Python libraries', () => {
  const at = libraryFixture(now, ['test/interop/python/libraries.py'])

  test('PyJWT verifies an access token', async () => {
    const { sub, token } = await at.userToken()
    expect((await at.run('pyjwt', { token })).result).toMatchObject({ sub, aud: [at.server], scope: 'mcp:read' })
  })

  test('Authlib signs a person in, refreshes, introspects and revokes', async () => {
    const { client_id, client_secret } = at.machine
    const { result } = await at.run('authlib', { client_id, client_secret })
    const before = { active: true, scope: 'mcp:read' }
    expect(result).toMatchObject({ refreshed: true, before, after: { active: false } })
  })

  test('Authlib gets a token of a machine', async () => {
    const { client_id, client_secret } = at.machine
    const { result } = await at.run('machine', { client_id, client_secret })
    const { access_token } = result as { access_token: string }
    expect(decodeJwt(access_token)).toMatchObject({ aud: [at.server], sub: client_id })
  })
})
