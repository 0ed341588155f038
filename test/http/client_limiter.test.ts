// The limiter of single clients: bursts, and counts of tokens that are shared in a store.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { OwnLimiter } from '../../src/http/client_limiter.ts'
import type { TokenCountStore } from '../../src/http/token_counts.ts'
import { DAY } from '../../src/lib/time.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

type Row = { day: number; client_id: string; tokens: number; updated_at: number }
/** A store in memory that several limiters share. `writes` has the rows of each write. */
function aStore() {
  const rows: Row[] = []
  const writes: object[][] = []
  const store: TokenCountStore & { fails: boolean } = {
    fails: false,
    async addTokenCounts({ day, added, now }) {
      if (store.fails) throw new Error('unavailable')
      writes.push(added)
      for (const { client_id, tokens } of added) {
        const known = rows.find((row) => row.day === day && row.client_id === client_id)
        if (known) Object.assign(known, { tokens: known.tokens + tokens, updated_at: now })
        else rows.push({ day, client_id, tokens, updated_at: now })
      }
    },
    readTokenCounts: async ({ day, after }) => ({
      counts: rows.filter((row) => row.day === day && row.updated_at >= after.updated_at),
    }),
    sweepTokenCounts: async () => 0,
  }
  return { rows, writes, store }
}
const clock = { now: () => Math.floor(Date.now() / 1000) }
async function opened(store: TokenCountStore, instances = 1): Promise<OwnLimiter> {
  const limiter = new OwnLimiter({ store, clock, instances: () => instances, onError: () => {} })
  await limiter.start()
  return limiter
}
const taken = (limiter: OwnLimiter, wanted: object, times = 1000) =>
  Array.from({ length: times }, () => limiter.take({ client_id: 'c', ...wanted })).filter((reached) => !reached).length

test.each([
  [0.001, 1, 1],
  [4, 1, 8],
  [4, 2, 4],
  [0.5, 4, 1],
])('of a rate of %d at %d instances a burst is %d requests', async (requests_per_second, instances, burst) => {
  const limiter = await opened(aStore().store, instances)
  expect(taken(limiter, { requests_per_second })).toBe(burst)
  expect(limiter.take({ client_id: 'c', requests_per_second })).toMatchObject({ limit: 'requests_per_second' })
  expect(limiter.take({ client_id: 'other', requests_per_second })).toBeUndefined()
})

test('a bucket refills at the rate of its client, which may change', async () => {
  const limiter = await opened(aStore().store)
  taken(limiter, { requests_per_second: 4 })
  await vi.advanceTimersByTimeAsync(1000)
  expect(taken(limiter, { requests_per_second: 4 })).toBe(4)
  await vi.advanceTimersByTimeAsync(1000)
  expect(taken(limiter, { requests_per_second: 100 })).toBe(100)
})

test('a request that one limit refuses uses up neither', async () => {
  const limiter = await opened(aStore().store)
  const both = { requests_per_second: 1, tokens_per_day: 3 }
  expect(taken(limiter, both)).toBe(2)
  expect(taken(limiter, { tokens_per_day: 3 })).toBe(1)
  await vi.advanceTimersByTimeAsync(1000)
  expect(limiter.take({ client_id: 'c', ...both })).toMatchObject({ limit: 'tokens_per_day' })
  expect(taken(limiter, { requests_per_second: 1 })).toBe(1)
})

test('tokens at another instance count within two seconds, and a new process begins with those of today', async () => {
  const { store } = aStore()
  const [a, b] = [await opened(store, 2), await opened(store, 2)]
  expect(taken(a, { tokens_per_day: 5 }, 3)).toBe(3)
  expect(taken(b, { tokens_per_day: 5 }, 1)).toBe(1)
  await vi.advanceTimersByTimeAsync(2000)
  expect(taken(b, { tokens_per_day: 5 })).toBe(1)
  await vi.advanceTimersByTimeAsync(2000)
  expect(taken(a, { tokens_per_day: 5 })).toBe(0)
  expect(taken(await opened(store), { tokens_per_day: 6 })).toBe(1)
})

test('counts are written in one batch, at the end too, and never without a change', async () => {
  const { store, writes, rows } = aStore()
  const limiter = await opened(store)
  for (const client_id of ['a', 'b', 'a']) limiter.take({ client_id, tokens_per_day: 9 })
  await vi.advanceTimersByTimeAsync(10_000)
  expect(writes).toEqual([
    [
      { client_id: 'a', tokens: 2 },
      { client_id: 'b', tokens: 1 },
    ],
  ])
  limiter.take({ client_id: 'b', tokens_per_day: 9 })
  limiter.giveBackToken('a')
  await limiter.close()
  expect(rows.map(({ client_id, tokens }) => [client_id, tokens])).toEqual([
    ['a', 1],
    ['b', 2],
  ])
})

test('while the store is unavailable the counts of this process hold, and they are written afterwards', async () => {
  const { store, rows } = aStore()
  const limiter = await opened(store)
  store.fails = true
  expect(taken(limiter, { tokens_per_day: 3 })).toBe(3)
  await vi.advanceTimersByTimeAsync(3000)
  expect(taken(limiter, { tokens_per_day: 3 })).toBe(0)
  store.fails = false
  await vi.advanceTimersByTimeAsync(1000)
  expect(rows).toMatchObject([{ client_id: 'c', tokens: 3 }])
})

test('a day ends at midnight (UTC)', async () => {
  vi.setSystemTime(20_000 * DAY * 1000 - 3_600_000)
  const limiter = await opened(aStore().store)
  expect(taken(limiter, { tokens_per_day: 2 })).toBe(2)
  expect(limiter.take({ client_id: 'c', tokens_per_day: 2 })).toEqual({ limit: 'tokens_per_day', wait: 3600 })
  await vi.advanceTimersByTimeAsync(3_599_000)
  expect(taken(limiter, { tokens_per_day: 2 })).toBe(0)
  await vi.advanceTimersByTimeAsync(1000)
  expect(taken(limiter, { tokens_per_day: 2 })).toBe(2)
})
