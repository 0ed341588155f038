// A missing data key of the transit engine, or another key name, does not cause a new key when the database has encrypted values.
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { Database } from '../../src/store/database.ts'
import { runCli } from '../support/cli.ts'
import { tempFolder } from '../support/folder.ts'
import { placed } from '../support/instances.ts'
import { ROOT, startTransit, type TransitServer } from '../support/transit_server.ts'

const stores: TransitServer[] = []
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
})

async function setUp(more: Record<string, string> = {}) {
  const store = await startTransit()
  stores.push(store)
  const folder = tempFolder()
  const at = await placed(folder, {
    SERVICE_DATA_ENCRYPTION_DRIVER: 'secretstore_transit_encrypt',
    SERVICE_DATA_ENCRYPTION_VAULT_ADDRESS: store.address,
    SERVICE_DATA_ENCRYPTION_VAULT_AUTH_METHOD: 'token',
    SERVICE_DATA_ENCRYPTION_VAULT_TOKEN_ENV: 'BAO_TOKEN',
    BAO_TOKEN: ROOT,
    ...more,
  })
  const names = () => [...store.engine.keys.keys()]
  return { store, folder, at, names }
}
/** A connection whose credential is encrypted with this key. */
function addSealed(file: string): void {
  const db = new Database(file)
  db.prepare(
    'INSERT INTO broker_grants (id, user_id, broker_provider_id, credential, scopes_granted, version, created_at, updated_at) VALUES (?, ?, ?, ?, ?, 1, 1, 1)',
  ).run(Buffer.from(newId(), 'base64url'), 'u', 'p', 'vault:v1:c2VhbGVk', '')
  db.close()
}

test.each(['1', '2'])('the key is created by the first start, with %s front threads', async (threads) => {
  const { at, names } = await setUp({ SERVICE_SERVER_FRONT_THREADS: threads })
  await at.instance.start()
  expect(names()).toEqual(['service-data'])
  await at.instance.kill('SIGTERM')
})

test('serve and commands refuse to start beside encrypted values without their key; --new-keys creates one', async () => {
  const { store, folder, at, names } = await setUp()
  await at.instance.start()
  await at.instance.kill('SIGTERM')
  const archive = path.join(folder, 'service.backup')
  expect((await runCli(['backup', '--to', archive], at.env)).code).toBe(0)
  addSealed(path.join(folder, 'service.db'))
  const { host } = new URL(store.address)
  const missing = `data_encryption.secretstore_transit_encrypt: ${host}: there is no key transit/service-data`
  store.engine.keys.delete('service-data')
  for (const words of [
    ['rekey'],
    ['backup', '--to', path.join(folder, 'second.backup')],
    ['restore', '--from', archive, '--force'],
    ['admin', 'client', 'list'],
  ]) {
    const { code, stderr } = await runCli(words, at.env)
    expect([words[0], code, stderr]).toEqual([
      words[0],
      1,
      `error: ${missing}: is the server running, is --config right?\n`,
    ])
  }
  const { code, stderr } = await runCli(['serve'], at.env)
  expect([code, stderr]).toEqual([1, expect.stringContaining(`${missing}, but the database has sealed values`)])
  expect(stderr).toContain('--new-keys')
  expect(names()).toEqual([])
  await at.instance.start(['--new-keys'])
  expect(names()).toEqual(['service-data'])
  await at.instance.kill('SIGTERM')
})

test('a wrong key_name does not create a second key', async () => {
  const { folder, at, names } = await setUp()
  await at.instance.start()
  await at.instance.kill('SIGTERM')
  addSealed(path.join(folder, 'service.db'))
  const env = { ...at.env, SERVICE_DATA_ENCRYPTION_VAULT_KEY_NAME: 'service-date' }
  expect(await runCli(['serve'], env)).toMatchObject({ code: 1, stderr: expect.stringContaining('service-date') })
  expect(names()).toEqual(['service-data'])
})
