import { expect, test } from 'vitest'
import { CLOCK_SKEW, isTime, timeFaultOf } from '../../src/crypto/jwt_times.ts'

const NOW = 1_800_000_000
const SKEW = CLOCK_SKEW.assertion
const rules = { now: NOW, life: 300 }

test.each([
  [{ exp: NOW + 300 + SKEW }],
  [{ exp: NOW - SKEW + 1 }],
  [{ exp: NOW + 1, iat: NOW + SKEW, nbf: NOW + SKEW }],
  [{ exp: NOW + 0.5, iat: NOW - 0.5 }],
])('the times %j are right', (claims) => {
  expect(timeFaultOf(claims, rules)).toBeUndefined()
})

test.each([
  [{}, 'exp', 'missing'],
  [{ exp: String(NOW + 1) }, 'exp', 'no_time'],
  [{ exp: Number.POSITIVE_INFINITY }, 'exp', 'no_time'],
  [{ exp: NOW - SKEW }, 'exp', 'expired'],
  [{ exp: NOW + 301 + SKEW }, 'exp', 'far'],
  [{ exp: NOW + 1, iat: NOW + SKEW + 1 }, 'iat', 'future'],
  [{ exp: NOW + 1, iat: null }, 'iat', 'no_time'],
  [{ exp: NOW + 1, nbf: NOW + SKEW + 1 }, 'nbf', 'future'],
  [{ exp: NOW + 1, nbf: '0' }, 'nbf', 'no_time'],
])('the times %j have the fault: %s is %s', (claims, claim, fault) => {
  expect(timeFaultOf(claims, rules)).toEqual({ claim, fault })
})

test('a token that must not have expired has no tolerance at its end, and keeps it at its beginning', () => {
  expect(timeFaultOf({ exp: NOW }, { ...rules, expiredFor: 0 })).toEqual({ claim: 'exp', fault: 'expired' })
  expect(timeFaultOf({ exp: NOW + 1, nbf: NOW + SKEW }, { ...rules, expiredFor: 0 })).toBeUndefined()
})

test('a token with a maximum age must have a beginning, and be younger', () => {
  const aged = { ...rules, maxAge: 100 }
  expect(timeFaultOf({ exp: NOW + 1 }, aged)).toEqual({ claim: 'iat', fault: 'no_time' })
  expect(timeFaultOf({ exp: NOW + 1, iat: NOW - 101 }, aged)).toEqual({ claim: 'iat', fault: 'old' })
  expect(timeFaultOf({ exp: NOW + 1, iat: NOW - 100 }, aged)).toBeUndefined()
})

test('a number that JSON cannot express is no time', () => {
  expect(JSON.parse('[1e999, 1]').map(isTime)).toEqual([false, true])
})
