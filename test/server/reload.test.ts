// Reloads of the configuration of a running service: what they apply, in every thread, and what they leave.
import { writeFileSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { keysOf } from '../../src/config/key.ts'
import { loadConfig } from '../../src/config/load.ts'
import { isReloadable } from '../../src/config/reload.ts'
import { RULES } from '../../src/config/rules.ts'
import { type Config, schema } from '../../src/config/schema.ts'
import type { App } from '../../src/context.ts'
import type { HttpListener } from '../../src/http/listener.ts'
import { loadNative } from '../../src/http/uws.ts'
import { closeApp, openApp } from '../../src/server/assemble.ts'
import { openListeners } from '../../src/server/listeners.ts'
import { reloadConfig } from '../../src/server/reload.ts'
import { type LogEvent, openLogger } from '../../src/telemetry/logger.ts'
import { tempFile, tempFolder } from '../support/folder.ts'
import { freePort } from '../support/free_port.ts'
import { fresh, spread, tally } from '../support/fronts.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

interface Running {
  app: App
  issuer: string
  lines: LogEvent[]
  /** Writes the configuration file. */
  write(content: object): void
  reload(): ReturnType<typeof reloadConfig>
}

/** Both listeners, with the configuration file `content`. `prepare` may change the loaded configuration before it is used. */
async function run(content: object, prepare: (config: Config) => void = () => {}): Promise<Running> {
  const [folder, port] = [tempFolder(), await freePort()]
  const env = {
    SERVICE_SERVER_ADDRESS: `127.0.0.1:${port}`,
    SERVICE_ADMIN_ENABLED: 'false',
    SERVICE_STORAGE_SQLITE_PATH: `${folder}/service.db`,
    SERVICE_SIGNING_KEY_PATH: `${folder}/keys`,
  }
  const file = tempFile('service.yaml', content)
  const { config } = loadConfig(file, env)
  prepare(config)
  const { logging } = config.observability
  const lines: LogEvent[] = []
  const log = openLogger({ ...logging, outputs: { ...logging.outputs, stdout: false } }, (line) => lines.push(line))
  const app = await openApp(config, log, { env })
  closing.push(() => closeApp(app))
  for await (const front of openListeners(app)) closing.push(closeOf(front))
  return {
    app,
    issuer: `http://127.0.0.1:${port}`,
    lines,
    write: (next) => writeFileSync(file, JSON.stringify(next)),
    reload: () => reloadConfig(app, file, env),
  }
}
const closeOf = (front: HttpListener) => () => front.close(1000)

const rate = (burst: number) => ({ rate_limit: { enabled: true, requests_per_second: 1, burst } })
const level = (name: string) => ({ observability: { logging: { level: name } } })
const statusesOf = async (running: Running) =>
  tally((await spread(() => fresh(running, '/.well-known/jwks.json'), 20)).map(({ status }) => status))

describe('a reload', () => {
  test('applies changed live keys, and names the changed keys that need a restart', async () => {
    const running = await run(level('error'))
    running.write({ ...level('debug'), ...rate(7), dcr: { mode: 'admin_only' }, server: { read_timeout: '7s' } })
    expect(await running.reload()).toEqual({
      applied: ['dcr.mode', 'rate_limit.requests_per_second', 'rate_limit.burst', 'observability.logging.level'].sort(
        byDeclaration,
      ),
      needs_restart: ['server.read_timeout'],
    })
    const { config, log } = running.app
    expect([config.dcr.mode, config.rate_limit.burst, config.server.read_timeout]).toEqual(['admin_only', 7, 30])
    expect(log.isLevelEnabled('debug')).toBe(true)
    const lines = running.lines.map(({ level, msg, fields }) => ({
      level,
      msg,
      key: fields['key'],
      value: fields['value'],
    }))
    expect(lines).toContainEqual({
      level: 'debug',
      msg: 'configuration key applied',
      key: 'rate_limit.burst',
      value: 7,
    })
  })

  test('of an unchanged configuration changes nothing', async () => {
    const running = await run(level('info'))
    expect(await running.reload()).toEqual({ applied: [], needs_restart: [] })
  })

  test('with an error in any key changes nothing, and the log names the key', async () => {
    const running = await run(level('info'))
    running.write({ ...level('debug'), rate_limit: { burst: 'many' } })
    await expect(running.reload()).rejects.toThrow('rate_limit.burst')
    expect(running.app.log.isLevelEnabled('debug')).toBe(false)
    expect(running.lines.at(-1)).toMatchObject({ level: 'error', fields: { err: { message: /rate_limit\.burst/ } } })
  })

  test('changes the limit on requests', async () => {
    const running = await run(rate(5))
    expect((await statusesOf(running))['429']).toBeGreaterThan(0)
    running.write({ rate_limit: { enabled: false } })
    await running.reload()
    expect(await statusesOf(running)).toEqual({ 200: 20 })
  })

  test.skipIf(!loadNative())('changes the limit on requests in every front thread', async () => {
    const running = await run({ ...rate(5), server: { front_threads: 2 } })
    expect((await statusesOf(running))['429']).toBeGreaterThan(0)
    running.write({ rate_limit: { enabled: false }, server: { front_threads: 2 } })
    await running.reload()
    expect(await statusesOf(running)).toEqual({ 200: 20 })
  })
})

const order = [...keysOf(schema)].map(({ path }) => path.join('.'))
const byDeclaration = (a: string, b: string) => order.indexOf(a) - order.indexOf(b)

test('no rule concerns both live keys and keys that wait for a restart', () => {
  for (const { keys } of RULES) {
    const live = keys.map((key) => isReloadable(key.split('.')))
    expect(new Set(live).size, keys.join(', ')).toBe(1)
  }
})

/** Live keys that a start reads. reloadConfig() sets the level, and the burst is only the first content of a bucket. */
const READ_AT_START = ['observability.logging.level', 'rate_limit.burst']

test('the start of the service reads no live key, so that no part keeps an old value', async () => {
  const read = new Set<string>()
  await run({}, (config) => {
    for (const { path } of keysOf(schema)) if (isReloadable(path)) watch(config, path, () => read.add(path.join('.')))
  })
  expect([...read].filter((key) => !READ_AT_START.includes(key))).toEqual([])
})

/** Calls `onRead` at each read of a key. */
function watch(config: Config, path: readonly string[], onRead: () => void): void {
  const holder = path.slice(0, -1).reduce<object>((at, part) => at[part as keyof object] as object, config)
  const name = path.at(-1) as keyof object
  const value = holder[name]
  Object.defineProperty(holder, name, {
    enumerable: true,
    get() {
      onRead()
      return value
    },
  })
}
