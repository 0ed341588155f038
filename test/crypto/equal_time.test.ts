// The time of the answer to a password: the same for every kind of hash.
import { afterAll, expect, test } from 'vitest'
import { VerificationTimes } from '../../src/crypto/equal_time.ts'
import { exampleOf, hashProblem, kindOfHash } from '../../src/crypto/password_hash.ts'
import { openPasswords } from '../../src/crypto/passwords.ts'
import { silentLog } from '../support/log.ts'

const passwords = openPasswords(silentLog)
afterAll(() => passwords.close())

test('a step is twice the slowest of the kinds that are stored, and every answer is at the end of a step', () => {
  const times = new VerificationTimes()
  const kinds = ['argon2id 19456 2']
  expect(times.answerAt(17, kinds)).toBe(17)
  times.set('argon2id 19456 2', [20])
  expect([1, 40, 41].map((ms) => times.answerAt(ms, kinds))).toEqual([40, 40, 80])
  // One verification on a busy machine does not make all others slow.
  times.set('bcrypt 12', [200, 5000, 190])
  expect([20, 400, 401].map((ms) => times.answerAt(ms, [...kinds, 'bcrypt 12']))).toEqual([400, 400, 800])
  expect(times.answerAt(20, kinds)).toBe(40)
})

test.each(['bcrypt 04', 'bcrypt 14', 'argon2id 65536 4', 'argon2id 19456 2'])(
  'the example of %s is an acceptable hash of this kind',
  (kind) => {
    expect([kindOfHash(exampleOf(kind)), hashProblem(exampleOf(kind))]).toEqual([kind, undefined])
  },
)

test('the beginning of a hash is sufficient for its kind', () => {
  expect(kindOfHash('$2b$12$')).toBe('bcrypt 12')
  expect(kindOfHash(exampleOf('argon2id 131072 4').slice(0, 30))).toBe('argon2id 131072 4')
  expect(kindOfHash('$2b$')).toBe(undefined)
})

test('U72 an unknown user is answered as late as one with an imported bcrypt hash', { timeout: 120_000 }, async () => {
  const timeOf = async (hash: string | undefined) => {
    const startedMs = performance.now()
    expect((await passwords.verifyPassword('wrong', hash, ['bcrypt 10'])).right).toBe(false)
    return performance.now() - startedMs
  }
  await timeOf(undefined)
  const times = { bcrypt: 0, unknown: 0 }
  for (let i = 0; i < 3; i++) {
    times.bcrypt += await timeOf(exampleOf('bcrypt 10'))
    times.unknown += await timeOf(undefined)
  }
  // Without the wait it is about a fifth.
  expect(times.unknown / times.bcrypt).toBeGreaterThan(0.4)
})
