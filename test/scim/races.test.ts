// Equal requests at the same time, on both databases: one is done, the others are conflicts, and none fails.
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { federating } from '../support/openid_fake.ts'
import { sql } from '../support/postgres.ts'
import { type ScimAnswer, type ScimClient, scimClient, scimWithAcme } from '../support/scim.ts'
import { startService, type TestService } from '../support/service.ts'
import { storages } from '../support/storages.ts'
import { eventually } from '../support/wire.ts'

describe.each(storages())('on %s', (_name, env) => {
  let service: TestService
  let okta: ScimClient
  /** Its people are found by another claim than the subject, so that their accounts have nothing that is unique. */
  let acme: ScimClient
  let dsn: string | undefined
  beforeAll(async () => {
    const [storage, { env: more, file }] = [await env(), scimWithAcme()]
    dsn = storage['SERVICE_STORAGE_POSTGRES_DSN']
    service = await startService(federating('http://localhost:9', { ...storage, ...more }), file)
    ;[okta, acme] = [await scimClient(service), await scimClient(service, 'acme')]
  })
  afterAll(() => service.close())

  /** Sends requests at the same time. On PostgreSQL none writes a row of `table` before all of them have read. */
  async function together(table: string, ...requests: (() => Promise<ScimAnswer>)[]): Promise<ScimAnswer[]> {
    if (dsn === undefined) return Promise.all(requests.map((send) => send()))
    const at = dsn
    const locking = new pg.Client({ connectionString: at })
    await locking.connect()
    try {
      await locking.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`)
      const answers = Promise.all(requests.map((send) => send()))
      // Another connection: within a transaction the view does not change.
      const waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
      await eventually(async () => (await sql(at, waiting)).length === requests.length)
      await locking.query('COMMIT')
      return await answers
    } finally {
      await locking.end()
    }
  }
  const outcomes = (answers: readonly ScimAnswer[]) =>
    answers.map(({ status, body }) => `${status} ${body['scimType'] ?? ''}`.trim()).sort()

  test.each(['userName', 'externalId', 'both'])(
    'Y07 of people who are added at the same time with the same %s one is added',
    async (same) => {
      for (const client of [okta, acme]) {
        const person = { userName: newId(), externalId: newId() }
        const other = {
          ...(same === 'externalId' && { userName: newId() }),
          ...(same === 'userName' && { externalId: newId() }),
        }
        const add = (body: object) => () => client.send('POST', '/Users', body)
        // The account is written first.
        const done = await together('users', add(person), add({ ...person, ...other }), add({ ...person, ...other }))
        expect(outcomes(done)).toEqual(['201', '409 uniqueness', '409 uniqueness'])
        const filter = encodeURIComponent(
          same === 'externalId' ? `externalId eq "${person.externalId}"` : `userName eq "${person.userName}"`,
        )
        expect((await client.send('GET', `/Users?filter=${filter}`)).body['totalResults']).toBe(1)
      }
    },
  )

  test('Y07 people who are added at the same time with the same address are both added, and one account has it', async () => {
    const emails = [{ value: `${newId()}@example.com`, primary: true }]
    const add = () => okta.send('POST', '/Users', { userName: newId(), externalId: newId(), emails })
    const done = await together('users', add, add)
    expect(outcomes(done)).toEqual(['201', '201'])
    const accounts = await Promise.all(done.map(({ body }) => service.app.store.findUser({ id: String(body['id']) })))
    expect(accounts.map((account) => account?.email).sort()).toEqual([emails[0]?.value, undefined])
  })

  test.each(['userName', 'externalId'])(
    'Y07 of people who get the same %s at the same time one gets it',
    async (name) => {
      for (const client of [okta, acme]) {
        const ids = await Promise.all(['a', 'b'].map(() => client.add({ userName: newId(), externalId: newId() })))
        const value = newId()
        const table = client === okta && name === 'externalId' ? 'users' : 'scim_users'
        const change = (id: string) => () => client.patch(`/Users/${id}`, { op: 'replace', path: name, value })
        expect(outcomes(await together(table, ...ids.map(change)))).toEqual(['200', '409 uniqueness'])
      }
    },
  )

  test('Y07 of groups that are added at the same time with the same name one is added', async () => {
    const add = () => okta.send('POST', '/Groups', { displayName: 'the same' })
    expect(outcomes(await together('scim_groups', add, add))).toEqual(['201', '409 uniqueness'])
  })
})
