// Vending: token exchange into broker resources, at a whole service with a provider that rotates its refresh tokens.
import { generateKeyPairSync } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, importSPKI, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { aMember, brokerScene, startBroker, vended } from '../support/broker.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import { ACCESS_TOKEN, actorOf, exchange } from '../support/exchange.ts'
import { expectRefused, machineToken, post } from '../support/flow.ts'
import { addResource, type TestService } from '../support/service.ts'
import { pemOf, serviceAccountScene } from '../support/service_account.ts'

const keys = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
}

let service: TestService
beforeAll(async () => {
  service = await startBroker({
    CONNECTOR_SA_KEY: pemOf(keys.rsa),
    CONNECTOR_EC_KEY: pemOf(keys.ec),
    SERVICE_SECRET_EMPTY: '',
  })
})
afterAll(() => service.close())

const issuedFor = async (user_id: string) => {
  const { issuances } = await okAdmin<{ issuances: Record<string, unknown>[] }>(
    service,
    'GET',
    `/admin/issuances?user_id=${user_id}`,
  )
  return issuances
}

describe('an exchange into a broker resource', () => {
  test('an exchange returns the bearer token of the provider with our scope names, and no refresh token', async () => {
    const { vend, connect, upstream } = await brokerScene(service)
    await connect()
    const answer = await vend()
    // The remaining part of the hour that the provider stated.
    const expires_in = Number(answer.body['expires_in'])
    expect(expires_in > 3540 && expires_in <= 3600).toBe(true)
    expect(answer.body).toEqual({
      access_token: vended(answer, upstream),
      issued_token_type: ACCESS_TOKEN,
      token_type: 'Bearer',
      expires_in,
      scope: 'files:read',
    })
    expect([answer.headers.get('cache-control'), answer.headers.get('pragma')]).toEqual(['no-store', 'no-cache'])
  })

  test('an exchange may name the resource by its slug, without a uri', async () => {
    const { vend, connect, upstream, resource } = await brokerScene(service, { resource: { uri: undefined } })
    await connect()
    vended(await vend({ resource: resource.slug }), upstream)
  })

  test('an exchange records the provider; the token is not ours and cannot be revoked here', async () => {
    const { vend, connect, upstream, resource, provider, member, gateway } = await brokerScene(service)
    await connect()
    const key = await proofKey()
    const headers = await dpop(service, key)
    const fields = { subject_token: member.subject, resource: resource.uri, scope: 'files:read' }
    const answer = await exchange(service, gateway, fields, headers)
    const token = vended(answer, upstream)
    expect(answer.body['token_type']).toBe('Bearer')
    const [issuance] = await issuedFor(member.user.id)
    expect(issuance).toMatchObject({
      sub: member.user.id,
      client_id: gateway.client_id,
      resource: resource.uri,
      scope: 'files:read',
      token_type: 'Bearer',
      backend_kind: 'broker',
      broker_provider_slug: provider.slug,
      revocable: false,
      jkt: key.jkt,
      parent_jti: decodeJwt(String(member.subject)).jti,
    })
    const shown = await okAdmin(service, 'GET', `/admin/issuances/${issuance?.['id']}`)
    expect(shown).not.toHaveProperty('claims')
    expect(JSON.stringify(shown)).not.toContain(token)
    expect((await callAdmin(service, 'DELETE', `/admin/issuances/${issuance?.['id']}`)).status).toBe(409)
    const [event] = await eventsOf(service, 'upstream_token_issued')
    expect(event?.detail).toMatchObject({ provider: provider.slug, scope: 'files:read' })
    await vend()
    expect((await eventsOf(service, 'token_issued')).some(({ detail }) => detail['resource'] === resource.uri)).toBe(
      false,
    )
  })

  test('returned tokens are counted by provider', async () => {
    const { vend, connect, provider } = await brokerScene(service)
    await connect()
    await vend()
    const { text } = await service.app.metrics.render()
    expect(text).toContain(`core_upstream_token_issued_total{provider="${provider.slug}"} 1`)
    expect(text).toContain(`core_connection_connect_total{provider="${provider.slug}"} 1`)
    expect(text).toContain(`core_upstream_token_issuance_duration_seconds_count{provider="${provider.slug}"} 1`)
  })

  test('without a scope the exchange returns the scopes that the subject token and the resource have in common', async () => {
    const { vend, connect, upstream, app } = await brokerScene(service)
    const narrow = await aMember(service, app, 'files:read')
    await connect(narrow)
    const answer = await vend({ scope: undefined }, narrow)
    vended(answer, upstream)
    expect(answer.body['scope']).toBe('files:read')
    expect(upstream.refreshed.at(-1)?.form['scope']).toBe('up.read')
  })

  test.each([
    ['a scope that the resource does not declare', { scope: 'files:unknown' }, 'invalid_scope', 400],
    ['a scope beyond the subject token', { scope: 'files:write' }, 'invalid_scope', 400],
    ['a subject token that is none', { subject_token: 'nonsense' }, 'invalid_grant', 400],
    ['a resource that is none', { resource: 'https://nowhere.example.com' }, 'invalid_target', 400],
  ] as const)('refuses %s, and asks the provider nothing', async (_what, fields, error, status) => {
    const { vend, connect, upstream, app } = await brokerScene(service)
    const narrow = await aMember(service, app, 'files:read')
    await connect(narrow)
    const asked = upstream.asked.length
    expectRefused(await vend(fields, narrow), error, status)
    expect(upstream.asked.length).toBe(asked)
  })

  test('an actor token is refused', async () => {
    const { vend, connect, gateway } = await brokerScene(service)
    await connect()
    await service.app.store.updateClient({ ...gateway, scope: 'mcp:read files:read', updated_at: 0 })
    expectRefused(await vend(await actorOf(service, gateway)), 'invalid_request')
  })

  test('a machine token is refused, because it has no user with a connection', async () => {
    const { vend, connect, gateway } = await brokerScene(service)
    await connect()
    const own = await machineToken(service, gateway, { scope: 'files:read' })
    expectRefused(await vend({ subject_token: own.body['access_token'] }), 'access_denied', 403)
  })

  test('a token for a resource without a link is refused, with an error that names both resources', async () => {
    const { vend, connect, member, app, own, resource } = await brokerScene(service)
    await connect()
    const { body } = await member.signIn(app, own, 'files:read')
    const answer = await vend({ subject_token: body['access_token'] })
    expectRefused(answer, 'invalid_request')
    expect(answer.body['error_description']).toBe(`no fronting link leads from ${own.slug} to ${resource.slug}`)
  })

  test('a revoked subject token is refused, also when the provider token is cached', async () => {
    const { vend, connect, member, app } = await brokerScene(service)
    await connect()
    await vend()
    await post(`${service.issuer}/oauth/revoke`, app, { token: String(member.subject) })
    expectRefused(await vend(), 'invalid_grant')
  })
})

describe('allowed clients', () => {
  test('only the clients that the resource lists are allowed', async () => {
    const { vend, connect, member, server, app, upstream } = await brokerScene(service)
    await connect()
    vended(await vend(), upstream)
    for (const client of [server, app]) expectRefused(await vend({}, member, client), 'access_denied', 403)
  })

  const attested = { resource: { policy: {} } }
  test('without a list, the server of a mint resource is allowed within the consent of the user to that resource', async () => {
    const { vend, connect, member, server, app, own, upstream } = await brokerScene(service, attested)
    await connect()
    const asServer = (fields = {}) => vend(fields, member, server)
    const missing = await asServer()
    expectRefused(missing, 'consent_required', 400, { cause: 'consent_missing' })
    const url = new URL(String(missing.body['consent_url']))
    expect([url.pathname, url.searchParams.get('resource')]).toEqual(['/oauth/authorize', own.uri])
    await member.consent(app, own, 'files:read')
    vended(await asServer(), upstream)
    expectRefused(await asServer({ scope: 'files:write' }), 'consent_required', 400, { cause: 'scope_insufficient' })
    const rest = await asServer({ scope: undefined })
    vended(rest, upstream)
    expect(rest.body['scope']).toBe('files:read')
  })

  test('without a list, a client that serves no resource is refused, also the client of the token itself', async () => {
    const { vend, connect, member, gateway, app } = await brokerScene(service, attested)
    await connect()
    for (const client of [gateway, app]) expectRefused(await vend({}, member, client), 'access_denied', 403)
  })

  test('without a list, a client that serves two resources is refused, because the applicable consent is ambiguous', async () => {
    const { vend, connect, member, server, app, own } = await brokerScene(service, attested)
    const runtime = { client_ids: [server.client_id] }
    await addResource(service, { policy: { runtime } })
    await connect()
    await member.consent(app, own, 'files:read')
    expectRefused(await vend({}, member, server), 'access_denied', 403)
  })

  test('revoking the consent at the server of the resource ends the exchange', async () => {
    const { vend, connect, member, server, app, own, upstream } = await brokerScene(service, attested)
    await connect()
    await member.consent(app, own, 'files:read')
    vended(await vend({}, member, server), upstream)
    const { client_id } = app
    const consent = await service.app.store.findConsent({ user_id: member.user.id, client_id, resource_id: own.id })
    await okAdmin(service, 'DELETE', `/admin/grants/consent/${consent?.id}`)
    expectRefused(await vend({}, member, server), 'consent_required')
  })
})

describe('users without a connection', () => {
  test('a user without a connection gets consent_required, also when another user is connected', async () => {
    const { vend, connect, app, provider, resource } = await brokerScene(service)
    await connect()
    const other = await aMember(service, app)
    const answer = await vend({}, other)
    const query = new URLSearchParams({ resource: resource.slug, return_url: `${service.issuer}/connections` })
    expectRefused(answer, 'consent_required', 400, {
      cause: 'consent_missing',
      error_description: `Authorize access to ${resource.slug}`,
      consent_url: `${service.issuer}/connect/${provider.slug}?${query}`,
    })
  })

  test('a user must connect again for scopes that the provider did not grant, without a request to the provider', async () => {
    const { vend, connect, upstream } = await brokerScene(service)
    upstream.granted = 'up.read'
    await connect()
    vended(await vend(), upstream)
    const asked = upstream.asked.length
    expectRefused(await vend({ scope: 'files:write' }), 'consent_required', 400, { cause: 'scope_insufficient' })
    expect(upstream.asked.length).toBe(asked)
  })

  test('after an operator ended the connection the user must connect again, which reuses its row', async () => {
    const { vend, connect, upstream, grant, member } = await brokerScene(service)
    await connect()
    const before = await grant()
    await okAdmin(service, 'DELETE', `/admin/grants/broker/${before?.id}`)
    await okAdmin(service, 'DELETE', `/admin/grants/broker/${before?.id}`)
    expectRefused(await vend(), 'consent_required')
    expect((await service.app.store.listBrokerGrants({ user_id: member.user.id }))[0]?.credential).toBeUndefined()
    await connect()
    vended(await vend(), upstream)
    const after = await grant()
    expect([after?.id, Number(after?.version) > Number(before?.version)]).toEqual([before?.id, true])
    const { broker_grants } = await okAdmin<{ broker_grants: object[] }>(
      service,
      'GET',
      `/admin/users/${member.user.id}/grants`,
    )
    expect(broker_grants).toMatchObject([{ id: before?.id, scopes_granted: ['up.read', 'up.write'] }])
    expect(JSON.stringify(broker_grants)).not.toMatch(/credential|aes1/)
  })

  test('without encryption at rest exchanges are refused', async () => {
    const { vend, connect } = await brokerScene(service)
    await connect()
    const { app } = service
    Object.assign(app, { atRest: undefined, kept: app.atRest })
    const answer = await vend()
    Object.assign(app, { atRest: (app as unknown as { kept: typeof app.atRest }).kept })
    expectRefused(answer, 'temporarily_unavailable', 503)
    expect(answer.body['error_description']).toContain('data_encryption.driver')
  })
})

describe('upstream tokens', () => {
  test('a token is returned again until shortly before its expiry, then a new one is requested', async () => {
    const { vend, connect, upstream } = await brokerScene(service)
    await connect()
    const first = vended(await vend(), upstream)
    // The clock also advances by itself: half a minute on both sides of the margin of 60 s.
    service.advance(3600 - 90)
    const again = await vend()
    expect(vended(again, upstream)).toBe(first)
    expect(again.body['expires_in']).toBeOneOf([90, 89, 88, 87, 86, 85])
    expect(upstream.refreshed.length).toBe(1)
    service.advance(60)
    expect(vended(await vend(), upstream)).not.toBe(first)
    expect(upstream.refreshed.length).toBe(2)
  })

  test('a token with more scopes is not returned for a request with fewer scopes', async () => {
    const { vend, connect, upstream } = await brokerScene(service)
    await connect()
    const both = vended(await vend({ scope: 'files:read files:write' }), upstream)
    const read = vended(await vend(), upstream)
    expect(read).not.toBe(both)
    expect(upstream.refreshed.map(({ form }) => form['scope'])).toEqual(['up.read'])
    expect(
      [await vend(), await vend({ scope: 'files:write files:read' })].map((each) => vended(each, upstream)),
    ).toEqual([read, both])
  })

  test('a token with more scopes than requested is returned for the first exchange, without a refresh', async () => {
    const { vend, connect, upstream } = await brokerScene(service)
    upstream.granted = 'openid up.write up.read offline_access'
    await connect()
    const first = await vend({ scope: 'files:read files:write' })
    expect([first.status, first.body['access_token']]).toEqual([200, upstream.given[0]])
    expect(upstream.refreshed).toEqual([])
    await vend()
    expect(upstream.refreshed.map(({ form }) => form['scope'])).toEqual(['up.read'])
  })

  test('a token without an expiry of the provider is returned once, with expires_in 0', async () => {
    const { vend, connect, upstream } = await brokerScene(service)
    upstream.expiresIn = undefined
    await connect()
    const [one, two] = [await vend(), await vend()]
    expect(vended(one, upstream)).not.toBe(vended(two, upstream))
    expect(one.body['expires_in']).toBe(0)
  })

  test('without refresh tokens a token is returned until its expiry, then the user must connect again', async () => {
    const { vend, connect, upstream } = await brokerScene(service)
    upstream.refreshes = false
    await connect()
    expect(vended(await vend(), upstream)).toBe(vended(await vend({ scope: 'files:write' }), upstream))
    service.advance(3601)
    expectRefused(await vend(), 'consent_required', 400, { cause: 'consent_missing' })
    expect(upstream.refreshed).toEqual([])
  })

  test('a provider that does not rotate, omits the scope, or answers with forms is supported', async () => {
    const { vend, connect, upstream } = await brokerScene(service, { config: { response_format: 'form' } })
    Object.assign(upstream, { rotates: false, granted: null, format: 'form' })
    await connect()
    const tokens = new Set<string>()
    for (let i = 0; i < 3; i++) {
      tokens.add(vended(await vend(), upstream))
      service.advance(3600)
    }
    expect(tokens.size).toBe(3)
  })

  test('the secret is sent in the header when the provider requires that', async () => {
    const { vend, connect, upstream } = await brokerScene(service, {
      config: { token_endpoint_auth_method: 'client_secret_basic' },
    })
    await connect()
    await vend()
    const [asked] = upstream.refreshed
    expect(asked?.form).not.toHaveProperty('client_secret')
    const [id, secret] = Buffer.from(String(asked?.headers.authorization).slice(6), 'base64').toString().split(':')
    expect([id, secret]).toEqual(['upstream-client', 'upstream-client-secret-0123456789'])
  })
})

describe('rotation', () => {
  test('fifty concurrent exchanges send one request to the provider, and get the same token', async () => {
    const { vend, connect, upstream } = await brokerScene(service)
    await connect()
    const answers = await Promise.all(Array.from({ length: 50 }, () => vend()))
    expect(new Set(answers.map((each) => vended(each, upstream))).size).toBe(1)
    expect(upstream.refreshed.length).toBe(1)
  })

  test('concurrent exchanges for different scopes send one request after the other, so that no refresh token is used twice', async () => {
    const { vend, connect, upstream } = await brokerScene(service)
    await connect()
    service.advance(3600)
    const scopes = ['files:read', 'files:write', 'files:read files:write']
    const answers = await Promise.all(scopes.flatMap((scope) => [vend({ scope }), vend({ scope })]))
    for (const each of answers) vended(each, upstream)
    expect(upstream.refreshed.map(({ form }) => form['scope']).sort()).toEqual([
      'up.read',
      'up.read up.write',
      'up.write',
    ])
  })

  test('a rotated token is stored although the database fails at first', async () => {
    const { vend, connect, upstream } = await brokerScene(service)
    await connect()
    const real = service.app.store.saveCredential
    let failures = 2
    const save = vi.spyOn(service.app.store, 'saveCredential').mockImplementation(async (input) => {
      if (failures-- > 0) throw new Error('the disk is full')
      return real(input)
    })
    const first = vended(await vend(), upstream)
    expect(save).toHaveBeenCalledTimes(3)
    save.mockRestore()
    expect(vended(await vend(), upstream)).toBe(first)
    service.advance(3600)
    vended(await vend(), upstream)
  })

  test('a rotated token is stored although the provider granted fewer scopes', async () => {
    const { vend, connect, upstream } = await brokerScene(service)
    await connect()
    upstream.granted = 'up.other'
    expectRefused(await vend(), 'consent_required', 400, { cause: 'scope_insufficient' })
    upstream.granted = undefined
    vended(await vend(), upstream)
  })

  test('the response to an earlier request does not replace the credential of a new connection', async () => {
    const { vend, connect, upstream } = await brokerScene(service)
    await connect()
    const open = upstream.hold()
    const waiting = vend()
    await vi.waitFor(() => expect(upstream.refreshed.length).toBe(1))
    upstream.gate = undefined
    await connect()
    open()
    vended(await waiting, upstream)
    service.advance(3600)
    vended(await vend(), upstream)
    // The request in progress used the earlier connection. Its response was dropped, and the request was repeated.
    expect(upstream.refreshed.length).toBe(3)
  })

  test('a connection that ends during the request returns no token', async () => {
    const { vend, connect, upstream, grant } = await brokerScene(service)
    await connect()
    const open = upstream.hold()
    const waiting = vend()
    await vi.waitFor(() => expect(upstream.refreshed.length).toBe(1))
    await okAdmin(service, 'DELETE', `/admin/grants/broker/${(await grant())?.id}`)
    open()
    expectRefused(await waiting, 'consent_required')
    expect(await grant()).toBeUndefined()
  })

  test('a process that died during a request blocks the others only for the time of its lease', async () => {
    const { vend, connect, upstream, grant } = await brokerScene(service)
    await connect()
    const { id = '', version = 0 } = (await grant()) ?? {}
    const now = service.app.clock.now()
    const lease = { id, version, lease_id: id, now, until: now + 30 }
    expect(await service.app.store.leaseBrokerGrant(lease)).toBe(true)
    let answer: unknown
    const waiting = vend().then((each) => {
      answer = each
      return each
    })
    await vi.waitFor(async () => expect((await service.app.metrics.render()).text).toContain('leaseBrokerGrant'))
    expect([answer, upstream.refreshed.length]).toEqual([undefined, 0])
    service.advance(31)
    vended(await waiting, upstream)
  })
})

describe('errors of the provider', () => {
  test.each([
    ['is down', 500],
    ['is overloaded', 429],
  ])('a provider that %s causes 503, and the connection stays', async (_what, status) => {
    const { vend, connect, upstream } = await brokerScene(service)
    await connect()
    upstream.answer = (_form, response) => response.writeHead(status).end('hush, an inner error')
    const answer = await vend()
    expectRefused(answer, 'temporarily_unavailable', 503)
    expect(JSON.stringify(answer.body)).not.toContain('hush')
    expect(answer.headers.get('retry-after')).toBe('1')
    upstream.answer = undefined
    vended(await vend(), upstream)
  })

  test('an unreachable provider causes 503', async () => {
    const { vend, connect, upstream } = await brokerScene(service)
    await connect()
    upstream.close()
    expectRefused(await vend(), 'temporarily_unavailable', 503)
  })

  test('a provider that refuses the refresh token is asked once; then the user must connect', async () => {
    const { vend, connect, upstream, member } = await brokerScene(service)
    await connect()
    upstream.live.clear()
    for (let i = 0; i < 3; i++) expectRefused(await vend(), 'consent_required', 400, { cause: 'consent_missing' })
    expect(upstream.refreshed.length).toBe(1)
    const events = await eventsOf(service, 'broker_grant_revoked')
    expect(events.find(({ detail }) => detail['user_id'] === member.user.id)?.detail).toMatchObject({
      reason: 'refused_by_provider',
    })
    await connect()
    vended(await vend(), upstream)
  })

  test.each([
    ['refuses our credentials', 401, { error: 'invalid_client' }, 'server_error', 500],
    ['sends an unknown error with status 200', 200, { error: 'bad_verification_code' }, 'server_error', 500],
    ['sends no token', 200, { token_type: 'bearer' }, 'server_error', 500],
    ['no longer grants this scope', 400, { error: 'invalid_scope' }, 'consent_required', 400],
  ])('a provider that %s does not end the connection', async (_what, status, body, error, expected) => {
    const { vend, connect, upstream } = await brokerScene(service)
    await connect()
    upstream.answer = (_form, response) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    expectRefused(await vend(), error, expected)
    upstream.answer = undefined
    vended(await vend(), upstream)
  })

  test('a missing client secret is a server error, and no request is sent with an empty secret', async () => {
    const { vend, connect, upstream, provider } = await brokerScene(service)
    await connect()
    const config_data = { ...provider.config_data, client_secret_ref: 'SERVICE_SECRET_EMPTY' }
    await service.app.store.updateProvider({ ...provider, config_data })
    const asked = upstream.asked.length
    expectRefused(await vend(), 'server_error', 500)
    expect(upstream.asked.length).toBe(asked)
  })
})

describe('a service account', () => {
  const accountScene = (more: Record<string, unknown>) => serviceAccountScene(service, more)

  test.each([
    ['RS256', 'CONNECTOR_SA_KEY', keys.rsa],
    ['ES256', 'CONNECTOR_EC_KEY', keys.ec],
  ] as const)(
    'asks with an assertion by %s in the name of the user, once while the token is good',
    async (algorithm, ref, key) => {
      const { vend, upstream, assertions, member, connectAccount } = await accountScene({
        impersonate: 'email',
        algorithm,
        sa_key_ref: ref,
      })
      await connectAccount()
      expect(vended(await vend(), upstream)).toBe(vended(await vend(), upstream))
      const [assertion = ''] = assertions
      const spki = String(key.publicKey.export({ type: 'spki', format: 'pem' }))
      const { payload } = await jwtVerify(assertion, await importSPKI(spki, algorithm), { clockTolerance: 100_000 })
      expect(payload).toEqual({
        iss: 'sa@example.com',
        sub: member.user.email,
        aud: `${upstream.url}/token`,
        jti: expect.any(String),
        iat: expect.any(Number),
        exp: Number(payload.iat) + 3600,
        scope: 'up.read',
      })
      expect([decodeProtectedHeader(assertion), assertions.length]).toEqual([{ typ: 'JWT', alg: algorithm }, 1])
    },
  )

  test('a service account acts only for users with an identity that an admin set', async () => {
    const { vend, upstream, assertions, connectAccount } = await accountScene({})
    expectRefused(await vend(), 'access_denied', 403)
    expect((await connectAccount({ impersonate_sub: 'ada@corp.example.com' })).status).toBe(201)
    vended(await vend(), upstream)
    expect(decodeJwt(assertions[0] ?? '').sub).toBe('ada@corp.example.com')
  })

  test('a service account may act for itself', async () => {
    const { vend, upstream, assertions } = await accountScene({ impersonate: 'account' })
    vended(await vend(), upstream)
    expect(decodeJwt(assertions[0] ?? '').sub).toBe('sa@example.com')
  })

  test('a service account with a key of another type is a server error', async () => {
    const { vend } = await accountScene({ impersonate: 'account', algorithm: 'ES256' })
    expectRefused(await vend(), 'server_error', 500)
  })
})
