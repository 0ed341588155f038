// Attacks on the device authorization grant: guessed and phished user codes, races, and device codes in other hands.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { DEVICE_CODE_GRANT } from '../../src/oauth/sign_in/device.ts'
import { eventsOf } from '../support/admin.ts'
import { fieldsOf } from '../support/browser.ts'
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
import { DocumentServer, forgetDocuments, LOCAL_DOCUMENTS, signedIn } from '../support/documents.ts'
import { decide, expectRefused, post, refresh, register } from '../support/flow.ts'
import { type Pair, startPair } from '../support/pair.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ ...DEVICES, ...LOCAL_DOCUMENTS })
})
afterAll(() => service.close())

describe('user codes', () => {
  test('U40: guesses of one session are refused after ten unknown codes, and leave a trail', async () => {
    const own = await startService(DEVICES)
    const { browser, user } = await deviceScene(own)
    const statuses: number[] = []
    for (let i = 0; i < 12; i++) statuses.push((await enterCode(own, browser, `BCDFGHJ${'BCDFGHJKLMNP'[i]}`)).status)
    expect(statuses).toEqual([...Array<number>(10).fill(422), 429, 429])
    const again = await signedIn(own, await addUser(own))
    expect((await enterCode(own, again, 'BCDFGHJK')).headers.get('retry-after')).toMatch(/^\d+$/)
    const events = await eventsOf(own, 'user_code_rejected')
    expect(events.map(({ actor_id }) => actor_id)).toEqual(Array<string>(10).fill(user.id))
    await own.close()
  })

  test('U41: of an approval, another approval and a denial at the same time one decision holds, and the device gets that', async () => {
    const { client, user, browser, begin } = await deviceScene(service)
    for (let round = 0; round < 5; round++) {
      const codes = await begin()
      const page = await consentPageOf(service, browser, codes.user_code)
      const pages = await Promise.all(
        (['allow', 'deny', 'allow'] as const).map((action) => decide(service, browser, page, action)),
      )
      // Every answer shows the decision that holds, whatever its own was.
      expect(pages.map(({ status }) => status)).toEqual([200, 200, 200])
      const shown = new Set(pages.map(({ text }) => text.includes('The device has no access')))
      expect(shown.size).toBe(1)
      const isDenied = shown.has(true)
      const answer = await poll(service, client, codes)
      expect([answer.status, answer.body['error']]).toEqual(isDenied ? [400, 'access_denied'] : [200, undefined])
    }
    expect(user.id).toBeTruthy()
  })

  test('U42: the consent page of a user whose code another user has entered since decides nothing', async () => {
    const { client, browser, begin } = await deviceScene(service)
    const other = await signedIn(service, await addUser(service))
    const codes = await begin()
    const mine = await consentPageOf(service, browser, codes.user_code)
    const theirs = await consentPageOf(service, other, codes.user_code)
    expect((await decide(service, browser, mine, 'allow')).status).toBe(403)
    expect((await decide(service, browser, theirs, 'allow')).status).toBe(403)
    expectRefused(await poll(service, client, codes), 'authorization_pending')
    expect((await decide(service, other, theirs, 'deny')).status).toBe(200)
    expectRefused(await poll(service, client, codes), 'access_denied')
  })

  test('U43: the database has neither code in clear', async () => {
    const { begin } = await deviceScene(service)
    const { device_code, user_code } = await begin()
    const [id = ''] = [Buffer.from(device_code.slice(3), 'base64url').subarray(0, 16).toString('base64url')]
    const stored = JSON.stringify(await service.app.store.findPolledRequest({ id }))
    for (const secret of [device_code, device_code.slice(30), user_code, user_code.replace('-', '')])
      expect(stored).not.toContain(secret)
  })
})

describe('device codes', () => {
  test('U44: a device code of another client, and an altered one, get nothing and use nothing up', async () => {
    const { client, browser, begin } = await deviceScene(service)
    const codes = await begin()
    await decideFor(service, browser, codes)
    expectRefused(await poll(service, await addDeviceClient(service), codes), 'invalid_grant')
    const altered = codes.device_code.slice(0, -1) + (codes.device_code.endsWith('A') ? 'B' : 'A')
    for (const device_code of [altered, codes.device_code.replace('dc_', 'ac_'), 'x', ''])
      expect((await poll(service, client, { device_code })).status).toBe(400)
    expect((await poll(service, client, codes)).status).toBe(200)
  })

  test('U45: a device code is no authorization code, whatever verifier is sent with it', async () => {
    const { client, resource, browser } = await deviceScene(service)
    const both = await addDeviceClient(service, {
      grant_types: [DEVICE_CODE_GRANT, 'authorization_code'],
      redirect_uris: [REDIRECT_URI],
    })
    const codes = codesOf(await askForCode(service, both, { resource: resource.uri }))
    await decideFor(service, browser, codes)
    for (const code of [codes.device_code, codes.device_code.replace('dc_', 'ac_')]) {
      const form = { grant_type: 'authorization_code', code, code_verifier: 'v'.repeat(43), redirect_uri: '' }
      expectRefused(await post(`${service.issuer}/oauth/token`, both, form), 'invalid_grant')
    }
    expect((await poll(service, both, codes)).status).toBe(200)
    expect(client.client_id).not.toBe(both.client_id)
  })

  test('U46: of many uses of an approved code at the same time at most one gets tokens', async () => {
    const { client, browser, begin } = await deviceScene(service)
    const codes = await begin()
    await decideFor(service, browser, codes)
    const answers = await Promise.all(Array.from({ length: 8 }, () => poll(service, client, codes)))
    const issued = answers.filter(({ status }) => status === 200)
    expect(issued.length).toBe(1)
    expectRefused(await refresh(service, client, issued[0]?.body['refresh_token']), 'invalid_grant')
  })
})

describe('phishing', () => {
  test('U47: a link with a code decides nothing, and the page names the client, the address and the danger', async () => {
    const { client, browser, begin } = await deviceScene(service)
    const codes = await begin()
    const page = await browser.open(`${service.issuer}/device?user_code=${codes.user_code}`)
    expect(page.text).toContain('Never enter a code from an email, a message or a phone call')
    const consent = await consentPageOf(service, browser, codes.user_code)
    for (const shown of [client.client_name, '127.0.0.1', 'If you received the code from another person'])
      expect(consent.text).toContain(shown)
    expectRefused(await poll(service, client, codes), 'authorization_pending')
  })

  test('U48: forms of other sites, and forms without the token of the session, enter no code and decide nothing', async () => {
    const { client, browser, begin } = await deviceScene(service)
    const codes = await begin()
    const evil = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    const url = `${service.issuer}/device`
    const fields = { ...Object.fromEntries(fieldsOf(await browser.open(url))), user_code: codes.user_code }
    expect((await browser.post(url, fields, evil)).status).toBe(403)
    expect((await browser.post(url, { user_code: codes.user_code })).status).toBe(403)
    const consent = Object.fromEntries(fieldsOf(await consentPageOf(service, browser, codes.user_code)))
    const decision = { ...consent, action: 'allow' }
    expect((await browser.post(`${service.issuer}/consent`, decision, evil)).status).toBe(403)
    expect((await browser.post(`${service.issuer}/consent`, { ...decision, csrf_token: 'x' })).status).toBe(403)
    expectRefused(await poll(service, client, codes), 'authorization_pending')
    expect((await browser.open(url)).headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  })

  test('U49: where registration needs an approved redirect URI, no client gives itself the device grant', async () => {
    const documents = await DocumentServer.start()
    const strict = await startService({
      ...DEVICES,
      ...LOCAL_DOCUMENTS,
      SERVICE_DCR_MODE: 'approved_redirects',
      SERVICE_DCR_APPROVED_REDIRECTS: REDIRECT_URI,
    })
    const both = [DEVICE_CODE_GRANT, 'authorization_code']
    const only = { client_name: 'Box', grant_types: [DEVICE_CODE_GRANT], redirect_uris: [] }
    expect((await register(strict, only)).status).toBe(400)
    const registered = await (await register(strict, { grant_types: both })).json()
    expect(registered).toMatchObject({ grant_types: ['authorization_code'] })
    const client_id = documents.publish('/oauth/client.json', { redirect_uris: [REDIRECT_URI], grant_types: both })
    await forgetDocuments(strict)
    const { resource } = await deviceScene(strict)
    expectRefused(await askForCode(strict, { client_id }, { resource: resource.uri }), 'unauthorized_client')
    documents.close()
    await strict.close()
  })
})

describe('device codes that anonymous callers request', () => {
  test('U70: a device request has no copy of the client document, which is read again for the user who enters the code', async () => {
    const documents = await DocumentServer.start()
    const { resource, browser } = await deviceScene(service)
    const uris = Array.from({ length: 4 }, (_, i) => `https://app.example/${'p'.repeat(1500)}/${i}`)
    const grant_types = [DEVICE_CODE_GRANT, 'authorization_code']
    const client_id = documents.publish('/tv/client.json', { redirect_uris: uris, grant_types })
    const created = vi.spyOn(service.app.store, 'createPolledRequest')
    const codes = codesOf(await askForCode(service, { client_id }, { resource: resource.uri }))
    expect(JSON.stringify(created.mock.calls[0]?.[0]).length).toBeLessThan(1500)
    documents.publish('/tv/client.json', { redirect_uris: uris, grant_types }, { status: 503 })
    await forgetDocuments(service)
    const refused = await enterCode(service, browser, codes.user_code)
    expect([refused.status, refused.text.includes('<h1>')]).toEqual([400, true])
    documents.publish('/tv/client.json', { redirect_uris: uris, grant_types })
    await forgetDocuments(service)
    await decideFor(service, browser, codes)
    expect((await poll(service, { client_id }, codes)).status).toBe(200)
    documents.close()
  })

  test('U71: an address gets thirty codes at once for clients that do not authenticate; others are not affected', async () => {
    const own = await startService({
      ...DEVICES,
      SERVICE_RATE_LIMIT_ENABLED: 'true',
      SERVICE_SERVER_TRUSTED_PROXIES: '127.0.0.1,::1',
    })
    const { client, resource } = await deviceScene(own)
    const ask = (from: string, by: Parameters<typeof askForCode>[1] = client) =>
      askForCode(own, by, { resource: resource.uri }, { 'x-forwarded-for': from })
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask('192.0.2.1')))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(0)
    expect(refused.length).toBeLessThanOrEqual(10)
    expect(refused[0]?.body['error']).toBe('slow_down')
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await ask('192.0.2.2')).status).toBe(200)
    const confidential = await addDeviceClient(own, { token_endpoint_auth_method: 'client_secret_basic' })
    expect((await ask('192.0.2.1', confidential)).status).toBe(200)
    await own.close()
  })
})

describe('two instances on one PostgreSQL', () => {
  let server: PostgresServer
  let pair: Pair
  beforeAll(async () => {
    server = await startPostgres()
    pair = await startPair(await server.migrated(), DEVICES)
  })
  afterAll(async () => {
    await pair.close()
    await server.close()
  })

  test('U50: early polls at another instance are slow_down too', async () => {
    const { a, b } = pair
    const { client, begin } = await deviceScene(a)
    const codes = await begin()
    expectRefused(await poll(a, client, codes), 'authorization_pending')
    expectRefused(await poll(b, client, codes), 'slow_down')
    for (const each of [a, b]) each.advance(6)
    expectRefused(await poll(b, client, codes), 'slow_down')
    for (const each of [a, b]) each.advance(15)
    expectRefused(await poll(a, client, codes), 'authorization_pending')
  })

  test('U51: a code that is approved at one instance is redeemed once over both', async () => {
    const { a, b } = pair
    const { client, browser, begin } = await deviceScene(a)
    const codes = await begin()
    await decideFor(a, browser, codes)
    const answers = await Promise.all([a, b, a, b].map((each) => poll(each, client, codes)))
    expect(answers.filter(({ status }) => status === 200).length).toBe(1)
  })

  test('U52: guesses at one instance count at the other', async () => {
    const { a, b } = pair
    const { user } = await deviceScene(a)
    const [here, there] = [await signedIn(a, user), await signedIn(b, user)]
    for (let i = 0; i < 10; i++) expect((await enterCode(a, here, `BCDFGHJ${'BCDFGHJKLM'[i]}`)).status).toBe(422)
    expect((await enterCode(b, there, 'BCDFGHJZ')).status).toBe(429)
  })
})
