// What counts as a URL, and as this machine.
import { expect, test } from 'vitest'
import { isHttpUrl, isLocalhostIssuer, isLoopbackHost, parseHttpUrl } from '../../src/lib/url.ts'

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
  expect(isLocalhostIssuer(issuer)).toBe(expected)
})
