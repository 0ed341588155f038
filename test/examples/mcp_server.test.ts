// examples/mcp-server as its guide says to run it: both generations of the official client sign in, and bad tokens are refused.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { GENERATIONS, Provider } from '../interop/mcp_client.ts'
import { Browser } from '../support/browser.ts'
import { proofKey } from '../support/dpop.ts'
import { decide, machineToken, signIn, walk } from '../support/flow.ts'
import { freePort } from '../support/free_port.ts'
import { signed, TestIdp } from '../support/idp.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

interface Example {
  uri: string
  stop(): void
}

/** Starts the example with the issuer that it trusts. */
async function startExample(issuer: string): Promise<Example> {
  const port = await freePort()
  const child = spawn(process.execPath, [path.join(packageRoot, 'examples/mcp-server/server.mjs')], {
    env: { PATH: process.env['PATH'], PORT: String(port), ISSUER: issuer },
    stdio: 'ignore',
  })
  const origin = `http://localhost:${port}`
  await vi.waitFor(async () => expect((await fetch(`${origin}/health`)).status).toBe(200), { timeout: 30_000 })
  return { uri: `${origin}/mcp`, stop: () => void child.kill() }
}

let service: TestService
let example: Example
beforeAll(async () => {
  // The 2.x client logs that it replaces tokens by tokens with more scopes.
  vi.spyOn(console, 'warn').mockReturnValue()
  service = await startService()
  example = await startExample(service.issuer)
  await addResource(service, { uri: example.uri, slug: 'notes', scopes: ['notes:read', 'notes:write'] })
})
afterAll(async () => {
  example.stop()
  await service.close()
})

describe('the example of an MCP server', () => {
  test.each(GENERATIONS)(
    'the example lets a user of $name sign in with only its address',
    async ({ connect, Unauthorized }) => {
      const [user, provider] = [await addUser(service), new Provider()]
      const first = connect(example.uri, provider)
      await expect(first.open()).rejects.toThrow(Unauthorized)
      await first.finish(await walk(service, String(provider.saved.url), user))
      const connection = connect(example.uri, provider)
      await connection.open()
      expect(await connection.call('list_notes')).toBe('no notes')
      expect(provider.saved.tokens).toMatchObject({ scope: 'notes:read notes:write' })
      await connection.close()
    },
  )

  test('the example requests the scope that a tool needs, and accepts the user after consent', async () => {
    const [{ connect, Unauthorized }] = GENERATIONS as [(typeof GENERATIONS)[0]]
    const [{ email }, browser, provider] = [await addUser(service), new Browser(), new Provider()]
    const first = connect(example.uri, provider)
    await expect(first.open()).rejects.toThrow(Unauthorized)
    const login = await browser.follow(String(provider.saved.url))
    const consent = await browser.follow(String((await signIn(service, browser, login, email)).location))
    const { location = '' } = await decide(service, browser, consent, 'allow', ['notes:read'])
    await first.finish(new URL(location))
    const second = connect(example.uri, provider)
    await second.open()
    expect(await second.call('list_notes')).toBe('no notes')
    await expect(second.call('save_note')).rejects.toThrow(Unauthorized)
    await second.finish(await walk(service, String(provider.saved.url), { email }, browser))
    expect(provider.saved.tokens).toMatchObject({ scope: 'notes:read notes:write' })
    await second.close()
  })

  test('a list of requests is refused: a call in it would need a scope of its own', async () => {
    const client = await addClient(service, { grant_types: ['client_credentials'], scope: 'notes:read notes:write' })
    const asked = { resource: example.uri, scope: 'notes:read' }
    const { body } = await machineToken(service, client, asked)
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'save_note', arguments: { text: 'x' } },
    }
    const headers = {
      authorization: `Bearer ${body['access_token']}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    const send = async (message: unknown) =>
      (await fetch(example.uri, { method: 'POST', headers, body: JSON.stringify(message) })).status
    expect([await send(call), await send([call])]).toEqual([403, 400])
  })

  test('the resource metadata of the example equals the registered resource', async () => {
    const { origin } = new URL(example.uri)
    const read = async (url: string) => (await (await fetch(url)).json()) as Record<string, unknown>
    const { dpop_signing_alg_values_supported: algorithms, ...own } = await read(
      `${origin}/.well-known/oauth-protected-resource/mcp`,
    )
    expect(algorithms).toEqual(['ES256', 'RS256', 'PS256'])
    expect(await read(`${service.issuer}/.well-known/oauth-protected-resource/notes`)).toMatchObject(own)
  })

  describe('refuses with 401 and the URL of its metadata', () => {
    let idp: TestIdp
    let strict: Example
    beforeAll(async () => {
      idp = await TestIdp.start()
      idp.routes['/.well-known/jwks.json'] = (_, response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: idp.jwks().keys }))
      idp.routes['/.well-known/oauth-authorization-server'] = (_, response) =>
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ issuer: idp.issuer, jwks_uri: `${idp.issuer}/.well-known/jwks.json` }))
      strict = await startExample(idp.issuer)
    })
    afterAll(() => strict.stop())

    const ask = async ({
      header = {},
      claims = {},
      key = idp.key,
    }: {
      header?: object
      claims?: object
      key?: typeof idp.key
    } = {}) => {
      const now = Math.floor(Date.now() / 1000)
      const good = {
        iss: idp.issuer,
        aud: strict.uri,
        sub: 'u',
        client_id: 'c',
        jti: 'j',
        scope: 'notes:read',
        iat: now,
        exp: now + 60,
      }
      const token = await signed(key, { typ: 'at+jwt', kid: idp.key.kid, ...header }, { ...good, ...claims })
      return fetch(strict.uri, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'list_notes', arguments: {} },
        }),
      })
    }

    test('the example accepts a valid token', async () => expect((await ask()).status).toBe(200))

    test.each([
      ['of another issuer', { claims: { iss: 'https://other.example' } }],
      ['for another resource', { claims: { aud: 'https://other.example/mcp' } }],
      ['that has expired', { claims: { exp: 1 } }],
      ['that is no access token', { header: { typ: 'JWT' } }],
      ['that is bound to a key', { claims: { cnf: { jkt: 'x' } } }],
    ])('a token %s', async (_what, changes) => {
      const response = await ask(changes)
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toContain('/.well-known/oauth-protected-resource/mcp"')
    })

    test('the example refuses a token of another key', async () => {
      const key = { ...(await proofKey()), kid: idp.key.kid }
      expect((await ask({ key })).status).toBe(401)
    })

    test('the example refuses a token without the scope with 403 and names the scope', async () => {
      const response = await ask({ claims: { scope: 'other' } })
      expect(response.status).toBe(403)
      expect(response.headers.get('www-authenticate')).toMatch(/insufficient_scope.*scope="notes:read"/)
    })
  })

  test('the package versions of the example are those that are tested here', () => {
    const read = (file: string) => JSON.parse(readFileSync(path.join(packageRoot, file), 'utf8'))
    const { dependencies, devDependencies } = read('package.json')
    const own = read('packages/resource-server/package.json')
    expect({ ...dependencies, ...devDependencies, [own.name]: own.version, ...own.dependencies }).toMatchObject(
      read('examples/mcp-server/package.json').dependencies,
    )
    expect({ ...dependencies, ...devDependencies }).toMatchObject(own.dependencies)
  })
})
