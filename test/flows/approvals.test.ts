// Approvals (CIBA), over HTTP.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { digest } from '../../src/lib/id.ts'
import { CIBA_GRANT, recordExpired } from '../../src/oauth/sign_in/approval.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
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
import { addKeyedClient, proving } from '../support/assertion.ts'
import { Browser } from '../support/browser.ts'
import { signedIn } from '../support/documents.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import { factorPage, nextCode, signInWith, withApp } from '../support/factors.ts'
import { claimsOf, decide, expectRefused, introspect, isActive, refresh, register, signIn } from '../support/flow.ts'
import { TestReceiver } from '../support/receiver.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({
    ...APPROVALS,
    SERVICE_CIBA_ALLOW_HOSTS: '127.0.0.1',
    SERVICE_OAUTH_OPENID: 'true',
    SERVICE_DCR_MODE: 'open',
  })
})
afterAll(() => service.close())

const INTERVAL = 5
const PAYMENT = {
  type: 'payment',
  description: 'A payment',
  display: ['Pay {amount} to {creditor}'],
  schema: { properties: { amount: { type: 'string' }, creditor: { type: 'string' } } },
}
const [ADA, BOB] = ['Ada', 'Bob'].map((creditor) => ({ type: 'payment', amount: '30 EUR', creditor }))
const asParam = (details: unknown) => ({ authorization_details: JSON.stringify(details) })
const scopeOf = ({ body }: { body: Record<string, unknown> }) => body['scope']

describe('a client that polls', () => {
  test('waits, must slow down when it polls too often, and gets its tokens once; a second poll does not end them', async () => {
    const { client, resource, user, browser, begin } = await approvalScene(service)
    const id = await begin()
    expect(id).toMatch(/^ar_[\w-]{64}$/)
    expectRefused(await pollFor(service, client, id), 'authorization_pending')
    expectRefused(await pollFor(service, client, id), 'slow_down')
    service.advance(2 * INTERVAL + 1)
    expectRefused(await pollFor(service, client, id), 'authorization_pending')
    expect((await decideOn(service, browser)).location).toContain('/account/requests?done=allowed')
    const [first, ...others] = (await Promise.all([1, 2, 3].map(() => pollFor(service, client, id)))).toSorted(
      (a, b) => a.status - b.status,
    )
    for (const other of others) expectRefused(other, 'invalid_grant')
    const answer = first as (typeof others)[number]
    expect(claimsOf(answer)).toMatchObject({
      ...{ sub: user.id, client_id: client.client_id, aud: [resource.uri], scope: 'mcp:read mcp:write' },
    })
    expect(await isActive(service, client, answer.body['access_token'])).toBe(true)
    expectRefused(await pollFor(service, client, id), 'invalid_grant')
    expect(await isActive(service, client, answer.body['access_token'])).toBe(true)
    expect((await refresh(service, client, answer.body['refresh_token'])).status).toBe(200)
    expect(await eventsOf(service, 'auth_code_reused')).toEqual([])
  })

  test('learns of a denial, and of the end of a request; both are audited', async () => {
    const { client, user, browser, begin } = await approvalScene(service)
    const [denied, expired] = [await begin(), await begin({ requested_expiry: '10' })]
    await decideOn(service, browser, 'deny')
    expectRefused(await pollFor(service, client, denied), 'access_denied')
    const stale = await inboxOf(service, browser)
    service.advance(10)
    expectRefused(await pollFor(service, client, expired), 'expired_token')
    await recordExpired(service.app)
    await recordExpired(service.app)
    expectRefused(await pollFor(service, client, expired), 'expired_token')
    const [form] = requestsOn(stale)
    const late = await browser.post(`${service.issuer}/account/requests`, [
      ...(form?.fields ?? []),
      ['action', 'allow'],
    ])
    expect([late.status, requestsOn(late)]).toEqual([400, []])
    const about = (kind: string) =>
      eventsOf(service, kind).then((events) => events.filter(({ client_id }) => client_id === client.client_id))
    for (const [kind, count] of [
      ['approval_requested', 2],
      ['approval_denied', 1],
      ['approval_expired', 1],
      ['approval_granted', 0],
    ] as const) {
      const events = await about(kind)
      expect([kind, events.length]).toEqual([kind, count])
      for (const { detail } of events) expect(detail).toMatchObject({ user_id: user.id, scope: 'mcp:read mcp:write' })
    }
  })

  test('is bound to a DPoP key by a proof with the request, or with the poll', async () => {
    const { client, browser, begin } = await approvalScene(service)
    const [key, other] = [await proofKey(), await proofKey()]
    const htu = `${service.issuer}/oauth/bc-authorize`
    const id = await begin({}, await dpop(service, key, { claims: { htu } }))
    await decideOn(service, browser)
    expectRefused(await pollFor(service, client, id), 'invalid_dpop_proof')
    expectRefused(await pollFor(service, client, id, {}, await dpop(service, other)), 'invalid_dpop_proof')
    const answer = await pollFor(service, client, id, {}, await dpop(service, key))
    expect([answer.status, answer.body['token_type']]).toEqual([200, 'DPoP'])
  })

  test('takes an assertion for the issuer, the token endpoint or this one, once', async () => {
    const { resource, user } = await approvalScene(service)
    const client = await addKeyedClient(service, { grant_types: [CIBA_GRANT] })
    const ask = (proof: Record<string, string>) =>
      askPerson(service, undefined, { login_hint: user.id, resource: resource.uri, ...proof })
    for (const path of ['', '/oauth/token', '/oauth/bc-authorize']) {
      const proof = await proving(service, client, { claims: { aud: service.issuer + path } })
      expect((await ask(proof)).status).toBe(200)
      expectRefused(await ask(proof), 'invalid_client', 401)
    }
    const other = await proving(service, client, { claims: { aud: `${service.issuer}/oauth/introspect` } })
    expectRefused(await ask(other), 'invalid_client', 401)
  })
})

describe('a request', () => {
  test('is refused if it cannot end in a token, or is malformed', async () => {
    const { client, resource, user } = await approvalScene(service)
    const valid = { login_hint: user.email, resource: resource.uri }
    const ask = (fields: Record<string, string | undefined>, as = client) =>
      askPerson(service, as, { ...valid, ...fields })
    for (const [fields, error] of [
      [{ scope: 'mcp:unknown' }, 'invalid_scope'],
      [{ resource: 'https://unknown.example.com/mcp' }, 'invalid_target'],
      [asParam([{ type: 'transfer' }]), 'invalid_authorization_details'],
      [{ acr_values: 'urn:example:never' }, 'unmet_authentication_requirements'],
      [{ login_hint: undefined }, 'invalid_request'],
      [{ id_token_hint: 'a.b.c' }, 'invalid_request'],
      [{ login_hint: undefined, id_token_hint: 'a.b.c' }, 'invalid_request'],
      [{ login_hint_token: 'x' }, 'invalid_request'],
      [{ request: 'a.b.c' }, 'request_not_supported'],
      ...['9', '86401', '1e2', '-10', '10.5'].map(
        (requested_expiry) => [{ requested_expiry }, 'invalid_request'] as const,
      ),
    ] as [Record<string, string | undefined>, string][])
      expectRefused(await ask(fields), error)
    expectRefused(await ask({}, await addClient(service)), 'unauthorized_client')
    const [event] = await eventsOf(service, 'ciba_denied')
    expect(event?.detail).toEqual({ reason: 'grant_not_registered' })
    const unproven = { ...valid, client_id: client.client_id }
    expectRefused(await askPerson(service, undefined, unproven), 'invalid_client', 401)
  })

  test('names a person by id or verified email in any form; all count together, and as an unknown one does', async () => {
    const [resource, client] = [await addResource(service), await addAgent(service)]
    const user = await addUser(service, { email: `Ida-${Date.now()}@b\u00fccher.example` })
    const forms = (email: string) => [email, email.toUpperCase(), email.replace('b\u00fccher', 'xn--bcher-kva')]
    const ask = (login_hint: string) => askPerson(service, client, { login_hint, resource: resource.uri })
    for (const hints of [[...forms(user.email ?? ''), user.id], forms('nobody@b\u00fccher.example')]) {
      for (let i = 0; i < 10; i++) expect((await ask(hints[i % hints.length] ?? '')).status).toBe(200)
      for (const hint of hints) {
        const full = await ask(hint)
        expectRefused(full, 'slow_down', 429)
        expect(Number(full.headers.get('retry-after'))).toBeGreaterThan(200)
      }
    }
    expect(requestsOn(await inboxOf(service, await signedIn(service, { email: user.email ?? '' })))).toHaveLength(10)
  })

  test('does not reach a person whose email is not verified, or who is disabled', async () => {
    const { client, resource } = await approvalScene(service)
    const unverified = await addUser(service, { email_verified: false })
    const disabled = await addUser(service, { status: 'disabled' })
    for (const user of [unverified, disabled]) {
      const asked = await askPerson(service, client, { login_hint: user.email ?? '', resource: resource.uri })
      expectRefused(await pollFor(service, client, idIn(asked)), 'authorization_pending')
    }
    await okAdmin(service, 'PATCH', `/admin/users/${disabled.id}/enable`)
    for (const { email = '' } of [unverified, disabled])
      expect(requestsOn(await inboxOf(service, await signedIn(service, { email })))).toEqual([])
    const listed = await okAdmin<{ user_id?: string }[]>(
      service,
      'GET',
      `/admin/approvals?client_id=${client.client_id}`,
    )
    expect(listed.map(({ user_id }) => user_id)).toEqual([undefined, undefined])
  })

  test('takes an ID token of the client as its hint, and returns one for openid', async () => {
    const { client, resource, user, browser, begin } = await approvalScene(service, {
      agent: { scope: 'openid mcp:read' },
    })
    const id = await begin({ scope: 'openid mcp:read' })
    await decideOn(service, browser)
    const { body } = await pollFor(service, client, id)
    const id_token_hint = String(body['id_token'])
    const hinted = { login_hint: undefined, id_token_hint }
    const again = await begin(hinted)
    await decideOn(service, browser)
    expect(claimsOf(await pollFor(service, client, again))['sub']).toBe(user.id)
    const other = await addAgent(service)
    expectRefused(await askPerson(service, other, { ...hinted, resource: resource.uri }), 'invalid_request')
  })

  test('is possible for clients that operators gave the grant, and for no public client', async () => {
    const registered = (await (
      await register(service, { grant_types: ['authorization_code', CIBA_GRANT] })
    ).json()) as {
      grant_types: string[]
    }
    expect(registered.grant_types).toEqual(['authorization_code'])
    const made = { client_name: 'Agent', grant_types: [CIBA_GRANT], redirect_uris: [] }
    const none = await callAdmin(service, 'POST', '/admin/clients', { ...made, token_endpoint_auth_method: 'none' })
    expect([none.status, none.body['error']]).toEqual([400, 'invalid_client_metadata'])
  })
})

describe('the page of the person', () => {
  test('shows each request in words, equal ones under one heading, and the line on other pages leads to it', async () => {
    const { browser, begin, client } = await approvalScene(service, {
      resource: { authorization_details_types: [PAYMENT] },
    })
    const message = 'Invoice <b>7</b>'
    await begin({ binding_message: message, ...asParam([ADA]) })
    await begin({ binding_message: message, ...asParam([ADA]) })
    await begin({ binding_message: 'Another' })
    const page = await inboxOf(service, browser)
    expect(requestsOn(page)).toHaveLength(3)
    expect(page.text.match(/<h2/g)).toHaveLength(2)
    const [form] = requestsOn(page)
    for (const text of [client.client_name, 'Invoice &lt;b&gt;7&lt;/b&gt;', 'Use mcp:read', 'Pay', 'Ada'])
      expect(form?.html).toContain(text)
    const account = await browser.open(`${service.issuer}/account`)
    expect(account.text).toContain('<a href="/account/requests">3 requests wait for your decision</a>')
    const { client_id } = await addClient(service)
    const { uri } = await addResource(service)
    const alone = `${service.issuer}/oauth/authorize?${new URLSearchParams({ client_id, resource: uri, scope: 'mcp:read' })}`
    const consent = await browser.follow(alone)
    const others = [
      ...[consent, await decide(service, browser, consent, 'allow'), await factorPage(service, browser)],
      ...[await browser.open(alone.replace(client_id, 'unknown')), await browser.open(`${service.issuer}/login`)],
      await browser.post(`${service.issuer}/account/password`, {}),
    ]
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 400, 200, 403])
    for (const { text } of others) expect(text).toContain('>3 requests wait for your decision</a>')
    for (const language of ['de', 'es']) {
      const other = await browser.open(`${service.issuer}/account/requests`, {
        headers: { 'accept-language': language },
      })
      expect(other.text).toContain(`lang="${language}"`)
    }
  })

  test('lets the person leave out scopes and elements, and decides nothing if none is left', async () => {
    const { client, browser, begin } = await approvalScene(service, {
      resource: { authorization_details_types: [PAYMENT] },
    })
    const id = await begin(asParam([ADA, BOB]))
    const none = await decideOn(service, browser, 'allow', { keep: ([name]) => !['scopes', 'details'].includes(name) })
    expect(none.status).toBe(400)
    expectRefused(await pollFor(service, client, id), 'authorization_pending')
    await decideOn(service, browser, 'allow', {
      keep: ([name, value]) => value !== 'mcp:write' && !(name === 'details' && value === '0'),
    })
    const answer = await pollFor(service, client, id)
    expect([scopeOf(answer), answer.body['authorization_details']]).toEqual(['mcp:read', [BOB]])
    const next = await refresh(service, client, answer.body['refresh_token'])
    expect([scopeOf(next), next.body['authorization_details']]).toEqual(['mcp:read', [BOB]])
    expect((await introspect(service, client, next.body['access_token']))['authorization_details']).toEqual([BOB])
  })

  test('asks for the sign-in that the request or its resource requires', async () => {
    const { email, browser: plain, app } = await withApp(service)
    const client = await addAgent(service)
    const [open, strict] = [await addResource(service), await addResource(service, { access: { second_factor: true } })]
    const begin = async (resource: { uri: string }, fields = {}) =>
      idIn(await askPerson(service, client, { login_hint: email, resource: resource.uri, ...fields }))
    const ids = [await begin(open, { acr_values: 'mfa' }), await begin(strict)]
    const weak = new Browser()
    weak.cookies.clear()
    expect(plain.cookies.size).toBeGreaterThan(0)
    const strong = (await signInWith(service, email, nextCode(service, app))) as Browser
    for (const id of ids) {
      expect((await decideOn(service, strong)).location).toContain('done=allowed')
      expect(claimsOf(await pollFor(service, client, id))).toMatchObject({ acr: 'mfa' })
    }
  })

  test('does not let a person allow what they may not use, or in a sign-in that is too weak', async () => {
    const restricted = await addResource(service, { access: { mode: 'restricted', groups: ['staff'] } })
    const { client, resource, user, browser } = await approvalScene(service)
    const ask = async (fields: Record<string, string>) =>
      idIn(await askPerson(service, client, { login_hint: user.id, resource: resource.uri, ...fields }))
    const forbidden = await ask({ resource: restricted.uri })
    const weak = await ask({ acr_values: 'mfa' })
    const page = await inboxOf(service, browser)
    expect(page.text).not.toContain('value="allow"')
    for (const { fields } of requestsOn(page)) {
      const end = await browser.post(`${service.issuer}/account/requests`, [...fields, ['action', 'allow']])
      expect(end.location ?? '').not.toContain('done=allowed')
    }
    const again = /href="([^"]*confirm=[^"]*)"/.exec(page.text)?.[1] ?? ''
    expect((await browser.open(new URL(again, service.issuer).href)).location).toContain('/second-factor')
    for (const id of [forbidden, weak]) expectRefused(await pollFor(service, client, id), 'authorization_pending')
  })

  test('is for the person who is asked: another one sees and decides nothing', async () => {
    const { client, browser, begin } = await approvalScene(service)
    const id = await begin({ binding_message: 'PRIVATE' })
    const [form] = requestsOn(await inboxOf(service, browser))
    const thief = await signedIn(service, await addUser(service))
    expect((await inboxOf(service, thief)).text).not.toContain('PRIVATE')
    const taken = await thief.post(`${service.issuer}/account/requests`, [...(form?.fields ?? []), ['action', 'allow']])
    expect(taken.status).toBe(403)
    expectRefused(await pollFor(service, client, id), 'authorization_pending')
    const stranger = new Browser()
    const login = await stranger.follow(`${service.issuer}/account/requests`)
    expect(login.text).not.toContain('PRIVATE')
    const { email } = await addUser(service)
    const { location = '' } = await signIn(service, stranger, login, email ?? '')
    expect(new URL(location).pathname).toBe('/account/requests')
  })
})

describe('a client that is notified', () => {
  test('gets the auth_req_id with its token when the person or an operator has decided, once', async () => {
    const receiver = await TestReceiver.start()
    const { client_id, client_secret } = await okAdmin<{ client_id: string; client_secret: string }>(
      service,
      'POST',
      '/admin/clients',
      {
        ...{ client_name: 'Told', grant_types: [CIBA_GRANT], redirect_uris: [], scope: 'mcp:read' },
        token_endpoint_auth_method: 'client_secret_basic',
        backchannel_token_delivery_mode: 'ping',
        backchannel_client_notification_endpoint: receiver.url,
      },
    )
    const { browser, user, resource } = await approvalScene(service)
    const client = { client_id, client_secret }
    const ask = (client_notification_token: string | undefined) =>
      askPerson(service, client, {
        login_hint: user.id,
        resource: resource.uri,
        scope: 'mcp:read',
        client_notification_token,
      })
    for (const bad of [undefined, '', 'with space', 'a'.repeat(1025)]) expectRefused(await ask(bad), 'invalid_request')
    const ids = [idIn(await ask('first')), idIn(await ask('second')), idIn(await ask('third'))]
    await decideOn(service, browser)
    await decideOn(service, browser, 'deny')
    const [open] = await okAdmin<{ id: string }[]>(
      service,
      'GET',
      `/admin/approvals?status=pending&client_id=${client_id}`,
    )
    await okAdmin(service, 'POST', `/admin/approvals/${open?.id}/deny`)
    const got = (await receiver.arrived(3)).map(({ headers, text }) => [headers.authorization, JSON.parse(text)])
    expect(got.toSorted()).toEqual(
      ['first', 'second', 'third'].map((token, i) => [`Bearer ${token}`, { auth_req_id: ids[i] }]),
    )
    expect((await pollFor(service, client, ids[0])).status).toBe(200)
    const path = `/admin/clients/${client_id}`
    for (const patch of [
      { backchannel_token_delivery_mode: 'push' },
      { backchannel_client_notification_endpoint: null },
      { backchannel_client_notification_endpoint: 'http://client.example.com/cb' },
    ]) {
      const refused = await callAdmin(service, 'PATCH', path, patch)
      expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_client_metadata'])
    }
    const polling = { backchannel_token_delivery_mode: null, backchannel_client_notification_endpoint: null }
    expect(await okAdmin(service, 'PATCH', path, polling)).not.toHaveProperty('backchannel_token_delivery_mode')
  })
})

describe('operators', () => {
  test('see the requests by state, and deny those that are open', async () => {
    const { client, resource, user, browser, begin } = await approvalScene(service, {
      resource: { authorization_details_types: [PAYMENT] },
    })
    const list = (query: string) =>
      okAdmin<Record<string, unknown>[]>(service, 'GET', `/admin/approvals?client_id=${client.client_id}&${query}`)
    const id = await begin({ binding_message: 'W4SCT', ...asParam([ADA]) })
    const [shown] = await list('status=pending')
    expect(shown).toMatchObject({
      ...{ client_id: client.client_id, user_id: user.id, binding_message: 'W4SCT', resource: resource.uri },
      ...{ scope: 'mcp:read mcp:write', authorization_details: [ADA], status: 'pending' },
    })
    expect(JSON.stringify(shown)).not.toContain(id)
    const path = `/admin/approvals/${shown?.['id']}/deny`
    expect(await okAdmin(service, 'POST', path)).toMatchObject({ status: 'denied' })
    expect((await callAdmin(service, 'POST', path)).status).toBe(409)
    expect((await callAdmin(service, 'POST', '/admin/approvals/nothing/deny')).status).toBe(404)
    expectRefused(await pollFor(service, client, id), 'access_denied')
    await begin()
    await decideOn(service, browser)
    await begin({ requested_expiry: '10' })
    service.advance(10)
    for (const status of ['granted', 'denied', 'expired'])
      expect((await list(`status=${status}`)).map((each) => each['status'])).toEqual([status])
  })

  test('end what was allowed with the person, the client, or a revocation', async () => {
    for (const [end, error, status] of [
      [(_: string, user: string) => ['PATCH', `/admin/users/${user}/disable`], 'access_denied', 400],
      [(_: string, user: string) => ['DELETE', `/admin/users/${user}`], 'invalid_grant', 400],
      [(_: string, user_id: string) => ['POST', '/admin/revocations', { user_id }], 'access_denied', 400],
      [(client: string) => ['PATCH', `/admin/clients/${client}/suspend`], 'invalid_client', 401],
    ] as const) {
      const { client, user, browser, begin } = await approvalScene(service)
      const id = await begin()
      await decideOn(service, browser)
      const [method, path, body] = end(client.client_id, user.id)
      await callAdmin(service, String(method), String(path), body as object | undefined)
      expectRefused(await pollFor(service, client, id), error, status)
    }
  })
})

test('nothing of a request can be used from the database: neither the auth_req_id nor the notification token', async () => {
  const { client, user, begin } = await approvalScene(service)
  const id = await begin()
  const [polled] = await service.app.store.listOpenApprovals({
    user_id: user.id,
    now: service.app.clock.now(),
    limit: 10,
  })
  expect(polled?.hash).toBe(digest(id))
  expect(JSON.stringify(polled)).not.toContain(id)
  expect(polled?.client_id).toBe(client.client_id)
})
