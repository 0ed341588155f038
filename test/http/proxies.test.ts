// The client address behind proxies: forwarded addresses count only if trusted proxies added them.
import { describe, expect, test } from 'vitest'
import { createAddressReader } from '../../src/http/proxies.ts'
import { head } from '../support/head.ts'

const addressOf = (trusted: string[], remote: string, forwarded?: string, headers: Record<string, string> = {}) =>
  createAddressReader(trusted)(head({ remote, headers: { 'x-forwarded-for': forwarded, ...headers } }))

describe('a peer that is no trusted proxy', () => {
  test.each([
    ['192.0.2.1', '198.51.100.7'],
    ['192.0.2.1', '10.0.0.1'],
    ['11.0.0.1', '198.51.100.7, 10.0.0.1'],
    ['2001:db8::1', '198.51.100.7'],
  ])('%s is asking itself, whatever it forwards', (remote, forwarded) => {
    expect(addressOf(['10.0.0.0/8', 'fd00::/8'], remote, forwarded)).toBe(remote)
  })
})

describe('a trusted proxy', () => {
  test.each([
    ['its client', '198.51.100.7', '198.51.100.7'],
    ['the last entry, which it wrote itself, not what came before', '1.2.3.4, 198.51.100.7', '198.51.100.7'],
    ['what is before further trusted proxies', '198.51.100.7, 10.2.2.2, 10.3.3.3', '198.51.100.7'],
    [
      'the first untrusted one from the right, not what that one claims',
      '1.1.1.1, 198.51.100.7, 10.3.3.3',
      '198.51.100.7',
    ],
    ['the outermost when all are trusted', '10.1.1.1, 10.2.2.2', '10.1.1.1'],
    ['an IPv6 client in its shortest form', '2001:0DB8:0:0::7', '2001:db8::7'],
    ['an IPv6 client in brackets with a port', '[2001:db8::7]:4711', '2001:db8::7'],
    ['an IPv4 client with a port', '198.51.100.7:4711', '198.51.100.7'],
    ['an IPv4 client mapped into IPv6 as the plain one', '::ffff:198.51.100.7', '198.51.100.7'],
    ['a mapped trusted proxy as one too', '198.51.100.7, ::ffff:10.2.2.2', '198.51.100.7'],
    ['a client without spaces between', '1.1.1.1,198.51.100.7', '198.51.100.7'],
  ])('is believed: %s', (_what, forwarded, expected) => {
    expect(addressOf(['10.0.0.0/8'], '10.0.0.1', forwarded)).toBe(expected)
  })

  test.each(['', ' ', 'unknown', '_hidden', 'localhost', '198.51.100', '999.1.1.1', '198.51.100.7:x', '[::1', 'a, '])(
    'that forwards "%s" counts itself',
    (forwarded) => {
      expect(addressOf(['10.0.0.0/8'], '10.0.0.1', forwarded)).toBe('10.0.0.1')
    },
  )

  test('a trusted proxy that forwards no address counts as the client', () => {
    expect(addressOf(['10.0.0.0/8'], '10.0.0.1')).toBe('10.0.0.1')
  })

  test('a malformed entry ends the evaluation: entries before it were not added by a trusted proxy', () => {
    expect(addressOf(['10.0.0.0/8'], '10.0.0.1', '198.51.100.7, garbage, 10.2.2.2')).toBe('10.2.2.2')
  })

  test('is believed in X-Forwarded-For only', () => {
    const others = ['forwarded', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip', 'x-client-ip', 'x-forwarded-host']
    for (const name of others)
      expect(addressOf(['10.0.0.0/8'], '10.0.0.1', undefined, { [name]: 'for=198.51.100.7' })).toBe('10.0.0.1')
  })

  test('may be named by address or by range, of both families', () => {
    const trusted = ['10.0.0.1', 'fd00::/8']
    expect(addressOf(trusted, 'fd12::1', '198.51.100.7')).toBe('198.51.100.7')
    expect(addressOf(trusted, '10.0.0.2', '198.51.100.7')).toBe('10.0.0.2')
    expect(addressOf(trusted, '::1', '198.51.100.7')).toBe('::1')
  })
})

test('a header of 16 KiB is walked in the time of its length', () => {
  const before = process.cpuUsage()
  for (let i = 0; i < 100; i++) addressOf(['10.0.0.0/8'], '10.0.0.1', '10.1.1.1,'.repeat(1800))
  expect(process.cpuUsage(before).user).toBeLessThan(3_000_000)
})
