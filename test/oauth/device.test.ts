// User codes of devices, and the limit on guessing them.
import { expect, test } from 'vitest'
import { SharedBuckets } from '../../src/http/shared_buckets.ts'
import {
  guessKeys,
  newUserCode,
  openUserCodeLimit,
  parseUserCode,
  returnGuess,
  shownUserCode,
  takeGuess,
} from '../../src/oauth/sign_in/device.ts'
import { aloneWithBuckets } from '../support/buckets.ts'

test('a user code has eight letters without vowels, and every letter occurs', () => {
  const codes = Array.from({ length: 2000 }, newUserCode)
  for (const code of codes) expect(code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{8}$/)
  expect(new Set(codes.join('')).size).toBe(20)
  // Two of them are equal once in thirteen thousand runs.
  expect(new Set(codes).size).toBeGreaterThan(1995)
})

test.each(['BCDF-GHJK', 'bcdf-ghjk', 'BCDFGHJK', ' bcdf ghjk ', 'BCDF–GHJK'])('%j is the code BCDFGHJK', (typed) => {
  expect(parseUserCode(typed)).toBe('BCDFGHJK')
  expect(shownUserCode('BCDFGHJK')).toBe('BCDF-GHJK')
})

test.each(['', 'BCDF-GHJ', 'BCDF-GHJKL', 'BCDF-GHJA', 'BCDF-GHJY', 'BCDF_GHJK', '12345678', `BCDFGHJK\0`])(
  '%j is not a user code',
  (typed) => {
    expect(parseUserCode(typed)).toBeUndefined()
  },
)

const limited = (store = aloneWithBuckets) => ({ userCodes: openUserCodeLimit(store) })

test('ten unknown codes of a session are looked up at once, whatever its address, and known codes do not count', async () => {
  const app = limited()
  const guess = (i: number) => takeGuess(app, guessKeys('session', `192.0.2.${i}`))
  for (let i = 0; i < 50; i++) {
    expect(await guess(0)).toBe(0)
    await returnGuess(app, guessKeys('session', '192.0.2.0'))
  }
  for (let i = 1; i <= 10; i++) expect(await guess(i)).toBe(0)
  expect(await guess(11)).toBeGreaterThan(0)
})

test('ten unknown codes of an address are looked up at once, whatever the session, and a refused one uses up no session', async () => {
  const app = limited()
  for (let i = 0; i < 10; i++) expect(await takeGuess(app, guessKeys(`session ${i}`, '192.0.2.1'))).toBe(0)
  for (let i = 0; i < 20; i++) expect(await takeGuess(app, guessKeys('mine', '192.0.2.1'))).toBeGreaterThan(0)
  expect(await takeGuess(app, guessKeys('mine', '192.0.2.2'))).toBe(0)
})

test('a million guesses are refused with a bounded number of keys in memory, and few database operations', async () => {
  let asked = 0
  const takeFromBucket = async () => {
    asked++
    return 0
  }
  const store = { ...aloneWithBuckets, takeFromBucket }
  const buckets = new SharedBuckets('user code', { rate: 1 / 60, burst: 10 }, store)
  let refused = 0
  for (let i = 0; i < 1_000_000; i++) if ((await buckets.take('session of the attacker')) > 0) refused++
  expect(refused).toBeGreaterThanOrEqual(999_989)
  expect(asked).toBeLessThanOrEqual(11)
  // The memory holds 100,000 keys. A key that more recent keys displaced is no longer known here: only the database knows it.
  for (let i = 0; i < 100_000; i++) await buckets.take(`address ${i}`)
  expect(await buckets.take('session of the attacker')).toBe(0)
}, 60_000)
