// The cells of a metric by label values.
import { expect, test } from 'vitest'
import { MetricFamily } from '../../src/telemetry/metric_family.ts'

const open = (...names: string[]) => new MetricFamily(names, () => ({ value: 0 }))

test('equal label values are one cell, in any order', () => {
  const family = open('a', 'b')
  expect(family.of({ a: 'x', b: 'y' })).toBe(family.of({ b: 'y', a: 'x' }))
  expect(family.of({ a: 'x', b: 'y' })).not.toBe(family.of({ a: 'y', b: 'x' }))
  expect(family.cells.map(({ labels }) => labels)).toEqual([
    { a: 'x', b: 'y' },
    { a: 'y', b: 'x' },
  ])
})

test('a family without labels has one cell', () => {
  const family = open()
  expect(family.of(undefined)).toBe(family.of({}))
  expect(family.cells).toHaveLength(1)
})

test('undeclared labels are ignored, and missing labels are empty', () => {
  const family = open('a')
  expect(family.of({ b: 'x' })).toBe(family.of({ a: '' }))
  expect(family.cells[0]?.labels).toEqual({ a: '' })
})

test('a family beyond its maximum of cells has one additional cell for all other values', () => {
  const family = open('a')
  for (let i = 0; i < 5000; i++) family.of({ a: `v${i}` }).value++
  expect(family.cells).toHaveLength(2001)
  expect(family.of({ a: 'other' }).value).toBe(3000)
})
