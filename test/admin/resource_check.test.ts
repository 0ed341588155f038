// `service admin resource check`: what the server of a resource publishes, compared with what is registered.
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callAdmin } from '../support/admin.ts'
import { envOf, okHere, runHere } from '../support/cli.ts'
import { addResource, startService, type TestService } from '../support/service.ts'

let service: TestService
let server: Server
let answer: RequestListener
let asked: string | undefined
let uri: string
let slug: string
beforeAll(async () => {
  service = await startService({
    SERVICE_CIMD_REQUIRE_HTTPS: 'false',
    SERVICE_CIMD_ALLOW_PRIVATE_ADDRESSES: 'true',
  })
  server = createServer((request, response) => {
    asked = request.url
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  ;({ slug } = await addResource(service, { uri }))
})
afterAll(async () => {
  server.close()
  await service.close()
})

interface Checked {
  url: string
  problems: { message: string; fix: string }[]
}
const publish = (document: object, status = 200) => {
  answer = (_, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document))
}
const check = async (name = slug, at = service) =>
  (await callAdmin<Checked>(at, 'GET', `/admin/resources/${name}/check`)).body

test('metadata that names this server and the resource has no problems', async () => {
  publish({ resource: uri, authorization_servers: ['https://other.example', service.issuer] })
  expect(await check()).toEqual({ url: uri.replace('/mcp', '/.well-known/oauth-protected-resource/mcp'), problems: [] })
  expect(asked).toBe('/.well-known/oauth-protected-resource/mcp')
})

test('an issuer that differs by a trailing slash is reported with the setting for either side', async () => {
  const slashed = {
    message: `names \`${service.issuer}/\`, this issuer is \`${service.issuer}\`: one slash more`,
    fix: `publish ${service.issuer} there, or set server.issuer_trailing_slash: true here`,
  }
  publish({ resource: uri, authorization_servers: [`${service.issuer}/`] })
  expect((await check()).problems).toEqual([slashed])
  const command = ['admin', 'resource', 'check', '--slug', slug]
  expect(await okHere(command, envOf(service))).toContain('one slash more')
  const { stdout } = await runHere(['doctor', '--json'], envOf(service))
  const said = (JSON.parse(stdout) as { check: string; message: string; fix?: string }[]).find(
    (finding) => finding.check === `resource ${slug}`,
  )
  expect(said).toMatchObject({ result: 'warn', message: expect.stringContaining(slashed.message), fix: slashed.fix })
})

test('with server.issuer_trailing_slash, resource metadata without the slash is reported', async () => {
  const other = await startService({
    SERVICE_SERVER_ISSUER_TRAILING_SLASH: 'true',
    SERVICE_CIMD_ALLOW_PRIVATE_ADDRESSES: 'true',
  })
  try {
    publish({ resource: uri, authorization_servers: [other.issuer] })
    await addResource(other, { uri, slug })
    expect((await check(slug, other)).problems).toEqual([
      {
        message: `names \`${other.issuer}\`, this issuer is \`${other.issuer}/\`: one slash less`,
        fix: `publish ${other.issuer}/ there, or set server.issuer_trailing_slash: false here`,
      },
    ])
  } finally {
    await other.close()
  }
})

test('metadata of another server, metadata of another resource, and missing metadata are each reported with a remedy', async () => {
  publish({ resource: `${uri}/`, authorization_servers: ['https://other.example'] })
  const { problems } = await check()
  expect(problems.map(({ message }) => message)).toEqual([
    'does not name this server',
    `names the resource "${uri}/", registered is "${uri}"`,
  ])
  publish({}, 404)
  expect((await check()).problems).toMatchObject([{ message: 'answers 404 without metadata' }])
  answer = (_, response) => response.destroy()
  expect((await check()).problems).toMatchObject([{ message: expect.stringMatching(/^cannot be fetched: /) }])
})

test('an address that the guarded client refuses is reported as private', async () => {
  const guarded = await startService()
  try {
    await addResource(guarded, { uri, slug })
    asked = undefined
    expect((await check(slug, guarded)).problems).toMatchObject([
      { message: 'cannot be fetched: blocked_address', fix: expect.stringContaining('service doctor') },
    ])
    expect(asked).toBeUndefined()
  } finally {
    await guarded.close()
  }
})
