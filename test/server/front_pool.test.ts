// The life of front threads: where they cannot start, and when one of them fails.
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import type { App } from '../../src/context.ts'
import { closeApp, openApp } from '../../src/server/assemble.ts'
import { openFrontPool } from '../../src/server/front_pool.ts'
import { type LogEvent, openLogger } from '../../src/telemetry/logger.ts'
import { tempFolder } from '../support/folder.ts'
import { freePort } from '../support/free_port.ts'
import { basic, fresh, spread, tally } from '../support/fronts.ts'
import { addClient } from '../support/service.ts'
import { Wire } from '../support/wire.ts'

const opened: App[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const app of opened.splice(0)) await closeApp(app)
})

async function appAt(port: number, more: Record<string, string> = {}): Promise<{ app: App; lines: LogEvent[] }> {
  const folder = tempFolder()
  const env = {
    SERVICE_SERVER_ADDRESS: `127.0.0.1:${port}`,
    SERVICE_SERVER_FRONT_THREADS: '2',
    SERVICE_RATE_LIMIT_ENABLED: 'false',
    SERVICE_STORAGE_SQLITE_PATH: `${folder}/service.db`,
    SERVICE_SIGNING_KEY_PATH: `${folder}/keys`,
    ...more,
  }
  const { config } = loadConfig(undefined, env)
  const { logging } = config.observability
  const lines: LogEvent[] = []
  const log = openLogger({ ...logging, outputs: { ...logging.outputs, stdout: false } }, (line) => lines.push(line))
  const app = await openApp(config, log, { env })
  opened.push(app)
  return { app, lines }
}
/** The threads of workers/front.ts that are started from here on. */
function watchWorkers(): Worker[] {
  const workers: Worker[] = []
  const { on } = Worker.prototype
  vi.spyOn(Worker.prototype, 'on').mockImplementation(function (this: Worker, ...args: Parameters<Worker['on']>) {
    // The pools of the app may start threads meanwhile.
    if (args[0] === 'exit' && new Error().stack?.includes('front_worker')) workers.push(this)
    return on.apply(this, args)
  } as Worker['on'])
  return workers
}

describe('front threads that cannot start', () => {
  test('front threads do not start on an address in use, because another process would get some of the connections', async () => {
    const port = await freePort()
    const [first, second] = [await appAt(port), await appAt(port)]
    const front = await openFrontPool(first.app)
    await expect(openFrontPool(second.app)).rejects.toThrow('EADDRINUSE')
    await front.close(1000)
  })

  test('if one thread cannot start, no thread stays', async () => {
    const port = await freePort()
    const { app } = await appAt(port)
    const workers = watchWorkers()
    // The thread refuses what it is given.
    Object.assign(app.config.data_encryption, { driver: 'aes_master' })
    await expect(openFrontPool(app)).rejects.toThrow(/front thread \d failed/)
    expect(workers.map(({ threadId }) => threadId)).toEqual([-1, -1])
    await expect(Wire.open(port)).rejects.toThrow('ECONNREFUSED')
  })
})

test('when one thread fails, the other threads drain, and the caller receives the reason', async () => {
  const port = await freePort()
  const { app } = await appAt(port)
  const workers = watchWorkers()
  const front = await openFrontPool(app)
  // What an uncaught exception in the thread says.
  workers[0]?.emit('message', { asks: [[0, 'failed', { message: 'a fault of ours', stack: 'Error: at x' }]] })
  await expect(front.failed).rejects.toThrow(/front thread 1 failed: a fault of ours/)
  await front.close(1000)
  expect(workers.map(({ threadId }) => threadId)).toEqual([-1, -1])
  await expect(Wire.open(port)).rejects.toThrow('ECONNREFUSED')
})

test('a log event of a front thread is a line in the log of the process, with its error', async () => {
  const { app, lines } = await appAt(await freePort())
  const workers = watchWorkers()
  const front = await openFrontPool(app)
  const err = {
    name: 'TypeError',
    message: 'no',
    stack: 'TypeError: no\n at x',
    cause: { name: 'Error', message: 'y' },
  }
  workers[1]?.emit('message', { asks: [[0, 'log', { level: 'warn', time: '', msg: 'seen', fields: { a: 1, err } }]] })
  expect(lines.at(-1)).toMatchObject({ level: 'warn', msg: 'seen', fields: { a: 1, err } })
  await front.close(1000)
})

test('on shutdown, in-flight requests are answered, and then the address is free', async () => {
  const port = await freePort()
  const { app } = await appAt(port)
  const { authorization } = basic(await addClient({ app }))
  const front = await openFrontPool(app)
  const body = 'grant_type=client_credentials'
  const head = `POST /oauth/token HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\nauthorization: ${authorization}\r\ncontent-length: ${body.length}\r\n\r\n`
  const wires = await Promise.all(Array.from({ length: 24 }, () => Wire.open(port)))
  for (const wire of wires) wire.send(head + body.slice(0, 5))
  // Each thread has read what came before this.
  await spread(() => fresh({ issuer: `http://127.0.0.1:${port}` }, '/livez'))
  const closing = front.close(20_000)
  for (const wire of wires) wire.send(body.slice(5))
  const answers = await Promise.all(wires.map((wire) => wire.answer({ ms: 20_000 })))
  expect(tally(answers.map(({ status }) => status))).toEqual({ 200: 24 })
  await closing
  await expect(Wire.open(port)).rejects.toThrow('ECONNREFUSED')
})
