// The functions that declare configuration keys.
import { expect, test } from 'vitest'
import {
  boolKey,
  envNames,
  intKey,
  keysOf,
  recordsKey,
  secretKey,
  textKey,
  urlKey,
  wordKey,
} from '../../src/config/key.ts'
import { scopeName } from '../../src/lib/field.ts'

const port = intKey({ default: 1, min: 1, max: 9, env: ['P'] }).describe('Port.')
const tree = {
  a: { port, deep: { flag: boolKey({ default: true }).describe('Flag.') } },
  name: textKey().describe('Name.'),
}

test('keys are listed with their paths, in order of declaration', () => {
  expect([...keysOf(tree)].map(({ path }) => path.join('.'))).toEqual(['a.port', 'a.deep.flag', 'name'])
})

test('the variable of a key is derived from its path, followed by its short names', () => {
  expect(envNames(['a', 'port'], port)).toEqual(['SERVICE_A_PORT', 'SERVICE_P'])
})

test('a list of records has no variable', () => {
  expect(envNames(['resources'], recordsKey(scopeName()).describe('x'))).toEqual([])
})

test('the JSON schema has the form of a key', () => {
  expect(port).toMatchObject({ form: 'int 1 to 9', json: { type: 'integer', minimum: 1, maximum: 9 } })
  expect(wordKey({ of: ['a', 'b'], default: 'a' }).describe('x')).toMatchObject({
    form: 'a | b',
    json: { enum: ['a', 'b'] },
  })
})

test('a URL may be empty, and must be well-formed otherwise', () => {
  const key = urlKey().describe('x')
  expect(key.type.parse('')).toBe('')
  expect(key.type.safeParse('nowhere').success).toBe(false)
})

test('a secret may be empty, and must have its minimum length in bytes otherwise', () => {
  const key = secretKey({ minBytes: 4 }).describe('x')
  expect(key.secret).toBe(true)
  expect(key.type.parse('')).toBe('')
  expect(key.type.parse('éé')).toBe('éé')
  expect(key.type.safeParse('abc').error?.issues[0]?.message).toBe('must be at least 4 bytes')
})
