// Parsing requests and building replies.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  cookieOf,
  empty,
  htmlReply,
  json,
  parseCookies,
  parseForm,
  parseJson,
  parseParams,
  prefersHtml,
  redirect,
} from '../../src/http/message.ts'
import { head, request } from '../support/head.ts'
import { refusalOf } from '../support/thrown.ts'

describe('parameters', () => {
  test.each([
    ['', {}],
    ['a=1&b=2', { a: '1', b: '2' }],
    ['a=x+y%20z', { a: 'x y z' }],
    ['a=%C3%A4%F0%9F%8E%89', { a: 'ä🎉' }],
    ['a%3Db=1', { 'a=b': '1' }],
    ['a=b=c', { a: 'b=c' }],
    ['&&a=1&', { a: '1' }],
    ['a=1&a=1&a=1', { a: '1' }],
    ['a=1&%61=%31', { a: '1' }],
    ['a=&a=1', { a: '1' }],
    ['a=1&a=', { a: '1' }],
    ['a&b=&a=1&a', { a: '1', b: undefined }],
    ['resource=https://a&resource=https%3A%2F%2Fa&resource=', { resource: 'https://a' }],
    ['__proto__=1&constructor=2', { ['__proto__']: '1', constructor: '2' }],
  ])('%j is read', (text, expected) => {
    expect(Object.entries(parseParams(text))).toEqual(Object.entries(expected))
  })

  test.each(['a', 'a=', 'a=&b=1'])('a parameter without a value counts as absent: %j', (text) => {
    expect(parseParams(text).a).toBeUndefined()
  })

  test('names of inherited properties have no value', () => {
    expect(parseParams('a=1').toString).toBeUndefined()
    expect(parseParams('').constructor).toBeUndefined()
  })

  test.each([
    ['a=1&a=2', 'invalid_request', 'repeated_param'],
    ['a=1&a=1&a=2', 'invalid_request', 'repeated_param'],
    ['a=&a=1&a=2', 'invalid_request', 'repeated_param'],
    ['a=A&a=a', 'invalid_request', 'repeated_param'],
    ['a=1&a=+1', 'invalid_request', 'repeated_param'],
    ['a=1&%61=2', 'invalid_request', 'repeated_param'],
    ['resource=https://a&resource=https://b', 'invalid_target', 'repeated_resource'],
    ['resource=https://b&resource=https://b/', 'invalid_target', 'repeated_resource'],
    ['a=%', 'invalid_request', 'bad_encoding'],
    ['a=%4', 'invalid_request', 'bad_encoding'],
    ['a=%zz', 'invalid_request', 'bad_encoding'],
    ['a=100%', 'invalid_request', 'bad_encoding'],
    ['%=1', 'invalid_request', 'bad_encoding'],
    ['a=%FF', 'invalid_request', 'bad_encoding'],
    ['a=%C3', 'invalid_request', 'bad_encoding'],
    ['a=%ED%A0%80', 'invalid_request', 'bad_encoding'],
    ['a=%C0%80', 'invalid_request', 'bad_encoding'],
    ['a=%00', 'invalid_request', 'bad_encoding'],
    ['a=x\0y', 'invalid_request', 'bad_encoding'],
    ['a%00=1', 'invalid_request', 'bad_encoding'],
    [Array.from({ length: 201 }, (_, i) => `p${i}=1`).join('&'), 'invalid_request', 'too_many_params'],
  ])('refuses %j with %s (%s)', async (text, code, reason) => {
    const error = await refusalOf(() => parseParams(text))
    expect([error.code, error.reason]).toEqual([code, reason])
  })

  test('a body that is not UTF-8 is refused', async () => {
    const error = await refusalOf(() => parseForm(request(Buffer.from([0x61, 0x3d, 0xff]))))
    expect(error.reason).toBe('bad_encoding')
  })

  test('the values of a group of checkboxes are joined by spaces, and other repeated names are refused', async () => {
    expect(parseForm(request('scope=a&scope=b&c=1'), 'scope')).toEqual({ scope: 'a b', c: '1' })
    expect(parseForm(request('scope=&scope=a&scope=a&scope='), 'scope')).toEqual({ scope: 'a' })
    expect((await refusalOf(() => parseForm(request('scope=a&c=1&c=2'), 'scope'))).reason).toBe('repeated_param')
    expect((await refusalOf(() => parseForm(request('scope=a&scope=b')))).reason).toBe('repeated_param')
  })

  test('text written by URLSearchParams is parsed to the same values', () => {
    const value = fc.string({ unit: 'binary', minLength: 1 }).filter((text) => !/[\0\ud800-\udfff]/.test(text))
    fc.assert(
      fc.property(fc.dictionary(value, value, { maxKeys: 10 }), (params) => {
        expect({ ...parseParams(new URLSearchParams(params).toString()) }).toEqual({ ...params })
      }),
    )
  })

  test('any text is parsed or refused with invalid_request', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '=', '&', '%', '+', '0', '\0', 'é') }), (text) => {
        try {
          parseParams(text)
        } catch (error) {
          expect(error).toHaveProperty('code', 'invalid_request')
        }
      }),
    )
  })
})

describe('JSON bodies', () => {
  test('the members of an object are read', () => {
    expect(parseJson(request('{"a":[1,{"b":null}]}'))).toEqual({ a: [1, { b: null }] })
  })

  test.each(['', 'null', '[]', '"a"', '1', '{', '{"a":1,}', "{'a':1}", '\ufeff{}x'])('refuses %j', async (body) => {
    const error = await refusalOf(() => parseJson(request(body)))
    expect([error.code, error.reason]).toEqual(['invalid_request', 'bad_json'])
  })

  test('a JSON body that is not UTF-8 is refused', async () => {
    const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')])
    expect((await refusalOf(() => parseJson(request(body)))).reason).toBe('bad_json')
  })
})

describe('cookies', () => {
  const cookies = (cookie?: string) => parseCookies(head({ headers: { cookie } }))
  const one = (cookie: string, name = 'a') => cookieOf(head({ headers: { cookie } }), name)

  test('cookies are read by name, also from joined headers', () => {
    expect(cookies('a=1; b=2;c=x=y')).toEqual([
      ['a', '1'],
      ['b', '2'],
      ['c', 'x=y'],
    ])
    expect([one('a=1;\tb = 2 ', 'b'), one('a=1', 'b')]).toEqual(['2', undefined])
  })

  test.each([
    'c=1, a=2',
    'c=1,a=2',
    'c="1,a=2,b"',
    '\u00a0a=2',
    'a\u00a0=2',
    '\u2000a=2',
    'a\u3000=2',
    '\ufeffa=2',
    'A=2',
  ])('a cookie has no other name than the one that a browser sees (%j)', (cookie) =>
    expect([one(cookie), one(`c=1; ${cookie}; d=3`)]).toEqual([undefined, undefined]),
  )

  test.each(['a=1; a=2', 'a=1; b=2; a=1', 'a=1;a=2'])(
    'two cookies of one name are refused (%j), which does not concern others',
    async (text) => {
      expect(await refusalOf(() => one(text))).toMatchObject({ code: 'invalid_request', reason: 'repeated_cookie' })
      expect(one(`${text}; c=3`, 'c')).toBe('3')
    },
  )

  test.each([undefined, '', ';', '=x', 'novalue', ' ; =; '])('nothing is read from %j', (cookie) => {
    expect(cookies(cookie)).toEqual([])
  })
})

test.each([
  ['text/html,application/xhtml+xml,*/*;q=0.8', true],
  ['text/html, application/json', true],
  ['application/json, text/html', false],
  ['application/problem+json, text/html', false],
  ['application/json', false],
  ['*/*', false],
  [undefined, false],
])('a caller that accepts %s would rather see a page: %s', (accept, expected) => {
  expect(prefersHtml(head({ headers: { accept } }))).toBe(expected)
})

describe('replies', () => {
  test('a redirect is a 303 with no-store', () => {
    expect(redirect('https://client.example/cb?code=1')).toEqual({
      status: 303,
      headers: { location: 'https://client.example/cb?code=1', 'cache-control': 'no-store' },
      body: '',
    })
  })

  test('the target of a redirect cannot contain the end of a header line, and is otherwise unchanged', () => {
    const location = (url: string) => redirect(url).headers.location
    expect(location('https://a.example/cb?x=1\r\nset-cookie: a=b')).toBe(
      'https://a.example/cb?x=1%0D%0Aset-cookie:%20a=b',
    )
    expect(location('https://a.example/ä\ud800🎉')).toBe('https://a.example/%C3%A4%F0%9F%8E%89')
    expect(location('https://a.example/?a=%20&b="c"')).toBe('https://a.example/?a=%20&b="c"')
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (url) => {
        expect(location(url)).toMatch(/^[\x21-\x7e]*$/)
      }),
    )
  })

  test('JSON, pages and empty answers have their content type and further headers', () => {
    expect(json(200, { a: 1 }, { x: 'y' })).toEqual({
      status: 200,
      headers: { 'content-type': 'application/json', x: 'y' },
      body: '{"a":1}',
    })
    expect(htmlReply(200, '<p>').headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
    })
    expect(empty(204)).toEqual({ status: 204, headers: {}, body: '' })
  })
})
