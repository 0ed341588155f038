import { expect, test } from 'vitest'
import { pinned } from '../../bench/run/children.ts'
import { connectionsFor, processorsOf, restOf, shapeName, shapesFor } from '../../bench/run/shapes.ts'

const shapes = (cores: number) => shapesFor(cores).map(({ processors, frontThreads }) => [processors, frontThreads])

test('scaling measures all processors with 1, 2 and 4 front threads, and each power of two below', () => {
  expect(shapes(2)).toEqual([
    [2, 1],
    [2, 2],
    [2, 4],
    [1, 1],
  ])
  // The first one, whose knee is measured too, has the recommended number of front threads.
  expect(shapes(8)).toEqual([
    [8, 4],
    [8, 1],
    [8, 2],
    [1, 1],
    [2, 1],
    [4, 2],
  ])
  expect(shapes(12).at(0)).toEqual([12, 6])
})

test('the load generator runs on the processors that the service does not have', () => {
  const four = { processors: 4, frontThreads: 2 }
  expect([processorsOf(four), restOf(four, 8), restOf(four, 4)]).toEqual(['0-3', '4-7', undefined])
  expect(connectionsFor(four)).toBe(128)
  expect(shapeName(four)).toBe('service, 4 processors, 2 front threads')
  expect(pinned('0-3', 'node', ['-p'])).toEqual(['taskset', ['-c', '0-3', 'node', '-p']])
  expect(pinned(undefined, 'node', ['-p'])).toEqual(['node', ['-p']])
})
