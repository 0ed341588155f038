// PostgreSQL that is away, slow, restarted, read-only, or shared with others at bad moments.
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createStore } from '../../src/store/index.ts'
import { preparePostgres } from '../../src/store/postgres/client.ts'
import { openPostgres } from '../../src/store/postgres/driver.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { freePort } from '../support/free_port.ts'
import { recordingLog, silentLog } from '../support/log.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { openProxy } from '../support/proxy.ts'
import { aClient, aFamily, anIssuance, aRequest, NOW } from '../support/records.ts'
import { refusalOf } from '../support/thrown.ts'
import { eventually, pause } from '../support/wire.ts'
import type { Opened } from './conformance.ts'
import { openDsn, settingsOf } from './postgres_server.ts'

let server: PostgresServer
let dsn: string
let opened: Opened
beforeAll(async () => {
  server = await startPostgres({ mayBeShared: false })
})
afterAll(() => server.close())
beforeEach(async () => {
  dsn = await server.migrated()
  opened = await openDsn(dsn)
})
afterEach(() => opened.close())

const name = () => new URL(dsn).pathname.slice(1)
const isBack = () =>
  opened.store.createClient(aClient()).then(
    () => opened.store.driver.isHealthy(),
    () => false,
  )
/** Ends connections, from another database. */
const terminate = (which = 'true') =>
  server.sql(
    dsn.replace(name(), 'postgres'),
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name()}' AND ${which}`,
  )

describe('an unavailable server', () => {
  test('an outage is a 503 with Retry-After and not healthy, and operations succeed again afterwards', async () => {
    const { store } = opened
    const client = aClient()
    await store.createClient(client)
    expect(await store.findClient(client)).toEqual(client)
    await server.restart?.stop()
    const error = await refusalOf(() => store.createClient(aClient()))
    expect([error.status, error.reason, error.more.headers?.['retry-after']]).toEqual([503, 'storage_unavailable', '1'])
    await eventually(() => !store.driver.isHealthy(), 1000)
    // Nobody can say that what was read before still holds.
    expect((await refusalOf(() => store.findClient(client))).status).toBe(503)
    expect((await refusalOf(() => store.recordIssuance(anIssuance()))).status).toBe(503)
    await server.restart?.start()
    await eventually(isBack)
    expect(await store.findClient(client)).toEqual(client)
  })

  test('terminated connections are replaced', async () => {
    const { store } = opened
    await Promise.all(Array.from({ length: 20 }, () => store.createClient(aClient())))
    await terminate()
    await eventually(isBack)
    const clients = Array.from({ length: 20 }, () => aClient())
    expect(new Set(await Promise.all(clients.map(store.createClient)))).toEqual(new Set(['created']))
  })

  test('an operation that loses its connection is refused with 503 and rolled back', async () => {
    const issuance = anIssuance()
    const other = new pg.Client(dsn)
    await other.connect()
    await other.query('BEGIN; LOCK TABLE issuances')
    const lost = refusalOf(() => opened.store.recordIssuance({ ...issuance, uses: [aUse] }))
    await eventually(async () => (await waiting()) === 1)
    await terminate("wait_event_type = 'Lock'")
    expect((await lost).status).toBe(503)
    await other.end()
    expect(await opened.store.findIssuance(issuance)).toBeUndefined()
    expect(await opened.store.listUses({ since: '', now: NOW })).toEqual([])
  })

  test('a network connection that is cut during an operation gives 503', async () => {
    const line = await openProxy(dsn)
    const through = await openDsn(line.dsn)
    const other = new pg.Client(dsn)
    await other.connect()
    await other.query('BEGIN; LOCK TABLE issuances')
    const lost = refusalOf(() => through.store.recordIssuance({ ...anIssuance(), uses: [aUse] }))
    await eventually(async () => (await waiting()) === 1)
    line.close()
    expect((await lost).status).toBe(503)
    await other.end()
    await through.close()
  })

  test('a read-only server refuses writes with 503', async () => {
    await server.sql(dsn, `ALTER DATABASE ${name()} SET default_transaction_read_only = on`)
    await terminate()
    const error = await refusalOf(async () => {
      for (;;) await opened.store.createClient(aClient())
    })
    expect(error.status).toBe(503)
    // It is not ready for requests, and answers what only reads.
    const isRead = () => opened.store.countAccounts().then(Boolean, () => false)
    await eventually(async () => (await isRead()) && !opened.store.driver.isHealthy())
    await pause(1500)
    expect(await isRead()).toBe(true)
    expect(opened.store.driver.isHealthy()).toBe(false)
  })

  test('a server that refuses the user makes the start fail, with the name of the setting and without the password', async () => {
    const wrong = `postgres://postgres:S3cret-word@127.0.0.1:${await freePort()}/x`
    for (const open of [() => preparePostgres({ dsn: wrong }, NOW), () => openPostgres(settingsOf(wrong), silentLog)]) {
      const { message } = await open().then(
        () => new Error('opened'),
        (error: Error) => error,
      )
      expect(message).toContain('ECONNREFUSED')
      expect(message).not.toContain('S3cret')
    }
    await expect(preparePostgres({ dsn: wrong }, NOW)).rejects.toThrow('storage.postgres.dsn')
  })
})

test('a driver that loses its connection during closing is closed', async () => {
  const driver = await openPostgres(settingsOf(dsn), silentLog)
  const other = new pg.Client(dsn)
  await other.connect()
  // So that it still waits to take its row away when the connection ends.
  await other.query('BEGIN; LOCK TABLE instances')
  const closing = driver.close()
  await eventually(async () => (await waiting()) === 1)
  await terminate("wait_event_type = 'Lock'")
  await closing
  await other.end()
})

const aUse = { id: anIssuance().id, kind: 'dpop' as const, hash: anIssuance().id, expires_at: NOW + 60 }
const waiting = async () =>
  (await server.sql(dsn, `SELECT 1 FROM pg_stat_activity WHERE datname = '${name()}' AND wait_event_type = 'Lock'`))
    .length

test('a change of the tables by a newer version causes at most one 503 for each connection', async () => {
  const { store } = opened
  const request = aRequest()
  await store.createAuthorizationRequest(request)
  const find = () => store.findAuthorizationRequest({ id: request.id })
  await find()
  await server.sql(dsn, 'ALTER TABLE authorization_requests ADD COLUMN later TEXT')
  const found = await find().catch(find)
  expect(found).toEqual(request)
})

describe('concurrent operations', () => {
  test('one of two operations in a deadlock is retried', async () => {
    // Whoever looks for a deadlock first is the one that gives up: not before both wait, and not the other one.
    await server.sql(dsn, `ALTER DATABASE ${name()} SET deadlock_timeout = '2s'`)
    const { store, close } = await opened.again()
    const client = aClient()
    const family = aFamily({ client_id: client.client_id, scope: '' })
    const request = aRequest({ id: family.authorization_id, client_id: client.client_id, user_id: family.user_id })
    const consent = {
      id: anIssuance().id,
      user_id: 'u',
      client_id: client.client_id,
      resource_id: 'r',
      scope: '',
      redirect_hosts: {},
    }
    await store.createClient(client)
    await store.createAuthorizationRequest(request)
    const code = { code_hash: anIssuance().id, code_expires_at: NOW + 60, scope: '' }
    await store.approveAuthorizationRequest({
      id: request.id,
      session_id: request.session_id,
      ...code,
      consent,
      now: NOW,
    })
    await store.redeemCode({ family, issuance: anIssuance({ family_id: family.id }), now: NOW })
    const other = new pg.Client(dsn)
    await other.connect()
    await other.query('BEGIN; SET LOCAL deadlock_timeout = 30000; UPDATE consent_grants SET scope = scope')
    // Changes the family, then waits for the consent; meanwhile the other one wants the family.
    const deleted = store.deleteClient({ by: 'ada', client_id: client.client_id, force: true, now: NOW, oldest: '' })
    await eventually(async () => (await waiting()) === 1)
    await other.query('UPDATE token_families SET scope = scope')
    await other.query('COMMIT')
    await other.end()
    expect(await deleted).toBe('deleted')
    expect(await store.findClient(client)).toBeUndefined()
    expect(
      (await server.sql(dsn, `SELECT deadlocks::int FROM pg_stat_database WHERE datname = '${name()}'`))[0],
    ).toEqual({ deadlocks: 1 })
    await close()
  }, 30_000)

  test('an operation that the server asks to retry is retried, batched or not', async () => {
    const { store } = opened
    const failing = (attempts: number) =>
      server.sql(
        dsn,
        `CREATE SEQUENCE IF NOT EXISTS attempts; ALTER SEQUENCE attempts RESTART;
         CREATE OR REPLACE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           IF nextval('attempts') <= ${attempts} THEN RAISE 'again' USING ERRCODE = '40001'; END IF; RETURN NEW;
         END $$; CREATE OR REPLACE TRIGGER conflict BEFORE INSERT ON issuances FOR EACH ROW EXECUTE FUNCTION conflict()`,
      )
    const [alone, used] = [anIssuance(), anIssuance()]
    const together = Array.from({ length: 8 }, () => anIssuance())
    await failing(1)
    await store.recordIssuance(alone)
    await failing(3)
    await store.recordIssuance({ ...used, uses: [aUse] })
    await failing(1)
    await Promise.all(together.map(store.recordIssuance))
    for (const issuance of [alone, used, ...together]) expect(await store.findIssuance(issuance)).toEqual(issuance)
    await failing(1000)
    const error = await refusalOf(() => store.recordIssuance(anIssuance()))
    expect([error.status, error.reason]).toEqual([503, 'storage_unavailable'])
  })

  test('tokens of one turn are recorded in one batch', async () => {
    const { store } = opened
    const all = Array.from({ length: 100 }, () => anIssuance())
    await Promise.all(all.map(store.recordIssuance))
    for (const issuance of all) expect(await store.findIssuance(issuance)).toEqual(issuance)
    expect(store.driver.stats).toMatchObject({ jobs: 200, waiting: 0, running: 0 })
    // The reads went one by one; of the tokens, which come while others travel, most go together.
    expect(store.driver.stats.batches).toBeLessThan(120)
  })
})

describe('cache invalidations', () => {
  test('that cannot arrive disable the caches within two seconds', async () => {
    const line = await openProxy(dsn)
    const driver = await openPostgres(settingsOf(line.dsn), silentLog)
    let dropped = 0
    driver.onForeignWrite(() => dropped++)
    await pause(2500)
    expect([dropped, driver.isHealthy()]).toEqual([0, true])
    line.stall()
    const stalledMs = performance.now()
    await eventually(() => dropped > 0)
    expect(performance.now() - stalledMs).toBeLessThan(2200)
    await eventually(() => !driver.isHealthy(), 8000)
    line.close()
    await driver.close()
  })

  test('reach an instance whose server does not support LISTEN, which is logged once', async () => {
    // What such a server answers: the word is not known.
    const line = await openProxy(dsn, (sent) =>
      Buffer.from(sent.toString('latin1').replace('LISTEN', 'LISTEM'), 'latin1'),
    )
    const { log, lines } = recordingLog()
    const deaf = createStore(await openPostgres(settingsOf(line.dsn), log), new Metrics())
    expect(lines.map(({ msg }) => msg)).toEqual([expect.stringContaining('the database does not support LISTEN')])
    const client = aClient()
    await opened.store.createClient(client)
    expect(await deaf.findClient(client)).toEqual(client)
    await opened.store.updateClient({ ...client, status: 'suspended' })
    await eventually(async () => (await deaf.findClient(client))?.status === 'suspended', 3000)
    await deaf.updateClient({ ...client, version: client.version + 1, status: 'active' })
    await eventually(async () => (await opened.store.findClient(client))?.status === 'active', 3000)
    await deaf.driver.close()
    line.close()
  })

  test('during a lost connection are not missed', async () => {
    const other = await opened.again()
    const client = aClient()
    await opened.store.createClient(client)
    expect(await other.store.findClient(client)).toEqual(client)
    await terminate()
    await eventually(() => opened.store.updateClient({ ...client, status: 'suspended' }).catch(() => false))
    const isKnown = () =>
      other.store.findClient(client).then(
        (found) => found?.status === 'suspended',
        () => false,
      )
    await eventually(isKnown, 3000)
    await other.close()
  })
})
