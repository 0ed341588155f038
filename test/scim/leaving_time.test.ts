// How long it takes from "deactivate" at the provider until a resource server that verifies tokens offline refuses them. With
// SERVICE_LEAVING_RATE=1000 the instances issue as many tokens a second meanwhile.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { beginTraffic, tokenRequest } from '../../bench/load/traffic.ts'
import { median, newLatencies, percentilesOf } from '../../bench/statistics.ts'
import { createVerifier, Refusal, type Verifier } from '../../packages/resource-server/src/index.ts'
import { newId } from '../../src/lib/id.ts'
import { Browser } from '../support/browser.ts'
import { authorize, redeem } from '../support/flow.ts'
import { type FakeProvider, federating, openFederation, signInAt } from '../support/openid_fake.ts'
import { type ScimClient, scimClient } from '../support/scim.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'
import { storages } from '../support/storages.ts'
import { failureOf } from '../support/thrown.ts'
import { pause } from '../support/wire.ts'

const PEOPLE = 10
const RATE = Number(process.env['SERVICE_LEAVING_RATE'] ?? 0)
const MACHINES = 100

describe.each(storages())('on %s', (storage, env) => {
  let service: TestService
  /** The instance that the provider calls: on PostgreSQL another one than that of the resource server. */
  let called: TestService
  let fake: FakeProvider
  let okta: ScimClient
  let verifier: Verifier
  let uri: string
  /** Introspections by the resource server. */
  const asked: string[] = []
  beforeAll(async () => {
    const shared = { ...(await env()), SERVICE_SCIM_ENABLED: 'true', SERVICE_SESSION_SECRET: newId() + newId() }
    ;({ service, fake } = await openFederation(shared))
    const own = { SERVICE_SERVER_ISSUER: service.issuer, SERVICE_OIDC_REDIRECT_URI: `${service.issuer}/oidc/callback` }
    called = storage === 'SQLite' ? service : await startService(federating(fake.idp.issuer, { ...shared, ...own }))
    okta = await scimClient(called)
    const server = await addClient(service)
    ;({ uri } = await addResource(service, { policy: { runtime: { client_ids: [server.client_id] } } }))
    verifier = createVerifier({
      issuer: service.issuer,
      resource: uri,
      revocations: { clientId: server.client_id, clientSecret: server.client_secret },
      fetch: (input, init) => {
        if (String(input).includes('/oauth/introspect')) asked.push(String(input))
        return fetch(input, init)
      },
    })
  })
  afterAll(async () => {
    await verifier.close()
    if (called !== service) await called.close()
    await service.close()
  })

  /** A person of the provider, signed in and with a token for the resource. */
  async function signedIn() {
    const person = { userName: `${newId()}@example.com`, externalId: newId(), active: true }
    const id = await okta.add(person)
    const email = person.userName
    fake.person = { sub: person.externalId, email, email_verified: true }
    const [browser, client] = [new Browser(), await addClient(service)]
    await signInAt(service, fake, browser)
    const { body } = await redeem(
      service,
      client,
      await authorize(service, client, { email }, { resource: uri }, browser),
    )
    return { id, token: String(body['access_token']) }
  }
  async function answer(token: string): Promise<string> {
    const headers = { authorization: `Bearer ${token}` }
    const failure = await failureOf(verifier.verify({ method: 'POST', url: '/', headers }))
    if (failure === undefined) return 'accepted'
    return (failure instanceof Refusal && failure.code) || String(failure)
  }

  /** Starts the load on all instances. The returned function ends it, and says what it got. */
  async function underLoad(): Promise<() => Promise<string>> {
    if (RATE === 0) return async () => ''
    const machines = await Promise.all(Array.from({ length: MACHINES }, () => addClient(service)))
    const bases = [...new Set([service, called])].map(({ issuer }) => issuer)
    const send = tokenRequest({ machines, paths: { token: '/oauth/token' } })
    const ends = bases.map((base) => beginTraffic({ base }, RATE / bases.length, send))
    return async () => {
      const latency = newLatencies()
      const tallies = await Promise.all(ends.map((end) => end()))
      for (const tally of tallies) latency.add(tally.latency.contents())
      const rate = tallies.reduce((sum, { latency, seconds }) => sum + latency.count / seconds, 0)
      expect(tallies.flatMap(({ firstError }) => firstError ?? [])).toEqual([])
      return `, at ${Math.round(rate)} tokens/s with a p99 of ${Math.round(percentilesOf(latency).p99)} ms`
    }
  }

  test(`each of ${PEOPLE} people is refused without a question to the service, and the time is printed`, {
    timeout: 90_000,
  }, async () => {
    // Tokens that are about as old as the stream are introspected.
    await vi.waitFor(
      async () => {
        asked.length = 0
        expect([await answer((await signedIn()).token), asked]).toEqual(['accepted', []])
      },
      { timeout: 30_000, interval: 500 },
    )
    const end = await underLoad()
    const times: number[] = []
    const people = []
    for (let i = 0; i < PEOPLE; i++) people.push(await signedIn())
    // Tokens that are about as old as an event are introspected too.
    await pause(8000)
    for (const { id, token } of people) {
      expect(await answer(token)).toBe('accepted')
      asked.length = 0
      const began = performance.now()
      const patched = okta.patch(`/Users/${id}`, { op: 'replace', value: { active: false } })
      while ((await answer(token)) === 'accepted') await pause(1)
      times.push(performance.now() - began)
      expect([(await patched).status, await answer(token)]).toEqual([200, 'invalid_token'])
      // It was refused because of the event, not because the service was asked.
      expect(asked).toEqual([])
    }
    const shown = [Math.min(...times), median(times), Math.max(...times)].map((ms) => Math.round(ms))
    console.log(
      `${storage}: refused after ${shown.join(', ')} ms (minimum, median, maximum of ${PEOPLE})${await end()}`,
    )
  })
})
