// Encryption at rest in a transit engine: purpose and row of an encrypted text, refused starts, an outage.
import { afterEach, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { openAtRest } from '../../src/crypto/at_rest.ts'
import type { AtRest } from '../../src/crypto/encryption.ts'
import { OAuthError } from '../../src/lib/error.ts'
import { createFetcher } from '../../src/net/fetch.ts'
import { testClock } from '../support/clock.ts'
import { silentLog } from '../support/log.ts'
import { failureOf } from '../support/thrown.ts'
import { ROOT, startTransit, type TransitServer } from '../support/transit_server.ts'

const stores: TransitServer[] = []
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
})

async function setUp(prepare: (store: TransitServer) => unknown = () => {}, more: Record<string, string> = {}) {
  const clock = testClock()
  const store = await startTransit({ now: clock.now })
  stores.push(store)
  prepare(store)
  const env = {
    SERVICE_DATA_ENCRYPTION_DRIVER: 'secretstore_transit_encrypt',
    SERVICE_DATA_ENCRYPTION_VAULT_ADDRESS: store.address,
    SERVICE_DATA_ENCRYPTION_VAULT_AUTH_METHOD: 'token',
    SERVICE_DATA_ENCRYPTION_VAULT_TOKEN_ENV: 'BAO_TOKEN',
    BAO_TOKEN: ROOT,
    ...more,
  }
  const transit = { fetcher: createFetcher({ allowPrivate: true, userAgent: 'service-test' }), clock, log: silentLog }
  const open = (mayMake = true) =>
    openAtRest(loadConfig(undefined, env).config, env, { transit, mayMakeKey: async () => mayMake }) as Promise<AtRest>
  return { clock, store, open }
}

describe('an encrypted text', () => {
  test('a text is decrypted for its purpose and row, whatever it contains', async () => {
    const { store, open } = await setUp()
    const atRest = await open()
    expect(store.engine.keys.get('service-data')?.type).toBe('aes256-gcm96')
    for (const text of ['', 'ünïcödé', 'x'.repeat(100_000)]) {
      const sealed = await atRest.seal('broker_grant', 'row-1', text)
      expect(sealed).toMatch(/^vault:v1:/)
      expect(await atRest.open('broker_grant', 'row-1', sealed)).toBe(text)
    }
  })

  test('a text is refused for another purpose or row, and when it was changed', async () => {
    const { open } = await setUp()
    const atRest = await open()
    const sealed = await atRest.seal('broker_grant', 'row-1', 'secret')
    const flipped = sealed.slice(0, -6) + (sealed.at(-6) === 'A' ? 'B' : 'A') + sealed.slice(-5)
    for (const [purpose, row, text] of [
      ['signing_key', 'row-1', sealed],
      ['broker_grant', 'row-2', sealed],
      ['broker_grant', 'row-1', flipped],
      ['broker_grant', 'row-1', 'aes1.abcdefgh.whatever'],
    ] as const) {
      const error = await failureOf(atRest.open(purpose, row, text))
      expect(error?.message).toMatch(new RegExp(`^${row}: `))
      expect(error).not.toBeInstanceOf(OAuthError)
    }
  })

  test('a text of an older key version is decrypted, and is not current', async () => {
    const { store, open } = await setUp()
    const before = await open()
    const old = await before.seal('signing_key', 'k', 'secret')
    expect(before.isCurrent(old)).toBe(true)
    store.engine.handle('POST', 'keys/service-data/rotate', {})
    const sealed = await before.seal('signing_key', 'k', 'secret')
    for (const atRest of [before, await open()]) {
      expect([atRest.isCurrent(old), atRest.isCurrent(sealed)]).toEqual([false, true])
      expect(await atRest.open('signing_key', 'k', old)).toBe('secret')
    }
  })
})

describe('a start refuses', () => {
  test.each<[string, (store: TransitServer) => unknown, Record<string, string>, RegExp]>([
    ['a sealed store', (s) => Object.assign(s, { fault: 'sealed' }), {}, /503 \(Vault is sealed\)/],
    ['a wrong token', () => {}, { BAO_TOKEN: 'wrong-token' }, /transit\/keys\/service-data: 403/],
    [
      'a key that signs',
      (s) => void s.engine.handle('POST', 'keys/service-data', { type: 'ecdsa-p256' }),
      {},
      /of type ecdsa-p256, but aes256-gcm96 is needed/,
    ],
    [
      'an engine that does not bind a text to its row',
      (s) => Object.assign(s.engine, { ignoresAssociatedData: true }),
      {},
      /ignores associated_data/,
    ],
  ])('%s, and the error states that', async (_, prepare, more, say) => {
    const { open } = await setUp(prepare, more)
    const error = await failureOf(open())
    expect(error?.message).toMatch(/^data_encryption\.secretstore_transit_encrypt: 127\.0\.0\.1:\d+: /)
    expect(error?.message).toMatch(say)
    expect(error?.message).not.toContain('wrong-token')
  })
})

test('a missing key is created only if that is allowed', async () => {
  const { store, open } = await setUp()
  expect((await failureOf(open(false)))?.message).toMatch(
    /: there is no key transit\/service-data: is the server running/,
  )
  expect([...store.engine.keys.keys()]).toEqual([])
  await open()
  await open(false)
})

test('the AppRole credentials are read from the named variables', async () => {
  const { store, open } = await setUp(undefined, {
    SERVICE_DATA_ENCRYPTION_VAULT_AUTH_METHOD: 'approle',
    SERVICE_DATA_ENCRYPTION_VAULT_ROLE_ID_ENV: 'BAO_ROLE',
    SERVICE_DATA_ENCRYPTION_VAULT_SECRET_ID_ENV: 'BAO_SECRET',
    BAO_ROLE: 'role-1',
    BAO_SECRET: 'secret-of-role-1',
  })
  await open()
  expect(store.count('POST auth/approle/login')).toBe(1)
})

test('while the store is unavailable encryption and decryption are 503 with Retry-After, and both recover automatically', async () => {
  const { clock, store, open } = await setUp()
  const atRest = await open()
  const sealed = await atRest.seal('broker_grant', 'r', 'secret')
  store.fault = 'cut'
  const works = [() => atRest.seal('broker_grant', 'r', 'x'), () => atRest.open('broker_grant', 'r', sealed)]
  for (const work of [...works, ...works, ...works, ...works]) {
    const { status, more } = (await failureOf(work())) as OAuthError
    expect([status, more.headers]).toEqual([503, { 'retry-after': '1' }])
  }
  store.fault = undefined
  clock.advance(1)
  expect(await atRest.open('broker_grant', 'r', sealed)).toBe('secret')
})
