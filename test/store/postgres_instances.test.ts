// How instances on one PostgreSQL know how many they are.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Driver } from '../../src/store/index.ts'
import { openPostgres } from '../../src/store/postgres/driver.ts'
import { silentLog } from '../support/log.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { openProxy } from '../support/proxy.ts'
import { anInstance } from '../support/records.ts'
import { settingsOf } from './postgres_server.ts'

let server: PostgresServer
let dsn: string
const opened: Driver[] = []
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())
beforeEach(async () => {
  dsn = await server.migrated()
})
afterEach(() => Promise.all(opened.splice(0).map((driver) => driver.close())))

const open = async (isServer: boolean, at = dsn) => {
  const serves = isServer ? anInstance : undefined
  const driver = await openPostgres({ ...settingsOf(at), min_conns: 0 }, silentLog, { serves, makesPartitions: false })
  opened.push(driver)
  return driver
}
const close = async (driver: Driver) => {
  opened.splice(opened.indexOf(driver), 1)
  await driver.close()
}
const become = (driver: Driver, count: number) =>
  expect.poll(() => driver.instances(), { timeout: 60_000, interval: 20 }).toBe(count)
/** What the database has for so many seconds ago. */
const ago = (seconds: number) => `(extract(epoch FROM now()) * 1000)::bigint - ${seconds * 1000}`
const rows = async () => (await server.sql(dsn, 'SELECT 1 FROM instances WHERE seen_at > 0')).length

test('a serving instance is counted by all others within a second, until it ends; other processes are not counted', async () => {
  const first = await open(true)
  expect(first.instances()).toBe(1)
  const second = await open(true)
  const command = await open(false)
  for (const each of [first, second]) await become(each, 2)
  expect(command.instances()).toBe(1)
  await close(second)
  await become(first, 1)
  expect(await rows()).toBe(1)
  await close(first)
  expect(await rows()).toBe(0)
})

test('an instance that stops reporting is not counted, and its row is deleted by the next instance that starts', async () => {
  const first = await open(true)
  await server.sql(dsn, `INSERT INTO instances VALUES ('other', ${ago(-3600)}), ('gone', ${ago(3600)})`)
  await become(first, 2)
  const silent = (seconds: number) =>
    server.sql(dsn, `UPDATE instances SET seen_at = ${ago(seconds)} WHERE id = 'other'`)
  await silent(4)
  await become(first, 1)
  expect(await rows()).toBe(3)
  await silent(61)
  await open(true)
  expect(await rows()).toBe(2)
})

test('during an outage of the database the last known number is used', async () => {
  const line = await openProxy(dsn)
  const first = await open(true, line.dsn)
  const second = await open(true)
  await become(first, 2)
  line.stall()
  await close(second)
  await expect.poll(() => first.isHealthy(), { timeout: 60_000 }).toBe(false)
  expect(first.instances()).toBe(2)
  line.resume()
  await become(first, 1)
  await close(first)
  line.close()
})

test('on a read-only server reads are answered, writes are reported as failing, and the last known number of instances is used', async () => {
  const both = [await open(true), await open(true)]
  for (const each of both) await become(each, 2)
  const name = new URL(dsn).pathname.slice(1)
  const elsewhere = (sql: string) => server.sql(dsn.replace(name, 'postgres'), sql)
  await elsewhere(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
  await elsewhere(`SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = '${name}'`)
  const reads = (driver: Driver) =>
    driver.call('findSetting', { name: 'any' }).then(
      () => true,
      () => false,
    )
  // The connection that counts the instances is back once reads are answered.
  for (const each of both) {
    await expect.poll(() => each.isHealthy(), { timeout: 60_000 }).toBe(false)
    await expect.poll(() => reads(each), { timeout: 60_000 }).toBe(true)
  }
  expect(both.map((each) => each.instances())).toEqual([2, 2])
})
