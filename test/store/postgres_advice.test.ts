// What a real server shows to be wrong in the configuration: more connections than it accepts, and a connection that is not encrypted.
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { adviceOn } from '../../src/store/postgres/advice.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { openProxy } from '../support/proxy.ts'

let server: PostgresServer
let dsn: string
beforeAll(async () => {
  server = await startPostgres()
  dsn = await server.database()
})
afterAll(() => server.close())

const keysOf = async (place: { dsn: string; max_conns: number }) => (await adviceOn(place)).map(({ key }) => key)

test('a pool that may open more connections than the server accepts', async () => {
  expect(await keysOf({ dsn, max_conns: 10 })).toEqual([])
  const [advice] = await adviceOn({ dsn, max_conns: 100_000 })
  expect(advice?.key).toBe('storage.postgres.max_conns')
  expect(advice?.because).toMatch(/may open 100000 connections, and the server accepts \d+ of all clients together/)
})

const outside = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === 'IPv4' && !each.internal)?.address

test.skipIf(!outside)('a connection to another machine that is not encrypted', async () => {
  const proxy = await openProxy(dsn, undefined, outside)
  expect(await keysOf({ dsn: proxy.dsn, max_conns: 10 })).toEqual(['storage.postgres.dsn'])
  proxy.close()
})
