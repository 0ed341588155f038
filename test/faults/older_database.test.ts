// A database of an older version: which commands migrate it.
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { expect, test } from 'vitest'
import { Database, openDatabase } from '../../src/store/database.ts'
import { migrateSqlite, readMigrations } from '../../src/store/schema/migrate.ts'
import { runCli } from '../support/cli.ts'
import { tempFolder } from '../support/folder.ts'
import { placed } from '../support/instances.ts'

/** The last migration of version 0.2.0. */
const LAST = 22

async function olderOne() {
  const folder = tempFolder()
  const at = await placed(folder)
  const file = path.join(folder, 'service.db')
  const db = openDatabase(file, true)
  migrateSqlite(
    db,
    1,
    readMigrations('sqlite').filter(({ version }) => version <= LAST),
  )
  db.close()
  return { ...at, folder, file }
}

/** The newest migration that a database has. */
function newestOf(file: string): unknown {
  const db = new Database(file, { readonly: true })
  try {
    return db.prepare('SELECT max(version) FROM schema_migrations').pluck().get()
  } finally {
    db.close()
  }
}

test('only migrate and serve migrate an older database; other commands name it and exit with 1', async () => {
  const { env, file } = await olderOne()
  const sealed = {
    ...env,
    SERVICE_DATA_ENCRYPTION_DRIVER: 'aes_master',
    SERVICE_DATA_ENCRYPTION_KEY: 'a1'.repeat(32),
  }
  const admin = 'admin user create --email a@example.com --name A --role admin --password correct-horse-battery'
  for (const words of ['admin client list', 'admin key list', 'purge', 'rekey', admin])
    expect([words, await runCli(words.split(' '), sealed), newestOf(file)]).toEqual([
      words,
      {
        code: 1,
        stdout: '',
        stderr: `error: the database at ${file} is of an older version: run \`service migrate\`, or start the server\n`,
      },
      LAST,
    ])
  expect((await runCli(['migrate'], env)).code).toBe(0)
  expect(newestOf(file)).toBeGreaterThan(LAST)
  expect((await runCli(['admin', 'client', 'list'], env)).code).toBe(0)
})

test.each([
  ['the public', [], 'SERVICE_SERVER_ADDRESS'],
  ['the admin', [], 'SERVICE_ADMIN_ADDRESS'],
  ['the public', ['--wait'], 'SERVICE_SERVER_ADDRESS'],
])('when %s address is in use, serve %j does not migrate the database', async (_which, flags, setting) => {
  const { env, file, folder, instance } = await olderOne()
  const address = (env as Record<string, string>)[setting] as string
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(Number(address.split(':')[1]), '127.0.0.1', resolve))
  const { code, stderr } = await runCli(['serve', ...flags], env)
  expect([code, newestOf(file)]).toEqual([1, LAST])
  expect(stderr).toContain(address)
  expect(existsSync(path.join(folder, 'keys'))).toBe(false)
  await new Promise((resolve) => taken.close(resolve))
  await instance.start()
  expect(newestOf(file)).toBeGreaterThan(LAST)
  await instance.kill('SIGTERM')
})

test('migrate --plan shows what is pending and changes nothing; --contract waits until no server uses the file', async () => {
  const { env, file, instance } = await olderOne()
  const plan = await runCli(['migrate', '--plan'], env)
  expect([plan.code, newestOf(file)]).toEqual([0, LAST])
  expect(plan.stdout).toContain(
    'migration=041_client_secrets\nkind=contract\napplied_by=serve\nlocks=the whole file\nolder_instances=an older instance reads',
  )
  await instance.start()
  expect(await runCli(['migrate', '--contract'], env)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is in use by service serve'),
  })
  await instance.kill('SIGTERM')
  expect(await runCli(['migrate', '--contract', '--json'], env)).toMatchObject({ code: 0, stdout: '{"applied":[]}\n' })
  expect((await runCli(['migrate', '--force'], env)).code).toBe(2)
})

test('migrate --plan creates no database', async () => {
  const { env } = await placed(path.join(tempFolder(), 'new'))
  const { code, stdout } = await runCli(['migrate', '--plan', '--json'], env)
  expect([code, (JSON.parse(stdout) as unknown[]).length]).toEqual([0, readMigrations('sqlite').length])
  expect(existsSync(env['SERVICE_STORAGE_SQLITE_PATH'] as string)).toBe(false)
})

test('doctor in another folder names the files that it looked for, and creates none', async () => {
  const folder = path.join(tempFolder(), 'elsewhere')
  mkdirSync(folder)
  const { env } = await placed(folder)
  const relative = (file: string) => path.relative(process.cwd(), path.join(folder, file))
  const { code, stdout } = await runCli(['doctor', '--json'], {
    ...env,
    SERVICE_STORAGE_SQLITE_PATH: relative('service.db'),
    SERVICE_SIGNING_KEY_PATH: relative('keys'),
  })
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        check: 'database',
        result: 'warn',
        message: `${path.join(folder, 'service.db')} does not exist yet`,
      }),
      expect.objectContaining({
        check: 'signing keys',
        message: `${path.join(folder, 'keys')} is created at the first start`,
      }),
    ]),
  )
  expect(readdirSync(folder)).toEqual([])
})
