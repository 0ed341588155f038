// GET /admin/activity/history and GET /admin/connections/failures: what clients did, on both databases, also after a restart.
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { authorizeUrl, machineToken } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { anIssuance } from '../support/records.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'
import { storages } from '../support/storages.ts'

interface Point {
  at: string
  requests: number
  refused: number
  limited: number
  issued: number
  grants?: Record<string, number>
  reasons?: Record<string, number>
  p99?: number
}
interface Shown {
  period: number
  from: string
  points: Point[]
  marks: { kind: string; text: string }[]
}
const history = (service: TestService, query: Record<string, string>) =>
  okAdmin<Shown>(service, 'GET', `/admin/activity/history?${new URLSearchParams(query)}`)
const sum = (points: readonly Point[], of: (point: Point) => number) =>
  points.reduce((total, point) => total + of(point), 0)

describe.each(storages())('on %s', (name, envOf) => {
  const open = async (folder: string, env: Record<string, string>) =>
    startService({
      ...(name === 'SQLite' ? { SERVICE_STORAGE_SQLITE_PATH: path.join(folder, 'kept.db') } : {}),
      SERVICE_SIGNING_KEY_PATH: path.join(folder, 'keys'),
      ...env,
    })

  test('tokens, refusals and failures are shown while a process runs, and after it has ended', async () => {
    const [folder, env] = [tempFolder(), await envOf()]
    const before = await open(folder, env)
    const [client, quiet, resource] = [await addClient(before), await addClient(before), await addResource(before)]
    const { client_id } = client
    await machineToken(before, client, { resource: resource.uri })
    await machineToken(before, client)
    await machineToken(before, { ...client, client_secret: 'wrong' })
    await machineToken(before, { client_id: 'invented', client_secret: 'x' })
    await fetch(authorizeUrl(before, { client_id, redirect_uri: 'https://evil.example/cb\u202e' }))
    await okAdmin(before, 'POST', '/admin/keys/rotate')
    before.advance(10)
    before.app.series.sample()

    const live = await history(before, { range: '1h', client_id })
    expect(sum(live.points, ({ issued }) => issued)).toBe(2)
    await before.close()

    const after = await open(folder, env)
    after.advance(10)
    const all = await history(after, { range: '24h' })
    expect(all.period).toBe(600)
    expect(sum(all.points, ({ issued }) => issued)).toBe(2)
    expect(sum(all.points, ({ grants }) => grants?.['client_credentials'] ?? 0)).toBe(2)
    expect(sum(all.points, ({ reasons }) => reasons?.['wrong_secret'] ?? 0)).toBe(1)
    expect(Math.max(...all.points.map(({ p99 = 0 }) => p99))).toBeGreaterThan(0)
    expect(all.marks.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['deploy', 'key']))

    for (const range of ['1h', '7d', '30d']) {
      const own = await history(after, { range, client_id })
      expect([sum(own.points, ({ issued }) => issued), sum(own.points, ({ refused }) => refused)]).toEqual([2, 2])
    }
    // A client that sent nothing has zeros where the service was measured, and no values elsewhere.
    const none = await history(after, { range: '24h', client_id: quiet.client_id })
    expect(sum(none.points, ({ requests }) => requests)).toBe(0)
    expect(none.points.length).toBeGreaterThan(0)
    expect(none.points.length).toBeLessThan(5)
    const ofResource = await history(after, { range: '24h', resource: resource.slug })
    expect(sum(ofResource.points, ({ issued }) => issued)).toBe(1)

    const failures = await okAdmin<Record<string, unknown>[]>(
      after,
      'GET',
      `/admin/connections/failures?client_id=${client_id}`,
    )
    expect(failures).toHaveLength(2)
    expect(failures).toContainEqual(
      expect.objectContaining({
        reason: 'unregistered_redirect_uri',
        parameter: 'redirect_uri',
        sent: 'https://evil.example/cb\\u{202e}',
        allowed: client.redirect_uris,
        count: 1,
      }),
    )
    expect(failures).toContainEqual(expect.objectContaining({ reason: 'wrong_secret' }))
    const invented = await okAdmin(after, 'GET', '/admin/connections/failures?client_id=invented')
    expect(invented).toEqual([])
    expect(
      await after.app.store.readActivity({ kind: 'client', name: 'invented', from: 0, until: 2 ** 40, width: 60 }),
    ).toEqual([])
    await after.close()
  })
})

test('a minute is written after its end, with the 100 busiest clients, and the rest in one sum', async () => {
  const service = await startService()
  const { app } = service
  const now = app.clock.now()
  const clients = await Promise.all(Array.from({ length: 103 }, () => addClient(service)))
  const one = { requests: 1, refused: 0, limited: 0, issued: 1 }
  for (const [i, { client_id }] of clients.entries())
    for (let n = 0; n < (i < 100 ? 2 : 1); n++) app.sums.record(now, { client: client_id }, one)
  const read = () => app.store.readActivity({ kind: 'client', from: now - 60, until: now + 60, width: 60 })
  expect(await read()).toEqual([])
  service.advance(90)
  await expect.poll(async () => (await read()).length, { timeout: 5000 }).toBe(101)
  const [rest, ...busiest] = await read()
  expect([rest?.name, rest?.requests]).toEqual(['', 3])
  expect(busiest.every(({ requests }) => requests === 2)).toBe(true)
  // A client without a row of its own may have been among the rest: nothing is known of it.
  const { points } = await history(service, { range: '1h', client_id: clients[102]?.client_id ?? '' })
  expect(points.every(({ at }) => Date.parse(at) / 1000 > now)).toBe(true)
  await service.close()
})

test('each minute deletes rows that are older than they are kept, without a purge', async () => {
  const service = await startService()
  const { store, clock } = service.app
  const at = clock.now() - 8 * 86_400
  await store.addActivity({ at, sums: [{ kind: 'all', name: '', requests: 1, refused: 0, limited: 0, issued: 0 }] })
  const minutes = () => store.readActivity({ kind: 'all', from: at - 60, until: at + 60, width: 60 })
  expect(await minutes()).toHaveLength(1)
  service.advance(90)
  await expect.poll(minutes, { timeout: 5000 }).toEqual([])
  await service.close()
})

test('the tokens of 24 hours are exact beyond a thousand, and clients are listed by them', async () => {
  const service = await startService()
  const { store, clock } = service.app
  const [one, two, none] = [await addClient(service), await addClient(service), await addClient(service)]
  const now = clock.now()
  const issued = (client_id: string, count: number) => ({
    ...{ kind: 'client' as const, name: client_id, requests: count },
    ...{ refused: 0, limited: 0, issued: count },
  })
  await Promise.all(
    Array.from({ length: 1001 }, () =>
      store.recordIssuance(anIssuance({ id: newId(), client_id: two.client_id, issued_at: now, expires_at: now + 60 })),
    ),
  )
  await store.addActivity({ at: now - 60, sums: [issued(one.client_id, 3), issued(two.client_id, 1234)] })
  const list = (query: string) =>
    okAdmin<{ client_id: string; tokens_24h: number }[]>(service, 'GET', `/admin/clients?order=tokens&${query}`)
  const busiest = await list('activity=true')
  expect(busiest.map(({ client_id }) => client_id)).toEqual([two.client_id, one.client_id])
  expect(busiest[0]?.tokens_24h).toBe(1234)
  expect((await list(`after=${two.client_id}`)).map(({ client_id }) => client_id)).toEqual([one.client_id])
  expect(await list(`q=${none.client_id}`)).toEqual([])
  expect(await list('status=suspended')).toEqual([])
  await service.close()
})

test('only one client, resource or user can be selected', async () => {
  const service = await startService()
  const { status } = await callAdmin(service, 'GET', '/admin/activity/history?client_id=a&user_id=b')
  expect(status).toBe(400)
  await service.close()
})
