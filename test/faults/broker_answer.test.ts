// The response of a provider that rotates refresh tokens is lost: this service cannot know whether the old token is still valid.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { brokerScene, startBroker, vended } from '../support/broker.ts'
import { expectRefused } from '../support/flow.ts'
import type { TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startBroker()
})
afterAll(() => service.close())

/** A user who is connected, at a provider that rotates. */
async function connected() {
  const scene = await brokerScene(service)
  await scene.connect()
  const { member, provider } = scene
  const last = async () => {
    const { broker_grants } = await okAdmin<{ broker_grants: Record<string, unknown>[] }>(
      service,
      'GET',
      `/admin/users/${member.user.id}/grants`,
    )
    return broker_grants[0]
  }
  const ending = async () =>
    (await eventsOf(service, 'broker_grant_revoked')).find(({ detail }) => detail?.['provider'] === provider.slug)
      ?.detail?.['reason']
  const connections = async () => (await member.browser.follow(`${service.issuer}/connections`)).text
  return { ...scene, last, ending, connections }
}
const LOST = 'was lost, and '

test.each(['cut', '502', 'no JSON'] as const)(
  'a connection whose renewal was answered and lost (%s) is kept, tried once more, and then ends with that reason',
  async (how) => {
    const { vend, upstream, grant, last, ending, connections, connect } = await connected()
    upstream.loses = how
    expectRefused(
      await vend(),
      how === 'no JSON' ? 'server_error' : 'temporarily_unavailable',
      how === 'no JSON' ? 500 : 503,
    )
    expect(await last()).toMatchObject({ unsure_since: expect.any(String) })
    expect(await grant()).toBeDefined()
    upstream.loses = undefined
    const refused = await vend()
    expectRefused(refused, 'consent_required', 400, { cause: 'consent_missing' })
    expect(refused.body['error_description']).toContain(LOST)
    expect(upstream.refreshed.length).toBe(2)
    expect(await last()).toMatchObject({ ended_reason: 'answer_lost', revoked_at: expect.any(String) })
    expect(await ending()).toBe('answer_lost')
    expect(await connections()).toContain(LOST)
    const later = await vend()
    expectRefused(later, 'consent_required', 400, { cause: 'consent_missing' })
    expect(later.body['error_description']).toContain(LOST)
    expect(upstream.refreshed.length).toBe(2)
    await connect()
    vended(await vend(), upstream)
    expect(await connections()).not.toContain(LOST)
    expect(await last()).not.toHaveProperty('ended_reason')
  },
)

test('a provider that accepts the last refresh token again causes no error', async () => {
  const { vend, upstream, last } = await connected()
  Object.assign(upstream, { loses: 'cut', forgives: true })
  expectRefused(await vend(), 'temporarily_unavailable', 503)
  upstream.loses = undefined
  vended(await vend(), upstream)
  expect(await last()).not.toHaveProperty('unsure_since')
})

test('a refusal after a 503 of the provider is a revocation, and is reported as one', async () => {
  const { vend, upstream, last, ending, connections } = await connected()
  upstream.answer = (_form, response) => response.writeHead(429).end()
  expectRefused(await vend(), 'temporarily_unavailable', 503)
  expect(await last()).not.toHaveProperty('unsure_since')
  upstream.answer = undefined
  upstream.live.clear()
  const { body } = await vend()
  expect(body['error_description']).not.toContain(LOST)
  expect([await ending(), (await last())?.['ended_reason']]).toEqual(['refused_by_provider', 'refused_by_provider'])
  expect(await connections()).not.toContain(LOST)
})

test('a request of a process that died may have lost its response too', async () => {
  const { vend, upstream, grant, ending } = await connected()
  const found = await grant()
  const now = service.app.clock.now()
  const lease = { id: found?.id ?? '', lease_id: newId(), version: found?.version ?? 0 }
  expect(await service.app.store.leaseBrokerGrant({ ...lease, now: now - 60, until: now - 30 })).toBe(true)
  upstream.live.clear()
  expectRefused(await vend(), 'consent_required', 400, { cause: 'consent_missing' })
  expect(await ending()).toBe('answer_lost')
})
