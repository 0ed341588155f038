import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { idFloor, newId } from '../../src/lib/id.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { anEvent, anIssuance } from '../support/records.ts'
import { ADMIN_KEY, addClient, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const authorization = `Bearer ${ADMIN_KEY}`
const exported = async (path: string) => {
  const response = await fetch(service.admin + path, { headers: { authorization } })
  const text = await response.text()
  const rows = text.split('\n').filter(Boolean)
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    rows: rows.map((line) => JSON.parse(line) as { id: string; detail?: object }),
    ends: text.at(-1),
  }
}
const newestFirst = (ids: string[]) =>
  [...ids].sort((a, b) => Buffer.compare(Buffer.from(b, 'base64url'), Buffer.from(a, 'base64url')))
const issued = async (count: number, client_id = newId()) => {
  const issuances = Array.from({ length: count }, () => anIssuance({ client_id }))
  await Promise.all(issuances.map((each) => service.app.store.recordIssuance(each)))
  return { client_id, ids: newestFirst(issuances.map(({ id }) => id)) }
}

describe('exports', () => {
  test('the export of issuances is JSON lines, each issuance once, newest first, over many pages', async () => {
    const { client_id, ids } = await issued(2345)
    const { status, type, rows, ends } = await exported(`/admin/issuances/export?client_id=${client_id}`)
    expect([status, type, ends]).toEqual([200, 'application/x-ndjson', '\n'])
    expect(rows.map(({ id }) => id)).toEqual(ids)
    expect(rows[0]).toEqual(await firstListed(client_id))
  })
  const firstListed = async (client_id: string) =>
    (await okAdmin<{ issuances: object[] }>(service, 'GET', `/admin/issuances?client_id=${client_id}&limit=1`))
      .issuances[0]

  test('the export of events is JSON lines in the format of the list', async () => {
    const client_id = newId()
    const detail = { scope: 'two\nlines', resource: 1 }
    await service.app.store.recordAudit(anEvent({ client_id, detail }))
    const { rows } = await exported(`/admin/audit/export?client_id=${client_id}`)
    expect(rows).toEqual(await okAdmin(service, 'GET', `/admin/audit?client_id=${client_id}`))
    expect(rows[0]?.detail).toEqual(detail)
  })

  test('an export is an audit event with its filters, unless that is off', async () => {
    const client_id = newId()
    const events = async () =>
      (await okAdmin<{ detail: object }[]>(service, 'GET', '/admin/audit?action=data_exported')).filter(({ detail }) =>
        JSON.stringify(detail).includes(client_id),
      )
    await exported(`/admin/issuances/export?client_id=${client_id}&since=2026-01-02T03:04:05Z`)
    const filters = { client_id, since: '2026-01-02T03:04:05Z' }
    const wanted = [expect.objectContaining({ detail: { exported: 'issuances', filters } })]
    await expect.poll(events).toEqual(wanted)
    service.app.config.admin.audit_exports = false
    await exported(`/admin/audit/export?client_id=${client_id}`)
    service.app.config.admin.audit_exports = true
    await exported(`/admin/issuances/export?client_id=${client_id}`)
    await expect.poll(events).toMatchObject([{ detail: { filters: { client_id } } }, ...wanted])
  })

  test('a time range excludes earlier and later rows, and may reach back further than the list', async () => {
    const [client_id, long] = [newId(), Math.floor(Date.now() / 1000) - 400 * 86_400]
    const old = anEvent({ id: idFloor(long).replace(/.$/, 'A'), client_id, created_at: long })
    await service.app.store.recordAudit(old)
    await service.app.store.recordAudit(anEvent({ client_id }))
    const at = new Date((long + 1) * 1000).toISOString()
    const ids = async (query: string) =>
      (await exported(`/admin/audit/export?client_id=${client_id}&${query}`)).rows.map(({ id }) => id)
    expect(await ids(`until=${at}`)).toEqual([old.id])
    expect(await ids(`since=${at}`)).not.toContain(old.id)
    expect(await ids('')).toHaveLength(2)
  })

  test('an export without rows is empty', async () => {
    expect(await exported('/admin/issuances/export?client_id=nobody')).toMatchObject({ status: 200, rows: [] })
  })

  test('HEAD returns only the headers', async () => {
    const response = await fetch(`${service.admin}/admin/audit/export`, { method: 'HEAD', headers: { authorization } })
    expect([response.status, await response.text()]).toEqual([200, ''])
    expect(response.headers.get('content-type')).toBe('application/x-ndjson')
  })

  test.each(['since=yesterday', 'since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z', 'limit=5'])(
    'refuses %s',
    async (query) => {
      for (const path of ['/admin/audit/export', '/admin/issuances/export'])
        expect((await callAdmin(service, 'GET', `${path}?${query}`)).status).toBe(400)
    },
  )

  test('a client that disconnects during an export does not disturb other requests', async () => {
    const { client_id } = await issued(1500)
    await new Promise<void>((resolve) => {
      const asked = request(`${service.admin}/admin/issuances/export?client_id=${client_id}`, {
        headers: { authorization },
      })
      asked.on('error', () => resolve())
      asked.on('response', (response) => {
        response.on('error', () => {})
        response.once('data', () => {
          response.destroy()
          resolve()
        })
      })
      asked.end()
    })
    expect((await callAdmin(service, 'GET', '/admin/keys')).status).toBe(200)
  })

  test('a failure during an export aborts the response, so that an incomplete export is not taken for a complete one', async () => {
    const { client_id } = await issued(1500)
    const { driver } = service.app.store
    const { call } = driver
    let pages = 0
    Object.assign(driver, {
      call: (op: never, input: never) =>
        op === 'listIssuances' && ++pages === 2 ? Promise.reject(new Error('gone')) : call(op, input),
    })
    try {
      await expect(exported(`/admin/issuances/export?client_id=${client_id}`)).rejects.toThrow()
    } finally {
      Object.assign(driver, { call })
    }
  })
})

describe('pages by the last id', () => {
  const walk = async (path: string, of: (answer: never) => { id: string }[]) => {
    const ids: string[] = []
    for (let after = ''; ids.length < 100; ) {
      const page = of(await okAdmin(service, 'GET', `${path}${after && `&after=${encodeURIComponent(after)}`}`))
      ids.push(...page.map(({ id }) => id))
      after = page.at(-1)?.id ?? ''
      if (!after) return ids
    }
    return ids
  }
  type Rows = { id: string }[]

  test('paging through issuances returns each of them once', async () => {
    const { client_id, ids } = await issued(7)
    const pages = walk(
      `/admin/issuances?client_id=${client_id}&limit=3`,
      ({ issuances }: { issuances: Rows }) => issuances,
    )
    expect(await pages).toEqual(ids)
  })

  test('paging through events returns each of them once', async () => {
    const client_id = newId()
    const events = Array.from({ length: 7 }, () => anEvent({ client_id }))
    for (const event of events) await service.app.store.recordAudit(event)
    const ids = newestFirst(events.map(({ id }) => id))
    expect(await walk(`/admin/audit?client_id=${client_id}&limit=3`, (rows: Rows) => rows)).toEqual(ids)
  })

  test('paging through clients returns the same as one request, also for clients created in the same second', async () => {
    for (let i = 0; i < 5; i++) await addClient(service)
    const all = (await okAdmin<Rows>(service, 'GET', '/admin/clients?limit=1000')).map(({ id }) => id)
    expect(await walk('/admin/clients?limit=2', (rows: Rows) => rows)).toEqual(all)
  })

  test('paging through users returns the same as one request', async () => {
    for (let i = 0; i < 3; i++) await addUser(service)
    const all = (await okAdmin<Rows>(service, 'GET', '/admin/users')).map(({ id }) => id)
    expect(await walk('/admin/users?limit=2', (rows: Rows) => rows)).toEqual(all)
  })

  test.each([
    ['/admin/clients', 'nobody'],
    ['/admin/users', 'nobody'],
    ['/admin/audit', "x' OR 1=1 --"],
    ['/admin/issuances', 'AAAA'],
  ])('%s refuses a place that does not exist', async (path, after) => {
    const answer = await callAdmin(service, 'GET', `${path}?after=${encodeURIComponent(after)}`)
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request'])
    expect(answer.body['error_description']).toContain('after')
  })
})
