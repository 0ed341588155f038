// ID-JAG for clients with a metadata document that have not been at the authorization endpoint, and the hosts of documents.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { keySetOf, proving } from '../support/assertion.ts'
import { DocumentServer, forgetDocuments, LOCAL_DOCUMENTS } from '../support/documents.ts'
import { type Answer, post } from '../support/flow.ts'
import { idpKey, TestIdp } from '../support/idp.ts'
import { addResource, startService, type TestService } from '../support/service.ts'
import { JWT_BEARER, redeemAssertion, trust, watchReasons } from '../support/xaa.ts'

let service: TestService
let open: TestService
let documents: DocumentServer
let watches: ReturnType<typeof watchReasons>[]
beforeAll(async () => {
  documents = await DocumentServer.start()
  service = await startService({ ...LOCAL_DOCUMENTS, SERVICE_CIMD_BLOCKED_HOSTS: '127.0.0.1' })
  open = await startService({ ...LOCAL_DOCUMENTS, SERVICE_XAA_ALLOW_PUBLIC_CLIENTS: 'true' })
  watches = [watchReasons(service), watchReasons(open)]
})
beforeEach(() => forgetDocuments(service))
afterAll(async () => {
  documents.close()
  await Promise.all([service.close(), open.close()])
})
const refusal = (answer: Answer) => [answer.status, watches.map((reasonOf) => reasonOf(answer)).find(Boolean)]

let count = 0
/** The client of a document that nothing has fetched, and a policy that names it. */
async function managed({
  at = service,
  document = {},
  names = [true],
}: {
  at?: TestService
  document?: Record<string, unknown>
  names?: readonly boolean[]
} = {}) {
  const path = `/${++count}/client.json`
  const key = await idpKey()
  const client_id = documents.publish(path, {
    token_endpoint_auth_method: 'private_key_jwt',
    grant_types: ['authorization_code', JWT_BEARER],
    jwks: keySetOf(key),
    ...document,
  })
  const idp = await TestIdp.start()
  const { uri } = await addResource(at)
  await trust(
    at,
    idp,
    names.map((isNamed) => ({ client_ids: isNamed ? [client_id] : [], scopes: ['mcp:read'] })),
  )
  const assertion = (claims: Record<string, unknown> = {}) =>
    idp.assertion({ aud: at.issuer, client_id, now: at.app.clock.now() }, { claims })
  const proof = () => proving(at, { client_id, key } as unknown as Parameters<typeof proving>[1])
  const redeem = async (text: string, fields: Record<string, string>) =>
    redeemAssertion(at, undefined, text, { client_id, resource: uri, scope: 'mcp:read', ...fields })
  const shown = () =>
    callAdmin<{ registration_source: string }>(at, 'GET', `/admin/clients/${encodeURIComponent(client_id)}`)
  return { client_id, uri, assertion, proof, redeem, shown, fetches: () => documents.count(path) }
}

describe('a document client with keys', () => {
  test('redeems an assertion without having been at authorize before, and is stored then', async () => {
    const client = await managed()
    const answer = await client.redeem(await client.assertion(), await client.proof())
    expect([answer.status, answer.body['scope'], client.fetches()]).toEqual([200, 'mcp:read', 1])
    expect((await client.shown()).body.registration_source).toBe('cimd')
  })

  test('causes no fetch with an assertion that is not valid, or not for it', async () => {
    const client = await managed()
    for (const claims of [{ aud: 'https://other.example.com' }, { client_id: 'other' }, { exp: 1 }])
      expect((await client.redeem(await client.assertion(claims), await client.proof())).body['error']).toBe(
        'invalid_grant',
      )
    expect(client.fetches()).toBe(0)
  })

  test.each([[[]], [[false]]])('causes no fetch if no policy names it (%j)', async (names) => {
    const client = await managed({ names })
    expect(refusal(await client.redeem(await client.assertion(), await client.proof()))).toEqual([403, 'policy_denied'])
    expect(client.fetches()).toBe(0)
  })

  test('whose document does not list the grant is refused, and not stored', async () => {
    const client = await managed({ document: { grant_types: ['authorization_code'] } })
    expect((await client.redeem(await client.assertion(), await client.proof())).body['error']).toBe(
      'unauthorized_client',
    )
    expect((await client.shown()).status).toBe(404)
  })

  test('must prove itself, stored or not', async () => {
    const client = await managed()
    expect((await client.redeem(await client.assertion(), {})).status).toBe(401)
    expect((await client.redeem(await client.assertion(), await client.proof())).status).toBe(200)
    expect((await client.redeem(await client.assertion(), {})).status).toBe(401)
  })
})

describe('a public document client', () => {
  const document = { token_endpoint_auth_method: 'none', jwks: undefined }

  test('is refused by default, and log and explain name the key', async () => {
    const client = await managed({ document })
    const answer = await client.redeem(await client.assertion(), {})
    expect(refusal(answer)).toEqual([401, 'public_client_not_allowed'])
    expect(watches[0]?.lineOf(answer)).toMatchObject({ key: 'xaa.allow_public_clients' })
    const asked = {
      grant: JWT_BEARER,
      client_id: client.client_id,
      user: 'ada',
      resource: client.uri,
      scope: 'mcp:read',
    }
    expect(JSON.stringify(await okAdmin(service, 'POST', '/admin/try/explain', asked))).toContain(
      'xaa.allow_public_clients',
    )
  })

  test('redeems an assertion with xaa.allow_public_clients', async () => {
    const client = await managed({ at: open, document })
    expect((await client.redeem(await client.assertion(), {})).status).toBe(200)
    // At an endpoint that needs a confidential client the parameter of another endpoint changes nothing.
    const { client_id } = client
    const fields = { client_id, grant_type: JWT_BEARER, assertion: 'x', token: 'x' }
    expect(refusal(await post(`${open.issuer}/oauth/introspect`, undefined, fields))).toEqual([401, 'public_client'])
  })
})

test('a document of a blocked host is refused before anything is fetched, also at the token endpoint', async () => {
  const client_id = `http://127.0.0.1:${documents.port}/blocked.json`
  const { connections } = documents
  const answer = await redeemAssertion(service, undefined, 'x', {
    client_id,
    grant_type: 'refresh_token',
    refresh_token: 'x',
  })
  expect(refusal(answer)).toEqual([401, 'client_host_not_allowed'])
  const page = await fetch(
    `${service.issuer}/oauth/authorize?${new URLSearchParams({ client_id, response_type: 'code' })}`,
  )
  expect([page.status, ((await page.json()) as { error: string }).error]).toEqual([400, 'invalid_client'])
  const path = `/admin/clients/${encodeURIComponent(client_id)}/fetch-document`
  expect((await callAdmin<{ error: string }>(service, 'POST', path)).body.error).toBe('invalid_client')
  expect(documents.connections).toBe(connections)
})
