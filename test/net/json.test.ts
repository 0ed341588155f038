// What counts as a JSON object from a peer.
import { expect, test } from 'vitest'
import { jsonObjectOf } from '../../src/net/json.ts'

const read = (type: string | undefined, body: string | Buffer) =>
  jsonObjectOf({ status: 200, headers: { 'content-type': type }, body: Buffer.from(body) })

test.each([
  'application/json',
  'application/json; charset=utf-8',
  'Application/JSON ;x=y',
  'application/jwk-set+json',
  'application/client-id+json',
])('the content type %s is accepted', (type) => {
  expect(read(type, '{"a":1}')).toEqual({ a: 1 })
})

test.each([
  undefined,
  '',
  'text/html',
  'text/json',
  'text/plain',
  'application/jsonp',
  'application/json-seq',
  'application/json, text/html',
  'x application/json',
])('the content type %s is refused', (type) => {
  expect(read(type, '{"a":1}')).toBeUndefined()
})

test.each(['', '{', '[]', 'null', '"text"', '1', '{"a":1} x', '<html>'])(
  'the body %j is refused, because it is not a JSON object',
  (body) => {
    expect(read('application/json', body)).toBeUndefined()
  },
)

test('bytes that are not UTF-8 are refused', () => {
  expect(read('application/json', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toBeUndefined()
})
