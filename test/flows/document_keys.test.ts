// Clients that are a document and prove themselves with a key: inline, published, and together with none.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { type KeyedClient, keySetOf, proving, tryAssertion } from '../support/assertion.ts'
import type { Browser } from '../support/browser.ts'
import { ask, DocumentServer, forgetDocuments, LOCAL_DOCUMENTS, refusalIn, signedIn } from '../support/documents.ts'
import { authorize, claimsOf, expectRefused, redeem, refresh } from '../support/flow.ts'
import { idpKey, TestIdp } from '../support/idp.ts'
import { addResource, addUser, startService, type TestService } from '../support/service.ts'
import { watchReasons } from '../support/xaa.ts'

let service: TestService
let documents: DocumentServer
let user: Awaited<ReturnType<typeof addUser>>
let resource: string
let browser: Browser
let reasonOf: ReturnType<typeof watchReasons>
beforeAll(async () => {
  documents = await DocumentServer.start()
  service = await startService(LOCAL_DOCUMENTS)
  reasonOf = watchReasons(service)
  user = await addUser(service)
  resource = (await addResource(service)).uri
  browser = await signedIn(service, user)
})
afterAll(async () => {
  documents.close()
  await service.close()
})
beforeEach(() => forgetDocuments(service))

const KEYED = { token_endpoint_auth_method: 'private_key_jwt' }
let made = 0
const publish = (members: Record<string, unknown>, path = `/keyed-${++made}/client.json`) =>
  documents.publish(path, { ...KEYED, ...members })
const keyedClient = async (members: Record<string, unknown>, key: KeyedClient['key']) =>
  ({ client_id: publish(members), key }) as KeyedClient
const code = (client: { client_id: string }) => authorize(service, client, user, { resource }, browser)

test('a client with a key document authenticates with an assertion at the code and at every refresh', async () => {
  const peer = await TestIdp.start()
  for (const keys of [{ jwks: keySetOf(peer.key) }, { jwks_uri: peer.jwks_uri }]) {
    const client = await keyedClient(keys, peer.key)
    const walked = await code(client)
    const bare = await redeem(service, client, walked)
    expectRefused(bare, 'invalid_client', 401)
    expect(reasonOf(bare)).toBe('missing_assertion')
    const { client_id } = client
    const tokens = await redeem(service, client, walked, await proving(service, client))
    expect(claimsOf(tokens)).toMatchObject({ client_id })
    expectRefused(await refresh(service, client, tokens.body['refresh_token']), 'invalid_client', 401)
    claimsOf(await refresh(service, client, tokens.body['refresh_token'], await proving(service, client)))
    expect(await okAdmin(service, 'GET', `/admin/clients/${encodeURIComponent(client_id)}`)).toMatchObject(keys)
  }
})

test.each<[string, Record<string, unknown>, RegExp]>([
  ['no keys', {}, /jwks or jwks_uri is required for private_key_jwt/],
  ['two sources of keys', { jwks: { keys: [] }, jwks_uri: 'https://a.example/' }, /jwks.keys must not be empty/],
  ['a symmetric key', { jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } }, /jwks.keys\[0\] is a symmetric key/],
  ['a key set that is a text', { jwks: 'keys' }, /jwks must be a JWK set/],
  ['methods that are not offered', { token_endpoint_auth_methods_supported: ['tls_client_auth'] }, /must be none or/],
])('S13 a document with private_key_jwt and %s is refused, and says why', async (_what, members, why) => {
  const page = await ask(service, browser, { client_id: publish(members), resource })
  expect(refusalIn(page)).toMatch(/^400 invalid_client: the client document is not valid/)
  expect(refusalIn(page)).toMatch(why)
})

test('S18 a document with the methods none and private_key_jwt may use either, and a wrong assertion does not count as none', async () => {
  const key = await idpKey()
  const both = {
    jwks: keySetOf(key),
    token_endpoint_auth_methods_supported: ['tls_client_auth', 'private_key_jwt', 'none'],
  }
  const client = await keyedClient(both, key)
  claimsOf(await redeem(service, client, await code(client)))
  claimsOf(await redeem(service, client, await code(client), await proving(service, client)))
  const walked = await code(client)
  const wrong = await proving(service, client, {}, await idpKey())
  expectRefused(await redeem(service, client, walked, wrong), 'invalid_client', 401)
  const shown = await okAdmin(service, 'GET', `/admin/clients/${encodeURIComponent(client.client_id)}`)
  expect(shown).toMatchObject({
    token_endpoint_auth_method: 'none',
    token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
  })
  // An operator can still change what does not come from the document.
  const path = `/admin/clients/${encodeURIComponent(client.client_id)}`
  await okAdmin(service, 'PATCH', path, { client_name: 'Known here' })
})

test('a document that lists methods that need keys, without keys, has only the other methods', async () => {
  const client = { client_id: publish({ token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'] }) }
  claimsOf(await redeem(service, client, await code(client)))
})

test('S17 the keys of a document client follow its document, and operators cannot set them', async () => {
  const [first, next] = [await idpKey(), await idpKey()]
  const path = `/keyed-${++made}/client.json`
  const client = { client_id: publish({ jwks: keySetOf(first) }, path), key: first } as KeyedClient
  const tokens = await redeem(service, client, await code(client), await proving(service, client))
  publish({ jwks: keySetOf(next) }, path)
  // The copy of the document is still fresh: the new key is not known, and the old one is.
  expect(reasonOf(await tryAssertion(service, client, {}, next))).toBe('assertion_unknown_key')
  service.advance(3601)
  const proof = await proving(service, client, {}, next)
  claimsOf(await refresh(service, client, tokens.body['refresh_token'], proof))
  expect(reasonOf(await tryAssertion(service, client))).toBe('assertion_unknown_key')
  const at = `/admin/clients/${encodeURIComponent(client.client_id)}`
  const answer = await fetch(`${service.admin}${at}`, {
    method: 'PATCH',
    headers: { authorization: 'Bearer test-admin-key-0123456789', 'content-type': 'application/json' },
    body: JSON.stringify({ jwks: keySetOf(first) }),
  })
  expect(answer.status).toBe(400)
})
