// Explain asks the rules of the grants themselves: whatever a rule refuses, both refuse for the same reason.
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { grants } from '../../src/grants/index.ts'
import { OAuthError } from '../../src/lib/error.ts'
import { okAdmin } from '../support/admin.ts'
import { BOTH, EXCHANGE, exchangeScene } from '../support/exchange.ts'
import { type Answer, authorize, machineToken, redeem, refresh } from '../support/flow.ts'
import { startService, type TestService } from '../support/service.ts'
import { JWT_BEARER, LOOPBACK, mapSubject, watchReasons, xaaScene } from '../support/xaa.ts'

let service: TestService
const asks = new Map<string, { real: () => Promise<Answer>; explained: object }>()

beforeAll(async () => {
  service = await startService(LOOPBACK)
  const scene = await exchangeScene(service)
  const { app, gateway, user, browser, source, target, refresh_token } = scene
  const asked = { client_id: app.client_id, user: user.id, resource: source.uri, scope: BOTH }
  const code = await authorize(service, app, user, { resource: source.uri, scope: BOTH }, browser)
  asks.set('authorization_code', { real: () => redeem(service, app, code), explained: asked })
  asks.set('refresh_token', { real: () => refresh(service, app, refresh_token), explained: asked })
  const machine = { resource: source.uri, scope: 'mcp:read' }
  asks.set('client_credentials', {
    real: () => machineToken(service, app, machine),
    explained: { client_id: app.client_id, ...machine },
  })
  asks.set(EXCHANGE, {
    real: () => scene.exchanged(),
    explained: { ...asked, resource: target.uri, source: source.uri, actor: gateway.client_id, scope: undefined },
  })
  const xaa = await xaaScene(service)
  await mapSubject(service, xaa.idp_id, 'ada', user.id)
  asks.set(JWT_BEARER, {
    real: async () => xaa.redeem(await xaa.assertion({ claims: { sub: 'ada' } })),
    explained: { client_id: xaa.client.client_id, user: user.id, resource: xaa.resource.uri },
  })
})
afterAll(() => service.close())
afterEach(() => vi.restoreAllMocks())

interface Explained {
  ok: boolean
  steps: { rule: string; outcome: string }[]
  refusal?: { error: string; reason: string }
}
const explain = (grant: string, fields: object) =>
  okAdmin<Explained>(service, 'POST', '/admin/try/explain', { grant, ...fields })

/** What a client polls for is redeemed by the rules of an authorization code. */
const POLLED = ['device_code', 'ciba']

describe.each(grants.filter(({ name }) => !POLLED.includes(name)))('$name', ({ type, rules }) => {
  test('explain names the rule that refuses a request, with the reason of the request', async () => {
    const { real, explained } = asks.get(type) as NonNullable<ReturnType<typeof asks.get>>
    const reasonOf = watchReasons(service)
    for (const rule of rules) {
      const refusing = vi.spyOn(rule, 'check').mockImplementation(() => {
        throw new OAuthError('access_denied', 'refused', { reason: 'policy_denied' })
      })
      const [answer, { ok, steps, refusal }] = [await real(), await explain(type, explained)]
      refusing.mockRestore()
      const failed = steps.filter(({ outcome }) => outcome === 'failed').map((each) => each.rule)
      expect([rule.name, answer.status, reasonOf(answer), ok, failed, refusal?.reason]).toEqual([
        ...[rule.name, 403, 'policy_denied', false, [rule.name], 'policy_denied'],
      ])
    }
  })

  test('without a refusal both issue a token', async () => {
    const { real, explained } = asks.get(type) as NonNullable<ReturnType<typeof asks.get>>
    expect((await explain(type, explained)).refusal).toBeUndefined()
    expect((await real()).status).toBe(200)
  })
})

test.each(POLLED)('%s is redeemed by the rules of an authorization code', (name) => {
  const rulesOf = (wanted: string) => grants.find(({ name }) => name === wanted)?.rules
  expect(rulesOf(name)).toBe(rulesOf('authorization_code'))
})
