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

test.each([
  { ahead: undefined, threads: 2 },
  { ahead: true, threads: 1 },
])('of two tasks the second has a thread of its own unless a busy one takes it already ($ahead)', async (expected) => {
  let started = 0
  const on = vi.spyOn(Piscina.prototype, 'on')
  const threads = openThreads({ name: 'password', min: 0, max: 2, ahead: expected.ahead }, silentLog)
  const pool = on.mock.contexts.at(-1) as Piscina
  pool.on('workerCreate', () => started++)
  await threads.run([{ password: 'the first thread starts' }])
  await Promise.all([threads.run([{ password: 'one' }]), threads.run([{ password: 'two' }])])
  await threads.close()
  expect(started).toBe(expected.threads)
})
