// Section R of the attack list: measures that protect clients. One test per row, named by its id.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callAdmin } from '../support/admin.ts'
import { authorize, isActive, machineToken, register } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { Wire } from '../support/wire.ts'
import { LOOPBACK, xaaScene } from '../support/xaa.ts'

describe.each(['uws', 'node'])('on %s', (engine) => {
  let service: TestService
  beforeAll(async () => {
    service = await startService({ SERVICE_SERVER_HTTP_ENGINE: engine, SERVICE_DCR_MODE: 'open' })
  })
  afterAll(() => service.close())

  test('R02 resource metadata contains only what an operator registered, and nothing of the request', async () => {
    const resource = await addResource(service, { slug: `r02-${engine}` })
    const base = `${service.issuer}/.well-known/oauth-protected-resource`
    const found = (await (await fetch(`${base}/${resource.slug}?x=https://evil.example`)).json()) as object
    expect(found).toMatchObject({ resource: resource.uri, authorization_servers: [service.issuer] })
    expect(JSON.stringify(found)).not.toContain('evil')
    const made = [
      'https://evil.example/mcp',
      '//evil.example',
      '<script>alert(1)</script>',
      '../../admin',
      '%2e%2e/evil',
    ]
    for (const ref of made) {
      const answer = await fetch(`${base}/${ref}`)
      expect(answer.status, ref).toBe(404)
      expect((await answer.text()) + JSON.stringify([...answer.headers])).not.toMatch(/evil|<script|\.\.|admin/)
    }
    // A client cannot register a resource: a registration creates a client.
    const evil = { redirect_uris: ['https://evil.example/cb'], resource: 'https://evil.example', slug: 'evil' }
    expect((await register(service, evil)).status).toBe(201)
    expect((await fetch(`${base}/evil`)).status).toBe(404)
  })

  test('R03 no Host or forwarded header appears in metadata, redirects, challenges or pages', async () => {
    const { slug } = await addResource(service, { slug: `r03-${engine}` })
    const evil = [
      'host: evil.example',
      'x-forwarded-host: evil.example',
      'x-forwarded-proto: gopher',
      'forwarded: host=evil.example',
    ]
    const get = async (path: string) => {
      const wire = await Wire.open(Number(new URL(service.issuer).port))
      const answer = await wire.send(`GET ${path} HTTP/1.1\r\n${evil.join('\r\n')}\r\n\r\n`).answer()
      wire.leave()
      return answer
    }
    const paths = [
      '/.well-known/oauth-authorization-server',
      '/.well-known/openid-configuration',
      `/.well-known/oauth-protected-resource/${slug}`,
      '/login',
      '/',
      '/consent',
      '/connections',
      '/oauth/authorize?client_id=x',
      '/nothing',
    ]
    for (const path of paths) {
      const { headers, body } = await get(path)
      expect(body + JSON.stringify(headers), path).not.toMatch(/evil|gopher/)
    }
    const { body } = await get(paths[0] as string)
    const urls = JSON.stringify(JSON.parse(body)).match(/https?:\/\/[^"]+/g) ?? []
    expect(urls.length).toBeGreaterThan(5)
    for (const url of urls) expect(url.startsWith(service.issuer)).toBe(true)
  })
})

test('R04 two servers never issue the same client_id, and each redirect has the iss of its server', async () => {
  const [a, b] = [await startService({ SERVICE_DCR_MODE: 'open' }), await startService({ SERVICE_DCR_MODE: 'open' })]
  try {
    const ids = new Set<unknown>()
    for (const service of [a, b])
      for (let i = 0; i < 20; i++) {
        const answer = await register(service, { client_name: 'Same' })
        ids.add(((await answer.json()) as { client_id: string }).client_id)
      }
    expect(ids.size).toBe(40)
    const client = await addClient(a)
    const { callback } = await authorize(a, client, await addUser(a))
    expect(callback.searchParams.getAll('iss')).toEqual([a.issuer])
    expect((await machineToken(b, client)).status).toBe(401)
  } finally {
    await Promise.all([a.close(), b.close()])
  }
})

test('R05 an issuer with a trailing slash has one spelling: the other spelling is refused as audience and as issuer, and cannot be registered', async () => {
  const service = await startService({ ...LOOPBACK, SERVICE_SERVER_ISSUER_TRAILING_SLASH: 'true' })
  const { config } = service.app
  try {
    const issuer = `${service.issuer}/`
    const { assertion, redeem } = await xaaScene(service)
    const outcome = async (claims: object) => {
      const { status, body } = await redeem(await assertion({ claims: { ...claims } }))
      return status === 200 ? 200 : body['error']
    }
    expect(await outcome({ aud: issuer })).toBe(200)
    for (const claims of [{ aud: service.issuer }, { aud: `${issuer}/` }, { iss: issuer }, { iss: service.issuer }])
      expect(await outcome(claims), JSON.stringify(claims)).toBe('invalid_grant')
    for (const own of [service.issuer, issuer]) {
      const answer = await callAdmin(service, 'POST', '/admin/idps', { issuer: own, jwks_uri: `${issuer}jwks.json` })
      expect([answer.status, answer.body['error_description']]).toEqual([400, 'issuer must not be that of this server'])
    }
    const client = await addClient(service)
    config.server.issuer_trailing_slash = false
    const { access_token } = (await machineToken(service, client)).body
    expect(await isActive(service, client, access_token)).toBe(true)
    config.server.issuer_trailing_slash = true
    expect(await isActive(service, client, access_token)).toBe(false)
  } finally {
    await service.close()
  }
})
