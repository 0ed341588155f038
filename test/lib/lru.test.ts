import v8 from 'node:v8'
import vm from 'node:vm'
import { expect, test } from 'vitest'
import { Lru } from '../../src/lib/lru.ts'

v8.setFlagsFromString('--expose-gc')
const collect = vm.runInNewContext('gc') as () => void

test('the least recently used value is evicted', () => {
  const lru = new Lru<string>({ max: 2, bytes: 10_000 })
  expect(lru.get('a')).toBe(undefined)
  lru.set('a', 'one')
  lru.set('b', 'two')
  lru.get('a')
  lru.set('c', 'three')
  expect(['a', 'b', 'c'].map((key) => lru.get(key))).toEqual(['one', undefined, 'three'])
  expect([...lru.values()]).toEqual(['three', 'one'])
})

test('a missing value is created once, and removed by delete', () => {
  const lru = new Lru<number>({ max: 10, bytes: 10_000 })
  lru.delete('a')
  lru.clear()
  expect([...lru.values()]).toEqual([])
  let made = 0
  const make = (key: string) => key.length + made++
  expect([lru.memo('abc', make), lru.memo('abc', make), made]).toEqual([3, 3, 1])
  lru.delete('abc')
  expect(lru.memo('abc', make)).toBe(4)
  lru.clear()
  expect(lru.get('abc')).toBe(undefined)
})

test('memory is allocated with the first value', () => {
  const before = process.memoryUsage().heapUsed
  const many = Array.from({ length: 20 }, () => new Lru<string>({ max: 1_000_000, bytes: 10_000 }))
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(1_000_000)
  expect(many.length).toBe(20)
})

test('a key does not retain the text that it was cut from', () => {
  const lru = new Lru<true>({ max: 1000, bytes: 1_000_000 })
  const [MB, COUNT] = [1_000_000, 100]
  const keyOf = (i: number) => Buffer.alloc(MB, `key number ${i};`).toString('latin1').slice(100, 130)
  collect()
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < COUNT; i++) lru.set(keyOf(i), true)
  collect()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan((COUNT * MB) / 10)
  expect(lru.get(keyOf(COUNT - 1))).toBe(true)
})

test('the bytes of all keys and values are bounded, whatever their number', () => {
  const lru = new Lru<string>({ max: 1000, bytes: 100_000 })
  for (let i = 0; i < 100; i++) lru.set(`key ${i}`, 'x'.repeat(10_000))
  expect(lru.bytes).toBeLessThanOrEqual(100_000)
  expect([...lru.values()].length).toBe(9)
  for (let i = 0; i < 100; i++) lru.set(`${i}`.padEnd(10_000), 'x')
  expect(lru.bytes).toBeLessThanOrEqual(100_000)
})

test('a value that is larger than all together is not kept, and a value that grew is measured again', () => {
  const lru = new Lru<string[]>({ max: 10, bytes: 10_000 })
  lru.set('large', ['x'.repeat(10_000)])
  expect(lru.get('large')).toBe(undefined)
  const growing = ['x']
  lru.set('growing', growing)
  const before = lru.bytes
  growing.push('y'.repeat(1000))
  lru.set('growing', growing)
  expect(lru.bytes - before).toBeGreaterThanOrEqual(1000)
  expect(lru.get('growing')).toBe(growing)
})
