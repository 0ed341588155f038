// POST /admin/try/explain for sign-ins: OpenID scopes and the ID token, as the grants themselves would issue them.
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DEVICE_CODE_GRANT } from '../../src/oauth/sign_in/device.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { envOf, runHere } from '../support/cli.ts'
import { DEVICES } from '../support/device.ts'
import { authorize, claimsOf, redeem, refresh } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
let off: TestService
beforeAll(async () => {
  service = await startService({ ...DEVICES, SERVICE_OAUTH_OPENID: 'true' })
  off = await startService()
})
afterAll(() => Promise.all([service.close(), off.close()]))

interface Explained {
  ok: boolean
  steps: { rule: string; outcome: string; where: string; change: string }[]
  claims?: Record<string, unknown>
  id_token?: Record<string, unknown>
}
const explain = (fields: object, at = service) => okAdmin<Explained>(at, 'POST', '/admin/try/explain', fields)
const stepOf = ({ steps }: Explained, name: string) => steps.find(({ rule }) => rule === name)
const SCOPE = 'openid profile email mcp:read'
const scene = async (at = service) => ({
  client: await addClient(at, {
    scope: SCOPE,
    grant_types: ['authorization_code', 'refresh_token', ...(at === service ? [DEVICE_CODE_GRANT] : [])],
  }),
  user: await addUser(at),
  resource: await addResource(at),
})
/** The claims of a token without those that differ from token to token. */
function stable({ jti, at_hash, nonce, sid, ...claims }: Record<string, unknown>) {
  const time = expect.any(Number)
  return { ...claims, iat: time, exp: time, auth_time: time }
}

describe('explain gives the same answer as the grant', () => {
  test.each([
    ['with a resource', 'openid profile email mcp:read', true],
    ['for userinfo only', 'openid email', false],
  ])('code and refresh %s: the claims of the access token and of the ID token', async (_what, scope, isForResource) => {
    const { client, user, resource } = await scene()
    const target = isForResource ? { resource: resource.uri } : {}
    const asked = { client_id: client.client_id, user: user.id, scope, ...target }
    const before = await explain({ grant: 'authorization_code', ...asked })
    const tokens = await redeem(service, client, await authorize(service, client, user, { scope, ...target }))
    const later = await explain({ grant: 'refresh_token', ...asked })
    const refreshed = await refresh(service, client, tokens.body['refresh_token'])
    for (const [explained, real] of [
      [before, tokens],
      [later, refreshed],
    ] as const) {
      expect(explained.claims).toEqual(stable({ ...claimsOf(real) }))
      expect(explained.id_token).toEqual(stable(decodeJwt(String(real.body['id_token']))))
      expect(stepOf(explained, 'openid')).toMatchObject({
        outcome: 'passed',
        where: `oauth.openid is true; OpenID scopes granted: ${scope.replace(' mcp:read', '')}; an ID token is issued`,
      })
    }
  })

  test('a device code is explained as a code is', async () => {
    const { client, user, resource } = await scene()
    const asked = { client_id: client.client_id, user: user.id, scope: SCOPE, resource: resource.uri }
    const answer = await explain({ grant: DEVICE_CODE_GRANT, ...asked })
    expect(answer.id_token).toMatchObject({ aud: client.client_id, email: user.email, amr: ['pwd'] })
  })
})

describe('no ID token', () => {
  test('a request without openid gets none, and the answer names what the client has to request', async () => {
    const { client, user, resource } = await scene()
    const asked = { grant: 'authorization_code', client_id: client.client_id, user: user.id, resource: resource.uri }
    const answer = await explain({ ...asked, scope: 'profile mcp:read' })
    expect([answer.ok, answer.id_token, answer.claims?.['scope']]).toEqual([true, undefined, 'mcp:read'])
    expect(stepOf(answer, 'openid')).toMatchObject({
      outcome: 'passed',
      where: 'oauth.openid is true; no OpenID scope is granted; no ID token is issued',
      change: expect.stringContaining('requests the scope openid'),
    })
  })

  test('with oauth.openid false OpenID scopes are left out, and the answer names the key', async () => {
    const { client, user, resource } = await scene(off)
    const asked = { grant: 'authorization_code', client_id: client.client_id, user: user.id, resource: resource.uri }
    const answer = await explain({ ...asked, scope: SCOPE }, off)
    expect([answer.ok, answer.id_token, answer.claims?.['scope']]).toEqual([true, undefined, 'mcp:read'])
    expect(stepOf(answer, 'openid')).toMatchObject({
      outcome: 'passed',
      where: expect.stringContaining('oauth.openid is false'),
      change: 'Set oauth.openid: true.',
    })
  })

  test('a refresh without the consent fails at the consent, for a sign-in alone too', async () => {
    const { client, user } = await scene()
    const answer = await explain({
      grant: 'refresh_token',
      client_id: client.client_id,
      user: user.id,
      scope: 'openid',
    })
    expect([answer.ok, answer.id_token, stepOf(answer, 'consent')?.outcome]).toEqual([false, undefined, 'failed'])
    expect(stepOf(answer, 'consent')?.where).toContain('for the sign-in: not given yet')
  })
})

test('the other grants need a resource', async () => {
  const { client, user } = await scene()
  for (const grant of ['client_credentials', 'urn:ietf:params:oauth:grant-type:token-exchange']) {
    const body = { grant, client_id: client.client_id, user: user.id }
    const answer = await callAdmin<{ error_description: string }>(service, 'POST', '/admin/try/explain', body)
    expect([answer.status, answer.body.error_description]).toEqual([400, 'resource is required for this grant'])
  }
})

test('admin try explain prints the verdict and the claims of the ID token before the rules', async () => {
  const { client, user } = await scene()
  const flags = ['--grant', 'authorization_code', '--client-id', client.client_id, '--user', user.email]
  const run = async (...more: string[]) =>
    (await runHere(['admin', 'try', 'explain', ...flags, '--scope', 'openid', ...more], envOf(service))).stdout
  const text = await run()
  expect(text).toMatch(/^ok=true\n/)
  expect(text).toContain(`\nid_token.sub=${user.id}\n`)
  expect(text).toMatch(/rule=openid\noutcome=passed/)
  expect(JSON.parse(await run('--json'))).toMatchObject({ id_token: { sub: user.id } })
})
