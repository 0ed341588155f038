import { expect, test } from 'vitest'
import { bottleneckOf } from '../../src/bench/sample.ts'

type Busy = Parameters<typeof bottleneckOf>[0]['busy']
const idle: Busy = {
  front: 0.1,
  crypto: 0.1,
  store: 0.1,
  password: 0,
  other: 0,
  database: 0,
  generator: 0.1,
  machine: 0.4,
  foreign: 0,
}
const threads = { front: 1, crypto: 2, store: 1, password: 0, other: 4 }
const limitOf = (busy: Partial<Busy>, batch = 4) =>
  bottleneckOf({ busy: { ...idle, ...busy }, threads, lanes: { store: { batch, busy: 1 } } }, 8)

test.each([
  ['the front thread', { front: 0.97, machine: 3 }],
  ['the crypto threads', { crypto: 1.9, machine: 3 }],
  ['the storage thread', { store: 0.9, machine: 3 }],
  ['the load generator', { generator: 0.99, machine: 3 }],
])('%s limits the rate when it has no time left', (name, busy) => {
  expect(limitOf(busy)).toBe(name)
})

test('two crypto threads at half their time are not saturated', () => {
  expect(limitOf({ crypto: 1 })).toContain('nothing is saturated')
})

test('a storage lane that is always under way is at its end only when its batches are full', () => {
  expect(limitOf({}, 4)).toContain('nothing is saturated')
  expect(limitOf({}, 250)).toBe('the disk')
})

test('a full machine is said to be full, and who fills it', () => {
  expect(limitOf({ front: 0.7, machine: 7.9 })).toBe('all 8 processors are busy, most of all the front thread')
})

test('what others use is not taken for a limit of the service', () => {
  expect(limitOf({ front: 0.97, machine: 8, foreign: 4 })).toContain('others on this machine')
})
