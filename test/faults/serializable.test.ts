// A database on which every transaction is serializable by default: what collides is done again, reads like writes.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createStore, type Store } from '../../src/store/index.ts'
import { openPostgres } from '../../src/store/postgres.ts'
import { preparePostgres } from '../../src/store/postgres_client.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { settingsOf } from '../store/postgres_server.ts'
import { silentLog } from '../support/log.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { anIssuance, NOW } from '../support/records.ts'

let server: PostgresServer
let store: Store
beforeAll(async () => {
  server = await startPostgres()
  const dsn = await server.database()
  const name = new URL(dsn).pathname.slice(1)
  await server.sql(dsn, `ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`)
  await preparePostgres({ dsn }, NOW)
  // Two of three reads of an issued token fail as they do in a conflict.
  await server.sql(
    dsn,
    `CREATE SEQUENCE reads;
     CREATE FUNCTION conflict() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
       IF nextval('reads') % 3 > 0 THEN RAISE 'could not serialize access' USING ERRCODE = '40001'; END IF; RETURN true;
     END $$;
     ALTER TABLE issuances RENAME TO all_issuances;
     CREATE VIEW issuances AS SELECT * FROM all_issuances WHERE conflict()`,
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

test('a read that collides is read again, whether it travels with others or not', async () => {
  const issuance = anIssuance()
  await store.recordIssuance(issuance)
  expect(await store.findIssuance(issuance)).toEqual(issuance)
  expect((await store.findTokenState(issuance))?.live).toBe(true)
  const found = await Promise.all(Array.from({ length: 3 }, () => store.findIssuance(issuance)))
  expect(found).toEqual([issuance, issuance, issuance])
})

test('one that collides every time is a 503', async () => {
  const found = await Promise.allSettled(Array.from({ length: 40 }, () => store.findIssuance(anIssuance())))
  const errors = found.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
  for (const error of errors) expect(error).toMatchObject({ status: 503, reason: 'storage_unavailable' })
})
