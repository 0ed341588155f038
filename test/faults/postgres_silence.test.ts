// PostgreSQL that does not answer: a host that vanished without closing its connections, and one that cannot commit because its
// synchronous standby is unavailable.
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createStore, type Store } from '../../src/store/index.ts'
import { openPostgres } from '../../src/store/postgres/driver.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { settingsOf } from '../store/postgres_server.ts'
import { recordingLog, silentLog } from '../support/log.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { openProxy, type TcpProxy } from '../support/proxy.ts'
import { aClient, anInstance, anIssuance } from '../support/records.ts'
import { refusalOf } from '../support/thrown.ts'
import { eventually, pause } from '../support/wire.ts'

const CONNECTIONS = 40
/** The allowed cost of such an outage, and the additional time of a busy machine. */
const [BOUND_MS, MARGIN_MS] = [5000, 3000]

let server: PostgresServer
let dsn: string
let line: TcpProxy
let store: Store
let observer: pg.Client
beforeAll(async () => {
  server = await startPostgres({ mayBeShared: false })
})
afterAll(() => server.close())
beforeEach(async () => {
  dsn = await server.migrated()
  line = await openProxy(dsn)
  store = createStore(await openPostgres(settings(line.dsn), silentLog), new Metrics())
  observer = new pg.Client({ connectionString: dsn, application_name: 'observer' })
  await observer.connect()
})
afterEach(async () => {
  await server.sql(dsn, 'ALTER SYSTEM RESET synchronous_standby_names')
  await server.sql(dsn, 'SELECT pg_reload_conf()')
  await store.driver.close()
  line.close()
  await observer.end()
})

const settings = (at: string) => ({ ...settingsOf(at), max_conns: CONNECTIONS, min_conns: CONNECTIONS })
/** Opens every connection of the pool. */
const fill = async () => {
  await eventually(async () => {
    await Promise.all(Array.from({ length: 4 * CONNECTIONS }, () => store.listClients({ limit: 1, offset: 0 })))
    return (store.driver.connections?.().open ?? 0) === CONNECTIONS
  })
}
const backends = async (): Promise<number> => {
  const { rows } = await observer.query(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'service'`,
  )
  return rows[0].n
}
/** Requests tokens continuously, and records the results. */
function load() {
  const seen = { ok: 0, refused: 0, slowestMs: 0, others: [] as unknown[], most: 0 }
  let stopped = false
  const one = async () => {
    while (!stopped) {
      const beganMs = performance.now()
      await store.recordIssuance(anIssuance()).then(
        () => seen.ok++,
        (error) => {
          if (error.status === 503) seen.refused++
          else seen.others.push(error)
        },
      )
      seen.slowestMs = Math.max(seen.slowestMs, performance.now() - beganMs)
      await pause(20)
    }
  }
  const count = async () => {
    while (!stopped) {
      seen.most = Math.max(seen.most, await backends())
      await pause(50)
    }
  }
  const all = [...Array.from({ length: 2 * CONNECTIONS }, one), count()]
  return {
    seen,
    async stop() {
      stopped = true
      await Promise.all(all)
    },
  }
}

describe('a host that vanishes without closing its connections', () => {
  test('a vanished host costs one timeout, and not one for each idle connection', async () => {
    await fill()
    line.strand()
    const lostMs = performance.now()
    await eventually(
      () =>
        store.recordIssuance(anIssuance()).then(
          () => true,
          () => false,
        ),
      60_000,
    )
    expect(performance.now() - lostMs).toBeLessThan(BOUND_MS + MARGIN_MS)
    // Every connection is new: reads and writes are answered at once.
    await Promise.all(Array.from({ length: 2 * CONNECTIONS }, () => store.recordIssuance(anIssuance())))
    expect(await backends()).toBeLessThanOrEqual(CONNECTIONS + 2)
  }, 90_000)

  test('a vanished host is not ready until it is back; requests are refused at once meanwhile', async () => {
    await fill()
    const { seen, stop } = load()
    await eventually(() => seen.ok > 0)
    line.stall()
    await eventually(() => !store.driver.isHealthy(), BOUND_MS + MARGIN_MS)
    const beganMs = performance.now()
    const errors = await Promise.all(
      Array.from({ length: 200 }, () => refusalOf(() => store.listClients({ limit: 1, offset: 0 }))),
    )
    expect(performance.now() - beganMs).toBeLessThan(1000)
    for (const { status, reason } of errors) expect([status, reason]).toEqual([503, 'storage_unavailable'])
    line.resume()
    const before = seen.ok
    await eventually(() => seen.ok > before && store.driver.isHealthy(), BOUND_MS + MARGIN_MS)
    await stop()
    expect(seen.others).toEqual([])
    expect(seen.most).toBeLessThanOrEqual(CONNECTIONS + 2)
    expect(seen.slowestMs).toBeLessThan(10_000)
  }, 90_000)
})

test('a disk without space for tokens is not ready until it has space again', async () => {
  // The error of the server when a table cannot grow; the row of the proof still fits.
  await server.sql(
    dsn,
    `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no space left' USING ERRCODE = '53100'; END $$;
     CREATE TRIGGER full_disk BEFORE INSERT ON issuances FOR EACH ROW EXECUTE FUNCTION full_disk();
     CREATE FUNCTION full_for_tables() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no space left' USING ERRCODE = '53100'; END $$;
     CREATE EVENT TRIGGER full_for_tables ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION full_for_tables()`,
  )
  expect(store.driver.isHealthy()).toBe(true)
  expect((await refusalOf(() => store.recordIssuance(anIssuance()))).status).toBe(503)
  await eventually(() => !store.driver.isHealthy())
  await pause(2500)
  expect(store.driver.isHealthy()).toBe(false)
  expect(await store.findIssuance({ id: anIssuance().id })).toBeUndefined()
  await server.sql(dsn, 'DROP EVENT TRIGGER full_for_tables; DROP TRIGGER full_disk ON issuances')
  await eventually(() => store.driver.isHealthy())
  const issuance = anIssuance()
  await store.recordIssuance(issuance)
  expect(await store.findIssuance(issuance)).toEqual(issuance)
}, 60_000)

describe('a synchronous standby that is unavailable', () => {
  const loseStandby = async () => {
    await server.sql(dsn, `ALTER SYSTEM SET synchronous_standby_names = 'nobody'`)
    await server.sql(dsn, 'SELECT pg_reload_conf()')
  }
  const findStandby = async () => {
    await server.sql(dsn, 'ALTER SYSTEM RESET synchronous_standby_names')
    await server.sql(dsn, 'SELECT pg_reload_conf()')
  }

  test('the service is not ready, answers within ten seconds, serves reads, and has no more connections than configured', async () => {
    const client = aClient()
    await store.createClient(client)
    await fill()
    const { seen, stop } = load()
    await eventually(() => seen.ok > 0)
    await loseStandby()
    await eventually(() => !store.driver.isHealthy(), BOUND_MS + MARGIN_MS)
    await pause(6000)
    expect(store.driver.isHealthy()).toBe(false)
    expect(await store.findIssuance({ id: anIssuance().id })).toBeUndefined()
    expect(await store.countAccounts()).toMatchObject({ clients: 1 })
    const before = seen.ok
    await findStandby()
    await eventually(() => seen.ok > before && store.driver.isHealthy(), BOUND_MS + MARGIN_MS)
    await stop()
    expect(seen.others).toEqual([])
    expect(seen.most).toBeLessThanOrEqual(CONNECTIONS + 2)
    expect(seen.slowestMs).toBeLessThan(10_000)
  }, 90_000)

  test('a start waits, and logs what it waits for', async () => {
    await loseStandby()
    const { log, lines } = recordingLog()
    const opening = openPostgres(settings(dsn), log, { serves: anInstance })
    await eventually(() => lines.some(({ msg }) => String(msg).includes('a synchronous standby unavailable')), 20_000)
    await findStandby()
    const driver = await opening
    await eventually(() => driver.isHealthy())
    await driver.close()
  }, 60_000)
})
