// A start while PostgreSQL is away: the instance waits, answers the liveness probe, and serves when the server is there.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCli } from '../support/cli.ts'
import { tempFolder } from '../support/folder.ts'
import { placed } from '../support/instances.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'

let server: PostgresServer
let dsn: string
beforeAll(async () => {
  server = await startPostgres({ mayBeShared: false })
  dsn = await server.database()
})
afterAll(() => server.close())

const at = (more: Record<string, string> = {}) =>
  placed(tempFolder(), { SERVICE_STORAGE_DRIVER: 'postgres', SERVICE_STORAGE_POSTGRES_DSN: dsn, ...more })

test('serve waits for a server that is away, and is alive but not ready meanwhile', async () => {
  const { instance, issuer, env } = await at({ SERVICE_LOG_STDOUT: 'true' })
  await server.restart?.stop()
  const starting = instance.start()
  const probe = async (path: string) => {
    const response = await fetch(`${issuer}${path}`).catch(() => undefined)
    return [response?.status, response && ((await response.json()) as { reason?: string }).reason]
  }
  await expect.poll(() => probe('/livez')).toEqual([200, undefined])
  expect(await probe('/ready')).toEqual([503, 'the start waits for PostgreSQL'])
  expect((await probe('/oauth/token'))[0]).toBe(503)
  // It would end a process without a handler. It counts when the service is ready.
  instance.signal('SIGHUP')
  await server.restart?.start()
  await starting
  expect(await probe('/ready')).toEqual([200, undefined])
  expect(instance.text()).toContain('the start waits for PostgreSQL (storage.postgres.connect_wait)')
  await expect.poll(() => instance.text()).toContain('signing keys reloaded')
  expect(instance.errors()).toEqual([])
  await instance.kill('SIGTERM')
  expect((await runCli(['migrate', '--plan'], env)).code).toBe(0)
})

test('serve ends with the error of the server after the wait, and at once when the server refuses', async () => {
  const [short, wrong] = [await at({ SERVICE_STORAGE_POSTGRES_CONNECT_WAIT: '1s' }), await at()]
  await server.restart?.stop()
  const ended = await runCli(['serve'], short.env)
  expect([ended.code, ended.stderr]).toEqual([1, expect.stringContaining('ECONNREFUSED')])
  await server.restart?.start()
  const url = new URL(dsn)
  url.pathname = '/no_such_database'
  const refused = await runCli(['serve'], { ...wrong.env, SERVICE_STORAGE_POSTGRES_DSN: url.href })
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('no_such_database')])
  expect(refused.stdout).not.toContain('the start waits for PostgreSQL')
})
