// The plans of PostgreSQL for the list of groups: as fast right after an import of many users as when the table is vacuumed and analyzed.
import { beforeAll, expect, test } from 'vitest'
import type { Statement } from '../../src/store/op.ts'
import { ops } from '../../src/store/operations.ts'
import type { PostgresServer } from '../support/postgres.ts'
import { NOW } from '../support/records.ts'
import { startMigrated } from './postgres_server.ts'

let server: PostgresServer
let dsn: string
beforeAll(async () => {
  ;({ server, dsn } = await startMigrated())
})

const fill = (name: string, users: number) =>
  server.sql(
    dsn,
    `INSERT INTO user_groups (user_id, name, created_at) SELECT 'u_' || md5(i::text), ${name}, ${NOW} + i FROM generate_series(1, ${users}) i`,
  )
/** How the rows of groups are read, each way once. */
async function scans(): Promise<string[]> {
  const { sql, params } = ops.listGroups({ limit: 100, cap: 1001 }).next().value as Statement
  let n = 0
  const text = sql.replace(/\?/g, () => String(params[n++]))
  const [plan] = await server.sql(dsn, `EXPLAIN (FORMAT JSON) ${text}`)
  const nodes = [...JSON.stringify(plan).matchAll(/"Node Type":"([^"]+)"[^{}]*?"Relation Name":"user_groups"/g)]
  return [...new Set(nodes.map(([, type = '']) => type))]
}

test('the users of each group are counted from the index, without statistics, with statistics and after a vacuum', async () => {
  await server.sql(dsn, 'ALTER TABLE user_groups SET (autovacuum_enabled = false)')
  await fill(`'big'`, 20_000)
  await fill(`'g' || (i % 10)`, 500)
  expect(await scans()).toEqual(['Index Only Scan'])
  await server.sql(dsn, 'ANALYZE user_groups')
  expect(await scans()).toEqual(['Index Only Scan'])
  await server.sql(dsn, 'VACUUM user_groups')
  expect(await scans()).toEqual(['Index Only Scan'])
})
