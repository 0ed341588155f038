import { expect, test } from 'vitest'
import { parseObject } from '../../src/lib/json.ts'

test('an object is read with its members, whatever is around it', () => {
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
