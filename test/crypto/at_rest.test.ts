// Encryption at rest with a master key.
import { createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ConfigError, loadConfig } from '../../src/config/load.ts'
import { aesMaster, openAtRest } from '../../src/crypto/at_rest.ts'

const newKey = () => randomBytes(32).toString('hex')
const KEY = newKey()
const atRest = aesMaster(KEY)

describe('aes_master', () => {
  test.each(['', 'a', 'ä€😀', 'x'.repeat(10_000)])('a text comes back as it was', async (text) => {
    expect(await atRest.open('broker_grant', 'row-1', await atRest.seal('broker_grant', 'row-1', text))).toBe(text)
  })

  test('a new process with the same key decrypts earlier texts', async () => {
    const sealed = await atRest.seal('signing_key', 'k', 'secret')
    expect(await aesMaster(KEY.toUpperCase()).open('signing_key', 'k', sealed)).toBe('secret')
  })

  test('the derived keys equal those of another implementation of HKDF', async () => {
    const derived = (use: string, bytes: number) =>
      Buffer.from(hkdfSync('sha256', Buffer.from(KEY, 'hex'), 'service at rest', use, bytes))
    const [, id, text = ''] = (await atRest.seal('broker_grant', 'row-1', 'secret')).split('.')
    expect(id).toBe(derived('key id', Buffer.from(id ?? '', 'base64url').length).toString('base64url'))
    const bytes = Buffer.from(text, 'base64url')
    const decipher = createDecipheriv('aes-256-gcm', derived('purpose broker_grant', 32), bytes.subarray(0, 12))
      .setAAD(Buffer.from('["broker_grant","row-1"]'))
      .setAuthTag(bytes.subarray(-16))
    expect(decipher.update(bytes.subarray(12, -16), undefined, 'utf8') + decipher.final('utf8')).toBe('secret')
  })

  test('encrypting a text twice gives different results, and neither contains the text', async () => {
    const [one, two] = [
      await atRest.seal('broker_grant', 'r', 'in clear'),
      await atRest.seal('broker_grant', 'r', 'in clear'),
    ]
    expect(one).not.toBe(two)
    expect(Buffer.from(one.split('.')[2] as string, 'base64url').toString('latin1')).not.toContain('in clear')
  })

  test('a text that was copied to another row, or is read for another purpose, is refused', async () => {
    const sealed = await atRest.seal('broker_grant', 'row-1', 'secret')
    await expect(atRest.open('broker_grant', 'row-2', sealed)).rejects.toThrow('row-2: the sealed text was changed')
    await expect(atRest.open('signing_key', 'row-1', sealed)).rejects.toThrow('belongs to another row')
  })

  test('a text with a changed, removed or added byte is refused', async () => {
    const sealed = await atRest.seal('broker_grant', 'r', 'secret')
    const [version, id, text = ''] = sealed.split('.')
    const bytes = Buffer.from(text, 'base64url')
    const forgeries = [bytes.subarray(1), bytes.subarray(0, -1), Buffer.concat([bytes, Buffer.from([0])])]
    for (const i of bytes.keys()) forgeries.push(Buffer.from(bytes.map((byte, at) => (at === i ? byte ^ 1 : byte))))
    for (const forged of forgeries)
      await expect(
        atRest.open('broker_grant', 'r', `${version}.${id}.${forged.toString('base64url')}`),
      ).rejects.toThrow('was changed')
  })

  test.each(['', 'secret', 'aes1', 'aes1.x.y', 'aes2.AAAAAAAA.AAAA', 'vault:v1:abc'])('%j is refused', async (text) => {
    await expect(atRest.open('broker_grant', 'r', text)).rejects.toThrow('not a text that aes_master has sealed')
  })
})

describe('rotation of the master key', () => {
  const next = newKey()
  const rotated = aesMaster(next, KEY)

  test('the old key decrypts its texts, and the new key encrypts', async () => {
    const old = await atRest.seal('broker_grant', 'r', 'secret')
    expect(await rotated.open('broker_grant', 'r', old)).toBe('secret')
    const sealed = await rotated.seal('broker_grant', 'r', 'secret')
    expect(await aesMaster(next).open('broker_grant', 'r', sealed)).toBe('secret')
    expect([rotated.isCurrent(old), rotated.isCurrent(sealed), rotated.isCurrent('')]).toEqual([false, true, false])
  })

  test('without the old key its texts are refused with the id of the missing key, which reveals nothing about the key', async () => {
    const old = await atRest.seal('broker_grant', 'r', 'secret')
    const error = await aesMaster(next).open('broker_grant', 'r', old).then(String, String)
    expect(error).toContain(old.split('.')[1])
    expect(error).toContain('old_key_env')
    for (const key of [KEY, next]) expect(error).not.toContain(key)
  })
})

describe('configuration', () => {
  const load = (env: Record<string, string>) =>
    loadConfig(undefined, { SERVICE_DATA_ENCRYPTION_DRIVER: 'aes_master', ...env }).config
  const secret = (text: string) => ({ SERVICE_DATA_ENCRYPTION_KEY: text })

  test.each([
    ['no key', {}],
    ['a short key', secret(KEY.slice(1))],
    ['a key that is not hex', secret(`g${KEY.slice(1)}`)],
    ['an old key that is not hex', { ...secret(KEY), SERVICE_DATA_OLD_KEY: 'x'.repeat(64) }],
    ['an old key that is the key', { ...secret(KEY), SERVICE_DATA_OLD_KEY: KEY.toUpperCase() }],
  ])('%s is refused at boot, and not echoed', (_, env) => {
    let refused: unknown
    try {
      load(env)
    } catch (error) {
      refused = error
    }
    expect(refused).toBeInstanceOf(ConfigError)
    expect(String(refused)).toMatch(/key_env must name a variable that contains 64 hex characters/)
    for (const value of Object.values(env)) expect(String(refused)).not.toContain(value)
  })

  test('the variables with the keys can have other names', async () => {
    const env = { SERVICE_DATA_ENCRYPTION_KEY_ENV: 'MY_KEY', MY_KEY: KEY }
    const opened = await openAtRest(load(env), env)
    expect(await opened?.open('broker_grant', 'r', await atRest.seal('broker_grant', 'r', 'x'))).toBe('x')
  })

  test('without a driver there is no encryption', async () => {
    expect(await openAtRest(loadConfig(undefined, {}).config, {})).toBeUndefined()
  })
})
