// Lookups of a batch on PostgreSQL: which of them are one statement, and that each gets its own row.
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Param, Statement } from '../../src/store/op.ts'
import { lookups, type Run } from '../../src/store/postgres/lookups.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'

let server: PostgresServer
let client: pg.Client
/** The statements that were sent. */
const sent: string[] = []
class RecordingClient extends pg.Client {
  override query(config: never): never {
    sent.push((config as { text: string }).text)
    return super.query(config) as never
  }
}
let run: Run
beforeAll(async () => {
  server = await startPostgres()
  const dsn = await server.database()
  await server.sql(dsn, `CREATE TABLE things (id BYTEA PRIMARY KEY, n BIGINT, name TEXT)`)
  await server.sql(
    dsn,
    `INSERT INTO things SELECT decode(lpad(i::text, 2, '0'), 'hex'), i, 'thing ' || i FROM generate_series(1, 9) i`,
  )
  client = new RecordingClient({ connectionString: dsn, pipeline: true } as pg.ClientConfig)
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await server.close()
})
beforeEach(() => {
  sent.length = 0
  run = lookups(client)
})

const find = (sql: string, ...params: Param[]): Statement => ({ sql, params, want: 'one' })
const byId = (i: number) => find('SELECT name FROM things WHERE id = ?', Buffer.from([i]))

test('lookups by the same SQL are one statement, and each gets its row or none', async () => {
  const found = await Promise.all([3, 77, 5, 3].map((i) => run(byId(i))))
  expect(found.map((row) => (row as { name: string } | undefined)?.name)).toEqual([
    'thing 3',
    undefined,
    'thing 5',
    'thing 3',
  ])
  expect(sent).toHaveLength(1)
})

test('lookups that follow from the rows of others are one statement again', async () => {
  const twice = async (i: number) => {
    await run(byId(i))
    return run(find('SELECT n FROM things WHERE name = ? AND n < ?', `thing ${i}`, 6))
  }
  const found = await Promise.all([4, 5, 6].map(twice))
  expect(found.map((row) => (row as { n: string } | undefined)?.n)).toEqual(['4', '5', undefined])
  expect(sent).toHaveLength(2)
})

test('only the first row is found, as without other lookups', async () => {
  const first = (n: number) => run(find('SELECT name FROM things WHERE n >= ? ORDER BY n', n))
  expect(await Promise.all([first(7), first(2)])).toMatchObject([{ name: 'thing 7' }, { name: 'thing 2' }])
})

test.each<[string, Param[]]>([
  ['a NUL, which no stored text has', ['thing 1', 'thing\0 1', 'thing 2']],
  ['NULL, which has no type', ['thing 1', null, 'thing 2']],
])('a lookup with %s does not affect the others', async (_, names) => {
  const found = await Promise.all(names.map((name) => run(find('SELECT n FROM things WHERE name = ?', name))))
  expect(found.map((row) => (row as { n: string } | undefined)?.n)).toEqual(['1', undefined, '2'])
})

test('lookups that the server does not accept together are sent separately, and are not tried together again', async () => {
  // A text is not compared with a number. As the only parameter it would be read as a number.
  const both = () => Promise.all(['1', '2'].map((n) => run(find('SELECT name FROM things WHERE n = ?', n))))
  expect(await both()).toMatchObject([{ name: 'thing 1' }, { name: 'thing 2' }])
  expect(sent).toHaveLength(3)
  await both()
  expect(sent).toHaveLength(5)
})
