// The official MCP clients of both generations, against a real MCP server that uses this authorization server.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { addApp } from '../support/factors.ts'
import { signIn, walk } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { comeIn, GENERATIONS, type Generation, Provider } from './mcp_client.ts'
import { type McpTestServer, startMcpServer } from './mcp_server.ts'

let service: TestService
let server: McpTestServer
beforeAll(async () => {
  // The 2.x client logs to the console that it discards tokens, which one test provokes.
  vi.spyOn(console, 'warn').mockReturnValue()
  service = await startService()
  server = await startMcpServer(service)
  await addResource(service, { uri: server.uri })
})
afterAll(async () => {
  server.close()
  await service.close()
})

describe.each(GENERATIONS)('$name', (generation) => {
  const setUp = async (fields: Record<string, unknown> = {}) => {
    const client = await addClient(service, { token_endpoint_auth_method: 'none', ...fields })
    const provider = new Provider(client, service.issuer)
    return { client, user: await addUser(service), browser: new Browser(), provider }
  }
  type Parts = Awaited<ReturnType<typeof setUp>>

  const connected = ({ provider, user, browser }: Parts) =>
    comeIn(generation, service, server.uri, provider, user, browser)

  for (const method of ['none', 'client_secret_basic', 'client_secret_post'])
    test(`a registered client (${method}) signs its user in and calls a tool`, async () => {
      const parts = await setUp({ token_endpoint_auth_method: method })
      const connection = await connected(parts)
      expect(await connection.call('whoami')).toBe(`${parts.user.id} may mcp:read`)
      expect(parts.provider.saved.url?.searchParams.get('resource')).toBe(server.uri)
      expect(parts.provider.saved.tokens).toMatchObject({ scope: 'mcp:read', issuer: service.issuer })
      await connection.close()
    })

  test('an expired access token is refreshed without the user', async () => {
    const parts = await setUp()
    const connection = await connected(parts)
    const before = parts.provider.saved.tokens
    service.advance(901)
    expect(await connection.call('whoami')).toBe(`${parts.user.id} may mcp:read`)
    expect(parts.provider.saved.tokens?.refresh_token).not.toBe(before?.refresh_token)
    await connection.close()
  })

  test('with an invalid refresh token the client starts a new sign-in', async () => {
    const parts = await setUp()
    const connection = await connected(parts)
    service.advance(91 * 24 * 3600)
    await expect(connection.call('whoami')).rejects.toThrow(generation.Unauthorized)
    expect(parts.provider.saved.tokens).toBeUndefined()
    await connection.finish(await walk(service, String(parts.provider.saved.url), parts.user, parts.browser))
    expect(await connection.call('whoami')).toBe(`${parts.user.id} may mcp:read`)
    await connection.close()
  })

  test('when its resource begins to require a second factor, the client starts a new sign-in, which adds the factor', async () => {
    // A path of its own: the service finds the metadata of a resource by its path.
    const strict = await startMcpServer(service, { path: `/factor-${generation.name.replace(/\W+/g, '-')}` })
    const { slug } = await addResource(service, { uri: strict.uri })
    const { provider, user } = await setUp()
    const connection = await comeIn(generation, service, strict.uri, provider, user)
    await okAdmin(service, 'PATCH', `/admin/resources/${slug}`, { access: { mode: 'everyone', second_factor: true } })
    service.advance(901)
    await expect(connection.call('whoami')).rejects.toThrow(generation.Unauthorized)
    const browser = new Browser()
    const login = await browser.follow(String(provider.saved.url))
    const signedIn = await signIn(service, browser, login, user.email)
    const { page } = await addApp(service, browser, await browser.follow(String(signedIn.location)))
    const on = /<a class="button main wide" href="([^"]+)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? ''
    await connection.finish(await walk(service, service.issuer + on, user, browser))
    expect(await connection.call('whoami')).toBe(`${user.id} may mcp:read`)
    await connection.close()
    strict.close()
  })

  test('a machine gets a token with its own credentials', async () => {
    const { client_id, client_secret } = await addClient(service)
    const credentials = {
      clientId: client_id,
      clientSecret: client_secret,
      scope: 'mcp:read',
      expectedIssuer: service.issuer,
    }
    const connection = generation.connectMachine(server.uri, credentials)
    await connection.open()
    expect(await connection.call('whoami')).toBe(`${client_id} may mcp:read`)
    await connection.close()
  })
})

// Only the 2.x client reads the whole authorization response and requests more scopes on its own.
describe('@modelcontextprotocol/client 2.x only', () => {
  const [{ connect, Unauthorized }] = GENERATIONS as [Generation]
  const turnedAway = async () => {
    const client = await addClient(service, { token_endpoint_auth_method: 'none' })
    const parts = {
      user: await addUser(service),
      browser: new Browser(),
      provider: new Provider(client, service.issuer),
    }
    const connection = connect(server.uri, parts.provider)
    await expect(connection.open()).rejects.toThrow(Unauthorized)
    return { ...parts, connection, url: String(parts.provider.saved.url) }
  }

  test('a tool that needs more scopes sends the user to consent to them', async () => {
    const { user, browser, provider, connection, url } = await turnedAway()
    await connection.finish(await walk(service, url, user, browser))
    const second = connect(server.uri, provider)
    await second.open()
    await expect(second.call('save')).rejects.toThrow(Unauthorized)
    expect(provider.saved.url?.searchParams.get('scope')).toBe('mcp:read mcp:write')
    await second.finish(await walk(service, String(provider.saved.url), user, browser))
    expect(await second.call('save')).toBe(`${user.id} may mcp:read mcp:write`)
    await second.close()
  })

  test('a response with the iss of another issuer is refused before the code is sent', async () => {
    const { user, browser, connection, url } = await turnedAway()
    const callback = await walk(service, url, user, browser)
    const forged = new URL(callback)
    forged.searchParams.set('iss', 'https://evil.example')
    await expect(connection.finish(forged)).rejects.toThrow(/issuer/i)
    await connection.finish(callback)
  })

  test('a denial by the user is reported as access_denied', async () => {
    const { user, browser, connection, url } = await turnedAway()
    const callback = await walk(service, url, user, browser, 'deny')
    await expect(connection.finish(callback)).rejects.toMatchObject({ code: 'access_denied' })
  })
})
