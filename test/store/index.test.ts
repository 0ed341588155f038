// The store on top of a driver: every operation is there, measured, and told about other processes.
import { expect, test, vi } from 'vitest'
import { createStore, type Driver } from '../../src/store/index.ts'
import { type OpName, ops } from '../../src/store/operations.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'

function bench() {
  let foreignWrite = () => {}
  const call = vi.fn(async (op: OpName, _input: unknown): Promise<unknown> => op)
  const driver: Driver = {
    name: 'sqlite',
    stats: { waiting: 0, running: 0, jobs: 0, batches: 0, refused: 0, busy_ms: 0 },
    isHealthy: () => true,
    instances: () => 1,
    call,
    onForeignWrite: (listener) => {
      foreignWrite = listener
    },
    close: async () => {},
  }
  const metrics = new Metrics()
  return { store: createStore(driver, metrics), call, metrics, writeElsewhere: () => foreignWrite() }
}

test('every operation is passed to the driver under its name', async () => {
  const { store, call } = bench()
  const input = {
    client_id: 'c',
    uri: 'u',
    name: 'n',
    issuer: 'i',
    link: { source_slug: 's', target_slug: 't' },
    user: {},
    client: {},
  }
  for (const op of Object.keys(ops) as OpName[]) {
    const operation = store[op] as (input: unknown) => Promise<unknown>
    expect(await operation(input)).toBe(op)
    expect(call).toHaveBeenLastCalledWith(op, input)
  }
})

test('every call is timed under the name of its operation, also failed calls', async () => {
  const { store, call, metrics } = bench()
  await store.readHealth()
  call.mockRejectedValueOnce(new Error('away'))
  await expect(store.readHealth()).rejects.toThrow('away')
  expect((await metrics.render()).text).toContain('core_db_operation_duration_seconds_count{op="readHealth"} 2')
})

test('a write of another process invalidates every cache', async () => {
  const { store, call, writeElsewhere } = bench()
  await store.findClient({ client_id: 'c' })
  writeElsewhere()
  await store.findClient({ client_id: 'c' })
  expect(call).toHaveBeenCalledTimes(2)
})

test('a write of cached data is answered after the other caches were notified', async () => {
  const { store, call } = bench()
  const told: unknown[] = []
  let tellDone = () => {}
  store.onWrite(async (op, input) => {
    told.push([op, input])
    await new Promise<void>((resolve) => {
      tellDone = resolve
    })
  })
  let isAnswered = false
  const writing = store.deleteClient({ client_id: 'c' } as never).then(() => {
    isAnswered = true
  })
  await vi.waitFor(() => expect(told).toEqual([['deleteClient', { client_id: 'c' }]]))
  expect([call.mock.calls.length, isAnswered]).toEqual([1, false])
  tellDone()
  await writing
  expect(isAnswered).toBe(true)
  await store.touchClient({ client_id: 'c', now: 1 })
  await store.findClient({ client_id: 'c' })
  expect(told).toHaveLength(1)
})

test('the other caches are also notified of a failed write, because it may have been committed', async () => {
  const { store, call } = bench()
  const told: string[] = []
  store.onWrite(async (op) => told.push(op))
  call.mockRejectedValueOnce(new Error('away'))
  await expect(store.deleteClient({ client_id: 'c' } as never)).rejects.toThrow('away')
  expect(told).toEqual(['deleteClient'])
})

test('a write of another thread invalidates only the cached data that it changes', async () => {
  const { store, call } = bench()
  const read = async () => {
    await store.findClient({ client_id: 'c' })
    await store.findClient({ client_id: 'd' })
    return call.mock.calls.length
  }
  expect([await read(), await read()]).toEqual([2, 2])
  store.forget('updateClient', { client_id: 'c' })
  expect(await read()).toBe(3)
})
