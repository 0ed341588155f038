// The filters of the audit trail that look for one record, an address or a text, on both databases.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { Database } from '../../src/store/database.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { envOf, runHere } from '../support/cli.ts'
import { machineToken } from '../support/flow.ts'
import { anEvent } from '../support/records.ts'
import { ADMIN_KEY, addClient, addUser, startService, type TestService } from '../support/service.ts'
import { storages } from '../support/storages.ts'

interface Event {
  id: string
  action: string
}

const AS_ADMIN = { authorization: `Bearer ${ADMIN_KEY}` }

describe.each(storages())('on %s', (_name, env) => {
  let service: TestService
  beforeAll(async () => {
    service = await startService(await env())
  })
  afterAll(() => service.close())
  const actions = async (query: string) =>
    (await okAdmin<Event[]>(service, 'GET', `/admin/audit?${query}`)).map(({ action }) => action)

  test('events about a user are found by the id, also those that operators cause', async () => {
    const [user, other] = [await addUser(service), await addUser(service)]
    for (const { id } of [user, other]) await okAdmin(service, 'PATCH', `/admin/users/${id}/disable`)
    await okAdmin(service, 'PATCH', `/admin/users/${user.id}`, { name: 'Renamed' })
    expect(await actions(`about=${user.id}`)).toEqual(['user_updated', 'user_disabled'])
  })

  test('events are found by the address of the request and by a text, and without issued tokens', async () => {
    const client = await addClient(service)
    await machineToken(service, client)
    await service.app.store.recordAudit(
      anEvent({ id: newId(), ip: '203.0.113.9', detail: { scope: '100% Odd_thing' } }),
    )
    expect(await actions('address=203.0.113.9')).toHaveLength(1)
    expect(await actions('q=100%25%20odd_')).toHaveLength(1)
    expect(await actions('q=odd%25')).toEqual([])
    expect(await actions(`client_id=${client.client_id}`)).toContain('token_issued')
    expect(await actions(`client_id=${client.client_id}&issued=false`)).toEqual([])
  })

  test('a text is found behind many other events, and the next page begins after the last one', async () => {
    const { store, clock } = service.app
    const one = (scope: string) => anEvent({ id: newId(), detail: { scope }, created_at: clock.now() })
    for (let i = 0; i < 2; i++) await store.recordAudit(one('needle'))
    // More than one window of the search.
    await store.recordAudits(Array.from({ length: 5100 }, () => one('hay')))
    const [first, second] = await okAdmin<Event[]>(service, 'GET', '/admin/audit?q=needle')
    expect(second).toBeDefined()
    expect(
      (await okAdmin<Event[]>(service, 'GET', `/admin/audit?q=needle&after=${first?.id}`)).map(({ id }) => id),
    ).toEqual([second?.id])
    expect(await okAdmin<Event[]>(service, 'GET', '/admin/audit?q=needle&limit=1')).toHaveLength(1)
  })

  test('an empty text is refused', async () => {
    expect((await callAdmin(service, 'GET', '/admin/audit?q=')).status).toBe(400)
  })
})

/** Adds newer events, as fast as the database can. */
function addStraw({ app }: TestService, count: number): void {
  const database = new Database(app.config.storage.sqlite.path)
  database
    .prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO audit_events (id, action, actor_id, ip, detail, created_at)
       SELECT unhex(printf('%012x%020x', ?, i)), 'user_login', 'straw', '', '{}', ? FROM n`,
    )
    .run(count, Date.now() + 1, app.clock.now())
  database.close()
}

test('a search reads a bounded number of events, says where it stopped, and continues from there', async () => {
  const service = await startService()
  const word = `w${newId()}`
  await service.app.store.recordAudit(anEvent({ id: newId(), detail: { word }, created_at: service.app.clock.now() }))
  addStraw(service, 50_000)
  const first = await callAdmin<Event[]>(service, 'GET', `/admin/audit?q=${word}`)
  expect(first.body).toEqual([])
  const next = /^<(.*)>; rel="next"$/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
  const second = await callAdmin<Event[]>(service, 'GET', next)
  expect(second.body).toHaveLength(1)
  expect(second.headers.get('link')).toBeNull()
  const ran = await runHere(['admin', 'audit', 'list', '--q', word, '--json'], envOf(service))
  expect(JSON.parse(ran.stdout)).toEqual([])
  expect(ran.stderr).toMatch(
    /^the search stopped at \S+: there may be older matches\. Search on with --after [\w-]{22}\n$/,
  )
  // The export has the event of itself too, which contains the text.
  const exported = await fetch(`${service.admin}/admin/audit/export?q=${word}`, { headers: AS_ADMIN })
  const ids = (await exported.text())
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as Event).id)
  expect(ids.slice(1)).toEqual(second.body.map(({ id }) => id))
  await service.close()
})
