// Pushed requests (RFC 9126), authorization details (RFC 9396) and approvals (CIBA) beside oidc-provider: the same requests are sent to both, and where
// the answers differ the table has the reason. What is sent was chosen after reading which behaviours the tests of oidc-provider check.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider, { errors } from 'oidc-provider'
import * as client from 'openid-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { digest } from '../../src/lib/id.ts'
import { CIBA_GRANT } from '../../src/oauth/sign_in/approval.ts'
import { APPROVALS, addAgent, decideOn } from '../support/approvals.ts'
import type { Browser } from '../support/browser.ts'
import { signedIn } from '../support/documents.ts'
import { type Answer, post, walk } from '../support/flow.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

const NOTHING = { type: 'object', additionalProperties: false }
const PAYMENT = {
  type: 'payment',
  description: 'A payment',
  schema: { ...NOTHING, properties: { type: true, amount: { type: 'string', pattern: '^\\d+ EUR$' } } },
}
const PAY = [{ type: 'payment', amount: '30 EUR' }]
const details = (value: unknown) => ({ authorization_details: JSON.stringify(value) })

type Endpoint = 'push' | 'token' | 'ask'
type Side = Record<Endpoint | 'authorize', string> & {
  decide(auth_req_id: string, action: 'allow' | 'deny'): Promise<unknown>
}
type Credentials = Parameters<typeof post>[1]

let service: TestService
let browser: Browser
let user: Awaited<ReturnType<typeof addUser>>
let resource: string
let clients: Record<'app' | 'agent' | 'other' | 'machine' | 'wrong', NonNullable<Credentials>>
let ours: Side
let theirs: Side
const server = createServer()

beforeAll(async () => {
  service = await startService({ ...APPROVALS, SERVICE_OAUTH_OPENID: 'true' })
  user = await addUser(service)
  browser = await signedIn(service, user)
  resource = (await addResource(service, { authorization_details_types: [PAYMENT] })).uri
  const app = await addClient(service, { grant_types: ['authorization_code', 'client_credentials'] })
  const machine = await addClient(service, { grant_types: ['client_credentials'], redirect_uris: [] })
  const [agent, other] = await Promise.all(['a', 'b'].map(() => addAgent(service, { scope: 'openid mcp:read' })))
  if (!agent || !other) throw new Error('no agents')
  clients = { app, machine, agent, other, wrong: { ...app, client_secret: 'wrong' } }
  ours = {
    ...{ push: `${service.issuer}/oauth/par`, token: `${service.issuer}/oauth/token` },
    ...{ ask: `${service.issuer}/oauth/bc-authorize`, authorize: `${service.issuer}/oauth/authorize` },
    async decide(_, action) {
      await decideOn(service, browser, action, { about: stepTo(action) })
      service.advance(60)
    },
  }
  theirs = await openPeer()
})
afterAll(async () => {
  server.close()
  server.closeAllConnections()
  await service.close()
})

/** oidc-provider with the same clients, person, resource and type. */
async function openPeer(): Promise<Side> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const known = (grant_types: string[], { client_id, client_secret }: NonNullable<Credentials>) => {
    const hasCode = grant_types.includes('authorization_code')
    const own = { redirect_uris: hasCode ? [REDIRECT_URI] : [], response_types: hasCode ? ['code'] : [] }
    const asks = grant_types.includes(CIBA_GRANT) ? { backchannel_token_delivery_mode: 'poll' } : {}
    return { client_id, client_secret, grant_types, authorization_details_types: ['payment'], ...own, ...asks }
  }
  const provider = new Provider(issuer, {
    clients: [
      known(['authorization_code', 'client_credentials'], clients.app),
      known(['client_credentials'], clients.machine),
      known([CIBA_GRANT], clients.agent),
      known([CIBA_GRANT], clients.other),
    ],
    scopes: ['openid'],
    pkce: { required: () => true },
    findAccount: (_: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo(_: unknown, asked: string) {
          if (asked !== resource) throw new errors.InvalidTarget()
          return { scope: 'mcp:read mcp:write', accessTokenFormat: 'opaque' }
        },
      },
      richAuthorizationRequests: {
        enabled: true,
        types: {
          payment: {
            validate(_: unknown, { type: _type, amount, ...rest }: Record<string, unknown>) {
              const fits = amount === undefined || (typeof amount === 'string' && /^\d+ EUR$/.test(amount))
              if (!fits || Object.keys(rest).length > 0) throw new errors.InvalidAuthorizationDetails('it does not fit')
            },
          },
        },
        authorizationDetailsForGrantSource: (_: unknown, source: { rar: unknown }) => source.rar,
        authorizationDetailsForAccessToken: ({ oidc }: { oidc: { params: { authorization_details: string } } }) =>
          JSON.parse(oidc.params.authorization_details),
        authorizationDetailsForIntrospection: (_: unknown, token: { rar: unknown }) => token.rar,
      },
      ciba: {
        enabled: true,
        deliveryModes: ['poll'],
        processLoginHint: (_: unknown, hint: string) => (hint === user.email ? user.id : undefined),
        processLoginHintToken: () => undefined,
        validateRequestContext: () => undefined,
        verifyUserCode: () => undefined,
        triggerAuthenticationDevice: () => undefined,
      },
    },
  })
  server.on('request', provider.callback())
  return {
    ...{
      push: `${issuer}/request`,
      token: `${issuer}/token`,
      ask: `${issuer}/backchannel`,
      authorize: `${issuer}/auth`,
    },
    async decide(auth_req_id, action) {
      const grant = new provider.Grant({ accountId: user.id, clientId: clients.agent.client_id })
      grant.addOIDCScope('openid')
      grant.addResourceScope(resource, 'mcp:read')
      await grant.save()
      await provider.backchannelResult(auth_req_id, action === 'allow' ? grant : new errors.AccessDenied())
    },
  }
}

/** The message of a request that will be decided in a certain way. */
const stepTo = (action: string): string => `step-${action}`

/** The status with the error or the members. */
const outcome = ({ status, body }: Pick<Answer, 'status' | 'body'>): string =>
  `${status} ${body['error'] ?? Object.keys(body).sort().join(' ')}`

/** What a request of each kind has beside the fields of a row. */
const base = (at: Endpoint): Record<string, string> => {
  const asked = { scope: 'mcp:read', resource }
  if (at === 'token') return { ...asked, grant_type: 'client_credentials' }
  if (at === 'ask') return { scope: 'openid mcp:read', resource, login_hint: user.email }
  const code_challenge = digest('v'.repeat(43))
  return { ...asked, response_type: 'code', redirect_uri: REDIRECT_URI, code_challenge, code_challenge_method: 'S256' }
}

/** The status and the error, or the members, of an answer. */
type Outcome = `${number} ${string}`
interface More {
  /** The client that sends it: the app, or the agent at the endpoint for approvals. `none` sends no client. */
  by?: 'app' | 'agent' | 'machine' | 'wrong' | 'none'
  /** What oidc-provider answers, and why this service does not. */
  theirs?: Outcome
  because?: string
}
type Row = [at: Endpoint, what: string, answer: Outcome, fields?: Record<string, string | undefined>, more?: More]

const BAD = '400 invalid_authorization_details'
const INVALID = '400 invalid_request'
const PUSHED = '201 expires_in request_uri'
const ASKED = '200 auth_req_id expires_in interval'
const SIGNED = { request: 'x.y.z' }
const ELSEWHERE = { resource: 'https://unknown.example.com/' }

const DETAILS: Readonly<Record<string, string>> = {
  'text that is no JSON': '[',
  'an object': '{}',
  'an element that is no object': '[null]',
  'an element without a type': '[{}]',
  'an empty type': '[{"type":""}]',
  'an unknown type': '[{"type":"unknown"}]',
  'a type that every object has': '[{"type":"toString"}]',
  'an unknown member': '[{"type":"payment","unexpected":true}]',
  'a wrong value': '[{"type":"payment","amount":"a lot"}]',
}
const NOT_HERE = {
  theirs: '400 invalid_target',
  because: 'a type belongs to a resource: without one it is unknown',
} as const
const ROWS: Row[] = [
  ['push', 'a request', PUSHED],
  ['push', 'a request with details', PUSHED, details(PAY)],
  ['push', 'an empty list of details', PUSHED, details([])],
  ['push', 'another redirect_uri', INVALID, { redirect_uri: 'https://evil.example/' }],
  ['push', 'no PKCE', INVALID, { code_challenge: undefined, code_challenge_method: undefined }],
  ['push', 'plain PKCE', INVALID, { code_challenge_method: 'plain' }],
  ['push', 'no response_type', INVALID, { response_type: undefined }],
  ['push', 'another response_type', '400 unsupported_response_type', { response_type: 'token' }],
  ['push', 'an unknown resource', '400 invalid_target', ELSEWHERE],
  ['push', 'prompt=none with another', INVALID, { prompt: 'none login' }],
  ['push', 'a signed request', '400 request_not_supported', SIGNED],
  ['push', 'a wrong secret', '401 invalid_client', {}, { by: 'wrong' }],
  [
    ...(['push', 'a request_uri', INVALID, { request_uri: 'urn:ietf:params:oauth:request_uri:x' }] as const),
    { theirs: '400 request_uri_not_supported', because: 'RFC 9126 §2.1 has no code for it; both refuse it' },
  ],
  [
    ...(['push', 'a client without the code grant', '400 unauthorized_client', {}] as const),
    { by: 'machine', theirs: INVALID, because: 'RFC 6749 §4.1.2.1 has unauthorized_client for it' },
  ],
  [
    ...(['push', 'no client', '401 invalid_client', {}] as const),
    { by: 'none', theirs: INVALID, because: 'no client authentication is invalid_client too (RFC 6749 §5.2)' },
  ],
  [
    ...(['push', 'an unknown scope', '400 invalid_scope', { scope: 'mcp:unknown' }] as const),
    { theirs: PUSHED, because: 'unknown scopes are ignored there, and refused here (RFC 6749 §4.1.2.1)' },
  ],
  ...(['push', 'token'] as const).flatMap((at): Row[] => [
    ...Object.entries(DETAILS).map(([what, authorization_details]): Row => [at, what, BAD, { authorization_details }]),
    [at, 'details without a resource', BAD, { ...details(PAY), resource: undefined }, NOT_HERE],
  ]),
  ['token', 'details', '200 access_token authorization_details expires_in scope token_type', details(PAY)],
  ['token', 'no details', '200 access_token expires_in scope token_type'],
  ['ask', 'a wrong secret', '401 invalid_client', {}, { by: 'wrong' }],
  ['ask', 'no hint', INVALID, { login_hint: undefined }],
  ['ask', 'two hints', INVALID, { id_token_hint: 'x' }],
  ['ask', 'a hint that is no ID token', INVALID, { login_hint: undefined, id_token_hint: 'x' }],
  ['ask', 'requested_expiry=0', INVALID, { requested_expiry: '0' }],
  ['ask', 'a message with a control character', '400 invalid_binding_message', { binding_message: 'a\u0007' }],
  ['ask', 'an unknown resource', '400 invalid_target', ELSEWHERE],
  ['ask', 'unknown details', BAD, details([{ type: 'unknown' }])],
  ['ask', 'a signed request', '400 request_not_supported', SIGNED],
  [
    ...(['ask', 'a request', ASKED, {}] as const),
    {
      theirs: '200 auth_req_id expires_in',
      because: 'interval is optional (CIBA §7.3); clients that get it poll less often',
    },
  ],
  [
    ...(['ask', 'a client without the grant', '400 unauthorized_client', {}] as const),
    { by: 'machine', theirs: INVALID, because: 'CIBA §13 has unauthorized_client for it' },
  ],
  [
    ...(['ask', 'an unknown person', ASKED, { login_hint: 'unknown' }] as const),
    { theirs: '400 unknown_user_id', because: 'a client must not find out who has an account' },
  ],
  [
    ...(['ask', 'a login_hint_token', INVALID, { login_hint: undefined, login_hint_token: 'x' }] as const),
    { theirs: '400 unknown_user_id', because: 'the parameter is not offered here' },
  ],
]

const send = (side: Side, at: Endpoint, fields = {}, by: More['by'] = at === 'ask' ? 'agent' : 'app') =>
  post(side[at], by === 'none' ? undefined : clients[by], {
    ...base(at),
    // oidc-provider wants it beside HTTP Basic.
    ...(by === 'none' ? {} : { client_id: clients[by].client_id }),
    ...fields,
  })

test.each(ROWS)('%s: %s: %s', async (at, _, answer, fields, { by, theirs: differs, because } = {}) => {
  expect(outcome(await send(ours, at, fields, by))).toBe(answer)
  expect(outcome(await send(theirs, at, fields, by))).toBe(differs ?? answer)
  expect(differs).not.toBe(answer)
  expect(because === undefined).toBe(differs === undefined)
})

test('a pushed request is opened by its client alone, and an unknown one by none', async () => {
  for (const side of [ours, theirs]) {
    const { body } = await send(side, 'push')
    expect(body).toMatchObject({
      expires_in: 60,
      request_uri: expect.stringMatching(/^urn:ietf:params:oauth:request_uri:./),
    })
    const open = async (client_id: string, request_uri: unknown) => {
      const query = new URLSearchParams({ client_id, request_uri: String(request_uri) })
      const page = await fetch(`${side.authorize}?${query}`, {
        redirect: 'manual',
        headers: { accept: 'application/json' },
      })
      const location = new URL(page.headers.get('location') ?? '/', side.authorize)
      return location.searchParams.get('error') ?? parsed(await page.text())['error'] ?? page.status
    }
    expect(await open(clients.app.client_id, body['request_uri'])).toBe(303)
    expect(await open(clients.app.client_id, 'urn:ietf:params:oauth:request_uri:unknown')).toBe('invalid_request_uri')
    // A page where it cannot be sent to the client.
    expect(['invalid_request_uri', 400]).toContain(await open(clients.agent.client_id, body['request_uri']))
  }
})
const parsed = (text: string): Record<string, unknown> => (text.startsWith('{') ? JSON.parse(text) : {})

test('an approval is pending, denied, or granted once, and for its client alone', async () => {
  for (const side of [ours, theirs]) {
    const poll = async (auth_req_id: string, by: 'agent' | 'other' = 'agent') => {
      const { status, body } = await post(side.token, clients[by], {
        grant_type: CIBA_GRANT,
        auth_req_id,
        resource,
      })
      return body['error'] ?? status
    }
    const ask = async (action: 'allow' | 'deny') =>
      String((await send(side, 'ask', { binding_message: stepTo(action) })).body['auth_req_id'])
    const denied = await ask('deny')
    expect(await poll(denied)).toBe('authorization_pending')
    await side.decide(denied, 'deny')
    expect([await poll(denied), await poll('unknown')]).toEqual(['access_denied', 'invalid_grant'])
    const allowed = await ask('allow')
    await side.decide(allowed, 'allow')
    expect(await poll(allowed, 'other')).toBe('invalid_grant')
    expect([await poll(allowed), await poll(allowed)]).toEqual([200, 'invalid_grant'])
  }
})

const configured = ({ client_id, client_secret }: NonNullable<Credentials>) => {
  const insecure = { execute: [client.allowInsecureRequests] }
  return client.discovery(new URL(service.issuer), client_id, client_secret, undefined, insecure)
}

test('openid-client pushes a request with details, and narrows them where it redeems the code', async () => {
  const config = await configured(clients.app)
  const verifier = client.randomPKCECodeVerifier()
  const two = [...PAY, { type: 'payment', amount: '7 EUR' }]
  const url = await client.buildAuthorizationUrlWithPAR(config, {
    ...{ redirect_uri: REDIRECT_URI, scope: 'mcp:read', resource, ...details(two) },
    ...{ code_challenge: await client.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
  })
  expect([...url.searchParams.keys()].sort()).toEqual(['client_id', 'request_uri'])
  const callback = await walk(service, url.href, user, browser)
  const tokens = await client.authorizationCodeGrant(config, callback, { pkceCodeVerifier: verifier }, details(PAY))
  expect(tokens.authorization_details).toEqual(PAY)
})

test('openid-client asks a person by CIBA, and polls until the decision', async () => {
  const config = await configured(clients.agent)
  const ask = async (action: 'allow' | 'deny') => {
    const asked = await client.initiateBackchannelAuthentication(config, {
      ...{
        scope: 'openid mcp:read',
        resource,
        login_hint: user.email,
        binding_message: stepTo(action),
        ...details(PAY),
      },
    })
    await ours.decide(asked.auth_req_id, action)
    // It waits before its first poll; the decision is there already.
    return client.pollBackchannelAuthenticationGrant(config, { ...asked, interval: 0.1 })
  }
  const tokens = await ask('allow')
  expect(tokens.authorization_details).toEqual(PAY)
  expect(tokens.claims()?.sub).toBe(user.id)
  await expect(ask('deny')).rejects.toMatchObject({ error: 'access_denied' })
})
