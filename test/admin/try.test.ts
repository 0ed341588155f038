import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { machineToken } from '../support/flow.ts'
import { idpKey } from '../support/idp.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'
import { LOOPBACK, type Scene, xaaScene } from '../support/xaa.ts'

let service: TestService
let scene: Scene
beforeAll(async () => {
  service = await startService(LOOPBACK)
  scene = await xaaScene(service)
})
afterAll(() => service.close())

interface Minted {
  granted: boolean
  response?: { access_token: string; scope: string }
  refusal?: { error: string; reason: string }
}
interface Checked {
  ok: boolean
  steps: { check: string; result: string }[]
  granted?: { sub: string; scope: string; resource?: string }
  refusal?: { reason: string }
}
const mint = (body: Record<string, unknown>) => okAdmin<Minted>(service, 'POST', '/admin/try/token', body)
const decode = (token: string) => okAdmin(service, 'POST', '/admin/try/decode', { token })
const machine = () => addClient(service, { grant_types: ['client_credentials'] })

describe('minting a token', () => {
  test('minting issues the token that the token endpoint would issue, with its record, reduced scope and audit event', async () => {
    const [{ client_id, client_secret }, resource] = [
      await machine(),
      await addResource(service, { scopes: ['mcp:read'] }),
    ]
    const { response } = await mint({ client_id, client_secret, resource: resource.uri })
    expect(response?.scope).toBe('mcp:read')
    expect(await decode(response?.access_token ?? '')).toMatchObject({ ours: true, signature: 'valid', active: true })
    const [event] = await eventsOf(service, 'token_tried')
    expect([event?.client_id, event?.detail]).toEqual([client_id, { granted: true }])
    expect(JSON.stringify(event)).not.toContain(client_secret)
  })

  test.each([
    ['a wrong secret', { client_secret: 'wrong' }, 'invalid_client', 'wrong_secret'],
    ['an unknown resource', { resource: 'https://nowhere.example.com' }, 'invalid_target', 'resource_not_found'],
    ['a scope beyond its own', { scope: 'other' }, 'invalid_scope', 'beyond_client_scope'],
  ])(
    'minting refuses %s with the reason that clients do not see, and issues nothing',
    async (_what, changes, error, reason) => {
      const { client_id, client_secret } = await machine()
      expect(await mint({ client_id, client_secret, ...changes })).toMatchObject({
        granted: false,
        refusal: { error, reason },
      })
      const { count } = await okAdmin<{ count: number }>(service, 'GET', `/admin/issuances?client_id=${client_id}`)
      expect(count).toBe(0)
    },
  )

  test('minting is refused for a client that must bind its tokens, and for a client without the grant', async () => {
    const bound = await addClient(service, { grant_types: ['client_credentials'], dpop_bound_access_tokens: true })
    expect((await mint(bound && { client_id: bound.client_id, client_secret: bound.client_secret })).granted).toBe(
      false,
    )
    const other = await addClient(service, { grant_types: ['authorization_code'] })
    expect(await mint({ client_id: other.client_id, client_secret: other.client_secret })).toMatchObject({
      granted: false,
      refusal: { reason: 'grant_not_registered' },
    })
  })
})

describe('decoding a token', () => {
  const tokenOf = async () => {
    const client = await machine()
    const { body } = await machineToken(service, client)
    return { client, token: String(body['access_token']) }
  }

  test('decoding distinguishes a forged signature from a valid one, and a revoked token from a live one', async () => {
    const { token } = await tokenOf()
    const [header, claims, signature = ''] = token.split('.')
    const forged = [
      header,
      claims,
      signature.startsWith('A') ? `B${signature.slice(1)}` : `A${signature.slice(1)}`,
    ].join('.')
    expect(await decode(forged)).toMatchObject({ ours: true, signature: 'invalid', active: false })
    const { issuance_id } = await decode(token)
    await okAdmin(service, 'DELETE', `/admin/issuances/${issuance_id}`)
    expect(await decode(token)).toMatchObject({ signature: 'valid', revoked: true, active: false })
  })

  test('decoding reports a wrong signature as invalid, also for an expired token', async () => {
    const { token } = await tokenOf()
    const [header, claims = '', signature] = token.split('.')
    const past = { ...JSON.parse(Buffer.from(claims, 'base64url').toString()), exp: 1 }
    const forged = [header, Buffer.from(JSON.stringify(past)).toString('base64url'), signature].join('.')
    expect(await decode(forged)).toMatchObject({ ours: true, signature: 'invalid', expired: true, active: false })
  })

  test('decoding distinguishes a token of a suspended client from a live one', async () => {
    const { client, token } = await tokenOf()
    await okAdmin(service, 'PATCH', `/admin/clients/${client.client_id}/suspend`)
    expect(await decode(token)).toMatchObject({ signature: 'valid', revoked: false, expired: false, active: false })
  })

  test('decoding shows the claims of tokens of other issuers, and reports opaque tokens as opaque', async () => {
    const foreign = await scene.assertion()
    expect(await decode(foreign)).toMatchObject({ form: 'jwt', ours: false, signature: 'unknown_key', active: false })
    expect(await decode('rt_opaque')).toEqual({ form: 'opaque', ours: false, active: false })
  })

  test('decoding writes no token to the audit trail', async () => {
    const { token } = await tokenOf()
    await decode(token)
    expect(JSON.stringify(await eventsOf(service, 'token_examined'))).not.toContain(token.slice(-20))
  })
})

describe('checking an assertion', () => {
  const check = (assertion: string, changes: Record<string, unknown> = {}) =>
    okAdmin<Checked>(service, 'POST', '/admin/try/id-jag', {
      assertion,
      client_id: scene.client.client_id,
      resource: scene.resource.uri,
      ...changes,
    })

  test('checking reports the grant that the token endpoint would give, and does not consume the assertion', async () => {
    const assertion = await scene.assertion()
    const first = await check(assertion)
    expect(first.ok).toBe(true)
    expect(new Set(first.steps.map(({ result }) => result))).toEqual(new Set(['passed']))
    expect((await check(assertion)).granted).toEqual(first.granted)
    const { status, body } = await scene.redeem(assertion)
    expect([status, body['scope']]).toEqual([200, first.granted?.scope])
  })

  test.each([
    ['typ', { header: { typ: 'JWT' } }, 'typ'],
    ['iss', { claims: { iss: 'https://stranger.example.com' } }, 'unknown_issuer'],
    ['time', { claims: { exp: 1 } }, 'expired'],
    ['aud', { claims: { aud: 'https://other.example.com' } }, 'audience'],
    ['sub', { claims: { sub: '' } }, 'sub'],
    ['client_id', { claims: { client_id: 'another' } }, 'another_client'],
    ['claims', { claims: { authorization_details: [] } }, 'authorization_details'],
    ['resource', { claims: { resource: 'https://elsewhere.example.com' } }, 'assertion_resource'],
    ['scope', { claims: { scope: 'nothing:here' } }, 'default_scope_empty'],
  ])(
    'checking stops at the step %s: earlier steps passed, and later steps were not reached',
    async (name, changes, reason) => {
      const checked = await check(await scene.assertion(changes))
      const at = checked.steps.findIndex((step) => step.check === name)
      expect([checked.ok, checked.refusal?.reason]).toEqual([false, reason])
      expect(checked.steps.map(({ result }) => result)).toEqual(
        checked.steps.map((_, i) => (i < at ? 'passed' : i === at ? 'failed' : 'not_reached')),
      )
    },
  )

  test('checking stops at the first step for text that is not a JWT, and at the signature step for a wrong key', async () => {
    expect((await check('a.b.c')).steps[0]).toMatchObject({ check: 'form', result: 'failed' })
    const [published] = scene.idp.keys
    const other = { ...(await idpKey()), kid: published?.kid }
    expect((await check(await scene.assertion({}, other))).steps.find(({ result }) => result === 'failed')?.check).toBe(
      'signature',
    )
  })
})
