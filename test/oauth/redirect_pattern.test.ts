// Patterns of dcr.approved_redirects: what `*` stands for, and what it never crosses.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { matchesPattern } from '../../src/oauth/clients/redirect_pattern.ts'

describe('a pattern matches', () => {
  test.each([
    ['https://good.example/cb', 'https://good.example/cb'],
    ['https://good.example/cb', 'https://GOOD.example/cb'],
    ['https://*.good.example/cb', 'https://a.good.example/cb'],
    ['https://app-*.good.example/cb', 'https://app-7.good.example/cb'],
    ['https://*.*.good.example/cb', 'https://a.b.good.example/cb'],
    ['https://good.example/*', 'https://good.example/cb'],
    ['https://good.example/*/cb', 'https://good.example/tenant-1/cb'],
    ['https://good.example/cb-*-x', 'https://good.example/cb-1-2-x'],
    ['https://good.example/cb?a=1', 'https://good.example/cb?a=1'],
    ['https://good.example:8443/cb', 'https://good.example:8443/cb'],
    ['http://127.0.0.1:*/cb', 'http://127.0.0.1:51004/cb'],
    ['http://[::1]:*/cb', 'http://[::1]:51004/cb'],
    ['http://localhost:*/cb', 'http://localhost/cb'],
    ['https://good.example/', 'https://good.example'],
    ['cursor://anysphere.cursor-mcp/cb', 'cursor://anysphere.cursor-mcp/cb'],
  ])('%s matches %s', (pattern, uri) => {
    expect(matchesPattern(pattern, uri)).toBe(true)
  })
})

describe('a pattern does not match', () => {
  test.each([
    // Another part of the URL must be reached for these.
    ['https://*.good.example/cb', 'https://evil.com/.good.example/cb'],
    ['https://*.good.example/cb', 'https://evil.com#.good.example/cb'],
    ['https://*.good.example/cb', 'https://evil.com?.good.example/cb'],
    ['https://*.good.example/cb', 'https://evil.com\\.good.example/cb'],
    ['https://*.good.example/cb', 'https://evil.com:443.good.example/cb'],
    ['https://*.good.example/cb', 'https://user@a.good.example/cb'],
    ['https://*.good.example/cb', 'https://evil.com%2f.good.example/cb'],
    // A private-use URI is no pattern.
    ['cursor://*/cb', 'cursor://anysphere.cursor-mcp/cb'],
    ['*://good.example/cb', 'cursor://good.example/cb'],
    ['https://good.example/cb', 'cursor://good.example/cb'],
    // A label more or less, before or behind.
    ['https://*.good.example/cb', 'https://x.good.example.evil.com/cb'],
    ['https://*.good.example/cb', 'https://a.b.good.example/cb'],
    ['https://*.good.example/cb', 'https://good.example/cb'],
    ['https://*.good.example/cb', 'https://.good.example/cb'],
    ['https://*.good.example/cb', 'https://evilgood.example/cb'],
    ['https://good.example/*', 'https://good.example.evil.com/cb'],
    ['https://good.example/*', 'https://good.example@evil.com/cb'],
    ['https://good.example/*', 'https://good.example:8443/cb'],
    ['https://good.example/*', 'http://good.example/cb'],
    ['https://good.example/cb', 'https://good.example./cb'],
    // Another path.
    ['https://good.example/*', 'https://good.example/'],
    ['https://good.example/*', 'https://good.example/a/b'],
    ['https://good.example/*', 'https://good.example/cb?a=1'],
    ['https://good.example/*', 'https://good.example/cb#a'],
    ['https://good.example/cb', 'https://good.example/CB'],
    ['https://good.example/cb', 'https://good.example/cb/'],
    ['https://*.good.example/cb', 'https://a.good.example/cb/../x'],
    ['https://good.example/*/cb', 'https://good.example/../cb'],
    ['https://good.example/*/cb', 'https://good.example/%2e%2E/cb'],
    ['https://good.example/*/cb', 'https://good.example/.%2e/cb'],
    ['https://good.example/*', 'https://good.example/a\\b'],
    ['https://good.example/*', 'https://good.example/a b'],
    ['https://good.example/*', 'https://good.example/a\nb'],
    // Another query; the wildcard means nothing in it.
    ['https://good.example/cb?a=1', 'https://good.example/cb?a=1&b=2'],
    ['https://good.example/cb?a=*', 'https://good.example/cb?a=1'],
    // Other ports and schemes.
    ['http://127.0.0.1:*/cb', 'http://127.0.0.1:1@evil.com/cb'],
    ['http://127.0.0.1:*/cb', 'http://127.0.0.1.evil.com:1/cb'],
    ['http://127.0.0.1:*/cb', 'https://127.0.0.1:1/cb'],
    ['http://127.0.0.1:*/cb', 'http://127.0.0.1:123456/cb'],
    ['http://localhost:3000/cb', 'http://localhost:3001/cb'],
    ['*://good.example/cb', 'https://good.example/cb'],
    ['*', 'https://good.example/cb'],
    ['https://*', 'https://good.example/cb'],
    ['javascript:*', 'javascript:alert(1)'],
    // A wildcard in the URI is not one.
    ['https://*.good.example/cb', 'https://*.good.example/cb'],
    ['https://good.example/*', 'https://good.example/*'],
    ['https://good.example/**', 'https://good.example/a'],
    ['', ''],
  ])('%s does not match %s', (pattern, uri) => {
    expect(matchesPattern(pattern, uri)).toBe(false)
  })
})

const label = fc.stringMatching(/^[a-z0-9-]{1,6}$/)
const globbed = fc
  .array(fc.oneof(label, fc.constant('*')), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join(''))
const segment = fc.stringMatching(/^[a-zA-Z0-9_~%;:@=.-]{0,8}$/)
const URI = fc
  .record({
    scheme: fc.constantFrom('https', 'http'),
    labels: fc.array(label, { minLength: 1, maxLength: 4 }),
    port: fc.constantFrom('', ':443', ':8443'),
    segments: fc.array(segment, { maxLength: 3 }),
    rest: fc.constantFrom('', '?a=1', '#f', '/', '//x', '\\x', '@evil.com', '?.good.example/cb'),
  })
  .map(
    ({ scheme, labels, port, segments, rest }) => `${scheme}://${labels.join('.')}${port}/${segments.join('/')}${rest}`,
  )
const PATTERN = fc
  .record({
    labels: fc.array(globbed, { minLength: 1, maxLength: 4 }),
    segments: fc.array(fc.oneof(globbed, segment), { maxLength: 3 }),
  })
  .map(({ labels, segments }) => `https://${labels.join('.')}/${segments.join('/')}`)

describe('for every pattern and every URI', () => {
  /** The same rule written another way: a regular expression of the pattern. */
  const model = (pattern: string, uri: string): boolean => {
    const escaped = (text: string) => text.replace(/[.?+^$[\]\\(){}|/]/g, '\\$&')
    const [host = '', ...path] = pattern.slice('https://'.length).split('/')
    const source = [
      escaped(host).replaceAll('*', '[a-z0-9-]+'),
      ...path.map((part) => escaped(part).replaceAll('*', '[^/?#\\\\\\s]+')),
    ]
    const isDotted = uri.split(/[/?#]/).some((part) => /^(\.|%2e){1,2}$/i.test(part))
    return !isDotted && new RegExp(`^https://${source.join('/')}$`).test(uri)
  }

  test('the result equals that of a regular expression in which * matches at least one character within its part', () => {
    fc.assert(
      fc.property(PATTERN, URI, (pattern, uri) => matchesPattern(pattern, uri) === model(pattern, uri)),
      { numRuns: 3000 },
    )
  })

  test('a URI that is made by filling the wildcards of a pattern matches it', () => {
    fc.assert(
      fc.property(PATTERN, fc.stringMatching(/^[a-z0-9-]{1,9}$/), (pattern, filling) => {
        const uri = pattern.replaceAll('*', filling)
        const isDotted = uri.split('/').some((part) => /^(\.|%2e){1,2}$/i.test(part))
        expect(matchesPattern(pattern, uri)).toBe(!isDotted)
      }),
      { numRuns: 2000 },
    )
  })

  test('a matching URI has, in a browser too, the host of the pattern, and the same number of labels and segments', () => {
    const fill = (pattern: string, fillings: string[]) => {
      let i = 0
      return pattern.replace(/\*/g, () => fillings[i++ % fillings.length] as string)
    }
    const nasty = fc.stringMatching(/^[a-z0-9./\\@?#:%&=;,_~ -]{1,8}$/)
    fc.assert(
      fc.property(PATTERN, fc.array(nasty, { minLength: 1, maxLength: 4 }), (pattern, fillings) => {
        // A last label of digits would make the host an IPv4 address.
        const named = pattern.replace(/^(https:\/\/[^/]+)/, '$1.example')
        const uri = fill(named, fillings)
        fc.pre(!uri.includes('xn--'))
        if (!matchesPattern(named, uri)) return
        const [host = '', ...path] = named.slice('https://'.length).split('/')
        const seen = new URL(uri)
        expect([seen.username, seen.password, seen.port, seen.hash, seen.search]).toEqual(['', '', '', '', ''])
        expect(uri.startsWith(`https://${seen.hostname}/`)).toBe(true)
        expect(seen.hostname.split('.').length).toBe(host.split('.').length)
        expect(seen.pathname.split('/').length - 1).toBe(path.length)
      }),
      { numRuns: 3000 },
    )
  })
})

test('matching takes linear time: 100 000 characters that nearly match take milliseconds', () => {
  const text = 'a'.repeat(100_000)
  const nearly: [string, string][] = [
    [`https://${'*a'.repeat(2000)}b.example/`, `https://${text}.example/`],
    [`https://good.example/${'*a'.repeat(2000)}b`, `https://good.example/${text}`],
    [`https://good.example/${'*'.repeat(50_000)}`, `https://good.example/${text}`],
    [`https://good.example/${'*/'.repeat(50_000)}x`, `https://good.example/${'a/'.repeat(50_000)}y`],
    [`https://${'*.'.repeat(50_000)}x/`, `https://${'a.'.repeat(50_000)}y/`],
    ['https://good.example/*', `https://good.example/${'/'.repeat(100_000)}`],
    ['https://good.example/*', `https://good.example?${'?'.repeat(100_000)}#`],
    ['https://*/cb', `https://${'-'.repeat(100_000)}`],
  ]
  for (const [pattern, uri] of nearly) {
    const before = process.cpuUsage()
    matchesPattern(pattern, uri)
    // Microseconds of CPU: the square of 100 000 would be minutes.
    expect(process.cpuUsage(before).user, `${pattern.slice(0, 40)} against ${uri.slice(0, 40)}`).toBeLessThan(2_000_000)
  }
})
