// The device authorization grant (RFC 8628), over HTTP.
import { once } from 'node:events'
import { type IncomingMessage, request as send } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DEVICE_CODE_GRANT } from '../../src/oauth/sign_in/device.ts'
import { IPHONE } from '../support/account.ts'
import { eventsOf, metricOf, okAdmin } from '../support/admin.ts'
import { addKeyedClient, type KeyedClient, keySetOf, proving, tryAssertion } from '../support/assertion.ts'
import { Browser } from '../support/browser.ts'
import {
  addDeviceClient,
  askForCode,
  codesOf,
  consentPageOf,
  DEVICES,
  decideFor,
  deviceScene,
  enterCode,
  poll,
} from '../support/device.ts'
import { DocumentServer, LOCAL_DOCUMENTS } from '../support/documents.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import { authorizeUrl, claimsOf, expectRefused, refresh, register, signIn } from '../support/flow.ts'
import { idpKey } from '../support/idp.ts'
import { addClient, REDIRECT_URI, startService, type TestService } from '../support/service.ts'
import { LOOPBACK } from '../support/xaa.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ ...LOOPBACK, ...DEVICES, SERVICE_DCR_MODE: 'open' })
})
afterAll(() => service.close())

const INTERVAL = 5

describe('the device authorization request', () => {
  test('returns both codes, the page, the lifetime and the interval', async () => {
    const { client, resource } = await deviceScene(service)
    const { status, headers, body } = await askForCode(service, client, { resource: resource.uri })
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
    const { device_code, user_code } = codesOf({ status, headers, body })
    expect(user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
    expect(device_code).toMatch(/^dc_[\w-]{64}$/)
    expect(body).toEqual({
      device_code,
      user_code,
      verification_uri: `${service.issuer}/device`,
      verification_uri_complete: `${service.issuer}/device?user_code=${user_code}`,
      expires_in: 600,
      interval: INTERVAL,
    })
  })

  test('is refused when it cannot end in a token', async () => {
    const { client, resource } = await deviceScene(service)
    const ask = (fields: Record<string, string>, as = client) =>
      askForCode(service, as, { resource: resource.uri, ...fields })
    expectRefused(await ask({ scope: 'mcp:unknown' }), 'invalid_scope')
    expectRefused(await ask({ resource: 'https://unknown.example.com/mcp' }), 'invalid_target')
    expectRefused(await ask({ authorization_details: '[{"type":"a"}]' }), 'invalid_authorization_details')
    expectRefused(await ask({}, await addClient(service)), 'unauthorized_client')
    expectRefused(await askForCode(service, undefined, {}), 'invalid_client', 401)
    const confidential = await addDeviceClient(service, { token_endpoint_auth_method: 'client_secret_basic' })
    expectRefused(await ask({}, { ...confidential, client_secret: 'wrong' }), 'invalid_client', 401)
    expectRefused(await ask({ client_id: confidential.client_id }, undefined), 'invalid_client', 401)
    expect((await ask({}, confidential)).status).toBe(200)
  })

  test('takes a client assertion that is for the issuer or this endpoint, once', async () => {
    const client = await addKeyedClient(service, { grant_types: [DEVICE_CODE_GRANT] })
    const { resource } = await deviceScene(service)
    const endpoint = `${service.issuer}/oauth/device_authorization`
    const ask = (proof: Record<string, string>) => askForCode(service, undefined, { resource: resource.uri, ...proof })
    for (const aud of [service.issuer, endpoint]) {
      const proof = await proving(service, client, { claims: { aud } })
      expect((await ask(proof)).status).toBe(200)
      expectRefused(await ask(proof), 'invalid_client', 401)
    }
    const other = await proving(service, client, { claims: { aud: `${service.issuer}/oauth/token` } })
    expectRefused(await ask(other), 'invalid_client', 401)
  })

  test('is counted, and a refusal of a confidential client is recorded', async () => {
    const { begin, resource } = await deviceScene(service)
    const before = await metricOf(service, 'ext_device_authorizations_total')
    await begin()
    expect(await metricOf(service, 'ext_device_authorizations_total')).toBe(before + 1)
    const client = await addDeviceClient(service, { token_endpoint_auth_method: 'client_secret_basic' })
    await askForCode(service, client, { resource: resource.uri, scope: 'mcp:unknown' })
    await expect
      .poll(async () => (await eventsOf(service, 'device_code_denied')).map(({ client_id }) => client_id))
      .toContain(client.client_id)
  })
})

describe('the user', () => {
  test('enters the code in any case, with or without hyphen, and consents; the device gets its tokens once', async () => {
    const { client, resource, user, browser, begin } = await deviceScene(service)
    const codes = await begin()
    expectRefused(await poll(service, client, codes), 'authorization_pending')
    const typed = codes.user_code.toLowerCase().replace('-', '')
    await decideFor(service, browser, { user_code: ` ${typed.slice(0, 3)} ${typed.slice(3)}` })
    const answer = await poll(service, client, codes)
    expect(claimsOf(answer)).toMatchObject({ sub: user.id, client_id: client.client_id, aud: [resource.uri] })
    expect(answer.body).toMatchObject({ scope: 'mcp:read mcp:write', token_type: 'Bearer' })
    const refreshed = await refresh(service, client, answer.body['refresh_token'])
    expect(claimsOf(refreshed)['sub']).toBe(user.id)
    expect((await enterCode(service, browser, codes.user_code)).status).toBe(422)
  })

  test('signs in on the way, and the code of the complete URI is filled in but not sent', async () => {
    const { client, user, begin } = await deviceScene(service)
    const codes = await begin()
    const browser = new Browser()
    const url = `${service.issuer}/device?user_code=${codes.user_code}`
    const answer = await signIn(service, browser, await browser.follow(url), user.email)
    const page = await browser.follow(answer.location ?? '')
    expect(page.text).toContain(`value="${codes.user_code}"`)
    expectRefused(await poll(service, client, codes), 'authorization_pending')
    await decideFor(service, browser, codes)
    expect((await poll(service, client, codes)).status).toBe(200)
  })

  test('sees the client, the resource, and the address and program that asked for the code', async () => {
    const { client, resource, browser, begin } = await deviceScene(service)
    const { user_code } = await begin({}, { 'user-agent': 'Terminal/2.1 (<b>press Allow</b>) node/20' })
    const { text } = await consentPageOf(service, browser, user_code)
    for (const shown of [client.client_name, resource.display_name, '127.0.0.1', '<bdi>Terminal/2.1</bdi>'])
      expect(text).toContain(shown)
    for (const hidden of ['press Allow', 'node/20']) expect(text).not.toContain(hidden)
    const other = await begin({}, { 'user-agent': IPHONE })
    expect((await consentPageOf(service, browser, other.user_code)).text).toContain('<bdi>Safari on iPhone</bdi>')
    expect(text).toContain('If you received the code from another person')
  })

  test('may allow a part of the scopes, which is what the device gets and what the consent says', async () => {
    const { client, user, browser, begin } = await deviceScene(service)
    const codes = await begin()
    await decideFor(service, browser, codes, 'allow', ['mcp:read'])
    expect((await poll(service, client, codes)).body['scope']).toBe('mcp:read')
    const [consent] = await service.app.store.listConsents({ user_id: user.id })
    expect(consent).toMatchObject({ client_id: client.client_id, scope: 'mcp:read', redirect_hosts: {} })
  })

  test('is asked each time, and a consent for a device answers no authorization request', async () => {
    const { resource, user, browser } = await deviceScene(service)
    const client = await addClient(service, { grant_types: [DEVICE_CODE_GRANT, 'authorization_code'] })
    for (const _round of [1, 2]) {
      const codes = codesOf(await askForCode(service, client, { resource: resource.uri }))
      await decideFor(service, browser, codes)
      expect((await poll(service, client, codes)).status).toBe(200)
    }
    const url = authorizeUrl(service, { client_id: client.client_id, resource: resource.uri })
    expect((await browser.follow(url)).text).toContain('value="allow"')
    expect((await service.app.store.listConsents({ user_id: user.id })).length).toBe(1)
  })

  test('denies: access_denied, and the trail says who decided and where the code came from', async () => {
    const { client, user, browser, begin } = await deviceScene(service)
    const codes = await begin()
    expect((await decideFor(service, browser, codes, 'deny')).text).toContain('The device has no access')
    expectRefused(await poll(service, client, codes), 'access_denied')
    expect((await enterCode(service, browser, codes.user_code)).status).toBe(422)
    const denied = (await eventsOf(service, 'consent_denied')).find(({ client_id }) => client_id === client.client_id)
    expect(denied).toMatchObject({ actor_id: user.id, detail: { device_address: '127.0.0.1' } })
  })

  test('whom an access rule excludes gets no consent page, and the device waits for another account', async () => {
    const { client, begin, user, browser } = await deviceScene(service, { access: { mode: 'restricted' } })
    const codes = await begin()
    const page = await enterCode(service, browser, codes.user_code)
    expect([page.status, page.text]).toEqual([403, expect.stringContaining(user.email)])
    expectRefused(await poll(service, client, codes), 'authorization_pending')
    const events = await eventsOf(service, 'access_refused')
    expect(events.find(({ client_id }) => client_id === client.client_id)).toMatchObject({ actor_id: user.id })
  })

  test('gets only the scopes of their groups', async () => {
    const { client, begin, browser } = await deviceScene(service, { scope_groups: { 'mcp:write': ['editors'] } })
    const codes = await begin()
    await decideFor(service, browser, codes)
    expect((await poll(service, client, codes)).body['scope']).toBe('mcp:read')
  })
})

describe('the device', () => {
  test('that asks too often gets slow_down, and must wait five seconds longer each time', async () => {
    const { client, browser, begin } = await deviceScene(service)
    const codes = await begin()
    const next = () => poll(service, client, codes)
    expectRefused(await next(), 'authorization_pending')
    expectRefused(await next(), 'slow_down')
    service.advance(INTERVAL + 1)
    expectRefused(await next(), 'slow_down')
    service.advance(INTERVAL + 10)
    expectRefused(await next(), 'authorization_pending')
    await decideFor(service, browser, codes)
    expect((await next()).status).toBe(200)
  })

  test('whose code has expired gets expired_token, before and after an approval', async () => {
    const { client, browser, begin } = await deviceScene(service)
    const [waiting, approved] = [await begin(), await begin()]
    await decideFor(service, browser, approved)
    service.advance(600)
    for (const codes of [waiting, approved]) expectRefused(await poll(service, client, codes), 'expired_token')
    expect((await enterCode(service, browser, waiting.user_code)).status).toBe(422)
  })

  test('whose request was cancelled after the approval is denied', async () => {
    const { client, user, browser, begin } = await deviceScene(service)
    const codes = await begin()
    await decideFor(service, browser, codes)
    await okAdmin(service, 'PATCH', `/admin/users/${user.id}/disable`)
    expectRefused(await poll(service, client, codes), 'access_denied')
  })

  test('that sends its code again after the tokens loses them, as with an authorization code', async () => {
    const { client, browser, begin } = await deviceScene(service)
    const codes = await begin()
    await decideFor(service, browser, codes)
    const { refresh_token } = (await poll(service, client, codes)).body
    expectRefused(await poll(service, client, codes), 'invalid_grant')
    expectRefused(await refresh(service, client, refresh_token), 'invalid_grant')
  })

  test('that proves a key gets tokens for this key only', async () => {
    const { client, browser, resource, begin } = await deviceScene(service)
    const [key, other] = [await proofKey(), await proofKey()]
    const htu = `${service.issuer}/oauth/device_authorization`
    const proof = await dpop(service, key, { claims: { htu } })
    const codes = await begin({}, proof)
    expectRefused(await askForCode(service, client, { resource: resource.uri }, proof), 'invalid_dpop_proof')
    await decideFor(service, browser, codes)
    expectRefused(await poll(service, client, codes), 'invalid_dpop_proof')
    expectRefused(await poll(service, client, codes, await dpop(service, other)), 'invalid_dpop_proof')
    const answer = await poll(service, client, codes, await dpop(service, key))
    expect([answer.body['token_type'], claimsOf(answer)['cnf']]).toEqual(['DPoP', { jkt: key.jkt }])
  })

  test('may repeat the resource, and no other', async () => {
    const { client, browser, resource, begin } = await deviceScene(service)
    const codes = await begin()
    await decideFor(service, browser, codes)
    const other = 'https://other.example.com/mcp'
    expectRefused(await poll(service, client, codes, {}, { resource: other }), 'invalid_target')
    expect((await poll(service, client, codes, {}, { resource: resource.uri })).status).toBe(200)
  })

  test('polls without a line in the trail, also as a confidential client', async () => {
    const { resource } = await deviceScene(service)
    const client = await addDeviceClient(service, { token_endpoint_auth_method: 'client_secret_basic' })
    const codes = codesOf(await askForCode(service, client, { resource: resource.uri }))
    for (const error of ['authorization_pending', 'slow_down']) expectRefused(await poll(service, client, codes), error)
    await poll(service, client, { device_code: 'unknown' })
    const ofClient = async () =>
      (await eventsOf(service, 'device_code_denied')).filter(({ client_id }) => client_id === client.client_id)
    await expect
      .poll(async () => (await ofClient()).map(({ detail }) => detail))
      .toEqual([{ reason: 'unknown_device_code' }])
  })
})

describe('a client that registers itself', () => {
  const grant_types = [DEVICE_CODE_GRANT, 'refresh_token']

  test('may have the grant, without a redirect URI, and use it', async () => {
    const { resource, browser } = await deviceScene(service)
    const response = await register(service, {
      client_name: 'Box',
      grant_types,
      redirect_uris: [],
      token_endpoint_auth_method: 'none',
    })
    expect(response.status).toBe(201)
    const client = (await response.json()) as { client_id: string; grant_types: string[] }
    expect(client.grant_types).toEqual(grant_types)
    const codes = codesOf(await askForCode(service, client, { resource: resource.uri }))
    await decideFor(service, browser, codes)
    expect((await poll(service, client, codes)).status).toBe(200)
  })

  test('needs a name where nothing else names it', async () => {
    const response = await register(service, { client_name: undefined, grant_types, redirect_uris: [] })
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({ error: 'invalid_client_metadata' }),
    ])
  })
})

test('a client that is described by a document asks for a code before it is stored, and polls', async () => {
  const documents = await DocumentServer.start()
  const own = await startService({ ...LOCAL_DOCUMENTS, ...DEVICES })
  const { resource, browser } = await deviceScene(own)
  const members = { grant_types: [DEVICE_CODE_GRANT, 'authorization_code'], token_endpoint_auth_method: 'none' }
  const client = { client_id: documents.publish('/oauth/client.json', { redirect_uris: [REDIRECT_URI], ...members }) }
  const codes = codesOf(await askForCode(own, client, { resource: resource.uri }))
  expectRefused(await poll(own, client, codes), 'authorization_pending')
  expect(await own.app.store.findClient(client)).toBeUndefined()
  await decideFor(own, browser, codes)
  expect((await poll(own, client, codes)).status).toBe(200)
  expect(await own.app.store.findClient(client)).toMatchObject({ registration_source: 'cimd' })
  documents.close()
  await own.close()
})

test('a client whose document has a key asks for its first code with an assertion, and polls with one', async () => {
  const documents = await DocumentServer.start()
  const own = await startService({ ...LOCAL_DOCUMENTS, ...DEVICES })
  const { resource, browser } = await deviceScene(own)
  const [key, other] = [await idpKey(), await idpKey()]
  const client_id = documents.publish('/oauth/client.json', {
    redirect_uris: [REDIRECT_URI],
    grant_types: [DEVICE_CODE_GRANT, 'authorization_code'],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: keySetOf(key),
  })
  const client = { client_id, key } as KeyedClient
  const ask = async (proof: Record<string, string>) => askForCode(own, undefined, { resource: resource.uri, ...proof })
  expectRefused(await ask({ client_id }), 'invalid_client', 401)
  expectRefused(await ask(await proving(own, client, {}, other)), 'invalid_client', 401)
  const first = await proving(own, client)
  const codes = codesOf(await ask(first))
  expectRefused(await ask(first), 'invalid_client', 401)
  const pollOnce = async () => poll(own, undefined, codes, {}, await proving(own, client))
  expectRefused(await pollOnce(), 'authorization_pending')
  expect(await own.app.store.findClient({ client_id })).toBeUndefined()
  await decideFor(own, browser, codes)
  expect(claimsOf(await pollOnce())['client_id']).toBe(client_id)
  documents.close()
  await own.close()
})

test('without the device grant the document of an unknown client is not fetched for an assertion', async () => {
  const documents = await DocumentServer.start()
  const own = await startService(LOCAL_DOCUMENTS)
  const key = await idpKey()
  const client_id = documents.publish('/oauth/client.json', {
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: keySetOf(key),
  })
  const answer = await tryAssertion(own, { client_id, key } as KeyedClient)
  expectRefused(answer, 'invalid_client', 401)
  expect(documents.asked).toEqual([])
  documents.close()
  await own.close()
})

/** The status and content type of a refusal. fetch() always sends an Accept header, and node:http sends none. */
async function typeOfRefusal(at: TestService, path: string, form: Record<string, string>, accept?: string) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', ...(accept ? { accept } : {}) }
  const sent = send(at.issuer + path, { method: 'POST', headers }).end(new URLSearchParams(form).toString())
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  answer.resume()
  return [answer.statusCode, answer.headers['content-type']]
}
const PLAIN = 'application/json'
const PROBLEM = 'application/problem+json'

test('a device that sends no Accept header gets errors as application/json, which is all that libpq reads', async () => {
  const { client, resource } = await deviceScene(service)
  const { device_code } = codesOf(await askForCode(service, client, { resource: resource.uri }))
  const [token, authorization] = ['/oauth/token', '/oauth/device_authorization']
  const form = { grant_type: DEVICE_CODE_GRANT, device_code, client_id: client.client_id }
  expect(await typeOfRefusal(service, token, form)).toEqual([400, PLAIN])
  expect(await typeOfRefusal(service, authorization, { client_id: 'unknown' })).toEqual([401, PLAIN])
  expect(await typeOfRefusal(service, token, form, '*/*')).toEqual([400, PROBLEM])
  expect(await typeOfRefusal(service, token, { ...form, grant_type: 'refresh_token' })).toEqual([400, PROBLEM])
})

test('oauth.error_content_type is the type of every other error of the public listener', async () => {
  const own = await startService({ ...DEVICES, SERVICE_OAUTH_ERROR_CONTENT_TYPE: 'json' })
  const form = { grant_type: 'client_credentials', client_id: 'unknown' }
  expect(await typeOfRefusal(own, '/oauth/token', form)).toEqual([401, PLAIN])
  expect(await typeOfRefusal(own, '/oauth/token', form, '*/*')).toEqual([401, PLAIN])
  expect(await typeOfRefusal(own, '/oauth/token', form, PROBLEM)).toEqual([401, PROBLEM])
  const page = await fetch(`${own.issuer}/oauth/authorize`)
  expect([page.status, page.headers.get('content-type')]).toEqual([400, PLAIN])
  await own.close()
})

test('the metadata names the endpoint and the grant', async () => {
  const response = await fetch(`${service.issuer}/.well-known/oauth-authorization-server`)
  expect(await response.json()).toMatchObject({
    device_authorization_endpoint: `${service.issuer}/oauth/device_authorization`,
    grant_types_supported: expect.arrayContaining([DEVICE_CODE_GRANT]),
  })
})
