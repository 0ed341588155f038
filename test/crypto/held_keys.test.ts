import { generateKeyPairSync } from 'node:crypto'
import { decodeProtectedHeader, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { createHeldKeys, HELD_MS } from '../../src/crypto/held_keys.ts'
import { headerSegment } from '../../src/crypto/jws.ts'
import { openCrypto } from '../../src/crypto/pool.ts'
import { silentLog } from '../support/log.ts'

const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const localKey = (name: string) => ({ name, alg: 'ES256' as const, key: pair().privateKey })

test('a thread keeps a private key as long as it is used, and removes it ten minutes after its last use', () => {
  const held = createHeldKeys()
  const [used, retired] = [localKey('1'), localKey('2')]
  held.add([used, retired], 0)
  expect([held.find('1', HELD_MS), held.find('3', HELD_MS)]).toEqual([used, undefined])
  held.add([], HELD_MS + 1)
  expect([held.find('1', HELD_MS + 1), held.find('2', HELD_MS + 1)]).toEqual([used, undefined])
})

test('two keys with the same header segment sign with their own key each, in this thread and in others', async () => {
  const crypto = openCrypto({ threads: 2 }, silentLog)
  const header = headerSegment('JWT', 'ES256', 'the same')
  const pairs = [pair(), pair()] as const
  const sign = async (i: number) => {
    const { privateKey, publicKey } = pairs[i % 2 === 0 ? 0 : 1]
    const token = await crypto.sign({ kid: 'the same', alg: 'ES256', key: privateKey, header }, { n: i })
    expect(decodeProtectedHeader(token)).toEqual({ typ: 'JWT', alg: 'ES256', kid: 'the same' })
    expect((await jwtVerify(token, publicKey)).payload).toEqual({ n: i })
  }
  // The first ones start the threads; the later ones are signed there.
  for (let round = 0; round < 20; round++) await Promise.all(Array.from({ length: 64 }, (_, i) => sign(i)))
  expect(crypto.busyMs()).toBeGreaterThan(0)
  await crypto.close()
})
