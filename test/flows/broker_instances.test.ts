// Two instances on one PostgreSQL: one instance at a time sends a request for the connection of a user.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { brokerScene, type Scene, startBroker, vended } from '../support/broker.ts'
import { exchange } from '../support/exchange.ts'
import { type Pair, startPair } from '../support/pair.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import type { TestService } from '../support/service.ts'

let server: PostgresServer
let pair: Pair
let a: TestService
let b: TestService
beforeAll(async () => {
  server = await startPostgres()
  pair = await startPair(await server.migrated(), {}, startBroker)
  ;({ a, b } = pair)
})
afterAll(async () => {
  await pair.close()
  await server.close()
})

const vendAt = (at: TestService, { member, resource, gateway }: Scene, scope = 'files:read') =>
  exchange(at, gateway, { subject_token: member.subject, resource: resource.uri, scope })

test('fifty concurrent exchanges at both instances send one request to the provider each round, and no refresh token is lost', async () => {
  const scene = await brokerScene(a)
  await scene.connect()
  for (let round = 1; round <= 4; round++) {
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => vendAt(i % 2 ? a : b, scene)))
    expect(new Set(answers.map((each) => vended(each, scene.upstream))).size).toBe(1)
    expect([scene.upstream.refreshed.length, scene.upstream.live.size]).toEqual([round, 1])
    for (const each of [a, b]) each.advance(3600)
  }
})

test('concurrent exchanges for different scopes at both instances use no refresh token twice', async () => {
  const scene = await brokerScene(a)
  await scene.connect()
  for (let round = 0; round < 3; round++) {
    const scopes = ['files:read', 'files:write']
    const answers = await Promise.all([a, b, a, b].flatMap((at) => scopes.map((scope) => vendAt(at, scene, scope))))
    for (const each of answers) vended(each, scene.upstream)
    for (const each of [a, b]) each.advance(3600)
  }
  expect(scene.upstream.refreshed.length).toBe(6)
})

test('a connection that ends at one instance returns no token at the other', async () => {
  const scene = await brokerScene(a)
  await scene.connect()
  vended(await vendAt(b, scene), scene.upstream)
  const grant = await scene.grant()
  await a.app.store.revokeBrokerGrant({ id: grant?.id ?? '', now: a.app.clock.now() })
  expect((await vendAt(b, scene)).body['error']).toBe('consent_required')
})
