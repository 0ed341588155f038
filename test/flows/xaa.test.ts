// Identity assertions (ID-JAG) at the token endpoint: tokens, the order of refusals, and single use.
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { dpop, type ProofKey, proofKey } from '../support/dpop.ts'
import { exchange } from '../support/exchange.ts'
import { type Answer, introspect, post } from '../support/flow.ts'
import { type IdpKey, idpKey } from '../support/idp.ts'
import { addClient, addUser, startService, type TestService } from '../support/service.ts'
import {
  addXaaClient,
  JWT_BEARER,
  LOOPBACK,
  mapSubject,
  redeemAssertion,
  type Scene,
  watchReasons,
  xaaScene,
} from '../support/xaa.ts'

let service: TestService
let strict: TestService
let scene: Scene
let strictScene: Scene
let reasonOf: (answer: Answer) => string | undefined
let key: ProofKey
beforeAll(async () => {
  service = await startService({ ...LOOPBACK, SERVICE_TOKEN_EXCHANGE_ALLOW_SELF_EXCHANGE: 'true' })
  strict = await startService({
    ...LOOPBACK,
    SERVICE_XAA_SUBJECT_MODE: 'strict',
    SERVICE_XAA_REQUIRE_RESOURCE: 'true',
    SERVICE_XAA_TOKEN_EXPIRY: '10m',
  })
  const watches = [watchReasons(service), watchReasons(strict)]
  reasonOf = (answer) => watches.map((watch) => watch(answer)).find(Boolean)
  ;[scene, strictScene] = [await xaaScene(service), await xaaScene(strict)]
  key = await proofKey()
})
afterAll(() => Promise.all([service.close(), strict.close()]))

const claimsOf = async (answer: Answer, at = service) => {
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  const keys = createRemoteJWKSet(new URL(`${at.issuer}/.well-known/jwks.json`))
  const currentDate = new Date(at.app.clock.now() * 1000)
  const options = { issuer: at.issuer, typ: 'at+jwt', currentDate }
  return (await jwtVerify(String(answer.body['access_token']), keys, options)).payload
}
const refusal = (answer: Answer) => [answer.status, answer.body['error'], reasonOf(answer)]

describe('a redeemed assertion', () => {
  test('an assertion returns an at+jwt for its subject and resource, no refresh token, and records one issuance', async () => {
    const { client, resource, idp, assertion, redeem } = scene
    const answer = await redeem(await assertion())
    expect(answer.body).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'mcp:read mcp:write',
    })
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const claims = await claimsOf(answer)
    expect(claims).toEqual({
      ...{ iss: service.issuer, sub: `${idp.issuer}:employee-1`, aud: [resource.uri], client_id: client.client_id },
      ...{
        iat: expect.any(Number),
        exp: (claims.iat ?? 0) + 3600,
        jti: expect.any(String),
        scope: 'mcp:read mcp:write',
      },
    })
    const row = await service.app.store.findIssuance({ id: String(claims.jti) })
    expect(row).toMatchObject({ grant_type: 'jwt_bearer', sub: claims.sub, client_id: client.client_id })
    expect((await service.app.metrics.render()).text).toContain('core_tokens_issued_total{grant_type="jwt_bearer"}')
  })

  test.each(['ES256', 'RS256', 'PS256'])('an assertion may be signed with %s', async (alg) => {
    const { assertion, redeem } = await xaaScene(service, { alg })
    expect((await redeem(await assertion())).status).toBe(200)
  })

  test('the requested resource must be named by the assertion, unless the assertion names none', async () => {
    const { resource, assertion, redeem } = scene
    const named = { resource: resource.uri }
    for (const asserted of [undefined, [resource.uri], ['https://another.example', resource.uri]]) {
      const answer = await redeem(await assertion({ claims: { resource: asserted } }), named)
      expect((await claimsOf(answer)).aud).toEqual([resource.uri])
    }
    const untargeted = await redeem(await assertion({ claims: { resource: undefined } }))
    expect(await claimsOf(untargeted)).not.toHaveProperty('aud')
  })

  test('the scope is limited by client, resource, assertion and request', async () => {
    const { assertion, redeem, resource } = await xaaScene(service, {
      client: { scope: 'mcp:read mcp:write mcp:other' },
    })
    const scopeOf = async (asserted?: string, requested?: string) =>
      (await redeem(await assertion({ claims: { scope: asserted } }), { scope: requested })).body['scope']
    expect(await scopeOf()).toBe('mcp:read mcp:write')
    expect(await scopeOf('mcp:write mcp:unknown')).toBe('mcp:write')
    expect(await scopeOf(undefined, 'mcp:read')).toBe('mcp:read')
    expect(await scopeOf('mcp:read mcp:write', 'mcp:write')).toBe('mcp:write')
    expect(resource.scopes.map(({ name }) => name)).toEqual(['mcp:read', 'mcp:write'])
  })

  test('the token lives for xaa.token_expiry; aud may be an array of one, or the audience of the registry', async () => {
    await mapSubject(strict, strictScene.idp_id, 'employee-1', 'payroll')
    const answer = await strictScene.redeem(await strictScene.assertion({ claims: { aud: [strict.issuer] } }))
    expect([answer.body['expires_in'], (await claimsOf(answer, strict)).sub]).toEqual([600, 'payroll'])
    await okAdmin(strict, 'PUT', `/admin/idps/${strictScene.idp_id}`, { audience: 'urn:example:as' })
    const { redeem, assertion } = strictScene
    expect(refusal(await redeem(await assertion()))).toEqual([400, 'invalid_grant', 'audience'])
    expect((await redeem(await assertion({ claims: { aud: 'urn:example:as' } }))).status).toBe(200)
    await okAdmin(strict, 'PUT', `/admin/idps/${strictScene.idp_id}`, { audience: strict.issuer })
  })

  test('the token is bound to the key of the proof in the request', async () => {
    const { client, redeem, assertion } = scene
    const answer = await redeem(await assertion(), {}, await dpop(service, key))
    expect([answer.body['token_type'], (await claimsOf(answer))['cnf']]).toEqual(['DPoP', { jkt: key.jkt }])
    const seen = await introspect(service, client, answer.body['access_token'])
    expect(seen).toMatchObject({ active: true, token_type: 'DPoP', cnf: { jkt: key.jkt } })
  })
})

/** The parts of a request; each of them may be wrong. */
interface Attempt {
  client: { client_id: string; client_secret: string }
  text?: string
  header: Record<string, unknown>
  claims: Record<string, unknown>
  key?: IdpKey
  fields: Record<string, string | undefined>
  headers: Record<string, string>
}

test('of several faults only the first one in order is reported', async () => {
  const { client, idp, idp_id, resource, assertion } = await xaaScene(service, { policies: [{ enabled: false }] })
  const [machine, user] = [await addClient(service), await addUser(service, { status: 'disabled' })]
  await mapSubject(service, idp_id, 'employee-1', user.id)
  const a: Attempt = {
    client: { ...machine, client_secret: 'cs_wrong' },
    text: '',
    header: { typ: 'JWT', kid: 7 },
    claims: {
      ...{ iss: 'https://unknown.example', exp: 1, iat: 'now', nbf: 'now', aud: 'x', sub: '', jti: '', client_id: 'x' },
      ...{ scope: 7, authorization_details: [], resource: [], cnf: {} },
    },
    key: await idpKey(),
    fields: { resource: 'https://unknown.example', scope: '"' },
    headers: { dpop: 'no-proof' },
  }
  const drop = (name: string) => () => void delete a.claims[name]
  const order: [status: number, code: string, reason: string, correct: () => unknown][] = [
    [401, 'invalid_client', 'wrong_secret', () => Object.assign(a, { client: machine })],
    [400, 'unauthorized_client', 'grant_not_registered', () => Object.assign(a, { client })],
    [400, 'invalid_dpop_proof', 'malformed', () => Object.assign(a, { headers: {} })],
    [400, 'invalid_grant', 'missing_assertion', () => Object.assign(a, { text: 'x' })],
    [400, 'invalid_grant', 'malformed', () => Object.assign(a, { text: undefined })],
    [400, 'invalid_grant', 'typ', () => delete a.header['typ']],
    [400, 'invalid_grant', 'unknown_issuer', drop('iss')],
    [400, 'invalid_grant', 'kid', () => Object.assign(a.header, { kid: idp.key.kid })],
    [400, 'invalid_grant', 'signature', () => delete a.key],
    [400, 'invalid_grant', 'expired', drop('exp')],
    [400, 'invalid_grant', 'iat', () => Object.assign(a.claims, { iat: 1 })],
    [400, 'invalid_grant', 'too_old', drop('iat')],
    [400, 'invalid_grant', 'nbf', drop('nbf')],
    [400, 'invalid_grant', 'audience', drop('aud')],
    [400, 'invalid_grant', 'sub', drop('sub')],
    [400, 'invalid_grant', 'jti', drop('jti')],
    [400, 'invalid_grant', 'another_client', drop('client_id')],
    [400, 'invalid_grant', 'scope', () => Object.assign(a.claims, { scope: 'no:such' })],
    [400, 'invalid_grant', 'authorization_details', drop('authorization_details')],
    [400, 'invalid_grant', 'resource', drop('resource')],
    [400, 'invalid_grant', 'cnf', () => Object.assign(a.claims, { cnf: { jkt: key.jkt } })],
    [400, 'invalid_grant', 'assertion_key', drop('cnf')],
    [
      400,
      'invalid_target',
      'assertion_resource',
      () => Object.assign(a.claims, { resource: 'https://unknown.example' }),
    ],
    [400, 'invalid_target', 'resource_not_found', () => [drop('resource')(), delete a.fields['resource']]],
    [400, 'invalid_scope', 'malformed_scope', () => Object.assign(a.fields, { scope: 'mcp:read mcp:admin' })],
    [400, 'invalid_scope', 'scope_not_in_catalog', () => Object.assign(a.fields, { scope: 'mcp:read mcp:write' })],
    [400, 'invalid_scope', 'default_scope_empty', () => Object.assign(a.claims, { scope: 'mcp:read no:such' })],
    [403, 'access_denied', 'policy_denied', () => okAdmin(service, 'POST', '/admin/xaa/policies', { idp_id })],
    [400, 'invalid_grant', 'subject_inactive', () => Object.assign(a.claims, { sub: 'employee-2' })],
  ]
  const send = async () =>
    redeemAssertion(service, a.client, a.text ?? (await assertion(a, a.key)), a.fields, a.headers)
  for (const [status, code, reason, correct] of order) {
    expect(refusal(await send())).toEqual([status, code, reason])
    await correct()
  }
  expect(await claimsOf(await send())).toMatchObject({ aud: [resource.uri], scope: 'mcp:read' })
})

describe('afterwards', () => {
  const token = async (at: Scene, claims = {}) =>
    String((await at.redeem(await at.assertion({ claims }))).body['access_token'])

  test('the client and the servers of the resource can introspect the token; for others it is inactive', async () => {
    const { client, resource, idp } = scene
    const [server, stranger] = [await addClient(service), await addClient(service)]
    const policy = { ...resource.policy, runtime: { client_ids: [server.client_id] } }
    await service.app.store.updateResource({ ...resource, policy })
    const access_token = await token(scene)
    for (const caller of [client, server])
      expect(await introspect(service, caller, access_token)).toEqual({
        ...{ active: true, iss: service.issuer, sub: `${idp.issuer}:employee-1`, aud: resource.uri },
        ...{ client_id: client.client_id, scope: 'mcp:read mcp:write', token_type: 'Bearer' },
        ...{ iat: expect.any(Number), exp: expect.any(Number), jti: expect.any(String) },
      })
    expect(await introspect(service, stranger, access_token)).toEqual({ active: false })
  })

  test('the client can revoke the token, which also revokes tokens that were exchanged from it', async () => {
    const { client } = scene
    const [access_token, untouched] = [await token(scene), await token(scene)]
    const exchanged = (await exchange(service, client, { subject_token: access_token })).body['access_token']
    const revoke = (by: Scene['client']) => post(`${service.issuer}/oauth/revoke`, by, { token: access_token })
    await revoke(await addClient(service))
    expect((await introspect(service, client, exchanged))['active']).toBe(true)
    expect((await revoke(client)).status).toBe(200)
    expect(await introspect(service, client, access_token)).toEqual({ active: false })
    expect(await introspect(service, client, exchanged)).toEqual({ active: false })
    expect((await introspect(service, client, untouched))['active']).toBe(true)
  })

  test('the client can exchange the token; the federated subject stays, and no consent is required', async () => {
    const { client, resource, idp } = scene
    const access_token = await token(scene)
    for (const fields of [{}, { resource: resource.uri }]) {
      const claims = await claimsOf(
        await exchange(service, client, { subject_token: access_token, scope: 'mcp:read', ...fields }),
      )
      expect(claims).toMatchObject({ sub: `${idp.issuer}:employee-1`, aud: [resource.uri], scope: 'mcp:read' })
      expect(claims).not.toHaveProperty('act')
    }
  })

  test('another client cannot exchange the token, because a federated subject cannot consent', async () => {
    const { client, resource } = await xaaScene(service)
    const access_token = await token(scene)
    const into = { subject_token: access_token, resource: scene.resource.uri }
    expect(refusal(await exchange(service, client, into))).toEqual([
      403,
      'access_denied',
      'cross_client_not_authorized',
    ])
    const policy = { ...resource.policy, exchange: { allowed_client_ids: [client.client_id] } }
    const stored = await service.app.store.findResource({ uri: scene.resource.uri })
    await service.app.store.updateResource({ ...(stored as typeof resource), policy })
    expect(refusal(await exchange(service, client, into))).toEqual([400, 'consent_required', 'consent_missing'])
  })

  test('the token of a mapped user is invalid when the user is disabled', async () => {
    const at = await xaaScene(service)
    const [disabled, deleted] = [await addUser(service), await addUser(service)]
    await mapSubject(service, at.idp_id, 'disabled', disabled.id)
    await mapSubject(service, at.idp_id, 'deleted', deleted.id)
    const tokens = [await token(at, { sub: 'disabled' }), await token(at, { sub: 'deleted' })]
    for (const each of tokens) expect((await introspect(service, at.client, each))['active']).toBe(true)
    await okAdmin(service, 'PATCH', `/admin/users/${disabled.id}/disable`)
    await okAdmin(service, 'DELETE', `/admin/users/${deleted.id}`)
    for (const each of tokens) expect(await introspect(service, at.client, each)).toEqual({ active: false })
  })
})

test('the metadata lists the grant and the profile, and does not reveal trusted issuers', async () => {
  const response = await fetch(`${service.issuer}/.well-known/oauth-authorization-server`)
  const text = await response.text()
  expect(JSON.parse(text)).toMatchObject({
    grant_types_supported: expect.arrayContaining([JWT_BEARER]),
    authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'],
  })
  expect(text).not.toContain(scene.idp.issuer)
})

test('with xaa.enabled false the grant is not offered', async () => {
  const off = await startService({ SERVICE_XAA_ENABLED: 'false' })
  try {
    const client = await addXaaClient(off)
    const { body } = await redeemAssertion(off, client, 'x')
    expect(body['error']).toBe('unsupported_grant_type')
    expect(body['error_description']).toContain('xaa.enabled')
    const text = await (await fetch(`${off.issuer}/.well-known/oauth-authorization-server`)).text()
    expect(text).not.toContain(JWT_BEARER)
    expect(text).not.toContain('id-jag')
  } finally {
    await off.close()
  }
})
