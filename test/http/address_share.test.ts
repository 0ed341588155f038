// The share of one address in the limit on all requests.
import { expect, test } from 'vitest'
import { AddressShare } from '../../src/http/address_share.ts'

const limit = { rate: 10, burst: 100 }
const granted = (share: AddressShare, address: string, times: number) =>
  Array.from({ length: times }, () => share.take(address)).filter((wait) => wait === 0).length

test('an address alone may use the whole limit', () => {
  expect(granted(new AddressShare(limit), '192.0.2.1', 1000)).toBe(1000)
})

test('beside another address it has four fifths of the burst, then waits, and the other address is served', () => {
  const share = new AddressShare(limit)
  share.take('192.0.2.2')
  const got = granted(share, '192.0.2.1', 1000)
  expect(got).toBeGreaterThanOrEqual(80)
  expect(got).toBeLessThan(90)
  expect(share.take('192.0.2.1')).toBeGreaterThan(0)
  expect(share.take('192.0.2.2')).toBe(0)
})

test('a subscriber of IPv6 is one address', () => {
  const share = new AddressShare(limit)
  share.take('192.0.2.2')
  let got = 0
  for (let i = 0; i < 1000; i++) if (share.take(`2001:db8:0:1::${i.toString(16)}`) === 0) got++
  expect(got).toBeLessThan(90)
})

test('instances divide the share, and threads have it together', () => {
  const share = new AddressShare(limit)
  share.divideAmong(2)
  const twin = new AddressShare(limit, share.memory)
  share.take('192.0.2.2')
  const got = granted(share, '192.0.2.1', 100) + granted(twin, '192.0.2.1', 100)
  expect(got).toBeGreaterThanOrEqual(40)
  expect(got).toBeLessThan(50)
})

test('a request that is returned does not count', () => {
  const share = new AddressShare(limit)
  share.take('192.0.2.2')
  for (let i = 0; i < 500; i++) {
    expect(share.take('192.0.2.1')).toBe(0)
    share.giveBack('192.0.2.1')
  }
})

const many = (share: AddressShare, times: number) =>
  Array.from({ length: times }, (_, i) => share.take(`198.51.${i % 200}.${i % 250}`)).filter((wait) => wait === 0)
    .length

test('unknown addresses have the whole limit while no client of operators has authenticated', () => {
  expect(many(new AddressShare(limit), 500)).toBe(500)
})

test('while a client of operators is known, all unknown addresses have four fifths, a tenth for their first requests, and known ones continue', () => {
  const share = new AddressShare(limit)
  share.know('192.0.2.1')
  const got = many(share, 2000)
  expect(got).toBeGreaterThanOrEqual(90)
  expect(got).toBeLessThan(95)
  for (let i = 0; i < 50; i++) expect(share.take('192.0.2.1')).toBe(0)
})

test('an address that becomes known is served at once', () => {
  const share = new AddressShare(limit)
  share.know('192.0.2.1')
  many(share, 2000)
  expect(share.take('192.0.2.9')).toBeGreaterThan(0)
  share.know('192.0.2.9')
  expect(share.take('192.0.2.9')).toBe(0)
})

test('threads know the same addresses', () => {
  const share = new AddressShare(limit)
  const twin = new AddressShare(limit, share.memory)
  twin.know('192.0.2.1')
  many(share, 2000)
  expect(share.take('192.0.2.1')).toBe(0)
  expect(twin.take('192.0.2.9')).toBeGreaterThan(0)
})
