// Several front threads on PostgreSQL: each has its own connections, as another instance would, and is notified at once.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import { basic, type FreshAnswer, fresh, MANY, spread, tally } from '../support/fronts.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { addClient, startService, type TestService } from '../support/service.ts'

let server: PostgresServer
let at: TestService
beforeAll(async () => {
  server = await startPostgres()
  at = await startService({
    SERVICE_SERVER_FRONT_THREADS: '2',
    SERVICE_STORAGE_DRIVER: 'postgres',
    SERVICE_STORAGE_POSTGRES_DSN: await server.migrated(),
    SERVICE_STORAGE_POSTGRES_MAX_CONNS: '12',
  })
})
afterAll(async () => {
  await at.close()
  await server.close()
})

type Client = Awaited<ReturnType<typeof addClient>>
const token = (client: Client, headers = {}) =>
  fresh(at, '/oauth/token', { grant_type: 'client_credentials' }, { ...basic(client), ...headers })
const statuses = (answers: readonly FreshAnswer[]) => tally(answers.map(({ status }) => status))

test('a suspended client is refused by every thread when the operator is answered', async () => {
  const client = await addClient(at)
  expect(statuses(await spread(() => token(client)))).toEqual({ 200: MANY })
  await okAdmin(at, 'PATCH', `/admin/clients/${client.client_id}/suspend`)
  expect(statuses(await spread(() => token(client)))).toEqual({ 401: MANY })
  const reports = at.app.frontPool?.reports() ?? []
  await at.app.frontPool?.collect()
  expect(Math.min(...reports.map(({ requests }) => requests))).toBeGreaterThan(0)
})

test('of one proof on many concurrent connections exactly one is accepted', async () => {
  const client = await addClient(at)
  for (let round = 0; round < 3; round++) {
    const proof = await dpop(at, await proofKey())
    expect(statuses(await spread(() => token(client, proof), 16))).toEqual({ 200: 1, 400: 15 })
  }
})
