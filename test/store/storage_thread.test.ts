// The storage thread: what happens when it dies, and when the database is away.
import path from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Thread } from '../../src/lib/thread.ts'
import { Database, prepareDatabase } from '../../src/store/database.ts'
import { tempFolder } from '../support/folder.ts'
import { aClient, NOW } from '../support/records.ts'
import { refusalOf } from '../support/thrown.ts'
import type { Opened } from './conformance.ts'
import { openFile } from './sqlite_file.ts'

const called = vi.spyOn(Thread.prototype, 'call')

/** What an operation waits for another process here. */
const BUSY_MS = 100

let file: string
let opened: Opened
beforeEach(() => {
  file = path.join(tempFolder(), 'service.db')
  prepareDatabase(file, true, NOW)
  opened = openFile(file, true, BUSY_MS)
})
afterEach(() => opened.close())

test('P09 an operation whose storage thread dies gives 503 with Retry-After, and a new thread replaces it', async () => {
  const { store } = opened
  const client = aClient()
  await store.createClient(client)
  const other = new Database(file)
  other.exec('BEGIN EXCLUSIVE')
  const refused = refusalOf(() => store.createClient(aClient()))
  const { stats } = store.driver
  while (stats.waiting > 0 || stats.running === 0) await new Promise((resolve) => setImmediate(resolve))
  // The thread waits for the lock, so it has not answered.
  void (called.mock.contexts.at(-1) as Thread).end()
  other.exec('ROLLBACK')
  other.close()
  const error = await refused
  expect([error.status, error.reason, error.more.headers?.['retry-after']]).toEqual([503, 'storage_thread_failed', '1'])
  expect(await store.findClient({ client_id: client.client_id })).toEqual(client)
  expect(await store.createClient(aClient())).toBe('created')
})

test('a database that another process has locked gives 503, and works again when it is unlocked', async () => {
  const { store } = opened
  await store.readHealth()
  const other = new Database(file)
  other.exec('BEGIN EXCLUSIVE')
  const error = await refusalOf(() => store.createClient(aClient()))
  expect([error.status, error.reason]).toEqual([503, 'storage_unavailable'])
  other.exec('ROLLBACK')
  other.close()
  expect(await store.createClient(aClient())).toBe('created')
})
