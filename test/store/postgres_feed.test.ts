// The feed on PostgreSQL: transactions become visible in another order than they began, and none of their events may be missed.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { feedEnd } from '../../src/events/cursor.ts'
import { newId } from '../../src/lib/id.ts'
import { idBytes } from '../../src/store/op.ts'
import { clientSettings } from '../../src/store/postgres/client.ts'
import { PostgresConnection } from '../../src/store/postgres/connection.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { anEvent } from '../support/records.ts'
import { openDsn } from './postgres_server.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

test('an event of a transaction that began earlier and is still open is not skipped: later events wait for it', async () => {
  const dsn = await server.migrated()
  const { store, close } = await openDsn(dsn)
  const open = new PostgresConnection(clientSettings({ dsn }))
  await open.connect()
  const [early, late] = [newId(), newId()]
  await open.query('BEGIN')
  await open.query(
    `INSERT INTO audit_events (id, action, actor_id, ip, detail, created_at) VALUES ('\\x${idBytes(early).toString('hex')}', 'client_created', 'admin', '', '{}', 1)`,
  )
  await store.recordAudit(anEvent({ id: late }))
  const before = { feed_order: 0, event_id: 'AAAAAAAAAAAAAAAAAAAAAA' }
  const read = async () =>
    (await store.listFeed({ after: before, end: await feedEnd(store), limit: 9 })).map(({ event_id }) => event_id)
  expect(await read()).toEqual([])
  await open.query('COMMIT')
  // Transactions of other tests on this server delay the events too.
  await expect.poll(read, { timeout: 10_000 }).toEqual([early, late])
  await open.end()
  await close()
})
