// GET and POST /oauth/userinfo (OpenID Connect Core §5.3).
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { dpop, type ProofKey, proofKey, proofOf } from '../support/dpop.ts'
import { authorize, authorizeUrl, decide, post, redeem } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_OAUTH_OPENID: 'true' })
})
afterAll(() => service.close())

async function tokenFor(scope: string, resource?: string, key?: ProofKey) {
  const [client, user] = [await addClient(service, { scope: 'openid profile email mcp:read' }), await addUser(service)]
  const authorized = await authorize(service, client, user, { scope, resource })
  const { body } = await redeem(service, client, authorized, {}, key ? await dpop(service, key) : {})
  return { client, user, browser: authorized.browser, token: String(body['access_token']) }
}

async function ask(authorization?: string, headers: Record<string, string> = {}, method = 'GET') {
  const sent = { ...(authorization === undefined ? {} : { authorization }), ...headers }
  const response = await fetch(`${service.issuer}/oauth/userinfo`, { method, headers: sent })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  }
}

test('GET and POST answer with the claims of the granted scopes, and may not be cached', async () => {
  const { user, token } = await tokenFor('openid email')
  for (const method of ['GET', 'POST']) {
    const { status, headers, body } = await ask(`Bearer ${token}`, {}, method)
    expect([status, body]).toEqual([200, { sub: user.id, email: user.email, email_verified: true }])
    expect(headers.get('content-type')).toBe('application/json')
    expect(headers.get('cache-control')).toBe('no-store')
  }
  const profile = await tokenFor('openid profile')
  expect((await ask(`bearer ${profile.token}`)).body).toEqual({
    sub: profile.user.id,
    name: profile.user.name,
    updated_at: expect.any(Number),
  })
})

test('the token may be in a form, but not also in the header', async () => {
  const { user, token: access_token } = await tokenFor('openid')
  const url = `${service.issuer}/oauth/userinfo`
  expect((await post(url, undefined, { access_token })).body).toEqual({ sub: user.id })
  const twice = await post(url, undefined, { access_token }, { authorization: `Bearer ${access_token}` })
  expect([twice.status, twice.body['error']]).toEqual([400, 'invalid_request'])
  const inUrl = await fetch(`${url}?access_token=${access_token}`)
  expect(inUrl.status).toBe(401)
})

test('the claims are those of the user now, and a disabled user has none', async () => {
  const { user, token } = await tokenFor('openid profile')
  await okAdmin(service, 'PATCH', `/admin/users/${user.id}`, { name: 'Ada King' })
  expect((await ask(`Bearer ${token}`)).body).toMatchObject({ name: 'Ada King' })
  await okAdmin(service, 'PATCH', `/admin/users/${user.id}/disable`)
  expect(await ask(`Bearer ${token}`)).toMatchObject({ status: 401, body: { error: 'invalid_token' } })
})

test('a token of a resource, of a machine, an unknown and a revoked one are refused with a challenge', async () => {
  const resource = (await addResource(service)).uri
  const revoked = await tokenFor('openid')
  await post(`${service.issuer}/oauth/revoke`, revoked.client, { token: revoked.token })
  const refused = [revoked.token, (await tokenFor('openid mcp:read', resource)).token, 'not-a-token']
  for (const token of refused) {
    const { status, headers, body } = await ask(`Bearer ${token}`)
    expect([status, body['error']]).toEqual([401, 'invalid_token'])
    expect(headers.get('www-authenticate')).toMatch(/^Bearer realm="userinfo", error="invalid_token", DPoP /)
  }
  const { status, headers } = await ask()
  expect([status, headers.get('www-authenticate')]).toEqual([
    401,
    'Bearer realm="userinfo", DPoP realm="userinfo", algs="ES256 RS256 PS256"',
  ])
})

test('a bound token needs the scheme DPoP and a proof of its key for this request and this token, once', async () => {
  const [key, other] = [await proofKey(), await proofKey()]
  const { user, token } = await tokenFor('openid', undefined, key)
  const ath = createHash('sha256').update(token).digest('base64url')
  const claims = { htm: 'GET', htu: `${service.issuer}/oauth/userinfo`, ath }
  const proof = (changes = {}, by = key) => proofOf(service, by, { claims: { ...claims, ...changes } })
  const right = await proof()
  expect((await ask(`DPoP ${token}`, { dpop: right })).body).toEqual({ sub: user.id })
  const wrong: [string, string | undefined][] = [
    ['DPoP', right],
    ['DPoP', undefined],
    ['Bearer', undefined],
    ['Bearer', await proof()],
    ['DPoP', await proof({ ath: undefined })],
    ['DPoP', await proof({ ath: createHash('sha256').update('other').digest('base64url') })],
    ['DPoP', await proof({ htm: 'POST' })],
    ['DPoP', await proof({ htu: `${service.issuer}/oauth/token` })],
    ['DPoP', await proof({}, other)],
  ]
  for (const [scheme, text] of wrong) {
    const { status, headers } = await ask(`${scheme} ${token}`, text === undefined ? {} : { dpop: text })
    expect([status, scheme], text).toEqual([401, scheme])
    expect(headers.get('www-authenticate')).toContain('DPoP realm="userinfo", error=')
  }
  const bearer = await tokenFor('openid')
  expect((await ask(`DPoP ${bearer.token}`, { dpop: await proof() })).status).toBe(401)
})

test('a scope that the user or the operator removes is gone at once, and without openid the token is refused', async () => {
  const { client, user, browser, token } = await tokenFor('openid profile email')
  const updated_at = expect.any(Number)
  const all = { sub: user.id, name: user.name, updated_at, email: user.email, email_verified: true }
  expect((await ask(`Bearer ${token}`)).body).toEqual(all)

  const fields = { client_id: client.client_id, scope: 'openid profile email', prompt: 'consent' }
  await decide(service, browser, await browser.follow(authorizeUrl(service, fields)), 'allow', ['openid', 'profile'])
  expect((await ask(`Bearer ${token}`)).body).toEqual({ sub: user.id, name: user.name, updated_at })

  await okAdmin(service, 'PATCH', `/admin/clients/${client.client_id}`, { scope: 'openid mcp:read' })
  expect((await ask(`Bearer ${token}`)).body).toEqual({ sub: user.id })

  await okAdmin(service, 'PATCH', `/admin/clients/${client.client_id}`, { scope: 'mcp:read' })
  const { status, headers, body } = await ask(`Bearer ${token}`)
  expect([status, body['error']]).toEqual([403, 'insufficient_scope'])
  expect(headers.get('www-authenticate')).toContain('error="insufficient_scope", scope="openid"')
})

test('scripts of allowed origins may call userinfo, and those of others may not', async () => {
  const origin = 'https://app.example'
  const own = await startService({ SERVICE_OAUTH_OPENID: 'true', SERVICE_SERVER_ALLOWED_ORIGINS: origin })
  const ask = (from: string, method: string) => {
    const preflight = {
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization, dpop',
    }
    return fetch(`${own.issuer}/oauth/userinfo`, { method, headers: { origin: from, ...preflight } })
  }
  try {
    const { headers } = await ask(origin, 'OPTIONS')
    expect(headers.get('access-control-allow-origin')).toBe(origin)
    expect(headers.get('access-control-allow-headers')?.toLowerCase()).toContain('authorization')
    const refused = await ask(origin, 'GET')
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, origin])
    expect((await ask('https://evil.example', 'GET')).headers.get('access-control-allow-origin')).toBeNull()
  } finally {
    await own.close()
  }
})
