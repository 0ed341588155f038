// Operations that travel together on PostgreSQL. What each of them does, the conformance rules say.
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { createStore, type Store } from '../../src/store/index.ts'
import { openPostgres } from '../../src/store/postgres/driver.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { silentLog } from '../support/log.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { anIssuance, aRefreshToken, issuanceOf, NOW } from '../support/records.ts'
import { refusalOf } from '../support/thrown.ts'
import { eventually, pause } from '../support/wire.ts'
import { type SignedIn, signedIn } from './conformance/scenes.ts'
import { settingsOf } from './postgres_server.ts'

let server: PostgresServer
let dsn: string
let store: Store
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())
beforeEach(async () => {
  dsn = await server.migrated()
  const driver = await openPostgres(settingsOf(dsn), silentLog)
  store = createStore(driver, new Metrics())
  return () => driver.close()
})

const rotation = ({ family, refresh }: SignedIn) => ({
  used: refresh.id,
  next: aRefreshToken(family),
  issuance: issuanceOf(family),
  now: NOW,
})
const several = async (count: number): Promise<SignedIn[]> => {
  const all: SignedIn[] = []
  for (let i = 0; i < count; i++) all.push(await signedIn(store))
  return all
}
/** How many batches a store was given meanwhile. */
async function batchesOf(work: () => Promise<unknown>): Promise<number> {
  const before = store.driver.stats.batches
  await work()
  return store.driver.stats.batches - before
}

/** A session that others wait for. */
async function another() {
  const client = new pg.Client(dsn)
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

describe('batched writes', () => {
  test('of one turn of the event loop are committed together', async () => {
    const rotations = (await several(20)).map(rotation)
    const batches = await batchesOf(async () => {
      expect(new Set(await Promise.all(rotations.map(store.rotateRefreshToken)))).toEqual(new Set(['rotated']))
    })
    expect(batches).toBe(1)
    for (const { next, issuance } of rotations) {
      expect(await store.findRefreshToken(next)).toMatchObject({ token: { id: next.id } })
      expect(await store.findIssuance(issuance)).toEqual(issuance)
    }
  })

  test('for the same refresh token: one succeeds, the others revoke its family, and other families are unaffected', async () => {
    const [first, ...others] = await several(7)
    const same = Array.from({ length: 9 }, () => rotation(first as SignedIn))
    const [answers, rest] = await Promise.all([
      Promise.all(same.map(store.rotateRefreshToken)),
      Promise.all(others.map(rotation).map(store.rotateRefreshToken)),
    ])
    expect(answers.filter((answer) => answer === 'rotated')).toHaveLength(1)
    expect(answers).toContain('reused')
    expect(new Set(rest)).toEqual(new Set(['rotated']))
    expect(await store.rotateRefreshToken(rotation(first as SignedIn))).toBe('revoked')
  })

  test('of which one fails are committed without it', async () => {
    const all = (await several(8)).map(rotation)
    // An id that is there already.
    const [{ issuance: known }] = all as [ReturnType<typeof rotation>]
    await store.recordIssuance(known)
    const outcomes = await Promise.allSettled(all.map(store.rotateRefreshToken))
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', ...Array(7).fill('fulfilled')])
    expect(await store.findRefreshToken(all[0]?.next ?? { id: '' })).toBeUndefined()
    for (const { next } of all.slice(1))
      expect(await store.findRefreshToken(next)).toMatchObject({ token: { id: next.id } })
  })

  test('are not delayed by a row lock that only one of them needs', async () => {
    const [held, ...others] = (await several(20)) as [SignedIn, ...SignedIn[]]
    const other = await another()
    await other.query('BEGIN')
    await other.query('SELECT 1 FROM token_families WHERE id = $1 FOR UPDATE', [
      Buffer.from(held.family.id, 'base64url'),
    ])
    let isDone = false
    const waiting = store.rotateRefreshToken(rotation(held)).then((answer) => {
      isDone = true
      return answer
    })
    expect(new Set(await Promise.all(others.map(rotation).map(store.rotateRefreshToken)))).toEqual(new Set(['rotated']))
    expect(isDone).toBe(false)
    await other.query('COMMIT')
    expect(await waiting).toBe('rotated')
  })

  test('operations that wait one after the other do not delay others', async () => {
    const [free, ...held] = (await several(7)) as [SignedIn, ...SignedIn[]]
    const other = await another()
    await other.query('BEGIN')
    await other.query('SELECT 1 FROM token_families WHERE id <> $1 FOR UPDATE', [
      Buffer.from(free.family.id, 'base64url'),
    ])
    const waiting: Promise<string>[] = []
    for (const each of held) {
      waiting.push(store.rotateRefreshToken(rotation(each)))
      await pause(5)
    }
    expect(await store.rotateRefreshToken(rotation(free))).toBe('rotated')
    expect(store.driver.connections?.().waiting).toBe(0)
    await other.query('COMMIT')
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['rotated']))
  })

  test('whose connection is lost are refused with 503, and none of them is committed', async () => {
    const all = (await several(20)).map(rotation)
    await server.sql(
      dsn,
      `CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$;
       CREATE TRIGGER dawdle BEFORE INSERT ON refresh_tokens FOR EACH ROW EXECUTE FUNCTION dawdle()`,
    )
    const refusals = Promise.all(all.map((each) => refusalOf(() => store.rotateRefreshToken(each))))
    const sleeping = `FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`
    await eventually(async () => (await server.sql(dsn, `SELECT 1 ${sleeping}`)).length === 1)
    await server.sql(dsn, `SELECT pg_terminate_backend(pid) ${sleeping}; DROP FUNCTION dawdle CASCADE`)
    for (const { status, reason } of await refusals) expect([status, reason]).toEqual([503, 'storage_unavailable'])
    for (const { next } of all) expect(await store.findRefreshToken(next)).toBeUndefined()
    expect(new Set(await Promise.all(all.map(store.rotateRefreshToken)))).toEqual(new Set(['rotated']))
  })

  test('accept each proof once, also if it occurs twice in one batch', async () => {
    const record = (hash: string) =>
      store.recordIssuance({ ...anIssuance(), uses: [{ id: newId(), kind: 'dpop', hash, expires_at: NOW + 60 }] })
    const hashes = Array.from({ length: 10 }, () => newId())
    const twice = await Promise.allSettled([...hashes, ...hashes].map(record))
    expect(twice.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
  })
})

describe('batched exchanges', () => {
  test('of one turn are recorded together, and exchanges whose subject token is revoked do not affect the others', async () => {
    const parents = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const parent = anIssuance()
        await store.recordIssuance(parent)
        return parent
      }),
    )
    const [revoked] = parents as [(typeof parents)[0]]
    await store.revokeIssuance({ id: revoked.id, now: NOW })
    const exchanges = parents.map(({ id }) => anIssuance({ parent_id: id }))
    const batches = await batchesOf(async () => {
      expect(await Promise.all(exchanges.map(store.recordExchange))).toEqual([
        'subject_revoked',
        ...Array(11).fill('recorded'),
      ])
    })
    expect(batches).toBe(1)
    const found = await Promise.all(exchanges.map(store.findIssuance))
    expect(found.map((each) => each !== undefined)).toEqual([false, ...Array(11).fill(true)])
  })

  test('of which one has a used proof are recorded without it, each once', async () => {
    const parent = anIssuance()
    await store.recordIssuance(parent)
    const use = { id: newId(), kind: 'dpop' as const, hash: newId(), expires_at: NOW + 60 }
    await store.recordIssuance({ ...anIssuance(), uses: [use] })
    const exchanges = Array.from({ length: 12 }, () => anIssuance({ parent_id: parent.id }))
    const outcomes = await Promise.allSettled(
      exchanges.map((each, i) =>
        store.recordExchange({ ...each, uses: [{ ...use, id: newId(), hash: i === 5 ? use.hash : newId() }] }),
      ),
    )
    expect(outcomes.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []))).toEqual([5])
    const found = await Promise.all(exchanges.map(store.findIssuance))
    expect(found.flatMap((each, i) => (each ? [] : [i]))).toEqual([5])
  })
})

describe('batched reads', () => {
  test('of one turn are sent together, and each gets its own result', async () => {
    const all = await several(12)
    const batches = await batchesOf(async () => {
      const found = await Promise.all(all.map(({ refresh }) => store.findRefreshToken(refresh)))
      expect(found.map((each) => each?.token.id)).toEqual(all.map(({ refresh }) => refresh.id))
    })
    expect(batches).toBe(1)
  })

  test('that find nothing, or are invalid, do not affect the others', async () => {
    const { user } = await signedIn(store)
    const found = await Promise.all(
      ['nobody@example.com', `${user.email}`, 'no\0body', `${user.email}`].map((email) =>
        store.findUserByEmail({ email }),
      ),
    )
    expect(found.map((each) => each?.id)).toEqual([undefined, user.id, undefined, user.id])
  })

  test('that fail replace their connection, and later reads work', async () => {
    const all = await several(8)
    const find = () => Promise.allSettled(all.map(({ refresh }) => store.findRefreshToken(refresh)))
    await find()
    await server.sql(dsn, 'ALTER TABLE token_families ALTER COLUMN scope TYPE VARCHAR')
    await find()
    await find()
    expect((await find()).map(({ status }) => status)).toEqual(Array(8).fill('fulfilled'))
  })
})
