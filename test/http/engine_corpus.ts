// Raw requests as clients and proxies send them, and what the handler must see on both engines: the head as JSON, or the body.
import { get, post } from './engine_routes.ts'

const head = (headers: string) => get('/head', headers)
const sees = (headers: Record<string, string>) => ({ headers })
const chunked = (name: string, text: string) => post('/echo', `${name}\r\n`, text)
/** The bytes of a text in UTF-8, one character for each. */
const utf8 = (text: string) => Buffer.from(text).toString('latin1')
const ABC = '3\r\nabc\r\n0\r\n\r\n'

/** The request in Latin-1, one character for each byte, and what the handler sees. */
export const CORPUS: readonly [what: string, text: string, seen: string | object][] = [
  ['two Cookie lines', head('cookie: a=1\r\nCookie: b=2, 3\r\ncookie: c=4\r\n'), sees({ cookie: 'a=1; b=2, 3; c=4' })],
  ['two lines of another header', head('accept: a\r\nACCEPT: b\r\n'), sees({ accept: 'a, b' })],
  ['spaces and tabs around a value', head('x: \t a \t b \t \r\ny:z\r\n'), sees({ x: 'a \t b', y: 'z' })],
  ['an empty value', head('x:\r\ny: \r\n'), sees({ x: '', y: '' })],
  ['a value in UTF-8', head(utf8('user-agent: Büro/1 (€)\r\n')), sees({ 'user-agent': 'Büro/1 (€)' })],
  ['a value in Latin-1', head('x: a\xe4b\r\n'), sees({ x: 'a\ufffdb' })],
  ['a long value', head(`x: ${'y'.repeat(15_000)}\r\n`), sees({ x: 'y'.repeat(15_000) })],
  ['a Host with a port', 'GET /head HTTP/1.1\r\nHOST: a.example:8443\r\n\r\n', sees({ host: 'a.example:8443' })],
  ['forty headers', head(Array.from({ length: 40 }, (_, i) => `x-${i}: ${i}\r\n`).join('')), sees({ 'x-39': '39' })],
  ['an offer of h2c', head('connection: upgrade\r\nupgrade: h2c\r\n'), sees({ upgrade: 'h2c' })],
  ['Connection: close', head('connection: close\r\n'), sees({ connection: 'close' })],
  ['a GET with a length of zero', head('content-length: 0\r\n'), sees({ 'content-length': '0' })],
  ['an empty query', get('/head?'), { path: '/head', query: '' }],
  ['a query with a question mark', get('/head?a?b'), { path: '/head', query: 'a?b' }],
  ['a query with a fragment', get('/head?a#b'), { path: '/head', query: 'a#b' }],
  ['a query with quotes and brackets', get('/head?"<>|{}^`\\'), { query: '"<>|{}^`\\' }],
  ['a query that is escaped', get('/head?a=%C3%A4+%2b%'), { query: 'a=%C3%A4+%2b%' }],
  ['Transfer-Encoding: Chunked', chunked('Transfer-Encoding: Chunked', ABC), 'abc'],
  ['TRANSFER-ENCODING: CHUNKED', chunked('TRANSFER-ENCODING: CHUNKED', ABC), 'abc'],
  ['spaces around chunked', chunked('transfer-encoding:  chunked ', ABC), 'abc'],
  [
    'a chunk with a size in capitals',
    chunked('transfer-encoding: chunked', 'A\r\n0123456789\r\n0\r\n\r\n'),
    '0123456789',
  ],
  ['a chunk size with zeros', chunked('transfer-encoding: chunked', '0003\r\nabc\r\n0\r\n\r\n'), 'abc'],
  ['a trailer', chunked('transfer-encoding: chunked', '3\r\nabc\r\n0\r\nx: y\r\n\r\n'), 'abc'],
  ['a length with zeros', post('/echo', 'content-length: 003\r\n', 'abc'), 'abc'],
  ['an expectation that is not known', post('/echo', 'content-length: 3\r\nexpect: 200-ok\r\n', 'abc'), 'abc'],
]
