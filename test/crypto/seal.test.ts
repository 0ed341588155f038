// Values that travel through a browser.
import { hkdfSync } from 'node:crypto'
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { CompactEncrypt, compactDecrypt } from 'jose'
import { describe, expect, test } from 'vitest'
import { createSealer } from '../../src/crypto/seal.ts'

const SECRET = 'a secret of 32 bytes, 0123456789'
const sealer = createSealer([SECRET])
/** The key of a purpose, by another implementation of HKDF. */
const derived = (purpose: string) => new Uint8Array(hkdfSync('sha256', SECRET, 'service', purpose, 32))

describe('sealed values', () => {
  test('a sealed value is opened unchanged', async () => {
    const value = { id: 'x', n: 1, list: ['ä'] }
    expect(await sealer.open(await sealer.seal(value))).toEqual(value)
  })

  test('a new process with the same secret opens earlier values', async () => {
    expect(await createSealer([SECRET]).open(await sealer.seal({ a: 1 }))).toEqual({ a: 1 })
  })

  test('the value is unreadable, and sealing it twice gives different texts', async () => {
    const [one, two] = [await sealer.seal({ user: 'alice' }), await sealer.seal({ user: 'alice' })]
    expect(one).not.toBe(two)
    for (const part of one.split('.')) expect(Buffer.from(part, 'base64url').toString()).not.toContain('alice')
  })

  test('a value cannot be opened with another secret', async () => {
    expect(await createSealer([`${SECRET}!`]).open(await sealer.seal({ a: 1 }))).toBeUndefined()
  })

  test('a change in any part of the text is refused', async () => {
    const sealed = await sealer.seal({ a: 1 })
    const parts = sealed.split('.')
    for (const [i, part] of parts.entries()) {
      if (part === '') continue
      const changed = (part.startsWith('A') ? 'B' : 'A') + part.slice(1)
      const text = parts.with(i, changed).join('.')
      expect(await sealer.open(text), `part ${i}`).toBeUndefined()
    }
  })

  test.each(['', 'x', 'a.b.c.d.e', '....', '{}', 'x'.repeat(5000)])('%j opens to nothing', async (text) => {
    expect(await sealer.open(text)).toBeUndefined()
  })

  test('a value that was sealed with another algorithm is refused, although the key is right', async () => {
    const key = derived('session cookie')
    const text = Buffer.from('{"a":1}')
    const right = await new CompactEncrypt(text).setProtectedHeader({ alg: 'dir', enc: 'A256GCM' }).encrypt(key)
    expect(await sealer.open(right)).toEqual({ a: 1 })
    const other = await new CompactEncrypt(text).setProtectedHeader({ alg: 'A256KW', enc: 'A256GCM' }).encrypt(key)
    await expect(compactDecrypt(other, key)).resolves.toBeDefined()
    expect(await sealer.open(other)).toBeUndefined()
  })
})

describe('MACs', () => {
  test('a MAC is 256 bits, and the same for the same purpose and text', () => {
    expect(Buffer.from(sealer.mac('csrf', 'a'), 'base64url').length).toBe(32)
    expect(createSealer([SECRET]).mac('csrf', 'a')).toBe(sealer.mac('csrf', 'a'))
  })

  test('another implementation of HKDF and HMAC computes the same MAC', () => {
    const mac = hmac(sha256, derived('mac csrf'), utf8ToBytes('a'))
    expect(sealer.mac('csrf', 'a')).toBe(Buffer.from(mac).toString('base64url'))
  })

  test('another purpose, text or secret gives another MAC', () => {
    const macs = [
      sealer.mac('csrf', 'a'),
      sealer.mac('login', 'a'),
      sealer.mac('csrf', 'b'),
      createSealer([`${SECRET}!`]).mac('csrf', 'a'),
    ]
    expect(new Set(macs).size).toBe(4)
  })
})

describe('several secrets', () => {
  const OTHER = `${SECRET}!`
  const other = createSealer([OTHER])
  const both = createSealer([OTHER, SECRET])

  test('the first secret seals and makes MACs', async () => {
    expect(await other.open(await both.seal({ a: 1 }))).toEqual({ a: 1 })
    expect(await sealer.open(await both.seal({ a: 1 }))).toBeUndefined()
    expect(both.mac('csrf', 'a')).toBe(other.mac('csrf', 'a'))
  })

  test('values of every secret are opened, and MACs of every secret are known', async () => {
    for (const each of [sealer, other]) expect(await both.open(await each.seal({ a: 1 }))).toEqual({ a: 1 })
    expect(both.macs('csrf', 'a')).toEqual([other.mac('csrf', 'a'), sealer.mac('csrf', 'a')])
  })

  test('values of a secret that was removed are not opened', async () => {
    expect(await both.open(await createSealer(['another secret']).seal({ a: 1 }))).toBeUndefined()
  })
})
