// The storage thread: what happens when it dies, and when the database is away.
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { programFile } from '../../src/lib/paths.ts'
import { Database, prepareDatabase } from '../../src/store/database.ts'
import { startThread, Thread } from '../../src/store/thread.ts'
import { tempFolder } from '../support/folder.ts'
import { silentLog } from '../support/log.ts'
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

test('the storage thread is ended only after it has loaded, however early the end is asked for', async () => {
  const asked = vi.spyOn(Thread.prototype, 'end')
  const loaded: boolean[] = []
  const { terminate } = Worker.prototype
  const ended = vi.spyOn(Worker.prototype, 'terminate').mockImplementation(function (this: Worker) {
    loaded.push((asked.mock.contexts[0] as Thread).isLoaded)
    return terminate.call(this)
  })
  await startThread(programFile('store'), { file, wal: true }, silentLog).close()
  ended.mockRestore()
  expect(loaded).toEqual([true])
})

test('the storage thread answers calls in their order, and a call that fails does not affect the others', async () => {
  const thread = startThread(programFile('store'), { file, wal: true }, silentLog)
  const settled = await Promise.allSettled(['[]', 'not JSON', '[]'].map(thread.call))
  await thread.close()
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})
