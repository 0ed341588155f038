// A database where every transaction is serializable by default: operations that collide are retried, reads like writes.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createStore, type Store } from '../../src/store/index.ts'
import { preparePostgres } from '../../src/store/postgres/client.ts'
import { openPostgres } from '../../src/store/postgres/driver.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { settingsOf } from '../store/postgres_server.ts'
import { silentLog } from '../support/log.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { anIssuance, NOW } from '../support/records.ts'

let server: PostgresServer
let dsn: string
let store: Store
/** So many reads of an issued token fail from now on as they do in a conflict. */
const failing = (reads: number) =>
  server.sql(
    dsn,
    `CREATE SEQUENCE IF NOT EXISTS reads; ALTER SEQUENCE reads RESTART;
     CREATE OR REPLACE FUNCTION conflict() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
       IF nextval('reads') <= ${reads} THEN RAISE 'could not serialize access' USING ERRCODE = '40001'; END IF; RETURN true;
     END $$`,
  )

beforeAll(async () => {
  server = await startPostgres()
  dsn = await server.database()
  const name = new URL(dsn).pathname.slice(1)
  await server.sql(dsn, `ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`)
  await preparePostgres({ dsn }, NOW)
  await failing(0)
  await server.sql(
    dsn,
    'ALTER TABLE issuances RENAME TO all_issuances; CREATE VIEW issuances AS SELECT * FROM all_issuances WHERE conflict()',
  )
  store = createStore(
    await openPostgres({ ...settingsOf(dsn), max_conns: 4 }, silentLog, { makesPartitions: false }),
    new Metrics(),
  )
})
afterAll(async () => {
  await store.driver.close()
  await server.close()
})

test('a read that collides is retried, batched or not', async () => {
  const issuance = anIssuance()
  await store.recordIssuance(issuance)
  await failing(2)
  expect(await store.findIssuance(issuance)).toEqual(issuance)
  await failing(2)
  expect((await store.findTokenState(issuance))?.live).toBe(true)
  await failing(3)
  const found = await Promise.all(Array.from({ length: 3 }, () => store.findIssuance(issuance)))
  expect(found).toEqual([issuance, issuance, issuance])
})

test('a read that always collides is a 503', async () => {
  const issuance = anIssuance()
  await store.recordIssuance(issuance)
  await failing(1000)
  const found = await Promise.allSettled(Array.from({ length: 40 }, () => store.findIssuance(issuance)))
  for (const each of found)
    expect(each).toMatchObject({ status: 'rejected', reason: { status: 503, reason: 'storage_unavailable' } })
})
