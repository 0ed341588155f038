import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pieces, search } from '../../src/admin/lists.ts'
import type { Cursor } from '../../src/store/list.ts'
import { okAdmin } from '../support/admin.ts'
import { machineToken } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

type Row = Record<string, unknown>
const list = (path: string) => okAdmin<Row[]>(service, 'GET', path)

describe('search()', () => {
  const windows: Record<string, { rows: string[]; next?: Cursor }> = {
    '': { rows: ['a', 'b'], next: { at: 1, id: 'b' } },
    b: { rows: [], next: { at: 2, id: 'm' } },
    m: { rows: ['n', 'o'] },
  }
  const look = async ({ after }: { after?: Cursor }) => windows[after?.id ?? ''] ?? { rows: [] }

  test.each([
    [1, 0, ['a']],
    [3, 0, ['a', 'b', 'n']],
    [9, 0, ['a', 'b', 'n', 'o']],
    [2, 1, ['b', 'n']],
  ])(
    'a search reads further pages, also without a hit, until %i hits are found beyond %i',
    async (limit, offset, found) => {
      expect(await search(look, { limit, offset })).toEqual(found)
    },
  )
})

describe('pieces()', () => {
  const all = Array.from({ length: 1203 }, (_, i) => i)
  test.each([
    [1203, 0, [500, 500, 203]],
    [1000, 0, [500, 500]],
    [700, 1, [500, 200]],
    [9, 1200, [9]],
    [9, 2000, [9]],
  ])('a page of %i rows behind %i is read in pieces of 500', async (limit, offset, sizes) => {
    const read: number[] = []
    const page = await pieces(
      async ({ after, limit, offset }) => {
        read.push(limit)
        return all.filter((each) => each > (after?.at ?? -1)).slice(offset, offset + limit)
      },
      (at) => ({ at, id: '' }),
      { limit, offset },
    )
    expect(page).toEqual(all.slice(offset, offset + limit))
    expect(read).toEqual(sizes)
  })
})

describe('lists', () => {
  test('the client list finds a text in name and id, ignoring case, and treats % and _ literally', async () => {
    const made = [
      await addClient(service, { client_name: 'Hundred 100% Robot' }),
      await addClient(service, { client_name: 'a_b' }),
    ]
    const found = async (q: string) =>
      (await list(`/admin/clients?q=${encodeURIComponent(q)}`)).map((each) => each['client_id'])
    expect(await found('100% rOB')).toEqual([made[0]?.client_id])
    expect(await found('a_b')).toEqual([made[1]?.client_id])
    expect(await found(made[1]?.client_id.toUpperCase() ?? '')).toEqual([made[1]?.client_id])
    expect(await found('a%b')).toEqual([])
  })

  test('the client list shows the last activity of each client and its tokens of the last day', async () => {
    const client = await addClient(service, { grant_types: ['client_credentials'] })
    for (let i = 0; i < 3; i++) await machineToken(service, client)
    const [shown] = await list(`/admin/clients?activity=true&q=${client.client_id}`)
    expect(shown?.['tokens_24h']).toBe(3)
    expect(Math.abs(Date.parse(String(shown?.['last_used_at'])) - Date.now())).toBeLessThan(60_000)
    expect((await list(`/admin/clients?q=${client.client_id}`))[0]).not.toHaveProperty('tokens_24h')
  })

  test('the user list finds a text in email and name, and is newest first on request', async () => {
    const users = [
      await addUser(service, { name: 'Anna Searched', created_at: 1 }),
      await addUser(service, { name: 'Berta', email: 'berta@searched.example', created_at: 2 }),
    ]
    const found = await list('/admin/users?q=SEARCHED&order=newest')
    expect(found.map((each) => each['id'])).toEqual([users[1]?.id, users[0]?.id])
    const next = await list(`/admin/users?q=searched&order=newest&after=${users[1]?.id}`)
    expect(next.map((each) => each['id'])).toEqual([users[0]?.id])
  })

  test('the resource list finds a text in name, slug and URI, and continues after a given resource', async () => {
    const first = await addResource(service, { slug: 'needle-a' })
    const second = await addResource(service, { slug: 'needle-b' })
    const ids = async (query: string) => (await list(`/admin/resources?${query}`)).map((each) => each['id'])
    expect((await ids('q=NEEDLE')).sort()).toEqual([first.id, second.id].sort())
    const [one = ''] = await ids('q=needle&limit=1')
    expect(await ids(`q=needle&after=${one}`)).toEqual([first.id, second.id].filter((id) => id !== one))
  })
})
