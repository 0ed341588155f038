// A database that went back in time under two instances (a restored backup, a failover that lost commits): changes of one instance
// still reach the other one. And a change does not invalidate more than necessary.
import { decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { STALE_MS } from '../../src/store/cache.ts'
import { okAdmin } from '../support/admin.ts'
import { machineToken, register } from '../support/flow.ts'
import { type Pair, startPair } from '../support/pair.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { addClient, addResource, SEALED, type TestService } from '../support/service.ts'
import { eventually, pause } from '../support/wire.ts'

/** Time that the checks may need on a busy machine in addition to the bound. */
const MARGIN_MS = 3000

let server: PostgresServer
let dsn: string
let pair: Pair
let a: TestService
let b: TestService
beforeAll(async () => {
  server = await startPostgres()
  dsn = await server.migrated()
  pair = await startPair(dsn, { ...SEALED, SERVICE_SIGNING_KEY_STORE: 'postgres_key', SERVICE_DCR_MODE: 'open' })
  ;({ a, b } = pair)
})
afterAll(async () => {
  await pair.close()
  await server.close()
})

const withinBound = (check: () => Promise<boolean>) => eventually(check, STALE_MS + MARGIN_MS)
const suspend = (client_id: string) => okAdmin(a, 'PATCH', `/admin/clients/${client_id}/suspend`)
const reactivate = (client_id: string) => okAdmin(a, 'PATCH', `/admin/clients/${client_id}/reactivate`)
/** Increments the versions, lets both instances read them, and restores them. */
const goBack = async () => {
  await server.sql(dsn, 'UPDATE store_versions SET version = version + 1000')
  await pause(1500)
  await server.sql(dsn, 'UPDATE store_versions SET version = version - 1000')
}
const endConnections = () =>
  server.sql(
    dsn,
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )
type Credentials = Parameters<typeof machineToken>[1]
const served = (at: TestService, client: Credentials) => machineToken(at, client).then(({ status }) => status)
/** Resolves when an instance has answered a client so from its cache, and has read the versions since. */
const remembers = async (at: TestService, client: Credentials, status: number) => {
  const misses = () => at.app.store.caches['findClient']?.misses
  await eventually(async () => {
    if ((await served(at, client)) !== status) return false
    await pause(1100)
    const before = misses()
    return (await served(at, client)) === status && misses() === before
  }, 20_000)
}

/** Both instances show it to operators: in what needs attention, and as a metric. */
async function expectTold(): Promise<void> {
  for (const at of [a, b]) {
    const { attention } = await okAdmin<{ attention: { kind: string }[] }>(at, 'GET', '/admin/system/status')
    expect(attention.map(({ kind }) => kind)).toContain('database')
    const metrics = await (await fetch(`${at.admin}/metrics`)).text()
    expect(metrics).toContain('\next_database_went_back 1\n')
  }
}

describe('after the versions of the database went back', () => {
  test('a suspended client is refused at the other instance within the bound', async () => {
    const client = await addClient(a)
    await goBack()
    await remembers(b, client, 200)
    await suspend(client.client_id)
    await withinBound(async () => (await served(b, client)) === 401)
    await expectTold()
  })

  test('a suspended client is refused at the other instance, also when both instances lost their connections meanwhile', async () => {
    const client = await addClient(a)
    await goBack()
    await endConnections()
    for (const at of [a, b]) await remembers(at, client, 200)
    await suspend(client.client_id)
    await withinBound(async () => (await served(b, client)) === 401)
  })

  test('changes that were lost with their commits are removed from every cache, without another change', async () => {
    const client = await addClient(a)
    await suspend(client.client_id)
    for (const at of [a, b]) await remembers(at, client, 401)
    // The state after a failover: the row and the versions as they were before.
    await server.sql(
      dsn,
      `BEGIN; UPDATE clients SET status = 'active' WHERE client_id = '${client.client_id}';
       UPDATE store_versions SET version = version - 1 WHERE name LIKE 'records-%'; COMMIT`,
    )
    for (const at of [a, b]) await withinBound(async () => (await served(at, client)) === 200)
  })

  test('a revoked signing key is neither published nor used at the other instance within the bound', async () => {
    const client = await addClient(a)
    const { body } = await machineToken(b, client)
    const { kid = '' } = decodeProtectedHeader(String(body['access_token']))
    await goBack()
    await okAdmin(a, 'POST', `/admin/keys/${kid}/revoke`, { dry_run: false })
    await withinBound(async () => {
      const jwks = (await (await fetch(`${b.issuer}/.well-known/jwks.json`)).json()) as { keys: { kid: string }[] }
      return !jwks.keys.some((key) => key.kid === kid)
    })
    const { body: next } = await machineToken(b, client)
    expect(decodeProtectedHeader(String(next['access_token'])).kid).not.toBe(kid)
  })
})

describe('the caches of the other instance', () => {
  test('a cached entry stays when an unrelated client is registered or changed', async () => {
    const [client, resource] = [await addClient(a), await addResource(a)]
    const form = { resource: resource.uri, scope: resource.scopes[0]?.name ?? '' }
    const misses = () => ['findClient', 'findResource'].map((read) => b.app.store.caches[read]?.misses).join(' ')
    // On a busy machine an instance may drop its cache for another reason; in some rounds it does not.
    await eventually(async () => {
      expect((await machineToken(b, client, form)).status).toBe(200)
      const before = misses()
      expect((await register(a)).status).toBe(201)
      const { client_id } = await addClient(a)
      await suspend(client_id)
      await reactivate(client_id)
      // The versions are read meanwhile.
      await pause(1100)
      expect((await machineToken(b, client, form)).status).toBe(200)
      return misses() === before
    }, 20_000)
    // A cached entry is dropped when its record changes.
    await suspend(client.client_id)
    await withinBound(async () => (await served(b, client)) === 401)
  })

  test('all entries are dropped when a change was missed', async () => {
    const client = await addClient(a)
    await remembers(b, client, 200)
    await server.sql(
      dsn,
      `UPDATE clients SET status = 'suspended' WHERE client_id = '${client.client_id}';
       UPDATE store_versions SET version = version + 1 WHERE name = 'records-3'`,
    )
    await withinBound(async () => (await served(b, client)) === 401)
  })
})
