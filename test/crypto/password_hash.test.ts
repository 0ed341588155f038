import { hashSync, verifySync } from '@node-rs/argon2'
import { expect, test } from 'vitest'
import { argon2Parameters, hashProblem } from '../../src/crypto/password_hash.ts'

/** The algorithm by its number in the library, whose enum exists only in types. */
const ARGON2ID = 2

const phc = (parameters: string, salt = 'A'.repeat(22), sum = 'A'.repeat(43)) =>
  `$argon2id$v=19$${parameters}$${salt}$${sum}`

test.each([
  ['OWASP', { memoryCost: 19_456, timeCost: 2, parallelism: 1 }],
  ['Keycloak', { memoryCost: 7168, timeCost: 5, parallelism: 1 }],
  ['PHP', { memoryCost: 65_536, timeCost: 4, parallelism: 1 }],
  ['argon2-cffi', { memoryCost: 65_536, timeCost: 3, parallelism: 4 }],
])('accepts a hash with the parameters of %s, which verifies', (_name, { memoryCost, timeCost, parallelism }) => {
  expect(hashProblem(phc(`m=${memoryCost},t=${timeCost},p=${parallelism}`))).toBeUndefined()
  // The memory does not matter for the form.
  const hash = hashSync('secret', { algorithm: ARGON2ID, memoryCost: 64, timeCost, parallelism })
  expect([hashProblem(hash), verifySync(hash, 'secret')]).toEqual([undefined, true])
  expect(argon2Parameters(hash)).toEqual({ m: 64, t: timeCost, p: parallelism })
})

test.each([
  ['the largest memory', 'm=131072,t=4,p=1', undefined],
  ['more memory', 'm=131073,t=1,p=1', 'm at most 131072'],
  ['memory beyond any number', `m=${'9'.repeat(40)},t=1,p=1`, 'must be an argon2id hash'],
  ['many passes over little memory', 'm=512,t=1024,p=1', undefined],
  ['more passes than the memory allows', 'm=131072,t=5,p=1', 'm times t at most 524288'],
  ['many passes', 'm=8,t=9999,p=1', undefined],
  ['too many lanes', 'm=1024,t=1,p=17', 'p at most 16'],
  ['less memory than the lanes need', 'm=64,t=1,p=16', 'm at least 8 times p'],
  ['no memory', 'm=0,t=1,p=1', 'must be an argon2id hash'],
  ['no passes', 'm=64,t=0,p=1', 'must be an argon2id hash'],
  ['a negative number', 'm=-64,t=1,p=1', 'must be an argon2id hash'],
])('a hash with %s', (_what, parameters, problem) => {
  expect(hashProblem(phc(parameters))).toEqual(problem && expect.stringContaining(problem))
})

const OK = 'm=64,t=1,p=1'
const BCRYPT = `$2b$10$${'.'.repeat(53)}`
test.each([
  ['$2a$04$', undefined],
  ['$2y$14$', undefined],
  ['$2b$03$', 'must have a cost of 4 to 14'],
  ['$2b$15$', 'must have a cost of 4 to 14'],
  ['$2b$31$', 'must have a cost of 4 to 14'],
])('a bcrypt hash that begins with %s', (start, problem) => {
  expect(hashProblem(BCRYPT.replace('$2b$10$', start))).toBe(problem)
})

test.each([
  ['argon2i', phc(OK).replace('argon2id', 'argon2i')],
  ['an older version', phc(OK).replace('v=19', 'v=16')],
  ['bcrypt that is too short', '$2b$10$short'],
  ['another kind of bcrypt', BCRYPT.replace('$2b', '$2x')],
  ['scrypt', '$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E'],
  ['a digest', '5f4dcc3b5aa765d61d8327deb882cf99'],
  ['a key id', phc(OK).replace('p=1', 'p=1,keyid=Hj5+dsK0')],
  ['text after it', `${phc(OK)}$`],
  ['no text', ''],
  ['a salt of seven bytes', phc(OK, 'AAAAAAAAAA')],
  ['a salt that is no base64', phc(OK, 'A'.repeat(21))],
  ['a hash of fifteen bytes', phc(OK, undefined, 'A'.repeat(20))],
  ['a hash with stray bits', phc(OK, undefined, `${'A'.repeat(42)}B`)],
  ['a hash of 65 bytes', phc(OK, undefined, 'A'.repeat(87))],
])('refuses %s', (_what, hash) => {
  expect(hashProblem(hash)).toMatch(/^must /)
})
