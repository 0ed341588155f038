// The official MCP clients, with only the address of an MCP server. The resource metadata leads them to this service, where they
// are registered already, have a document, or register.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { DocumentServer, LOCAL_DOCUMENTS } from '../support/documents.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'
import { comeIn, GENERATIONS, Provider } from './mcp_client.ts'
import { type McpTestServer, startMcpServer } from './mcp_server.ts'

let service: TestService
let server: McpTestServer
let documents: DocumentServer
beforeAll(async () => {
  documents = await DocumentServer.start()
  service = await startService(LOCAL_DOCUMENTS)
  server = await startMcpServer(service)
  await addResource(service, { uri: server.uri })
})
afterAll(async () => {
  documents.close()
  server.close()
  await service.close()
})
// The 2.x client warns about situations that some of these tests provoke.
beforeEach(() => {
  vi.spyOn(console, 'warn').mockReturnValue()
})
afterEach(() => {
  vi.restoreAllMocks()
})

interface Stored {
  client_id: string
  registration_source: string
}
const clients = () => okAdmin<Stored[]>(service, 'GET', '/admin/clients?limit=1000')
const stepsOf = async (client_id: string) => {
  const trails = await okAdmin<{ client_id: string; steps: { step: string }[] }[]>(
    service,
    'GET',
    '/admin/connections?limit=2000',
  )
  return trails.filter((trail) => trail.client_id === client_id).flatMap(({ steps }) => steps.map(({ step }) => step))
}
/** The activity without a client. */
const discovery = () => stepsOf('')

describe.each(GENERATIONS)('$name', (generation) => {
  const origin = `https://${generation.name.split('/').at(-1)}.desk.example`

  /** Is refused, signs a user in, and is accepted; then a token is refreshed without the user. */
  const wholeWay = async (provider: Provider) => {
    const user = await addUser(service)
    const connection = await comeIn(generation, service, server.uri, provider, user)
    expect(await connection.call('whoami')).toBe(`${user.id} may mcp:read`)
    service.advance(901)
    expect(await connection.call('whoami')).toBe(`${user.id} may mcp:read`)
    await connection.close()
    expect(provider.saved.url?.origin).toBe(service.issuer)
    expect(provider.saved.url?.searchParams.get('resource')).toBe(server.uri)
    const client_id = String(provider.clientInformation()?.client_id)
    expect(provider.saved.url?.searchParams.get('client_id')).toBe(client_id)
    expect(await discovery()).toEqual(expect.arrayContaining(['resource_metadata', 'metadata']))
    return client_id
  }

  test('a preregistered client uses its registration', async () => {
    const client = await addClient(service, { token_endpoint_auth_method: 'none' })
    const before = (await clients()).length
    expect(await wholeWay(new Provider(client, service.issuer))).toBe(client.client_id)
    expect(await clients()).toHaveLength(before)
  })

  test('a client with a document uses its URL as client_id, and registers nothing', async () => {
    documents.serveAs(service, origin)
    const provider = new Provider()
    const members = { redirect_uris: [REDIRECT_URI], token_endpoint_auth_method: 'none' }
    provider.clientMetadataUrl = documents.publish('/oauth/client.json', members, {}, origin)
    const before = new Set((await clients()).map(({ client_id }) => client_id))
    expect(await wholeWay(provider)).toBe(`${origin}/oauth/client.json`)
    const added = (await clients()).filter(({ client_id }) => !before.has(client_id))
    expect(added).toMatchObject([{ client_id: `${origin}/oauth/client.json`, registration_source: 'cimd' }])
    expect(await stepsOf(`${origin}/oauth/client.json`)).toEqual(['authorize', 'consent', 'token'])
  })

  test('a client without either registers itself', async () => {
    const client_id = await wholeWay(new Provider())
    const stored = (await clients()).find((each) => each.client_id === client_id)
    expect(stored).toMatchObject({ registration_source: 'dcr' })
    expect((await stepsOf(client_id))[0]).toBe('register')
  })

  test('a client whose registration was deleted registers again', async () => {
    const provider = new Provider()
    const before = await wholeWay(provider)
    await okAdmin(service, 'DELETE', `/admin/clients/${before}?force=true`)
    service.advance(901)
    const user = await addUser(service)
    const connection = await comeIn(generation, service, server.uri, provider, user)
    expect(provider.clientInformation()?.client_id).not.toBe(before)
    expect(await connection.call('whoami')).toBe(`${user.id} may mcp:read`)
    await connection.close()
  })
})
