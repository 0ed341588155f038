// Two instances on one PostgreSQL whose configurations differ where they must not: they join, and everybody who looks is told.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { type Pair, startPair } from '../support/pair.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { startService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wire.ts'

let server: PostgresServer
let pair: Pair
beforeAll(async () => {
  server = await startPostgres()
  let count = 0
  pair = await startPair(
    await server.migrated(),
    { SERVICE_RATE_LIMIT_ENABLED: 'true', SERVICE_RATE_LIMIT_REQUESTS_PER_SECOND: '1000' },
    (shared) =>
      startService(
        count++ === 0
          ? shared
          : {
              ...shared,
              SERVICE_SESSION_SECRET: 'another-secret-of-more-than-32-characters',
              SERVICE_RATE_LIMIT_REQUESTS_PER_SECOND: '2000',
            },
      ),
  )
})
afterAll(async () => {
  await pair.close()
  await server.close()
})

const DIFFERENT = ['session_secret', 'limits']
const differing = ({ app }: TestService) => app.store.driver.differing?.() ?? []

test('both instances notice the settings in which they differ, and only these', async () => {
  for (const at of [pair.a, pair.b]) await eventually(() => differing(at).length > 0)
  expect([differing(pair.a), differing(pair.b)]).toEqual([DIFFERENT, DIFFERENT])
})

test('the list of instances shows which one differs from the first', async () => {
  const list = await okAdmin(pair.b, 'GET', '/admin/instances')
  expect(list).toEqual([
    expect.objectContaining({ version: pair.a.app.build.version, threads: 1, differs: [] }),
    expect.objectContaining({ version: pair.b.app.build.version, threads: 1, differs: DIFFERENT }),
  ])
})

test('the metric, and what needs attention, name the settings', async () => {
  await eventually(() => differing(pair.a).length > 0)
  const metrics = await (await fetch(`${pair.a.admin}/metrics`)).text()
  expect(metrics).toMatch(/ext_instances_differ\{setting="session_secret"\} 1/)
  expect(metrics).toMatch(/ext_instances_differ\{setting="issuer"\} 0/)
  const { attention } = await okAdmin<{ attention: { kind: string; text: string }[] }>(
    pair.a,
    'GET',
    '/admin/system/status',
  )
  expect(attention.find(({ kind }) => kind === 'instances')?.text).toContain('session.secret')
})

test('no secret is in the row of an instance', async () => {
  const rows = JSON.stringify(await pair.a.app.store.listInstances())
  expect(rows).toContain('session_secret')
  expect(rows).not.toContain('another-secret')
})

test('with SQLite the list is empty', async () => {
  const alone = await startService()
  expect(await okAdmin(alone, 'GET', '/admin/instances')).toEqual([])
  await alone.close()
})
