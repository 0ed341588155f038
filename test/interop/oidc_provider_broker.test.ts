// The broker with oidc-provider as the provider: refresh tokens are rotated, and the second use of one ends all of them.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { press } from '../support/account.ts'
import { addBrokerResource, addProvider, aMember, startBroker } from '../support/broker.ts'
import { addExchanger, exchange } from '../support/exchange.ts'
import { CLIENT_ID, CLIENT_SECRET } from '../support/openid_fake.ts'
import { RealProvider } from '../support/openid_provider.ts'
import type { TestService } from '../support/service.ts'

const SCOPES = [
  { name: 'files:read', description: 'Read', upstream: 'openid' },
  { name: 'files:write', description: 'Write', upstream: 'profile' },
]

let service: TestService
let op: RealProvider
beforeAll(async () => {
  service = await startBroker({ CONNECTOR_OP_SECRET: CLIENT_SECRET })
  op = await RealProvider.listen()
})
afterAll(async () => {
  op.close()
  await service.close()
})

/** A member, the broker resource, and the provider at which its callback is registered. */
async function scene() {
  const provider = await addProvider(service, {
    config_data: {
      client_id: CLIENT_ID,
      client_secret_ref: 'CONNECTOR_OP_SECRET',
      authorize_url: `${op.issuer}/auth`,
      token_url: `${op.issuer}/token`,
      revoke_url: `${op.issuer}/token/revocation`,
      token_endpoint_auth_method: 'client_secret_basic',
    },
  })
  op.open(service, 'RS256', {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: [`${service.issuer}/connect/${provider.slug}/callback`],
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ],
    features: { devInteractions: { enabled: false }, revocation: { enabled: true } },
    issueRefreshToken: () => true,
    rotateRefreshToken: () => true,
  })
  op.asked.length = 0
  const [app, gateway] = [await addExchanger(service, { scope: 'files:read files:write' }), await addExchanger(service)]
  const policy = { exchange: { allowed_client_ids: [gateway.client_id] } }
  const resource = await addBrokerResource(service, provider, { policy, scopes: SCOPES })
  const member = await aMember(service, app)
  return {
    member,
    async connect() {
      let page = await member.browser.open(member.startUrl(provider.slug))
      while (page.location?.startsWith(op.issuer)) page = await member.browser.open(page.location)
      expect(page.location, page.text).toContain(`${service.issuer}/connect/${provider.slug}/callback`)
      return (await member.browser.open(page.location ?? '')).location
    },
    vend: (scope = 'files:read') =>
      exchange(service, gateway, { subject_token: member.subject, resource: resource.uri, scope }),
  }
}
const tokenRequests = () => op.asked.filter((path) => path === '/token').length
/** Whether the provider accepts a token, and its subject. */
const subjectOf = async (token: unknown) => {
  const response = await fetch(`${op.issuer}/me`, { headers: { authorization: `Bearer ${token}` } })
  return response.status === 200 ? ((await response.json()) as { sub: string }).sub : response.status
}

test('returned tokens work at the provider after many rotations, and after fifty concurrent requests', async () => {
  const { connect, vend } = await scene()
  expect(await connect()).toBe('https://app.example.com/connected')
  const tokens = new Set<unknown>()
  for (let i = 0; i < 5; i++) {
    const { status, body } = await vend()
    expect(status, JSON.stringify(body)).toBe(200)
    expect(await subjectOf(body['access_token'])).toBe(op.person.sub)
    tokens.add(body['access_token'])
    service.advance(400)
  }
  expect([tokens.size, tokenRequests()]).toEqual([5, 6])
  const answers = await Promise.all(Array.from({ length: 50 }, () => vend()))
  expect(new Set(answers.map(({ body }) => body['access_token'])).size).toBe(1)
  expect(tokenRequests()).toBe(7)
  service.advance(400)
  const scopes = ['files:read', 'files:read files:write', 'files:read']
  for (const { status } of await Promise.all(scopes.map((scope) => vend(scope)))) expect(status).toBe(200)
  service.advance(400)
  expect(await subjectOf((await vend()).body['access_token'])).toBe(op.person.sub)
})

test('a disconnect revokes the token at the provider, and the user may connect again', async () => {
  const { connect, vend, member } = await scene()
  await connect()
  expect((await vend()).status).toBe(200)
  await press(service, member.browser, 'Disconnect')
  expect(op.asked).toContain('/token/revocation')
  expect((await vend()).body['error']).toBe('consent_required')
  await connect()
  expect(await subjectOf((await vend()).body['access_token'])).toBe(op.person.sub)
})

test('an outage of the provider is reported as 503, and the refresh token stays valid', async () => {
  const { connect, vend } = await scene()
  await connect()
  service.advance(400)
  op.away = true
  expect([(await vend()).status, (await vend()).status]).toEqual([503, 503])
  op.away = false
  expect((await vend()).status).toBe(200)
})
