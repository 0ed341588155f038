// Tokens of a trusted identity provider as subject tokens of an exchange (RFC 8693).
import { decodeJwt } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { HOUR } from '../../src/lib/time.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import { ACCESS_TOKEN, actorOf, addExchanger, exchange, type Registered } from '../support/exchange.ts'
import { introspect } from '../support/flow.ts'
import { TestIdp } from '../support/idp.ts'
import { addResource, addUser, startService, type TestService } from '../support/service.ts'
import { aToken, FOREIGN, ID_TOKEN, JWT, type Minted, trusting } from '../support/subject_token.ts'
import { LOOPBACK, mapSubject, trust, watchReasons } from '../support/xaa.ts'

let service: TestService
let gateway: Registered
let resource: { uri: string }
let idp: TestIdp
let idp_id: string
beforeAll(async () => {
  service = await startService(LOOPBACK)
  gateway = await addExchanger(service)
  resource = await addResource(service)
  idp = await TestIdp.start()
  idp_id = await trust(service, idp, [{}], trusting)
})
afterAll(() => service.close())
afterEach(() => vi.restoreAllMocks())

const token = (minted?: Minted, of = idp) => aToken(service, of, minted)
const exchanged = async (subject_token: string, fields: Record<string, unknown> = {}, headers = {}) =>
  exchange(service, gateway, { subject_token, resource: resource.uri, ...fields }, headers)
const granted = async (...args: Parameters<typeof exchanged>) => {
  const { status, body } = await exchanged(...args)
  expect(status, JSON.stringify(body)).toBe(200)
  return decodeJwt<{ scope?: string; act?: { sub: string }; cnf?: { jkt: string } }>(String(body['access_token']))
}

describe('a token of a provider with subject_tokens', () => {
  test.each([ACCESS_TOKEN, JWT])(
    'as %s is exchanged for a token of this service with the subject of the provider',
    async (subject_token_type) => {
      const { body } = await exchanged(await token(), { subject_token_type, scope: 'mcp:read' })
      expect(body).toMatchObject({ issued_token_type: ACCESS_TOKEN, token_type: 'Bearer', scope: 'mcp:read' })
      const claims = decodeJwt(String(body['access_token']))
      expect(claims).toMatchObject({
        iss: service.issuer,
        sub: `${idp.issuer}:employee-1`,
        client_id: gateway.client_id,
        aud: [resource.uri],
      })
      expect(claims).not.toHaveProperty('act')
      expect(await introspect(service, gateway, String(body['access_token']))).toMatchObject({ active: true })
    },
  )

  test('a subject token can be exchanged repeatedly until it expires, and grants all scopes of the resource without a scope parameter', async () => {
    const subject = await token()
    for (let n = 0; n < 2; n++) expect((await granted(subject)).scope).toBe('mcp:read mcp:write')
  })

  test('an ID token with typ JWT or without typ is accepted', async () => {
    for (const typ of ['JWT', undefined]) {
      const id = await token({ header: { typ }, claims: { aud: FOREIGN.client, nonce: 'n', client_id: undefined } })
      expect((await granted(id, { subject_token_type: ID_TOKEN })).sub).toBe(`${idp.issuer}:employee-1`)
    }
  })

  test('one of the configured audiences in aud is enough; further audiences are ignored', async () => {
    for (const aud of [FOREIGN.api, [FOREIGN.api], ['other', FOREIGN.api]])
      await granted(await token({ claims: { aud } }))
  })

  test('a mapped subject is the local user of the mapping, as long as the user is active', async () => {
    const user = await addUser(service)
    await mapSubject(service, idp_id, 'employee-2', user.id)
    const subject = await token({ claims: { sub: 'employee-2' } })
    expect((await granted(subject)).sub).toBe(user.id)
    await okAdmin(service, 'PATCH', `/admin/users/${user.id}/disable`)
    const reasonOf = watchReasons(service)
    const refused = await exchanged(subject)
    expect([refused.status, refused.body['error'], reasonOf(refused)]).toEqual([
      400,
      'invalid_grant',
      'subject_inactive',
    ])
  })

  test('neither the exchange list of the resource nor a consent is needed', async () => {
    const listed = await addResource(service, { policy: { exchange: { allowed_client_ids: ['another'] } } })
    await granted(await token(), { resource: listed.uri })
  })

  test('the new token expires with the subject token at the latest, and after the lifetime of exchanges', async () => {
    const now = service.app.clock.now()
    expect((await granted(await token({ claims: { exp: now + 120 } }))).exp).toBe(now + 120)
    const { exp = 0, iat = 0 } = await granted(await token({ claims: { exp: now + 24 * HOUR } }))
    expect(exp - iat).toBe(service.app.config.token_exchange.token_expiry)
  })

  test('a proof binds the new token; without one the binding of the subject token is kept', async () => {
    const [key, theirs] = [await proofKey(), await proofKey()]
    const bound = await token({ claims: { cnf: { jkt: theirs.jkt } } })
    expect((await granted(bound)).cnf).toEqual({ jkt: theirs.jkt })
    expect((await granted(bound, {}, await dpop(service, key))).cnf).toEqual({ jkt: key.jkt })
    expect((await granted(await token(), {}, await dpop(service, key))).cnf).toEqual({ jkt: key.jkt })
  })
})

describe('actors', () => {
  test('an actor token makes the exchange a delegation', async () => {
    const claims = await granted(await token(), await actorOf(service, gateway))
    expect([claims.sub, claims.act]).toEqual([
      `${idp.issuer}:employee-1`,
      { sub: gateway.client_id, actor_type: 'service' },
    ])
  })

  test('the actors of the provider are kept under names that no local client can have', async () => {
    const subject = await token({ claims: { act: { sub: gateway.client_id, act: { sub: 'bot' } } } })
    const theirs = { sub: `${idp.issuer}:${gateway.client_id}`, act: { sub: `${idp.issuer}:bot` } }
    expect((await granted(subject)).act).toEqual(theirs)
    expect((await granted(subject, await actorOf(service, gateway))).act).toEqual({
      sub: gateway.client_id,
      actor_type: 'service',
      act: theirs,
    })
  })
})

describe('the policies of the provider decide', () => {
  const denied = async (policies: Parameters<typeof trust>[2], fields: Record<string, unknown> = {}) => {
    const other = await TestIdp.start()
    await trust(service, other, policies, trusting)
    return exchanged(await token({}, other), fields)
  }

  test.each<[string, Parameters<typeof trust>[2]]>([
    ['there is none', []],
    ['it is for another client', [{ client_ids: ['another'] }]],
    ['it is for another resource', [{ resources: ['https://other.example.com/mcp'] }]],
    ['it is disabled', [{ enabled: false }]],
  ])('the exchange is access_denied when %s', async (_, policies) => {
    const { status, body } = await denied(policies)
    expect([status, body['error']]).toEqual([403, 'access_denied'])
  })

  test('scopes beyond the policy are omitted; a scope that the resource does not declare is invalid_scope', async () => {
    const narrow = await denied([{ scopes: ['mcp:read'] }], { scope: 'mcp:read mcp:write' })
    expect([narrow.status, narrow.body['scope']]).toEqual([200, 'mcp:read'])
    const unknown = await denied([{}], { scope: 'mcp:unknown' })
    expect([unknown.status, unknown.body['error']]).toEqual([400, 'invalid_scope'])
  })

  test('without a resource the exchange is refused', async () => {
    const { status, body } = await exchanged(await token(), { resource: undefined })
    expect([status, body['error'], body['error_description']]).toEqual([403, 'access_denied', 'resource is required'])
  })

  test('a broker resource is refused as a target', async () => {
    const { status, body } = await exchanged(await token(), { resource: 'https://unknown.example.com/mcp' })
    expect([status, body['error']]).toEqual([400, 'invalid_target'])
  })
})

describe('trust in a provider', () => {
  test('subject_tokens is off by default, and exchanges end when it is switched off, or the provider is disabled or deleted', async () => {
    const other = await TestIdp.start()
    const id = await trust(service, other)
    const subject = await token({}, other)
    const reasonOf = watchReasons(service)
    const outcome = async () => {
      const answer = await exchanged(subject)
      return answer.status === 200 ? 'granted' : reasonOf(answer)
    }
    const put = (body: object) => okAdmin(service, 'PUT', `/admin/idps/${id}`, body)
    expect(await outcome()).toBe('subject_tokens_off')
    await put(trusting)
    expect(await outcome()).toBe('granted')
    await put({ subject_tokens: false })
    expect(await outcome()).toBe('subject_tokens_off')
    await put({ subject_tokens: true, enabled: false })
    expect(await outcome()).toBe('issuer_disabled')
    await put({ enabled: true })
    expect(await outcome()).toBe('granted')
    expect((await callAdmin(service, 'DELETE', `/admin/idps/${id}`)).status).toBe(204)
    expect(await outcome()).toBe('unknown_issuer')
  })

  test('subject_tokens without audiences is refused, and changes nothing', async () => {
    const id = await trust(service, await TestIdp.start())
    const create = await callAdmin(service, 'POST', '/admin/idps', {
      issuer: 'https://idp.example.com',
      jwks_uri: 'https://idp.example.com/jwks.json',
      subject_tokens: true,
    })
    for (const { status, body } of [
      create,
      await callAdmin(service, 'PUT', `/admin/idps/${id}`, { subject_tokens: true }),
    ])
      expect([status, body['error_description']]).toEqual([400, 'subject_tokens needs audiences'])
    expect(await okAdmin(service, 'GET', `/admin/idps/${id}`)).toMatchObject({ subject_tokens: false, audiences: [] })
  })

  test('unavailable keys cause 503, and the exchange succeeds when they are available', async () => {
    const other = await TestIdp.start()
    await trust(service, other, [{}], trusting)
    other.answer = (_, response) => response.writeHead(500).end()
    const subject = await token({}, other)
    expect((await exchanged(subject)).status).toBe(503)
    other.answer = undefined
    service.advance(60)
    await granted(await token({}, other))
  })
})

test('with xaa.enabled false tokens of providers are refused', async () => {
  const other = await startService({ SERVICE_XAA_ENABLED: 'false' })
  try {
    const client = await addExchanger(other)
    const reasonOf = watchReasons(other)
    const answer = await exchange(other, client, { subject_token: await token(), resource: resource.uri })
    expect([answer.body['error'], reasonOf(answer)]).toEqual(['invalid_grant', 'invalid_subject_token'])
    const asId = await exchange(other, client, { subject_token: await token(), subject_token_type: ID_TOKEN })
    expect([asId.body['error'], reasonOf(asId)]).toEqual(['invalid_request', 'bad_subject_token_type'])
  } finally {
    await other.close()
  }
})

test('a mapped subject needs access to a restricted resource, and a subject that is not a local user has none', async () => {
  const staffOnly = await addResource(service, { access: { mode: 'restricted', groups: ['staff'] } })
  const [insider, outsider] = [await addUser(service, { operator_groups: ['staff'] }), await addUser(service)]
  await mapSubject(service, idp_id, 'insider', insider.id)
  await mapSubject(service, idp_id, 'outsider', outsider.id)
  const bring = async (sub: string) => exchanged(await token({ claims: { sub } }), { resource: staffOnly.uri })
  expect(decodeJwt(String((await bring('insider')).body['access_token'])).sub).toBe(insider.id)
  for (const sub of ['outsider', 'stranger']) {
    const { status, body } = await bring(sub)
    expect([status, body['error']]).toEqual([403, 'access_denied'])
  }
})
