// `service rekey`: values of an older key are encrypted again, while other processes read and write.
import path from 'node:path'
import type Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { aesMaster } from '../../src/crypto/at_rest.ts'
import type { AtRest } from '../../src/crypto/encryption.ts'
import { rekey } from '../../src/crypto/rekey.ts'
import { newId } from '../../src/lib/id.ts'
import { Database } from '../../src/store/database.ts'
import type { Store } from '../../src/store/index.ts'
import { openStore } from '../../src/store/open.ts'
import { SEALED_COLUMNS } from '../../src/store/sealed.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { runHere } from '../support/cli.ts'
import { tempFolder } from '../support/folder.ts'
import { silentLog } from '../support/log.ts'
import { NOW } from '../support/records.ts'

const [OLD, NEW, STRANGER] = ['ab', 'cd', 'ef'].map((hex) => hex.repeat(32)) as [string, string, string]
const [before, after] = [aesMaster(OLD), aesMaster(NEW, OLD)]

let file: string
let store: Store
let db: Sqlite.Database
beforeEach(async () => {
  file = path.join(tempFolder(), 'service.db')
  const storage = { driver: 'sqlite', sqlite: { path: file, wal: true } } as never
  store = await openStore(storage, { log: silentLog, metrics: new Metrics(), now: NOW, creates: true })
  db = new Database(file)
})
afterEach(async () => {
  db.close()
  await store.driver.close()
})

/** Connections of several users, encrypted with a key. */
async function addGrants(count: number, by: AtRest): Promise<void> {
  const insert = db.prepare(
    'INSERT INTO broker_grants (id, user_id, broker_provider_id, credential, scopes_granted, version, created_at, updated_at) VALUES (?, ?, ?, ?, ?, 1, 1, 1)',
  )
  for (let i = 0; i < count; i++) {
    const user = newId()
    const sealed = await by.seal('broker_grant', `broker:${user}:p`, `secret of ${user}`)
    insert.run(Buffer.from(newId(), 'base64url'), user, 'p', sealed, '')
  }
}
const credentials = () =>
  db.prepare('SELECT user_id, credential FROM broker_grants').all() as { user_id: string; credential: string }[]
async function run(atRest = after, onBatch = async () => {}) {
  const done = new Map<string, object>()
  for await (const batch of rekey(store, atRest)) {
    done.set(`${batch.table}.${batch.column}`, batch)
    await onBatch()
  }
  return Object.fromEntries(done)
}

test('every row is encrypted again in bounded batches, and can be decrypted without the old key', async () => {
  await addGrants(450, before)
  let batches = 0
  const done = await run(after, async () => void batches++)
  expect(done['broker_grants.credential']).toEqual({
    table: 'broker_grants',
    column: 'credential',
    rows: 450,
    resealed: 450,
    unreadable: 0,
  })
  expect(batches).toBeGreaterThan(4)
  for (const { user_id, credential } of credentials())
    expect(await aesMaster(NEW).open('broker_grant', `broker:${user_id}:p`, credential)).toBe(`secret of ${user_id}`)
})

test('values of the newest key are not changed, so that a second run changes nothing', async () => {
  await addGrants(10, before)
  await run()
  const there = credentials()
  expect((await run())['broker_grants.credential']).toMatchObject({ rows: 10, resealed: 0 })
  expect(credentials()).toEqual(there)
})

test('an interrupted run is completed by the next one', async () => {
  await addGrants(450, before)
  for await (const batch of rekey(store, after)) if (batch.resealed > 0) break
  const left = credentials().filter(({ credential }) => !after.isCurrent(credential)).length
  expect([left > 0, left < 450]).toEqual([true, true])
  expect((await run())['broker_grants.credential']).toMatchObject({ resealed: left })
  expect(credentials().every(({ credential }) => after.isCurrent(credential))).toBe(true)
})

test('rows that are written with the old key during a pass are found by the next pass', async () => {
  await addGrants(250, before)
  let late = 3
  await run(after, async () => {
    if (late-- > 0) await addGrants(1, before)
  })
  expect(credentials().every(({ credential }) => after.isCurrent(credential))).toBe(true)
  expect(credentials().length).toBe(253)
})

test('a row that an instance changes between reading and writing is not overwritten', async () => {
  await addGrants(1, before)
  const mine = await after.seal('broker_grant', 'x', 'written meanwhile')
  const slow: AtRest = {
    ...after,
    async seal(...what) {
      db.prepare('UPDATE broker_grants SET credential = ?').run(mine)
      return after.seal(...what)
    },
  }
  await run(slow)
  expect(credentials().map(({ credential }) => credential)).toEqual([mine])
})

test('rows that no key decrypts are counted and reported, and the others are encrypted again', async () => {
  await addGrants(2, before)
  await addGrants(1, aesMaster(STRANGER))
  const done = (await run())['broker_grants.credential']
  expect(done).toMatchObject({
    rows: 3,
    resealed: 2,
    unreadable: 1,
    error: expect.stringContaining('sealed with the key'),
  })
})

test('the table lists every column with encrypted text', () => {
  const columns = SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`)
  expect(columns).toEqual(expect.arrayContaining(['signing_keys.private_key', 'broker_grants.credential']))
  for (const { table, column, key, bound } of SEALED_COLUMNS)
    expect(db.prepare(`SELECT ${[key.name, column, ...bound].join(', ')} FROM ${table}`).all()).toEqual([])
})

test('the command requires the keys, prints its progress, and fails when a row could not be encrypted again', async () => {
  await addGrants(3, before)
  const env = { SERVICE_STORAGE_SQLITE_PATH: file }
  expect(await runHere(['rekey'], env)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('data_encryption.driver is not set'),
  })
  const keys = { ...env, SERVICE_DATA_ENCRYPTION_DRIVER: 'aes_master', SERVICE_DATA_ENCRYPTION_KEY: NEW }
  const missing = await runHere(['rekey', '--json'], keys)
  expect(missing.code).toBe(1)
  expect(missing.stderr).toContain('error: broker_grants.credential: broker:')
  const done = await runHere(['rekey', '--json'], { ...keys, SERVICE_DATA_OLD_KEY: OLD })
  expect(done.code).toBe(0)
  expect(done.stderr).toContain('broker_grants.credential: 3 rows, 3 encrypted again')
  expect(JSON.parse(done.stdout)).toContainEqual({
    table: 'broker_grants',
    column: 'credential',
    rows: 3,
    resealed: 3,
    unreadable: 0,
  })
  for (const text of [missing, done]) for (const key of [OLD, NEW]) expect(JSON.stringify(text)).not.toContain(key)
})
