// backup and restore, beside a running service.
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, assert, beforeAll, expect, test } from 'vitest'
import { Database } from '../../src/store/database.ts'
import { envOf, runHere } from '../support/cli.ts'
import { post } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { addClient, startService, type TestService } from '../support/service.ts'

const KEY = 'a1'.repeat(32)
let service: TestService
let plain: Record<string, string>
let sealed: Record<string, string>
let client: { client_id: string; client_secret: string }
beforeAll(async () => {
  service = await startService()
  plain = envOf(service)
  sealed = { ...plain, SERVICE_DATA_ENCRYPTION_DRIVER: 'aes_master', SERVICE_DATA_ENCRYPTION_KEY: KEY }
  const { client_id, client_secret = '' } = await addClient(service, {
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_basic',
  })
  client = { client_id, client_secret }
})
afterAll(() => service.close())

const issue = async (origin = service.issuer) => {
  const { status, body } = await post(`${origin}/oauth/token`, client, { grant_type: 'client_credentials' })
  assert(status === 200)
  return String(body['access_token'])
}
const backup = async (env: Record<string, string>) => {
  const to = path.join(tempFolder(), 'service.backup')
  const ran = await runHere(['backup', '--to', to, '--json'], env)
  return { ...ran, to, answer: ran.code === 0 ? JSON.parse(ran.stdout) : undefined }
}
/** The same configuration on an empty machine. */
const elsewhere = (env: Record<string, string>) => {
  const folder = tempFolder()
  return {
    ...env,
    SERVICE_SERVER_ADDRESS: '127.0.0.1:2',
    SERVICE_STORAGE_SQLITE_PATH: path.join(folder, 'data', 'service.db'),
    SERVICE_SIGNING_KEY_PATH: path.join(folder, 'keys'),
  }
}
const restore = (env: Record<string, string>, from: string, ...flags: string[]) =>
  runHere(['restore', '--from', from, '--json', ...flags], env)
const rowsIn = (file: string) => {
  const db = new Database(file, { readonly: true })
  const { rows } = db.prepare('SELECT count(*) AS rows FROM issuances').get() as { rows: number }
  db.close()
  return rows
}

test('a backup that is taken under load contains every token that was answered before it began', async () => {
  const answered = [await issue(), await issue()]
  let running = true
  const load = (async () => {
    while (running) answered.push(await issue())
  })()
  const before = answered.length
  const { answer, to } = await backup(plain)
  running = false
  await load
  expect(answer).toMatchObject({ encrypted: false, keys: false })
  expect(statSync(to).mode & 0o077).toBe(0)
  const env = elsewhere(plain)
  expect(await restore(env, to)).toMatchObject({ code: 0 })
  const rows = rowsIn(env.SERVICE_STORAGE_SQLITE_PATH)
  expect(rows).toBeGreaterThanOrEqual(before)
  expect(rows).toBeLessThanOrEqual(answered.length)
})

test('with encryption at rest the backup is unreadable without the key, and contains the signing keys', async () => {
  const token = await issue()
  const { answer, to } = await backup(sealed)
  expect(answer).toMatchObject({ encrypted: true, keys: true })
  const bytes = readFileSync(to).toString('latin1')
  for (const text of [client.client_id, 'SQLite format', 'PRIVATE KEY']) expect(bytes).not.toContain(text)

  const env = elsewhere(sealed)
  expect(JSON.parse((await restore(env, to)).stdout)).toMatchObject({ keys: expect.stringContaining('restored') })
  const { SERVICE_STORAGE_SQLITE_PATH, SERVICE_SIGNING_KEY_PATH } = env
  const again = await startService({ SERVICE_STORAGE_SQLITE_PATH, SERVICE_SIGNING_KEY_PATH })
  try {
    const keys = createRemoteJWKSet(new URL(`${again.issuer}/.well-known/jwks.json`))
    await expect(jwtVerify(token, keys)).resolves.toBeDefined()
    await issue(again.issuer)
  } finally {
    await again.close()
  }
})

test('an encrypted backup can be restored only with its key', async () => {
  const { to } = await backup(sealed)
  for (const [env, message] of [
    [plain, 'encrypted'],
    [{ ...sealed, SERVICE_DATA_ENCRYPTION_KEY: 'b2'.repeat(32) }, 'sealed with the key'],
  ] as const) {
    const { code, stderr } = await restore(elsewhere(env), to)
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
  }
})

test('an unencrypted backup is refused when data_encryption is configured, unless it is allowed', async () => {
  const { to } = await backup(plain)
  const env = elsewhere(sealed)
  expect(await restore(env, to)).toMatchObject({ code: 1, stderr: expect.stringContaining('--allow-unencrypted') })
  expect(existsSync(env.SERVICE_STORAGE_SQLITE_PATH)).toBe(false)
  expect(await restore(env, to, '--allow-unencrypted')).toMatchObject({ code: 0 })
  expect(rowsIn(env.SERVICE_STORAGE_SQLITE_PATH)).toBeGreaterThan(0)
})

test.each([
  ['in clear', () => plain],
  ['encrypted', () => sealed],
])(
  'a backup %s that was changed anywhere, cut or added to is refused, and nothing is put in place',
  async (_how, of) => {
    const { to } = await backup(of())
    const whole = readFileSync(to)
    const flipped = (at: number) => {
      const bytes = Buffer.from(whole)
      bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
      return bytes
    }
    const places = [3, 30, whole.indexOf('\n', 20) + 2, whole.length - 1]
    for (let i = 0; i < 20; i++) places.push(Math.floor(Math.random() * whole.length))
    const added = Buffer.concat([whole, Buffer.from('x')])
    for (const bytes of [...places.map(flipped), whole.subarray(0, -21), whole.subarray(0, 5000), added]) {
      const file = path.join(tempFolder(), 'changed')
      writeFileSync(file, bytes)
      const env = elsewhere(of())
      expect((await restore(env, file)).code).toBe(1)
      expect(existsSync(env.SERVICE_STORAGE_SQLITE_PATH)).toBe(false)
    }
  },
)

test('an existing database is moved aside only with --force, and existing keys stay', async () => {
  const { to } = await backup(sealed)
  const env = elsewhere(sealed)
  await restore(env, to)
  expect(await restore(env, to)).toMatchObject({ code: 2, stderr: expect.stringContaining('--force') })
  const { code, stdout } = await restore(env, to, '--force')
  const { before, keys } = JSON.parse(stdout)
  expect([code, keys]).toEqual([0, expect.stringContaining('stays as it is')])
  expect(rowsIn(before)).toBe(rowsIn(env.SERVICE_STORAGE_SQLITE_PATH))
})

test('restore is refused while a server runs', async () => {
  const { to } = await backup(plain)
  const { code, stderr } = await restore(plain, to, '--force')
  expect([code, stderr]).toEqual([2, expect.stringContaining('stop it first')])
})

test('a backup of a newer version is refused', async () => {
  const { app } = service
  const newer = path.join(tempFolder(), 'newer.db')
  writeFileSync(newer, '')
  rmSync(newer)
  const from = new Database(app.config.storage.sqlite.path)
  from.prepare('VACUUM INTO ?').run(newer)
  from.close()
  const db = new Database(newer)
  db.prepare("UPDATE schema_support SET oldest = '9.1.0'").run()
  db.close()
  const { to } = await backup({ ...plain, SERVICE_STORAGE_SQLITE_PATH: newer })
  expect(await restore(elsewhere(plain), to)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the database works with version 9.1.0 and later'),
  })
})

test.each([
  ['an existing file', (folder: string) => ['backup', '--to', folder]],
  ['a file that is not there', (folder: string) => ['restore', '--from', path.join(folder, 'none')]],
])('%s is a usage error', async (_what, args) => {
  expect((await runHere(args(tempFolder()), elsewhere(plain))).code).toBe(2)
})
