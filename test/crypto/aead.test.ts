// Authenticated encryption, and texts that earlier versions encrypted. The fixtures were made by the code of commit 2bc0d02.
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { readArchive } from '../../src/cli/backup/archive.ts'
import { decrypt, encrypt, KEY_BYTES, randomNonce, TAG_BYTES } from '../../src/crypto/aead.ts'
import { aesMaster } from '../../src/crypto/at_rest.ts'
import { createSealer } from '../../src/crypto/seal.ts'
import { tempFolder } from '../support/folder.ts'

const context = { key: randomBytes(KEY_BYTES), nonce: randomNonce(), aad: Buffer.from('row 1') }
const plaintext = Buffer.from('a secret')
const sealed = encrypt(context, plaintext)

test('decryption returns the plaintext', () => {
  expect(decrypt(context, sealed)).toEqual(plaintext)
})

test('an empty text has an authentication tag', () => {
  const empty = encrypt(context, Buffer.alloc(0))
  expect(empty.length).toBe(TAG_BYTES)
  expect(decrypt(context, empty)).toEqual(Buffer.alloc(0))
})

test.each([
  ['key', { ...context, key: randomBytes(KEY_BYTES) }],
  ['nonce', { ...context, nonce: randomNonce() }],
  ['additional data', { ...context, aad: Buffer.from('row 2') }],
])('with another %s nothing is decrypted', (_name, other) => {
  expect(decrypt(other, sealed)).toBeUndefined()
})

test('a change of any byte is refused', () => {
  for (const [i, byte] of sealed.entries()) {
    const changed = Buffer.from(sealed)
    changed[i] = byte ^ 1
    expect(decrypt(context, changed), `byte ${i}`).toBeUndefined()
  }
})

test('a text without a complete tag is refused', () => {
  for (let length = 0; length < sealed.length; length++)
    expect(decrypt(context, sealed.subarray(0, length)), `${length} bytes`).toBeUndefined()
})

describe('texts that an earlier version encrypted are decrypted', () => {
  const SECRET = 'a secret of 32 bytes, 0123456789'
  const KEY = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'

  test('a cookie', async () => {
    const cookie =
      'eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..pjah-yiN_vMpKzMs.gXO5tzmyoAG0kkbQ8ZJaeGDy5iwNLjVxCcsZShs6tTQ.xw6T2WQyXBwzk7U_n5cwhA'
    expect(await createSealer([SECRET]).open(cookie)).toEqual({ user: 'ada', n: 1, name: 'Ä' })
  })

  test.each([
    [
      'broker_grant',
      'row-1',
      'aes1.RPW5-vDR.FPrACW_nQms0PYGQCi1WawQC4xoUTU6ezkhxHFsXh8v8V2yTxm1cQLB5Nkn2aJt0xglm-lYMMzZj',
      'an upstream secret: ä€😀',
    ],
    ['signing_key', 'signing-key:k', 'aes1.RPW5-vDR.BA5csVs0t6kmFtB6P6DYZpX69xmpyi5HaqGHlg', ''],
  ] as const)('a row of %s', async (purpose, row, text, expected) => {
    expect(await aesMaster(KEY).open(purpose, row, text)).toBe(expected)
  })

  test.each([
    [
      'encrypted',
      'c2VydmljZS1iYWNrdXAgMQp7ImlkIjoiQWFJRkp3Y3VjQUNxY0dha1Q5clo1dyIsImNyZWF0ZWRfYXQiOiIyMDI2LTExLTAxVDEyOjAwOjAwWiIsInZlcnNpb24iOiIwLjIuMCIsImVudHJpZXMiOlt7Im5hbWUiOiJzZXJ2aWNlLmRiIiwiYnl0ZXMiOjE1fSx7Im5hbWUiOiJrZXlzL3R3byIsImJ5dGVzIjoxNn1dLCJrZXkiOiJhZXMxLlJQVzUtdkRSLnZxa1J5WHVSMHE5YllnY3dmaUhfdmE2d2tzQ0VqU2VrS240RGlZeTZSNjRvZ2djZHFfVzV4NWlnam9tRlhXUENqaVZSdUY4dWxCOVE1ZHc1T2hPc1c0RjVPNkVKeWhBIn0KAAAAH2FgrWpM9CXQLNsaQeCQMLdW9b5PXxCR9715B6WQ8glqbkjzq1CBhHCRWKz6hMBTAAAAADgGimbc3U+krgFPOpOjLEQ=',
      aesMaster(KEY),
    ],
    [
      'in clear',
      'c2VydmljZS1iYWNrdXAgMQp7ImlkIjoiQWFJRkp3ZEdjQUNuLXc4Tm5KTUQ2ZyIsImNyZWF0ZWRfYXQiOiIyMDI2LTExLTAxVDEyOjAwOjAwWiIsInZlcnNpb24iOiIwLjIuMCIsImVudHJpZXMiOlt7Im5hbWUiOiJzZXJ2aWNlLmRiIiwiYnl0ZXMiOjE1fSx7Im5hbWUiOiJrZXlzL3R3byIsImJ5dGVzIjoxNn1dfQoAAAAfdGhlIGZpcnN0IGZpbGUKdGhlIHNlY29uZCBmaWxlCku/yW8aa7TlZQxyHGYSU2UAAAAA4vMp7Y2qXS5/9ZOaDecCTA==',
      undefined,
    ],
  ])('a backup that is %s', async (_name, base64, atRest) => {
    const file = path.join(tempFolder(), 'old.backup')
    writeFileSync(file, Buffer.from(base64, 'base64'))
    const files: Record<string, string> = {}
    await readArchive(file, { atRest, allowsClear: false }, async ({ name }, bytes) => {
      files[name] = (files[name] ?? '') + bytes.toString()
    })
    expect(files).toEqual({ 'service.db': 'the first file\n', 'keys/two': 'the second file\n' })
  })
})
