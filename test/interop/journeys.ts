// The same steps for every MCP client: sign-in, refresh, a repeated refresh token, more scopes, machine access. The results are in
// rights, without a user. Each outcome is added to the results that docs/reference/clients.md shows.
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { DocumentServer, LOCAL_DOCUMENTS } from '../support/documents.ts'
import { type Recorded, startRecorded } from '../support/recorder.ts'
import { addClient, addResource, REDIRECT_URI } from '../support/service.ts'
import { type McpClient, takeAlong } from './journey.ts'
import { type McpTestServer, startMcpServer } from './mcp_server.ts'
import { Results } from './results.ts'

/** Tests for every client of a list, and for their recorded results. */
export function testJourneys(language: string, clients: readonly McpClient[]): void {
  let service: Recorded
  let documents: DocumentServer
  let server: McpTestServer
  /** Its challenge names no scope, so clients take the scopes of its metadata. */
  let silent: McpTestServer
  const results = new Results(language)
  beforeAll(async () => {
    documents = await DocumentServer.start()
    service = await startRecorded({ ...LOCAL_DOCUMENTS, SERVICE_OAUTH_REFRESH_GRACE: '30s' })
    server = await startMcpServer(service, { metadata: 'own' })
    silent = await startMcpServer(service, { metadata: 'own', challenge: false })
    for (const { uri } of [server, silent]) await addResource(service, { uri })
    // A second resource: clients that request every scope of the service request its scopes too.
    await addResource(service, { scopes: ['files:read'] })
  })
  afterAll(async () => {
    documents.close()
    server.close()
    silent.close()
    await service.close()
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  describe.each(clients)('$name $version', ({ toolchain, args = [], ...client }) => {
    const missing = 'missing' in toolchain
    const row = results.row(client.name, client.version)
    const journey = (steps: string[], more: object = {}) =>
      takeAlong(service, server, { toolchain, args, ...client }, { steps, ...more })
    const READ = 'Ada may mcp:read'

    test.skipIf(missing)('the client registers, signs a user in, and refreshes without the user', async () => {
      const { texts, codes, refreshes } = await journey(['whoami', 'expire', 'whoami'])
      expect(texts).toEqual([READ, READ])
      expect({ codes, refreshes }).toEqual({ codes: 1, refreshes: 1 })
      row.registration = 'DCR'
      row.sign_in = 'yes'
      row.refresh = 'yes'
    })

    if (!client.withoutDocument)
      test.skipIf(missing)('the client signs a user in with its client document', async () => {
        const origin = `https://${client.name.replaceAll(/\W/g, '').toLowerCase()}.${language}.example`
        documents.serveAs(service, origin)
        const redirect_uris = [client.redirect_uri ?? REDIRECT_URI]
        const members = { redirect_uris, token_endpoint_auth_method: 'none' }
        const document = documents.publish('/client.json', members, {}, origin)
        const { texts, opened } = await journey(['whoami'], { document })
        expect(texts).toEqual([READ])
        expect(opened.map((url) => url.searchParams.get('client_id'))).toEqual([document])
        row.registration = 'DCR, CIMD'
      })

    test.skipIf(missing)('two processes with one refresh token both continue', async () => {
      const { texts, codes, refreshes } = await journey(['whoami', 'expire', 'twins', 'expire', 'whoami'])
      expect(texts).toEqual([READ, READ, READ, READ])
      expect(codes).toBe(1)
      expect(refreshes).toBeGreaterThanOrEqual(2)
      row.retry = 'yes'
    })

    if (client.withoutStepUp) row.step_up = client.withoutStepUp
    else
      test.skipIf(missing)('the client requests the additional scope that a tool needs', async () => {
        const { dropsScope } = client
        const grant_types = dropsScope?.grant_types
        const { texts, opened } = await journey(['whoami', 'save', 'whoami'], { grant_types })
        const after = dropsScope ? 'Ada may mcp:write' : 'Ada may mcp:read mcp:write'
        expect(texts).toEqual([READ, after, after])
        expect(opened).toHaveLength(2)
        row.step_up = dropsScope?.cell ?? 'yes'
      })

    if (client.withoutMachine) row.machine = 'has none'
    else
      test.skipIf(missing)(
        'the client gets in as a machine that may request fewer scopes than the resource offers',
        async () => {
          const { client_id, client_secret } = await addClient(service, { scope: 'mcp:read' })
          if (client.defaultResource)
            await okAdmin(service, 'PATCH', `/admin/clients/${client_id}`, { default_resource: silent.uri })
          const task = { steps: ['whoami'], machine: true, client_id, client_secret }
          const { texts } = await takeAlong(service, silent, { toolchain, args, ...client }, task)
          expect(texts).toEqual([`${client_id} may mcp:read`])
          row.machine = client.defaultResource ? 'with `default_resource`' : 'yes'
        },
      )
  })

  const whole = clients.every(({ toolchain }) => 'command' in toolchain)
  test.skipIf(!whole)(`results/${language}.json equals the results of this run`, () => results.compare())
}
