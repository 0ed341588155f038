// Shared code of both engines: addresses and header lines.
import { describe, expect, test } from 'vitest'
import { headerLines, peerAddress, splitAddress } from '../../src/http/listener.ts'

test.each([
  [':9000', { host: '', port: 9000 }],
  ['127.0.0.1:9001', { host: '127.0.0.1', port: 9001 }],
  ['localhost:80', { host: 'localhost', port: 80 }],
  ['[::1]:9000', { host: '::1', port: 9000 }],
])('the address %s is split', (address, expected) => {
  expect(splitAddress(address)).toEqual(expected)
})

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['0000:0000:0000:0000:0000:ffff:c000:0207', '192.0.2.7'],
  ['::FFFF:C000:207', '192.0.2.7'],
  ['2001:0DB8:0000:0000:0000:0000:0000:0001', '2001:db8::1'],
  ['::1', '::1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['', ''],
])('the peer %s is written %s', (text, plain) => {
  expect(peerAddress(text)).toBe(plain)
})

describe('header lines', () => {
  const lines = (headers: Record<string, string | string[]>) => [...headerLines({ status: 200, headers, body: '' })]

  test('a list of values becomes one line for each', () => {
    expect(lines({ 'set-cookie': ['a=1', 'b=2'], x: 'y\tz' })).toEqual([
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
      ['x', 'y\tz'],
    ])
  })

  test.each(['a\r\nset-cookie: b=c', 'a\n', 'a\rb', 'a\0b', 'a\u007f', 'ä', '\u2028', '🎉'])(
    'a value with %j never reaches the wire',
    (value) => {
      expect(() => lines({ x: value })).toThrow('header x holds a character that no header may hold')
      expect(() => lines({ x: ['fine', value] })).toThrow('header x')
    },
  )

  test('the error does not repeat the invalid value', () => {
    expect(() => lines({ x: 'secret\n' })).not.toThrow('secret')
  })
})
