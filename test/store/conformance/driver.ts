// Rules of running operations: together, apart, and beside another process.
import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/lib/id.ts'
import { isRead, type OpName, ops } from '../../../src/store/operations.ts'
import { aClient, anIssuance, aResource, NOW } from '../../support/records.ts'
import { eventually } from '../../support/wire.ts'
import type { Bench } from '../conformance.ts'

export function driverRules(bench: Bench): void {
  describe('concurrent operations', () => {
    test('each operation gets its own result', async () => {
      const clients = Array.from({ length: 300 }, () => aClient())
      expect(new Set(await Promise.all(clients.map((client) => bench.store.createClient(client))))).toEqual(
        new Set(['created']),
      )
      const found = await Promise.all(clients.map(({ client_id }) => bench.store.findClient({ client_id })))
      expect(found).toEqual(clients)
    })

    test('a failed operation is rolled back, and affects no other operation', async () => {
      const [good, taken, late] = [anIssuance(), anIssuance(), anIssuance()]
      await bench.store.recordIssuance(taken)
      const settled = await Promise.allSettled([
        bench.store.recordIssuance(good),
        bench.store.recordIssuance(taken),
        bench.store.createClient({ ...aClient(), client_name: null as unknown as string }),
        bench.store.recordIssuance(late),
      ])
      expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
      for (const { id } of [good, taken, late]) expect(await bench.store.findIssuance({ id })).toBeDefined()
    })

    test('an error of the program is not reported as 503, because the database is available', async () => {
      const taken = anIssuance()
      await bench.store.recordIssuance(taken)
      const error = await bench.store.recordIssuance(taken).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(Error)
      expect(error).not.toHaveProperty('more')
    })

    test('an operation sees the writes that were answered before it', async () => {
      const client = aClient()
      expect(await bench.store.createClient(client)).toBe('created')
      expect(await bench.store.driver.call('findClient', { client_id: client.client_id })).toEqual(client)
    })
  })

  test('text that a database cannot store is not found', async () => {
    const { store } = bench
    expect(await store.findClient({ client_id: 'a\0b' })).toBeUndefined()
    expect(await store.findUserByEmail({ email: 'a\0b' })).toBeUndefined()
    expect(await store.listUsers({ email: 'a\0b', limit: 1, offset: 0 })).toEqual([])
  })

  test('an operation with the name of a read only reads', () => {
    const WRITES = /INSERT|UPDATE|DELETE|\bchanged?[(`]|[A-Z]\d*\.(add|create|insert|remove|save|update)[(`]/
    for (const name of Object.keys(ops) as OpName[])
      if (isRead(name)) expect(WRITES.test(ops[name].toString()), name).toBe(false)
  })

  describe('another process', () => {
    test('writes of another process are visible, also for records that were cached or missing before', async () => {
      const mine = await bench.open()
      const other = await mine.again()
      const [client, resource, name] = [aClient(), aResource(), newId()]
      await mine.store.createClient(client)
      const read = () =>
        Promise.all([
          mine.store.findClient({ client_id: client.client_id }),
          mine.store.findResource({ uri: resource.uri ?? '' }),
          mine.store.findSetting({ name }),
        ])
      expect(await read()).toEqual([client, undefined, undefined])
      await other.store.updateClient({ ...client, status: 'suspended' })
      await other.store.createResource(resource)
      await other.store.saveSetting({ name, value: 'admin_only', now: NOW })
      const isFresh = async () => {
        const [seen, found, setting] = await read()
        return seen?.status === 'suspended' && found !== undefined && setting === 'admin_only'
      }
      await eventually(isFresh)
      await other.close()
      await mine.close()
    })

    test('a write of this process does not invalidate its own caches a second time', async () => {
      const mine = await bench.open()
      const client = aClient()
      await mine.store.createClient(client)
      const first = await mine.store.findClient(client)
      await mine.store.createClient(aClient())
      await mine.store.readHealth()
      expect(await mine.store.findClient(client)).toBe(first)
      await mine.close()
    })

    test('of two processes only one creates a record with the same id', async () => {
      const mine = await bench.open()
      const other = await mine.again()
      const client = aClient()
      const outcomes = await Promise.all(
        [mine, other].flatMap(({ store }) => Array.from({ length: 5 }, () => store.createClient(client))),
      )
      expect(outcomes.filter((outcome) => outcome === 'created').length).toBe(1)
      await other.close()
      await mine.close()
    })
  })

  test('operations in flight are answered before the store closes', async () => {
    const mine = await bench.open()
    const client = aClient()
    const written = mine.store.createClient(client)
    await mine.close()
    expect(await written).toBe('created')
  })
}
