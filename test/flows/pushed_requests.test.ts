// Pushed authorization requests (RFC 9126), over HTTP.
import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { keepValue } from '../../src/oauth/sign_in/pending_value.ts'
import { metricOf, okAdmin } from '../support/admin.ts'
import { addKeyedClient, proving } from '../support/assertion.ts'
import { Browser, type Page } from '../support/browser.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import {
  type Answer,
  authorizeUrl,
  claimsOf,
  decide,
  expectRefused,
  post,
  redeem,
  register,
  signIn,
} from '../support/flow.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

let service: TestService
let resource: Awaited<ReturnType<typeof addResource>>
beforeAll(async () => {
  service = await startService({ SERVICE_DCR_MODE: 'open', SERVICE_OAUTH_OPENID: 'true' })
  resource = await addResource(service)
})
afterAll(() => service.close())

type Client = Pick<Awaited<ReturnType<typeof addClient>>, 'client_id'> & { client_secret?: string }
type Fields = Record<string, string | undefined>

/** Pushes a request. Returns the answer and the PKCE verifier. */
async function push(client: Client | undefined, fields: Fields = {}, headers: Record<string, string> = {}) {
  const verifier = randomBytes(32).toString('base64url')
  const answer = await post(
    `${service.issuer}/oauth/par`,
    client,
    {
      response_type: 'code',
      redirect_uri: REDIRECT_URI,
      scope: 'mcp:read',
      state: 'pushed-state',
      resource: resource.uri,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...fields,
    },
    headers,
  )
  return { ...answer, verifier }
}

const uriOf = ({ status, body }: Answer): string => {
  expect(status).toBe(201)
  return String(body['request_uri'])
}

/** The URL that opens a pushed request. */
const openingUrl = ({ client_id }: Client, request_uri: string, fields: Fields = {}) =>
  `${service.issuer}/oauth/authorize?${new URLSearchParams({ client_id, request_uri, ...(fields as Record<string, string>) })}`

/** A person who is signed in, with a browser. */
async function person() {
  const user = await addUser(service)
  const browser = new Browser()
  await signIn(service, browser, await browser.open(`${service.issuer}/login`), user.email)
  return { user, browser }
}

const asks = ({ text }: Page) => text.includes('value="allow"')
const callbackOf = ({ location = '' }: Page) => Object.fromEntries(new URL(location).searchParams)
/** A request_uri that leads nowhere. */
const expectDead = ({ status, location, text }: Page) => {
  expect([status, location]).toEqual([400, undefined])
  expect(asks({ text } as Page)).toBe(false)
}

describe('a pushed request', () => {
  test('Z12: is opened by client_id and request_uri alone, and other parameters of the URL count for nothing', async () => {
    const client = await addClient(service)
    const pushed = await push(client)
    const request_uri = uriOf(pushed)
    expect(pushed.body).toEqual({ request_uri, expires_in: 60 })
    expect(request_uri).toMatch(/^urn:ietf:params:oauth:request_uri:pr_[\w-]{64}$/)
    expect(pushed.headers.get('cache-control')).toBe('no-store')
    const { browser } = await person()
    const page = await browser.follow(
      openingUrl(client, request_uri, {
        scope: 'mcp:write',
        prompt: 'none',
        state: 'other',
        resource: 'https://x.example',
      }),
    )
    expect(asks(page)).toBe(true)
    const { code = '', state } = callbackOf(await decide(service, browser, page, 'allow'))
    expect(state).toBe('pushed-state')
    const token = await redeem(service, client, { code, verifier: pushed.verifier })
    expect(claimsOf(token)).toMatchObject({ aud: [resource.uri], scope: 'mcp:read' })
  })

  test('waits while its person signs in, with the hint that was pushed, and later than its 60 s', async () => {
    const client = await addClient(service)
    const user = await addUser(service)
    const request_uri = uriOf(await push(client, { login_hint: user.email, prompt: 'login' }))
    const browser = new Browser()
    const login = await browser.follow(openingUrl(client, request_uri))
    expect(login.text).toContain(`value="${user.email}"`)
    service.advance(300)
    const answer = await signIn(service, browser, login, user.email)
    const page = await browser.follow(answer.location ?? '')
    expect(asks(page)).toBe(true)
    service.advance(300)
    expect(callbackOf(await decide(service, browser, page, 'allow'))).toHaveProperty('code')
  })

  test('is refused after 60 s if no browser has opened it', async () => {
    const client = await addClient(service)
    const request_uri = uriOf(await push(client))
    service.advance(61)
    expectDead(await (await person()).browser.follow(openingUrl(client, request_uri)))
  })

  test('Z13: has one answer: another page of it leads to none, and neither does its request_uri', async () => {
    const client = await addClient(service)
    for (const action of ['allow', 'deny'] as const) {
      const request_uri = uriOf(await push(client))
      const { browser } = await person()
      const [first, second] = [
        await browser.follow(openingUrl(client, request_uri)),
        await browser.follow(openingUrl(client, request_uri)),
      ]
      const answered = callbackOf(await decide(service, browser, first, action))
      expect(Object.keys(answered)).toContain(action === 'allow' ? 'code' : 'error')
      const again = await decide(service, browser, second, 'allow')
      expect(again.location ?? '').not.toContain('code=')
      expectDead(await browser.follow(openingUrl(client, request_uri)))
      const { text } = await browser.follow(openingUrl(client, request_uri))
      expect(text).toContain('was used before')
      expect(text).toContain(`href="${REDIRECT_URI}?error=invalid_request_uri`)
      // The same page, sent twice, has the same answer.
      expect(callbackOf(await decide(service, browser, first, action))).toEqual(answered)
    }
  })

  test('an answer without a page uses it up, with a code and with an error', async () => {
    const client = await addClient(service)
    const { browser } = await person()
    const first = await browser.follow(openingUrl(client, uriOf(await push(client))))
    await decide(service, browser, first, 'allow')
    const at_once = uriOf(await push(client))
    expect(callbackOf(await browser.open(openingUrl(client, at_once)))).toHaveProperty('code')
    expectDead(await browser.open(openingUrl(client, at_once)))
    const silent = uriOf(await push(client, { prompt: 'none', scope: 'mcp:write' }))
    expect(callbackOf(await browser.open(openingUrl(client, silent)))['error']).toBe('consent_required')
    expectDead(await browser.open(openingUrl(client, silent)))
  })

  test('Z13: belongs to its client, and an unknown one leads nowhere', async () => {
    const client = await addClient(service)
    const request_uri = uriOf(await push(client))
    const { browser } = await person()
    expectDead(await browser.follow(openingUrl(await addClient(service), request_uri)))
    expectDead(await browser.follow(openingUrl(client, `${request_uri.slice(0, -4)}AAAA`)))
    const program = await fetch(openingUrl(client, `${request_uri.slice(0, -4)}AAAA`))
    expect([program.status, await program.json()]).toMatchObject([400, { error: 'invalid_request_uri' }])
    expect(asks(await browser.follow(openingUrl(client, request_uri)))).toBe(true)
  })

  test('another account: the page of a pushed request leads to a sign-in without the hint, and then asks', async () => {
    const client = await addClient(service)
    const { browser, user } = await person()
    const request_uri = uriOf(await push(client, { login_hint: user.email }))
    const page = await browser.follow(openingUrl(client, request_uri))
    const [, link = ''] = /href="([^"]*account=another)"/.exec(page.text) ?? []
    const login = await browser.follow(new URL(link.replaceAll('&amp;', '&'), service.issuer).href)
    expect(login.text).not.toContain(`value="${user.email}"`)
    const other = await addUser(service)
    const answer = await signIn(service, browser, login, other.email)
    const own = await browser.follow(answer.location ?? '')
    expect([asks(own), own.text.includes(other.email)]).toEqual([true, true])
    expect(callbackOf(await decide(service, browser, own, 'allow'))).toHaveProperty('code')
  })

  test('follows its client: suspended, and without its redirect URI', async () => {
    const client = await addClient(service)
    const [suspended, moved] = [uriOf(await push(client)), uriOf(await push(client))]
    const { browser } = await person()
    await okAdmin(service, 'PATCH', `/admin/clients/${client.client_id}`, { redirect_uris: ['https://new.example/'] })
    expectDead(await browser.follow(openingUrl(client, moved)))
    await okAdmin(service, 'PATCH', `/admin/clients/${client.client_id}/suspend`)
    expectDead(await browser.follow(openingUrl(client, suspended)))
    expectRefused(await push(client), 'invalid_client', 401)
  })
})

describe('the endpoint', () => {
  test('refuses what the authorization endpoint would refuse', async () => {
    const client = await addClient(service)
    const refused: [Fields, string][] = [
      [{ redirect_uri: 'https://evil.example/callback' }, 'invalid_request'],
      [{ code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ scope: 'mcp:unknown' }, 'invalid_scope'],
      [{ scope: undefined }, 'invalid_scope'],
      [{ resource: 'https://unknown.example.com/mcp' }, 'invalid_target'],
      [{ request_uri: 'urn:ietf:params:oauth:request_uri:x' }, 'invalid_request'],
      [{ nonce: 'n'.repeat(33_000) }, 'invalid_request'],
      [{ state: 's'.repeat(33_000) }, 'invalid_request'],
    ]
    for (const [fields, error] of refused) expectRefused(await push(client, fields), error)
    expectRefused(await push(undefined), 'invalid_client', 401)
    expectRefused(await push({ ...client, client_secret: 'wrong' }), 'invalid_client', 401)
    const machine = await addClient(service, { grant_types: ['client_credentials'], redirect_uris: [] })
    expectRefused(await push(machine, { redirect_uri: undefined }), 'unauthorized_client')
  })

  test('takes an assertion for the issuer, the token endpoint or itself, once', async () => {
    const client = await addKeyedClient(service, { grant_types: ['authorization_code'], redirect_uris: [REDIRECT_URI] })
    for (const path of ['', '/oauth/token', '/oauth/par']) {
      const proof = await proving(service, client, { claims: { aud: service.issuer + path } })
      uriOf(await push(undefined, proof))
      expectRefused(await push(undefined, proof), 'invalid_client', 401)
    }
    const other = await proving(service, client, { claims: { aud: `${service.issuer}/oauth/introspect` } })
    expectRefused(await push(undefined, other), 'invalid_client', 401)
  })

  test('binds the code to the key of a DPoP proof, which must be for it and for dpop_jkt', async () => {
    const client = await addClient(service)
    const [key, other] = [await proofKey(), await proofKey()]
    const at = (path: string, of = key) => dpop(service, of, { claims: { htu: service.issuer + path } })
    const pushed = await push(client, {}, await at('/oauth/par'))
    const { browser } = await person()
    const page = await browser.follow(openingUrl(client, uriOf(pushed)))
    const { code = '' } = callbackOf(await decide(service, browser, page, 'allow'))
    const spend = (headers = {}) => redeem(service, client, { code, verifier: pushed.verifier }, {}, headers)
    expect((await spend()).status).toBe(400)
    expect((await spend(await at('/oauth/token', other))).status).toBe(400)
    expect(claimsOf(await spend(await at('/oauth/token')))['cnf']).toEqual({ jkt: key.jkt })
    expectRefused(await push(client, {}, await at('/oauth/token')), 'invalid_dpop_proof')
    expectRefused(await push(client, { dpop_jkt: other.jkt }, await at('/oauth/par')), 'invalid_dpop_proof')
    uriOf(await push(client, { dpop_jkt: key.jkt }, await at('/oauth/par')))
  })

  test('keeps neither a secret nor the request_uri nor what was pushed in clear', async () => {
    const client = await addClient(service, { token_endpoint_auth_method: 'client_secret_post' })
    const { client_id, client_secret } = client
    const pushed = await push({ client_id }, { client_secret, login_hint: 'a-hint@example.com' })
    const key = uriOf(pushed).split(':').at(-1) ?? ''
    await (await person()).browser.follow(openingUrl(client, uriOf(pushed)))
    const stored = JSON.stringify(await service.app.store.findPushedRequest({ id: key.slice(3, 25), now: 0 }))
    expect(stored).toContain('sealed')
    for (const secret of [client_secret, key, 'a-hint@example.com']) expect(stored).not.toContain(secret)
  })

  test('Z11: what clients push that any program can be is bounded by address and takes no room of sign-ins; a client of an operator is not', async () => {
    const registered = await register(service, { token_endpoint_auth_method: 'none' })
    const stranger = (await registered.json()) as { client_id: string }
    const long = { state: 's'.repeat(30_000) }
    let answer = await push(stranger, long)
    for (let i = 0; i < 400 && answer.status === 201; i++) answer = await push(stranger, long)
    expectRefused(answer, 'slow_down', 429)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    uriOf(await push(await addClient(service), long))
    // The people at that address can still be sent to a provider.
    const signIn = () => keepValue(service.app, '127.0.0.1', { id: newId(), key: 'a key', value: long })
    for (const _ of [1, 2, 3]) expect(await signIn()).toBe(0)
    expect(await metricOf(service, 'ext_pushed_requests_total')).toBeGreaterThan(100)
  }, 90_000)
})

describe('a client that must push', () => {
  test('is refused when it does not, and other clients are not', async () => {
    const client = await addClient(service)
    const path = `/admin/clients/${client.client_id}`
    await okAdmin(service, 'PATCH', path, { require_pushed_authorization_requests: true })
    const { browser } = await person()
    const plain = authorizeUrl(service, { client_id: client.client_id, resource: resource.uri })
    expect(callbackOf(await browser.open(plain))['error']).toBe('invalid_request')
    expect(asks(await browser.follow(openingUrl(client, uriOf(await push(client)))))).toBe(true)
    const shown = await okAdmin<object>(service, 'GET', path)
    expect(shown).toMatchObject({ require_pushed_authorization_requests: true })
    await okAdmin(service, 'PATCH', path, { require_pushed_authorization_requests: null })
    expect(asks(await browser.follow(plain))).toBe(true)
  })

  test('every client must with oauth.require_pushed_requests, which the metadata say', async () => {
    const strict = await startService({ SERVICE_OAUTH_REQUIRE_PUSHED_REQUESTS: 'true' })
    try {
      const client = await addClient(strict)
      const { uri } = await addResource(strict)
      const page = await fetch(authorizeUrl(strict, { client_id: client.client_id, resource: uri }), {
        redirect: 'manual',
      })
      expect(new URL(page.headers.get('location') ?? '').searchParams.get('error')).toBe('invalid_request')
      const metadata = await (await fetch(`${strict.issuer}/.well-known/oauth-authorization-server`)).json()
      expect(metadata).toMatchObject({
        pushed_authorization_request_endpoint: `${strict.issuer}/oauth/par`,
        require_pushed_authorization_requests: true,
      })
    } finally {
      await strict.close()
    }
  })
})
