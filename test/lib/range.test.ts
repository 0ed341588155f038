// Addresses and ranges of them, as server.trusted_proxies has them.
import { expect, test } from 'vitest'
import { parseRange } from '../../src/lib/range.ts'

test.each([
  ['10.1.2.3', { address: '10.1.2.3', bits: 32, family: 'ipv4' }],
  ['10.0.0.0/8', { address: '10.0.0.0', bits: 8, family: 'ipv4' }],
  ['0.0.0.0/0', { address: '0.0.0.0', bits: 0, family: 'ipv4' }],
  ['10.1.2.3/32', { address: '10.1.2.3', bits: 32, family: 'ipv4' }],
  ['::1', { address: '::1', bits: 128, family: 'ipv6' }],
  ['fd00::/8', { address: 'fd00::', bits: 8, family: 'ipv6' }],
  ['2001:db8::/128', { address: '2001:db8::', bits: 128, family: 'ipv6' }],
])('%s is a range', (text, range) => {
  expect(parseRange(text)).toEqual(range)
})

test.each([
  ...['', '*', 'localhost', 'proxy.example.com', '10.0.0', '10.0.0.0/', '/8', '10.0.0.0/33', '::/129', 'fe80::1%eth0'],
  ...['10.0.0.0/-1', '10.0.0.0/8/8', '10.0.0.0/8.0', '10.0.0.0/ 8', ' 10.0.0.0', '10.0.0.0 ', '10.0.0.0-10.0.0.9'],
  ...['256.0.0.1', '010.0.0.1', '0x7f000001', '2130706433', '[::1]', '10.0.0.0:80'],
])('"%s" is none', (text) => {
  expect(parseRange(text)).toBeUndefined()
})
