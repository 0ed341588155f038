// Rules of the searches that the admin page makes: window by window, whatever the driver.
import { expect, test } from 'vitest'
import { idFloor, newId } from '../../../src/lib/id.ts'
import { aClient, anIssuance, aResource, aUser, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

export function searchRules(bench: Bench): void {
  test('a search for clients reads a limited number of rows, returns a cursor, and ignores the case of names and ids', async () => {
    const { store, close } = await bench.open()
    const names = ['Alpha', 'beta', 'ALPHABET', 'gamma%', 'gam_ma']
    for (const [i, client_name] of names.entries())
      await store.createClient(aClient({ client_id: `id-${i}`, client_name, issued_at: NOW + i }))
    const look = async (q: string, more: object = {}) => {
      const { rows, next } = await store.listClientsWith({ q, order: 'oldest', rows: 10, ...more })
      return [rows.map(({ client_id }) => client_id), next?.id]
    }
    expect(await look('alpha')).toEqual([['id-0', 'id-2'], undefined])
    expect(await look('alpha', { order: 'newest' })).toEqual([['id-2', 'id-0'], undefined])
    expect(await look('alpha', { rows: 2 })).toEqual([['id-0'], 'id-1'])
    expect(await look('alpha', { rows: 2, after: { at: NOW + 1, id: 'id-1' } })).toEqual([['id-2'], 'id-3'])
    expect(await look('alpha', { rows: 2, after: { at: NOW + 3, id: 'id-3' } })).toEqual([[], undefined])
    expect(await look('alpha', { limit: 1 })).toEqual([['id-0'], 'id-0'])
    expect(await look('alpha', { limit: 1, rows: 3, after: { at: NOW, id: 'id-0' } })).toEqual([['id-2'], 'id-2'])
    expect(await look('ID-4')).toEqual([['id-4'], undefined])
    expect(await look('a%')).toEqual([['id-3'], undefined])
    expect(await look('m_m')).toEqual([['id-4'], undefined])
    expect(await look('', { status: 'suspended' })).toEqual([[], undefined])
    await close()
  })

  test('a search for users matches email, name and id', async () => {
    const { store, close } = await bench.open()
    await store.createUser(aUser({ id: 'u_1', email: 'Ada@Example.com', name: 'Ada' }))
    await store.createUser(aUser({ id: 'u_2', email: 'b@example.com', name: 'Babbage', created_at: NOW + 1 }))
    const look = async (q: string, more: object = {}) => {
      const { rows, next } = await store.listUsersWith({ q, order: 'newest', rows: 10, ...more })
      return [rows.map(({ id }) => id), next?.id]
    }
    expect(await look('EXAMPLE')).toEqual([['u_2', 'u_1'], undefined])
    expect(await look('babb')).toEqual([['u_2'], undefined])
    expect(await look('ADA@')).toEqual([['u_1'], undefined])
    expect(await look('u_1', { rows: 1 })).toEqual([[], 'u_2'])
    await close()
  })

  test('lists are in order of creation or in reverse order', async () => {
    const { store, close } = await bench.open()
    for (const at of [1, 2, 3]) {
      await store.createClient(aClient({ client_id: `c${at}`, issued_at: NOW + at }))
      await store.createUser(aUser({ id: `u${at}`, created_at: NOW + at }))
    }
    const page = { order: 'newest', limit: 2, offset: 0 } as const
    expect((await store.listClients(page)).map(({ client_id }) => client_id)).toEqual(['c3', 'c2'])
    const behind = { after: { at: NOW + 2, id: 'c2' } }
    expect((await store.listClients({ ...page, ...behind })).map(({ client_id }) => client_id)).toEqual(['c1'])
    expect((await store.listUsers(page)).map(({ id }) => id)).toEqual(['u3', 'u2'])
    await close()
  })

  test('resources are found by name, slug and URI, and listed after a given resource', async () => {
    const { store, close } = await bench.open()
    const made = [
      aResource({ slug: 'one', display_name: 'First', uri: 'https://a.example/Path', created_at: NOW }),
      aResource({ slug: 'two', display_name: 'SECOND', uri: undefined, created_at: NOW + 1 }),
    ]
    for (const resource of made) await store.createResource(resource)
    const slugs = async (more: object) =>
      (await store.listResources({ limit: 10, offset: 0, ...more })).map(({ slug }) => slug)
    expect(await slugs({ q: 'second' })).toEqual(['two'])
    expect(await slugs({ q: '/PATH' })).toEqual(['one'])
    expect(await slugs({ q: 'O' })).toEqual(['one', 'two'])
    expect(await slugs({ after: { at: NOW, id: made[0]?.id ?? '' } })).toEqual(['two'])
    await close()
  })

  test('the last token of each client, and its number of tokens since a time up to a limit, are found', async () => {
    const { store } = bench
    const [busy, idle] = [aClient(), aClient()]
    const issued = [1, 2, 3].map(() => anIssuance({ id: newId(), client_id: busy.client_id, sub: busy.client_id }))
    for (const each of issued) await store.recordIssuance(each)
    const client_ids = [idle.client_id, busy.client_id]
    expect(await store.readClientActivity({ client_ids, since: idFloor(0), cap: 1 })).toEqual([
      { client_id: idle.client_id, last_id: undefined, tokens: 0 },
      { client_id: busy.client_id, last_id: issued.at(-1)?.id, tokens: 2 },
    ])
  })

  test('the size of the database is known', async () => {
    const { store } = bench
    const bytes = await (store.driver.name === 'sqlite' ? store.readSqliteBytes() : store.readPostgresBytes())
    expect(bytes).toBeGreaterThan(10_000)
  })
}
