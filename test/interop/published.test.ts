// Clients that cannot be run here: with their published registration and authorization request a user signs in, and the client refreshes and requests more scopes.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser } from '../support/browser.ts'
import { LOCAL_DOCUMENTS } from '../support/documents.ts'
import { authorize, redeem, refresh, register } from '../support/flow.ts'
import { addResource, addUser, startService, type TestService } from '../support/service.ts'
import { PUBLISHED } from './published.ts'
import { Results } from './results.ts'

let service: TestService
let resource: string
const results = new Results('published', 'its published request')
beforeAll(async () => {
  service = await startService({
    ...LOCAL_DOCUMENTS,
    SERVICE_OAUTH_REFRESH_GRACE: '30s',
    SERVICE_OAUTH_REQUIRE_SCOPE: 'false',
  })
  resource = (await addResource(service)).uri
})
afterAll(() => service.close())

describe.each(PUBLISHED)('$client', ({ client: name, version, registration, redirect_uri, scope }) => {
  const row = results.row(name, version)
  row.machine = 'not published'

  test('the client registers, signs a user in, refreshes, repeats a refresh and requests more scopes', async () => {
    const registered = await register(service, { client_name: undefined, ...registration })
    expect(registered.status).toBe(201)
    const client = (await registered.json()) as { client_id: string; client_secret?: string }
    row.registration = 'DCR'

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
  })
})

test('results/published.json equals the results of this run', () => results.compare())
