// The connect flow at a whole service, the key page, and the connections of a user.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { accountPage, press } from '../support/account.ts'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { addBrokerResource, addProvider, aMember, brokerScene, RETURN, startBroker, vended } from '../support/broker.ts'
import { Browser, fieldsOf } from '../support/browser.ts'
import { addExchanger, exchange } from '../support/exchange.ts'
import { signIn } from '../support/flow.ts'
import { watchLog } from '../support/log.ts'
import { addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startBroker()
})
afterAll(() => service.close())

const JSON_ONLY = { headers: { accept: 'application/json' } }

describe('the authorization request to the provider', () => {
  test('the request uses PKCE, every scope of the resource with its upstream name, and the extra parameters', async () => {
    const { upstream, provider, member, resource } = await brokerScene(service, {
      config: { extra_auth_params: { access_type: 'offline' } },
    })
    const page = await member.browser.open(member.startUrl(provider.slug, { resource: resource.uri }))
    const url = new URL(page.location ?? '')
    expect(url.href.startsWith(`${upstream.url}/authorize?`)).toBe(true)
    expect(Object.fromEntries(url.searchParams)).toEqual({
      response_type: 'code',
      client_id: 'upstream-client',
      redirect_uri: `${service.issuer}/connect/${provider.slug}/callback`,
      scope: 'up.read up.write',
      state: expect.stringMatching(/^[\w-]{22}\.[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
      access_type: 'offline',
    })
  })

  test('a user without a session is redirected to the login first, and then to the provider', async () => {
    const { provider, upstream, member } = await brokerScene(service)
    const [user, browser] = [await addUser(service), new Browser()]
    const page = await browser.follow(member.startUrl(provider.slug))
    const answer = await signIn(service, browser, page, user.email)
    expect((await browser.open(answer.location ?? '')).location).toContain(upstream.url)
  })

  test('the request includes scopes that were granted earlier for another resource of the provider', async () => {
    const { provider, connect, member, vend, upstream, gateway } = await brokerScene(service)
    const policy = { exchange: { allowed_client_ids: [gateway.client_id] } }
    const scopes = [{ name: 'files:read', description: '', upstream: 'up.mail' }]
    const other = await addBrokerResource(service, provider, { policy, scopes })
    await connect()
    const page = await member.browser.open(member.startUrl(provider.slug, { resource: other.slug }))
    expect(new URL(page.location ?? '').searchParams.get('scope')?.split(' ').sort()).toEqual([
      'up.mail',
      'up.read',
      'up.write',
    ])
    await member.browser.open(upstream.approve(page.location ?? ''))
    for (const resource of [other.uri, undefined]) vended(await vend(resource ? { resource } : {}), upstream)
  })

  test.each([
    ['no return_url', { return_url: '' }, 400, 'invalid_request'],
    ['an unknown resource', { resource: 'nowhere' }, 400, 'invalid_target'],
    ['a mint resource', { resource: 'OWN' }, 400, 'invalid_target'],
    ['a resource of another provider', { resource: 'OTHER' }, 400, 'invalid_target'],
  ])('a request with %s is refused', async (_what, query, status, error) => {
    const [{ provider, member, own }, other] = [await brokerScene(service), await brokerScene(service)]
    const named: Record<string, string> = { OWN: own.slug, OTHER: other.resource.slug }
    const asked = Object.fromEntries(Object.entries(query).map(([name, value]) => [name, named[value] ?? value]))
    const page = await member.browser.open(member.startUrl(provider.slug, asked), JSON_ONLY)
    expect([page.status, JSON.parse(page.text).error]).toEqual([status, error])
  })

  test('a resource is required when several use the provider, and at least one must exist', async () => {
    const { provider, member } = await brokerScene(service)
    await addBrokerResource(service, provider)
    const several = await member.browser.open(member.startUrl(provider.slug), JSON_ONLY)
    expect([several.status, JSON.parse(several.text).error]).toEqual([400, 'invalid_request'])
    const alone = await addProvider(service, { config_data: provider.config_data })
    const none = await member.browser.open(member.startUrl(alone.slug), JSON_ONLY)
    expect([none.status, JSON.parse(none.text).error]).toEqual([400, 'invalid_target'])
  })

  test('the return URLs of a resource replace the general list; our own page of connections is always allowed', async () => {
    const connect = { allowed_return_urls: ['https://other.example.com/back'] }
    const { provider, member, upstream } = await brokerScene(service, { resource: { policy: { connect } } })
    const to = async (return_url: string) =>
      (await member.browser.open(member.startUrl(provider.slug, { return_url }))).location
    expect(await to(RETURN)).toBeUndefined()
    for (const url of ['https://other.example.com/back', `${service.issuer}/connections`])
      expect(await to(url)).toContain(upstream.url)
  })

  test.each([
    ['connect.state_secret', [404, 'not_found'], {}],
    [
      'data_encryption.driver',
      [503, 'temporarily_unavailable'],
      { SERVICE_CONNECT_STATE_SECRET: 'connect-state-secret-0123456789abcdef' },
    ],
  ])('connecting is not available without %s, and the error names the setting', async (key, refusal, env) => {
    const off = await startService(env)
    if (key === 'connect.state_secret') Object.assign(off.app, { atRest: service.app.atRest })
    try {
      for (const path of ['/connect/drive', '/connect/drive/callback']) {
        const response = await fetch(off.issuer + path)
        const { error, error_description } = (await response.json()) as Record<string, string>
        expect([response.status, error]).toEqual(refusal)
        expect(error_description).toContain(key)
      }
    } finally {
      await off.close()
    }
  })
})

describe('the callback', () => {
  test('the callback redeems the code with its verifier, stores the granted scopes, and redirects to the return URL', async () => {
    const { connect, upstream, grant, member, provider } = await brokerScene(service)
    expect((await connect()).location).toBe(RETURN)
    expect(upstream.asked).toMatchObject([
      {
        form: {
          grant_type: 'authorization_code',
          client_id: 'upstream-client',
          client_secret: 'upstream-client-secret-0123456789',
          code_verifier: expect.stringMatching(/^[\w-]{43}$/),
          redirect_uri: `${service.issuer}/connect/${provider.slug}/callback`,
        },
        headers: { accept: 'application/json' },
      },
    ])
    expect(await grant()).toMatchObject({ user_id: member.user.id, scopes_granted: 'up.read up.write', version: 1 })
    const [event] = await eventsOf(service, 'broker_grant_created')
    expect(event).toMatchObject({ actor_id: member.user.id, detail: { provider: provider.slug, version: 1 } })
  })

  test('missing scopes in the response count as the requested ones, and commas as separators', async () => {
    const { connect, upstream, grant } = await brokerScene(service)
    upstream.granted = null
    await connect()
    expect((await grant())?.scopes_granted).toBe('up.read up.write')
    upstream.granted = 'up.read,up.other'
    await connect()
    expect((await grant())?.scopes_granted).toBe('up.read up.other')
  })

  test.each([
    ['that the user said no', 'access_denied', 'access_denied'],
    ['anything else', 'server_error', 'server_error'],
    ['something unheard of', '<script>', 'server_error'],
  ])(
    'a callback with the error %s redirects with that error once, and creates no connection',
    async (_what, said, told) => {
      const { callback, upstream, member, grant } = await brokerScene(service)
      const url = new URL(await callback())
      url.searchParams.delete('code')
      url.searchParams.set('error', said)
      expect((await member.browser.open(url.href)).location).toBe(`${RETURN}?error=${told}`)
      expect((await member.browser.open(url.href)).status).toBe(400)
      expect([upstream.asked.length, await grant()]).toEqual([0, undefined])
    },
  )

  test.each([
    ['without a state', () => undefined],
    ['with an unknown state', () => 'unknown'],
    [
      'with the state of another provider',
      async () => new URL(await (await brokerScene(service)).callback()).searchParams.get('state'),
    ],
  ])('an error of the provider %s is recorded with the reason, and the user gets a 400', async (_what, stateOf) => {
    const { provider, member } = await brokerScene(service)
    const state = await stateOf()
    const query = new URLSearchParams({ error: 'unauthorized_client', ...(state ? { state } : {}) })
    const url = `${service.issuer}/connect/${provider.slug}/callback?${query}`
    const lines = watchLog(service.app.log)
    expect((await member.browser.open(url)).status).toBe(400)
    vi.restoreAllMocks()
    const detail = { provider: provider.slug, user_id: member.user.id, reason: 'upstream_unauthorized_client' }
    expect((await eventsOf(service, 'broker_connect_failed'))[0]).toMatchObject({ detail })
    expect(lines).toContainEqual([expect.objectContaining(detail), 'a user could not be connected to a provider'])
  })

  test('an error of the provider without a signed-in user is in the log line of the request, and in no audit event', async () => {
    const { provider } = await brokerScene(service)
    const before = (await eventsOf(service, 'broker_connect_failed')).length
    const lines = watchLog(service.app.log)
    const url = `${service.issuer}/connect/${provider.slug}/callback?error=login_required`
    expect((await new Browser().open(url)).status).toBe(403)
    vi.restoreAllMocks()
    expect(JSON.stringify(lines)).toContain('upstream_login_required')
    expect((await eventsOf(service, 'broker_connect_failed')).length).toBe(before)
  })

  test.each([
    ['is unavailable', 503, 'temporarily_unavailable'],
    ['refuses the code', 400, 'server_error'],
  ])('while the provider %s, the callback redirects with an error', async (_what, status, told) => {
    const { connect, upstream, grant } = await brokerScene(service)
    upstream.answer = (_form, response) => response.writeHead(status).end('{}')
    expect((await connect()).location).toBe(`${RETURN}?error=${told}`)
    expect(await grant()).toBeUndefined()
  })

  test.each(['two\r\nlines', 'жетон', 'a\u0000b'])(
    'a token that is not valid in a header is refused, because clients put it into one (%j)',
    async (access_token) => {
      const { connect, upstream, grant } = await brokerScene(service)
      upstream.answer = (_form, response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ access_token }))
      expect((await connect()).location).toBe(`${RETURN}?error=server_error`)
      expect(await grant()).toBeUndefined()
    },
  )
})

describe('providers with API keys', () => {
  const keyScene = async () => {
    const config_data = { header_name: 'X-Key', issuance_instructions_url: 'https://keys.example.com/help' }
    const provider = await addProvider(service, { protocol: 'apikey', config_data })
    const [app, gateway] = [await addExchanger(service, { scope: 'files:read' }), await addExchanger(service)]
    const policy = { exchange: { allowed_client_ids: [gateway.client_id] } }
    const resource = await addBrokerResource(service, provider, { policy })
    const member = await aMember(service, app, 'files:read')
    const page = await member.browser.open(member.startUrl(provider.slug))
    const send = (fields: Record<string, string>) =>
      member.browser.post(`${service.issuer}/connect/${provider.slug}`, {
        ...Object.fromEntries(fieldsOf(page)),
        ...fields,
      })
    return { provider, resource, gateway, member, page, send }
  }

  test('the page asks for the key, stores it encrypted, and the key is returned unchanged', async () => {
    const { provider, resource, gateway, member, page, send } = await keyScene()
    expect([page.status, page.text.includes('https://keys.example.com/help')]).toEqual([200, true])
    expect((await send({ api_key: ' key-0123456789 ' })).location).toBe(RETURN)
    const grant = await service.app.store.findBrokerGrant({ user_id: member.user.id, broker_provider_id: provider.id })
    expect(grant?.credential).toMatch(/^aes1\./)
    const { body } = await exchange(service, gateway, { subject_token: member.subject, resource: resource.uri })
    expect(body).toMatchObject({
      access_token: 'key-0123456789',
      expires_in: 0,
      token_type: 'Bearer',
      scope: 'files:read',
    })
  })

  test.each(['', 'two words', 'new\nline', 'ключ', 'x'.repeat(4097)])(
    'refuses %j as a key, with a message on the page',
    async (api_key) => {
      const { send, member } = await keyScene()
      const page = await send({ api_key })
      expect([page.status, page.text.includes('role="alert"')]).toEqual([422, true])
      expect(await service.app.store.listBrokerGrants({ user_id: member.user.id })).toEqual([])
    },
  )

  test('a form of another session, without a session, or with another return URL is refused', async () => {
    const [mine, theirs] = [await keyScene(), await keyScene()]
    const csrf_token = Object.fromEntries(fieldsOf(theirs.page))['csrf_token'] ?? ''
    expect((await mine.send({ api_key: 'key', csrf_token })).status).toBe(403)
    expect((await mine.send({ api_key: 'key', return_url: 'https://evil.example.com' })).status).toBe(400)
    const url = `${service.issuer}/connect/${mine.provider.slug}`
    const fields = { ...Object.fromEntries(fieldsOf(mine.page)), api_key: 'key' }
    expect((await new Browser().post(url, fields)).location).toContain('/login?')
    expect((await mine.member.browser.post(url, fields, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect(await service.app.store.listBrokerGrants({ user_id: mine.member.user.id })).toEqual([])
  })
})

test('users cannot connect to a service account', async () => {
  const { member } = await brokerScene(service)
  const config_data = { token_url: 'https://up.example.com/t', sa_email: 'sa@example.com', sa_key_ref: 'CONNECTOR_KEY' }
  const provider = await addProvider(service, { protocol: 'service_account', config_data })
  await addBrokerResource(service, provider)
  const page = await member.browser.open(member.startUrl(provider.slug), JSON_ONLY)
  expect([page.status, JSON.parse(page.text).error]).toEqual([400, 'invalid_target'])
})

describe('the connections of a user', () => {
  const url = (path = '') => `${service.issuer}/connections${path}`

  test('connections are shown as a page and as JSON, without their credentials', async () => {
    const { connect, member, provider } = await brokerScene(service)
    await connect()
    expect((await member.browser.open(url())).location).toBe(`${service.issuer}/account#connections`)
    const page = await accountPage(service, member.browser)
    expect([page.status, page.text.includes('Drive')]).toEqual([200, true])
    const { text } = await member.browser.open(url(), JSON_ONLY)
    const time = expect.stringMatching(/Z$/)
    expect(JSON.parse(text)).toEqual([
      {
        provider: provider.slug,
        display_name: 'Drive',
        scopes_granted: ['up.read', 'up.write'],
        created_at: time,
        updated_at: time,
      },
    ])
  })

  test('connections are shown to the signed-in user only; others are sent to the login', async () => {
    expect((await new Browser().follow(url('?error=x'))).text).toContain('Sign in')
    const response = await fetch(url(), JSON_ONLY)
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    expect((await fetch(url('/drive'), { method: 'DELETE' })).status).toBe(401)
  })

  test('the button ends a connection, revokes it at the provider, and no token is returned any more', async () => {
    const { connect, member, provider, upstream, vend } = await brokerScene(service)
    await service.app.store.updateProvider({
      ...provider,
      config_data: { ...provider.config_data, revoke_url: `${upstream.url}/revoke` },
    })
    await connect()
    const [held] = upstream.live.keys()
    const answer = await press(service, member.browser, 'Disconnect Drive')
    expect(answer.location).toBe(`${service.issuer}/account?done=connections#connections`)
    expect((await vend()).body['error']).toBe('consent_required')
    expect(upstream.asked.at(-1)).toMatchObject({
      path: '/revoke',
      form: { token: held, token_type_hint: 'refresh_token' },
    })
    const [event] = await eventsOf(service, 'broker_grant_revoked')
    expect(event).toMatchObject({ actor_id: member.user.id, detail: { provider: provider.slug } })
    const { text } = await service.app.metrics.render()
    expect(text).toContain(`core_connection_disconnect_total{provider="${provider.slug}"} 1`)
  })

  test('a program can end a connection once, and only for its user', async () => {
    const { connect, member, provider, app, grant } = await brokerScene(service)
    await connect()
    const other = await aMember(service, app)
    const end = async (who = member, headers = {}) =>
      (
        await who.browser.open(url(`/${provider.slug}`), {
          method: 'DELETE',
          headers: { ...JSON_ONLY.headers, ...headers },
        })
      ).status
    expect([await end(other), await end(member, { 'sec-fetch-site': 'cross-site' })]).toEqual([404, 403])
    expect(await grant()).toBeDefined()
    expect([await end(), await end()]).toEqual([204, 404])
  })

  test('a connection ends although the provider cannot be notified', async () => {
    const { connect, member, provider, upstream, grant } = await brokerScene(service)
    await service.app.store.updateProvider({
      ...provider,
      config_data: { ...provider.config_data, revoke_url: `${upstream.url}/revoke` },
    })
    await connect()
    upstream.close()
    await press(service, member.browser, 'Disconnect Drive')
    expect(await grant()).toBeUndefined()
  })

  test('connections end when their user is deleted', async () => {
    const { connect, member } = await brokerScene(service)
    await connect()
    await okAdmin(service, 'DELETE', `/admin/users/${member.user.id}?force=true`)
    const [left] = await service.app.store.listBrokerGrants({ user_id: member.user.id })
    expect([left?.credential, typeof left?.revoked_at]).toEqual([undefined, 'number'])
  })
})
