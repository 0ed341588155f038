// A real PgBouncer in front of a real PostgreSQL: it works with its defaults, and unsupported modes are refused at start.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createStore } from '../../../src/store/index.ts'
import { connectedTo, preparePostgres } from '../../../src/store/postgres/client.ts'
import { openPostgres } from '../../../src/store/postgres/driver.ts'
import { Metrics } from '../../../src/telemetry/metrics.ts'
import { settingsOf } from '../../store/postgres_server.ts'
import { silentLog } from '../../support/log.ts'
import { type PostgresServer, startPostgres } from '../../support/postgres.ts'
import { aClient, anIssuance, NOW } from '../../support/records.ts'
import { eventually } from '../../support/wire.ts'
import { hasProgram, type Part, startPgBouncer } from './parts.ts'

const LEFT_OUT = hasProgram('pgbouncer')
  ? ''
  : 'PgBouncer was not tested: it is not installed (apt-get install pgbouncer)'

let server: PostgresServer
let port: number
const parts: Part[] = []
beforeAll(async () => {
  if (LEFT_OUT) process.stdout.write(`${LEFT_OUT}\n`)
  server = await startPostgres({ mayBeShared: false })
  const dsn = await server.database()
  port = Number(new URL(dsn).port)
  await preparePostgres({ dsn: dsn.replace(/service_test_\w+/, 'postgres') }, NOW)
})
afterAll(async () => {
  await Promise.all(parts.map((part) => part.close()))
  await server.close()
})
const behind = async (more: string) => {
  const part = await startPgBouncer(port, more)
  parts.push(part)
  return `postgres://postgres@127.0.0.1:${part.port}/postgres`
}

describe('PgBouncer', () => {
  test('PgBouncer in session mode works with its defaults, including notifications and timeouts', async ({ skip }) => {
    skip(LEFT_OUT !== '', LEFT_OUT)
    const dsn = await behind('')
    expect(await preparePostgres({ dsn }, NOW)).toEqual([])
    const open = async () =>
      createStore(await openPostgres({ ...settingsOf(dsn), max_conns: 5 }, silentLog), new Metrics())
    const [store, other] = [await open(), await open()]
    const client = aClient()
    await store.createClient(client)
    expect(await other.findClient(client)).toEqual(client)
    await store.updateClient({ ...client, status: 'suspended' })
    await eventually(async () => (await other.findClient(client))?.status === 'suspended', 3000)
    const all = Array.from({ length: 200 }, () => anIssuance())
    await Promise.all(all.map(store.recordIssuance))
    for (const issuance of all.slice(-5)) expect(await other.findIssuance(issuance)).toEqual(issuance)
    const limit = await connectedTo({ dsn }, (query) => query('SHOW statement_timeout'))
    expect(limit).toEqual([{ statement_timeout: '8s' }])
    await Promise.all([store.driver.close(), other.driver.close()])
  })

  test.for([
    'pool_mode = transaction',
    'pool_mode = transaction\nserver_round_robin = 1',
    'pool_mode = transaction\ndefault_pool_size = 1',
    'pool_mode = transaction\nmin_pool_size = 5\nserver_round_robin = 1',
  ])('with %s is refused when the service starts', async (mode, { skip }) => {
    skip(LEFT_OUT !== '', LEFT_OUT)
    const dsn = await behind(mode)
    await expect(openPostgres(settingsOf(dsn), silentLog)).rejects.toThrow('set pool_mode = session')
  })

  test('PgBouncer with pool_mode = statement is refused at start', async ({ skip }) => {
    skip(LEFT_OUT !== '', LEFT_OUT)
    const dsn = await behind('pool_mode = statement')
    await expect(openPostgres(settingsOf(dsn), silentLog)).rejects.toThrow(/pool_mode = session|pooling mode/)
  })
})
