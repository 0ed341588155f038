// quickstart, try authorize and doctor against a running service.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, closeSync, openSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { integrity } from '../../src/cli/doctor/storage.ts'
import { openSender } from '../../src/cli/send.ts'
import { tryAuthorize } from '../../src/cli/tour/authorize.ts'
import { openCallback } from '../../src/cli/tour/callback.ts'
import { programFile } from '../../src/lib/paths.ts'
import { Database } from '../../src/store/database.ts'
import { callAdmin } from '../support/admin.ts'
import { envOf, runHere } from '../support/cli.ts'
import { walk } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
let env: Record<string, string>
beforeAll(async () => {
  service = await startService()
  env = envOf(service)
})
afterAll(() => service.close())

describe('quickstart', () => {
  test.each([
    ['through the admin API', () => env],
    ['without an admin key, on the database', () => ({ ...env, SERVICE_ADMIN_API_KEY: '' })],
  ])('quickstart ends with a token of this server, also when it is repeated, %s', async (_how, variables) => {
    for (let run = 0; run < 2; run++) {
      const { code, stdout, stderr } = await runHere(['quickstart', '--json'], variables())
      expect(code, stderr).toBe(0)
      expect(JSON.parse(stdout)).toMatchObject({
        header: { typ: 'at+jwt' },
        claims: { iss: service.issuer, aud: ['https://quickstart.example.com/mcp'], scope: 'quickstart:read' },
      })
    }
  })

  test('quickstart prints commands that do the same by hand', async () => {
    const { stdout } = await runHere(['quickstart'], env)
    const commands = stdout.split('\n').filter((line) => line.startsWith('service '))
    const other = await startService()
    try {
      for (const command of commands) {
        const words = command
          .split(' ')
          .slice(1)
          .map((word) => word.replaceAll("'", ''))
        expect(await runHere(words, envOf(other))).toMatchObject({ code: 0 })
      }
      expect(await other.app.store.findResourceByName({ name: 'quickstart' })).toBeDefined()
    } finally {
      await other.close()
    }
  })

  test('the printed curl has the port of the listener, also when the issuer on localhost has another one', async () => {
    const { stdout } = await runHere(['quickstart'], { ...env, SERVICE_SERVER_ISSUER: 'http://localhost:1' })
    const [, base] = /^curl -s (\S+)\/oauth\/token /m.exec(stdout) ?? []
    expect(new URL(base ?? '').port).toBe(service.app.config.server.address.split(':').at(-1))
    expect((await fetch(`${base}/livez`)).status).toBe(200)
  })

  test('quickstart says how to start a server when none is running', async () => {
    const { code, stderr } = await runHere(['quickstart'], { ...env, SERVICE_SERVER_ADDRESS: '127.0.0.1:2' })
    expect([code, stderr]).toEqual([1, expect.stringContaining('`service serve`')])
  })
})

describe('try authorize', () => {
  test('an interrupted try authorize leaves no client', async () => {
    await runHere(['quickstart'], env)
    const child = spawn(process.execPath, [programFile('service'), 'try', 'authorize'], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    await once(child.stderr, 'data')
    expect((await callAdmin(service, 'GET', '/admin/clients/service-try')).status).toBe(200)
    child.kill('SIGINT')
    expect(await once(child, 'exit')).toEqual([1, null])
    expect((await callAdmin(service, 'GET', '/admin/clients/service-try')).status).toBe(404)
  })

  test.each([false, true])(
    'try authorize signs a user in and shows the token, with a callback on a free port; pushed requests: %s',
    async (pushed) => {
      await runHere(['quickstart'], env)
      service.app.config.oauth.require_pushed_requests = pushed
      const { email } = await addUser(service)
      const sender = openSender({ config: service.app.config, env })
      let walked: Promise<unknown> | undefined
      const answer = await tryAuthorize(service.app.config, sender, { port: 0 }, (url) => {
        walked = walk(service, url, { email }).then((callback) => fetch(callback))
      })
      await walked
      await sender.close()
      service.app.config.oauth.require_pushed_requests = false
      expect(answer).toMatchObject({
        token_type: 'Bearer',
        refresh_token: expect.any(String),
        claims: { client_id: 'service-try', scope: 'quickstart:read' },
      })
    },
  )

  test('try authorize with an unknown resource is a usage error that lists the existing resources', async () => {
    const { code, stderr } = await runHere(['try', 'authorize', '--resource', 'nope'], env)
    expect([code, stderr]).toEqual([2, expect.stringContaining('quickstart')])
  })

  test('the callback answers only at its own path, and ends after its timeout', async () => {
    const callback = await openCallback(0)
    const { origin } = new URL(callback.redirect_uri)
    expect((await fetch(`${origin}/favicon.ico`)).status).toBe(404)
    await expect(callback.answer(1)).rejects.toThrow('in time')
    callback.close()
  })
})

describe('doctor', () => {
  interface Finding {
    check: string
    result: string
    message: string
    fix?: string
  }
  const findings = async (variables: Record<string, string>, ...args: string[]) => {
    const { code, stdout } = await runHere([...args, 'doctor', '--json'], variables)
    const found = JSON.parse(stdout) as Finding[]
    return { code, of: (check: string) => found.filter((each) => each.check === check), found }
  }

  test('doctor finds no fault in a running service, and each warning has a remedy', async () => {
    const { code, of, found } = await findings(env)
    expect(code).toBe(0)
    for (const check of ['server', 'issuer', 'clock', 'keys', 'admin API', 'database', 'signing keys'])
      expect(of(check)).toMatchObject([{ result: 'ok' }])
    for (const { result, fix } of found) expect(fix === undefined).toBe(result === 'ok')
  })

  test('doctor names every invalid key of the configuration', async () => {
    const { code, of } = await findings({ ...env, SERVICE_SERVER_ISSUER: 'ftp://x' })
    expect(code).toBe(1)
    expect(of('configuration')[0]).toMatchObject({ result: 'fail', message: expect.stringContaining('server.issuer') })
  })

  test('doctor fails for an issuer that another server answers', async () => {
    const stranger = createServer((_, response) => response.end('{"issuer":"https://other.example"}')).listen(0)
    const issuer = `http://localhost:${(stranger.address() as AddressInfo).port}`
    const { code, of } = await findings({ ...env, SERVICE_SERVER_ISSUER: issuer })
    stranger.close()
    expect(code).toBe(1)
    expect(of('issuer')).toMatchObject([{ result: 'fail', message: expect.stringContaining('https://other.example') }])
  })

  test('doctor distinguishes another program at the public address, a wrong admin key and no server', async () => {
    const stranger = createServer((_, response) => response.end('hello')).listen(0)
    const address = `127.0.0.1:${(stranger.address() as AddressInfo).port}`
    expect((await findings({ ...env, SERVICE_SERVER_ADDRESS: address })).of('server')).toMatchObject([
      { result: 'fail', message: expect.stringContaining('another program') },
    ])
    stranger.close()
    expect(
      (await findings({ ...env, SERVICE_ADMIN_API_KEY: 'wrong-key-0123456789abcdef' })).of('admin API'),
    ).toMatchObject([{ result: 'fail' }])
    const nowhere = { ...env, SERVICE_SERVER_ADDRESS: '127.0.0.1:2' }
    expect((await findings(nowhere)).of('server')).toMatchObject([
      { result: 'fail', message: expect.stringContaining(`process ${process.pid} on`) },
    ])
    const before = { ...nowhere, SERVICE_STORAGE_SQLITE_PATH: path.join(tempFolder(), 'service.db') }
    expect(await findings(before)).toMatchObject({ code: 0 })
    expect((await findings(before)).of('server')).toMatchObject([
      { result: 'warn', fix: expect.stringContaining('service serve') },
    ])
    const running = await runHere(['doctor', '--running', '--json'], before)
    expect(running.code).toBe(1)
    expect(JSON.parse(running.stdout)).toContainEqual(expect.objectContaining({ check: 'server', result: 'fail' }))
  })

  test('doctor fails for a damaged database, passes for a sound one, and the check has a time limit', async () => {
    const file = path.join(tempFolder(), 'service.db')
    const db = new Database(service.app.config.storage.sqlite.path)
    db.prepare('VACUUM INTO ?').run(file)
    db.close()
    const damaged = { ...env, SERVICE_SERVER_ADDRESS: '127.0.0.1:2', SERVICE_STORAGE_SQLITE_PATH: file }
    expect((await findings(damaged)).of('integrity')).toMatchObject([{ result: 'ok' }])
    expect(await integrity(file, 1)).toMatchObject([{ result: 'warn', fix: expect.stringContaining('quick_check') }])
    const fd = openSync(file, 'r+')
    for (let at = 8192; at < statSync(file).size; at += 4096) writeSync(fd, Buffer.alloc(512, 0xff), 0, 512, at)
    closeSync(fd)
    const { code, of } = await findings(damaged)
    expect(code).toBe(1)
    expect(of('integrity')).toMatchObject([{ result: 'fail', message: expect.stringContaining('is damaged: ') }])
    writeFileSync(file, 'this is no database at all')
    expect((await findings(damaged)).of('integrity')).toMatchObject([{ result: 'fail' }])
  })

  test('doctor fails for a PostgreSQL that does not answer, without printing its password', async () => {
    const dsn = 'postgres://service:secret-password@127.0.0.1:2/service'
    const { code, of, found } = await findings({
      ...env,
      SERVICE_STORAGE_DRIVER: 'postgres',
      SERVICE_STORAGE_POSTGRES_DSN: dsn,
    })
    expect(code).toBe(1)
    expect(of('database')).toMatchObject([{ result: 'fail', message: expect.stringContaining('ECONNREFUSED') }])
    expect(JSON.stringify(found)).not.toContain('secret-password')
  })

  test('doctor warns about files that other users can read, with the command that corrects the mode', async () => {
    const file = path.join(tempFolder(), 'open.db')
    writeFileSync(file, '')
    chmodSync(file, 0o644)
    const { of } = await findings({ ...env, SERVICE_STORAGE_SQLITE_PATH: file })
    expect(of('database')).toMatchObject([{ result: 'warn', fix: `chmod go= ${file}` }])
  })

  test('doctor fails when the database path is a folder', async () => {
    const { code, of } = await findings({ ...env, SERVICE_STORAGE_SQLITE_PATH: tempFolder() })
    expect(code).toBe(1)
    expect(of('database')).toMatchObject([{ result: 'fail', fix: expect.stringContaining('storage.sqlite.path') }])
  })

  test('doctor passes a resource whose metadata names this server, and warns about any other', async () => {
    const server = createServer((_, response) =>
      response.end(JSON.stringify({ resource: uri, authorization_servers: [service.issuer] })),
    ).listen(0)
    const uri = `http://localhost:${(server.address() as AddressInfo).port}/mcp`
    const made = ['admin', 'resource', 'create', '--slug', 'described', '--uri', uri, '--backend-kind', 'mint']
    expect(await runHere(made, env)).toMatchObject({ code: 0 })
    expect((await findings(env)).of('resource described')).toMatchObject([{ result: 'ok' }])
    server.close()
    server.closeAllConnections()
    expect((await findings(env)).of('resource described')).toMatchObject([{ result: 'warn' }])
  })

  test('the text output has a line for each finding, followed by its remedy', async () => {
    const { stdout } = await runHere(['doctor'], env)
    expect(stdout).toMatch(/^ok {4}issuer: http:\/\/localhost:\d+ serves its metadata$/m)
    expect(stdout).toMatch(/^warn {2}configuration: .*\n {6}-> /m)
  })
})
