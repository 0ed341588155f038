// Operations that are one statement on PostgreSQL. What they do, and that nothing is half done, the conformance rules say.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { createStore } from '../../src/store/index.ts'
import { openPostgres } from '../../src/store/postgres.ts'
import { preparePostgres } from '../../src/store/postgres_client.ts'
import { fuse } from '../../src/store/postgres_fused.ts'
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

describe('one statement', () => {
  test('is made of an operation whose changes rest on its first one', () => {
    for (const [op, input] of [
      ['rotateRefreshToken', rotation],
      ['redeemCode', { family, refresh: rotation.next, issuance: rotation.issuance, now: NOW }],
      ['redeemCode', { family, issuance: rotation.issuance, now: NOW }],
      ['recordIssuance', { ...rotation.issuance, use }],
    ] as const) {
      const { sql = '', params = [] } = fuse({ op, input })?.statement ?? {}
      expect(sql).toMatch(/^WITH s0 AS /)
      expect(sql.match(/\?/g)).toHaveLength(params.length)
    }
  })

  test('fails where a later change would touch nothing: the first ones must not stand without it', () => {
    const proven = { ...rotation, issuance: { ...rotation.issuance, use } }
    expect(fuse({ op: 'rotateRefreshToken', input: proven })?.statement.sql).not.toContain('ON CONFLICT')
    expect(fuse({ op: 'recordIssuance', input: proven.issuance })?.statement.sql).toContain('ON CONFLICT DO NOTHING')
  })

  test('is not made of operations that depend on what they find', () => {
    expect(fuse({ op: 'recordExchange', input: rotation.issuance })).toBeUndefined()
    expect(fuse({ op: 'findRefreshToken', input: { id: rotation.used } })).toBeUndefined()
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

test('PostgreSQL takes it: nothing falls back to several statements', async () => {
  const { store, fellBack } = await opened()
  const { family, refresh } = await signedIn(store)
  const rotate = { used: refresh.id, next: aRefreshToken(family), issuance: issuanceOf(family), now: NOW }
  expect(await store.rotateRefreshToken(rotate)).toBe('rotated')
  await store.recordIssuance({ ...issuanceOf(family), use })
  expect(fellBack()).toBe(0)
  // A proof that was used: nothing of the rotation stands.
  const again = { ...rotate, used: rotate.next.id, next: aRefreshToken(family), issuance: issuanceOf(family) }
  const other = { ...use, id: newId() }
  const replayed = store.rotateRefreshToken({ ...again, issuance: { ...again.issuance, use: other } })
  await expect(replayed).rejects.toMatchObject({ code: 'USED_BEFORE' })
  const fresh = { ...other, hash: newId() }
  expect(await store.rotateRefreshToken({ ...again, issuance: { ...again.issuance, use: fresh } })).toBe('rotated')
  expect(fellBack()).toBe(0)
})

test('a server that cannot read such SQL is asked for one change after the other, and that is said once', async () => {
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
