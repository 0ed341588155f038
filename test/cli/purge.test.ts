import { readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { idFloor, newId } from '../../src/lib/id.ts'
import { Database } from '../../src/store/database.ts'
import { okAdmin } from '../support/admin.ts'
import { envOf, type Ran, runCli, runHere } from '../support/cli.ts'
import { authorize, introspect, machineToken, post, redeem, refresh } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { anEvent, anIssuance } from '../support/records.ts'
import { addClient, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const purge = (...flags: string[]) => runHere(['purge', '--json', ...flags], envOf(service))
/** In a separate process, as an operator runs it beside the server; its log is on standard output. */
const purgeBeside = (...flags: string[]) => runCli(['purge', '--json', ...flags], envOf(service))
const deletedBy = ({ code, stdout, stderr }: Ran) => {
  expect([code, stderr]).toEqual([0, ''])
  return Object.fromEntries(
    (JSON.parse(stdout) as { table: string; deleted: number }[]).map((e) => [e.table, e.deleted]),
  )
}
const purged = async (...flags: string[]) => deletedBy(await purge(...flags))
const inThePast = () => service.app.clock.now() - 10

async function addExpiredSessions(count: number): Promise<void> {
  const created_at = service.app.clock.now() - 100
  const session = () => ({ id: newId(), user_id: 'u_purge', created_at, expires_at: inThePast() })
  await Promise.all(Array.from({ length: count }, () => service.app.store.createSession(session())))
}

test('purge deletes expired rows in ranges beside a running server, and finds none the second time', async () => {
  await addExpiredSessions(2500)
  const live = newId()
  const now = service.app.clock.now()
  await service.app.store.createSession({
    id: live,
    user_id: (await addUser(service)).id,
    created_at: now,
    expires_at: now + 60,
  })
  const first = deletedBy(await purgeBeside())
  expect(Object.keys(first)).toEqual([
    'assertion-jti',
    'connect-pending-states',
    'deleted-records',
    'device-codes',
    'dpop-nonces',
    'jti',
    'machine-tokens',
    'refresh-tokens',
    'token-families',
    'sessions',
  ])
  expect(first['sessions']).toBe(2500)
  expect(deletedBy(await purgeBeside('--only', 'sessions'))['sessions']).toBe(0)
  expect(await service.app.store.findSession({ id: live, now })).toBeDefined()
})

test('purge keeps live and used refresh tokens, so that a reuse is still detected', async () => {
  const [client, user] = [await addClient(service), await addUser(service)]
  const first = await redeem(service, client, await authorize(service, client, user))
  const second = await refresh(service, client, first.body['refresh_token'])
  await purged()
  expect((await refresh(service, client, first.body['refresh_token'])).body['error']).toBe('invalid_grant')
  expect((await refresh(service, client, second.body['refresh_token'])).body['error']).toBe('invalid_grant')
})

test('purge deletes families without live tokens, and keeps the others', async () => {
  const [client, user] = [await addClient(service), await addUser(service)]
  const kept = await redeem(service, client, await authorize(service, client, user))
  const once = await addClient(service, { grant_types: ['authorization_code'] })
  await redeem(service, once, await authorize(service, once, user))
  const families = () => service.app.store.countActiveFamilies()
  const before = await families()
  expect((await purged())['token-families']).toBe(0)
  // Its access token has expired, and it never had a refresh token.
  const [issuance] = await service.app.store.listIssuances({ client_id: once.client_id, since: '', limit: 1 })
  const database = new Database(service.app.config.storage.sqlite.path)
  database
    .prepare('UPDATE issuances SET expires_at = 1 WHERE id = ?')
    .run(Buffer.from(String(issuance?.id), 'base64url'))
  database.close()
  expect((await purged())['token-families']).toBe(1)
  expect(await families()).toBe(before - 1)
  expect((await refresh(service, client, kept.body['refresh_token'])).status).toBe(200)
})

test('purge keeps issuances and revocations', async () => {
  const client = await addClient(service)
  const { body } = await machineToken(service, client)
  await post(`${service.issuer}/oauth/revoke`, client, { token: String(body['access_token']) })
  await purged()
  expect(await introspect(service, client, body['access_token'])).toEqual({ active: false })
  expect(await service.app.store.listIssuances({ client_id: client.client_id, since: '', limit: 5 })).toHaveLength(1)
})

test('purge deletes expired single uses and keeps live ones', async () => {
  const use = (expires_at: number, kind: 'dpop' | 'assertion') =>
    service.app.store.recordUse({ id: newId(), kind, hash: newId(), expires_at })
  await use(inThePast(), 'dpop')
  await use(inThePast(), 'assertion')
  await use(service.app.clock.now() + 60, 'dpop')
  expect(await purged('--only', 'jti,assertion-jti')).toEqual({ 'assertion-jti': 1, jti: 1 })
})

test('purge deletes registrations that were unused for thirty days, only on request', async () => {
  const old = { registration_source: 'dcr', issued_at: service.app.clock.now() - 31 * 86_400 } as const
  const [unused, used, young, byAdmin, document, suspended] = [
    await addClient(service, {}, old),
    await addClient(service, {}, { ...old }),
    await addClient(service, {}, { ...old, issued_at: service.app.clock.now() }),
    await addClient(service, {}, { ...old, registration_source: 'admin' }),
    await addClient(service, {}, { ...old, registration_source: 'cimd' }),
    await addClient(service, {}, { ...old, registration_source: 'cimd', status: 'suspended' }),
  ]
  await service.app.store.touchClient({ client_id: used.client_id, now: service.app.clock.now() })
  await purged()
  expect(await service.app.store.findClient({ client_id: unused.client_id })).toBeDefined()
  expect(await purged('--only', 'unused-clients')).toEqual({ 'unused-clients': 2 })
  service.app.store.dropCaches()
  const all = [unused, used, young, byAdmin, document, suspended]
  const left = await Promise.all(all.map(({ client_id }) => service.app.store.findClient({ client_id })))
  expect(left.map((client) => client !== undefined)).toEqual([false, true, true, true, false, true])
})

test.each([
  [['--only', 'bogus'], 'sessions'],
  [['--only', ','], 'refresh-tokens'],
  [['--timeout', 'soon'], '--timeout'],
])('the unknown target %j is refused with the list of targets', async (flags, word) => {
  const { code, stderr } = await purge(...flags)
  expect(code).toBe(2)
  expect(JSON.parse(stderr)).toMatchObject({
    error: 'invalid_request',
    error_description: expect.stringContaining(word),
  })
})

test('a target that exceeds its time limit is logged with its name, and the exit code is 1', async () => {
  const { code, stdout } = await purgeBeside('--only', 'sessions', '--timeout', '1ns')
  expect(code).toBe(1)
  expect(stdout).toMatch(/"level":"error".*"table":"sessions"/)
})

describe('the record of issued tokens and audit events', () => {
  const YEAR = 365 * 86_400
  const idAt = (time: number) => idFloor(time).slice(0, 8) + newId().slice(8)
  const now = () => service.app.clock.now()
  const lines = (file: string) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { id: string })

  test('expired issuances are deleted by age, after they were exported', async () => {
    const { store } = service.app
    const at = (time: number, expires_at: number) => anIssuance({ id: idAt(time), issued_at: time, expires_at })
    const old = at(now() - YEAR - 60, now() - YEAR)
    const [living, young] = [at(now() - YEAR - 60, now() + 60), at(now() - YEAR + 600, now() - YEAR + 700)]
    for (const each of [old, living, young]) await store.recordIssuance(each)
    const file = path.join(tempFolder(), 'issuances.jsonl')
    const flags = ['--only', 'issuances', '--older-than', '365d', '--export', file]
    expect(await purged(...flags)).toEqual({ issuances: 1 })
    expect(lines(file)).toMatchObject([{ id: old.id, client_id: old.client_id, scope: old.scope }])
    expect(await store.findIssuance(old)).toBeUndefined()
    for (const each of [living, young]) expect(await store.findIssuance(each)).toEqual(each)
    expect(await purged(...flags)).toEqual({ issuances: 0 })
    expect(lines(file).length).toBe(1)
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  test('audit events are deleted by age in pages, and appended to the export file', async () => {
    const { store } = service.app
    const ids = Array.from({ length: 1100 }, (_, i) => idAt(now() - 2 * YEAR + i * 10)).sort()
    const created_at = now() - 2 * YEAR
    await Promise.all(ids.map((id) => store.recordAudit(anEvent({ id, created_at, action: 'user_login' }))))
    const file = path.join(tempFolder(), 'audit.jsonl')
    writeFileSync(file, '{"id":"before"}\n')
    expect(await purged('--only', 'audit-events', '--older-than', '400d', '--export', file)).toEqual({
      'audit-events': 1100,
    })
    const exported = lines(file).map(({ id }) => id)
    expect([exported[0], exported.length, new Set(exported).size]).toEqual(['before', 1101, 1101])
    expect(
      (
        await store.listAudit({
          since: idFloor(0),
          until: idFloor(now() - YEAR),
          limit: 5,
          offset: 0,
          action: 'user_login',
        })
      ).length,
    ).toBe(0)
  })

  test('rows that could not be exported are not deleted', async () => {
    const { store } = service.app
    const old = anIssuance({ id: idAt(now() - YEAR - 60), expires_at: now() - YEAR })
    await store.recordIssuance(old)
    const file = path.join(tempFolder(), 'no-such-folder', 'x.jsonl')
    const { code, stdout } = await purgeBeside('--only', 'issuances', '--older-than', '365d', '--export', file)
    expect(code).toBe(1)
    expect(stdout).toContain('purge failed')
    expect(await store.findIssuance(old)).toEqual(old)
  })

  test.each([
    ['without an age', ['--only', 'issuances', '--export', 'x'], '--older-than must be'],
    ['of less than a day', ['--only', 'issuances', '--older-than', '1h', '--export', 'x'], '--older-than must be'],
    ['without a file', ['--only', 'audit-events', '--older-than', '365d'], '--export must name'],
    [
      'with other targets',
      ['--only', 'jti,issuances', '--older-than', '365d', '--export', 'x'],
      'together with other targets',
    ],
    ['for a target without ages', ['--only', 'jti', '--older-than', '365d'], '--older-than and --export are for'],
    ['for all targets', ['--older-than', '365d', '--export', 'x'], '--older-than and --export are for'],
  ])('rows of issued tokens and audit events are not deleted %s', async (_what, flags, fault) => {
    const { code, stderr } = await purge(...flags)
    expect([code, stderr]).toEqual([2, expect.stringContaining(fault)])
  })
})

test('the status shows the last run of each target', async () => {
  await purged('--only', 'jti')
  const status = async () =>
    (
      await okAdmin<{ purges: { target: string; ok: boolean; deleted: number }[] }>(
        service,
        'GET',
        '/admin/system/status',
      )
    ).purges
  expect(await status()).toContainEqual({
    target: 'jti',
    deleted: 0,
    ok: true,
    started_at: expect.stringMatching(/Z$/),
    finished_at: expect.stringMatching(/Z$/),
  })
})
