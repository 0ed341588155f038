// So many at once, then a line, then a refusal.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Semaphore } from '../../src/net/semaphore.ts'
import { refusalOf } from '../support/thrown.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Work that runs until the test ends it. */
function heldWork() {
  const ends: (() => void)[] = []
  const started: number[] = []
  return {
    started,
    work: (id: number) => () => {
      started.push(id)
      return new Promise<number>((resolve) => ends.push(() => resolve(id)))
    },
    endNext: async () => {
      ends.shift()?.()
      await vi.advanceTimersByTimeAsync(0)
    },
  }
}

test('at most `max` calls run at once, and waiting calls run in the order of their arrival', async () => {
  const gate = new Semaphore(2)
  const { work, started, endNext } = heldWork()
  const all = [1, 2, 3, 4].map((id) => gate.run(work(id)))
  await vi.advanceTimersByTimeAsync(0)
  expect(started).toEqual([1, 2])
  await endNext()
  expect(started).toEqual([1, 2, 3])
  expect(gate.isIdle).toBe(false)
  for (let i = 0; i < 3; i++) await endNext()
  expect(await Promise.all(all)).toEqual([1, 2, 3, 4])
  expect(gate.isIdle).toBe(true)
})

test('a call that waits for 2 seconds is refused with 503 and leaves the queue', async () => {
  const gate = new Semaphore(1)
  const { work, started, endNext } = heldWork()
  void gate.run(work(1))
  const refusal = refusalOf(() => gate.run(work(2)))
  await vi.advanceTimersByTimeAsync(1999)
  const late = gate.run(work(3))
  await vi.advanceTimersByTimeAsync(1)
  const { status, reason, more } = await refusal
  expect([status, reason, more.headers]).toEqual([503, 'outbound_full', { 'retry-after': '1' }])
  await endNext()
  await endNext()
  expect(await late).toBe(3)
  expect(started).toEqual([1, 3])
  expect(vi.getTimerCount()).toBe(0)
})

test('a call is refused at once when the queue is full', async () => {
  const gate = new Semaphore(1)
  const { work } = heldWork()
  void gate.run(work(0))
  for (let i = 1; i <= 256; i++) gate.run(work(i)).catch(() => {})
  expect((await refusalOf(() => gate.run(work(257)))).reason).toBe('outbound_full')
})

test('a call that fails frees its slot', async () => {
  const gate = new Semaphore(1)
  await expect(gate.run(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(gate.isIdle).toBe(true)
  expect(await gate.run(async () => 'next')).toBe('next')
})
