// argon2id without the native library: the same hashes, and a service that starts and logs it.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { hashSync, verifySync } from '@node-rs/argon2'
import { describe, expect, test } from 'vitest'
import { openArgon2id } from '../../src/crypto/argon2id.ts'
import { tempFolder } from '../support/folder.ts'
import { placed } from '../support/instances.ts'
import { operate } from '../torture/scene.ts'

const plain = openArgon2id(() => {
  throw new Error('no build of this platform')
})
const native = openArgon2id()

test('the native library is used where it loads', () => {
  expect(native.fault).toBeUndefined()
  expect(plain.fault).toBe('no build of this platform')
})

describe('in JavaScript', () => {
  test('the native library accepts a hash, and only for its password', () => {
    const phc = plain.hash('correct horse')
    expect(phc).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
    expect([verifySync(phc, 'correct horse'), verifySync(phc, 'Correct horse')]).toEqual([true, false])
    expect(plain.hash('correct horse')).not.toBe(phc)
  })

  test.each([
    { memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 },
    { memoryCost: 1024, timeCost: 3, parallelism: 4, outputLen: 16 },
    { memoryCost: 64, timeCost: 1, parallelism: 1, outputLen: 64 },
  ])('a hash of the native library with %o is accepted, and only for its password', (parameters) => {
    const phc = hashSync('pässword', { algorithm: 2, ...parameters })
    expect([plain.verify(phc, 'pässword'), plain.verify(phc, 'password')]).toEqual([true, false])
  })

  test.each(['', 'x', '$argon2id$v=19$m=19456,t=2,p=1$', '$2b$10$abcdefghijklmnopqrstuv'])(
    'against %j every password is wrong',
    (phc) => {
      expect(plain.verify(phc, 'pass')).toBe(false)
    },
  )
})

test('a service for which no build loads starts, hashes and compares passwords, and logs it once', async () => {
  const folder = tempFolder()
  const hook = path.join(folder, 'hook.cjs')
  // As on a platform without a build.
  writeFileSync(
    hook,
    `const m = require('node:module'), load = m._load
     m._load = function (name, ...rest) {
       if (name === '@node-rs/argon2') throw new Error('Cannot find native binding')
       return load.call(this, name, ...rest)
     }`,
  )
  const at = await placed(folder, { NODE_OPTIONS: `--require ${hook}` })
  await at.instance.start()
  for (const name of ['ada', 'bob'])
    await operate(at.admin, 'POST', 'users', { email: `${name}@example.com`, password: 'correct horse battery' })
  const said = at.instance
    .text()
    .split('\n')
    .filter((line) => line.includes('no build of @node-rs/argon2 loads here'))
  expect(said).toEqual([expect.stringContaining('Cannot find native binding')])
  await at.instance.kill('SIGTERM')
})
