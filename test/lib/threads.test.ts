import { Piscina } from 'piscina'
import { expect, test, vi } from 'vitest'
import { openThreads } from '../../src/lib/threads.ts'
import { silentLog } from '../support/log.ts'

test('threads are ended only after they have loaded, however early the end is asked for', async () => {
  let loaded = 0
  const on = vi.spyOn(Piscina.prototype, 'on')
  const seen: { loaded: number; threads: number }[] = []
  const destroy = Piscina.prototype.destroy
  vi.spyOn(Piscina.prototype, 'destroy').mockImplementation(function (this: Piscina) {
    seen.push({ loaded, threads: this.threads.length })
    return destroy.call(this)
  })
  const threads = openThreads({ name: 'crypto', min: 2, max: 2 }, silentLog)
  const pool = on.mock.contexts[0] as Piscina
  // What a thread says first is that it has loaded.
  for (const thread of pool.threads) thread.once('message', () => loaded++)
  await threads.close()
  expect(seen).toEqual([{ loaded: 2, threads: 2 }])
})

test('threads that nothing was asked of were never started', async () => {
  const destroy = vi.spyOn(Piscina.prototype, 'destroy')
  const threads = openThreads({ name: 'crypto', min: 0, max: 2 }, silentLog)
  await threads.close()
  expect((destroy.mock.contexts.at(-1) as Piscina).threads).toEqual([])
})

/** A signing thread answers this with the number of its jobs. */
const jobs = (count: number) => ({ headers: [], lines: Array(count).fill('{}').join('\n') })

test('threads that stay answer calls in their order, and a call that fails does not affect the others', async () => {
  const threads = openThreads({ name: 'crypto', min: 1, max: 1 }, silentLog)
  const calls = [jobs(1), { headers: [], lines: null }, jobs(3)].map((call) => threads.run(call))
  const [first, second, third] = await Promise.allSettled(calls)
  await threads.close()
  expect([first, third].map((each) => each?.status === 'fulfilled' && each.value)).toEqual([
    expect.objectContaining({ results: expect.toSatisfy((results) => results.length === 1) }),
    expect.objectContaining({ results: expect.toSatisfy((results) => results.length === 3) }),
  ])
  expect(second).toMatchObject({ status: 'rejected', reason: expect.any(TypeError) })
})

test('a call gets a thread of its own until all threads are busy', async () => {
  let started = 0
  const on = vi.spyOn(Piscina.prototype, 'on')
  const threads = openThreads({ name: 'crypto', min: 0, max: 2 }, silentLog)
  const pool = on.mock.contexts.at(-1) as Piscina
  pool.on('workerCreate', () => started++)
  await threads.run(jobs(1))
  await threads.run(jobs(1))
  expect(started).toBe(1)
  await Promise.all([threads.run(jobs(1)), threads.run(jobs(1)), threads.run(jobs(1))])
  await threads.close()
  expect(started).toBe(2)
})

test('calls of a thread that ends are rejected, and the next call has a new thread', async () => {
  const on = vi.spyOn(Piscina.prototype, 'on')
  const threads = openThreads({ name: 'crypto', min: 1, max: 1 }, silentLog)
  const pool = on.mock.contexts.at(-1) as Piscina
  await threads.run(jobs(1))
  const ended = pool.threads[0]?.terminate()
  await expect(threads.run(jobs(1))).rejects.toThrow('worker exited')
  await ended
  expect(await threads.run(jobs(1))).toHaveProperty('results')
  await threads.close()
})

test('of two tasks the second has a thread of its own if threads end when they are idle', async () => {
  let started = 0
  const on = vi.spyOn(Piscina.prototype, 'on')
  const threads = openThreads({ name: 'password', min: 0, max: 2, idleMs: 60_000 }, silentLog)
  const pool = on.mock.contexts.at(-1) as Piscina
  pool.on('workerCreate', () => started++)
  await threads.run([{ password: 'the first thread starts' }])
  await Promise.all([threads.run([{ password: 'one' }]), threads.run([{ password: 'two' }])])
  await threads.close()
  expect(started).toBe(2)
})
