// Attacks on cross-app access (attacks.md, section H), over HTTP: the audience, the granted scope and the resulting user.
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import type { Answer } from '../support/flow.ts'
import { TestIdp } from '../support/idp.ts'
import { addUser, startService, type TestService } from '../support/service.ts'
import {
  addPolicy,
  addXaaClient,
  LOOPBACK,
  mapSubject,
  redeemAssertion,
  type Scene,
  trust,
  watchReasons,
  xaaScene,
} from '../support/xaa.ts'

let service: TestService
let scene: Scene
let reasonOf: (answer: Answer) => string | undefined
beforeAll(async () => {
  service = await startService(LOOPBACK)
  reasonOf = watchReasons(service)
  scene = await xaaScene(service)
})
afterAll(() => service.close())

/** The scope of the token, or the reason of the refusal. */
const outcome = (answer: Answer) =>
  answer.status === 200 ? answer.body['scope'] : `${answer.status} ${answer.body['error']} ${reasonOf(answer)}`
const subOf = (answer: Answer) =>
  answer.status === 200 ? decodeJwt(String(answer.body['access_token'])).sub : outcome(answer)
const BOTH = 'mcp:read mcp:write'

describe('H02 the assertion of another client', () => {
  test('an assertion is refused for another client that presents it', async () => {
    const [assertion, thief] = [await scene.assertion(), await addXaaClient(service)]
    expect(outcome(await redeemAssertion(service, thief, assertion))).toBe('400 invalid_grant another_client')
    const { client_id } = scene.client
    const posing = await redeemAssertion(service, thief, assertion, { client_id })
    expect(outcome(posing)).toBe('400 invalid_request two_client_authentications')
    const withOwnSecret = { client_id, client_secret: thief.client_secret }
    expect(outcome(await redeemAssertion(service, withOwnSecret, assertion))).toBe('401 invalid_client wrong_secret')
    expect(outcome(await scene.redeem(assertion))).toBe(BOTH)
  })
})

describe('H03 clients without valid authentication', () => {
  test('an assertion is refused for a client that sends only its client_id, without a client, and for a public client', async () => {
    const assertion = await scene.assertion()
    const { client_id } = scene.client
    expect(outcome(await redeemAssertion(service, { client_id }, assertion))).toBe('401 invalid_client missing_secret')
    expect(outcome(await redeemAssertion(service, undefined, assertion))).toBe('401 invalid_client no_credentials')
    const open = await addXaaClient(service, { token_endpoint_auth_method: 'none' })
    const forOpen = await scene.assertion({ claims: { client_id: open.client_id } })
    expect(outcome(await redeemAssertion(service, { client_id: open.client_id }, forOpen))).toBe(
      '401 invalid_client public_client',
    )
    expect(outcome(await scene.redeem(assertion))).toBe(BOTH)
  })

  test('an assertion is refused for a suspended client', async () => {
    const at = await xaaScene(service, { record: { status: 'suspended' } })
    expect(outcome(await at.redeem(await at.assertion()))).toBe('401 invalid_client client_suspended')
  })

  test('an assertion is refused as client authentication', async () => {
    const assertion = await scene.assertion()
    const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
    const fields = { client_assertion: assertion, client_assertion_type, client_id: scene.client.client_id }
    expect((await redeemAssertion(service, undefined, assertion, fields)).status).toBe(401)
    expect(outcome(await redeemAssertion(service, scene.client, assertion, fields))).toBe(
      '400 invalid_request two_client_authentications',
    )
  })
})

describe('H04 untrusted issuers', () => {
  test('an issuer that was never registered, and one that was just deleted, are refused', async () => {
    const [stranger, at] = [await TestIdp.start(), await xaaScene(service)]
    const { client_id } = at.client
    const theirs = await stranger.assertion({ aud: service.issuer, client_id, now: service.app.clock.now() })
    expect(outcome(await at.redeem(theirs))).toBe('400 invalid_grant unknown_issuer')
    expect(stranger.connections).toBe(0)
    const [one, two] = [await at.assertion(), await at.assertion()]
    expect(outcome(await at.redeem(one))).toBe(BOTH)
    await okAdmin(service, 'DELETE', `/admin/idps/${at.idp_id}`)
    expect(outcome(await at.redeem(two))).toBe('400 invalid_grant unknown_issuer')
  })

  test('a deleted issuer that is registered again has no policies and mappings', async () => {
    const at = await xaaScene(service)
    await mapSubject(service, at.idp_id, 'employee-1', 'payroll')
    expect(subOf(await at.redeem(await at.assertion()))).toBe('payroll')
    await okAdmin(service, 'DELETE', `/admin/idps/${at.idp_id}`)
    const idp_id = await trust(service, at.idp, [])
    expect(outcome(await at.redeem(await at.assertion()))).toBe('403 access_denied policy_denied')
    await addPolicy(service, idp_id, {})
    expect(subOf(await at.redeem(await at.assertion()))).toBe(`${at.idp.issuer}:employee-1`)
  })

  test('a disabled issuer is refused until it is enabled', async () => {
    const at = await xaaScene(service)
    await okAdmin(service, 'PUT', `/admin/idps/${at.idp_id}`, { enabled: false })
    expect(outcome(await at.redeem(await at.assertion()))).toBe('400 invalid_grant issuer_disabled')
    await okAdmin(service, 'PUT', `/admin/idps/${at.idp_id}`, { enabled: true })
    expect(outcome(await at.redeem(await at.assertion()))).toBe(BOTH)
  })

  test('the issuer of this server cannot be registered, and is refused if the database contains it', async () => {
    const { jwks_uri } = scene.idp
    expect((await callAdmin(service, 'POST', '/admin/idps', { issuer: service.issuer, jwks_uri })).status).toBe(400)
    const own = { ...(await service.app.store.findIdp({ id: scene.idp_id })), id: 'i_own', issuer: service.issuer }
    await service.app.store.createIdp(own as Parameters<typeof service.app.store.createIdp>[0])
    await addPolicy(service, 'i_own', {})
    const assertion = await scene.assertion({ claims: { iss: service.issuer } })
    expect(outcome(await scene.redeem(assertion))).toBe('400 invalid_grant issuer')
  })
})

describe('H06 scopes beyond the policy', () => {
  const DENIED = '403 access_denied policy_denied'
  const asked = async (at: Scene, scope?: string, claims = {}) =>
    outcome(await at.redeem(await at.assertion({ claims }), { scope }))

  test('a wider scope is narrowed, a disjoint scope is refused, and without a requested scope the policy scope is granted', async () => {
    const at = await xaaScene(service, { policies: [{ scopes: ['mcp:read', 'mcp:admin'] }] })
    expect(await asked(at, BOTH)).toBe('mcp:read')
    expect(await asked(at, 'mcp:write')).toBe(DENIED)
    expect(await asked(at)).toBe('mcp:read')
    expect(await asked(at, undefined, { scope: 'mcp:write' })).toBe(DENIED)
    expect(await asked(scene, BOTH, { scope: 'mcp:write' })).toBe('mcp:write')
    expect(await asked(at, 'mcp:admin')).toBe('400 invalid_scope scope_not_in_catalog')
  })

  test('a client without a registered scope gets no scope', async () => {
    const at = await xaaScene(service, { client: { scope: '' } })
    expect(await asked(at)).toBe('400 invalid_scope default_scope_empty')
    expect(await asked(at, 'mcp:read')).toBe('400 invalid_scope beyond_client_scope')
  })

  test('without a matching enabled policy the assertion is refused', async () => {
    const at = await xaaScene(service, { policies: [] })
    expect(await asked(at)).toBe(DENIED)
    await addPolicy(service, at.idp_id, { client_ids: [scene.client.client_id] })
    await addPolicy(service, at.idp_id, { resources: [scene.resource.uri] })
    await addPolicy(service, at.idp_id, { scopes: [] })
    const { id } = await addPolicy(service, at.idp_id, { enabled: false })
    expect(await asked(at)).toBe(DENIED)
    await okAdmin(service, 'PUT', `/admin/xaa/policies/${id}`, { enabled: true })
    expect(await asked(at)).toBe(BOTH)
    await okAdmin(service, 'DELETE', `/admin/xaa/policies/${id}`)
    expect(await asked(at)).toBe(DENIED)
  })

  test('the oldest matching policy decides, also when a later one allows more', async () => {
    const at = await xaaScene(service, { policies: [] })
    for (let i = 0; i < 5; i++) await addPolicy(service, at.idp_id, { scopes: [i % 2 ? 'mcp:write' : 'mcp:read'] })
    const wide = await addPolicy(service, at.idp_id, {})
    expect(await asked(at)).toBe('mcp:read')
    expect(await asked(at, 'mcp:write')).toBe('mcp:write')
    const [first] = await okAdmin<{ id: string }[]>(service, 'GET', `/admin/xaa/policies?idp_id=${at.idp_id}`)
    await okAdmin(service, 'DELETE', `/admin/xaa/policies/${first?.id}`)
    expect(await asked(at)).toBe('mcp:write')
    await okAdmin(service, 'PUT', `/admin/xaa/policies/${wide.id}`, { name: 'Still the last one' })
    expect(await asked(at)).toBe('mcp:write')
  })

  test('a policy that names resources does not match a request without a resource', async () => {
    const at = await xaaScene(service, { policies: [] })
    await addPolicy(service, at.idp_id, { resources: [at.resource.uri] })
    expect(await asked(at, undefined, { resource: undefined })).toBe(DENIED)
    expect(await asked(at)).toBe(BOTH)
  })
})

describe('H07 assertions that are bound to a key', () => {
  test('a bound assertion is refused without a proof of its key, and its token is bound to the key', async () => {
    const [key, other] = [await proofKey(), await proofKey()]
    const assertion = await scene.assertion({ claims: { cnf: { jkt: key.jkt } } })
    const refused = '400 invalid_grant assertion_key'
    expect(outcome(await scene.redeem(assertion))).toBe(refused)
    expect(outcome(await scene.redeem(assertion, {}, await dpop(service, other)))).toBe(refused)
    const { body } = await scene.redeem(assertion, {}, await dpop(service, key))
    expect(body['token_type']).toBe('DPoP')
    expect(decodeJwt(String(body['access_token']))['cnf']).toEqual({ jkt: key.jkt })
  })

  test('a bound assertion stays bound when DPoP is disabled', async () => {
    const off = await startService({ ...LOOPBACK, SERVICE_DPOP_ENABLED: 'false' })
    try {
      const [at, key, why] = [await xaaScene(off), await proofKey(), watchReasons(off)]
      const assertion = await at.assertion({ claims: { cnf: { jkt: key.jkt } } })
      expect(why(await at.redeem(assertion, {}, await dpop(off, key)))).toBe('assertion_key')
      const unbound = await at.redeem(await at.assertion(), {}, await dpop(off, key))
      expect([unbound.status, unbound.body['token_type']]).toEqual([200, 'Bearer'])
    } finally {
      await off.close()
    }
  })

  test('an assertion with an unknown confirmation method is refused, and not treated as unbound', async () => {
    for (const cnf of [{ 'x5t#S256': 'x' }, { jwk: {} }, { kid: 'k' }, {}, null])
      expect(outcome(await scene.redeem(await scene.assertion({ claims: { cnf } })))).toBe('400 invalid_grant cnf')
  })

  test('a client that registered for bound tokens gets no other token', async () => {
    const at = await xaaScene(service, { client: { dpop_bound_access_tokens: true } })
    const assertion = await at.assertion()
    expect(outcome(await at.redeem(assertion))).toBe('400 invalid_dpop_proof proof_missing')
    expect((await at.redeem(assertion, {}, await dpop(service, await proofKey()))).body['token_type']).toBe('DPoP')
  })
})

describe('H08 impersonation', () => {
  test('an email, a name, a role, or a sub that equals a local id does not select a local account', async () => {
    const admin = await addUser(service, { role: 'admin' })
    const users = async () => (await okAdmin<unknown[]>(service, 'GET', '/admin/users')).length
    const before = await users()
    for (const sub of [admin.email, admin.id, scene.client.client_id, 'admin', `${scene.idp.issuer}:employee-1`]) {
      const claims = { sub, email: admin.email, email_verified: true, role: 'admin', aud_sub: admin.id, act: { sub } }
      const answer = await scene.redeem(await scene.assertion({ claims }))
      const token = decodeJwt(String(answer.body['access_token']))
      expect(token.sub).toBe(`${scene.idp.issuer}:${sub}`)
      for (const claim of ['email', 'role', 'act']) expect(token).not.toHaveProperty(claim)
    }
    expect(await users()).toBe(before)
  })

  test('a subject mapping matches only its identity provider and the exact sub', async () => {
    const at = await xaaScene(service)
    const user = await addUser(service)
    await mapSubject(service, at.idp_id, 'employee-1', user.id)
    expect(subOf(await at.redeem(await at.assertion()))).toBe(user.id)
    for (const sub of ['Employee-1', 'employee-1 ', 'employee-10'])
      expect(subOf(await at.redeem(await at.assertion({ claims: { sub } })))).toBe(`${at.idp.issuer}:${sub}`)
    expect(subOf(await scene.redeem(await scene.assertion()))).toBe(`${scene.idp.issuer}:employee-1`)
  })

  test('mappings to disabled or deleted users, and to clients, are refused', async () => {
    const at = await xaaScene(service)
    const [user, gone] = [await addUser(service), await addUser(service)]
    const mapped = { user: user.id, gone: gone.id, client: scene.client.client_id, 'never there': 'u_nobody' }
    for (const [sub, local] of Object.entries(mapped)) await mapSubject(service, at.idp_id, sub, local)
    const redeemed = async (sub: string) => subOf(await at.redeem(await at.assertion({ claims: { sub } })))
    const refused = '400 invalid_grant subject_inactive'
    expect([await redeemed('user'), await redeemed('gone')]).toEqual([user.id, gone.id])
    await okAdmin(service, 'PATCH', `/admin/users/${user.id}/disable`)
    await okAdmin(service, 'DELETE', `/admin/users/${gone.id}`)
    for (const sub of Object.keys(mapped)) expect(await redeemed(sub)).toBe(refused)
    await okAdmin(service, 'PATCH', `/admin/users/${user.id}/enable`)
    expect(await redeemed('user')).toBe(user.id)
  })

  test('in strict mode only mapped subjects are accepted', async () => {
    const strict = await startService({ ...LOOPBACK, SERVICE_XAA_SUBJECT_MODE: 'strict' })
    try {
      const at = await xaaScene(strict)
      const refused = await at.redeem(await at.assertion())
      expect([refused.status, refused.body['error']]).toEqual([403, 'access_denied'])
      const { id } = await mapSubject(strict, at.idp_id, 'employee-1', 'payroll')
      expect(subOf(await at.redeem(await at.assertion()))).toBe('payroll')
      await okAdmin(strict, 'DELETE', `/admin/xaa/subject-mappings/${id}`)
      expect((await at.redeem(await at.assertion())).status).toBe(403)
    } finally {
      await strict.close()
    }
  })
})

test('H10 the response has no refresh token, also for a client with the refresh grant', async () => {
  const at = await xaaScene(service, { record: {} })
  const stored = await service.app.store.findClient({ client_id: at.client.client_id })
  const grant_types = [...(stored?.grant_types ?? []), 'refresh_token']
  await service.app.store.updateClient({ ...(stored as NonNullable<typeof stored>), grant_types })
  const { status, body } = await at.redeem(await at.assertion({ claims: { scope: `${BOTH} offline_access` } }))
  expect([status, Object.keys(body).sort()]).toEqual([200, ['access_token', 'expires_in', 'scope', 'token_type']])
})

test('H11 two identity providers may use the same jti', async () => {
  const other = await xaaScene(service)
  const jti = 'the-same-for-both'
  for (const at of [scene, other]) expect(outcome(await at.redeem(await at.assertion({ claims: { jti } })))).toBe(BOTH)
  for (const at of [scene, other])
    expect(outcome(await at.redeem(await at.assertion({ claims: { jti } })))).toBe('400 invalid_grant replay')
})
