// The OpenID provider (oauth.openid): ID tokens of the code and refresh grants, their claims, scopes and consents, and the metadata.
import { createHash } from 'node:crypto'
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../src/records/client.ts'
import { okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { addDeviceClient, askForCode, codesOf, DEVICES, decideFor, deviceScene, poll } from '../support/device.ts'
import {
  type Answer,
  authorize,
  authorizeUrl,
  claimsOf,
  decide,
  expectRefused,
  introspect,
  redeem,
  refresh,
  signIn,
} from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
let off: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_OAUTH_OPENID: 'true' })
  off = await startService()
})
afterAll(() => Promise.all([service, off].map((each) => each.close())))

const EVERYTHING = 'openid profile email offline_access mcp:read mcp:write groups'
const anApp = (fields: object = {}, at = service) => addClient(at, { scope: EVERYTHING, ...fields })
type App = Client & { client_secret: string }

/** Signs a user in and redeems the code. */
async function signedIn(fields: Record<string, string | undefined> = {}, app?: App) {
  const [client, user] = [app ?? (await anApp()), await addUser(service)]
  const authorized = await authorize(service, client, user, { scope: 'openid', ...fields })
  return { client, user, authorized, answer: await redeem(service, client, authorized) }
}

/** The claims of an ID token, verified as a client does. */
async function idTokenOf({ status, body }: Answer, client: { client_id: string }, at = service): Promise<JWTPayload> {
  expect(status, JSON.stringify(body)).toBe(200)
  const keys = createLocalJWKSet(await bodyOf<JSONWebKeySet>(`${at.issuer}/.well-known/jwks.json`))
  const currentDate = new Date(at.app.clock.now() * 1000)
  const expected = { issuer: at.issuer, audience: client.client_id, typ: 'JWT', currentDate }
  return (await jwtVerify(String(body['id_token']), keys, expected)).payload
}

const leftHalf = (text: unknown) =>
  createHash('sha256').update(String(text)).digest().subarray(0, 16).toString('base64url')
const bodyOf = async <T>(url: string) => (await (await fetch(url)).json()) as T
const metadata = ({ issuer }: TestService, name = 'openid-configuration') =>
  bodyOf<
    Record<
      'scopes_supported' | 'acr_values_supported' | 'claims_supported' | 'id_token_signing_alg_values_supported',
      string[]
    >
  >(`${issuer}/.well-known/${name}`)

describe('ID token', () => {
  test('the code grant issues an ID token with iss, sub, aud, exp, iat, auth_time, nonce, at_hash and amr, signed by the current key', async () => {
    const resource = await addResource(service)
    const before = service.app.clock.now()
    const { client, user, answer } = await signedIn({ scope: 'openid mcp:read', resource: resource.uri, nonce: 'n-1' })
    const { exp, iat, auth_time, ...claims } = await idTokenOf(answer, client)
    expect(claims).toEqual({
      iss: service.issuer,
      sub: user.id,
      aud: client.client_id,
      nonce: 'n-1',
      at_hash: leftHalf(answer.body['access_token']),
      amr: ['pwd'],
      sid: expect.any(String),
    })
    expect([exp, iat]).toEqual([Number(iat) + Number(answer.body['expires_in']), expect.any(Number)])
    expect(auth_time).toBeGreaterThanOrEqual(before)
    expect(claimsOf(answer)).toMatchObject({ aud: [resource.uri], scope: 'openid mcp:read', auth_time })
  })

  test('without a nonce the ID token has none, and without the scope openid there is no ID token and no auth_time', async () => {
    const { client, answer } = await signedIn()
    expect(await idTokenOf(answer, client)).not.toHaveProperty('nonce')
    const plain = await signedIn({ scope: 'mcp:read', resource: (await addResource(service)).uri })
    expect(claimsOf(plain.answer)).not.toHaveProperty('auth_time')
    expect(plain.answer.body).not.toHaveProperty('id_token')
  })

  test('the refresh grant issues an ID token of the same sign-in, for the new access token and without nonce', async () => {
    const { client, user, answer } = await signedIn({ nonce: 'n-1' })
    service.advance(60)
    const next = await refresh(service, client, answer.body['refresh_token'])
    const { auth_time } = await idTokenOf(answer, client)
    const claims = await idTokenOf(next, client)
    expect(claims).toMatchObject({ sub: user.id, auth_time, at_hash: leftHalf(next.body['access_token']) })
    expect(claims).not.toHaveProperty('nonce')
    expect(claims.iat).toBeGreaterThan(Number(auth_time))
  })

  test('a refresh that does not ask for openid gets no ID token, and a later one may ask again', async () => {
    const resource = (await addResource(service)).uri
    const { client, answer } = await signedIn({ scope: 'openid mcp:read', resource })
    const less = await refresh(service, client, answer.body['refresh_token'], { scope: 'mcp:read' })
    expect(claimsOf(less)['scope']).toBe('mcp:read')
    expect(less.body).not.toHaveProperty('id_token')
    const again = await refresh(service, client, less.body['refresh_token'])
    expect(await idTokenOf(again, client)).toMatchObject({ aud: client.client_id })
  })

  test('a refresh that asks for an OpenID scope that was not granted is refused, as for every other scope', async () => {
    const { client, answer } = await signedIn({ scope: 'openid profile' })
    const granted = await refresh(service, client, answer.body['refresh_token'], { scope: 'profile openid' })
    expect(granted.body['scope']).toBe('profile openid')
    for (const scope of ['email', 'openid email', 'offline_access'])
      expectRefused(await refresh(service, client, granted.body['refresh_token'], { scope }), 'invalid_scope')
    const resource = (await addResource(service)).uri
    const plain = await signedIn({ scope: 'mcp:read', resource })
    for (const scope of ['openid', 'mcp:read openid'])
      expectRefused(
        await refresh(service, plain.client, plain.answer.body['refresh_token'], { scope }),
        'invalid_scope',
      )
  })

  test('the claims are those of the granted scopes, as they are now', async () => {
    const { uri: resource } = await addResource(service)
    for (const [fields, names] of [
      [{ scope: 'openid' }, []],
      [{ scope: 'openid email' }, []],
      [{ scope: 'openid email mcp:read', resource }, ['email', 'email_verified']],
      [{ scope: 'openid profile' }, ['name', 'updated_at']],
      [{ scope: 'openid groups' }, ['groups']],
    ] as const) {
      const { client, user, answer } = await signedIn(fields)
      const about = {
        email: user.email,
        email_verified: true,
        name: user.name,
        groups: [],
        updated_at: user.updated_at,
      }
      const expected = Object.fromEntries(names.map((name) => [name, about[name]]))
      const claims = await idTokenOf(answer, client)
      expect(Object.fromEntries(Object.entries(claims).filter(([name]) => name in about))).toEqual(expected)
    }
    const { client, user, answer } = await signedIn({ scope: 'openid profile' })
    await okAdmin(service, 'PATCH', `/admin/users/${user.id}`, { name: 'Ada King' })
    const next = await refresh(service, client, answer.body['refresh_token'])
    expect(await idTokenOf(next, client)).toMatchObject({ name: 'Ada King' })
  })

  test('claims without a value are left out, and the token response may not be cached', async () => {
    const [client, user] = [await anApp(), await addUser(service, { name: '' })]
    const authorized = await authorize(service, client, user, { scope: 'openid profile' })
    const answer = await redeem(service, client, authorized)
    expect(await idTokenOf(answer, client)).not.toHaveProperty('name')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const headers = { authorization: `Bearer ${String(answer.body['access_token'])}` }
    expect(await (await fetch(`${service.issuer}/oauth/userinfo`, { headers })).json()).toEqual({
      sub: user.id,
      updated_at: expect.any(Number),
    })
  })

  test('a resource whose tokens have the typ JWT gets its token beside the ID token', async () => {
    const { id, uri } = await addResource(service)
    await okAdmin(service, 'PATCH', `/admin/resources/${id}`, { access_token_typ: 'JWT' })
    const { client, answer } = await signedIn({ scope: 'openid mcp:read', resource: uri })
    expect(await idTokenOf(answer, client)).toMatchObject({ aud: client.client_id })
    expect(await introspect(service, client, answer.body['access_token'])).toMatchObject({ active: true, aud: uri })
  })
})

describe('scopes', () => {
  test('openid without a resource gives a token whose audience is the issuer, and scopes of resources are left out', async () => {
    const resource = await addResource(service)
    const { client, answer } = await signedIn({ scope: `openid email address ${resource.scopes[0]?.name}` })
    expect(claimsOf(answer)).toMatchObject({ aud: [service.issuer], scope: 'openid email' })
    expect(await introspect(service, client, answer.body['access_token'])).toMatchObject({ aud: service.issuer })
  })

  test('profile and email mean nothing without openid, and offline_access does', async () => {
    const resource = (await addResource(service)).uri
    const { answer } = await signedIn({ scope: 'profile email offline_access mcp:read', resource })
    expect(answer.body['scope']).toBe('offline_access mcp:read')
  })

  test('the scope that an operator set limits the scopes of the sign-in too', async () => {
    const [client, user, resource] = [
      await anApp({ scope: 'openid mcp:read' }),
      await addUser(service),
      await addResource(service),
    ]
    const fields = { scope: 'openid email mcp:read', resource: resource.uri }
    const { body } = await redeem(service, client, await authorize(service, client, user, fields))
    expect(body['scope']).toBe('openid mcp:read')
    const machine = await anApp({ scope: 'mcp:read' })
    const { callback } = await authorize(service, machine, user, { scope: 'openid' })
    expect(callback.searchParams.get('error')).toBe('invalid_scope')
  })

  test('a grant whose scopes of the resource are gone is refused, even when openid is left', async () => {
    const resource = await addResource(service)
    const { client, answer } = await signedIn({ scope: 'openid mcp:read', resource: resource.uri })
    await okAdmin(service, 'PATCH', `/admin/resources/${resource.id}`, { scopes: [{ name: 'mcp:write' }] })
    expectRefused(await refresh(service, client, answer.body['refresh_token']), 'invalid_scope')
  })

  test('a user who lost every scope of a restricted resource gets nothing, even when openid is left', async () => {
    const resource = await addResource(service, { scope_groups: { 'mcp:read': ['editors'] } })
    const [client, user] = [await anApp(), await addUser(service, { operator_groups: ['editors'] })]
    const fields = { scope: 'openid mcp:read', resource: resource.uri }
    const { body } = await redeem(service, client, await authorize(service, client, user, fields))
    await okAdmin(service, 'PATCH', `/admin/users/${user.id}`, { groups: [] })
    expect(await introspect(service, client, body['access_token'])).toEqual({ active: false })
    expectRefused(await refresh(service, client, body['refresh_token']), 'invalid_grant')
  })
})

interface Consents {
  consent_grants: { id: string }[]
}
const consentsOf = async ({ id }: { id: string }) =>
  (await okAdmin<Consents>(service, 'GET', `/admin/users/${id}/grants`)).consent_grants

describe('consent', () => {
  test('the page explains each scope, and a box that is not checked is not granted', async () => {
    const [client, user, browser] = [await anApp(), await addUser(service), new Browser()]
    const url = authorizeUrl(service, { client_id: client.client_id, scope: 'openid profile email' })
    const { location = '' } = await signIn(service, browser, await browser.follow(url), user.email)
    const page = await browser.follow(location)
    for (const text of ['Know which account you use here', 'See your name', 'See your email address'])
      expect(page.text).toContain(text)
    const answer = await decide(service, browser, page, 'allow', ['openid', 'profile'])
    expect(answer.location).toContain('code=')
    expect(await consentsOf(user)).toMatchObject([{ resource_id: 'openid', scopes: ['openid', 'profile'] }])
  })

  test('a sign-in that the user has allowed needs no page, until the user or an operator ends it', async () => {
    const [client, user, browser] = [await anApp(), await addUser(service), new Browser()]
    const first = await authorize(service, client, user, { scope: 'openid' }, browser)
    const { body } = await redeem(service, client, first)
    const silent = await authorize(service, client, user, { scope: 'openid', prompt: 'none' }, browser)
    expect(silent.code).not.toBe('')
    const more = await authorize(service, client, user, { scope: 'openid email', prompt: 'none' }, browser)
    expect(more.callback.searchParams.get('error')).toBe('consent_required')
    const [consent] = await consentsOf(user)
    await okAdmin(service, 'DELETE', `/admin/grants/consent/${consent?.id}`)
    expect(await introspect(service, client, body['access_token'])).toEqual({ active: false })
    const ended = await authorize(service, client, user, { scope: 'openid', prompt: 'none' }, browser)
    expect(ended.callback.searchParams.get('error')).toBe('consent_required')
  })
})

describe('metadata', () => {
  test('both documents name exactly what is offered', async () => {
    const document = await metadata(service)
    expect(await metadata(service, 'oauth-authorization-server')).toEqual(document)
    expect(document).toMatchObject({
      userinfo_endpoint: `${service.issuer}/oauth/userinfo`,
      end_session_endpoint: `${service.issuer}/oauth/logout`,
      prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
      ui_locales_supported: ['en', 'de', 'es'],
      claims_parameter_supported: false,
      request_parameter_supported: false,
      request_uri_parameter_supported: false,
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256', 'ES256'],
    })
    expect(document.scopes_supported.slice(0, 4)).toEqual(['openid', 'profile', 'email', 'offline_access'])
    expect(document.claims_supported).toEqual(
      expect.arrayContaining(['sub', 'auth_time', 'acr', 'amr', 'email_verified']),
    )
    expect(document.acr_values_supported).toEqual(['mfa', 'phr'])
  })

  test('without oauth.openid nothing of it is offered, and its scopes and parameters are left out', async () => {
    const document = await metadata(off)
    for (const member of ['userinfo_endpoint', 'end_session_endpoint', 'claims_supported', 'prompt_values_supported'])
      expect(document).not.toHaveProperty(member)
    const [client, user, resource] = [await anApp({}, off), await addUser(off), await addResource(off)]
    const fields = { scope: 'openid mcp:read', resource: resource.uri, nonce: 'n', max_age: '0', acr_values: 'x' }
    const answer = await redeem(off, client, await authorize(off, client, user, fields))
    expect(claimsOf(answer)).not.toHaveProperty('auth_time')
    expect(answer.body).not.toHaveProperty('id_token')
    expect(answer.body['scope']).toBe('mcp:read')
    for (const path of ['/oauth/userinfo', '/oauth/logout'])
      expect((await fetch(off.issuer + path, { redirect: 'manual' })).status).toBe(404)
  })
})

test('with signing.algorithm RS256 no further key is made for clients that want RS256', async () => {
  const own = await startService({ SERVICE_OAUTH_OPENID: 'true', SERVICE_SIGNING_ALGORITHM: 'RS256' })
  try {
    const [client, user] = [await anApp({}, own), await addUser(own)]
    const answer = await redeem(own, client, await authorize(own, client, user, { scope: 'openid' }))
    const { at_hash } = await idTokenOf(answer, client, own)
    expect(at_hash).toBe(leftHalf(answer.body['access_token']))
    expect(decodeProtectedHeader(String(answer.body['id_token'])).alg).toBe('RS256')
    expect((await metadata(own)).id_token_signing_alg_values_supported).toEqual(['RS256', 'ES256'])
    expect(own.app.keyring.published().map(({ alg }) => alg)).toEqual(['RS256', 'RS256'])
  } finally {
    await own.close()
  }
})

describe('the device grant', () => {
  test('with the scope openid issues an ID token without nonce, about the sign-in of the user who entered the code', async () => {
    const devices = await startService({ ...DEVICES, SERVICE_OAUTH_OPENID: 'true' })
    try {
      const { user, resource, browser } = await deviceScene(devices)
      const client = await addDeviceClient(devices, { scope: 'openid email mcp:read' })
      const now = devices.app.clock.now()
      const [session] = await devices.app.store.listSessions({ user_id: user.id, now })
      devices.advance(30)
      for (const [scope, fields] of [
        ['openid email mcp:read', { resource: resource.uri }],
        ['openid email', {}],
      ] as const) {
        const codes = codesOf(await askForCode(devices, client, { scope, nonce: 'n-1', ...fields }))
        await decideFor(devices, browser, codes)
        const answer = await poll(devices, client, codes)
        const { iat = 0, ...claims } = await idTokenOf(answer, client, devices)
        const { access_token, refresh_token } = answer.body
        const expected = { iss: devices.issuer, sub: user.id, aud: client.client_id, amr: ['pwd'] }
        expect(claims).toMatchObject({ ...expected, at_hash: leftHalf(access_token) })
        expect(claims['email']).toBe('resource' in fields ? user.email : undefined)
        expect(claims).not.toHaveProperty('nonce')
        expect(claims['auth_time']).toBe(session?.created_at)
        expect(iat - Number(claims['auth_time'])).toBeGreaterThanOrEqual(30)
        expect(claimsOf(answer)['auth_time']).toBe(claims['auth_time'])
        const refreshed = await idTokenOf(await refresh(devices, client, refresh_token), client, devices)
        expect([refreshed['auth_time'], refreshed['nonce']]).toEqual([claims['auth_time'], undefined])
        const headers = { authorization: `Bearer ${String(access_token)}` }
        const { status } = await fetch(`${devices.issuer}/oauth/userinfo`, { headers })
        expect(status).toBe('resource' in fields ? 401 : 200)
      }
      const plain = codesOf(await askForCode(devices, client, { scope: 'mcp:read', resource: resource.uri }))
      await decideFor(devices, browser, plain)
      expect((await poll(devices, client, plain)).body).not.toHaveProperty('id_token')
    } finally {
      await devices.close()
    }
  })
})
