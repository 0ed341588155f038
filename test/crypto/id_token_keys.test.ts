// The second kind of keys: made when the first ID token needs one, rotated and revoked beside the signing keys, in every key store.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { withIdTokenKeys } from '../../src/crypto/id_token_keys.ts'
import type { KeySource } from '../../src/crypto/key_source.ts'
import { ID_TOKEN_FOLDER, keyfileStore } from '../../src/crypto/keyfile.ts'
import { openKeyring } from '../../src/crypto/keyring.ts'
import { storedKeys } from '../../src/crypto/stored_keys.ts'
import { transitKeys } from '../../src/crypto/transit/keys.ts'
import { createFetcher } from '../../src/net/fetch.ts'
import type { Alg } from '../../src/records/jwk.ts'
import { testClock } from '../support/clock.ts'
import { silentLog } from '../support/log.ts'
import { failureOf } from '../support/thrown.ts'
import { ROOT, startTransit } from '../support/transit_server.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'id-token-keys-'))
afterAll(() => rmSync(folder, { recursive: true }))
let count = 0

const clock = testClock()
const log = silentLog
const parts = { longestLife: 3600, clock, log }

function keyfiles(at = path.join(folder, `${++count}`)) {
  const open = (alg: Alg) => {
    const signing = storedKeys({ ...parts, alg, store: keyfileStore(at) })
    const source = withIdTokenKeys({
      signing,
      open: (other, mayMakeFirst) =>
        storedKeys({ ...parts, alg: other, mayMakeFirst, store: keyfileStore(path.join(at, ID_TOKEN_FOLDER)) }),
      log,
    })
    return openKeyring({ source, clock })
  }
  return { at, open }
}
const shown = (ring: Awaited<ReturnType<typeof openKeyring>>) =>
  ring
    .published()
    .map(({ alg, next, isIdToken, retired_at }) => [
      alg,
      isIdToken ? 'id_token' : 'token',
      next ? 'next' : retired_at === undefined ? 'current' : 'previous',
    ])

test('a key of ID tokens is made when it is needed, and not for the algorithm of the signing key', async () => {
  const { at, open } = keyfiles()
  const ring = await open('ES256')
  expect((await ring.idTokenKey('ES256')).kid).toBe(ring.current().kid)
  expect(readdirSync(at)).not.toContain(ID_TOKEN_FOLDER)
  const [one, two] = await Promise.all([ring.idTokenKey('RS256'), ring.idTokenKey('RS256')])
  expect([one.kid, one.alg]).toEqual([two.kid, 'RS256'])
  expect(shown(ring)).toEqual([
    ['ES256', 'token', 'current'],
    ['ES256', 'token', 'next'],
    ['RS256', 'id_token', 'current'],
    ['RS256', 'id_token', 'next'],
  ])
  expect((await (await open('ES256')).idTokenKey('RS256')).kid).toBe(one.kid)
})

test('a rotation rotates both keys, and current_kid is that of access tokens', async () => {
  const ring = await keyfiles().open('ES256')
  const before = await ring.idTokenKey('RS256')
  const { current_kid, previous_kid } = await ring.rotate()
  expect(current_kid).toBe(ring.current().kid)
  expect(ring.find(previous_kid)?.isIdToken).toBeUndefined()
  expect((await ring.idTokenKey('RS256')).kid).not.toBe(before.kid)
  expect(ring.find(before.kid)).toMatchObject({ isIdToken: true, remove_at: expect.any(Number) })
})

test('either key can be revoked, and the other one stays', async () => {
  const ring = await keyfiles().open('ES256')
  const [own, other] = [ring.current(), await ring.idTokenKey('RS256')]
  expect(await ring.revoke(other.kid)).toEqual({ current_kid: own.kid })
  expect(ring.find(other.kid)).toBeUndefined()
  const fresh = await ring.idTokenKey('RS256')
  await ring.revoke(own.kid)
  expect(ring.current().kid).not.toBe(own.kid)
  expect((await ring.idTokenKey('RS256')).kid).toBe(fresh.kid)
  expect(await ring.revoke('unknown')).toBeUndefined()
})

test('after signing.algorithm changed, both algorithms can be signed before and after the rotation', async () => {
  const { open } = keyfiles()
  await (await open('ES256')).idTokenKey('RS256')
  const ring = await open('RS256')
  for (const rotate of [false, true]) {
    if (rotate) await ring.rotate()
    for (const alg of ['RS256', 'ES256'] as const) expect((await ring.idTokenKey(alg)).alg).toBe(alg)
  }
  expect(ring.current().alg).toBe('RS256')
})

test('keys of ID tokens that cannot be read stop no start, and an ID token that needs them gets 503', async () => {
  const signing = storedKeys({ ...parts, alg: 'ES256', store: keyfileStore(path.join(folder, `${++count}`)) })
  const broken = { load: () => Promise.reject(new Error('refused')) } as unknown as KeySource
  const ring = await openKeyring({ source: withIdTokenKeys({ signing, open: () => broken, log }), clock })
  expect(shown(ring)).toHaveLength(2)
  expect(await failureOf(ring.idTokenKey('RS256'))).toMatchObject({
    code: 'temporarily_unavailable',
    reason: 'id_token_key',
  })
  expect((await ring.idTokenKey('ES256')).kid).toBe(ring.current().kid)
})

test('a service that is no OpenID provider makes none', async () => {
  const source = storedKeys({ ...parts, alg: 'ES256', store: keyfileStore(path.join(folder, `${++count}`)) })
  const ring = await openKeyring({ source, clock })
  expect(await failureOf(ring.idTokenKey('RS256'))).toMatchObject({ reason: 'id_token_key' })
})

test('in a transit engine it is a key of its own, made when it is needed', async () => {
  const server = await startTransit({ now: clock.now })
  try {
    const access = {
      setting: 'signing.secretstore_transit',
      address: server.address,
      credentials: { token: ROOT },
      timeout: 5,
    }
    const open = (name: string, alg: Alg, mayMakeFirst = async () => true) => {
      const ahead = { isSet: async () => false, set: async () => {} }
      return transitKeys(
        { access, mount: 'transit', name, alg, longestLife: 3600, ahead, mayMakeFirst },
        { fetcher: createFetcher({ allowPrivate: true, userAgent: 'service-test' }), clock, log },
      )
    }
    const source = withIdTokenKeys({
      signing: open('service-signing', 'ES256'),
      open: (alg, mayMake) => open('service-signing-id-token', alg, mayMake),
      log,
    })
    const ring = await openKeyring({ source, clock })
    expect(ring.published().map(({ alg }) => alg)).toEqual(['ES256', 'ES256'])
    expect(await ring.idTokenKey('RS256')).toMatchObject({ alg: 'RS256', kid: 'service-signing-id-token-v1' })
    expect(ring.current().kid).toBe('service-signing-v1')
    await ring.rotate()
    expect((await ring.idTokenKey('RS256')).kid).toBe('service-signing-id-token-v2')
    ring.close()
  } finally {
    await server.close()
  }
})
