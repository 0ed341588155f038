// One server for a SQLite file; commands in the wrong folder; missing keys.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { decodeProtectedHeader } from 'jose'
import { expect, test } from 'vitest'
import { runCli } from '../support/cli.ts'
import { machineToken } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { freePort } from '../support/free_port.ts'
import { placed } from '../support/instances.ts'
import { pause } from '../support/wire.ts'
import { newMachine } from '../torture/scene.ts'

/** The same database and keys with listeners of its own. */
const beside = async ({ env }: { env: Record<string, string> }) => {
  const [port, adminPort] = [await freePort(), await freePort()]
  return {
    ...env,
    SERVICE_SERVER_ISSUER: `http://localhost:${port}`,
    SERVICE_SERVER_ADDRESS: `127.0.0.1:${port}`,
    SERVICE_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
  }
}

test('a second serve on one SQLite file is refused with the name of the first, which continues', async () => {
  const folder = tempFolder()
  const at = await placed(folder)
  await at.instance.start()
  const client = await newMachine(at.admin, ['client_credentials'])
  const alias = path.join(tempFolder(), 'alias')
  symlinkSync(folder, alias)
  for (const data of [folder, alias]) {
    const env = { ...(await beside(at)), SERVICE_STORAGE_SQLITE_PATH: path.join(data, 'service.db') }
    const { code, stderr } = await runCli(['serve'], env)
    expect(code).toBe(1)
    expect(stderr).toContain(`process ${at.instance.pid()} `)
    expect(stderr).toContain(`127.0.0.1:${at.port}`)
  }
  expect((await machineToken(at, client)).status).toBe(200)
  await at.instance.kill('SIGTERM')
})

test.each(['SIGTERM', 'SIGKILL'] as const)('the lock is gone with its process, after %s', async (signal) => {
  const at = await placed(tempFolder(), { SERVICE_SERVER_FRONT_THREADS: '2' })
  await at.instance.start()
  await at.instance.kill(signal)
  await at.instance.start()
  await at.instance.kill('SIGTERM')
})

test('serve --wait starts when the other server has ended', async () => {
  const folder = tempFolder()
  const first = await placed(folder)
  await first.instance.start()
  const second = await placed(folder)
  const started = second.instance.start(['--wait'])
  while (!second.instance.text().includes('waiting')) await pause(20)
  expect(second.instance.text()).toContain(`process ${first.instance.pid()} `)
  await first.instance.kill('SIGTERM')
  await started
  const client = await newMachine(second.admin, ['client_credentials'])
  expect((await machineToken(second, client)).status).toBe(200)
  await second.instance.kill('SIGTERM')
})

test('commands work beside the server; restore is refused, also when the server listens elsewhere', async () => {
  const folder = tempFolder()
  const at = await placed(folder, {
    SERVICE_DATA_ENCRYPTION_DRIVER: 'aes_master',
    SERVICE_DATA_ENCRYPTION_KEY: 'a1'.repeat(32),
  })
  await at.instance.start()
  const env = await beside(at)
  const to = path.join(tempFolder(), 'service.backup')
  const user = [
    'admin',
    'user',
    'create',
    '--email',
    'a@example.com',
    '--name',
    'A',
    '--password',
    'correct horse battery staple',
  ]
  for (const words of [['migrate'], ['purge'], ['rekey'], ['backup', '--to', to], user, ['admin', 'key', 'list']]) {
    const { code, stderr } = await runCli(words, env)
    expect([words[0], code, stderr.replace(/^\w+\.\w+: .*\n/gm, '')]).toEqual([words[0], 0, ''])
  }
  const { code, stderr } = await runCli(['restore', '--from', to, '--force'], env)
  expect([code, stderr]).toEqual([2, expect.stringContaining(`process ${at.instance.pid()} `)])
  await at.instance.kill('SIGTERM')
  expect((await runCli(['restore', '--from', to, '--force'], env)).code).toBe(0)
})

const inEmptyFolder = async () => {
  const folder = mkdtempSync(path.join(tempFolder(), 'empty-'))
  const { env } = await placed(path.join(folder, 'data'))
  const encrypted = { SERVICE_DATA_ENCRYPTION_DRIVER: 'aes_master', SERVICE_DATA_ENCRYPTION_KEY: 'a1'.repeat(32) }
  return { folder, env: { ...env, ...encrypted }, database: path.join(folder, 'data', 'service.db') }
}
const PASSWORD = ['--name', 'Root', '--password', 'correct horse battery staple']

test.each([
  'admin client list',
  'admin key rotate',
  'admin user create --email a@example.com --name A --password correct-horse-battery',
  'admin export',
  'purge',
  'rekey',
  'backup --to copy.backup',
])('%s makes no database and no key where there is none', async (words) => {
  const { folder, env, database } = await inEmptyFolder()
  const { code, stderr } = await runCli(words.split(' ').filter(Boolean), env)
  expect([code, stderr]).toEqual([1, `error: no database at ${database}: is the server running, is --config right?\n`])
  expect(readdirSync(folder)).toEqual([])
})

test('an empty file, or a database of another program, is refused', async () => {
  const { env, database } = await inEmptyFolder()
  mkdirSync(path.dirname(database))
  writeFileSync(database, '')
  expect(await runCli(['purge'], env)).toMatchObject({ code: 1, stderr: expect.stringContaining('no database at') })
})

test('creating the first administrator creates the database and names it; commands after migrate create no key', async () => {
  const { folder, env, database } = await inEmptyFolder()
  const create = ['admin', 'user', 'create', '--email', 'root@example.com', '--role', 'admin', ...PASSWORD]
  expect(await runCli(create, env)).toMatchObject({ code: 0, stderr: `created the database at ${database}\n` })
  rmSync(path.join(folder, 'data'), { recursive: true })
  expect((await runCli(['migrate'], env)).code).toBe(0)
  expect((await runCli(['admin', 'client', 'list'], env)).code).toBe(0)
  for (const word of ['rotate', 'list'])
    expect(await runCli(['admin', 'key', word], env)).toMatchObject({
      code: 1,
      stderr: `error: no signing key in ${path.join(folder, 'data', 'keys')}: is the server running, is --config right?\n`,
    })
  expect(await runCli(['backup', '--to', path.join(folder, 'copy.backup')], env)).toMatchObject({
    code: 1,
    stderr: `error: no signing key in ${path.join(folder, 'data', 'keys')}: is --config right?\n`,
  })
  expect(existsSync(path.join(folder, 'data', 'keys'))).toBe(false)
})

test('an empty key folder beside a database with live tokens does not start, except with --new-keys', async () => {
  const folder = tempFolder()
  const at = await placed(folder)
  await at.instance.start()
  const client = await newMachine(at.admin, ['client_credentials'])
  const token = (await machineToken(at, client)).body['access_token'] as string
  await at.instance.kill('SIGTERM')
  const keys = path.join(folder, 'keys')
  renameSync(keys, `${keys}.away`)
  mkdirSync(keys, { mode: 0o700 })
  const { kid } = decodeProtectedHeader(token)
  const { code, stderr } = await runCli(['serve'], at.env)
  expect(code).toBe(1)
  expect(stderr).toContain(`no signing key in ${keys}, but live tokens in the database were signed with ${kid}`)
  expect(stderr).toContain('--new-keys')
  expect(readdirSync(keys)).toEqual([])
  const examined = await runCli(['doctor', '--json'], at.env)
  expect(examined.code).toBe(1)
  expect(JSON.parse(examined.stdout)).toContainEqual(
    expect.objectContaining({
      check: 'signing keys',
      result: 'fail',
      message: expect.stringContaining(`no signing key in ${keys}, but live tokens`),
    }),
  )
  await at.instance.start(['--new-keys'])
  expect(at.instance.text()).toContain(`live tokens in the database were signed with ${kid}`)
  expect((await machineToken(at, client)).status).toBe(200)
  await at.instance.kill('SIGTERM')
})
