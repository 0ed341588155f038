// The record on PostgreSQL is partitioned by month: made ahead of time, looked into only where it must be, dropped as a whole.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { retire } from '../../src/cli/retention.ts'
import { idFloor, newId } from '../../src/lib/id.ts'
import { idBytes, type Op, type Statement } from '../../src/store/op.ts'
import { type InputOf, type OpName, ops } from '../../src/store/operations.ts'
import { clientSettings, execute, preparePostgres } from '../../src/store/postgres/client.ts'
import { PostgresConnection } from '../../src/store/postgres/connection.ts'
import { makePartitions } from '../../src/store/postgres/partitions.ts'
import { begin, preparePlans } from '../../src/store/postgres/plans.ts'
import { migration, readMigrations } from '../../src/store/schema/migrate.ts'
import { tempFolder } from '../support/folder.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { anEvent, anIssuance, NOW } from '../support/records.ts'
import type { Opened } from './conformance.ts'
import { openDsn } from './postgres_server.ts'

let server: PostgresServer
let dsn: string
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())
beforeEach(async () => {
  dsn = await server.database()
})

const DAY = 86_400
/** Midday of a day of a month that is so many after that of the first partition. */
const start = new Date()
const inMonth = (ahead: number, day = 15) =>
  Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + ahead, day, 12) / 1000
const nameOf = (ahead: number) => new Date(inMonth(ahead) * 1000).toISOString().slice(0, 7).replace('-', '_')
const idAt = (time: number) => idFloor(time).slice(0, 8) + newId().slice(8)
/** An id as a literal of SQL. */
const literal = (id: string) => `'\\x${idBytes(id).toString('hex')}'`
const sql = (text: string) => server.sql(dsn, text)
const make = (now: number) => makePartitions(sqlOn, now)
const sqlOn = (text: string) => connection.query(text).then(({ rows }) => rows as Record<string, unknown>[])
let connection: pg.Client
beforeEach(async () => {
  connection = new PostgresConnection(clientSettings({ dsn }))
  await connection.connect()
})
afterEach(() => connection.end())

const tableOf = async (id: string) =>
  (await sql(`SELECT tableoid::regclass::text AS name FROM issuances WHERE id = ${literal(id)}`))[0]?.['name']
const partitions = async () =>
  (
    await sql(
      `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'issuances'::regclass ORDER BY 1`,
    )
  ).map(({ name }) => name)

describe('a database with rows from before partitioning', () => {
  test('keeps its rows in place as the first partition, with their indexes', async () => {
    const all = readMigrations('postgres')
    const apply = async (migrations: typeof all) => {
      const steps = migration('postgres', NOW, {}, migrations)
      for (let next = steps.next(); !next.done; )
        next = steps.next(
          await (typeof next.value === 'string' ? sqlOn(next.value) : execute(connection, next.value as Statement)),
        )
    }
    const indexes = () =>
      sql(
        `SELECT indexname, replace(indexdef, ' ON ONLY ', ' ON ') AS indexdef FROM pg_indexes WHERE tablename IN ('issuances', 'audit_events') ORDER BY 1`,
      )
    await apply(all.filter(({ version }) => version < 21))
    const row = { id: idAt(inMonth(-14)), ends: idAt(inMonth(0)) }
    for (const id of Object.values(row))
      await sql(
        `INSERT INTO issuances VALUES (${literal(id)}, 'g', 'c', NULL, NULL, 's', 1, 2, 'k', NULL, NULL, NULL, NULL, NULL, NULL, 'ip', NULL, NULL)`,
      )
    const [before, file] = [await indexes(), await sql(`SELECT pg_relation_filenode('issuances') AS node`)]
    await apply(all)
    // Later migrations add indexes of their own.
    expect(await indexes()).toEqual(expect.arrayContaining(before))
    expect(await sql(`SELECT pg_relation_filenode('issuances_first') AS node`)).toEqual(file)
    expect([await tableOf(row.id), await tableOf(row.ends)]).toEqual(['issuances_first', 'issuances_first'])
    expect(await sql(`SELECT indexrelid FROM pg_index WHERE NOT indisvalid`)).toEqual([])
  })

  test('has a first partition that ends after its newest row, also if the clock was ahead', async () => {
    const all = readMigrations('postgres')
    await sql(all.flatMap(({ version, sql: text }) => (version < 21 ? [text] : [])).join('\n'))
    const ahead = idAt(inMonth(3))
    await sql(`INSERT INTO audit_events VALUES (${literal(ahead)}, 'a', 'b', NULL, '', NULL, '{}', 1)`)
    await sql(all.find(({ version }) => version === 21)?.sql ?? '')
    expect(await make(inMonth(1))).toEqual([
      `issuances_${nameOf(1)}`,
      `issuances_${nameOf(2)}`,
      `issuances_${nameOf(3)}`,
    ])
    expect(await make(inMonth(4))).toEqual([
      ...[4, 5, 6].map((month) => `issuances_${nameOf(month)}`),
      ...[4, 5, 6].map((month) => `audit_events_${nameOf(month)}`),
    ])
  })
})

describe('partitions', { timeout: 90_000 }, () => {
  let opened: Opened
  beforeEach(async () => {
    await preparePostgres({ dsn }, NOW)
    opened = await openDsn(dsn)
  })
  afterEach(() => opened.close())

  test('of this month and the next two are created when the store opens, also by several instances at once', async () => {
    const there = ['issuances_default', 'issuances_first', `issuances_${nameOf(1)}`, `issuances_${nameOf(2)}`]
    expect(new Set(await partitions())).toEqual(new Set(there))
    const [again, other] = [openDsn(dsn), openDsn(dsn)]
    await Promise.all([again, other].map(async (each) => (await each).close()))
    expect((await partitions()).length).toBe(there.length)
  })

  test('that several instances create at the same time are created once', async () => {
    const other = new pg.Client(dsn)
    await other.connect()
    const query = async (text: string) => (await other.query(text)).rows as Record<string, unknown>[]
    const made = await Promise.all([make(inMonth(12)), makePartitions(query, inMonth(12))])
    await other.end()
    expect(made.flat().sort()).toEqual(
      [12, 13, 14].flatMap((month) => [`audit_events_${nameOf(month)}`, `issuances_${nameOf(month)}`]).sort(),
    )
    expect(await make(inMonth(12))).toEqual([])
  })

  test('contain the rows of their month; rows without a partition go to the default one and are moved later', async () => {
    const { store } = opened
    const [here, next, far] = [anIssuance(), anIssuance({ id: idAt(inMonth(1)) }), anIssuance({ id: idAt(inMonth(6)) })]
    for (const each of [here, next, far]) await store.recordIssuance(each)
    expect(await Promise.all([here, next, far].map(({ id }) => tableOf(id)))).toEqual([
      'issuances_first',
      `issuances_${nameOf(1)}`,
      'issuances_default',
    ])
    await make(inMonth(5))
    expect(await tableOf(far.id)).toBe(`issuances_${nameOf(6)}`)
    for (const each of [here, next, far]) expect(await store.findIssuance(each)).toEqual(each)
  })

  test('are read only if they may contain the id', async () => {
    await make(inMonth(3))
    const touched = async <K extends OpName>(op: K, input: InputOf<K>) => {
      const { value } = (ops[op] as (input: InputOf<K>) => Op<unknown>)(input).next() as { value: Statement }
      let n = 0
      const { rows } = await connection.query(
        `EXPLAIN (FORMAT JSON) ${value.sql.replace(/\?/g, () => `$${++n}`)}`,
        value.params as unknown[],
      )
      const relations = [...JSON.stringify(rows).matchAll(/"Relation Name":"issuances_(\w+)"/g)].map(([, name]) => name)
      return [...new Set(relations)].sort()
    }
    const id = idAt(inMonth(2))
    const within = { after: idFloor(inMonth(2, 2)), before: idFloor(inMonth(2, 20)), rows: 10, limit: 10, now: NOW }
    expect(await touched('findIssuance', { id })).toEqual([nameOf(2)])
    expect(await touched('findTokenState', { id })).toEqual([nameOf(2)])
    expect(await touched('countTokens', within)).toEqual([nameOf(2)])
    expect(await touched('listOldIssuances', within)).toEqual([nameOf(2)])
    expect(await touched('listIssuances', { since: idFloor(inMonth(4)), limit: 10 })).toEqual(
      [nameOf(4), nameOf(5), 'default'].sort(),
    )
    expect(await touched('revokeIssuance', { id, now: NOW })).toEqual([nameOf(2)])
  })

  test('use one generic plan where tokens depend on it, and a plan for each value where many rows are read', async () => {
    const mode = async () => (await connection.query('SHOW plan_cache_mode')).rows[0].plan_cache_mode
    await preparePlans(connection, 'findClient')
    expect(await mode()).toBe('auto')
    await preparePlans(connection, 'findTokenState')
    expect(await mode()).toBe('force_generic_plan')
    await begin(connection, 'recordExchange')
    expect(await mode()).toBe('force_generic_plan')
    await connection.query('COMMIT')
    await begin(connection, 'revokeTokens')
    expect(await mode()).toBe('auto')
    await connection.query('COMMIT')
    expect(await mode()).toBe('force_generic_plan')
    await preparePlans(connection, 'listAudit')
    expect(await mode()).toBe('auto')
  })

  describe('of months beyond the retention time', () => {
    const file = () => path.join(tempFolder(), 'rows.jsonl')
    const lines = (name: string) =>
      readFileSync(name, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => (JSON.parse(line) as { id: string }).id)
    /** Rows of three months, so many each. */
    const fill = async (rows: number) => {
      await make(inMonth(3))
      const months = [1, 2, 3].map((month) =>
        Array.from({ length: rows }, (_, i) => idAt(inMonth(month, 2) + Math.floor((i * 20 * DAY) / rows))).sort(
          (a, b) => Buffer.compare(idBytes(a), idBytes(b)),
        ),
      )
      await Promise.all(
        months
          .flat()
          .flatMap((id) => [
            opened.store.recordIssuance(anIssuance({ id, expires_at: NOW })),
            opened.store.recordAudit(anEvent({ id })),
          ]),
      )
      return months as [string[], string[], string[]]
    }
    /** What goes at the end of the third month that was filled. */
    const options = (name: string) => ({ file: name, olderThan: 30 * DAY, now: inMonth(3, 15) + 30 * DAY })
    const all = async (steps: AsyncGenerator<number>) => {
      let sum = 0
      for await (const rows of steps) sum += rows
      return sum
    }

    test('are dropped as a whole, other rows are deleted singly, and every row is exported once and in order', async () => {
      const [first, second, third] = await fill(600)
      const name = file()
      const gone = third.filter((id) => Buffer.compare(idBytes(id), idBytes(idFloor(inMonth(3, 15)))) < 0)
      expect(await all(retire(opened.store, 'issuances', options(name)))).toBe(1200 + gone.length)
      expect(lines(name)).toEqual([...first, ...second, ...gone])
      expect(await partitions()).not.toContain(`issuances_${nameOf(1)}`)
      expect(await partitions()).not.toContain(`issuances_${nameOf(2)}`)
      expect(await partitions()).toContain(`issuances_${nameOf(3)}`)
      expect(await sql('SELECT count(*)::int AS n FROM issuances')).toEqual([{ n: 600 - gone.length }])
      expect(await sql('SELECT count(*)::int AS n FROM audit_events')).toEqual([{ n: 1800 }])
      const events = file()
      expect(await all(retire(opened.store, 'audit-events', options(events)))).toBe(1200 + gone.length)
      expect(lines(events).length).toBe(1200 + gone.length)
      expect(await all(retire(opened.store, 'audit-events', options(events)))).toBe(0)
    })

    test('are continued after an interrupted run, and no row is exported twice', async () => {
      const [first, second] = await fill(600)
      const [name, next] = [file(), file()]
      const steps = retire(opened.store, 'issuances', options(name))
      // The first partition, which is empty, and two pages of the second.
      for (const _ of [1, 2, 3]) expect((await steps.next()).value).toBe(0)
      await steps.return(0)
      expect(lines(name)).toEqual(first.slice(0, 500))
      // Nothing goes before all of it is exported.
      expect(await sql('SELECT count(*)::int AS n FROM issuances')).toEqual([{ n: 1800 }])
      const now = { ...options(next), now: inMonth(3, 1) + 30 * DAY }
      expect(await all(retire(opened.store, 'issuances', now))).toBe(1200)
      expect(lines(next)).toEqual([...first.slice(500), ...second])
      expect(await sql('SELECT * FROM exported_partitions')).toEqual([])
    })

    test('are kept while one row has not expired, and their expired rows are deleted singly', async () => {
      const [first] = await fill(300)
      const living = anIssuance({ id: idAt(inMonth(1, 28)), expires_at: inMonth(9) })
      await opened.store.recordIssuance(living)
      const name = file()
      const now = { ...options(name), now: inMonth(2, 3) + 30 * DAY }
      const early = (
        await sql(`SELECT count(*)::int AS n FROM issuances WHERE id < ${literal(idFloor(inMonth(2, 3)))}`)
      )[0]?.['n']
      expect(await all(retire(opened.store, 'issuances', now))).toBe(Number(early) - 1)
      expect(new Set(lines(name)).size).toBe(lines(name).length)
      expect(lines(name).slice(0, 300)).toEqual(first)
      expect(await opened.store.findIssuance(living)).toEqual(living)
      const later = { ...options(name), now: inMonth(9) + 30 * DAY }
      expect(await all(retire(opened.store, 'issuances', later))).toBe(901 - Number(early) + 1)
      expect(lines(name).length).toBe(901)
    })

    test('are dropped after their readers finish, and writers do not wait for that', async () => {
      await fill(10)
      await connection.query('BEGIN; SELECT * FROM issuances LIMIT 1')
      const dropping = all(retire(opened.store, 'issuances', options(file())))
      const issuance = anIssuance()
      await opened.store.recordIssuance(issuance)
      expect(await opened.store.findIssuance(issuance)).toEqual(issuance)
      expect(await partitions()).toContain(`issuances_${nameOf(1)}`)
      await connection.query('COMMIT')
      expect(await dropping).toBeGreaterThanOrEqual(20)
      expect(await partitions()).not.toContain(`issuances_${nameOf(1)}`)
    })
  })
})
