import { Worker } from 'node:worker_threads'
import { afterEach, expect, test, vi } from 'vitest'
import { Thread } from '../../src/lib/thread.ts'
import { openThreads } from '../../src/lib/threads.ts'
import { silentLog } from '../support/log.ts'

afterEach(() => vi.restoreAllMocks())

/** The threads that were called or ended since the last test, each once. */
function seenThreads() {
  const spies = [vi.spyOn(Thread.prototype, 'call'), vi.spyOn(Thread.prototype, 'end')]
  return () => [...new Set(spies.flatMap((spy) => spy.mock.contexts as Thread[]))]
}

/** A signing thread answers this with the number of its jobs. */
const jobs = (count: number) => ({ headers: [], lines: Array(count).fill('{}').join('\n') })

test('a thread is ended only after it has loaded, however early the end is asked for', async () => {
  const threads = seenThreads()
  const terminate = Worker.prototype.terminate
  const loaded: boolean[] = []
  vi.spyOn(Worker.prototype, 'terminate').mockImplementation(function (this: Worker) {
    loaded.push(threads()[0]?.isLoaded ?? false)
    return terminate.call(this)
  })
  const pool = openThreads({ name: 'crypto', max: 2 }, silentLog)
  pool.start()
  await pool.close()
  expect(loaded).toEqual([true])
})

test('threads that nothing was asked of are never started', async () => {
  const threads = seenThreads()
  await openThreads({ name: 'crypto', max: 2 }, silentLog).close()
  expect(threads()).toEqual([])
})

test('threads answer calls in their order, and a call that fails does not affect the others', async () => {
  const pool = openThreads({ name: 'crypto', max: 1 }, silentLog)
  const calls = [jobs(1), { headers: [], lines: null }, jobs(3)].map((call) => pool.run(call))
  const [first, second, third] = await Promise.allSettled(calls)
  await pool.close()
  expect([first, third].map((each) => each?.status === 'fulfilled' && each.value)).toEqual([
    expect.objectContaining({ results: expect.toSatisfy((results) => results.length === 1) }),
    expect.objectContaining({ results: expect.toSatisfy((results) => results.length === 3) }),
  ])
  expect(second).toMatchObject({ status: 'rejected', reason: expect.any(TypeError) })
})

test('another thread starts when all are busy, and gets calls when it has loaded', async () => {
  const threads = seenThreads()
  const pool = openThreads({ name: 'crypto', max: 2 }, silentLog)
  await pool.run(jobs(1))
  await pool.run(jobs(1))
  await Promise.all([pool.run(jobs(1)), pool.run(jobs(1)), pool.run(jobs(1))])
  expect(threads()).toHaveLength(1)
  while (threads().length === 1) await Promise.all([pool.run(jobs(1)), pool.run(jobs(1))])
  await pool.close()
  expect(threads()).toHaveLength(2)
})

test('calls of a thread that ends are rejected, the error is logged, and the next call has a new thread', async () => {
  const threads = seenThreads()
  const error = vi.fn()
  const pool = openThreads({ name: 'crypto', max: 1 }, { error })
  await pool.run(jobs(1))
  // Takes a second, so that the thread has no answer yet when it ends.
  const lost = pool.run(jobs(200_000))
  const ended = threads()[0]?.end()
  await expect(lost).rejects.toThrow('the thread has ended')
  await ended
  expect(await pool.run(jobs(1))).toHaveProperty('results')
  expect(error.mock.calls).toEqual([[expect.anything(), 'a crypto thread failed and is replaced']])
  await pool.close()
})

test('a thread that is idle for too long ends, and the next call has a new thread', async () => {
  const threads = seenThreads()
  const error = vi.fn()
  const pool = openThreads({ name: 'password', max: 1, idleMs: 0 }, { error })
  const hashes = await pool.run([{ password: 'first' }])
  await threads()[0]?.ended
  expect([hashes, await pool.run([{ password: 'second' }])]).toEqual(
    Array(2).fill([expect.stringContaining('$argon2id$')]),
  )
  await pool.close()
  expect(threads()).toHaveLength(2)
  expect(error).not.toHaveBeenCalled()
})
