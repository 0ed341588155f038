// Clients that cannot be run here: with their published registration or document and authorization request a user signs in, and the client refreshes and requests more scopes.
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { Browser } from '../support/browser.ts'
import { DocumentServer, LOCAL_DOCUMENTS } from '../support/documents.ts'
import { authorize, redeem, refresh, register } from '../support/flow.ts'
import { addResource, addUser, startService, type TestService } from '../support/service.ts'
import { PUBLISHED } from './published.ts'
import { Results } from './results.ts'

/** Two services: one for clients that send no scope. */
let named: TestService
let scopeless: TestService
let documents: DocumentServer
const resource = 'https://notes.example.com/mcp'
const results = new Results('published', 'its published request')
beforeAll(async () => {
  documents = await DocumentServer.start()
  const env = { ...LOCAL_DOCUMENTS, SERVICE_OAUTH_REFRESH_GRACE: '30s' }
  named = await startService(env)
  scopeless = await startService({ ...env, SERVICE_OAUTH_REQUIRE_SCOPE: 'false' })
  for (const each of [named, scopeless]) await addResource(each, { uri: resource })
})
afterEach(() => {
  vi.restoreAllMocks()
})
afterAll(async () => {
  documents.close()
  for (const each of [named, scopeless]) await each.close()
})

describe.each(PUBLISHED)('$client', (published) => {
  const { client: name, version, registration, redirect_uri, document, scope } = published
  const row = results.row(name, version)
  row.machine = 'not published'
  const isNamed = (scope ?? '') !== ''
  if (!isNamed) row.settings += ', `oauth.require_scope: false`'
  const ways: string[] = []

  /** Signs a user in, refreshes, repeats a refresh and requests more scopes. */
  const journey = async (client: { client_id: string; client_secret?: string }, redirect_uri: string) => {
    const service = isNamed ? named : scopeless
    const [user, browser] = [await addUser(service), new Browser()]
    const signIn = async (fields: Record<string, string | undefined>) =>
      redeem(service, client, await authorize(service, client, user, { redirect_uri, resource, ...fields }, browser), {
        redirect_uri,
      })
    const signedIn = await signIn({ scope })
    expect(signedIn).toMatchObject({ status: 200, body: { scope: 'mcp:read mcp:write' } })
    row.sign_in = 'yes'

    const [first, retry] = [1, 2].map(() => refresh(service, client, signedIn.body['refresh_token']))
    expect([(await first)?.status, (await retry)?.status]).toEqual([200, 200])
    Object.assign(row, { refresh: 'yes', retry: 'yes' })

    // The first challenge names one scope, and a later one the other scope.
    for (const asked of ['mcp:read', 'mcp:read mcp:write'])
      expect((await signIn({ scope: asked })).body['scope']).toBe(asked)
    row.step_up = 'yes'
  }
  const through = (way: string) => {
    ways.push(way)
    row.registration = ways.join(', ')
  }

  if (registration)
    test('the client registers, signs a user in, refreshes, repeats a refresh and requests more scopes', async () => {
      const registered = await register(isNamed ? named : scopeless, { client_name: undefined, ...registration })
      expect(registered.status).toBe(201)
      await journey((await registered.json()) as { client_id: string; client_secret?: string }, redirect_uri)
      through('DCR')
    })

  if (document)
    test('the same with its client metadata document', async () => {
      const { origin, pathname } = new URL(document.client_id)
      documents.serveAs(isNamed ? named : scopeless, origin)
      documents.publish(pathname, { ...document }, {}, origin)
      await journey({ client_id: document.client_id }, published.redirect_of_document ?? redirect_uri)
      through('CIMD')
    })
})

test('results/published.json equals the results of this run', () => results.compare())
