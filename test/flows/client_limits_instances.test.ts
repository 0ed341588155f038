// Limits of clients at two instances on one PostgreSQL, each with two front threads.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { machineToken } from '../support/flow.ts'
import { spread, tally } from '../support/fronts.ts'
import { type Pair, startPair } from '../support/pair.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { addClient, startService, type TestService } from '../support/service.ts'

let server: PostgresServer
let pair: Pair
beforeAll(async () => {
  server = await startPostgres()
  pair = await startPair(await server.migrated(), {}, (shared) =>
    startService({ ...shared, SERVICE_SERVER_FRONT_THREADS: '2' }),
  )
})
afterAll(async () => {
  await pair.close()
  await server.close()
})

const statusesOf = async (at: TestService, client: Parameters<typeof machineToken>[1], times: number) =>
  tally((await spread(() => machineToken(at, client), times)).map(({ status }) => status))

test('tokens of one instance count at the other, and the threads of an instance share one count', async () => {
  const { a, b } = pair
  const client = await addClient(a, {}, { limits: { tokens_per_day: 5 } })
  expect(await statusesOf(a, client, 12)).toEqual({ 200: 5, 429: 7 })
  await expect.poll(() => statusesOf(b, client, 1), { timeout: 10_000, interval: 500 }).toEqual({ 429: 1 })
})

test('the report of waste counts the tokens of all instances', async () => {
  const { a, b } = pair
  const client = await addClient(a)
  expect(await statusesOf(a, client, 75)).toEqual({ 200: 75 })
  expect(await statusesOf(b, client, 75)).toEqual({ 200: 75 })
  const { clients } = await okAdmin<{ clients: object[] }>(b, 'GET', '/admin/stats/waste')
  expect(clients).toEqual([
    expect.objectContaining({ client_id: client.client_id, tokens: 150, needed: 1, lifetime: 3600 }),
  ])
})
