// Attacks on approvals (CIBA): people who are worn out, messages that deceive, requests in other hands, notifications to private addresses.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CIBA_GRANT } from '../../src/oauth/sign_in/approval.ts'
import { callAdmin } from '../support/admin.ts'
import {
  APPROVALS,
  addAgent,
  approvalScene,
  askPerson,
  decideOn,
  idIn,
  inboxOf,
  pollFor,
  requestsOn,
} from '../support/approvals.ts'
import { signedIn } from '../support/documents.ts'
import { claimsOf, expectRefused } from '../support/flow.ts'
import { TestReceiver } from '../support/receiver.ts'
import { addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService(APPROVALS)
})
afterAll(() => service.close())

const FOREIGN = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }

describe('a person', () => {
  test('Z01: is not worn out: ten requests of a client are open at most, and five denials end them for an hour', async () => {
    const { client, user, browser, begin, resource } = await approvalScene(service)
    const hinted = { login_hint: user.id, resource: resource.uri }
    const asked = await Promise.all(Array.from({ length: 20 }, () => askPerson(service, client, hinted)))
    expect(asked.filter(({ status }) => status === 200)).toHaveLength(10)
    for (let i = 0; i < 5; i++) await decideOn(service, browser, 'deny')
    const after = await askPerson(service, client, hinted)
    expectRefused(after, 'slow_down', 429)
    expect(Number(after.headers.get('retry-after'))).toBeGreaterThan(3500)
    expect((await askPerson(service, await addAgent(service), hinted)).status).toBe(200)
    service.advance(3601)
    expect(await begin()).toBeTruthy()
  })

  test('Z02: reads no message with characters that hide, turn or cover text', async () => {
    const { client, user, resource, begin, browser } = await approvalScene(service)
    const ask = (binding_message: string) =>
      askPerson(service, client, { login_hint: user.id, resource: resource.uri, binding_message })
    for (const text of [
      ...[
        'a\nb',
        'a\u0007',
        '\u001b[31m',
        'pay 1\u202e0001',
        '\u2066a\u2069',
        'a\u200bb',
        'a\u00adb',
        '\u2028',
        '\ufeff',
      ],
      ...['   ', '\u2800', '\u3164', '\u00a0', 'e'.repeat(129), `a${'\u0301'.repeat(5)}`],
    ])
      expectRefused(await ask(text), 'invalid_binding_message')
    await begin({ binding_message: '"><script>alert(1)</script>' })
    const page = await inboxOf(service, browser)
    expect(page.text).not.toContain('<script>alert')
    expect(page.text).toContain('<bdi>&quot;&gt;&lt;script&gt;')
  })

  test('Z03: decides about the request that the form shows, and about nothing else', async () => {
    const { client, browser, begin } = await approvalScene(service)
    const [first, second] = [await begin({ binding_message: 'FIRST' }), await begin({ binding_message: 'SECOND' })]
    const [one, two] = requestsOn(await inboxOf(service, browser)).map(({ fields }) => Object.fromEntries(fields))
    const url = `${service.issuer}/account/requests`
    const mixed = await browser.post(url, { ...one, request_id: two?.['request_id'] ?? '', action: 'allow' })
    expect(mixed.status).toBe(403)
    for (const [name, value] of Object.entries({ scopes: 'mcp:read admin', details: '__proto__' }))
      expect((await browser.post(url, { ...one, action: 'allow', [name]: value })).status).toBe(400)
    for (const id of [first, second]) expectRefused(await pollFor(service, client, id), 'authorization_pending')
    await decideOn(service, browser, 'allow', { about: 'SECOND' })
    service.advance(11)
    expect((await pollFor(service, client, second)).status).toBe(200)
    expectRefused(await pollFor(service, client, first), 'authorization_pending')
  })

  test('Z04: is the only one who decides: not another person, another site, or a session that has ended', async () => {
    const { client, user, browser, begin } = await approvalScene(service)
    const id = await begin()
    const [form] = requestsOn(await inboxOf(service, browser))
    const answer: [string, string][] = [...(form?.fields ?? []), ['action', 'allow']]
    const url = `${service.issuer}/account/requests`
    const thief = await signedIn(service, await addUser(service))
    expect((await thief.post(url, answer)).status).toBe(403)
    expect((await browser.post(url, answer, FOREIGN)).status).toBe(403)
    const bare = answer.filter(([name]) => name !== 'csrf_token')
    expect((await browser.post(url, bare)).status).toBe(403)
    await service.app.store.signOutUser({ id: user.id, now: service.app.clock.now() })
    expect((await browser.post(url, answer)).location).toContain('/login')
    expectRefused(await pollFor(service, client, id), 'authorization_pending')
  })
})

describe('an auth_req_id', () => {
  test('Z05: is worth nothing to another client, as another kind of code, or in part', async () => {
    const { client, browser, begin } = await approvalScene(service)
    const id = await begin()
    await decideOn(service, browser)
    expectRefused(await pollFor(service, await addAgent(service), id), 'invalid_grant')
    for (const wrong of [
      `${id.slice(0, -1)}${id.endsWith('A') ? 'B' : 'A'}`,
      id.slice(3),
      id.replace('ar_', 'dc_'),
      'x',
    ])
      expectRefused(await pollFor(service, client, wrong), 'invalid_grant')
    expectRefused(await pollFor(service, undefined, id, { client_id: client.client_id }), 'invalid_client', 401)
    expect(claimsOf(await pollFor(service, client, id))['client_id']).toBe(client.client_id)
  })

  test('Z06: is polled for in a flood without a token, and each early poll makes the client wait longer', async () => {
    const { client, browser, begin } = await approvalScene(service)
    const id = await begin()
    const polls = await Promise.all(Array.from({ length: 20 }, () => pollFor(service, client, id)))
    expect(polls.filter(({ body }) => body['error'] === 'authorization_pending')).toHaveLength(1)
    expect(polls.filter(({ body }) => body['error'] === 'slow_down')).toHaveLength(19)
    service.advance(5 + 18 * 5)
    expectRefused(await pollFor(service, client, id), 'slow_down')
    await decideOn(service, browser)
    expect((await pollFor(service, client, id)).status).toBe(200)
  })
})

test('Z07: a notification goes to no private address, by number, name or redirect', async () => {
  const receiver = await TestReceiver.start()
  const { port } = new URL(receiver.url)
  const made = (backchannel_client_notification_endpoint: string) =>
    callAdmin(service, 'POST', '/admin/clients', {
      ...{ client_name: 'Trap', grant_types: [CIBA_GRANT], redirect_uris: [] },
      ...{ token_endpoint_auth_method: 'client_secret_basic', backchannel_token_delivery_mode: 'ping' },
      backchannel_client_notification_endpoint,
    })
  for (const host of ['127.0.0.1', '[::1]', '169.254.169.254', 'localhost', '10.0.0.1'])
    for (const scheme of ['http', 'https'])
      expect((await made(`${scheme}://${host}:${port}/cb`)).body['error']).toBe('invalid_client_metadata')
  // A client whose endpoint was accepted under another configuration.
  const { user, browser, resource } = await approvalScene(service)
  const told = {
    backchannel_token_delivery_mode: 'ping',
    backchannel_client_notification_endpoint: receiver.url,
  } as const
  const client = await addAgent(service, {}, told)
  const fields = { login_hint: user.id, resource: resource.uri, client_notification_token: 'secret' }
  const id = idIn(await askPerson(service, client, fields))
  await decideOn(service, browser)
  await Promise.all(service.app.pings)
  expect(receiver.connections).toBe(0)
  expect((await pollFor(service, client, id)).status).toBe(200)
})
