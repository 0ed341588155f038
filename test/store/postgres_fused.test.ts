// Operations that are one statement on PostgreSQL. What they do, and that nothing is half done, the conformance rules say.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { createStore } from '../../src/store/index.ts'
import type { Statement } from '../../src/store/op.ts'
import { openPostgres } from '../../src/store/postgres.ts'
import { preparePostgres } from '../../src/store/postgres_client.ts'
import { fuse, rehearse } from '../../src/store/postgres_fused.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { recordingLog } from '../support/log.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { aFamily, aRefreshToken, issuanceOf, NOW } from '../support/records.ts'
import { signedIn } from './conformance/scenes.ts'
import { settingsOf } from './postgres_server.ts'

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

/** The SQL of one statement that makes the changes of several, each only if the one before it returned a row. */
function derived(statements: readonly Statement[]): string {
  const steps = statements.map((statement, i) => `s${i} AS (${i > 0 ? dependent(statement, i) : first(statement)})`)
  return `WITH ${steps.join(', ')} SELECT 1 AS done FROM s${statements.length - 1}`
}
function first({ sql, forUpdate }: Statement): string {
  return forUpdate
    ? `SELECT 1 FROM (${sql} FOR UPDATE) held WHERE true AND held.revoked_at IS NULL`
    : conditional(sql, 'true')
}
/** A statement that makes no change without an error would leave the changes before it in force. */
function dependent({ sql }: Statement, i: number): string {
  expect(sql).not.toContain('DO UPDATE')
  if (i > 1 || !sql.startsWith('UPDATE')) expect(sql).toMatch(/^INSERT /)
  return conditional(sql.replace(/ ON CONFLICT DO NOTHING$/, ''), `EXISTS (SELECT 1 FROM s${i - 1})`)
}
function conditional(sql: string, condition: string): string {
  const insert = /^(INSERT .*?)VALUES \(([^)]*)\)(.*)$/s.exec(sql)
  if (insert) return `${insert[1]}SELECT ${insert[2]} WHERE ${condition}${insert[3]} RETURNING 1`
  return `${sql} AND ${condition} RETURNING 1`
}

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
  ] as const)('%s: the constant is what the statements of the operation amount to', (op, input) => {
    const { statements, value } = rehearse({ op, input })
    const fused = fuse({ op, input })
    expect(fused?.statement.sql).toBe(derived(statements))
    expect(fused?.statement.params).toHaveLength(fused?.statement.sql.match(/\?/g)?.length ?? 0)
    expect(fused?.value).toBe(value)
  })

  test('does not exist for operations that depend on query results or are one statement already', () => {
    expect(fuse({ op: 'recordExchange', input: rotation.issuance })).toBeUndefined()
    expect(fuse({ op: 'findRefreshToken', input: { id: rotation.used } })).toBeUndefined()
    expect(fuse({ op: 'recordIssuance', input: rotation.issuance })).toBeUndefined()
  })
})

/** A store on a new database, and what it says. */
async function opened() {
  const dsn = await server.database()
  await preparePostgres({ dsn }, NOW)
  const { log, lines } = recordingLog()
  const store = createStore(await openPostgres(settingsOf(dsn), log), new Metrics())
  onTestFinished(() => store.driver.close())
  return { dsn, store, fellBack: () => lines.filter(({ msg }) => String(msg).includes('as one statement')).length }
}

test('is accepted by PostgreSQL, without a fallback to several statements', async () => {
  const { store, fellBack } = await opened()
  const { family, refresh } = await signedIn(store)
  const rotate = { used: refresh.id, next: aRefreshToken(family), issuance: issuanceOf(family), now: NOW }
  expect(await store.rotateRefreshToken(rotate)).toBe('rotated')
  await store.recordIssuance({ ...issuanceOf(family), uses: [use] })
  expect(fellBack()).toBe(0)
  // A proof that was used: nothing of the rotation stands.
  const again = { ...rotate, used: rotate.next.id, next: aRefreshToken(family), issuance: issuanceOf(family) }
  const other = { ...use, id: newId() }
  const replayed = store.rotateRefreshToken({ ...again, issuance: { ...again.issuance, uses: [other] } })
  await expect(replayed).rejects.toMatchObject({ code: 'USED_BEFORE dpop' })
  const fresh = { ...other, hash: newId() }
  expect(await store.rotateRefreshToken({ ...again, issuance: { ...again.issuance, uses: [fresh] } })).toBe('rotated')
  expect(fellBack()).toBe(0)
})

test('is replaced by single statements on a server that does not support it, which is logged once', async () => {
  const { dsn, store, fellBack } = await opened()
  // 42P18: it cannot tell the type of a parameter.
  await server.sql(
    dsn,
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF current_query() LIKE 'WITH s0%' THEN RAISE EXCEPTION 'no such SQL here' USING ERRCODE = '42P18'; END IF; RETURN NULL;
     END $$;
     CREATE TRIGGER refuse BEFORE UPDATE ON refresh_tokens EXECUTE FUNCTION refuse()`,
  )
  const { family, refresh } = await signedIn(store)
  let used = refresh.id
  for (let i = 0; i < 3; i++) {
    const next = aRefreshToken(family)
    expect(await store.rotateRefreshToken({ used, next, issuance: issuanceOf(family), now: NOW })).toBe('rotated')
    used = next.id
  }
  expect(
    await store.rotateRefreshToken({
      used: refresh.id,
      next: aRefreshToken(family),
      issuance: issuanceOf(family),
      now: NOW,
    }),
  ).toBe('reused')
  expect(fellBack()).toBe(1)
})
