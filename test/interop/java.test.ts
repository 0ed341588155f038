// Libraries in Java: Nimbus, Spring Security of both generations, and the MCP servers built on it.
import { decodeJwt, exportJWK } from 'jose'
import { describe, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { addKeyedClient } from '../support/assertion.ts'
import { addClient } from '../support/service.ts'
import { keyedClient } from './keyed_machines.ts'
import { libraryFixture } from './libraries.ts'
import { java } from './toolchain.ts'

const nimbus = await java('Nimbus.java', 'nimbus.xml')
const springs = [
  { name: 'Spring Security 6.5', toolchain: await java('Spring.java', 'spring6.xml') },
  { name: 'Spring Security 7.1', toolchain: await java('Spring.java', 'spring7.xml') },
]
const mcp = await java('Spring.java', 'mcp.xml')
const tokenOf = (result: unknown) => String((result as { access_token: string }).access_token)

describe.skipIf('missing' in nimbus)('Nimbus 11.39', () => {
  const at = libraryFixture(nimbus)

  test('Nimbus reads the discovery document', async () => {
    const { result } = await at.run('discover')
    expect(result).toEqual({ token_endpoint: `${at.service.issuer}/oauth/token`, algorithms: ['ES256'] })
  })

  test('Nimbus gets a machine token and verifies it', async () => {
    const { client_id, client_secret } = at.machine
    const token = tokenOf((await at.run('machine', { client_id, client_secret })).result)
    expect((await at.run('verify', { token })).result).toMatchObject({ sub: client_id, scope: 'mcp:read' })
  })

  test('Nimbus gets a machine token with a key: its assertion names the token endpoint', async () => {
    const keyed = await keyedClient(at.service)
    const token = tokenOf((await at.run('machine-key', keyed)).result)
    expect(decodeJwt(token)).toMatchObject({ sub: keyed.client_id, aud: [at.server] })
  })
})

describe.each(springs)('$name', ({ toolchain }) => {
  const at = libraryFixture(toolchain)
  const skip = 'missing' in toolchain
  const tokenTyped = async (access_token_typ: string) => {
    await okAdmin(at.service, 'PATCH', `/admin/resources/${at.slug}`, { access_token_typ })
    return at.userToken()
  }

  test.skipIf(skip)('`issuer-uri` of a client finds the endpoints', async () => {
    expect((await at.run('discover')).result).toBe(`${at.service.issuer}/oauth/token`)
  })

  test.skipIf(skip)('`issuer-uri` of a resource server accepts a token with `access_token_typ` JWT', async () => {
    const { sub, token } = await tokenTyped('JWT')
    expect((await at.run('default', { token })).result).toEqual({ sub, aud: [at.server] })
  })

  test.skipIf(skip)('the decoder of the guide accepts `at+jwt`', async () => {
    const { sub, token } = await tokenTyped('at+jwt')
    expect((await at.run('at+jwt', { token })).result).toEqual({ sub, aud: [at.server] })
  })

  test.skipIf(skip)('the decoder of the guide refuses a token of another resource', async () => {
    const { token } = await tokenTyped('at+jwt')
    const { result } = await at.run('at+jwt', { token, server: 'https://other.example.com/mcp' })
    expect(result).toMatchObject({ refused: expect.stringContaining('aud') })
  })

  test.skipIf(skip)(
    'a machine request names no resource: `default_resource` sets the audience of its token',
    async () => {
      const { client_id, client_secret } = await addClient(at.service)
      await okAdmin(at.service, 'PATCH', `/admin/clients/${client_id}`, { default_resource: at.server })
      const { result } = await at.run('machine', { client_id, client_secret })
      expect(decodeJwt(tokenOf(result)).aud).toEqual([at.server])
    },
  )

  test.skipIf(skip)('a machine gets a token with a key: its assertion names the token endpoint', async () => {
    const { client_id, key } = await addKeyedClient(at.service, { default_resource: at.server })
    const jwk = { ...(await exportJWK(key.privateKey)), kid: key.kid }
    const { result } = await at.run('machine', { client_id, jwk })
    expect(decodeJwt(tokenOf(result))).toMatchObject({ sub: client_id, aud: [at.server] })
  })
})

describe.skipIf('missing' in mcp)('mcp-server-security 0.1.13', () => {
  const at = libraryFixture(mcp)

  test('the MCP server accepts a token with `access_token_typ` JWT, and no other', async () => {
    const { token } = await at.userToken()
    expect((await at.run('mcp', { token })).result).toMatchObject({ refused: expect.stringContaining('typ') })
    await okAdmin(at.service, 'PATCH', `/admin/resources/${at.slug}`, { access_token_typ: 'JWT' })
    const typed = await at.userToken()
    expect((await at.run('mcp', { token: typed.token })).result).toEqual({ sub: typed.sub, aud: [at.server] })
  })
})
