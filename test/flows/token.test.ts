import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answer, authorize, introspect, machineToken, post, redeem, refresh } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const verify = async (answer: Answer) => {
  const keys = createRemoteJWKSet(new URL(`${service.issuer}/.well-known/jwks.json`))
  const { payload } = await jwtVerify(String(answer.body['access_token']), keys, {
    issuer: service.issuer,
    typ: 'at+jwt',
    algorithms: ['ES256'],
  })
  return payload
}
const revoke = (client: { client_id: string; client_secret?: string }, token: unknown, fields = {}) =>
  post(`${service.issuer}/oauth/revoke`, client, { token: String(token), ...fields })

const setUp = async (clientFields: Record<string, unknown> = {}) => {
  const [client, user, resource] = [
    await addClient(service, clientFields),
    await addUser(service),
    await addResource(service),
  ]
  return { client, user, resource }
}
const signedIn = async (fields: Record<string, string | undefined> = {}, clientFields = {}) => {
  const parts = await setUp(clientFields)
  const authorized = await authorize(service, parts.client, parts.user, { resource: parts.resource.uri, ...fields })
  return { ...parts, authorized }
}

describe('authorization_code', () => {
  test('a code returns an at+jwt with the claims of RFC 9068, a refresh token, and records one issuance', async () => {
    const { client, user, resource, authorized } = await signedIn()
    const answer = await redeem(service, client, authorized)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.body).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 900,
      refresh_token: expect.stringMatching(/^rt_[A-Za-z0-9_-]{64}$/),
      scope: 'mcp:read',
    })
    const claims = await verify(answer)
    expect(claims).toEqual({
      iss: service.issuer,
      sub: user.id,
      aud: [resource.uri],
      exp: (claims.iat ?? 0) + 900,
      iat: expect.any(Number),
      jti: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/),
      client_id: client.client_id,
      scope: 'mcp:read',
    })
    const header = decodeProtectedHeader(String(answer.body['access_token']))
    expect(header).toEqual({ typ: 'at+jwt', alg: 'ES256', kid: service.app.keyring.current().kid })
    const issuance = await service.app.store.findIssuance({ id: String(claims.jti) })
    expect(issuance).toMatchObject({
      grant_type: 'authorization_code',
      sub: user.id,
      scope: 'mcp:read',
      kid: header.kid,
    })
  })

  test('without a resource the token has no audience', async () => {
    const { client, authorized } = await signedIn({ resource: undefined })
    expect(await verify(await redeem(service, client, authorized))).not.toHaveProperty('aud')
  })

  test('without the refresh_token grant there is no refresh token', async () => {
    const { client, authorized } = await signedIn({}, { grant_types: ['authorization_code'] })
    expect((await redeem(service, client, authorized)).body).not.toHaveProperty('refresh_token')
  })

  const refusals: [string, Record<string, string | undefined>, string][] = [
    ['another verifier', { code_verifier: 'x'.repeat(43) }, 'invalid_grant'],
    ['a verifier that is too short', { code_verifier: 'short' }, 'invalid_grant'],
    ['no verifier', { code_verifier: undefined }, 'invalid_request'],
    ['another redirect_uri', { redirect_uri: 'https://client.example.com/other' }, 'invalid_grant'],
    ['no redirect_uri although the request had one', { redirect_uri: undefined }, 'invalid_grant'],
    ['a resource that the grant does not cover', { resource: 'https://other.example/mcp' }, 'invalid_target'],
    ['a code that was never issued', { code: `ac_${'A'.repeat(64)}` }, 'invalid_grant'],
    ['no code', { code: undefined }, 'invalid_request'],
    [
      'authorization_details that were not granted',
      { authorization_details: '[{"type":"a"}]' },
      'invalid_authorization_details',
    ],
  ]
  for (const [what, fields, error] of refusals)
    test(`a code request with ${what} is refused with ${error}, and the code stays valid`, async () => {
      const { client, authorized } = await signedIn()
      const refused = await redeem(service, client, authorized, fields)
      expect([refused.status, refused.body['error']]).toEqual([400, error])
      expect((await redeem(service, client, authorized)).status).toBe(200)
    })

  test('a code with a changed secret is refused, and the real one stays valid', async () => {
    const { client, authorized } = await signedIn()
    const { code } = authorized
    const changed = `${code.slice(0, -1)}${code.endsWith('A') ? 'B' : 'A'}`
    expect((await redeem(service, client, { ...authorized, code: changed })).body['error']).toBe('invalid_grant')
    expect((await redeem(service, client, authorized)).status).toBe(200)
  })

  test('the code of another client is refused, and stays valid', async () => {
    const { client, authorized } = await signedIn()
    const other = await addClient(service)
    expect((await redeem(service, other, authorized)).body['error']).toBe('invalid_grant')
    expect((await redeem(service, client, authorized)).status).toBe(200)
  })

  test('a code is valid for a minute', async () => {
    const { client, authorized } = await signedIn()
    service.advance(61)
    expect((await redeem(service, client, authorized)).body['error']).toBe('invalid_grant')
  })

  test('a replay with the verifier revokes the tokens of the first use; one without it revokes nothing', async () => {
    const { client, authorized } = await signedIn()
    const first = await redeem(service, client, authorized)
    const { access_token, refresh_token } = first.body
    await redeem(service, client, authorized, { code_verifier: 'x'.repeat(43) })
    expect((await introspect(service, client, access_token))['active']).toBe(true)
    expect((await redeem(service, client, authorized)).body['error']).toBe('invalid_grant')
    expect(await introspect(service, client, access_token)).toEqual({ active: false })
    expect((await refresh(service, client, refresh_token)).body['error']).toBe('invalid_grant')
  })

  test('of concurrent uses of one code exactly one succeeds, and its tokens are revoked by the second use', async () => {
    const { client, authorized } = await signedIn()
    const answers = await Promise.all(Array.from({ length: 8 }, () => redeem(service, client, authorized)))
    const [won, ...more] = answers.filter((each) => each.status === 200)
    expect(more).toEqual([])
    expect(await introspect(service, client, won?.body['access_token'])).toEqual({ active: false })
  })

  test('a user who was disabled after the consent gets no token', async () => {
    const { client, user, authorized } = await signedIn()
    await service.app.store.updateUser({ user: { ...user, status: 'disabled' }, signOut: true, now: 0 })
    expect((await redeem(service, client, authorized)).body['error']).toBe('invalid_grant')
  })

  test('a public client redeems with its client_id and the verifier', async () => {
    const { client, authorized } = await signedIn({}, { token_endpoint_auth_method: 'none' })
    expect((await redeem(service, { client_id: client.client_id }, authorized)).status).toBe(200)
  })
})

describe('refresh_token', () => {
  const refreshed = async (fields = {}) => {
    const parts = await signedIn({ scope: 'mcp:read mcp:write' })
    const first = await redeem(service, parts.client, parts.authorized)
    return { ...parts, first, answer: await refresh(service, parts.client, first.body['refresh_token'], fields) }
  }

  test('a refresh rotates: a new access token with the same grant, and a new refresh token', async () => {
    const { first, answer, user, resource } = await refreshed()
    expect(answer.status).toBe(200)
    expect(answer.body['refresh_token']).not.toBe(first.body['refresh_token'])
    expect(await verify(answer)).toMatchObject({ sub: user.id, aud: [resource.uri], scope: 'mcp:read mcp:write' })
  })

  test('a refresh can narrow the scope of one access token; the next refresh may request the full scope', async () => {
    const { client, answer } = await refreshed({ scope: 'mcp:write' })
    expect(answer.body['scope']).toBe('mcp:write')
    expect((await refresh(service, client, answer.body['refresh_token'])).body['scope']).toBe('mcp:read mcp:write')
  })

  for (const [what, fields, error] of [
    ['a scope beyond the grant', { scope: 'mcp:admin' }, 'invalid_scope'],
    ['another resource', { resource: 'https://other.example/mcp' }, 'invalid_target'],
  ] as const)
    test(`a refresh with ${what} is refused with ${error}, and the refresh token stays valid`, async () => {
      const { client, first, answer } = await refreshed(fields)
      expect([answer.status, answer.body['error']]).toEqual([400, error])
      expect((await refresh(service, client, first.body['refresh_token'])).status).toBe(200)
    })

  test('a second use ends the family: the newest refresh token and every access token are revoked', async () => {
    const { client, first, answer } = await refreshed()
    const reuse = await refresh(service, client, first.body['refresh_token'])
    expect([reuse.status, reuse.body['error']]).toEqual([400, 'invalid_grant'])
    expect((await refresh(service, client, answer.body['refresh_token'])).body['error']).toBe('invalid_grant')
    expect(await introspect(service, client, answer.body['access_token'])).toEqual({ active: false })
    expect(await introspect(service, client, first.body['access_token'])).toEqual({ active: false })
    const filter = { action: 'refresh_token_reused', client_id: client.client_id, since: '', limit: 5, offset: 0 }
    expect((await service.app.store.listAudit(filter)).length).toBeGreaterThan(0)
  })

  test('of concurrent uses of one refresh token at most one gets a successor, which is revoked', async () => {
    const { client, answer } = await refreshed()
    const token = answer.body['refresh_token']
    const answers = await Promise.all(Array.from({ length: 8 }, () => refresh(service, client, token)))
    const won = answers.filter((each) => each.status === 200)
    expect(won.length).toBeLessThanOrEqual(1)
    for (const each of won)
      expect((await refresh(service, client, each.body['refresh_token'])).body['error']).toBe('invalid_grant')
  })

  test('a refresh token of another client is refused, and its family stays', async () => {
    const { answer, client } = await refreshed()
    const other = await addClient(service)
    expect((await refresh(service, other, answer.body['refresh_token'])).body['error']).toBe('invalid_grant')
    expect((await refresh(service, client, answer.body['refresh_token'])).status).toBe(200)
  })

  test('a refresh token expires a week after the last rotation', async () => {
    const { answer, client } = await refreshed()
    service.advance(168 * 3600 + 1)
    expect((await refresh(service, client, answer.body['refresh_token'])).body['error']).toBe('invalid_grant')
  })

  test('revoking the consent revokes the refresh token and its access tokens at once', async () => {
    const { answer, client, user } = await refreshed()
    const [consent] = await service.app.store.listConsents({ user_id: user.id })
    await service.app.store.revokeConsent({ id: consent?.id ?? '', now: service.app.clock.now() })
    expect(await introspect(service, client, answer.body['access_token'])).toEqual({ active: false })
    expect((await refresh(service, client, answer.body['refresh_token'])).body['error']).toBe('invalid_grant')
  })
})

describe('client_credentials', () => {
  test('the client is the subject, and the resource the audience; there is no refresh token', async () => {
    const { client, resource } = await setUp()
    const answer = await machineToken(service, client, { resource: resource.uri, scope: 'mcp:write' })
    expect(answer.body).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: 'mcp:write' })
    expect(answer.body).not.toHaveProperty('refresh_token')
    expect(await verify(answer)).toMatchObject({
      sub: client.client_id,
      client_id: client.client_id,
      aud: [resource.uri],
    })
  })

  test('without a scope the token has the registered scopes that the resource declares', async () => {
    const client = await addClient(service, { scope: 'mcp:read other:scope' })
    const resource = await addResource(service)
    expect((await machineToken(service, client)).body['scope']).toBe('mcp:read other:scope')
    expect((await machineToken(service, client, { resource: resource.uri })).body['scope']).toBe('mcp:read')
  })

  const refusals: [string, Record<string, string>, number, string][] = [
    ['a scope that it is not registered for', { scope: 'mcp:read mcp:admin' }, 400, 'invalid_scope'],
    ['an unknown resource', { resource: 'https://unknown.example/mcp' }, 400, 'invalid_target'],
    ['a wrong secret', { client_secret: 'cs_wrong' }, 401, 'invalid_client'],
    ['an unknown client', { client_id: 'nobody', client_secret: 'x' }, 401, 'invalid_client'],
    ['no secret', { client_secret: '' }, 401, 'invalid_client'],
  ]
  for (const [what, fields, status, error] of refusals)
    test(`client_credentials with ${what} is refused: ${status} ${error}`, async () => {
      const { client } = await setUp()
      const { client_id, client_secret } = client
      const answer = await post(`${service.issuer}/oauth/token`, undefined, {
        grant_type: 'client_credentials',
        client_id,
        client_secret,
        ...fields,
      })
      expect([answer.status, answer.body['error']]).toEqual([status, error])
      expect(answer.headers.get('www-authenticate') !== null).toBe(status === 401)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(await service.app.store.listIssuances({ client_id, since: '', limit: 1 })).toEqual([])
    })

  test('public clients, suspended clients, clients without the grant, and two authentication methods are refused', async () => {
    const open = await addClient(service, { token_endpoint_auth_method: 'none' })
    expect((await machineToken(service, { ...open, client_secret: '' })).status).toBe(401)
    const suspended = await addClient(service, {}, { status: 'suspended' })
    expect((await machineToken(service, suspended)).body['error']).toBe('invalid_client')
    const web = await addClient(service, { grant_types: ['authorization_code'] })
    expect((await machineToken(service, web)).body['error']).toBe('unauthorized_client')
    const { client } = await setUp()
    expect((await machineToken(service, client, { client_secret: client.client_secret })).body['error']).toBe(
      'invalid_request',
    )
    expect((await machineToken(service, client, { client_id: 'somebody-else' })).body['error']).toBe('invalid_request')
  })

  test('the token of an agent has its identity', async () => {
    const client = await addClient(service, { agent: true })
    expect(await verify(await machineToken(service, client))).toMatchObject({ agent_id: client.client_id })
  })

  test('a disabled grant is unsupported_grant_type, and missing in the metadata', async () => {
    const off = await startService({ SERVICE_CLIENT_CREDENTIALS_ENABLED: 'false' })
    try {
      const client = await addClient(off)
      const answer = await machineToken(off, client)
      expect(answer.body).toMatchObject({ error: 'unsupported_grant_type' })
      expect(String(answer.body['error_description'])).toContain('client_credentials.enabled')
      const metadata = await fetch(`${off.issuer}/.well-known/oauth-authorization-server`)
      expect((await metadata.json()) as object).toHaveProperty(
        'grant_types_supported',
        expect.not.arrayContaining(['client_credentials']),
      )
    } finally {
      await off.close()
    }
  })
})

describe('introspection', () => {
  test('the client of a token and the servers of its resource see its claims; for every other client it is inactive', async () => {
    const { client, resource, user, authorized } = await signedIn()
    const { access_token } = (await redeem(service, client, authorized)).body
    const [server, stranger] = [await addClient(service), await addClient(service)]
    await service.app.store.updateResource({
      ...resource,
      policy: { ...resource.policy, runtime: { client_ids: [server.client_id] } },
    })
    for (const caller of [client, server])
      expect(await introspect(service, caller, access_token)).toMatchObject({
        active: true,
        sub: user.id,
        client_id: client.client_id,
        aud: resource.uri,
        iss: service.issuer,
        scope: 'mcp:read',
        token_type: 'Bearer',
      })
    expect(await introspect(service, stranger, access_token)).toEqual({ active: false })
  })

  test('the signature of a token that this thread did not sign is verified once', async () => {
    const client = await addClient(service)
    const newToken = async () => String((await machineToken(service, client)).body['access_token'])
    // From the first introspection on, signed tokens are cached.
    await introspect(service, client, await newToken())
    const token = await newToken()
    const { jobs } = service.app.crypto.stats.crypto
    const verifications = () => service.app.crypto.stats.crypto.jobs - jobs
    expect((await introspect(service, client, token))['active']).toBe(true)
    expect(verifications()).toBe(0)
    const [head, body, signature = ''] = token.split('.')
    const forged = `${head}.${body}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
    expect(await introspect(service, client, forged)).toEqual({ active: false })
    expect(verifications()).toBe(1)
    // As another thread or instance does.
    service.app.knownTokens.clear()
    for (let asked = 0; asked < 2; asked++) expect((await introspect(service, client, token))['active']).toBe(true)
    expect(verifications()).toBe(2)
    expect(await introspect(service, client, forged)).toEqual({ active: false })
    expect(verifications()).toBe(3)
  })

  test('public clients and missing tokens are refused', async () => {
    const open = await addClient(service, { token_endpoint_auth_method: 'none' })
    const answer = await post(`${service.issuer}/oauth/introspect`, { client_id: open.client_id }, { token: 'x' })
    expect(answer.status).toBe(401)
    const { client } = await setUp()
    expect((await post(`${service.issuer}/oauth/introspect`, client, {})).body['error']).toBe('invalid_request')
  })

  test('refresh tokens, malformed, changed and expired tokens, and tokens of suspended clients and disabled users are inactive', async () => {
    const { client, user, authorized } = await signedIn()
    const { access_token, refresh_token } = (await redeem(service, client, authorized)).body
    const ofMachine = String((await machineToken(service, client)).body['access_token'])
    const [head, body, signature = ''] = ofMachine.split('.')
    const changed = `${head}.${body}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
    const asker = client
    for (const token of [refresh_token, 'garbage', changed, `${ofMachine}=`, `${ofMachine} `])
      expect(await introspect(service, asker, token)).toEqual({ active: false })
    expect((await introspect(service, asker, ofMachine))['active']).toBe(true)
    expect((await introspect(service, asker, access_token))['active']).toBe(true)
    const stored = await service.app.store.findUser({ id: user.id })
    if (!stored) throw new Error('the user is gone')
    await service.app.store.updateUser({ user: { ...stored, status: 'disabled' }, signOut: false, now: 0 })
    expect(await introspect(service, asker, access_token)).toEqual({ active: false })
    expect((await introspect(service, asker, ofMachine))['active']).toBe(true)
    service.advance(3601)
    expect(await introspect(service, asker, ofMachine)).toEqual({ active: false })
  })
})

describe('revocation', () => {
  test('a revoked access token is inactive, and its family stays', async () => {
    const { client, authorized } = await signedIn()
    const { access_token, refresh_token } = (await redeem(service, client, authorized)).body
    const answer = await revoke(client, access_token)
    expect([answer.status, answer.body]).toEqual([200, {}])
    expect(await introspect(service, client, access_token)).toEqual({ active: false })
    expect((await refresh(service, client, refresh_token)).status).toBe(200)
  })

  test('revoking a refresh token revokes the whole family', async () => {
    const { client, authorized } = await signedIn()
    const { access_token, refresh_token } = (await redeem(service, client, authorized)).body
    expect((await revoke(client, refresh_token, { token_type_hint: 'access_token' })).status).toBe(200)
    expect(await introspect(service, client, access_token)).toEqual({ active: false })
    expect((await refresh(service, client, refresh_token)).body['error']).toBe('invalid_grant')
  })

  test('revoking unknown tokens and tokens of others is 200 and changes nothing', async () => {
    const { client } = await setUp()
    const other = await addClient(service)
    const { access_token } = (await machineToken(service, client)).body
    expect((await revoke(other, access_token)).status).toBe(200)
    expect((await revoke(client, 'garbage')).status).toBe(200)
    expect((await introspect(service, client, access_token))['active']).toBe(true)
  })

  test('a refresh token of another client, or with a wrong secret part, revokes nothing', async () => {
    const { client, authorized } = await signedIn()
    const { access_token, refresh_token } = (await redeem(service, client, authorized)).body
    const sameId = `${String(refresh_token).slice(0, -42)}${'A'.repeat(42)}`
    for (const [by, token] of [
      [await addClient(service), refresh_token],
      [client, sameId],
    ] as const)
      expect((await revoke(by, token)).status).toBe(200)
    expect((await introspect(service, client, access_token))['active']).toBe(true)
    expect((await refresh(service, client, refresh_token)).status).toBe(200)
  })

  test('a public client revokes with its client_id; a wrong secret and an unknown token type are refused', async () => {
    const { client, authorized } = await signedIn({}, { token_endpoint_auth_method: 'none' })
    const open = { client_id: client.client_id }
    const { refresh_token } = (await redeem(service, open, authorized)).body
    expect((await revoke(open, refresh_token)).status).toBe(200)
    expect((await refresh(service, open, refresh_token)).body['error']).toBe('invalid_grant')
    const { client: closed } = await setUp()
    expect((await revoke({ ...closed, client_secret: 'cs_wrong' }, 'x')).status).toBe(401)
    const hinted = await revoke(closed, 'x', { token_type_hint: 'id_token' })
    expect([hinted.status, hinted.body['error']]).toEqual([400, 'unsupported_token_type'])
  })
})

describe('malformed requests at the token endpoint', () => {
  const send = async (body: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${service.issuer}/oauth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body,
    })
    const problem = (await response.json()) as Record<string, unknown>
    return { status: response.status, body: problem, type: response.headers.get('content-type') }
  }
  const cases: [string, string, number, string][] = [
    ['an empty body', '', 400, 'invalid_request'],
    ['a parameter with two values', 'grant_type=client_credentials&grant_type=refresh_token', 400, 'invalid_request'],
    [
      'several resources',
      'grant_type=client_credentials&resource=https%3A%2F%2Fa.example&resource=https%3A%2F%2Fb.example',
      400,
      'invalid_target',
    ],
    ['a NUL', 'grant_type=client_credentials%00', 400, 'invalid_request'],
    ['bytes that are not UTF-8', 'grant_type=%ff%fe', 400, 'invalid_request'],
    ['a broken escape', 'grant_type=%zz', 400, 'invalid_request'],
    ['an unknown grant', 'grant_type=password', 400, 'unsupported_grant_type'],
    ['a body of 100 KB', `grant_type=${'x'.repeat(100_000)}`, 413, 'content_too_large'],
  ]
  for (const [what, body, status, error] of cases)
    test(`${what}: ${status} ${error} as a problem document`, async () => {
      const answer = await send(body)
      expect([answer.status, answer.body['error']]).toEqual([status, error])
      expect(answer.type).toBe('application/problem+json')
      expect(answer.body).toMatchObject({ error_description: expect.any(String), title: expect.any(String), status })
    })

  test('JSON is refused with 415, and a client that accepts only application/json gets it', async () => {
    expect((await send('{}', { 'content-type': 'application/json' })).status).toBe(415)
    expect((await send('x', { accept: 'application/json' })).type).toBe('application/json')
  })

  test('GET is refused with 405 and Allow', async () => {
    const response = await fetch(`${service.issuer}/oauth/token`)
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
  })
})
