import { expect, test } from 'vitest'
import { parseObject } from '../../src/lib/json.ts'

test('an object is parsed with its members, and surrounding white space is ignored', () => {
  expect(parseObject(Buffer.from(' {"a":["ж"]}\n'))).toEqual({ a: ['ж'] })
})

test.each([
  ['a list', Buffer.from('[{}]')],
  ['null', Buffer.from('null')],
  ['a text', Buffer.from('"{}"')],
  ['two objects', Buffer.from('{}{}')],
  ['nothing', Buffer.alloc(0)],
  ['bytes that are no UTF-8', Buffer.from('{"a":"\u00ff"}', 'latin1')],
])('%s is no object', (_, bytes) => {
  expect(parseObject(bytes)).toBeUndefined()
})

test('an object with more than 64 levels is refused, and brackets inside a text are no levels', () => {
  const nested = (depth: number) => Buffer.from(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`)
  expect(parseObject(nested(63))).toBeDefined()
  expect(parseObject(nested(64))).toBeUndefined()
  expect(parseObject(nested(500_000))).toBeUndefined()
  const brackets = `"\\${'[{'.repeat(100)}\\\\`
  expect(parseObject(Buffer.from(JSON.stringify({ brackets, after: [[1]] })))).toEqual({ brackets, after: [[1]] })
})
