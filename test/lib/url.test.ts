// What counts as a URL, as this machine, and as the same place.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isHttpUrl, isLocalhost, isLoopbackHost, normalisedUrl, parseHttpUrl } from '../../src/lib/url.ts'

test.each([
  'http://localhost:9000',
  'https://auth.example.com',
  'HTTPS://auth.example.com/a?b=c#d',
  'http://127.0.0.1:8080/x',
  'http://[::1]:8080/',
  'https://user@example.com/',
])('%s is an http URL', (text) => {
  expect(isHttpUrl(text)).toBe(true)
})

test.each([
  '',
  'example.com',
  '/path',
  '//example.com',
  'ftp://example.com',
  'javascript:alert(1)',
  'http:example.com',
  'http:/example.com',
  'http://',
  'http:///example.com',
  'https:////example.com',
  'http://exa mple.com',
  ' http://example.com',
  'http://example.com ',
  'http://example.com/a\tb',
  'http://example.com/a\nb',
  'http://example.com/\u0000',
  'http://example.com/\u007f',
  'http:\\\\example.com',
  'http://example.com\\@evil.example',
  'http://example.com:99999',
  'http://[::1',
])('refuses %j, which a parser would repair or which is no http URL', (text) => {
  expect(isHttpUrl(text)).toBe(false)
  expect(parseHttpUrl(text)).toBeUndefined()
})

test('this machine has three names, and no other', () => {
  for (const name of ['localhost', '127.0.0.1', '[::1]']) expect(isLoopbackHost(name), name).toBe(true)
  for (const name of ['localhost.example.com', '127.0.0.2', '0.0.0.0', '::1', 'LOCALHOST', 'localhost.', ''])
    expect(isLoopbackHost(name), name).toBe(false)
})

test.each([
  ['http://localhost:9000', true],
  ['https://LOCALHOST', true],
  ['http://127.0.0.1', true],
  ['http://[::1]:9000', true],
  ['https://auth.example.com', false],
  ['https://localhost.example.com', false],
  ['https://localhost@example.com', false],
  ['not a url', false],
])('development rules apply to %s: %s', (issuer, expected) => {
  expect(isLocalhost(issuer)).toBe(expected)
})

describe('normalisation (RFC 3986 §6.2.2, §6.2.3)', () => {
  test.each([
    ['http://Example.COM/a', 'http://example.com/a'],
    ['HTTP://example.com:80/a', 'http://example.com/a'],
    ['https://example.com:443', 'https://example.com/'],
    ['https://example.com:80/a', 'https://example.com:80/a'],
    ['http://example.com:9000/oauth/token', 'http://example.com:9000/oauth/token'],
    ['http://example.com/a/./b/../c', 'http://example.com/a/c'],
    ['http://example.com/../../a', 'http://example.com/a'],
    ['http://example.com/%6Fauth/tok%65n', 'http://example.com/oauth/token'],
    ['http://example.com/%7euser', 'http://example.com/~user'],
    ['http://example.com/a%2fb', 'http://example.com/a%2Fb'],
    ['http://example.com/%e4', 'http://example.com/%E4'],
    ['http://example.com/ä', 'http://example.com/%C3%A4'],
    ['http://example.com/%2541', 'http://example.com/%2541'],
    ['http://example.com/a?b=c#d', 'http://example.com/a'],
    ['http://example.com/%2e%2E/a', 'http://example.com/a'],
    ['http://[::0001]:80/a', 'http://[::1]/a'],
  ])('%s is %s', (text, expected) => {
    expect(normalisedUrl(text)).toBe(expected)
  })

  test.each([
    'http://user@example.com/',
    'http://user:password@example.com/',
    'http://:password@example.com/',
    'http://127.0.0.1:9000@evil.example/',
    '/oauth/token',
    'example.com/oauth/token',
    'ftp://example.com/',
    'http://example.com/a b',
    '',
  ])('%j has no normal form', (text) => {
    expect(normalisedUrl(text)).toBeUndefined()
  })

  const UNRESERVED = [...'ABCXYZabcxyz0189-._~']
  const RESERVED = [...'!$&()*+,;=:@']
  const percent = (char: string) => `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`
  const segment = fc
    .array(fc.constantFrom(...UNRESERVED, ...RESERVED, '%2F', '%3F', '%25', '%E2%82%AC'), {
      minLength: 1,
      maxLength: 8,
    })
    .filter((chars) => !/^\.\.?$/.test(chars.join('')))
  const place = fc.record({
    scheme: fc.constantFrom('http', 'https'),
    host: fc.constantFrom('example.com', 'localhost', '127.0.0.1', '[::1]', 'a.b-c.example'),
    port: fc.option(fc.integer({ min: 1, max: 65_535 }), { nil: undefined }),
    path: fc.array(segment, { maxLength: 5 }),
  })
  type Place = { scheme: string; host: string; port?: number; path: string[][] }
  const spell = ({ scheme, host, port, path }: Place) =>
    `${scheme}://${host}${port === undefined ? '' : `:${port}`}/${path.map((chars) => chars.join('')).join('/')}`

  test('it is idempotent, and a URL for any URL', () => {
    const anything = fc.oneof(place.map(spell), fc.webUrl({ withQueryParameters: true, withFragments: true }))
    fc.assert(
      fc.property(anything, (text) => {
        const normal = normalisedUrl(text) ?? ''
        expect(normal).toMatch(/^https?:\/\/[^/]+\//)
        expect(normalisedUrl(normal)).toBe(normal)
      }),
    )
  })

  test('neither case of scheme and host, default port, dot segments, escapes of unreserved characters nor the query matter', () => {
    const flips = fc.infiniteStream(fc.boolean())
    fc.assert(
      fc.property(place, flips, fc.constantFrom('', '?a=b', '#c', '?a=/../#c?'), (given, flip, rest) => {
        const next = () => flip.next().value as boolean
        const anyCase = (text: string) => [...text].map((char) => (next() ? char.toUpperCase() : char)).join('')
        const escaped = (char: string) => {
          if (UNRESERVED.includes(char)) return next() ? anyCase(percent(char)) : char
          return char.startsWith('%') ? anyCase(char.toLowerCase()) : char
        }
        const other = {
          scheme: anyCase(given.scheme),
          host: anyCase(given.host),
          port: given.port ?? (next() ? { http: 80, https: 443 }[given.scheme] : undefined),
          path: given.path.flatMap((chars) => [
            ...(next() ? [['.']] : []),
            ...(next() ? [['x'], ['.', '.']] : []),
            chars.map(escaped),
          ]),
        }
        expect(normalisedUrl(spell(other) + rest)).toBe(normalisedUrl(spell(given)))
      }),
    )
  })

  test('places that differ in scheme, host, port, case of the path, or an escaped reserved character stay different', () => {
    const different = (one: string, other: string) => expect(normalisedUrl(one)).not.toBe(normalisedUrl(other))
    fc.assert(
      fc.property(place, (given) => {
        const text = spell(given)
        different(text, spell({ ...given, scheme: given.scheme === 'http' ? 'https' : 'http' }))
        different(text, spell({ ...given, host: 'other.example' }))
        different(text, spell({ ...given, port: (given.port ?? 8000) === 8001 ? 8002 : 8001 }))
        different(`${text}/a`, `${text}/A`)
        different(`${text}/a`, `${text}/a/`)
        different(`${text}/a/b`, `${text}/a//b`)
        for (const char of [...RESERVED, '/', '?', '#']) different(`${text}/x${char}y`, `${text}/x${percent(char)}y`)
      }),
    )
  })
})
