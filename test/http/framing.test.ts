// Requests that are refused because two parsers could interpret them differently.
import { describe, expect, test } from 'vitest'
import { framingFault, hasBody, statesNoLength } from '../../src/http/framing.ts'
import type { RequestHead } from '../../src/http/message.ts'
import { head } from '../support/head.ts'

const post = (headers: Record<string, string | undefined>, more: Partial<RequestHead> = {}) =>
  head({ method: 'POST', ...more, headers })

describe('refused requests', () => {
  const faults: [string, RequestHead, string][] = [
    ...['host', 'content-length', 'transfer-encoding', 'authorization', 'dpop', 'content-type'].map(
      (name): [string, RequestHead, string] => [
        `a second ${name} header`,
        post({ 'content-length': '1' }, { repeated: [name] }),
        'repeated_header',
      ],
    ),
    ...['', 'G T', 'GET\u0000', 'GÉT'].map((method): [string, RequestHead, string] => [
      `the method "${method}"`,
      head({ method }),
      'bad_method',
    ]),
    ...['/ä', '/a\u007f', '/a\ufffd'].map((path): [string, RequestHead, string] => [
      `the path "${path}"`,
      head({ path }),
      'bad_target',
    ]),
    ['a query with a letter beyond ASCII', head({ query: 'state=ä' }), 'bad_target'],
    ['no Host', head({ headers: { host: undefined } }), 'missing_host'],
    ['an empty Host', head({ headers: { host: '' } }), 'missing_host'],
    ...['', '+5', '-1', '0x5', '5, 5', '5 ', '1e3', '12345678901', '٥'].map((length): [string, RequestHead, string] => [
      `a Content-Length of "${length}"`,
      post({ 'content-length': length }),
      'bad_content_length',
    ]),
    ...['', 'identity', 'gzip, chunked', 'xchunked', 'chunked, chunked'].map(
      (encoding): [string, RequestHead, string] => [
        `a Transfer-Encoding of "${encoding}"`,
        post({ 'transfer-encoding': encoding }),
        'bad_transfer_encoding',
      ],
    ),
    [
      'Content-Length beside Transfer-Encoding',
      post({ 'content-length': '5', 'transfer-encoding': 'chunked' }),
      'two_lengths',
    ],
    ...['GET', 'HEAD', 'OPTIONS'].flatMap((method): [string, RequestHead, string][] => [
      [`a ${method} with a Content-Length`, head({ method, headers: { 'content-length': '1' } }), 'unexpected_body'],
      [`a chunked ${method}`, head({ method, headers: { 'transfer-encoding': 'chunked' } }), 'unexpected_body'],
    ]),
    [
      'a head of more than 16 KiB',
      head({ query: 'x'.repeat(8192), headers: { x: 'y'.repeat(8192) } }),
      'head_too_large',
    ],
    ...['websocket', 'h2c, websocket', 'TLS/1.0'].map((upgrade): [string, RequestHead, string] => [
      `an upgrade to ${upgrade}`,
      head({ headers: { upgrade } }),
      'upgrade',
    ]),
  ]

  test.each(faults)('%s', (_what, bad, reason) => {
    expect(framingFault(bad)?.reason).toBe(reason)
  })

  test('a large head is 431, every other framing error 400', () => {
    expect(framingFault(head({ query: 'x'.repeat(17_000) }))?.status).toBe(431)
    expect(framingFault(head({ method: '' }))?.status).toBe(400)
  })
})

describe('accepted requests', () => {
  test.each([
    ['a GET', head(), false],
    ['a GET whose body has no bytes', head({ headers: { 'content-length': '0' } }), false],
    ['a HEAD', head({ method: 'HEAD' }), false],
    ...['TRACE', 'QUERY', 'FOO', 'get'].map((method): [string, RequestHead, boolean] => [
      `a ${method}, which the router refuses`,
      head({ method }),
      false,
    ]),
    ['a DELETE that says nothing about a body', head({ method: 'DELETE' }), false],
    ['a DELETE with a length', head({ method: 'DELETE', headers: { 'content-length': '5' } }), true],
    ['a POST with a length', post({ 'content-length': '5' }), true],
    ['a POST without a length', head({ method: 'POST' }), false],
    ['a POST with nothing in it', post({ 'content-length': '0' }), false],
    ['a chunked POST', post({ 'transfer-encoding': 'chunked' }), true],
    ['a POST that is Chunked', post({ 'transfer-encoding': 'Chunked' }), true],
    ['a client that offers h2c', head({ headers: { upgrade: 'h2c' } }), false],
    ['cookies in two headers', head({ repeated: ['cookie'] }), false],
  ])('%s', (_what, good, body) => {
    expect(framingFault(good)).toBeUndefined()
    expect(hasBody(good)).toBe(body)
  })
})

test.each([
  ['POST', {}, true],
  ['PUT', {}, true],
  ['PATCH', {}, true],
  ['POST', { 'content-length': '0' }, false],
  ['POST', { 'transfer-encoding': 'chunked' }, false],
  ['DELETE', {}, false],
  ['GET', {}, false],
])('a %s with %j states no length: %s', (method, headers, expected) => {
  expect(statesNoLength(head({ method, headers }))).toBe(expected)
})
