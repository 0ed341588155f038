// Pools of worker threads: their start and end, and every way in which a thread can fail.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, expect, test, vi } from 'vitest'
import { openWorkerPool, type WorkerPoolOptions } from '../../src/lib/threads/worker_pool.ts'
import { tempFolder } from '../support/folder.ts'

/** What a thread does here with a task. The result is the number of the thread that did it. */
const RUN = `
const { threadId } = require('node:worker_threads')
exports.run = (task) => {
  if (task === 'throw') throw new TypeError('no')
  if (task === 'exit') process.exit(7)
  if (task === 'memory') for (const all = []; ; ) all.push(new Array(1e6).fill(0.5).map(String))
  if (task === 'hang') for (;;);
  if (task === 'slow') for (const endMs = Date.now() + 200; Date.now() < endMs; );
  return threadId
}`
const die = `process.exit(7)`

const error = vi.fn()
afterEach(() => {
  vi.restoreAllMocks()
  error.mockClear()
})

function poolOf(options: Partial<WorkerPoolOptions<unknown>> = {}, code = RUN) {
  const file = path.join(tempFolder(), 'worker.cjs')
  writeFileSync(file, code)
  return openWorkerPool<string, number>({ name: 'test', file, max: 1, ...options }, { error })
}
/** The threads that are terminated from now on. */
function terminated() {
  const spy = vi.spyOn(Worker.prototype, 'terminate')
  return () => new Set(spy.mock.contexts)
}
const statuses = async (tasks: Promise<unknown>[]) => (await Promise.allSettled(tasks)).map(({ status }) => status)

test('a pool without a task starts no thread', async () => {
  const ended = terminated()
  const pool = poolOf()
  expect(pool.isLoaded()).toBe(false)
  await pool.close()
  expect(ended().size).toBe(0)
})

test('a thread is terminated only after it has loaded, and after its tasks', async () => {
  const ended = terminated()
  const pool = poolOf({}, `for (const endMs = Date.now() + 300; Date.now() < endMs; );${RUN}`)
  const task = pool.run('')
  const closed = pool.close()
  expect([await task, ended().size]).toEqual([expect.any(Number), 0])
  await closed
  expect(ended().size).toBe(1)
})

test('a thread that still loads when the pool closes is not terminated before it has loaded', async () => {
  const loadedAtEnd: boolean[] = []
  const terminate = Worker.prototype.terminate
  const pool = poolOf({ max: 2 }, `for (const endMs = Date.now() + 300; Date.now() < endMs; );${RUN}`)
  vi.spyOn(Worker.prototype, 'terminate').mockImplementation(function (this: Worker) {
    loadedAtEnd.push(pool.isLoaded())
    return terminate.call(this)
  })
  // The second task asks for a second thread, and the first thread may have done both before it has loaded.
  await Promise.all([pool.run(''), pool.run('')])
  await pool.close()
  expect(loadedAtEnd).toEqual([true, true])
})

test('a task that throws does not affect the others', async () => {
  const pool = poolOf({ tasks: 2 })
  expect(await statuses(['', 'throw', ''].map(pool.run))).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  await pool.close()
})

test('another thread starts when all are busy', async () => {
  const pool = poolOf({ max: 2 })
  const used = new Set<number>()
  while (used.size < 2) for (const id of await Promise.all([pool.run('slow'), pool.run('slow')])) used.add(id)
  await pool.close()
})

test('a task waits for a thread, and is counted meanwhile', async () => {
  const pool = poolOf()
  await pool.run('')
  const tasks = ['slow', 'slow', 'slow'].map(pool.run)
  expect([pool.unfinished(), pool.stats.waiting]).toEqual([3, 2])
  await Promise.all(tasks)
  expect([pool.unfinished(), pool.stats.waiting]).toEqual([0, 0])
  await pool.close()
})

test.each([
  ['ends', 'exit', {}],
  ['hangs', 'hang', { hangMs: 1000 }],
])(
  'a thread that %s fails its task only, the error is logged, and another thread runs the others',
  async (_what, task, options) => {
    const pool = poolOf(options)
    const first = await pool.run('')
    const lost = pool.run(task)
    await expect(lost).rejects.toThrow()
    expect(error).toHaveBeenCalledWith(expect.anything(), expect.stringContaining('a test thread'))
    expect(await pool.run('')).not.toBe(first)
    await pool.close()
  },
)

test('tasks that wait for a thread that ends are run by another one', async () => {
  const pool = poolOf()
  await pool.run('')
  expect(await statuses(['exit', '', ''].map(pool.run))).toEqual(['rejected', 'fulfilled', 'fulfilled'])
  await pool.close()
})

test('a thread that has no more memory fails its task, and the next task has another thread', async () => {
  const pool = poolOf()
  await expect(pool.run('memory')).rejects.toMatchObject({ code: 'ERR_WORKER_OUT_OF_MEMORY' })
  expect(await pool.run('')).toEqual(expect.any(Number))
  await pool.close()
})

test.each([
  ['ends', die],
  ['throws', `throw new Error('no')`],
  ['exports nothing', ''],
])('tasks fail when a thread %s while it loads, and no thread is started again and again', async (_what, code) => {
  const started = vi.spyOn(Worker.prototype, 'postMessage')
  const pool = poolOf({ max: 1 }, code)
  expect(await statuses(['', '', ''].map(pool.run))).toEqual(Array(3).fill('rejected'))
  expect(new Set(started.mock.contexts).size).toBeLessThanOrEqual(3)
  await pool.close()
})

test('a task that waits for others does not hang', async () => {
  const pool = poolOf({ hangMs: 1500 })
  const first = await pool.run('')
  expect(new Set(await Promise.all(Array(12).fill('slow').map(pool.run)))).toEqual(new Set([first]))
  expect(error).not.toHaveBeenCalled()
  await pool.close()
})

test('one thread that hangs is noticed while another one works', async () => {
  const pool = poolOf({ max: 2, hangMs: 1000 })
  let isLost = false
  const lost = expect(pool.run('hang').finally(() => (isLost = true))).rejects.toThrow()
  while (!isLost) await pool.run('slow').catch(() => {})
  await lost
  await pool.close()
})

test('a pool whose thread hangs closes', async () => {
  const pool = poolOf({ hangMs: 500 })
  const lost = pool.run('hang')
  await Promise.all([expect(lost).rejects.toThrow(), pool.close()])
})

test('a thread that is idle for too long ends, and the next task has a new one', async () => {
  const pool = poolOf({ idleMs: 0 })
  const first = await pool.run('')
  while (pool.isLoaded()) await new Promise((resolve) => setTimeout(resolve, 1))
  expect(await pool.run('')).not.toBe(first)
  expect(error).not.toHaveBeenCalled()
  await pool.close()
})
