// Which addresses may be connected to: one row for each range of the special-purpose registries, at its edges.
import { expect, test } from 'vitest'
import { addressKind } from '../../src/net/address.ts'

const RESERVED: Record<string, string[]> = {
  'this network': ['0.0.0.0', '0.255.255.255'],
  'IETF protocol': ['192.0.0.0', '192.0.0.255'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.255', '2001:db8::1', '3fff::1'],
  '6to4 relay': ['192.88.99.1'],
  benchmarking: ['198.18.0.0', '198.19.255.255', '2001:2::1'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1'],
  reserved: ['240.0.0.1', '255.255.255.254', '4000::1', 'e000::1', '5f00::1'],
  broadcast: ['255.255.255.255'],
  unspecified: ['::', '0:0:0:0:0:0:0:0'],
  'IPv4-compatible': ['::127.0.0.1', '::7f00:1', '::8.8.8.8'],
  'IPv4-mapped': ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8', '0:0:0:0:0:ffff:0a00:1'],
  'IPv4-translated': ['::ffff:0:127.0.0.1'],
  NAT64: ['64:ff9b::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::8.8.8.8', '64:ff9b:1::1'],
  'discard only': ['100::1'],
  Teredo: ['2001::1', '2001:0:53aa:64c::1'],
  'IETF IPv6': ['2001:1ff:ffff::1', '2001:10::1', '2001:20::1', '2001:30::1'],
  '6to4': ['2002::1', '2002:7f00:1::', '2002:a9fe:a9fe::1'],
  'site-local': ['fec0::1', 'feff::1'],
  'no address': ['', 'localhost', 'example.com', '1.2.3.4.5', '::1::', '[::1]', '127.0.0.1 '],
}
const METADATA = {
  'link-local and metadata': ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
  'link-local IPv6': ['fe80::1', 'fe80::1%eth0', 'febf::1'],
  'IPv4 of clouds': ['168.63.129.16', '100.100.100.200', '192.0.0.192'],
  'IPv6 of clouds': ['fd00:ec2::254', 'fd00:0ec2:0:0:0:0:0:254', 'fd20:ce::254'],
}
const SHARED = ['100.64.0.0', '100.127.255.255']
const PRIVATE = {
  loopback: ['127.0.0.1', '127.0.0.0', '127.255.255.255', '::1'],
  private: ['10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
  'unique local': ['fc00::1', 'fd12:3456::1', 'fdff:ffff::1'],
}
const GLOBAL = [
  ...['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255'],
  ...['128.0.0.0', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.167.255.255', '192.169.0.0'],
  ...['198.17.255.255', '198.20.0.0', '223.255.255.255', '168.63.129.15'],
  ...['2001:200::1', '2001:4860:4860::8888', '2606:4700::1111', '2003::1', '2a00:1450::1', '2001:db9::1'],
]
const rows = (table: Record<string, string[]>) =>
  Object.entries(table).flatMap(([range, addresses]) => addresses.map((address) => ({ range, address })))

test.each(rows(RESERVED))('$range: $address is never allowed', ({ address }) => {
  expect(addressKind(address)).toBe('reserved')
})

test.each(rows(METADATA))('$range: $address is allowed only when exactly it is listed', ({ address }) => {
  expect(addressKind(address)).toBe('metadata')
})

test.each(SHARED)('the shared address %s (RFC 6598) is allowed only by a list', (address) => {
  expect(addressKind(address)).toBe('shared')
})

test.each(rows(PRIVATE))('$range: $address is private', ({ address }) => {
  expect(addressKind(address)).toBe('private')
})

test.each(GLOBAL)('%s is public', (address) => {
  expect(addressKind(address)).toBe('public')
})
