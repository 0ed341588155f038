// Parameters of several operations in one statement on PostgreSQL: their types, and texts that JSON writes in another way.
import { beforeAll, expect, test } from 'vitest'
import { typeOf } from '../../src/store/postgres/sets.ts'
import type { PostgresServer } from '../support/postgres.ts'
import { anIssuance } from '../support/records.ts'
import { openDsn, startMigrated } from './postgres_server.ts'

let server: PostgresServer
let dsn: string
beforeAll(async () => {
  ;({ server, dsn } = await startMigrated())
})

test('a column has the type that its name says, in every table of batched rows', async () => {
  const columns = await server.sql(
    dsn,
    `SELECT column_name, data_type FROM information_schema.columns WHERE column_default IS NULL AND (table_name IN ('issuances', 'audit_events', 'refresh_tokens', 'token_families', 'single_uses')
       OR table_name = 'authorization_requests' AND column_name IN ('id', 'consumed_at'))`,
  )
  expect(columns.length).toBeGreaterThan(20)
  for (const { column_name, data_type } of columns)
    expect([column_name, typeOf(String(column_name))]).toEqual([column_name, data_type])
})

test('every text is stored as it is, and a text that PostgreSQL cannot store affects no other row of its batch', async () => {
  const { store, close } = await openDsn(dsn)
  const scopes = ['', '"', '\\', '\\x41', '\\u0041', '\n\t', "'{}'", 'null', '\u{1f600} \u2028']
  const issuances = scopes.map((scope) => anIssuance({ scope, act: { sub: scope } }))
  const unstorable = anIssuance({ scope: 'a\0b' })
  const outcomes = await Promise.allSettled([unstorable, ...issuances].map(store.recordIssuance))
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', ...scopes.map(() => 'fulfilled')])
  for (const issuance of issuances) expect(await store.findIssuance(issuance)).toEqual(issuance)
  await close()
})
