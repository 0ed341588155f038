// A reload that an operator asks one instance for, at the others on the same database.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { followReloads } from '../../src/server/follow_reload.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { type Pair, startPair } from '../support/pair.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { addClient, type TestService } from '../support/service.ts'
import { pause } from '../support/wire.ts'

let server: PostgresServer
let dsn: string
let pair: Pair
beforeAll(async () => {
  server = await startPostgres()
  dsn = await server.migrated()
  pair = await startPair(dsn)
})
afterAll(async () => {
  await pair.close()
  await server.close()
})

const NOTHING = { applied: [], needs_restart: [] }

test('every instance reloads once, and not when something else changes', async () => {
  const reloads = { a: 0, b: 0 }
  const follow = async (at: TestService, name: 'a' | 'b') => {
    at.app.reload = await followReloads(at.app, async () => {
      reloads[name]++
      return NOTHING
    })
  }
  await follow(pair.a, 'a')
  await follow(pair.b, 'b')
  await okAdmin(pair.a, 'POST', '/admin/system/config/reload')
  await expect.poll(() => reloads).toEqual({ a: 1, b: 1 })
  await addClient(pair.a)
  await okAdmin(pair.b, 'PATCH', '/admin/settings/dcr', { mode: 'admin_only' })
  // A notification that was lost: the instances know only that some record changed.
  for (const name of ['records-0', 'records-1'])
    await server.sql(dsn, `UPDATE store_versions SET version = version + 1 WHERE name = '${name}'`)
  await pause(2500)
  expect(reloads).toEqual({ a: 1, b: 1 })
  await okAdmin(pair.b, 'POST', '/admin/system/config/reload')
  await expect.poll(() => reloads).toEqual({ a: 2, b: 2 })
})

test('a configuration with an error at the asked instance asks no other one', async () => {
  const { ConfigError } = await import('../../src/config/load.ts')
  let reloads = 0
  const refuse = () => Promise.reject(new ConfigError([{ key: 'server.issuer', message: 'is bad' }]))
  pair.a.app.reload = await followReloads(pair.a.app, refuse)
  await followReloads(pair.b.app, async () => {
    reloads++
    return NOTHING
  })
  expect((await callAdmin(pair.a, 'POST', '/admin/system/config/reload')).status).toBe(400)
  await pause(1500)
  expect(reloads).toBe(0)
})
