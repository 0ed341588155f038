// Operations that are one statement on PostgreSQL. What they do, and that nothing is half done, the conformance rules say.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { type Fused, fuse } from '../../src/store/postgres/fused.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { aFamily, aRefreshToken, issuanceOf, NOW } from '../support/records.ts'
import { signedIn } from './conformance/scenes.ts'
import { openDsn } from './postgres_server.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

const use = { id: newId(), kind: 'dpop' as const, hash: newId(), expires_at: NOW + 60 }
const family = aFamily()
const rotation = { used: newId(), next: aRefreshToken(family), issuance: issuanceOf(family), now: NOW }

const proven = { ...rotation.issuance, uses: [use] }
const assertion = { ...use, id: newId(), kind: 'client_assertion' as const, hash: newId() }
const twice = { ...rotation.issuance, uses: [assertion, use] }
const redemption = { family, issuance: rotation.issuance, now: NOW }
const withRefresh = { ...redemption, refresh: rotation.next }

describe('a fused statement', () => {
  test.each([
    ['rotateRefreshToken', rotation],
    ['rotateRefreshToken', { ...rotation, retried_since: NOW - 10 }],
    ['rotateRefreshToken', { ...rotation, issuance: proven }],
    ['redeemCode', redemption],
    ['redeemCode', { ...redemption, issuance: proven }],
    ['redeemCode', withRefresh],
    ['redeemCode', { ...withRefresh, issuance: proven }],
    ['recordIssuance', proven],
    ['rotateRefreshToken', { ...rotation, issuance: twice }],
    ['redeemCode', { ...redemption, issuance: twice }],
    ['redeemCode', { ...withRefresh, issuance: twice }],
    ['recordIssuance', twice],
  ] as const)('%s: after the first change nothing can be left out without an error', (op, input) => {
    const { sql, params } = fuse({ op, input }) as Fused
    const steps = [...sql.matchAll(/ s\d AS \((\w+) .*?(?= s\d AS | SELECT nth)/gs)].map(([text, verb]) => ({
      text,
      verb,
    }))
    const changes = steps.filter(({ verb }) => verb !== 'SELECT')
    expect(changes.length).toBeGreaterThan(1)
    for (const { text, verb } of changes.slice(1)) {
      expect(verb).toBe('INSERT')
      expect(text).not.toContain('ON CONFLICT')
    }
    expect(sql.match(/\bp\d+ \w+(?=[,)])/g)).toHaveLength(params.length)
  })

  test('of a rotation locks the family, consumes the token, and adds the next one with its issuance', () => {
    const { sql, value } = fuse({ op: 'rotateRefreshToken', input: rotation }) as Fused
    expect(value).toBe('rotated')
    const issuance = sql.indexOf('s3 AS')
    expect(sql.slice(0, issuance).replace(/, p8 .*? AS v|, p8 [^)]*/s, '')).toBe(
      `WITH sets AS MATERIALIZED (SELECT v.* FROM set_config('lock_timeout', '100', true), (SELECT * FROM json_to_recordset(?) AS v (nth int, p0 bytea, p1 bigint, p2 bytea, p3 bytea, p4 bytea, p5 bytea, p6 bytea, p7 bigint) WHERE nth = abs(nth)) v), s0 AS (SELECT v.* FROM sets v CROSS JOIN LATERAL (SELECT revoked_at FROM token_families WHERE id = v.p0 FOR UPDATE) held WHERE held.revoked_at IS NULL), s1 AS (UPDATE refresh_tokens SET consumed_at = v.p1, next_id = v.p2 FROM s0 v WHERE id = v.p3 AND consumed_at IS NULL RETURNING v.*), s2 AS (INSERT INTO refresh_tokens (id, family_id, hash, expires_at) SELECT v.p4, v.p5, v.p6, v.p7 FROM s1 v), `,
    )
    expect(sql.slice(issuance)).toMatch(/^s3 AS \(INSERT INTO issuances .* FROM s1 v\) SELECT nth FROM s1$/s)
  })

  test('does not exist for operations that depend on query results or are one statement already', () => {
    expect(fuse({ op: 'recordExchange', input: rotation.issuance })).toBeUndefined()
    expect(fuse({ op: 'findRefreshToken', input: { id: rotation.used } })).toBeUndefined()
    expect(fuse({ op: 'recordIssuance', input: rotation.issuance })).toBeUndefined()
  })
})

/** A store on a new database. */
async function opened() {
  const dsn = await server.migrated()
  const { store, close } = await openDsn(dsn)
  onTestFinished(close)
  /** The number of batches that some work takes. */
  const batchesOf = async (work: () => Promise<unknown>) => {
    const before = store.driver.stats.batches
    await work()
    return store.driver.stats.batches - before
  }
  return { dsn, store, batchesOf }
}

test('is accepted by PostgreSQL: the operation does not run a second time, individually', async () => {
  const { store, batchesOf } = await opened()
  const { family, refresh } = await signedIn(store)
  const rotate = { used: refresh.id, next: aRefreshToken(family), issuance: issuanceOf(family), now: NOW }
  expect(await batchesOf(async () => expect(await store.rotateRefreshToken(rotate)).toBe('rotated'))).toBe(1)
  expect(await batchesOf(() => store.recordIssuance({ ...issuanceOf(family), uses: [use] }))).toBe(1)
  // A proof that was used: nothing of the rotation stands.
  const again = { ...rotate, used: rotate.next.id, next: aRefreshToken(family), issuance: issuanceOf(family) }
  const other = { ...use, id: newId() }
  const replayed = store.rotateRefreshToken({ ...again, issuance: { ...again.issuance, uses: [other] } })
  await expect(replayed).rejects.toMatchObject({ code: 'USED_BEFORE dpop' })
  const fresh = { ...again, issuance: { ...again.issuance, uses: [{ ...other, hash: newId() }] } }
  expect(await batchesOf(async () => expect(await store.rotateRefreshToken(fresh)).toBe('rotated'))).toBe(1)
})

test('that fails is replaced by the single statements of its operation', async () => {
  const { dsn, store, batchesOf } = await opened()
  await server.sql(
    dsn,
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF current_query() LIKE 'WITH sets%' THEN RAISE EXCEPTION 'refused'; END IF; RETURN NULL;
     END $$;
     CREATE TRIGGER refuse BEFORE UPDATE ON refresh_tokens EXECUTE FUNCTION refuse()`,
  )
  const { family, refresh } = await signedIn(store)
  const rotate = () => ({ used: refresh.id, next: aRefreshToken(family), issuance: issuanceOf(family), now: NOW })
  expect(await batchesOf(async () => expect(await store.rotateRefreshToken(rotate())).toBe('rotated'))).toBe(2)
  expect(await store.rotateRefreshToken(rotate())).toBe('reused')
})
