import { expect, test } from 'vitest'
import { Lru } from '../../src/lib/lru.ts'

test('what was not used for longest makes room', () => {
  const lru = new Lru<string>(2)
  expect(lru.get('a')).toBe(undefined)
  lru.set('a', 'one')
  lru.set('b', 'two')
  lru.get('a')
  lru.set('c', 'three')
  expect(['a', 'b', 'c'].map((key) => lru.get(key))).toEqual(['one', undefined, 'three'])
  expect([...lru.values()]).toEqual(['three', 'one'])
})

test('what is not there is made, once, and forgotten when it is deleted', () => {
  const lru = new Lru<number>(10)
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

test('memory for many is taken with the first one', () => {
  const before = process.memoryUsage().heapUsed
  const many = Array.from({ length: 20 }, () => new Lru<string>(1_000_000))
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(1_000_000)
  expect(many.length).toBe(20)
})
