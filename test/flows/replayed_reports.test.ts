// Public bug reports of clients and servers of this field, replayed against a whole service. Each title ends with the report;
// docs/security/conformance.md has the list. Reports whose rule another test shows exactly are only in that list.
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser } from '../support/browser.ts'
import { proofKey, proofOf } from '../support/dpop.ts'
import {
  authorize,
  authorizeUrl,
  claimsOf,
  decide,
  expectRefused,
  machineToken,
  post,
  redeem,
  refresh,
  register,
  signIn,
} from '../support/flow.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'
import { Wire } from '../support/wire.ts'

type Members = Record<string, unknown> & { client_id: string; client_secret?: string }

describe.each(['uws', 'node'])('on %s', (engine) => {
  let service: TestService
  beforeAll(async () => {
    service = await startService({
      SERVICE_SERVER_HTTP_ENGINE: engine,
      SERVICE_DCR_MODE: 'open',
      SERVICE_OAUTH_REFRESH_GRACE: '30s',
      SERVICE_SERVER_ALLOWED_ORIGINS: 'https://app.example.com',
    })
  })
  afterAll(() => service.close())

  const registered = async (body: object): Promise<Members> => {
    const answer = await register(service, JSON.stringify(body))
    expect(answer.status, await answer.clone().text()).toBe(201)
    return (await answer.json()) as Members
  }
  /** The bytes of one request on a connection of its own. */
  const raw = async (text: string) => {
    const wire = await Wire.open(Number(new URL(service.issuer).port))
    const answer = await wire.send(text).answer()
    wire.leave()
    return answer
  }

  test('a resource that is named twice is one, and two different ones are refused: openai/codex#34467, openai/codex#28830', async () => {
    const [client, user] = [await addClient(service), await addUser(service)]
    const [one, two] = [await addResource(service), await addResource(service)]
    const browser = new Browser()
    const url = authorizeUrl(service, { client_id: client.client_id, resource: one.uri })
    await signIn(service, browser, await browser.follow(url), user.email)
    const twice = `&resource=${encodeURIComponent(one.uri)}&resource=`
    expect((await browser.follow(url + twice)).text).toContain(one.uri)
    const answer = await browser.open(`${url}&resource=${encodeURIComponent(two.uri)}`)
    expect(new URL(answer.location ?? '').searchParams.get('error')).toBe('invalid_target')
    const fields = { grant_type: 'client_credentials', client_id: client.client_id, scope: 'mcp:read' }
    const form = new URLSearchParams({ ...fields, client_secret: client.client_secret, resource: one.uri })
    const ask = async (more: string) => {
      const response = await fetch(`${service.issuer}/oauth/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: `${form}${more}`,
      })
      return (await response.json()) as { access_token: string; error: string }
    }
    expect(decodeJwt((await ask(twice)).access_token).aud).toEqual([one.uri])
    expect((await ask(`&resource=${encodeURIComponent(two.uri)}`)).error).toBe('invalid_target')
  })

  test('a registration without types, or with empty ones, gets the defaults, and the answer has no null and no empty text: sigbit/mcp-auth-proxy#173, mitreid-connect/OpenID-Connect-Java-Spring-Server#1011, ory/hydra#4116', async () => {
    const small = { client_name: 'test', redirect_uris: ['http://localhost:1234/callback'] }
    const empty = { grant_types: [], response_types: [], contacts: [], client_uri: '', logo_uri: '', scope: '' }
    for (const body of [small, { ...small, ...empty }]) {
      const answer = await registered(body)
      expect(answer).toMatchObject({
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_basic',
      })
      for (const value of Object.values(answer)) expect([null, '', []]).not.toContainEqual(value)
    }
  })

  test('a public client gets no secret and needs none: garrytan/gbrain#909, open-metadata/OpenMetadata#28552, modelcontextprotocol/python-sdk#1842', async () => {
    const client = await registered({ redirect_uris: [REDIRECT_URI], token_endpoint_auth_method: 'none' })
    expect(client).not.toHaveProperty('client_secret')
    const [user, resource] = [await addUser(service), await addResource(service)]
    const authorized = await authorize(service, client, user, { resource: resource.uri })
    expect((await redeem(service, client, authorized)).status).toBe(200)
  })

  test('a client that finds its port taken comes back with another one: punkpeye/mcp-remote#72, NousResearch/hermes-agent#49249, ProfessionalWiki/MediaWiki-MCP-Server#452', async () => {
    for (const [uri, port] of [
      ['http://localhost:3334/oauth/callback', 40_001],
      ['http://127.0.0.1:33418/', 40_002],
    ] as const) {
      const client = await registered({ redirect_uris: [uri], token_endpoint_auth_method: 'none' })
      expect(client['redirect_uris']).toEqual([uri])
      const redirect_uri = uri.replace(/:\d+/, `:${port}`)
      const [user, resource] = [await addUser(service), await addResource(service)]
      const authorized = await authorize(service, client, user, { redirect_uri, resource: resource.uri })
      expect(authorized.callback.port).toBe(String(port))
      expect((await redeem(service, client, authorized, { redirect_uri })).status).toBe(200)
    }
  })

  test('five programs that share a refresh token all stay connected: anthropics/claude-code#84440, anomalyco/opencode#34074, danny-avila/LibreChat#14596', async () => {
    const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
    const { body } = await redeem(service, client, await authorize(service, client, user, { resource: resource.uri }))
    const ask = () => refresh(service, client, body['refresh_token'])
    const answers = await Promise.all([ask(), ask(), ask(), ask(), ask()])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    for (const each of answers) expect((await refresh(service, client, each.body['refresh_token'])).status).toBe(200)
  })

  test('scopes of OpenID are left out where they are not offered: anthropics/claude-code#41610, cloudflare/mcp-server-cloudflare#457, better-auth/better-auth#3411', async () => {
    const client = await registered({ redirect_uris: [REDIRECT_URI], token_endpoint_auth_method: 'none' })
    const [user, resource] = [await addUser(service), await addResource(service)]
    const scope = 'openid profile email offline_access mcp:read'
    const authorized = await authorize(service, client, user, { resource: resource.uri, scope })
    expect(claimsOf(await redeem(service, client, authorized))['scope']).toBe('mcp:read')
  })

  test('a client that the server does not know any more gets 401 invalid_client: anthropics/claude-code#4760, PrefectHQ/fastmcp#1762, modelcontextprotocol/python-sdk#1480', async () => {
    const fields = { grant_type: 'refresh_token', refresh_token: 'rt_x' }
    expectRefused(await post(`${service.issuer}/oauth/token`, { client_id: 'c_gone' }, fields), 'invalid_client', 401)
  })

  test('a consent page that was loaded twice takes the decision of either: PrefectHQ/fastmcp#4817', async () => {
    const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
    const browser = new Browser()
    const url = authorizeUrl(service, { client_id: client.client_id, resource: resource.uri })
    const answer = await signIn(service, browser, await browser.follow(url), user.email)
    const authorized = await browser.open(answer.location ?? '')
    const first = await browser.open(authorized.location ?? '')
    await browser.open(authorized.location ?? '')
    expect((await decide(service, browser, first, 'allow')).location).toContain('code=')
  })

  test('tabs that were opened before the sign-in all end at their applications, in any order: vouch/vouch-proxy#349, AxaFrance/oidc-client#1473', async () => {
    const [user, resource, browser] = [await addUser(service), await addResource(service), new Browser()]
    const clients = [await addClient(service), await addClient(service), await addClient(service)]
    const urls = clients.map(({ client_id }, i) =>
      authorizeUrl(service, { client_id, resource: resource.uri, state: `tab-${i}` }),
    )
    const logins: Awaited<ReturnType<Browser['follow']>>[] = []
    for (const url of urls) logins.push(await browser.follow(url))
    const consents = new Map<number, Awaited<ReturnType<Browser['follow']>>>()
    for (const i of [1, 2, 0]) {
      const answer = await signIn(service, browser, logins[i] as (typeof logins)[number], user.email)
      consents.set(i, await browser.follow(answer.location ?? ''))
    }
    for (const i of [2, 1, 0]) {
      const page = consents.get(i)
      if (!page) return expect.fail('no consent page')
      const { searchParams } = new URL((await decide(service, browser, page, 'allow')).location ?? '')
      expect([searchParams.get('state'), searchParams.has('code')]).toEqual([`tab-${i}`, true])
    }
  })

  test('a decision that is sent twice has one code, which the application redeems once: openemr/openemr#8043, instantdb/instant#1901, wintermeyer/vutuv#1561', async () => {
    const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
    const browser = new Browser()
    const url = authorizeUrl(service, { client_id: client.client_id, resource: resource.uri })
    const answer = await signIn(service, browser, await browser.follow(url), user.email)
    const page = await browser.follow(answer.location ?? '')
    const twice = await Promise.all([decide(service, browser, page, 'allow'), decide(service, browser, page, 'allow')])
    const codes = twice.map(({ location }) => new URL(location ?? '').searchParams.get('code'))
    expect(codes[0]).toMatch(/^ac_/)
    expect(new Set(codes).size).toBe(1)
  })

  test('a state of 2,400 characters and all scopes come back after a sign-in: DuendeArchive/Support#1415, auth0/auth0.js#1263', async () => {
    const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
    const state = 'x'.repeat(2400)
    const { callback } = await authorize(service, client, user, { resource: resource.uri, state })
    expect(callback.searchParams.get('state')).toBe(state)
  })

  test('two Cookie lines are one cookie header: opennextjs/opennextjs-netlify#255, dotnet/yarp#437, yesodweb/wai#436', async () => {
    const [user, browser] = [await addUser(service), new Browser()]
    await signIn(service, browser, await browser.open(`${service.issuer}/login`), user.email)
    const lines = ['theme=dark', ...[...browser.cookies].map(([name, value]) => `${name}=${value}`), 'last=1']
    const cookies = lines.map((line) => `cookie: ${line}\r\n`).join('')
    const page = await raw(`GET /account HTTP/1.1\r\nhost: localhost\r\naccept: text/html\r\n${cookies}\r\n`)
    expect([page.status, page.body.includes(user.email)]).toEqual([200, true])
  })

  test('a preflight allows the headers of instrumented programs: getsentry/sentry-javascript#6077, contentful/contentful.js#1381, open-metadata/OpenMetadata#30673', async () => {
    const named = 'authorization,baggage,content-type,mcp-protocol-version,sentry-trace,traceparent'
    const response = await fetch(`${service.issuer}/oauth/token`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example.com',
        'access-control-request-method': 'POST',
        'access-control-request-headers': named,
      },
    })
    const allowed = response.headers.get('access-control-allow-headers')?.toLowerCase().split(', ')
    expect(allowed).toEqual(expect.arrayContaining(named.split(',')))
    expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example.com')
    expect(response.headers.has('access-control-allow-credentials')).toBe(false)
  })

  test('Transfer-Encoding: Chunked and a charset are read: uNetworking/uWebSockets#1941, yhirose/cpp-httplib#54, USPS/api-examples#6', async () => {
    const { client_id, client_secret } = await addClient(service)
    const form = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret }).toString()
    const answer = await raw(
      `POST /oauth/token HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded;charset=UTF-8\r\nTransfer-Encoding: Chunked\r\n\r\n${form.length.toString(16)}\r\n${form}\r\n0\r\n\r\n`,
    )
    expect(answer.status).toBe(200)
  })

  test('a proof may be dated with fractions of a second: authlib/authlib#277, envoyproxy/envoy#28201, panva/openid-client#263', async () => {
    const [client, key] = [await addClient(service), await proofKey()]
    const proof = await proofOf(service, key, { claims: { iat: Date.now() / 1000 - 0.5 } })
    expect((await machineToken(service, client, {}, { dpop: proof })).status).toBe(200)
  })

  test('client id and secret in a Basic header may be form-encoded: openid/AppAuth-Android#337, panva/openid-client#236', async () => {
    const { client_id, client_secret } = await addClient(service)
    const encoded = [client_id, client_secret].map((each) =>
      each.replace(/[^A-Za-z0-9]/g, (c) => `%${c.charCodeAt(0).toString(16)}`),
    )
    for (const pair of [[client_id, client_secret], encoded]) {
      const authorization = `Basic ${Buffer.from(pair.join(':')).toString('base64')}`
      const answer = await post(
        `${service.issuer}/oauth/token`,
        undefined,
        { grant_type: 'client_credentials' },
        { authorization },
      )
      expect(answer.status).toBe(200)
    }
  })

  test('the metadata names PKCE with S256 and public clients: goauthentik/authentik#5991, kanidm/kanidm#3274, modelcontextprotocol/typescript-sdk#1027', async () => {
    for (const name of ['oauth-authorization-server', 'openid-configuration']) {
      const metadata = (await (await fetch(`${service.issuer}/.well-known/${name}`)).json()) as Record<string, string[]>
      expect(metadata['code_challenge_methods_supported']).toEqual(['S256'])
      expect(metadata['token_endpoint_auth_methods_supported']).toContain('none')
    }
  })
})
