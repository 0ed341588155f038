// The estimate of memory, compared with what the values take on the heap.
import v8 from 'node:v8'
import vm from 'node:vm'
import { expect, test } from 'vitest'
import { memoryOf } from '../../src/lib/memory.ts'

v8.setFlagsFromString('--expose-gc')
const collect = vm.runInNewContext('gc') as () => void

const COUNT = 2000
const KINDS: Readonly<Record<string, (i: number) => object>> = {
  'records with short texts': (i) => ({ id: `id ${i}`, name: `name ${i}`, at: i, hash: `hash ${i}`.repeat(4) }),
  'long texts': (i) => [`text ${i}`.repeat(200)],
  'texts beyond Latin-1': (i) => [`字 ${i}`.repeat(200)],
  'lists of objects': (i) => ({
    keys: Array.from({ length: 10 }, (_, n) => ({ kid: `${i} ${n}`, x: `x${i}${n}`.repeat(6) })),
  }),
  'sets and maps': (i) => ({
    set: new Set(Array.from({ length: 20 }, (_, n) => `member ${i} ${n}`)),
    map: new Map(Array.from({ length: 20 }, (_, n) => [`key ${i} ${n}`, `value ${i} ${n}`])),
  }),
}

test.each(Object.entries(KINDS))('%s are estimated within a factor of two', (_name, make) => {
  collect()
  const before = process.memoryUsage().heapUsed
  // From JSON where that is possible, so that texts are flat as those of a request are.
  const values = Array.from({ length: COUNT }, (_, i) => make(i))
  for (const value of values) JSON.stringify(value)
  collect()
  const real = process.memoryUsage().heapUsed - before
  const estimate = values.reduce((sum, value) => sum + memoryOf(value), 0)
  expect(estimate / real).toBeGreaterThan(0.5)
  expect(estimate / real).toBeLessThan(2)
})

test('what is shared by many values counts as a reference, and bytes outside of the heap count', () => {
  expect(memoryOf(Buffer.alloc(1000))).toBeGreaterThanOrEqual(1000)
  expect([memoryOf(undefined), memoryOf(1), memoryOf(() => 'x'.repeat(1000))]).toEqual([8, 8, 8])
})
